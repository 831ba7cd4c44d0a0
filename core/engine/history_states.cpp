#include "engine/history_states.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/row.hpp"
#include "engine/viterbi.hpp"

namespace trellis {
namespace {

// Calls visit(gains) with gains [n_labels, stride], a bound on what n-grams with scores at token t only add to label pairs
// y, z, or null: the maximum over n-grams ending in y, z of the sum of the positive scores of the n-gram and its suffixes.
template <class Real, class Visit>
TRELLIS_INLINE void with_gains(const ChainView<Real>& chain, std::size_t t, HistoryWorkspace<Real>& work, Visit visit) {
  const TokenNgrams<Real>* by_token = chain.ngrams->by_token;
  if (!by_token || by_token->starts[t] == by_token->starts[t + 1] || !chain.ngrams->relaxed.pairs)
    return visit(static_cast<const Real*>(nullptr));
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const std::span nodes = std::span(by_token->nodes).subspan(by_token->starts[t], by_token->starts[t + 1] - by_token->starts[t]);
  if (work.token_scores.size() < ngrams.size()) work.token_scores.resize(ngrams.size(), Real(0));
  if (work.gains.size() < chain.n_labels * chain.stride) work.gains.resize(chain.n_labels * chain.stride, Real(0));
  const auto cell = [&](std::uint32_t g) -> Real& {
    return work.gains[ngrams.label(ngrams.parent(g)) * chain.stride + ngrams.label(g)];
  };
  for (std::size_t i = 0; i < nodes.size(); ++i)
    work.token_scores[nodes[i]] = std::max(by_token->scores[by_token->starts[t] + i], Real(0));
  for (const std::uint32_t node : nodes) {
    Real sum = 0;
    for (std::uint32_t g = node; ngrams.length(g) >= kScored; g = ngrams.shorter(g)) sum += work.token_scores[g];
    if (sum > 0) cell(node) = std::max(cell(node), sum);
  }
  visit(static_cast<const Real*>(work.gains.data()));
  for (const std::uint32_t node : nodes) {
    work.token_scores[node] = 0;
    if (ngrams.length(node) >= kScored) cell(node) = 0;
  }
}

// The maximum of each of kLanes vectors.
template <class Real>
TRELLIS_INLINE Vector<Real> greatest_of(Vector<Real>* rows) {
  constexpr std::size_t N = kLanes<Real>;
  for (std::size_t n = N / 2; n; n /= 2)
    for (std::size_t i = 0; i < n; ++i)
      rows[i] = MaxPlus::plus(shuffle<Real>(rows[2 * i], rows[2 * i + 1], [](std::size_t j) { return 2 * j; }),
                              shuffle<Real>(rows[2 * i], rows[2 * i + 1], [](std::size_t j) { return 2 * j + 1; }));
  return rows[0];
}

// ahead[x][y] = max_z most[x][y][z] + base[y][z] for pairs of labels, a multiple of kLanes.
template <class Real>
TRELLIS_INLINE void look_back_any(const RelaxedChain<Real>& relaxed, std::size_t stride, const Real* base,
                                  std::span<const LabelPair> pairs, Real* ahead) {
  constexpr std::size_t N = kLanes<Real>;
  for (std::size_t first = 0; first < pairs.size(); first += N) {
    Vector<Real> tops[N];
    for (std::size_t i = 0; i < N; ++i) {
      const auto [x, y] = pairs[first + i];
      const Real *most = relaxed.row(x, y, stride), *follows = base + y * stride;
      tops[i] = Vector<Real>{} + kForbidden<Real>;
      for (std::size_t z = 0; z < stride; z += N) tops[i] = MaxPlus::plus(tops[i], lanes(most + z) + lanes(follows + z));
    }
    const Vector<Real> found = greatest_of<Real>(tops);
    for (std::size_t i = 0; i < N; ++i) ahead[pairs[first + i].x * stride + pairs[first + i].y] = found[i];
  }
}
// The labels z with number + sum over rows (null: zero) >= least; returns how many they are.
template <class Real>
TRELLIS_INLINE std::size_t find_promising_any(Real number, std::array<const Real*, 3> rows, std::size_t n_labels, Real least,
                                              std::int32_t* labels) {
  std::size_t n = 0;
  for (std::size_t first = 0; first < n_labels; first += kLanes<Real>) {
    Vector<Real> sum = Vector<Real>{} + number;
    for (const Real* row : rows)
      if (row) sum += lanes(row + first);
    if (!(largest_of<Real>(sum) >= least)) continue;
    Real sums[kLanes<Real>];
    lanes_at(sums) = sum;
    for (std::size_t i = 0; i < kLanes<Real> && first + i < n_labels; ++i) {
      labels[n] = static_cast<std::int32_t>(first + i);
      n += sums[i] >= least;
    }
  }
  return n;
}
#define TRELLIS_KERNELS(Real)                                                                                                \
  TRELLIS_CLONES void look_back(const RelaxedChain<Real>& relaxed, std::size_t stride, const Real* base,                     \
                                std::span<const LabelPair> pairs, Real* ahead) {                                             \
    look_back_any(relaxed, stride, base, pairs, ahead);                                                                      \
  }                                                                                                                          \
  TRELLIS_CLONES std::size_t find_promising(Real number, std::array<const Real*, 3> rows, std::size_t n_labels, Real least,  \
                                            std::int32_t* labels) {                                                          \
    return find_promising_any(number, rows, n_labels, least, labels);                                                        \
  }
TRELLIS_FOR_REALS(TRELLIS_KERNELS)
#undef TRELLIS_KERNELS

// One step forward, by the steps after which a path can score `least`. First all labels by the bounds of the relaxed chain; for
// the few remaining labels the n-grams are looked up.
template <class Real>
void advance(const ChainView<Real>& chain, HistoryWorkspace<Real>& w, std::size_t t, Real least) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  const bool bounded = least > kForbidden<Real>;
  const Real* emit = chain.emit_at(t);
  const std::size_t first = w.first_before(t), last = w.states.size();
  w.labels.resize(chain.n_labels + 1);
  std::iota(w.labels.begin(), w.labels.end(), 0);
  ListedLabels labels{w.labels.data(), chain.n_labels};
  if (!bounded && chain.allowed) labels = labels_of(*chain.allowed, t);
  w.scores_at.visit(*chain.ngrams, t, [&](const auto& score) TRELLIS_INLINE_LAMBDA {
    for (std::size_t from = first; from < last; ++from) {
      const std::uint32_t state = w.states[from];
      const Real alpha = w.alpha[from];
      const std::size_t y = ngrams.label(state);
      const Real *edge = chain.edge_at(t, y), *follows = bounded ? w.ahead_of(chain, t, relaxed.before(y)) : nullptr;
      if (bounded) {
        const Real* longer = t ? relaxed.row(relaxed.before(ngrams, state), y, chain.stride) : nullptr;
        const std::array<const Real*, 3> rows{t ? w.base_of(chain, t, y) : edge, t ? longer : emit, t ? nullptr : follows};
        labels.n = find_promising(alpha, rows, chain.n_labels, least, w.labels.data());
      }
      for (std::size_t j = 0; j < labels.size(); ++j) {
        const std::size_t z = labels[j];
        const std::uint32_t node = ngrams.longest(state, z);
        const Real value = ((alpha + score(node)) + edge[z]) + emit[z];
        if (value == kForbidden<Real> || (bounded && !(value + follows[z] >= least))) continue;
        const std::uint32_t next = ngrams.state(node);
        std::int32_t& place = w.place[next];
        if (place < 0) {
          place = static_cast<std::int32_t>(w.states.size());
          w.states.push_back(next), w.alpha.push_back(value);
        } else {
          Real& best = w.alpha[static_cast<std::size_t>(place)];
          best = std::max(best, value);
        }
      }
    }
  });
  for (std::size_t s = last; s < w.states.size(); ++s) w.place[w.states[s]] = -1;
}

// Prunes token t to the `width` states with the highest bounds, in the same order; returns the highest bound of the others.
template <class Real>
Real narrow(const ChainView<Real>& chain, HistoryWorkspace<Real>& w, std::size_t t, std::size_t width) {
  const std::size_t first = w.state_starts[t];
  if (w.states.size() - first <= width) return kForbidden<Real>;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  w.ranked.clear();
  for (std::size_t s = first; s < w.states.size(); ++s) {
    const std::size_t x = chain.ngrams->relaxed.before(ngrams, w.states[s]), z = ngrams.label(w.states[s]);
    w.ranked.emplace_back(-(w.alpha[s] + w.ahead_of(chain, t, x)[z]), s);
  }
  const auto cut = w.ranked.begin() + static_cast<std::ptrdiff_t>(width);
  std::nth_element(w.ranked.begin(), cut, w.ranked.end());
  const Real lost = -cut->first;
  std::sort(w.ranked.begin(), cut, [](const auto& a, const auto& b) { return a.second < b.second; });
  for (std::size_t i = 0; i < width; ++i) {
    w.states[first + i] = w.states[w.ranked[i].second];
    w.alpha[first + i] = w.alpha[w.ranked[i].second];
  }
  w.states.resize(first + width), w.alpha.resize(first + width);
  return lost;
}

// Best prefixes and suffixes in the relaxed chain of order 1, for chains without lists of labels. Viterbi on that chain gives
// the prefixes, Viterbi on its mirror image the suffixes. Returns the score of some path, or minus infinity.
template <class Real>
Real bound_labels(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride, cells = (L + 1) * stride;
  const bool by_token = chain.edge_per_token || chain.ngrams->by_token;
  const std::size_t n_tables = by_token ? T : 1;
  work.edges.resize(2 * n_tables * cells), work.emit.resize(T * stride), work.best.resize(2 * T * stride);
  Real *edge = work.edges.data(), *mirrored = edge + n_tables * cells, *prefixes = work.best.data(), *suffixes = prefixes + T * stride;
  for (std::size_t t = 0; t < n_tables; ++t) {
    Real* table = edge + t * cells;
    std::copy_n(chain.edge_at(t, 0), cells, table);
    with_gains(chain, t, work, [&](const Real* gains) {
      for (std::size_t i = 0; i < L * stride; ++i) table[i] += chain.ngrams->relaxed.pairs[i] + (gains ? gains[i] : 0);
    });
    if (t || !by_token) transpose(table, stride, L, L, mirrored + (t ? T - t : 0) * cells, stride);
  }
  for (std::size_t z = 0; z < L; ++z) mirrored[L * stride + z] = chain.end ? chain.end[z] : 0;
  for (std::size_t t = 0; t < T; ++t) std::copy_n(chain.emit_at(t), stride, work.emit.data() + (T - 1 - t) * stride);
  work.path.resize(T);
  search_dense(ChainView<Real>({L, stride, edge, nullptr, chain.end}, T, chain.emit, by_token ? edge : nullptr), prefixes, work.path.data());
  search_dense(ChainView<Real>({L, stride, mirrored}, T, work.emit.data(), by_token ? mirrored : nullptr), suffixes, nullptr);
  const Real reached = path_score(chain, work.path.data());
  Real size = 1 + std::fabs(reached);
  for (std::size_t t = 0; t < T; ++t) {
    const Real *before = prefixes + t * stride, *after = suffixes + (T - 1 - t) * stride;
    size = std::max(size, std::fabs(before[work.path[t]]) + std::fabs(after[work.path[t]]));
  }
  if (reached > kForbidden<Real>) work.slack = Real(1e-4) * size;
  return reached;
}

// Then fills work.pairs with the label pairs whose paths can score `least`; for a chain with lists of labels with all pairs.
template <class Real>
void keep_pairs(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  const bool by_token = chain.edge_per_token || chain.ngrams->by_token;
  const bool all = !chain.allowed && least == kForbidden<Real>;  // then the pairs of the second token serve all later ones
  work.pairs.clear(), work.pairs_at.clear(), work.labels.resize(L + 1);
  for (std::size_t t = 0; t < T; ++t) {
    const std::size_t begin = work.pairs.size();
    if (all && t > 1) {
      work.pairs_at.push_back(work.pairs_at[1]);
      continue;
    }
    const auto keep = [&](std::size_t y, const auto& labels) {
      const std::size_t first = work.pairs.size(), n = chain.ngrams->relaxed.n_before == 1 ? std::min<std::size_t>(labels.size(), 1) : labels.size();
      work.pairs.resize(first + n);
      for (std::size_t j = 0; j < n; ++j) work.pairs[first + j] = {static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(labels[j])};
    };
    for (std::size_t j = 0; chain.allowed && j < (t ? labels_of(*chain.allowed, t - 1).n : 1); ++j)
      keep(t ? labels_of(*chain.allowed, t - 1)[j] : L, labels_of(*chain.allowed, t));
    for (std::size_t y = t ? 0 : L; !chain.allowed && y < (t ? L : L + 1); ++y) {
      if (all) {
        keep(y, AllLabels{L});
        continue;
      }
      const Real* edge = work.edges.data() + ((by_token ? t * (L + 1) : 0) + y) * stride;
      const Real before = t ? work.best[(t - 1) * stride + y] : 0;
      const std::array<const Real*, 3> rows{edge, work.best.data() + (2 * T - 1 - t) * stride};
      keep(y, ListedLabels{work.labels.data(), find_promising(before, rows, L, least, work.labels.data())});
    }
    work.pairs_at.emplace_back(begin, work.pairs.size() - begin);
  }
}

// Then fills work.ahead with upper bounds on the score after labels x, y; returns the score of some path, or minus infinity.
//   base_t[y][z] = (edge_t[y][z] + emit_t[z]) + ahead_t[y][z] + gains_t[y][z]
//   ahead_{t-1}[x][y] = max_z most[x][y][z] + base_t[y][z]
template <class Real>
Real look_ahead(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride, size_of_token = relaxed.n_before * stride;
  const std::size_t after_none = relaxed.after_none(L);
  work.ahead.resize(std::max(work.ahead.size(), T * size_of_token)), work.base.resize(std::max(work.base.size(), T * L * stride));
  work.asked.clear();
  const auto pairs_at = [&](std::size_t t) {
    return std::span(work.pairs).subspan(work.pairs_at[t].first, work.pairs_at[t].second);
  };
  std::array<std::pair<std::size_t, std::size_t>, 2> known{};  // the pairs for which work.asked was computed
  std::size_t n_going = 0;                                      // labels y that continue some pair: those of its first pairs
  for (std::size_t t = T; t-- > 0;) {
    Real* ahead = work.ahead_of(chain, t, 0);
    std::fill_n(ahead, size_of_token, kForbidden<Real>);
    if (t + 1 == T) {
      const auto end_with = [&](const auto& labels) {
        for (std::size_t x = 0; x < relaxed.n_before; ++x)
          for (std::size_t j = 0; j < labels.size(); ++j) ahead[x * stride + labels[j]] = chain.end ? chain.end[labels[j]] : 0;
      };
      chain.allowed ? end_with(labels_of(*chain.allowed, t)) : end_with(AllLabels{L});
      continue;
    }
    if (const std::array pairs{work.pairs_at[t], work.pairs_at[t + 1]}; work.asked.empty() || pairs != known) {
      known = pairs;
      work.asked.clear(), work.goes_on.assign(L, 0);
      for (const auto [y, z] : pairs_at(t + 1))
        if (!std::exchange(work.goes_on[y], 1)) work.asked.push_back({static_cast<std::uint32_t>(after_none), y});
      std::size_t n = n_going = work.asked.size();
      work.asked.resize(n + pairs_at(t).size() + 1);
      for (const LabelPair& pair : pairs_at(t)) work.asked[n] = pair, n += relaxed.n_before > 1 && work.goes_on[pair.y];
      work.asked.resize(n);
      while (work.asked.size() % kLanes<Real>) work.asked.push_back(work.asked.back());
    }
    with_gains(chain, t + 1, work, [&](const Real* gains) {
      for (std::size_t i = 0; i < n_going; ++i) {
        const std::size_t y = work.asked[i].y;
        const Real *edge = chain.edge_at(t + 1, y), *emit = chain.emit_at(t + 1), *follows = work.ahead_of(chain, t + 1, relaxed.before(y));
        Real* base = work.base_of(chain, t + 1, y);
        for (std::size_t z = 0; z < stride; ++z) base[z] = (edge[z] + emit[z]) + follows[z] + (gains ? gains[y * stride + z] : 0);
      }
    });
    look_back(relaxed, stride, work.base_of(chain, t + 1, 0), work.asked, ahead);
  }
  work.path.resize(T);
  Real size = 1;
  std::size_t x = L, y = L;
  for (std::size_t t = 0; t < T; ++t) {
    const Real *edge = chain.edge_at(t, y), *emit = chain.emit_at(t), *follows = work.ahead_of(chain, t, relaxed.before(y));
    const Real* longer = t ? relaxed.row(relaxed.before(x), y, stride) : nullptr;
    const auto value = [&](std::size_t z) { return ((edge[z] + emit[z]) + follows[z]) + (longer ? longer[z] : 0); };
    std::size_t best = 0;
    for (std::size_t z = 1; z < L; ++z)
      if (value(z) > value(best)) best = z;
    if (!(value(best) > kForbidden<Real>)) return kForbidden<Real>;
    size = std::max(size, std::fabs(follows[best]));
    work.path[t] = static_cast<std::int32_t>(best);
    x = y, y = best;
  }
  const Real reached = path_score(chain, work.path.data());
  if (reached > kForbidden<Real>) work.slack = std::max(work.slack, Real(1e-4) * (size + std::fabs(reached)));
  return reached;
}

}  // namespace

