// The n-th best prefix of a history extends some prefix of a predecessor, so each history's list is a merge of its
// predecessors' lists. The lists are made on demand: Viterbi's forward pass gives every history's best score, and only
// histories on one of the k paths are ever looked at again. That costs little more than one best path.
#include "engine/kbest.hpp"

#include <algorithm>

#include "engine/chain_passes.hpp"
#include "engine/history_best.hpp"

namespace trellis {
namespace {

// Order of prefixes in a heap: score, then the lower label. A heap never holds two with the same label, for the second
// comes in only when the first is taken: the order within one predecessor is the order of its list.
template <class Real>
bool worse(const Prefix<Real>& a, const Prefix<Real>& b) {
  return a.score != b.score ? a.score < b.score : a.label > b.label;
}

// The search in one sentence. A history is a place in delta: t, and z (order 1) or y, z (order 2; at t = 0 y is 0).
template <class Real, class LabelsAt>
struct Search {
  const ChainView<Real>& chain;
  const LabelsAt labels_at;
  KBestWorkspace<Real>& work;
  Real* delta;
  std::size_t L, stride, token;

  Search(const ChainView<Real>& chain, const LabelsAt& labels_at, KBestWorkspace<Real>& work)
      : chain(chain), labels_at(labels_at), work(work), delta(best_prefixes(chain, work.viterbi)), L(chain.n_labels),
        stride(chain.stride), token(chain.token_size()) {
    std::size_t* history_at = work.history_at.grow(chain.n_tokens * token);
    std::fill_n(history_at, chain.n_tokens * token, kNone);
    work.histories.clear();
    work.prefixes.clear();
    work.candidates.clear();
    work.finals.clear();
    work.pending.grow(2 * chain.n_tokens);
  }

  // How a history grows: its place in a row, from the histories before it.
  struct Step {
    Row<Real> row;
    std::size_t z;
    const Real* from(std::size_t label) const { return row.from + label * row.from_step; }
    Real grown(Real s, std::size_t label) const { return extend<MaxPlus>(row, s, label, z); }
  };
  Step step(std::size_t t, std::size_t at) const {
    const std::size_t place = at - t * token, middle = chain.tri ? place / stride : 0;
    Real* here = delta + t * token;
    return {row_at<MaxPlus>(chain, t, middle, t ? here - token : here, here), place - middle * stride};
  }
  // The history of token t - 1 from which `label` leaves for history `at` of token t.
  std::size_t before(std::size_t t, std::size_t at, std::size_t label) const {
    return static_cast<std::size_t>(step(t, at).from(label) - delta);
  }

  // The next prefix of a history is the best of its candidates.
  void take_best(History& history) {
    Prefix<Real>* begin = work.candidates.data() + history.heap;
    Prefix<Real>* end = begin + history.n_candidates;
    if (begin == end) {
      history.exhausted = true;
      return;
    }
    std::pop_heap(begin, end, worse<Real>);
    const Prefix<Real> best = *(end - 1);
    --history.n_candidates;
    const std::size_t number = work.prefixes.size();
    if (history.last != kNone) work.prefixes[history.last].next = number;
    else history.first = number;
    history.last = number;
    work.prefixes.push_back(best);
  }

  // The history at this place, with its best prefix at least.
  History& open(std::size_t t, std::size_t at) {
    std::size_t& number = work.history_at.grow(0)[at];
    if (number != kNone) return work.histories[number];
    number = work.histories.size();
    History history{kNone, kNone, work.candidates.size(), 0, false};
    if (t == 0) {
      work.candidates.push_back({delta[at], 0, kNone, kNone});
      history.n_candidates = 1;
    } else {
      const auto ways = leavers_at(chain, t, labels_at);
      const Step into = step(t, at);
      history.n_candidates = ways.size();
      work.candidates.resize(history.heap + ways.size());
      Prefix<Real>* to = work.candidates.data() + history.heap;
      for (std::size_t i = 0; i < ways.size(); ++i)
        to[i] = {into.grown(*into.from(ways[i]), ways[i]), static_cast<std::int32_t>(ways[i]), kNone, kNone};
    }
    Prefix<Real>* begin = work.candidates.data() + history.heap;
    std::make_heap(begin, begin + history.n_candidates, worse<Real>);
    take_best(history);
    work.histories.push_back(history);
    return work.histories.back();
  }

  // The prefix that `prefix`, of history `at` at t > 0, extends.
  std::size_t extended(std::size_t t, std::size_t at, std::size_t prefix) {
    const Prefix<Real>& one = work.prefixes[prefix];
    if (one.before != kNone) return one.before;
    const std::size_t first = open(t - 1, before(t, at, static_cast<std::size_t>(one.label))).first;
    return work.prefixes[prefix].before = first;
  }

