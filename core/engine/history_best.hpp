// The best path and the k best paths of a chain with label n-grams; best_path, k_best and path_score of any chain call it.
#pragma once
#include "engine/history_states.hpp"

namespace trellis {

// Writes the best path [T] and returns its score. Ties: the lowest label wins, decided from the last label backwards. If
// all paths are forbidden the score is minus infinity, and the path has the lowest allowed labels.
template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path);

// The k best paths [k, T] with their scores, best first; gives how many there are that are not forbidden. Ties as above.
template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work,
                             BestListsScratch<Real>& lists, std::int32_t* paths, Real* scores);

}  // namespace trellis
