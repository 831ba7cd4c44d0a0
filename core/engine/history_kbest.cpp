// The k best paths of a chain with label n-grams.
#include <queue>

#include "engine/history_best.hpp"

namespace trellis {
namespace {

// The end of a path from token t on; what comes before it is known to score alpha of the state before.
template <class Real>
struct Ending {
  Real estimate;             // the best score of a path that ends so
  std::uint32_t t;           // its first token
  std::uint32_t before;      // the state before it, by its place in alpha[t]
  std::int32_t rest;         // the ending from t + 1 on, -1: none
  std::int32_t label;
  Real after;                // what its labels from t on give
};

// Endings grow backwards, the most promising first: alpha says exactly what the best beginning gives, so the first k
// endings that reach the front are the k best paths.
template <class Real>
std::size_t collect(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work, std::int32_t* paths,
                    Real* scores) {
  const std::size_t T = chain.n_tokens;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  std::vector<Ending<Real>> endings;
  const auto label_at = [&](std::int32_t e, std::size_t t) {
    while (endings[static_cast<std::size_t>(e)].t < t) e = endings[static_cast<std::size_t>(e)].rest;
    return endings[static_cast<std::size_t>(e)].label;
  };
  const auto worse = [&](std::int32_t a, std::int32_t b) {
    const Ending<Real>&x = endings[static_cast<std::size_t>(a)], &y = endings[static_cast<std::size_t>(b)];
    if (x.estimate != y.estimate) return x.estimate < y.estimate;
    for (std::size_t t = T; t-- > std::max(x.t, y.t);)
      if (label_at(a, t) != label_at(b, t)) return label_at(a, t) > label_at(b, t);
    return x.t != y.t ? x.t < y.t : a > b;  // of equally good ones the shorter: what it grows into may come first
  };
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, decltype(worse)> open(worse);
  // All ways into a state of token t.
  const auto grow = [&](std::size_t t, std::uint32_t state, Real after, std::int32_t rest) {
    each_step(chain, work, t, std::span(&state, 1), [&](std::size_t i, std::uint32_t to, Real total, Real edge, Real emit) {
      if (to != state) return;
      const Real whole = ((total + edge) + emit) + after, estimate = work.alpha[t].values[i] + whole;
      if (estimate == kForbidden<Real>) return;
      endings.push_back({estimate, static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(i), rest,
                         static_cast<std::int32_t>(ngrams.label(state)), whole});
      open.push(static_cast<std::int32_t>(endings.size() - 1));
    });
  };
  for (std::uint32_t state : work.alpha[T].states) grow(T - 1, state, end_score(chain, state, Real(0)), -1);
  std::size_t n = 0;
  while (!open.empty() && n < k) {
    const std::int32_t e = open.top();
    open.pop();
    const Ending<Real> found = endings[static_cast<std::size_t>(e)];
    if (found.t > 0) {
      grow(found.t - 1, work.alpha[found.t].states[found.before], found.after, e);
      continue;
    }
    std::int32_t* path = paths + n * T;
    for (std::size_t t = 0; t < T; ++t) path[t] = label_at(e, t);
    ++n;
  }
  for (std::size_t i = 0; i < n; ++i) scores[i] = history_score(chain, paths + i * T);
  return n;
}

// First from a few states per token: k paths that some states hold say how good the others must be. Those of a beam are
// among its states.
template <class Real>
std::size_t collect_best(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work, std::int32_t* paths,
                         Real* scores) {
  const auto all = [&] { return reach_all(chain, work) ? collect(chain, k, work, paths, scores) : 0; };
  if (look_ahead(chain, work) == kForbidden<Real>) return all();
  if (chain.ngrams->beam) return reach_beam(chain, work) ? collect(chain, k, work, paths, scores) : 0;
  const Real lost = reach_some(chain, work, kForbidden<Real>, std::max(work.few, k));
  const std::size_t n = collect(chain, k, work, paths, scores);
  if (lost == kForbidden<Real>) return n;
  if (n < k) return all();
  const Real least = *std::min_element(scores, scores + k) - work.slack;
  if (lost < least) return n;
  reach_some(chain, work, least, kAllStates);
  return collect(chain, k, work, paths, scores);
}

}  // namespace

template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work, std::int32_t* paths,
                             Real* scores) {
  if (chain.n_tokens)
    if (const std::size_t n = collect_best(chain, k, work, paths, scores)) return n;
  scores[0] = best_history(chain, work, paths);
  return 1;
}

template std::size_t k_best_histories(const ChainView<float>&, std::size_t, HistoryWorkspace<float>&, std::int32_t*, float*);
template std::size_t k_best_histories(const ChainView<double>&, std::size_t, HistoryWorkspace<double>&, std::int32_t*, double*);

}  // namespace trellis
