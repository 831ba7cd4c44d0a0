// The best path and the k best paths of a chain of any order.
#pragma once
#include "engine/history_passes.hpp"

namespace trellis {

// Scratch of one thread; any number of sentences may follow one another through it.
template <class Real>
struct HistoryWorkspace {
  HistoryPasses<Real> passes;
  std::vector<StateList<Real>> alpha;       // [T + 1] best scores of histories, by their states
  std::vector<std::int32_t> place;          // [n_nodes] of states of the best paths among those of their token; -1: not one
  std::vector<std::uint32_t> tied, before; // states of equally good paths
};

// Writes the best path [T] and returns its score. Ties: the lowest label wins, decided from the last label backwards. If
// all paths are forbidden the score is minus infinity, and the path has the lowest allowed labels.
template <class Real>
Real best_path(const HistoryChain<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path);

// The k best paths [k, T] with their scores, best first; gives how many there are. Ties as above.
template <class Real>
std::size_t k_best(const HistoryChain<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work, std::int32_t* paths,
                   Real* scores);

// score(path), added from left to right; 0 for an empty sentence.
template <class Real>
Real path_score(const HistoryChain<Real>& chain, HistoryWorkspace<Real>& work, const std::int32_t* path);

}  // namespace trellis