  // Find one more prefix of a history. Its worst prefix so far extends some prefix of a predecessor; the next best of
  // that predecessor gives a new candidate. If that is not known, it must be found first: down the sentence as far as
  // need be (`pending`), then up again.
  void advance(std::size_t t, std::size_t at) {
    std::size_t* pending = work.pending.grow(0);
    std::size_t depth = 0;
    while (!open(t, at).exhausted) {
      pending[2 * depth] = t;
      pending[2 * depth + 1] = at;
      ++depth;
      if (t == 0) break;
      const std::size_t last = open(t, at).last;
      if (work.prefixes[extended(t, at, last)].next != kNone) break;
      at = before(t, at, static_cast<std::size_t>(work.prefixes[last].label));
      --t;
    }
    while (depth-- > 0) {
      t = pending[2 * depth];
      at = pending[2 * depth + 1];
      if (t > 0) {
        const Prefix<Real> last = work.prefixes[open(t, at).last];
        const std::size_t next = work.prefixes[last.before].next;
        if (next != kNone) {
          History& history = open(t, at);
          const Real score = work.prefixes[next].score;
          Prefix<Real>* begin = work.candidates.data() + history.heap;
          Prefix<Real>* end = begin + ++history.n_candidates;
          const Real total = step(t, at).grown(score, static_cast<std::size_t>(last.label));
          *(end - 1) = {total, last.label, next, kNone};
          std::push_heap(begin, end, worse<Real>);
        }
      }
      take_best(open(t, at));
    }
  }

  // Whole paths: all prefixes of the last histories compete, each history known by z * L + y, which orders ties.
  std::size_t place(const Prefix<Real>& path) const {
    const std::size_t z = static_cast<std::size_t>(path.label) / L, y = static_cast<std::size_t>(path.label) % L;
    return (chain.n_tokens - 1) * token + y * stride + z;
  }
  Real finished(Real score, std::size_t z) const { return chain.end ? score + chain.end[z] : score; }
  void start_finals() {
    const std::size_t last = chain.n_tokens - 1;
    const auto targets = labels_at(last), middles = middles_at(chain, last, labels_at);
    for (std::size_t j = 0; j < targets.size(); ++j)
      for (std::size_t i = 0; i < middles.size(); ++i) {
        const std::size_t y = middles[i], z = targets[j];
        const Real score = finished(delta[last * token + y * stride + z], z);
        work.finals.push_back({score, static_cast<std::int32_t>(z * L + y), kNone, kNone});
      }
    std::make_heap(work.finals.begin(), work.finals.end(), worse<Real>);
  }
  // Replace a path that was taken by the next one with the same last history.
  void replace(const Prefix<Real>& taken) {
    const std::size_t last = chain.n_tokens - 1, at = place(taken);
    if (work.prefixes[taken.before].next == kNone) advance(last, at);
    const std::size_t next = work.prefixes[taken.before].next;
    if (next == kNone) return;
    const Real score = finished(work.prefixes[next].score, static_cast<std::size_t>(taken.label) / L);
    work.finals.push_back({score, taken.label, next, kNone});
    std::push_heap(work.finals.begin(), work.finals.end(), worse<Real>);
  }

  void write(const Prefix<Real>& taken, std::int32_t* path) {
    std::size_t at = place(taken);
    std::size_t prefix = taken.before;
    for (std::size_t t = chain.n_tokens - 1;; --t) {
      path[t] = static_cast<std::int32_t>((at - t * token) % stride);
      if (t == 0) return;
      const std::size_t earlier = extended(t, at, prefix);
      at = before(t, at, static_cast<std::size_t>(work.prefixes[prefix].label));
      prefix = earlier;
    }
  }
};

template <class Real, class LabelsAt>
std::size_t find(Search<Real, LabelsAt> search, std::size_t k, std::int32_t* paths, Real* scores) {
  std::vector<Prefix<Real>>& finals = search.work.finals;
  const std::size_t T = search.chain.n_tokens;
  search.start_finals();
  std::size_t count = 0;
  while (count < k && !finals.empty()) {
    std::pop_heap(finals.begin(), finals.end(), worse<Real>);
    Prefix<Real> taken = finals.back();
    finals.pop_back();
    if (count > 0 && taken.score == kForbidden<Real>) break;
    if (taken.before == kNone) taken.before = search.open(T - 1, search.place(taken)).first;
    scores[count] = taken.score;
    search.write(taken, paths + count * T);
    if (++count < k) search.replace(taken);
  }
  return count;
}

}  // namespace

template <class Real>
std::size_t k_best(const ChainView<Real>& chain, std::size_t k, KBestWorkspace<Real>& work, std::int32_t* paths,
                   Real* scores) {
  if (k == 0) return 0;
  if (chain.n_tokens == 0) {
    scores[0] = 0;
    return 1;
  }
  if (on_lattice(chain)) return k_best_on_lattice(chain, k, lattice_of(work.viterbi), paths, scores);
  if (chain.ngrams) return k_best_histories(chain, k, histories_of(work.viterbi), paths, scores);
  if (chain.allowed) return find(Search<Real, Allowed>(chain, {*chain.allowed}, work), k, paths, scores);
  return find(Search<Real, Everything>(chain, {chain.n_labels}, work), k, paths, scores);
}

template std::size_t k_best(const ChainView<float>&, std::size_t, KBestWorkspace<float>&, std::int32_t*, float*);
template std::size_t k_best(const ChainView<double>&, std::size_t, KBestWorkspace<double>&, std::int32_t*, double*);

}  // namespace trellis