template <class Real>
Real reach_states(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least, std::size_t width) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  work.states.assign(1, ngrams.null()), work.alpha.assign(1, 0), work.state_starts.assign(1, 1);
  if (work.place.size() < ngrams.size()) work.place.resize(ngrams.size(), -1);
  Real lost = kForbidden<Real>;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    advance(chain, work, t, least);
    lost = std::max(lost, narrow(chain, work, t, width));
    work.state_starts.push_back(work.states.size());
  }
  return lost;
}

namespace {

template <class Real>
Real best_end(const ChainView<Real>& chain, const HistoryWorkspace<Real>& work) {
  Real best = kForbidden<Real>;
  for (std::size_t s = work.state_starts[chain.n_tokens - 1]; s < work.states.size(); ++s)
    best = std::max(best, end_score(chain, work.states[s], work.alpha[s]));
  return best;
}

// The states that a beam retains; if these leave no path, all of them.
template <class Real>
void reach_beam(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  keep_pairs(chain, work, kForbidden<Real>);
  look_ahead(chain, work);
  reach_states(chain, work, kForbidden<Real>, chain.ngrams->beam);
  if (best_end(chain, work) == kForbidden<Real>) reach_all(chain, work);
}

// States that contain the best paths. First few states per token:
// usually their best path is optimal, which is certain if no dropped state could have reached its score. With a beam the search
// stops here if its best path scores clearly above the paths dropped before the beam.
template <class Real>
void reach_best(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  constexpr std::size_t kFewLabels = 64;  // with so few labels, their pairs cost no more than finding which of them to drop
  Real reached = chain.allowed || chain.n_labels <= kFewLabels ? kForbidden<Real> : bound_labels(chain, work);
  keep_pairs(chain, work, reached - work.slack);
  reached = std::max(reached, look_ahead(chain, work));
  if (reached == kForbidden<Real>) return reach_all(chain, work);
  const std::size_t beam = chain.ngrams->beam;
  const Real lost = reach_states(chain, work, reached - work.slack, beam ? beam : work.few), best = best_end(chain, work);
  if (beam && !(best > reached - work.slack / 2)) reach_beam(chain, work);
  const Real least = std::max(reached, best) - work.slack;
  if (!beam && lost >= least) reach_states(chain, work, least, kAllStates);
}

// Estimates the gap between the best and the k-th best path: the k-th smallest subset sum of the costs of changing single labels,
// exact if tokens were independent. Sums are generated in order: the successors of a sum whose last and greatest term is number i
// add term i + 1, or replace term i by it.
template <class Real>
Real guess_gap(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::size_t k) {
  std::vector<Real>& costs = work.costs;
  costs.clear();
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const Real *before = work.best.data() + t * chain.stride, *after = work.best.data() + (2 * chain.n_tokens - 1 - t) * chain.stride;
    const auto through = [&](std::size_t z) { return before[z] + (after[z] - chain.emit_at(t)[z]); };
    const auto best = static_cast<std::size_t>(work.path[t]);
    for (std::size_t z = 0; z < chain.n_labels; ++z)
      if (z != best && through(z) > kForbidden<Real>) costs.push_back(std::max(through(best) - through(z), Real(0)));
  }
  std::partial_sort(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(std::min(costs.size(), k)), costs.end());
  auto& open = work.ranked;
  open.clear();
  if (!costs.empty()) open.emplace_back(-costs[0], 0);
  for (std::size_t rank = 2; rank < k && !open.empty(); ++rank) {
    const auto [sum, i] = open.front();
    std::pop_heap(open.begin(), open.end());
    open.pop_back();
    if (i + 1 == costs.size()) continue;
    for (const Real less : {Real(0), costs[i]}) {
      open.emplace_back(sum + less - costs[i + 1], i + 1);
      std::push_heap(open.begin(), open.end());
    }
  }
  return open.empty() ? -kForbidden<Real> : -open.front().first;
}

}  // namespace

