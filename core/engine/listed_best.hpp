// The best path of a chain with label triples where each token has a list of few labels (listed_labels.hpp).
#pragma once
#include <vector>

#include "engine/listed_labels.hpp"

namespace trellis {

// Scratch of one thread.
template <class Real>
struct ListedWorkspace {
  std::vector<std::size_t> at;          // [T] where the tables of a token begin
  std::vector<Real> alpha;              // [T] tables [labels of t - 1, labels of t]
  std::vector<std::uint32_t> pairs;     // as long: the node of the pair if some triple begins with it, else kNone
  std::vector<Real> best;               // [labels of t]
};

// As best_history, bit for bit; of at least one token.
template <class Real>
Real best_listed(const ChainView<Real>& chain, ListedWorkspace<Real>& work, std::int32_t* path);

}  // namespace trellis
