// The k best paths of a chain of order 1 or 2, exactly.
#pragma once
#include <vector>

#include "engine/viterbi.hpp"

namespace trellis {

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// A prefix that ends in some history is a prefix of an earlier history and one label more. While it waits in a heap it
// is a candidate; once it is found to be the next best of its history it is a member of that history's list.
template <class Real>
struct Prefix {
  Real score;
  std::int32_t label;  // the label that left the history: y at order 1, x at order 2; at the end, the history
  std::size_t before;  // the prefix it extends, or kNone if that is its history's best and was not looked up yet
  std::size_t next;    // the next best of the same history, or kNone
};

// What has been found of one history's prefixes.
struct History {
  std::size_t first, last;  // its best and its worst prefix so far
  std::size_t heap;         // candidates[heap..heap + n_candidates]
  std::size_t n_candidates;
  bool exhausted;
};

template <class Real>
struct KBestWorkspace {
  Workspace<Real> viterbi;
  Scratch<std::size_t> history_at;       // as delta: the history's number, or kNone if nobody asked for it yet
  std::vector<History> histories;        // those that somebody asked for
  std::vector<Prefix<Real>> prefixes;    // found
  std::vector<Prefix<Real>> candidates;  // heaps of all histories
  std::vector<Prefix<Real>> finals;      // the heap of whole paths
  Scratch<std::size_t> pending;          // [2, T]
};

// Writes up to k paths [k, T], best first, with their scores [k], and returns how many there are. Equal scores are
// ordered by the last label, then by its predecessor, and so on, the lowest first. Forbidden paths (score minus
// infinity) are left out, except that the first path is always the one best_path gives.
template <class Real>
std::size_t k_best(const ChainView<Real>& chain, std::size_t k, KBestWorkspace<Real>& work, std::int32_t* paths,
                   Real* scores);

extern template std::size_t k_best(const ChainView<float>&, std::size_t, KBestWorkspace<float>&, std::int32_t*,
                                   float*);
extern template std::size_t k_best(const ChainView<double>&, std::size_t, KBestWorkspace<double>&, std::int32_t*,
                                   double*);

}  // namespace trellis