template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path) {
  if (chain.n_tokens == 0) return 0;
  work.slack = 0;
  if (chain.ngrams->relaxed.pairs) reach_best(chain, work);
  else reach_all(chain, work);
  return StatePaths(HistoryStates<Real>{chain, work}).best(path);
}

// Searches the states whose paths can score within an estimated gap of the best one. k paths that good are the k best;
// otherwise the estimate was too low. With a beam, only the states in it are searched.
template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work,
                             BestListsScratch<Real>& lists, std::int32_t* paths, Real* scores) {
  const auto collect = [&] { return StatePaths(HistoryStates<Real>{chain, work}).k_best(k, lists, paths, scores); };
  work.slack = 0;
  if (chain.ngrams->relaxed.pairs) {
    Real reached = chain.allowed ? kForbidden<Real> : bound_labels(chain, work);
    if (chain.ngrams->beam) {
      reach_beam(chain, work);
      return collect();
    }
    constexpr Real kMore = 1.2, kWider = 1.3;  // factors on the estimate, which is some 10% too low on average; in the next round
    Real gap = chain.allowed ? work.last_gap : std::max(kMore * guess_gap(chain, work, k), work.slack);
    for (int round = 0; round < 16 && gap < -kForbidden<Real>; ++round, gap *= kWider) {
      keep_pairs(chain, work, reached - work.slack - gap);
      reached = std::max(reached, look_ahead(chain, work));
      if (reached == kForbidden<Real>) break;
      const Real least = reached - work.slack - gap;
      reach_states(chain, work, least, kAllStates);
      if (collect() < k || scores[k - 1] < least + work.slack) continue;
      work.last_gap = std::max(scores[0] - scores[k - 1], work.slack);
      return k;
    }
  }
  reach_all(chain, work);
  return collect();
}

#define TRELLIS_INSTANCES(Real)                                                                                              \
  template Real reach_states(const ChainView<Real>&, HistoryWorkspace<Real>&, Real, std::size_t);                            \
  template Real best_history(const ChainView<Real>&, HistoryWorkspace<Real>&, std::int32_t*);                                \
  template std::size_t k_best_histories(const ChainView<Real>&, std::size_t, HistoryWorkspace<Real>&, BestListsScratch<Real>&, \
                                        std::int32_t*, Real*);
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)
#undef TRELLIS_INSTANCES

}  // namespace trellis
