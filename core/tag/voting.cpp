#include "tag/voting.hpp"

#include <algorithm>
#include <map>

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

// Where the potentials of a sentence lie in one array: label pairs and triples, which all sentences share; then
// emit [n, stride]; then, where there are edge templates, edge [n, n_labels + 1, stride], and the shared pairs are not
// used.
struct Layout {
  std::size_t n_labels, stride, pairs, shared;
  bool has_tri, per_token;

  Layout(const LabelWeights& labels, int order, bool edges)
      : n_labels(labels.n_labels), stride(labels.stride), pairs((n_labels + 1) * stride),
        shared(pairs + (order == 2 ? (n_labels + 1) * pairs : 0)), has_tri(order == 2), per_token(edges) {}
  std::size_t size(std::size_t n) const { return shared + n * token(); }
  std::size_t token() const { return stride + (per_token ? pairs : 0); }
  std::size_t emit(std::size_t t) const { return shared + t * stride; }
  std::size_t edge(std::size_t n, std::size_t t, std::size_t y) const {
    return per_token ? shared + n * stride + t * pairs + y * stride : y * stride;
  }
  std::size_t tri(std::size_t x, std::size_t y) const { return pairs + (x * (n_labels + 1) + y) * stride; }
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
  const LabelWeights& labels;
  const Layout& layout;
  const LabelSets* allowed;
  std::size_t n;
  const double *low, *high;
  const std::int32_t* path;

  // Sums of floats that are not whole numbers are not exact: a little more than nothing is asked for.
  static bool beats(double score, double other) { return score - other > 1e-9 * (1 + (score < 0 ? -score : score)); }

  TRELLIS_INLINE void forbid_others(std::size_t t, double* row) const {
    if (!allowed) return;
    const ListedLabels known = labels_of(*allowed, t);
    for (std::size_t z = 0, i = 0; z < layout.n_labels; ++z) {
      if (i < known.size() && known[i] == z) ++i;
      else row[z] = kForbidden<double>;
    }
  }
  double end_of(std::size_t y, std::size_t z) const {
    if (!labels.end) return 0;
    return labels.end[layout.has_tri ? y * layout.stride + z : z];
  }

  // Order 1. s is what the path has so far, at its lowest; delta what any path has, at its highest:
  //   delta[t][z] = max_y (delta[t-1][y] + edge_t[y][z]) + emit[t][z],   and delta[t][path[t]] = s if s beats it.
  TRELLIS_INLINE bool stays_best_1(std::vector<double>& delta, std::vector<double>& grown) const {
    const std::size_t L = layout.n_labels, stride = layout.stride;
    delta.resize(stride);
    grown.resize(stride);
    std::size_t at = path[0];
    for (std::size_t z = 0; z < stride; ++z) delta[z] = high[layout.edge(n, 0, L) + z] + high[layout.emit(0) + z];
    forbid_others(0, delta.data());
    double s = delta[at] = low[layout.edge(n, 0, L) + at] + low[layout.emit(0) + at];
    for (std::size_t t = 1; t < n; ++t) {
      const std::size_t z = path[t];
      const double* emit = high + layout.emit(t);
      std::fill(grown.begin(), grown.end(), kForbidden<double>);
      double rival = kForbidden<double>;
      for (std::size_t y = 0; y < L; ++y) {
        const double* edge = high + layout.edge(n, t, y);
        const double from = delta[y];
        for (std::size_t v = 0; v < stride; ++v) grown[v] = std::max(grown[v], from + edge[v]);
        if (y != at) rival = std::max(rival, from + edge[z]);
      }
      for (std::size_t v = 0; v < stride; ++v) grown[v] += emit[v];
      forbid_others(t, grown.data());
      const double mine = low[layout.emit(t) + z];
      s = (s + low[layout.edge(n, t, at) + z]) + mine;
      if (!beats(s, rival + mine)) return false;
      grown[z] = s;
      std::swap(delta, grown);
      at = z;
    }
    s += end_of(0, at);
    for (std::size_t z = 0; z < L; ++z)
      if (z != at && !beats(s, delta[z] + end_of(0, z))) return false;
    return true;
  }

