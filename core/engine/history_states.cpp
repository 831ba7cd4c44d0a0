#include "engine/history_states.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/row.hpp"

namespace trellis {
namespace {

// Calls visit(gains), gains [n_labels, stride] what label pairs y, z may give at token t beyond what the relaxed chain says, or
// null: the most over n-grams that end in them of what is positive of these and of their shorter ones there.
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

// What may follow a label at most, by the relaxed chain of order 1:
//   bound_{t-1}[y] = max_z (most[y][z] + (edge_t[y][z] + emit_t[z])) + bound_t[z] + more_t[y][z]
template <class Real>
TRELLIS_INLINE void bound_back(const ChainView<Real>& chain, std::size_t t, const Real* gains, const Real* follows, Real* bound) {
  const Real* emit = chain.emit_at(t);
  for (std::size_t y = 0; y < chain.n_labels; ++y) {
    const Real *edge = chain.edge_at(t, y), *most = chain.ngrams->relaxed.pairs + y * chain.stride;
    Vector<Real> top = Vector<Real>{} + kForbidden<Real>;
    for (std::size_t z = 0; z < chain.stride; z += kLanes<Real>) {
      Vector<Real> value = (lanes(most + z) + (lanes(edge + z) + lanes(emit + z))) + lanes(follows + z);
      if (gains) value += lanes(gains + y * chain.stride + z);
      top = MaxPlus::plus(top, value);
    }
    bound[y] = largest_of<Real>(top);
  }
}
// The most that prefixes with label z at token t score by it, after labels whose paths may score `least`:
//   before_t[z] = max_y (before_{t-1}[y] + (most[y][z] + edge_t[y][z])) + more_t[y][z], + emit_t[z]
template <class Real>
TRELLIS_INLINE void bound_forward(const ChainView<Real>& chain, std::size_t t, const Real* gains, const Real* before, const Real* through,
                                  Real least, Real* to) {
  const std::size_t stride = chain.stride;
  for (std::size_t z = 0; z < stride; z += kLanes<Real>)
    lanes_at(to + z) = t ? Vector<Real>{} + kForbidden<Real> : lanes(chain.edge_at(0, chain.n_labels) + z);
  for (std::size_t y = 0; t && y < chain.n_labels; ++y) {
    if (!(through[y] >= least)) continue;
    const Real *edge = chain.edge_at(t, y), *most = chain.ngrams->relaxed.pairs + y * stride;
    for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
      Vector<Real> value = before[y] + (lanes(most + z) + lanes(edge + z));
      if (gains) value += lanes(gains + y * stride + z);
      lanes_at(to + z) = MaxPlus::plus(lanes(to + z), value);
    }
  }
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes_at(to + z) += lanes(chain.emit_at(t) + z);
}
#define TRELLIS_BOUND(Real)                                                                                                          \
  TRELLIS_CLONES void go_back(const ChainView<Real>& chain, std::size_t t, const Real* gains, const Real* follows, Real* bound) {    \
    bound_back(chain, t, gains, follows, bound);                                                                                     \
  }                                                                                                                                  \
  TRELLIS_CLONES void go_on(const ChainView<Real>& chain, std::size_t t, const Real* gains, const Real* before, const Real* through, \
                            Real least, Real* to) {                                                                                  \
    bound_forward(chain, t, gains, before, through, least, to);                                                                      \
  }
TRELLIS_FOR_REALS(TRELLIS_BOUND)

// The score of the path that is best by a relaxed chain, and from its size the slack. follows(t, y) and longer(t, x, y) are rows over z
// of what may follow and of what n-grams may give.
template <class Real, class Follows, class Longer>
Real follow_bounds(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Follows follows_of, Longer longer_of) {
  work.path.resize(chain.n_tokens);
  Real size = 1;
  std::size_t x = chain.n_labels, y = chain.n_labels;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const Real *edge = chain.edge_at(t, y), *emit = chain.emit_at(t), *follows = follows_of(t, y);
    const Real* longer = t ? longer_of(x, y) : nullptr;
    const auto value = [&](std::size_t z) { return ((edge[z] + emit[z]) + follows[z]) + (longer ? longer[z] : 0); };
    const auto best_of = [&](const auto& labels) {
      std::size_t best = labels[0];
      for (std::size_t j = 1; j < labels.size(); ++j)
        if (value(labels[j]) > value(best)) best = labels[j];
      return best;
    };
    const std::size_t best = chain.allowed ? best_of(labels_of(*chain.allowed, t)) : best_of(AllLabels{chain.n_labels});
    size = std::max(size, std::fabs(follows[best]));
    work.path[t] = static_cast<std::int32_t>(best);
    x = y, y = best;
  }
  const Real reached = path_score(chain, work.path.data());
  work.slack = std::max(work.slack, Real(1e-4) * (size + std::fabs(reached)));
  return reached;
}

