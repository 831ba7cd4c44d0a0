#include "papers/voting.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/chain_passes.hpp"
#include "engine/ngram_scores.hpp"
#include "engine/viterbi.hpp"
#include "parallel.hpp"

namespace trellis {
namespace {

// One change of one potential, and all changes of one sentence by update.
struct Event {
  std::uint32_t cell;
  double by;
};
struct Events {
  std::vector<std::size_t> starts;  // [n_updates + 1]
  std::vector<Event> list;
};

// Where the potentials of a sentence lie in one array: label pairs and triples or n-grams, which all sentences share; then
// emit [n, stride]; then, where there are edge templates, edge [n, n_labels + 1, stride], and the shared pairs are not
// used.
struct Cells {
  std::size_t n_labels, stride, pairs, shared;
  bool has_tri, per_token;

  Cells(const LabelWeights& labels, const Votes& votes, bool edges)
      : n_labels(labels.n_labels), stride(labels.stride), pairs((n_labels + 1) * stride), shared(pairs),
        has_tri(votes.order == 2 && !votes.ngrams), per_token(edges) {
    if (has_tri) shared += (n_labels + 1) * pairs;
    if (votes.ngrams) shared += votes.ngrams->size();
  }
  std::size_t size(std::size_t n) const { return shared + n * token(); }
  std::size_t token() const { return stride + (per_token ? pairs : 0); }
  std::size_t emit(std::size_t t) const { return shared + t * stride; }
  std::size_t edge(std::size_t n, std::size_t t, std::size_t y) const {
    return per_token ? shared + n * stride + t * pairs + y * stride : y * stride;
  }
};

// The potentials of one sentence now, and their range over the moments that are being tried.
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
  // Go on from where the moments that were tried ended, or back to where they began.
  void settle(bool keep) {
    for (std::uint32_t cell : touched) {
      if (keep) now[cell] = value[cell];
      value[cell] = low[cell] = high[cell] = now[cell];
      is_touched[cell] = 0;
    }
    touched.clear();
  }
};

// Where a row stands in a block of sentences: at a token, whose potentials begin at that cell of all that are the sentences' own.
struct Occurrence {
  std::uint32_t cell;
  float value;
  std::int32_t next;  // another of the same row, or -1
};

struct VoteScratch {
  PotentialRanges potentials;
  Events shared;
  std::vector<Events> own;              // of each sentence of the block
  std::vector<std::int32_t> first;      // [n_rows] first occurrence in the block, -1 for none
  std::vector<Occurrence> occurrences;  // of rows in the block
  std::vector<std::size_t> starts;      // where the own potentials of each sentence begin in those of the block
  std::vector<double> sums;             // one update's changes of these potentials
  std::vector<std::uint8_t> is_summed;  // whether a potential has any
  std::vector<std::uint32_t> summed;    // those that have
  std::vector<double> delta, grown;
  std::vector<std::uint32_t> changed;  // n-grams
  std::vector<std::int32_t> path, next_path;
  Workspace<double> viterbi;
};

// Replays all updates over some sentences.
struct Replay {
  const Votes& votes;
  const LabelWeights& labels;
  const ChainData& data;
  const std::int64_t* starts;
  Cells cells;
  VoteScratch& scratch;

  std::size_t pair_row() const { return votes.n_attributes + votes.n_edge_attributes; }

  // The changes of label pairs and triples that all sentences share.
  void gather_shared() {
    Events& events = scratch.shared;
    if (!events.starts.empty()) return;  // by an earlier block
    events.starts.push_back(0);
    for (std::size_t u = 0; u < votes.n_updates; ++u) {
      for (std::int64_t i = votes.starts[u]; i < votes.starts[u + 1]; ++i) {
        if (votes.rows[i] > pair_row())
          events.list.push_back({static_cast<std::uint32_t>(cells.pairs + votes.places[i]), votes.changes[i]});
        else if (votes.rows[i] == pair_row() && !cells.per_token)
          events.list.push_back({votes.places[i], votes.changes[i]});
      }
      events.starts.push_back(events.list.size());
    }
  }

