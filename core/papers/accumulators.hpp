// How often one feature occurs in a sentence, as a distribution: a forward pass with an accumulator, which keeps apart
// the paths on which the feature has occurred 0, 1, 2 ... times.
//
//   alpha_t[c][z] = e_t[z] · sum_y alpha_{t-1}[c - v][y] E[y][z],    v what the feature counts at (t, y, z)
//   P(c) = sum_z alpha_T[c][z] end[z] / sum over all c
#pragma once
#include <vector>

#include "engine/sum_product.hpp"

namespace trellis {

// What a feature counts: its labels x, y, z (kAny where it does not look) at some tokens of a sentence.
struct Counted {
  static constexpr std::size_t kAny = ~std::size_t{0};
  std::size_t x = kAny, y = kAny, z = 0;
  std::vector<double> values;  // [n] what an occurrence at each token counts; 0: it cannot be there
};

struct CountDistribution {
  std::vector<double> counts;         // ascending
  std::vector<double> probabilities;  // of the counts, P(c) over all paths
};

struct AccumulatorScratch {
  std::vector<double> counts, next_counts;
  std::vector<std::vector<double>> alpha, next;  // [n_counts][rows, stride]
  std::vector<double> buffer;
  PassScratch<double> passes;
};

// The distribution over a sentence of potentials emit [n, stride], with edges [n, L+1, stride] of each token or null;
// false if it would need more than `most` distinct counts (only values that are not whole numbers do), or if its
// potentials are too far apart for scaled products.
bool count_distribution(const Factors<double>& factors, const double* emit, std::size_t n, const double* token_edge,
                        const Counted& feature, std::size_t most, AccumulatorScratch& scratch, CountDistribution& out);

}  // namespace trellis