// What may follow labels x, y at most, over lists of labels:
//   ahead_{t-1}[x][y] = max_z most[x][y][z] + ((edge_t[y][z] + emit_t[z]) + ahead_t[y][z]) + more_t[y][z]
template <class Real>
void look_back(const ChainView<Real>& chain, std::size_t t, HistoryWorkspace<Real>& work, const Real* gains) {
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

// One token on, only by steps after which a path may score `least`. First by what the relaxed chain says; few are left for which
// n-grams are looked up.
template <class Real, class Labels>
void advance(const ChainView<Real>& chain, HistoryWorkspace<Real>& w, std::size_t t, const Labels& labels, Real least,
             const Real* gains) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  const bool bounded = least > kForbidden<Real>;
  const Real* emit = chain.emit_at(t);
  const std::size_t first = w.first_before(t), last = w.states.size();
  w.scores_at.template visit<MaxPlus>(*chain.ngrams, t, [&](const auto& score) TRELLIS_INLINE_LAMBDA {
    for (std::size_t from = first; from < last; ++from) {
      const std::uint32_t state = w.states[from];
      const Real alpha = w.alpha[from];
      const std::size_t y = ngrams.label(state);
      const Real *edge = chain.edge_at(t, y), *follows = bounded ? w.ahead_of(chain, t, relaxed.before(y)) : nullptr;
      const Real* longer = bounded && t ? relaxed.row(relaxed.before(ngrams, state), y, chain.stride) : nullptr;
      for (std::size_t j = 0; j < labels.size(); ++j) {
        const std::size_t z = labels[j];
        if (bounded) {
          Real most = (alpha + (longer ? longer[z] : 0)) + ((edge[z] + emit[z]) + follows[z]);
          if (gains && t) most += gains[y * chain.stride + z];
          if (!(most >= least)) continue;
        }
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

// Keeps the `width` states of token t whose paths may score most, in their order; gives the most of the others.
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

}  // namespace

template <class Real>
Real bound_labels(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, bool best_alone) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  work.slack = 0;
  work.bound.resize(T * stride), work.through.assign(T * stride, kForbidden<Real>), work.prefixes.resize(2 * stride);
  for (std::size_t z = 0; z < L; ++z) work.bound[(T - 1) * stride + z] = chain.end ? chain.end[z] : 0;
  for (std::size_t t = T - 1; t > 0; --t)
    with_gains(chain, t, work, [&](const Real* gains) {
      Real* follows = work.bound.data() + t * stride;
      go_back(chain, t, gains, follows, follows - stride);
    });
  const Real reached = follow_bounds(chain, work, [&](std::size_t t, std::size_t) { return work.bound.data() + t * stride; },
                                     [&](std::size_t, std::size_t y) { return relaxed.pairs + y * stride; });
  const Real least = best_alone ? reached - work.slack : kForbidden<Real>;
  Real *to = work.prefixes.data(), *from = to + stride, *through = work.through.data();
  for (std::size_t t = 0; t < T; ++t, through += stride) {
    with_gains(chain, t, work, [&](const Real* gains) { go_on(chain, t, gains, from, t ? through - stride : nullptr, least, to); });
    for (std::size_t z = 0; z < L; ++z) through[z] = to[z] + work.bound[t * stride + z];
    std::swap(from, to);
  }
  return reached;
}

template <class Real>
ChainView<Real> keep_labels(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least) {
  if (chain.allowed) return chain;
  work.set_of_token.resize(chain.n_tokens);
  std::iota(work.set_of_token.begin(), work.set_of_token.end(), 0);
  work.label_starts.assign(1, 0), work.labels.clear();
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    for (std::size_t z = 0; z < chain.n_labels; ++z)
      if (work.through[t * chain.stride + z] >= least) work.labels.push_back(static_cast<std::int32_t>(z));
    work.label_starts.push_back(static_cast<std::int64_t>(work.labels.size()));
  }
  work.sets = {work.set_of_token.data(), work.label_starts.data(), work.labels.data()};
  ChainView<Real> listed = chain;
  listed.allowed = &work.sets;
  return listed;
}

template <class Real>
Real look_ahead(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  const RelaxedChain<Real>& relaxed = chain.ngrams->relaxed;
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  if (work.ahead.size() < T * relaxed.n_before * stride) work.ahead.resize(T * relaxed.n_before * stride);
  if (work.row.size() < stride) work.row.resize(stride);
  for (std::size_t x = 0; x < relaxed.n_before; ++x)
    for (std::size_t z = 0; z < L; ++z) work.ahead_of(chain, T - 1, x)[z] = chain.end ? chain.end[z] : 0;
  for (std::size_t t = T - 1; t > 0; --t) with_gains(chain, t, work, [&](const Real* gains) { look_back(chain, t, work, gains); });
  return follow_bounds(chain, work, [&](std::size_t t, std::size_t y) { return work.ahead_of(chain, t, relaxed.before(y)); },
                       [&](std::size_t x, std::size_t y) { return relaxed.row(relaxed.before(x), y, stride); });
}

template <class Real>
Real reach_states(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least, std::size_t width) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  work.states.assign(1, ngrams.null()), work.alpha.assign(1, 0), work.state_starts.assign(1, 1);
  if (work.place.size() < ngrams.size()) work.place.resize(ngrams.size(), -1);
  Real lost = kForbidden<Real>;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    with_gains(chain, t, work, [&](const Real* gains) {
      chain.allowed ? advance(chain, work, t, labels_of(*chain.allowed, t), least, gains)
                    : advance(chain, work, t, AllLabels{chain.n_labels}, least, gains);
    });
    lost = std::max(lost, narrow(chain, work, t, width));
    work.state_starts.push_back(work.states.size());
  }
  return lost;
}

#define TRELLIS_INSTANCES(Real)                                                                        \
  template Real bound_labels(const ChainView<Real>&, HistoryWorkspace<Real>&, bool);                   \
  template ChainView<Real> keep_labels(const ChainView<Real>&, HistoryWorkspace<Real>&, Real);         \
  template Real look_ahead(const ChainView<Real>&, HistoryWorkspace<Real>&);                           \
  template Real reach_states(const ChainView<Real>&, HistoryWorkspace<Real>&, Real, std::size_t);
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)

}  // namespace trellis
