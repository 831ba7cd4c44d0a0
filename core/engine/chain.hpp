// A chain: the potentials of one sentence as all kernels see them. T tokens, L labels; NULL, the label before the
// sentence, has index L. Minus infinity forbids a choice; no potential may be NaN or plus infinity.
//
//   score(path) = sum_t ((s + tri[x][y][z]) + edge[y][z]) + emit[t][z], + end
//
// with x, y, z = path[t-2], path[t-1], path[t]. Every kernel adds in this order, so that scores agree to the bit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "engine/simd.hpp"

namespace trellis {

template <class Real>
inline constexpr Real kForbidden = -std::numeric_limits<Real>::infinity();

// The labels allowed at each token: few distinct sets (the tags of each word), shared by many tokens.
struct LabelSets {
  const std::int32_t* set_of_token;  // [T] the set of each token
  const std::int64_t* starts;        // [n_sets + 1] set s is labels[starts[s]..starts[s + 1]], never empty
  const std::int32_t* labels;        // ascending within each set
};

// Rows over z are `stride` long, stride = padded(L). What stands in the lanes from L on is read but never matters.
template <class Real>
struct ChainView {
  std::size_t n_tokens;                // T
  std::size_t n_labels;                // L
  std::size_t stride;                  // padded(L)
  const Real* emit;                    // [T, stride]
  const Real* edge;                    // [L+1, stride], or [T, L+1, stride] if edge_per_token
  bool edge_per_token = false;
  const Real* tri = nullptr;           // [L+1, L+1, stride]; null makes the chain one of order 1
  const Real* end = nullptr;           // [stride] at order 1, [L+1, stride] at order 2; null for no end scores
  const LabelSets* allowed = nullptr;  // null allows every label everywhere

  const Real* emit_at(std::size_t t) const { return emit + t * stride; }
  const Real* edge_at(std::size_t t, std::size_t y) const {
    return edge + ((edge_per_token ? t * (n_labels + 1) : 0) + y) * stride;
  }
  const Real* tri_at(std::size_t x, std::size_t y) const { return tri + (x * (n_labels + 1) + y) * stride; }
};

// Memory that is grown once and then reused; its contents are not kept when it grows.
template <class T>
class Scratch {
 public:
  T* grow(std::size_t n) {
    if (n > size_) {
      data_ = std::make_unique_for_overwrite<T[]>(n);
      size_ = n;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
};

// The labels to be tried at one token, ascending: all of them, or a list.
struct AllLabels {
  std::size_t n;
  std::size_t size() const { return n; }
  std::size_t operator[](std::size_t i) const { return i; }
};
struct ListedLabels {
  const std::int32_t* labels;
  std::size_t n;
  std::size_t size() const { return n; }
  std::size_t operator[](std::size_t i) const { return static_cast<std::size_t>(labels[i]); }
};

inline ListedLabels labels_of(const LabelSets& sets, std::size_t t) {
  std::int32_t set = sets.set_of_token[t];
  return {sets.labels + sets.starts[set], static_cast<std::size_t>(sets.starts[set + 1] - sets.starts[set])};
}

// score(path), added from left to right; 0 for an empty sentence.
template <class Real>
Real path_score(const ChainView<Real>& chain, const std::int32_t* path) {
  const std::size_t T = chain.n_tokens, null = chain.n_labels;
  Real score = 0;
  std::size_t x = null, y = null;
  for (std::size_t t = 0; t < T; ++t) {
    auto z = static_cast<std::size_t>(path[t]);
    if (chain.tri) score += chain.tri_at(x, y)[z];
    score += chain.edge_at(t, y)[z];
    score += chain.emit_at(t)[z];
    x = y;
    y = z;
  }
  if (chain.end && T) score += chain.tri ? chain.end[x * chain.stride + y] : chain.end[y];
  return score;
}

}  // namespace trellis
