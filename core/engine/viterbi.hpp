// The best path of a chain of any order, over all labels or over each token's allowed ones.
#pragma once
#include "engine/history_states.hpp"
#include "engine/lattice.hpp"
#include "engine/listed_passes.hpp"

namespace trellis {

// Scratch of one thread; any number of sentences of any size may follow one another through it.
template <class Real>
struct Workspace {
  Scratch<Real> delta;               // order 1: [T, stride]; order 2: [T, L, stride]
  HistoryWorkspace<Real> histories;  // of chains with label n-grams,
  ListedPasses<Real> listed;         // with short lists of labels as well,
  LatticeWorkspace<Real> lattice;    // with a lattice as well

  // What grows with the length of a sentence.
  std::size_t bytes() const { return delta.bytes() + histories.bytes() + listed.bytes() + lattice.bytes(); }
};

// Writes the best path [T] and returns its score. Ties: the lowest label wins, decided from the last label backwards.
// If all paths are forbidden the score is minus infinity and the path is the one the recursion meets: it keeps to the
// allowed labels, the last label is the lowest, its predecessor the best, and so on. An empty sentence scores 0.
template <class Real>
Real best_path(const ChainView<Real>& chain, Workspace<Real>& work, std::int32_t* path);

// The forward pass alone, of at least one token: delta, the best score of a prefix that ends in each history. At order
// 1 [T, stride], at order 2 [T, L, stride] with the one row of t = 0 first. Only allowed labels' places are written.
template <class Real>
Real* best_prefixes(const ChainView<Real>& chain, Workspace<Real>& work);

}  // namespace trellis
