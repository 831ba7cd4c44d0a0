// Forward-backward by scaled products of factors: the fast way to log Z and all marginals of a sentence.
//
// alpha is scaled to sum to one at every token; the scale is multiplied into the token's emissions, which afterwards are the
// emissions of a chain with Z = 1, and alpha · beta are probabilities. Nothing overflows, and only scores some hundred
// below the best underflow. If a sum is zero, or a path that underflowed might win in the end, the caller
// uses log space instead (forward_backward.hpp).
#pragma once
#include "engine/factors.hpp"

namespace trellis {

// Workspace of both passes over one sentence.
template <class Real>
struct PassScratch {
  std::vector<Real> emit;     // [n, stride] factors; after the forward pass, scaled
  std::vector<Real> alpha;    // [n, stride], order 2 [n, L, stride] (t = 0: its first row)
  std::vector<Real> after;    // as alpha: see backward()
  std::vector<Real> beta;     // [stride], order 2 [L, stride]
  std::vector<Real> end;      // [stride] the last beta
  std::vector<Real> turned;   // [stride, stride]
  std::vector<Real> columns;  // [n, stride] alpha of one middle
  std::vector<Real> edge, edge_transposed, tops;  // [n, L+1, stride] twice, [stride] of a token if edges differ by token
};

// Expectations to accumulate. Null: not requested. Pairs and triples are sums of products without their own factor, which is the
// same for all tokens and is multiplied in at the end.
template <class Real>
struct Expectations {
  Real* node = nullptr;         // [n, stride] weight · P(z at t), set or added
  bool add = false;
  Real* pairs = nullptr;        // [stride+1, stride] sum_t weight · P(y, z) / E[y][z]   (order 1 with shared edges)
  Real* pair_sums = nullptr;    // [L+1, stride] sum_t weight · P(y, z)             (order 2)
  Real* triples = nullptr;      // [stride+1, L+1, stride] sum_t weight · P(x, y, z) / F[x][y][z]
  Real* token_pairs = nullptr;  // [n, L+1, stride] P(y, z at t); row NULL at t = 0, all other rows later
};

// Both passes over one nonempty sentence. Returns log Z; minus infinity if factors underflowed. If all
// expectations are null, only log Z is computed.
double sum_product(const Factors<float>& factors, const float* emit, std::size_t n, const float* token_edge, float weight,
                   PassScratch<float>& w, const Expectations<float>* x);
double sum_product(const Factors<double>& factors, const double* emit, std::size_t n, const double* token_edge,
                   double weight, PassScratch<double>& w, const Expectations<double>* x);

}  // namespace trellis
