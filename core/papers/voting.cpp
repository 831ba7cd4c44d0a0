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
struct Layout {
  std::size_t n_labels, stride, pairs, shared;
  bool has_tri, per_token;

  Layout(const LabelWeights& labels, const Votes& votes, bool edges)
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
struct Potentials {
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

// Where an attribute stands: at a token of the block.
struct Occurrence {
  std::uint32_t token;
  float value;
  std::int32_t next;  // another of the same attribute, or -1
};

struct Buffers {
  Potentials potentials;
  Events shared;
  std::vector<Events> own;               // of each sentence of the block
  std::vector<std::int32_t> first;       // [n_rows] first occurrence in the block, -1 for none
  std::vector<Occurrence> occurrences;   // of attributes in the block
  std::vector<std::size_t> sentence_of;  // [n] the sentence of each token of the block
  std::vector<double> sums;              // one update's changes of the block's potentials, [n, stride] or [n, pairs]
  std::vector<std::uint8_t> is_summed;   // [n] whether a token has any
  std::vector<std::uint32_t> summed;     // those that have
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
  Layout layout;
  Buffers& buffers;

  bool has_edges() const { return layout.per_token; }

  // The changes of label pairs and triples that all sentences share.
  void gather_shared() {
    Events& events = buffers.shared;
    if (!events.starts.empty()) return;  // by an earlier block
    const std::size_t pair_row = votes.n_attributes + votes.n_edge_attributes;
    events.starts.push_back(0);
    for (std::size_t u = 0; u < votes.n_updates; ++u) {
      for (std::int64_t i = votes.starts[u]; i < votes.starts[u + 1]; ++i) {
        if (votes.rows[i] > pair_row)
          events.list.push_back({static_cast<std::uint32_t>(layout.pairs + votes.places[i]), votes.changes[i]});
        else if (votes.rows[i] == pair_row && !has_edges())
          events.list.push_back({votes.places[i], votes.changes[i]});
      }
      events.starts.push_back(events.list.size());
    }
  }

  void index(const Sites& at, std::size_t begin, std::size_t end, std::size_t first_row) {
    for (std::size_t t = begin; t < end; ++t)
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i) {
        std::int32_t& first = buffers.first[first_row + at.ids[i]];
        buffers.occurrences.push_back({static_cast<std::uint32_t>(t - begin), at.values ? at.values[i] : 1.0f, first});
        first = static_cast<std::int32_t>(buffers.occurrences.size() - 1);
      }
  }
  void forget(const Sites& at, std::size_t begin, std::size_t end, std::size_t first_row) {
    for (std::int64_t i = at.starts[begin]; i < at.starts[end]; ++i) buffers.first[first_row + at.ids[i]] = -1;
  }
  double* sums_at(std::uint32_t token, std::size_t width) {
    if (!buffers.is_summed[token]) buffers.is_summed[token] = 1, buffers.summed.push_back(token);
    return buffers.sums.data() + token * width;
  }
  // One update's changes [from, to) of one row, wherever it stands.
  void sum_row(std::size_t row, std::int64_t from, std::int64_t to, std::size_t width) {
    for (std::int32_t o = buffers.first[row]; o >= 0; o = buffers.occurrences[o].next) {
      double* sums = sums_at(buffers.occurrences[o].token, width);
      const double value = buffers.occurrences[o].value;
      for (std::int64_t i = from; i < to; ++i) sums[votes.places[i]] += value * votes.changes[i];
    }
  }
  // The sums become events of the sentences from `first` on.
  void spread(std::size_t first, std::size_t width, bool on_edge) {
    for (std::uint32_t token : buffers.summed) {
      double* sums = buffers.sums.data() + token * width;
      const std::size_t s = buffers.sentence_of[token], n = starts[s + 1] - starts[s];
      const std::size_t t = token - (starts[s] - starts[first]);
      const std::size_t base = on_edge ? layout.edge(n, t, 0) : layout.emit(t);
      for (std::size_t z = 0; z < width; ++z) {
        if (sums[z] == 0) continue;
        buffers.own[s - first].list.push_back({static_cast<std::uint32_t>(base + z), sums[z]});
        sums[z] = 0;
      }
      buffers.is_summed[token] = 0;
    }
    buffers.summed.clear();
  }

