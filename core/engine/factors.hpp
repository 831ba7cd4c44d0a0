// Potentials as factors exp(score - top), for sum-product (sum_product.hpp). The maxima (tops) of label pairs and triples are
// subtracted per following label and added to the emissions, so no factor is above 1.
#pragma once
#include <vector>

#include "engine/chain_passes.hpp"

namespace trellis {

// Label pairs, triples and ends in some semiring, shared by all sentences, and their transposes for the backward pass.
template <class Real>
struct ChainTables {
  std::size_t n_labels = 0, stride = 0;
  std::vector<Real> edge;             // [L+1, stride]
  std::vector<Real> tri;              // [L+1, L+1, stride], or empty at order 1
  std::vector<Real> end;              // [stride], or empty
  std::vector<Real> edge_transposed;  // [L, stride]
  std::vector<Real> tri_transposed;   // [L, L, stride] of y, z and x before them, or empty

  TRELLIS_INLINE void turn() {
    const std::size_t L = n_labels;
    edge_transposed.resize(L * stride);
    if (!edge.empty()) transpose(edge.data(), stride, L, L, edge_transposed.data(), stride);
    tri_transposed.resize(tri.empty() ? 0 : L * L * stride);
    for (std::size_t y = 0; y < L && !tri.empty(); ++y)
      transpose(tri.data() + y * stride, (L + 1) * stride, L, L, tri_transposed.data() + y * L * stride, stride);
  }
  ChainView<Real> view(std::size_t n, const Real* emit, const Real* token_edge = nullptr) const {
    const auto given = [](const std::vector<Real>& table) { return table.empty() ? nullptr : table.data(); };
    return {{n_labels, stride, edge.data(), given(tri), given(end)}, n, emit, token_edge};
  }
};

// exp of the tables; padding lanes are zero.
template <class Real>
struct Factors : ChainTables<Real> {
  std::vector<Real> tops;      // [stride] maxima subtracted from pairs and triples of each label; minus infinity in the padding
  std::vector<Real> tri_tops;  // [stride] from triples alone
  double end_top = 0;
};

// values[z] becomes exp(values[z] - top), top the maximum over whole vectors. Returns top.
template <class Real>
TRELLIS_INLINE Real exp_less_top(const Vector<Real>& largest, std::size_t stride, Real* values) {
  Real top = largest_of<Real>(largest);
  if (top == kForbidden<Real>) top = 0;
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes_at(values + z) = exp_lanes(lanes(values + z) - top);
  return top;
}
// out[z] = exp(scores[z] - top), top = the largest of the first L; zero in the padding. Returns top.
template <class Real>
TRELLIS_INLINE Real exp_row(const Real* scores, std::size_t L, std::size_t stride, Real* out) {
  for (std::size_t z = 0; z < stride; ++z) out[z] = z < L ? scores[z] : kForbidden<Real>;
  Vector<Real> largest = lanes(out);
  for (std::size_t z = kLanes<Real>; z < stride; z += kLanes<Real>) largest = MaxPlus::plus(largest, lanes(out + z));
  return exp_less_top(largest, stride, out);
}

// The same for emissions plus the tops of each label's pairs and triples, whose padding makes that of `out` zero.
template <class Real>
TRELLIS_INLINE Real exp_emissions(const Real* emit, const Real* tops, std::size_t stride, Real* out) {
  Vector<Real> largest = Vector<Real>{} + kForbidden<Real>;
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
    lanes_at(out + z) = lanes(emit + z) + lanes(tops + z);
    largest = MaxPlus::plus(largest, lanes(out + z));
  }
  return exp_less_top(largest, stride, out);
}

// out[row, z] = exp(table[row, z] - top[z]) over rows of [stride], top[z] = the largest of column z, which is added to
// tops; columns of minus infinity, and the padding, become zero.
template <class Real>
TRELLIS_INLINE void exp_columns(const Real* table, std::size_t n_rows, std::size_t L, std::size_t stride, Real* out,
                                Real* tops) {
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
    Vector<Real> top = lanes(table + z);
    for (std::size_t row = 1; row < n_rows; ++row) top = MaxPlus::plus(top, lanes(table + row * stride + z));
    top = top == kForbidden<Real> ? Vector<Real>{} : top;
    for (std::size_t row = 0; row < n_rows; ++row)
      lanes_at(out + row * stride + z) = exp_lanes(lanes(table + row * stride + z) - top);
    lanes_at(tops + z) += top;
  }
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t z = L; z < stride; ++z) out[row * stride + z] = 0;
  for (std::size_t z = L; z < stride; ++z) tops[z] = kForbidden<Real>;
}

// The factors of label pairs [L+1, stride] (or null, if each token has its own), triples [L+1, L+1, stride] or null,
// and ends [stride] or null.
void make_factors(const std::vector<float>& edge, const std::vector<float>& tri, const std::vector<float>& end,
                  std::size_t L, Factors<float>& factors);
void make_factors(const std::vector<double>& edge, const std::vector<double>& tri, const std::vector<double>& end,
                  std::size_t L, Factors<double>& factors);

}  // namespace trellis
