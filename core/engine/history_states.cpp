#include "engine/history_states.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace trellis {
namespace {

template <class Real>
void begin(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  work.passes.begin(chain);
  if (work.alpha.size() < chain.n_tokens + 1) work.alpha.resize(chain.n_tokens + 1);
  work.alpha[0] = {{chain.ngrams->ngrams->null()}, {0}};
}

template <class Real>
TRELLIS_INLINE bool reach_all_any(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  begin(chain, work);
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    work.passes.template at_token<MaxPlus>(t, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
      work.passes.template forward<MaxPlus>(labels, score, work.alpha[t], work.alpha[t + 1]);
    });
    if (work.alpha[t + 1].size() == 0) return false;
  }
  return true;
}

// Calls work(gains), gains [n_labels, stride] what label pairs y, z may give at token t beyond what the relaxed chain says, or
// null: the most over n-grams that end in them of what is positive of these and of their shorter ones there.
template <class Real, class Work>
TRELLIS_INLINE void with_gains(const ChainView<Real>& chain, std::size_t t, HistoryWorkspace<Real>& work, Work visit) {
  const TokenNgrams<Real>* own = chain.ngrams->by_token;
  if (!own || own->starts[t] == own->starts[t + 1]) return visit(static_cast<const Real*>(nullptr));
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const std::size_t first = own->starts[t], last = own->starts[t + 1];
  if (work.token_scores.size() < ngrams.size()) work.token_scores.resize(ngrams.size(), Real(0));
  if (work.gains.size() < chain.n_labels * chain.stride) work.gains.resize(chain.n_labels * chain.stride, Real(0));
  const auto cell = [&](std::uint32_t g) -> Real& {
    return work.gains[ngrams.label(ngrams.parent(g)) * chain.stride + ngrams.label(g)];
  };
  for (std::size_t i = first; i < last; ++i) work.token_scores[own->nodes[i]] = std::max(own->scores[i], Real(0));
  for (std::size_t i = first; i < last; ++i) {
    Real sum = 0;
    for (std::uint32_t g = own->nodes[i]; ngrams.length(g) >= kScored; g = ngrams.shorter(g)) sum += work.token_scores[g];
    if (sum > 0) cell(own->nodes[i]) = std::max(cell(own->nodes[i]), sum);
  }
  visit(static_cast<const Real*>(work.gains.data()));
  for (std::size_t i = first; i < last; ++i) {
    work.token_scores[own->nodes[i]] = 0;
    if (ngrams.length(own->nodes[i]) >= kScored) cell(own->nodes[i]) = 0;
  }
}

// The greatest of each of kLanes vectors.
template <class Real>
TRELLIS_INLINE Vector<Real> greatest_of(Vector<Real>* rows) {
  constexpr std::size_t N = kLanes<Real>;
  for (std::size_t n = N / 2; n; n /= 2)
    for (std::size_t i = 0; i < n; ++i)
      rows[i] = MaxPlus::plus(shuffle<Real>(rows[2 * i], rows[2 * i + 1], [](std::size_t j) { return 2 * j; }),
                              shuffle<Real>(rows[2 * i], rows[2 * i + 1], [](std::size_t j) { return 2 * j + 1; }));
  return rows[0];
}

// What may follow labels x, y at token t at most, by the relaxed chain:
//   ahead_{t-1}[x][y] = max_z most[x][y][z] + ((edge_t[y][z] + emit_t[z]) + ahead_t[y][z]) + more_t[y][z]
template <class Real>
TRELLIS_INLINE void look_back_any(const ChainView<Real>& chain, std::size_t t, HistoryWorkspace<Real>& work,
                                  const Real* gains) {
  constexpr std::size_t N = kLanes<Real>;
  const std::size_t stride = chain.stride;
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  const Real* emit = chain.emit_at(t);
  Real *here = work.ahead_of(chain, t - 1, 0), *base = work.row.data();
  for (std::size_t y = 0; y < chain.n_labels; ++y) {
    const Real *edge = chain.edge_at(t, y), *follows = work.ahead_of(chain, t, relaxed.before(y));
    for (std::size_t z = 0; z < stride; z += N)
      lanes_at(base + z) = (lanes(edge + z) + lanes(emit + z)) + lanes(follows + z);
    for (std::size_t z = 0; gains && z < stride; z += N) lanes_at(base + z) += lanes(gains + y * stride + z);
    const auto greatest = [&](const Real* most) TRELLIS_INLINE_LAMBDA {
      Vector<Real> top = Vector<Real>{} + kForbidden<Real>;
      for (std::size_t z = 0; z < stride; z += N) top = MaxPlus::plus(top, lanes(most + z) + lanes(base + z));
      return top;
    };
    const Real* rows = relaxed.row(0, y, stride);
    if (relaxed.n_before == 1) here[y] = largest_of<Real>(greatest(rows));
    for (std::size_t x = 0; x + N <= relaxed.n_before; x += N) {
      Vector<Real> tops[N];
      for (std::size_t i = 0; i < N; ++i) tops[i] = greatest(rows + (x + i) * stride);
      const Vector<Real> found = greatest_of<Real>(tops);
      for (std::size_t i = 0; i < N; ++i) here[(x + i) * stride + y] = found[i];
    }
  }
}