  // Order 2: the same over the last two labels.
  //   delta[t][y][z] = (max_x (delta[t-1][x][y] + tri[x][y][z]) + edge_t[y][z]) + emit[t][z]
  // At t = 0 the one row of delta is that of y = NULL.
  TRELLIS_INLINE bool stays_best_2(std::vector<double>& delta, std::vector<double>& grown) const {
    const std::size_t L = layout.n_labels, stride = layout.stride;
    delta.assign((L + 1) * stride, kForbidden<double>);
    grown.assign((L + 1) * stride, kForbidden<double>);
    std::size_t x = L, y = path[0];
    double* first = delta.data() + L * stride;
    for (std::size_t z = 0; z < stride; ++z)
      first[z] = (high[layout.tri(L, L) + z] + high[layout.edge(n, 0, L) + z]) + high[layout.emit(0) + z];
    forbid_others(0, first);
    double s = first[y] = (low[layout.tri(L, L) + y] + low[layout.edge(n, 0, L) + y]) + low[layout.emit(0) + y];
    for (std::size_t t = 1; t < n; ++t) {
      const std::size_t z = path[t];
      const double* emit = high + layout.emit(t);
      const std::size_t x_begin = t == 1 ? L : 0, x_end = t == 1 ? L + 1 : L;
      double rival = kForbidden<double>;
      for (std::size_t b = 0; b < L; ++b) {
        double* out = grown.data() + b * stride;
        std::fill_n(out, stride, kForbidden<double>);
        for (std::size_t a = x_begin; a < x_end; ++a) {
          const double from = delta[a * stride + b];
          const double* tri = high + layout.tri(a, b);
          for (std::size_t v = 0; v < stride; ++v) out[v] = std::max(out[v], from + tri[v]);
          if (b == y && a != x) rival = std::max(rival, from + tri[z]);
        }
        const double* edge = high + layout.edge(n, t, b);
        for (std::size_t v = 0; v < stride; ++v) out[v] += edge[v];
        const double common = out[z] + low[layout.emit(t) + z];  // what is said of z at t the path has too
        for (std::size_t v = 0; v < stride; ++v) out[v] += emit[v];
        out[z] = common;
        forbid_others(t, out);
      }
      std::fill_n(grown.data() + L * stride, stride, kForbidden<double>);
      const double pair = low[layout.edge(n, t, y) + z], mine = low[layout.emit(t) + z];
      s = ((s + low[layout.tri(x, y) + z]) + pair) + mine;
      if (!beats(s, (rival + pair) + mine)) return false;
      grown[y * stride + z] = s;
      std::swap(delta, grown);
      x = y;
      y = z;
    }
    s += end_of(x, y);
    for (std::size_t b = 0; b <= L; ++b)
      for (std::size_t z = 0; z < L; ++z)
        if ((b != x || z != y) && !beats(s, delta[b * stride + z] + end_of(b, z))) return false;
    return true;
  }
};

TRELLIS_CLONES bool stays_best(const Range& range, std::vector<double>& delta, std::vector<double>& grown) {
  return range.layout.has_tri ? range.stays_best_2(delta, grown) : range.stays_best_1(delta, grown);
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
  const std::size_t n = replay.starts[sentence + 1] - replay.starts[sentence], L = layout.n_labels;
  if (n == 0) return;
  Potentials& potentials = buffers.potentials;
  potentials.reset(layout.size(n));
  for (std::size_t t = 0; t < (layout.per_token ? n : 1); ++t)
    for (std::size_t s = 0; s < layout.pairs; ++s)
      if (replay.labels.edge[s] != 0) potentials.fix(layout.edge(n, t, 0) + s, replay.labels.edge[s]);
  LabelSets sets = replay.data.sets;
  if (sets.starts) sets.set_of_token += replay.starts[sentence];

  std::vector<double> end;
  if (replay.labels.end) end.assign(replay.labels.end, replay.labels.end + (layout.has_tri ? L + 1 : 1) * layout.stride);
  ChainView<double> chain{};
  chain.n_tokens = n;
  chain.n_labels = L;
  chain.stride = layout.stride;
  chain.emit = potentials.now.data() + layout.emit(0);
  chain.edge = potentials.now.data() + layout.edge(n, 0, 0);
  chain.edge_per_token = layout.per_token;
  chain.tri = layout.has_tri ? potentials.now.data() + layout.pairs : nullptr;
  chain.end = replay.labels.end ? end.data() : nullptr;
  chain.allowed = sets.starts ? &sets : nullptr;

  std::vector<std::int32_t>&best = buffers.path, &next = buffers.next_path;
  best.resize(n);
  best_path(chain, buffers.viterbi, best.data());
  Ballot ballot;
  const Votes& votes = replay.votes;
  std::int64_t count = votes.counts[0];  // votes of the path since it was decoded, at moment `since`
  std::size_t since = 0, moment = 0, stretch = 1;
  Range range{replay.labels, layout, chain.allowed, n, potentials.low.data(), potentials.high.data(), nullptr};
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
    potentials.settle(true);
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
    stretch = same ? 2 * stretch : 1;
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
        Replay replay{votes, labels, data, starts, Layout(labels, votes.order, data.edge_attributes.starts), buffers};
        replay.gather_shared();
        replay.gather(first, last);
        for (std::size_t s = first; s < last; ++s) vote_one(replay, buffers.own[s - first], s, paths + starts[s]);
      });
}

}  // namespace trellis
