#include "papers/voting.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "engine/chain_passes.hpp"
#include "engine/ngram_scores.hpp"
#include "engine/viterbi.hpp"
#include "groups.hpp"
#include "parallel.hpp"

namespace trellis {
namespace {

// One change of one potential.
struct Event {
  std::uint32_t cell;
  double by;
};

// The layout of a sentence's potentials in one array: label pairs and triples or n-grams, shared by all tokens; then
// emit [n, stride]; then, with edge templates, edge [n, n_labels + 1, stride], in which case the shared pairs are
// unused.
struct Cells {
  std::size_t n_labels, stride, pairs, shared;
  bool has_tri, per_token;

  Cells(const LabelWeights& labels, const Votes& votes, bool edges)
      : n_labels(labels.n_labels), stride(labels.stride), pairs((n_labels + 1) * stride), shared(pairs),
        has_tri(votes.order == 2 && !votes.ngrams), per_token(edges) {
    if (has_tri) shared += (n_labels + 1) * pairs;
    if (votes.ngrams) shared += votes.ngrams->size();
  }
  std::size_t size(std::size_t n) const { return per_token ? edge(n, n) : emit(n); }
  std::size_t emit(std::size_t t) const { return shared + t * stride; }
  std::size_t edge(std::size_t n, std::size_t t) const { return per_token ? emit(n) + t * pairs : 0; }
};

// The current potentials of one sentence, and their range over the moments under test.
struct PotentialRanges {
  std::vector<double> now, value, low, high;
  std::vector<std::uint32_t> touched;
  std::vector<std::uint8_t> is_touched;

  void reset(std::size_t n) {
    for (auto* array : {&now, &value, &low, &high}) array->assign(n, 0);
    is_touched.assign(n, 0);
    touched.clear();
  }
  void fix(std::size_t cell, double constant) { now[cell] = value[cell] = low[cell] = high[cell] = constant; }
  void add(const Event& event) {
    if (!is_touched[event.cell]) is_touched[event.cell] = 1, touched.push_back(event.cell);
    const double next = value[event.cell] += event.by;
    low[event.cell] = std::min(low[event.cell], next);
    high[event.cell] = std::max(high[event.cell], next);
  }
  // Continues from the last moment under test, or returns to the first one.
  void settle(bool keep) {
    for (std::uint32_t cell : touched) {
      if (keep) now[cell] = value[cell];
      value[cell] = low[cell] = high[cell] = now[cell];
      is_touched[cell] = 0;
    }
    touched.clear();
  }
};

struct VoteScratch {
  PotentialRanges potentials;
  std::vector<std::size_t> starts, ends;  // [n_updates + 1] of the events of each
  std::vector<Event> events;              // of a sentence
  std::vector<double> delta, grown;
  std::vector<std::uint32_t> changed;  // n-grams
  std::vector<std::int32_t> path, next_path;
  Workspace<double> viterbi;
};

// All updates, to be replayed on the potentials of sentences.
class Replay {
 public:
  Replay(const Votes& votes, const LabelWeights& labels, const ChainData& data, const std::int64_t* starts)
      : votes_(votes), labels_(labels), data_(data), starts_(starts), cells_(labels, votes, data.edge_attributes.starts),
        pair_row_(votes.n_attributes + votes.n_edge_attributes) {
    changes_.sort(pair_row_ + 2, [&](auto visit) {
      for (std::uint32_t u = 0; u < votes.n_updates; ++u)
        for (std::int64_t i = votes.starts[u]; i < votes.starts[u + 1]; ++i)
          visit(std::min<std::size_t>(votes.rows[i], pair_row_ + 1), RowChange{u, votes.places[i], votes.changes[i]});
    });
  }

  void vote(std::size_t sentence, VoteScratch& scratch, std::int32_t* path) const;

 private:
  struct RowChange {
    std::uint32_t update, place;
    float by;
  };

  // Calls visit(update, cell, by) for all changes of the potentials of a sentence.
  template <class Visit>
  void each_change(std::size_t sentence, Visit visit) const {
    const std::size_t begin = starts_[sentence], n = starts_[sentence + 1] - begin;
    const auto stand = [&](std::size_t row, std::size_t cell, float value) {
      for (const auto& [update, place, by] : changes_[row]) visit(update, cell + place, static_cast<double>(value) * by);
    };
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t edge = cells_.edge(n, t);
      data_.attributes.each(begin + t, [&](std::int32_t a, float value) { stand(a, cells_.emit(t), value); });
      if (cells_.per_token)
        data_.edge_attributes.each(begin + t, [&](std::int32_t a, float value) { stand(votes_.n_attributes + a, edge, value); });
      if (cells_.per_token || t == 0) stand(pair_row_, edge, 1);
    }
    stand(pair_row_ + 1, cells_.pairs, 1);
  }

