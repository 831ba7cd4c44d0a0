// The k best paths of a chain, exactly.
#pragma once
#include "engine/best_lists.hpp"
#include "engine/viterbi.hpp"

namespace trellis {

template <class Real>
struct KBestWorkspace {
  Workspace<Real> viterbi;
  BestListsScratch<Real> lists;
};

// Writes up to k paths [k, T], best first, with their scores [k], and returns how many there are. Equal scores are
// ordered by the last label, then by its predecessor, and so on, the lowest first. Forbidden paths (score minus
// infinity) are left out, except that the first path is always the one best_path gives.
template <class Real>
std::size_t k_best(const ChainView<Real>& chain, std::size_t k, KBestWorkspace<Real>& work, std::int32_t* paths,
                   Real* scores);

}  // namespace trellis