  // Where rows stand in sentences [first, last), that of label pairs among them where they differ by token.
  void index(std::size_t first, std::size_t last) {
    scratch.first.assign(pair_row() + 1, -1);
    scratch.occurrences.clear(), scratch.starts.assign(1, 0);
    const auto stand = [&](std::size_t row, std::size_t cell, float value) {
      const auto own = static_cast<std::uint32_t>(scratch.starts.back() + cell - cells.shared);
      scratch.occurrences.push_back({own, value, scratch.first[row]});
      scratch.first[row] = static_cast<std::int32_t>(scratch.occurrences.size() - 1);
    };
    for (std::size_t s = first; s < last; ++s) {
      const std::size_t begin = starts[s], n = starts[s + 1] - begin;
      for (std::size_t t = 0; t < n; ++t) {
        data.attributes.each(begin + t, [&](std::int32_t a, float value) { stand(a, cells.emit(t), value); });
        if (!cells.per_token) continue;
        const std::size_t edge = cells.edge(n, t, 0);
        data.edge_attributes.each(begin + t, [&](std::int32_t a, float value) { stand(votes.n_attributes + a, edge, value); });
        stand(pair_row(), edge, 1);
      }
      scratch.starts.push_back(scratch.starts.back() + n * cells.token());
    }
  }

  // The changes of each sentence's own potentials, by sentences [first, last).
  void gather(std::size_t first, std::size_t last) {
    index(first, last);
    scratch.sums.assign(scratch.starts.back(), 0);
    scratch.is_summed.assign(scratch.starts.back(), 0);
    scratch.own.resize(last - first);
    for (Events& events : scratch.own) events.list.clear(), events.starts.assign(1, 0);
    for (std::size_t u = 0; u < votes.n_updates; ++u) {
      for (std::int64_t i = votes.starts[u]; i < votes.starts[u + 1]; ++i)
        for (std::int32_t o = votes.rows[i] > pair_row() ? -1 : scratch.first[votes.rows[i]]; o >= 0;
             o = scratch.occurrences[o].next) {
          const std::uint32_t cell = scratch.occurrences[o].cell + votes.places[i];
          if (!scratch.is_summed[cell]) scratch.is_summed[cell] = 1, scratch.summed.push_back(cell);
          scratch.sums[cell] += static_cast<double>(scratch.occurrences[o].value) * votes.changes[i];
        }
      for (std::uint32_t cell : scratch.summed) {
        const auto end = std::upper_bound(scratch.starts.begin(), scratch.starts.end(), cell);
        const std::size_t s = end - scratch.starts.begin() - 1;
        const auto place = static_cast<std::uint32_t>(cells.shared + cell - scratch.starts[s]);
        if (scratch.sums[cell] != 0) scratch.own[s].list.push_back({place, scratch.sums[cell]});
        scratch.sums[cell] = 0, scratch.is_summed[cell] = 0;
      }
      scratch.summed.clear();
      for (Events& events : scratch.own) events.starts.push_back(events.list.size());
    }
  }
};

// One sentence in the range of its potentials.
struct Range {
  ChainView<double> low, high;
  const std::int32_t* path;

  // Sums of floats that are not whole numbers are not exact: a little more than nothing is asked for.
  static bool beats(double score, double other) { return score - other > 1e-9 * (1 + (score < 0 ? -score : score)); }

  // s is what the path has so far, at its lowest; delta what any path has, at its highest, but for what is said of
  // path[t] at t, which the path has too: the lowest there. For the path's own history delta is s, if s beats it.
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

// The votes of one sentence.
struct Ballot {
  struct Share {
    std::int64_t votes = 0;
    std::size_t first = 0;  // the moment of the first vote
  };
  std::map<std::vector<std::int32_t>, Share> shares;

