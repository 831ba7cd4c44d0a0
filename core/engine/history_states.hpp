// Forward by maxima over the states of a chain with label n-grams: of all states, or of those that good paths may be in.
#pragma once
#include "engine/history_passes.hpp"
#include "engine/state_paths.hpp"

namespace trellis {

// Scratch of one thread; any number of sentences may follow one another through it.
template <class Real>
struct HistoryWorkspace {
  HistoryPasses<Real> passes;
  std::vector<StateList<Real>> alpha;       // [T + 1] best scores of histories, by their states
  std::vector<std::int32_t> place;          // [n_nodes] of some states among those of their token; -1 between uses
  std::vector<Real> ahead;                  // [T, n_before, stride] what may follow at most, by the relaxed chain
  Real slack = 0;                           // far above what rounding adds up to
  std::size_t few = 16;                     // states per token that are tried first
  std::vector<Real> row;                    // [stride]
  std::vector<Real> token_scores, gains;    // [n_nodes], [n_labels, stride] of one token, 0 between tokens: see with_gains
  std::vector<std::int32_t> path;           // [T]
  StateTable<Real> table;                   // the same states, for best paths
  std::vector<std::pair<Real, std::size_t>> ranked;  // states by what their paths may score

  // What grows with the length of a sentence.
  std::size_t bytes() const {
    std::size_t n_states = table.states.capacity();
    for (const StateList<Real>& list : alpha) n_states += list.states.capacity();
    return (ahead.capacity() + n_states) * sizeof(Real) + n_states * sizeof(std::uint32_t);
  }
  // What may follow labels x and any other one at token t.
  Real* ahead_of(const ChainView<Real>& chain, std::size_t t, std::size_t x) {
    return ahead.data() + (t * chain.ngrams->relaxed.n_before + x) * chain.stride;
  }
};

// alpha of all tokens and states; false where no path is possible.
template <class Real>
bool reach_all(const ChainView<Real>& chain, HistoryWorkspace<Real>& work);

// Fills work.ahead and gives a score that some path has; minus infinity where little is known, and reach_all remains.
template <class Real>
Real look_ahead(const ChainView<Real>& chain, HistoryWorkspace<Real>& work);

// After look_ahead: alpha of the states through which a path may score `least` or more, at each token of the `width` most
// promising of them. Gives the most that paths through the others may score.
inline constexpr std::size_t kAllStates = static_cast<std::size_t>(-1);
template <class Real>
Real reach_some(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least, std::size_t width);

// The same for all paths, at each token of as many states as the beam is wide; where these leave no path, of all states.
template <class Real>
bool reach_beam(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  reach_some(chain, work, kForbidden<Real>, chain.ngrams->beam);
  return work.alpha[chain.n_tokens].size() > 0 || reach_all(chain, work);
}

template <class Real>
Real best_end(const ChainView<Real>& chain, const HistoryWorkspace<Real>& work) {
  Real best = kForbidden<Real>;
  const StateList<Real>& last = work.alpha[chain.n_tokens];
  for (std::size_t i = 0; i < last.size(); ++i) best = std::max(best, end_score(chain, last.states[i], last.values[i]));
  return best;
}

}  // namespace trellis