  // The changes of each sentence's own potentials, by sentences [first, last).
  void gather(std::size_t first, std::size_t last) {
    const std::size_t begin = starts[first], end = starts[last], n = end - begin, stride = layout.stride;
    const std::size_t pair_row = votes.n_attributes + votes.n_edge_attributes;
    buffers.first.resize(pair_row, -1);
    buffers.occurrences.clear();
    index(data.attributes, begin, end, 0);
    if (has_edges()) index(data.edge_attributes, begin, end, votes.n_attributes);
    buffers.sums.assign(n * (has_edges() ? layout.pairs : stride), 0);
    buffers.is_summed.assign(n, 0);
    buffers.sentence_of.resize(n);
    for (std::size_t s = first; s < last; ++s)
      for (std::int64_t t = starts[s]; t < starts[s + 1]; ++t) buffers.sentence_of[t - begin] = s;
    buffers.own.resize(last - first);
    for (Events& events : buffers.own) events.list.clear(), events.starts.assign(1, 0);

    for (std::size_t u = 0; u < votes.n_updates; ++u) {
      bool on_edge = false;  // rows come in order, those of edges after the others
      for (std::int64_t i = votes.starts[u], j; i < votes.starts[u + 1]; i = j) {
        const std::size_t row = votes.rows[i];
        for (j = i + 1; j < votes.starts[u + 1] && votes.rows[j] == row;) ++j;
        if (row >= votes.n_attributes && (row > pair_row || !has_edges())) continue;
        if (row >= votes.n_attributes && !on_edge) spread(first, stride, false), on_edge = true;
        if (row < pair_row) {
          sum_row(row, i, j, on_edge ? layout.pairs : stride);
        } else {
          for (std::uint32_t t = 0; t < n; ++t) {
            double* sums = sums_at(t, layout.pairs);
            for (std::int64_t c = i; c < j; ++c) sums[votes.places[c]] += votes.changes[c];
          }
        }
      }
      spread(first, on_edge ? layout.pairs : stride, on_edge);
      for (Events& events : buffers.own) events.starts.push_back(events.list.size());
    }
    forget(data.attributes, begin, end, 0);
    if (has_edges()) forget(data.edge_attributes, begin, end, votes.n_attributes);
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
  const Layout& layout = replay.layout;
  Buffers& buffers = replay.buffers;
  const std::size_t n = replay.starts[sentence + 1] - replay.starts[sentence];
  if (n == 0) return;
  Potentials& potentials = buffers.potentials;
  potentials.reset(layout.size(n));
  for (std::size_t t = 0; t < (layout.per_token ? n : 1); ++t)
    for (std::size_t s = 0; s < layout.pairs; ++s)
      if (replay.labels.edge[s] != 0) potentials.fix(layout.edge(n, t, 0) + s, replay.labels.edge[s]);
  LabelSets sets = replay.data.sets;
  if (sets.starts) sets.set_of_token += replay.starts[sentence];

  std::vector<double> end;
  if (replay.labels.end) end.assign(replay.labels.end, replay.labels.end + layout.stride);
  const Votes& votes = replay.votes;
  NgramScores<double> now{votes.ngrams, potentials.now.data() + layout.pairs};
  std::optional<NgramBounds<double>> bounds;
  if (votes.ngrams) {
    bounds.emplace(layout.n_labels).grow(*votes.ngrams);
    now.relaxed = bounds->relaxed();
  }
  const auto view = [&](const std::vector<double>& scores) {
    const double* edge = scores.data() + layout.edge(n, 0, 0);
    const LabelTables<double> labels{layout.n_labels, layout.stride, edge,
                                     layout.has_tri ? scores.data() + layout.pairs : nullptr,
                                     end.empty() ? nullptr : end.data(), votes.ngrams ? &now : nullptr};
    return ChainView<double>(labels, n, scores.data() + layout.emit(0), layout.per_token ? edge : nullptr,
                             sets.starts ? &sets : nullptr);
  };
  const ChainView<double> chain = view(potentials.now);

  std::vector<std::int32_t>&best = buffers.path, &next = buffers.next_path;
  best.resize(n);
  best_path(chain, buffers.viterbi, best.data());
  Ballot ballot;
  std::int64_t count = votes.counts[0];  // votes of the path since it was decoded, at moment `since`
  std::size_t since = 0, moment = 0, stretch = 1;
  Range range{view(potentials.low), view(potentials.high), nullptr};
  while (moment < votes.n_updates) {
    const std::size_t last = std::min(votes.n_updates, moment + stretch);
    for (std::size_t u = moment; u < last; ++u) {
      for (std::size_t i = buffers.shared.starts[u]; i < buffers.shared.starts[u + 1]; ++i)
        potentials.add(buffers.shared.list[i]);
      for (std::size_t i = own.starts[u]; i < own.starts[u + 1]; ++i) potentials.add(own.list[i]);
    }
    range.path = best.data();
    bool same = potentials.touched.empty();
    if (!same && last > moment + 1) {
      same = stays_best(range, buffers.delta, buffers.grown);
      if (!same) {
        potentials.settle(false);
        stretch = std::max<std::size_t>(1, (last - moment) / 2);
        continue;
      }
    }
    buffers.changed.clear();
    for (std::uint32_t cell : potentials.touched)
      if (votes.ngrams && cell >= layout.pairs && cell < layout.shared)
        buffers.changed.push_back(static_cast<std::uint32_t>(cell - layout.pairs));
    potentials.settle(true);
    for (std::uint32_t g : buffers.changed) bounds->update(*votes.ngrams, now.scores, g);
    if (!same) {  // one moment: decoding it costs no more than trying
      next.resize(n);
      best_path(chain, buffers.viterbi, next.data());
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
      n_sentences, 16, n_threads, [] { return Buffers{}; },
      [&](Buffers& buffers, std::size_t first, std::size_t last) {
        Replay replay{votes, labels, data, starts, Layout(labels, votes, data.edge_attributes.starts), buffers};
        replay.gather_shared();
        replay.gather(first, last);
        for (std::size_t s = first; s < last; ++s) vote_one(replay, buffers.own[s - first], s, paths + starts[s]);
      });
}

}  // namespace trellis