// The same over lists of labels.
template <class Real>
void look_back_listed(const ChainView<Real>& chain, std::size_t t, HistoryWorkspace<Real>& work, const Real* gains) {
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  const ListedLabels after = labels_of(*chain.allowed, t), here = labels_of(*chain.allowed, t - 1);
  const Real* emit = chain.emit_at(t);
  for (std::size_t j = 0; j < here.size(); ++j) {
    const std::size_t y = here[j];
    const Real *edge = chain.edge_at(t, y), *follows = work.ahead_of(chain, t, relaxed.before(y));
    for (std::size_t i = 0; i < after.size(); ++i) {
      work.row[i] = (edge[after[i]] + emit[after[i]]) + follows[after[i]];
      if (gains) work.row[i] += gains[y * chain.stride + after[i]];
    }
    const auto fill = [&](std::size_t x) {
      const Real* most = relaxed.row(x, y, chain.stride);
      Real top = kForbidden<Real>;
      for (std::size_t i = 0; i < after.size(); ++i) top = std::max(top, most[after[i]] + work.row[i]);
      work.ahead_of(chain, t - 1, x)[y] = top;
    };
    fill(relaxed.after_none(chain.n_labels));
    if (relaxed.n_before == 1) continue;
    if (t == 1) fill(chain.n_labels);
    else
      for (std::size_t x = 0; x < labels_of(*chain.allowed, t - 2).size(); ++x) fill(labels_of(*chain.allowed, t - 2)[x]);
  }
}

// One token on, only by steps after which a path may score `least`. First all labels by what the relaxed chain says; few
// are left for which n-grams are looked up.
template <class Real>
TRELLIS_INLINE void advance(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::size_t t, Real least,
                            const Real* gains) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  const std::size_t stride = chain.stride;
  const StateList<Real>& from = work.alpha[t];
  StateList<Real>& to = work.alpha[t + 1];
  to.states.clear(), to.values.clear();
  work.passes.template at_token<MaxPlus>(t, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::uint32_t state = from.states[i];
      const Real alpha = from.values[i];
      const std::size_t y = ngrams.label(state);
      const Real *edge = chain.edge_at(t, y), *follows = work.ahead_of(chain, t, relaxed.before(y));
      const Real* longer = t ? relaxed.row(relaxed.before(ngrams, state), y, stride) : nullptr;
      Real* most = work.row.data();
      const auto step = [&](std::size_t j) TRELLIS_INLINE_LAMBDA {
        if (!(most[j] >= least)) return;
        const std::size_t z = labels.label(j);
        const std::uint32_t node = ngrams.longest(state, z);
        const Real value = ((alpha + score(node)) + edge[z]) + labels.emit[j];
        if (!(value + follows[z] >= least) || value == kForbidden<Real>) return;
        const std::uint32_t next = ngrams.state(node);
        std::int32_t& place = work.place[next];
        if (place < 0) {
          place = static_cast<std::int32_t>(to.size());
          to.states.push_back(next), to.values.push_back(value);
        } else {
          Real& best = to.values[static_cast<std::size_t>(place)];
          best = std::max(best, value);
        }
      };
      if (labels.labels) {
        for (std::size_t j = 0; j < labels.n; ++j) {
          const std::size_t z = labels.label(j);
          most[j] = (alpha + (longer ? longer[z] : 0)) + ((edge[z] + labels.emit[j]) + follows[z]);
          if (gains && t) most[j] += gains[y * stride + z];
          step(j);
        }
        continue;
      }
      for (std::size_t first = 0; first < stride; first += kLanes<Real>) {
        Vector<Real> top = alpha + ((lanes(edge + first) + lanes(labels.emit + first)) + lanes(follows + first));
        if (longer) top += lanes(longer + first);
        if (gains && t) top += lanes(gains + y * stride + first);
        if (largest_of<Real>(top) < least) continue;
        lanes_at(most + first) = top;
        for (std::size_t z = first; z < std::min(first + kLanes<Real>, labels.n); ++z) step(z);
      }
    }
  });
  for (std::uint32_t state : to.states) work.place[state] = -1;
}