  void add(const std::vector<std::int32_t>& path, std::int64_t votes, std::size_t moment) {
    if (votes == 0) return;
    auto [at, is_new] = shares.try_emplace(path);
    if (is_new) at->second.first = moment;
    at->second.votes += votes;
  }
  const std::vector<std::int32_t>* winner() const {
    const std::vector<std::int32_t>* best = nullptr;
    Share most;
    for (const auto& [path, share] : shares)
      if (!best || share.votes > most.votes || (share.votes == most.votes && share.first < most.first))
        best = &path, most = share;
    return best;
  }
};

void vote_one(const Replay& replay, const Events& own, std::size_t sentence, std::int32_t* path) {
  const Cells& cells = replay.cells;
  VoteScratch& scratch = replay.scratch;
  const std::size_t n = replay.starts[sentence + 1] - replay.starts[sentence];
  if (n == 0) return;
  PotentialRanges& potentials = scratch.potentials;
  potentials.reset(cells.size(n));
  for (std::size_t t = 0; t < (cells.per_token ? n : 1); ++t)
    for (std::size_t s = 0; s < cells.pairs; ++s)
      if (replay.labels.edge[s] != 0) potentials.fix(cells.edge(n, t, 0) + s, replay.labels.edge[s]);
  LabelSets sets = replay.data.sets;
  if (sets.starts) sets.set_of_token += replay.starts[sentence];

  std::vector<double> end;
  if (replay.labels.end) end.assign(replay.labels.end, replay.labels.end + cells.stride);
  const Votes& votes = replay.votes;
  NgramScores<double> now{votes.ngrams, potentials.now.data() + cells.pairs};
  std::optional<NgramBounds<double>> bounds;
  if (votes.ngrams) {
    bounds.emplace(cells.n_labels).grow(*votes.ngrams);
    now.relaxed = bounds->relaxed();
  }
  const auto view = [&](const std::vector<double>& scores) {
    const double* edge = scores.data() + cells.edge(n, 0, 0);
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
  Ballot ballot;
  std::int64_t count = votes.counts[0];  // votes of the path since it was decoded, at moment `since`
  std::size_t since = 0, moment = 0, stretch = 1;
  Range range{view(potentials.low), view(potentials.high), nullptr};
  while (moment < votes.n_updates) {
    const std::size_t last = std::min(votes.n_updates, moment + stretch);
    for (std::size_t u = moment; u < last; ++u) {
      for (std::size_t i = scratch.shared.starts[u]; i < scratch.shared.starts[u + 1]; ++i)
        potentials.add(scratch.shared.list[i]);
      for (std::size_t i = own.starts[u]; i < own.starts[u + 1]; ++i) potentials.add(own.list[i]);
    }
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
    if (!same) {  // one moment: decoding it costs no more than trying
      next.resize(n);
      best_path(chain, scratch.viterbi, next.data());
      same = next == best;
      if (!same) {
        ballot.add(best, count, since);
        std::swap(best, next);
        since = moment + 1;
        count = 0;
      }
    }
    for (std::size_t m = moment + 1; m <= last; ++m) count += votes.counts[m];
    moment = last;
    stretch = same && !votes.ngrams ? 2 * stretch : 1;
  }
  ballot.add(best, count, since);
  const std::vector<std::int32_t>* winner = ballot.winner();
  std::copy_n(winner ? winner->data() : best.data(), n, path);
}

}  // namespace

void vote_all(const Votes& votes, const LabelWeights& labels, const ChainData& data, const std::int64_t* starts,
              std::size_t n_sentences, std::size_t n_threads, std::int32_t* paths) {
  parallel_blocks(
      n_sentences, 16, n_threads, [] { return VoteScratch{}; },
      [&](VoteScratch& scratch, std::size_t first, std::size_t last) {
        Replay replay{votes, labels, data, starts, Cells(labels, votes, data.edge_attributes.starts), scratch};
        replay.gather_shared();
        replay.gather(first, last);
        for (std::size_t s = first; s < last; ++s) vote_one(replay, scratch.own[s - first], s, paths + starts[s]);
      });
}

}  // namespace trellis
