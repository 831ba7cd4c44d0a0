#include "engine/beam.hpp"

#include <algorithm>
#include <numeric>

namespace trellis {
namespace {

bool may_be(const ChainView<float>& chain, const std::int32_t* only, std::size_t t, std::size_t z) {
  if (only) return static_cast<std::size_t>(only[t]) == z;
  return !chain.allowed || allows(*chain.allowed, t, z);
}

}  // namespace

bool BeamSearch::find_alive(const ChainView<float>& chain, const std::int32_t* only) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels;
  alive_.assign(T * L, 0);
  for (std::size_t t = T; t-- > 0;)
    for (std::size_t y = 0; y < L; ++y) {
      if (!may_be(chain, only, t, y) || chain.emit_at(t)[y] == kForbidden<float>) continue;
      bool lives = false;
      if (t + 1 == T) lives = !chain.end || chain.end[y] != kForbidden<float>;
      else
        for (std::size_t z = 0; z < L && !lives; ++z)
          lives = alive_[(t + 1) * L + z] && chain.edge_at(t + 1, y)[z] != kForbidden<float>;
      alive_[t * L + y] = lives;
    }
  for (std::size_t z = 0; z < L; ++z)
    if (alive_[z] && chain.edge_at(0, L)[z] != kForbidden<float>) return true;
  return false;
}

// Repeated words have a slot for their last label.
void BeamSearch::find_slots(const FarScores& far, std::size_t n) {
  slots_.assign(n, -1), comes_again_.assign(n, 0);
  std::int32_t n_slots = 0;
  for (std::size_t t = 0; t < n; ++t)
    if (far.same[t] >= 0) {
      const auto before = static_cast<std::size_t>(far.same[t]);
      comes_again_[before] = 1;
      if (slots_[before] < 0) slots_[before] = n_slots++;
      slots_[t] = slots_[before];
    }
  size_ = slots_at_ + static_cast<std::size_t>(n_slots);
}

// step[z]: the score of label z at token t after a state
void BeamSearch::score_state(const ChainView<float>& chain, const FarScores& far, std::size_t t, const std::uint32_t* seen) {
  const std::size_t L = chain.n_labels, stride = chain.stride, y = seen[n_last_ - 1];
  const float *edge = chain.edge_at(t, y), *emit = chain.emit_at(t);
  for (std::size_t z = 0; z < L; ++z) step_[z] = static_cast<double>(edge[z]) + emit[z];
  if (chain.tri) {
    const float* tri = chain.tri_at(seen[n_last_ - 2], y);
    for (std::size_t z = 0; z < L; ++z) step_[z] += tri[z];
  }
  if (chain.ngrams)
    for (std::size_t z = 0; z < L; ++z)
      if (alive_[t * L + z]) step_[z] += ngram_total(*chain.ngrams, t, chain.ngrams->ngrams->longest(seen[ngram_at_], z));
  for (std::size_t k = 0; k < far.kinds.size(); ++k) {
    const auto add = [&](std::size_t label) {
      const float* row = table_.data() + (k * (L + 1) + label) * stride;
      for (std::size_t z = 0; z < L; ++z) step_[z] += row[z];
    };
    const std::uint8_t kind = far.kinds[k];
    if (kind == kSame) add(far.same[t] < 0 ? L : seen[slots_at_ + static_cast<std::size_t>(slots_[t])]);
    else if (kind != kAny) add(seen[n_last_ - (kind - kFar)]);
    else
      for (std::size_t z = 0; z < L; ++z)
        if (seen[used_at_ + z / 32] >> z % 32 & 1) add(z);
  }
  if (t + 1 == chain.n_tokens && chain.end)
    for (std::size_t z = 0; z < L; ++z) step_[z] += chain.end[z];
}

// The state after a label; after the last token it is empty.
void BeamSearch::see(const ChainView<float>& chain, std::size_t t, const std::uint32_t* seen, std::int32_t label) {
  made_.assign(size_, 0);
  if (t + 1 == chain.n_tokens) return;
  std::copy_n(seen, size_, made_.data());
  const auto z = static_cast<std::size_t>(label);
  std::copy_n(seen + 1, n_last_ - 1, made_.data());
  made_[n_last_ - 1] = static_cast<std::uint32_t>(z);
  if (chain.ngrams) {
    const Ngrams& ngrams = *chain.ngrams->ngrams;
    made_[ngram_at_] = ngrams.state(ngrams.longest(seen[ngram_at_], z));
  }
  if (n_used_) made_[used_at_ + z / 32] |= std::uint32_t{1} << z % 32;
  if (!slots_.empty() && slots_[t] >= 0)
    made_[slots_at_ + static_cast<std::size_t>(slots_[t])] = comes_again_[t] ? static_cast<std::uint32_t>(z) : 0;
}

