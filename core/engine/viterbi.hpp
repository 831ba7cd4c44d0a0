// The best path of a chain of any order and the k best paths, over all labels or over each token's allowed labels.
#pragma once
#include "engine/history_states.hpp"
#include "engine/lattice.hpp"

namespace trellis {

// Scratch of one thread, reusable for sentences of any number and size.
template <class Real>
struct Workspace {
  std::vector<Real> delta;           // order 1: [T, stride]; order 2: [T, L, stride]
  HistoryWorkspace<Real> histories;  // of chains with label n-grams
  BestListsScratch<Real> lists;      // of k best paths

  // Memory that grows with the length of a sentence.
  std::size_t bytes() const { return delta.size() * sizeof(Real) + histories.bytes(); }
};

// Writes the best path [T] and returns its score. Ties: the lowest label wins, decided from the last label backwards.
// If all paths are forbidden, the score is minus infinity and the path follows the recursion: it uses only
// allowed labels, the last label is the lowest, its predecessor the best, and so on. An empty sentence scores 0.
template <class Real>
Real best_path(const ChainView<Real>& chain, Workspace<Real>& work, std::int32_t* path);

// Writes up to k paths [k, T], best first, with their scores [k], and returns their number. Equal scores are
// ordered by the last label, then by its predecessor, and so on, the lowest first. Forbidden paths (score minus
// infinity) are skipped, except that the first path is always that of best_path.
template <class Real>
std::size_t k_best(const ChainView<Real>& chain, std::size_t k, Workspace<Real>& work, std::int32_t* paths, Real* scores);

// Viterbi over dense tables, for a nonempty chain without n-grams: delta, the best score of a prefix ending in each history, at
// order 1 [T, stride], at order 2 [T, L, stride] with the one row of t = 0 first. Only entries of allowed labels are set. With a
// path, also the best one and its score.
float search_dense(const ChainView<float>& chain, float* delta, std::int32_t* path);
double search_dense(const ChainView<double>& chain, double* delta, std::int32_t* path);

}  // namespace trellis