  const Votes& votes_;
  const LabelWeights& labels_;
  const ChainData& data_;
  const std::int64_t* starts_;
  const Cells cells_;
  const std::size_t pair_row_;  // of label pairs; the next one is that of triples or n-grams
  Groups<RowChange> changes_;   // [n_rows] by updates
};

// One sentence with the range of its potentials.
struct Range {
  ChainView<double> low, high;
  const std::int32_t* path;

  // Sums of non-integer floats are inexact: a margin slightly above 0 is required.
  static bool beats(double score, double other) { return score - other > 1e-9 * (1 + (score < 0 ? -score : score)); }

  // s is the lowest score of the path's prefix; delta the highest score of any prefix, but with the lowest emission for
  // path[t] at t, which the path shares. For the path's own history delta is s, if s beats it.
  TRELLIS_INLINE bool stays_best(std::vector<double>& delta, std::vector<double>& grown) const {
    const std::size_t T = high.n_tokens, L = high.n_labels, stride = high.stride, order = high.tri ? 2 : 1;
    const Everything labels_at{L};
    delta.resize(high.token_size());
    grown.resize(high.token_size());
    double s = 0;
    for (std::size_t t = 0; t < T; ++t) {
      const std::size_t z = path[t], mine = order == 2 && t ? path[t - 1] : 0, left = t >= order ? path[t - order] : 0;
      const AllLabels middles = middles_at(high, t, labels_at), leavers = leavers_at(high, t, labels_at);
      const std::int32_t target = path[t];
      for (std::size_t middle = 0; middle < middles.size(); ++middle) {
        Row<double> row = row_at<MaxPlus>(high, t, middle, delta.data(), grown.data());
        reduce_all<MaxPlus>(row, leavers, stride);
        if (low.allowed) forbid_others(labels_of(*low.allowed, t), L, row.out);
        row.emit = low.emit_at(t);
        double rival = kForbidden<double>, all = rival;
        for (std::size_t i = 0; i < leavers.size(); ++i) {
          const double total = row.from[i * row.from_step] + row.table[i * row.table_step + z];
          all = MaxPlus::plus(all, total);
          if (i != left) rival = MaxPlus::plus(rival, total);
        }
        row.out[target] = (row.edge ? all + row.edge[z] : all) + row.emit[z];
        if (middle != mine) continue;
        const Row<double> lowest = row_at<MaxPlus>(low, t, middle, delta.data(), grown.data());
        const auto onward = [&](double score) { return (lowest.edge ? score + lowest.edge[z] : score) + lowest.emit[z]; };
        s = onward(s + lowest.table[left * lowest.table_step + z]);
        if (!beats(s, onward(rival))) return false;
        row.out[z] = s;
      }
      std::swap(delta, grown);
    }
    const std::size_t own = (order == 2 && T > 1 ? path[T - 2] : 0) * stride + path[T - 1];
    const auto finished = [&](double score, std::size_t z) { return high.end ? score + high.end[z] : score; };
    s = finished(s, path[T - 1]);
    for (std::size_t middle = 0; middle < middles_at(high, T - 1, labels_at).size(); ++middle)
      for (std::size_t z = 0; z < L; ++z)
        if (const std::size_t at = middle * stride + z; at != own && !beats(s, finished(delta[at], z))) return false;
    return true;
  }
};

TRELLIS_CLONES bool stays_best(const Range& range, std::vector<double>& delta, std::vector<double>& grown) {
  return range.stays_best(delta, grown);
}

void Replay::vote(std::size_t sentence, VoteScratch& scratch, std::int32_t* path) const {
  const Cells& cells = cells_;
  const Votes& votes = votes_;
  const std::size_t n = starts_[sentence + 1] - starts_[sentence];
  if (n == 0) return;
  scratch.starts.assign(votes.n_updates + 1, 0);
  each_change(sentence, [&](std::size_t u, std::size_t, double) { ++scratch.starts[u + 1]; });
  std::partial_sum(scratch.starts.begin(), scratch.starts.end(), scratch.starts.begin());
  scratch.ends = scratch.starts;
  scratch.events.resize(scratch.starts.back());
  each_change(sentence, [&](std::size_t u, std::size_t cell, double by) {
    const auto begin = scratch.events.begin() + scratch.starts[u], end = scratch.events.begin() + scratch.ends[u];
    for (auto event = end; event != begin && end - event < 4;)  // attributes of one token change the same few potentials
      if ((--event)->cell == cell) return void(event->by += by);
    *end = {static_cast<std::uint32_t>(cell), by}, ++scratch.ends[u];
  });
  PotentialRanges& potentials = scratch.potentials;
  potentials.reset(cells.size(n));
  for (std::size_t t = 0; t < (cells.per_token ? n : 1); ++t)
    for (std::size_t s = 0; s < cells.pairs; ++s)
      if (std::isinf(labels_.edge[s])) potentials.fix(cells.edge(n, t) + s, labels_.edge[s]);
  LabelSets sets = data_.sets;
  if (sets.starts) sets.set_of_token += starts_[sentence];

  std::vector<double> end;
  if (labels_.end) end.assign(labels_.end, labels_.end + cells.stride);
  NgramScores<double> now{votes.ngrams, potentials.now.data() + cells.pairs};
  std::optional<NgramBounds<double>> bounds;
  if (votes.ngrams) {
    bounds.emplace(cells.n_labels).grow(*votes.ngrams);
    now.relaxed = bounds->relaxed();
  }
  const auto view = [&](const std::vector<double>& scores) {
    const double* edge = scores.data() + cells.edge(n, 0);
    const LabelTables<double> labels{cells.n_labels, cells.stride, edge,
                                     cells.has_tri ? scores.data() + cells.pairs : nullptr,
                                     end.empty() ? nullptr : end.data(), votes.ngrams ? &now : nullptr};
    return ChainView<double>(labels, n, scores.data() + cells.emit(0), cells.per_token ? edge : nullptr,
                             sets.starts ? &sets : nullptr);
  };
  const ChainView<double> chain = view(potentials.now);

  std::vector<std::int32_t>&best = scratch.path, &next = scratch.next_path;
  best.resize(n);
  best_path(chain, scratch.viterbi, best.data());
  // Votes of each path, and its negated first moment: the greatest wins.
  std::map<std::vector<std::int32_t>, std::pair<std::int64_t, std::int64_t>> ballot;
  std::int64_t count = votes.counts[0];  // votes of the path since it was decoded, at moment `since`
  std::size_t since = 0, moment = 0, stretch = 1;
  const auto cast = [&] {
    if (count) ballot.try_emplace(best, 0, -static_cast<std::int64_t>(since)).first->second.first += count;
  };
  Range range{view(potentials.low), view(potentials.high), nullptr};
  while (moment < votes.n_updates) {
    const std::size_t last = std::min(votes.n_updates, moment + stretch);
    for (std::size_t u = moment; u < last; ++u)
      for (std::size_t i = scratch.starts[u]; i < scratch.ends[u]; ++i) potentials.add(scratch.events[i]);
    range.path = best.data();
    bool same = potentials.touched.empty();
    if (!same && last > moment + 1) {
      same = stays_best(range, scratch.delta, scratch.grown);
      if (!same) {
        potentials.settle(false);
        stretch = std::max<std::size_t>(1, (last - moment) / 2);
        continue;
      }
    }
    scratch.changed.clear();
    for (std::uint32_t cell : potentials.touched)
      if (votes.ngrams && cell >= cells.pairs && cell < cells.shared)
        scratch.changed.push_back(static_cast<std::uint32_t>(cell - cells.pairs));
    potentials.settle(true);
    for (std::uint32_t g : scratch.changed) bounds->update(*votes.ngrams, now.scores, g);
    if (!same) {  // a single moment: decoding costs no more than testing
      next.resize(n);
      best_path(chain, scratch.viterbi, next.data());
      same = next == best;
      if (!same) {
        cast();
        std::swap(best, next);
        since = moment + 1;
        count = 0;
      }
    }
    for (std::size_t m = moment + 1; m <= last; ++m) count += votes.counts[m];
    moment = last;
    stretch = same && !votes.ngrams ? 2 * stretch : 1;
  }
  cast();
  const auto winner = std::ranges::max_element(ballot, {}, [](const auto& one) { return one.second; });
  std::ranges::copy(winner == ballot.end() ? best : winner->first, path);
}

}  // namespace

void vote_all(const Votes& votes, const LabelWeights& labels, const ChainData& data, const std::int64_t* starts,
              std::size_t n_sentences, std::size_t n_threads, std::int32_t* paths) {
  const Replay replay(votes, labels, data, starts);
  parallel_blocks(n_sentences, 1, n_threads, [] { return VoteScratch{}; }, [&](VoteScratch& scratch, std::size_t s, std::size_t) {
    replay.vote(s, scratch, paths + starts[s]);
  });
}

}  // namespace trellis
