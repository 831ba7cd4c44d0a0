// The k best paths of a chain with label n-grams.
#include "engine/endings.hpp"
#include "engine/history_best.hpp"

namespace trellis {
namespace {

// States by their n-grams (endings.hpp).
template <class Real>
struct HistoryEndings {
  const ChainView<Real>& chain;
  HistoryWorkspace<Real>& work;

  std::int32_t label(std::uint32_t state) const { return chain.ngrams->ngrams->label(state); }
  template <class Visit>
  void each_last(Visit visit) {
    for (std::uint32_t state : work.alpha[chain.n_tokens].states) visit(state, end_score(chain, state, Real(0)));
  }
  template <class Visit>
  void each_way(std::size_t t, std::uint32_t state, Visit visit) {
    each_step(chain, work, t, std::span(&state, 1), [&](std::size_t i, std::uint32_t to, Real total, Real edge, Real emit) {
      if (to == state) visit(work.alpha[t].states[i], work.alpha[t].values[i], (total + edge) + emit);
    });
  }
};

template <class Real>
std::size_t collect(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work, std::int32_t* paths,
                    Real* scores) {
  HistoryEndings<Real> states{chain, work};
  const std::size_t n = collect_endings<Real>(chain.n_tokens, k, states, paths);
  for (std::size_t i = 0; i < n; ++i) scores[i] = history_score(chain, paths + i * chain.n_tokens);
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
