// The best path and the k best paths of a chain with label n-grams; best_path, k_best and path_score of any chain call it.
#pragma once
#include "engine/history_states.hpp"
#include "engine/lattice.hpp"
#include "engine/viterbi.hpp"

namespace trellis {

// Writes the best path [T] and returns its score. Ties: the lowest label wins, decided from the last label backwards. If
// all paths are forbidden the score is minus infinity, and the path has the lowest allowed labels.
template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path);

// The k best paths [k, T] with their scores, best first; gives how many there are that are not forbidden. Ties as above.
template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work,
                             BestListsScratch<Real>& lists, std::int32_t* paths, Real* scores);

// That of a workspace of any chain; made when it is first asked for.
template <class Real>
HistoryWorkspace<Real>& histories_of(Workspace<Real>& work) {
  if (!work.histories) work.histories = std::make_shared<HistoryWorkspace<Real>>();
  return *work.histories;
}
template <class Real>
LatticeWorkspace<Real>& lattice_of(Workspace<Real>& work) {
  if (!work.lattice) work.lattice = std::make_shared<LatticeWorkspace<Real>>();
  return *work.lattice;
}

}  // namespace trellis