// Keeps the `width` states whose paths may score most, in their order; gives the most of the others.
template <class Real>
Real narrow(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::size_t t, std::size_t width) {
  StateList<Real>& states = work.alpha[t + 1];
  if (states.size() <= width) return kForbidden<Real>;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  auto& ranked = work.ranked;
  ranked.clear();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::size_t x = relaxed.before(ngrams, states.states[i]), z = ngrams.label(states.states[i]);
    ranked.emplace_back(-(states.values[i] + work.ahead_of(chain, t, x)[z]), i);
  }
  const auto cut = ranked.begin() + static_cast<std::ptrdiff_t>(width);
  std::nth_element(ranked.begin(), cut, ranked.end());
  const Real lost = -cut->first;
  std::sort(ranked.begin(), cut, [](const auto& a, const auto& b) { return a.second < b.second; });
  for (std::size_t i = 0; i < width; ++i) {
    states.states[i] = states.states[ranked[i].second];
    states.values[i] = states.values[ranked[i].second];
  }
  states.states.resize(width), states.values.resize(width);
  return lost;
}

template <class Real>
TRELLIS_INLINE Real reach_some_any(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least,
                                   std::size_t width) {
  begin(chain, work);
  if (work.place.size() < chain.ngrams->ngrams->size()) work.place.resize(chain.ngrams->ngrams->size(), -1);
  Real lost = kForbidden<Real>;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    with_gains(chain, t, work, [&](const Real* gains) TRELLIS_INLINE_LAMBDA { advance(chain, work, t, least, gains); });
    lost = std::max(lost, narrow(chain, work, t, width));
  }
  return lost;
}

#define TRELLIS_RUN(Real)                                                                                             \
  TRELLIS_CLONES bool run_all(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) { return reach_all_any(chain, work); } \
  TRELLIS_CLONES void look_back(const ChainView<Real>& chain, std::size_t t, HistoryWorkspace<Real>& work, const Real* gains) {   \
    look_back_any(chain, t, work, gains);                                                                              \
  }                                                                                                                   \
  TRELLIS_CLONES Real run_some(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least, std::size_t width) {      \
    return reach_some_any(chain, work, least, width);                                                                 \
  }
TRELLIS_FOR_REALS(TRELLIS_RUN)

}  // namespace

template <class Real>
bool reach_all(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  return run_all(chain, work);
}

// The path is the best of the relaxed chain.
template <class Real>
Real look_ahead(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  if (!relaxed.rows) return kForbidden<Real>;
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  if (work.ahead.size() < T * relaxed.n_before * stride) work.ahead.resize(T * relaxed.n_before * stride);
  if (work.row.size() < stride) work.row.resize(stride);
  for (std::size_t x = 0; x < relaxed.n_before; ++x)
    for (std::size_t z = 0; z < L; ++z) work.ahead_of(chain, T - 1, x)[z] = chain.end ? chain.end[z] : 0;
  for (std::size_t t = T - 1; t > 0; --t)
    with_gains(chain, t, work, [&](const Real* gains) {
      chain.allowed ? look_back_listed(chain, t, work, gains) : look_back(chain, t, work, gains);
    });
  work.path.resize(T);
  Real size = 1;
  std::size_t x = L, y = L;
  for (std::size_t t = 0; t < T; ++t) {
    const Real *edge = chain.edge_at(t, y), *emit = chain.emit_at(t), *follows = work.ahead_of(chain, t, relaxed.before(y));
    const Real* longer = t ? relaxed.row(relaxed.before(x), y, stride) : nullptr;
    const auto value = [&](std::size_t z) { return ((edge[z] + emit[z]) + follows[z]) + (longer ? longer[z] : 0); };
    const auto best_of = [&](const auto& labels) {
      std::size_t best = labels[0];
      for (std::size_t j = 1; j < labels.size(); ++j)
        if (value(labels[j]) > value(best)) best = labels[j];
      return best;
    };
    const std::size_t best = chain.allowed ? best_of(labels_of(*chain.allowed, t)) : best_of(AllLabels{L});
    size = std::max(size, std::fabs(follows[best]));
    work.path[t] = static_cast<std::int32_t>(best);
    x = y, y = best;
  }
  const Real reached = path_score(chain, work.path.data());
  work.slack = Real(1e-4) * (size + std::fabs(reached));
  return reached;
}

template <class Real>
Real reach_some(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least, std::size_t width) {
  return run_some(chain, work, least, width);
}

#define TRELLIS_INSTANCES(Real)                                             \
  template bool reach_all(const ChainView<Real>&, HistoryWorkspace<Real>&); \
  template Real look_ahead(const ChainView<Real>&, HistoryWorkspace<Real>&); \
  template Real reach_some(const ChainView<Real>&, HistoryWorkspace<Real>&, Real, std::size_t);
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)

}  // namespace trellis