// All hypotheses extended by all labels compete, best first, until there are `width` states with k hypotheses each.
void BeamSearch::advance(const ChainView<float>& chain, const FarScores& far, std::size_t t, std::size_t width,
                         std::size_t k) {
  const std::size_t L = chain.n_labels;
  for (std::size_t i = far.starts[t]; i < far.starts[t + 1]; ++i) table_[far.cells[i]] += far.scores[i];
  candidates_.clear();
  static const Level kStart{{{0, 0, 0, 0, -1}}, {0, 1}};
  const Level& from = t ? levels_[t - 1] : kStart;
  for (std::uint32_t s = 0; s + 1 < from.starts.size(); ++s) {
    score_state(chain, far, t, seen_.data() + s * size_);
    for (std::uint32_t i = from.starts[s]; i < from.starts[s + 1]; ++i)
      for (std::size_t z = 0; z < L; ++z)
        if (alive_[t * L + z] && step_[z] != -std::numeric_limits<double>::infinity())
          candidates_.push_back({from.hypotheses[i].score + step_[z], i, s, static_cast<std::int32_t>(z)});
  }
  for (std::size_t i = far.starts[t]; i < far.starts[t + 1]; ++i) table_[far.cells[i]] = 0;

  // Ranks before labels, so that the best hypothesis of a state does not depend on k.
  const auto worse = [&from](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score < b.score;
    const Hypothesis &x = from.hypotheses[a.before], &y = from.hypotheses[b.before];
    if (x.rank != y.rank) return x.rank > y.rank;
    return a.label != b.label ? a.label > b.label : x.order > y.order;
  };
  std::make_heap(candidates_.begin(), candidates_.end(), worse);
  std::size_t n_states = 0, n_full = 0;
  next_seen_.clear(), states_.clear();
  for (auto end = candidates_.end(); end != candidates_.begin() && n_full < width; --end) {
    std::pop_heap(candidates_.begin(), end, worse);
    const Candidate& next = end[-1];
    see(chain, t, seen_.data() + next.state * size_, next.label);
    const auto found = states_.find(made_);
    const std::size_t state = found == states_.end() ? n_states : found->second;
    if (state == n_states) {
      if (n_states == width) continue;
      states_.emplace(made_, state);
      if (kept_.size() == n_states++) kept_.emplace_back();
      kept_[state].clear();
      next_seen_.insert(next_seen_.end(), made_.begin(), made_.end());
    }
    if (kept_[state].size() == k) continue;
    const auto rank = static_cast<std::uint32_t>(kept_[state].size());
    kept_[state].push_back({next.score, next.before, from.hypotheses[next.before].order, rank, next.label});
    n_full += kept_[state].size() == k;
  }
  seen_.swap(next_seen_);

  Level& to = levels_[t];
  to.hypotheses.clear(), to.starts.assign(1, 0);
  for (std::size_t s = 0; s < n_states; ++s) {
    to.hypotheses.insert(to.hypotheses.end(), kept_[s].begin(), kept_[s].end());
    to.starts.push_back(static_cast<std::uint32_t>(to.hypotheses.size()));
  }
  best_.resize(to.hypotheses.size());
  std::iota(best_.begin(), best_.end(), 0u);
  std::sort(best_.begin(), best_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Hypothesis &x = to.hypotheses[a], &y = to.hypotheses[b];
    return x.label != y.label ? x.label < y.label : x.order < y.order;
  });
  for (std::uint32_t i = 0; i < best_.size(); ++i) to.hypotheses[best_[i]].order = i;
}

bool BeamSearch::run(const ChainView<float>& chain, const FarScores& far, std::size_t width, std::size_t k,
                     const std::int32_t* only) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels;
  if (T == 0 || !find_alive(chain, only)) return false;
  n_last_ = chain.tri ? 2 : 1, n_used_ = 0;
  bool has_same = false;
  for (std::uint8_t kind : far.kinds) {
    if (kind == kAny) n_used_ = (L + 31) / 32;
    else if (kind == kSame) has_same = true;
    else n_last_ = std::max<std::size_t>(n_last_, kind - kFar);
  }
  ngram_at_ = n_last_, used_at_ = ngram_at_ + (chain.ngrams ? 1 : 0), slots_at_ = size_ = used_at_ + n_used_;
  slots_.clear();
  if (has_same) find_slots(far, T);
  seen_.assign(size_, 0);
  std::fill_n(seen_.begin(), n_last_, static_cast<std::uint32_t>(L));
  if (chain.ngrams) seen_[ngram_at_] = chain.ngrams->ngrams->null();
  table_.resize(std::max(table_.size(), far.kinds.size() * (L + 1) * chain.stride));
  step_.resize(L);
  if (levels_.size() < T) levels_.resize(T);
  for (std::size_t t = 0; t < T; ++t) {
    advance(chain, far, t, width, k);
    if (levels_[t].hypotheses.empty()) return false;
  }
  return true;
}

const std::vector<std::uint32_t>& BeamSearch::best(std::size_t t, std::size_t k) {
  const Level& at = levels_[t];
  best_.resize(at.hypotheses.size());
  std::iota(best_.begin(), best_.end(), 0u);
  std::sort(best_.begin(), best_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Hypothesis &x = at.hypotheses[a], &y = at.hypotheses[b];
    if (x.score != y.score) return x.score > y.score;
    return x.rank != y.rank ? x.rank < y.rank : x.order < y.order;
  });
  best_.resize(std::min(best_.size(), k));
  return best_;
}

void BeamSearch::path(std::size_t t, std::uint32_t i, std::int32_t* labels) const {
  for (;; --t) {
    labels[t] = levels_[t].hypotheses[i].label;
    if (t == 0) return;
    i = levels_[t].hypotheses[i].before;
  }
}

}  // namespace trellis
