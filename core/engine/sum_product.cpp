#include "engine/sum_product.hpp"

namespace trellis {
namespace {

template <class Real>
TRELLIS_INLINE void make_factors_any(const std::vector<Real>& edge, const std::vector<Real>& tri,
                                     const std::vector<Real>& end, std::size_t L, Factors<Real>& f) {
  const std::size_t stride = padded(L);
  f.n_labels = L;
  f.stride = stride;
  f.edge.resize(edge.size());
  f.tri.resize(tri.size());
  f.tri_tops.assign(stride, 0);
  if (!tri.empty()) exp_columns(tri.data(), (L + 1) * (L + 1), L, stride, f.tri.data(), f.tri_tops.data());
  f.tops = f.tri_tops;
  if (!edge.empty()) exp_columns(edge.data(), L + 1, L, stride, f.edge.data(), f.tops.data());
  f.turn();
  f.end = end;
  if (!end.empty()) f.end_top = exp_row(end.data(), L, stride, f.end.data());
}

template <class Real>
TRELLIS_INLINE double sum_product_any(const Factors<Real>& f, const Real* emit, std::size_t n, const Real* token_edge,
                                      Real weight, PassScratch<Real>& w, const Expectations<Real>* x) {
  const std::size_t L = f.n_labels, stride = f.stride, cells = (L + 1) * stride, step = kLanes<Real>;
  const bool second = !f.tri.empty();
  const double log_z = scaled_forward(f, emit, n, token_edge, w);
  if (!x || log_z == kForbidden<double>) return log_z;
  const ChainView<Real> chain = f.view(n, w.emit.data(), token_edge ? w.edge.data() : nullptr);
  const std::size_t size = chain.token_size();
  const Real *alpha = w.alpha.data(), *after = w.after.data();
  // P(z at t) = alpha_t[z] beta_t[z], at order 2 summed over y;   order 2: P(y, z at t) = alpha_t[y][z] beta_t[y][z]
  scaled_backward(f, n, token_edge != nullptr, w, [&](std::size_t t, const Real* beta, std::size_t n_rows) TRELLIS_INLINE_LAMBDA {
    Real* node = x->node + t * stride;
    const Real* here = alpha + t * size;
    for (std::size_t y = 0; y < n_rows; ++y)
      for (std::size_t z = 0; z < stride; z += step) {
        const Vector<Real> p = lanes(here + y * stride + z) * lanes(beta + y * stride + z);
        lanes_at(node + z) = y || x->add ? lanes(node + z) + weight * p : weight * p;
        if (!second) continue;
        const std::size_t at = (t ? y : L) * stride + z;
        if (x->pair_sums) lanes_at(x->pair_sums + at) += weight * p;
        if (x->token_pairs) lanes_at(x->token_pairs + t * cells + at) = p;
      }
  });
  // P(y, z at t) = alpha_{t-1}[y] E_t[y][z] after_t[z]
  for (std::size_t t = 0; t < n && !second && x->token_pairs; ++t)
    for (std::size_t y = t ? 0 : L; y < (t ? L : L + 1); ++y) {
      const Real a = t ? alpha[(t - 1) * stride + y] : 1;
      for (std::size_t z = 0; z < stride; z += step)
        lanes_at(x->token_pairs + t * cells + y * stride + z) = a * lanes(chain.edge_at(t, y) + z) * lanes(after + t * stride + z);
    }
  // The first label of a sentence, its second (order 2), all others.
  if (x->pairs) {
    for (std::size_t z = 0; z < stride; z += step) lanes_at(x->pairs + L * stride + z) += weight * lanes(after + z);
    add_products(alpha, after + stride, stride, n - 1, stride, weight, x->pairs, stride);
  }
  if (x->triples) {
    // P(x, y, z at t) = alpha_{t-1}[x][y] F[x][y][z] after_t[y][z]
    Real *null = x->triples + L * cells, *columns = w.columns.data();
    for (std::size_t z = 0; z < stride; z += step) lanes_at(null + L * stride + z) += weight * lanes(after + z);
    for (std::size_t y = 0; y < L && n > 1; ++y) {
      for (std::size_t z = 0; z < stride; z += step)
        lanes_at(null + y * stride + z) += (weight * alpha[y]) * lanes(after + size + y * stride + z);
      for (std::size_t t = 1; t + 1 < n; ++t) {
        for (std::size_t i = 0; i < L; ++i) columns[t * stride + i] = alpha[t * size + i * stride + y];
        for (std::size_t i = L; i < stride; ++i) columns[t * stride + i] = 0;
      }
      add_products(columns + stride, after + 2 * size + y * stride, size, n - 2, stride, weight, x->triples + y * stride, cells);
    }
  }
  return log_z;
}

}  // namespace

#define TRELLIS_RUN(Real)                                                                                                     \
  TRELLIS_CLONES void make_factors(const std::vector<Real>& edge, const std::vector<Real>& tri, const std::vector<Real>& end, \
                                   std::size_t L, Factors<Real>& factors) {                                                   \
    make_factors_any(edge, tri, end, L, factors);                                                                             \
  }                                                                                                                           \
  TRELLIS_CLONES double sum_product(const Factors<Real>& factors, const Real* emit, std::size_t n, const Real* token_edge,    \
                                    Real weight, PassScratch<Real>& w, const Expectations<Real>* x) {                         \
    return sum_product_any(factors, emit, n, token_edge, weight, w, x);                                                       \
  }
TRELLIS_FOR_REALS(TRELLIS_RUN)

}  // namespace trellis
