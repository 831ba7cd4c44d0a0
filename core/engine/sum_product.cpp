#include "engine/sum_product.hpp"

#include "engine/elementary.hpp"

namespace trellis {
namespace {

// A path lost by underflow of alpha matters only if the remaining paths fall as low: then some c_t in a row have a product
// near the smallest number, as no factor is above 1. Beta, at most one over that product, could overflow
// in the same case. kTiny and kDeep together stay above the smallest number, so the remaining paths are exact.
template <class Real>
class Losses {
 public:
  TRELLIS_INLINE explicit Losses(std::size_t L) : least_(Vector<Real>{} + Real(1)) {
    for (std::size_t z = padded(L) - kPadding; z < padded(L); ++z) padding_[z % kPadding] = z < L ? 0 : 1;
  }

  // After alpha_t [n_rows, stride] was scaled by 1 / c_t: whether sums may be inaccurate. Adds log c_t to log Z.
  TRELLIS_INLINE bool matter(const Real* alpha, std::size_t n_rows, std::size_t stride, double c) {
    fallen_ = std::min(fallen_, 1.0) * c;
    for (std::size_t row = 0; row < n_rows; ++row, alpha += stride) {
      std::size_t z = 0;
      for (; z + kPadding < stride; z += kLanes<Real>) least_ = lanes(alpha + z) < least_ ? lanes(alpha + z) : least_;
      for (const Real* none = padding_; z < stride; z += kLanes<Real>, none += kLanes<Real>) {
        const Vector<Real> last = lanes(alpha + z) + lanes(none);
        least_ = last < least_ ? last : least_;
      }
    }
    if (may_win(fallen_, c)) return true;
    if (product_ < kLow || product_ > 1 / kLow) take_log();
    product_ *= c;
    return false;
  }
  // The same for scores at the end of the sentence, with the sum c.
  bool matter_at_end(double c) const { return may_win(std::min(fallen_, 1.0) * c, c); }
  // One logarithm for many c_t: each is at least kLow, and so is their product so far.
  double take_log() {
    logs_ += log(product_);
    product_ = 1;
    return logs_;
  }

 private:
  TRELLIS_INLINE bool may_win(double fallen, double c) const {
    return fallen < kDeep && (c < kDeep || -largest_of<Real>(-least_) < kTiny);
  }
  static constexpr Real kTiny = sizeof(Real) == 4 ? Real(1e-24) : Real(1e-150);
  static constexpr double kDeep = sizeof(Real) == 4 ? 1e-13 : 1e-150;
  static constexpr double kLow = 1e-150;
  Vector<Real> least_;      // the smallest alpha so far, by lane
  Real padding_[kPadding];  // 1 in the padding lanes of the last vector
  double fallen_ = 1, product_ = 1, logs_ = 0;
};

// The forward pass over one sentence with potentials emit [n, stride] and edges [n, L+1, stride] of each token or null, into
// w.alpha, w.end, and its factors into w.emit and w.edge. Returns log Z; minus infinity if factors underflowed.
template <class Real>
TRELLIS_INLINE double scaled_forward(const Factors<Real>& f, const Real* emit, std::size_t n, const Real* token_edge,
                                     PassScratch<Real>& w) {
  const std::size_t L = f.n_labels, stride = f.stride, cells = (L + 1) * stride, size = f.tri.empty() ? stride : L * stride;
  grow(w.emit, n * stride), grow(w.alpha, n * size), grow(w.after, n * size), grow(w.beta, size), grow(w.end, stride);
  if (!f.tri.empty()) grow(w.turned, stride * stride), grow(w.columns, n * stride);
  if (token_edge) grow(w.edge, n * cells), grow(w.tops, stride);
  double log_z = 0;
  for (std::size_t t = 0; t < n; ++t) {
    if (token_edge) {
      std::copy_n(f.tri_tops.data(), stride, w.tops.data());
      exp_columns(token_edge + t * cells, L + 1, L, stride, w.edge.data() + t * cells, w.tops.data());
    }
    log_z += exp_emissions(emit + t * stride, token_edge ? w.tops.data() : f.tops.data(), stride, w.emit.data() + t * stride);
  }
  Losses<Real> losses(L);
  const auto scale = [&](std::size_t t, Real* alpha, std::size_t n_rows) TRELLIS_INLINE_LAMBDA {
    const Real c = sum_lanes(alpha, n_rows * stride);
    if (!(c > std::numeric_limits<Real>::min())) return false;
    const Real by = 1 / c;
    Real* e = w.emit.data() + t * stride;
    for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes_at(e + z) *= by;
    for (std::size_t z = 0; z < n_rows * stride; z += kLanes<Real>) lanes_at(alpha + z) *= by;
    return !losses.matter(alpha, n_rows, stride, c);
  };
  const ChainView<Real> chain = f.view(n, w.emit.data(), token_edge ? w.edge.data() : nullptr);
  if (!forward<SumProduct>(chain, Everything{L}, w.alpha.data(), scale)) return kForbidden<double>;
  log_z += losses.take_log();
  if (f.end.empty()) {
    std::fill_n(w.end.data(), stride, Real(1));
    return log_z;
  }
  const Real* last = w.alpha.data() + (n - 1) * size;
  Real c = 0;
  for (std::size_t row = 0; row < (chain.tri && n > 1 ? L : 1); ++row)
    for (std::size_t z = 0; z < L; ++z) c += last[row * stride + z] * f.end[z];
  if (!(c > std::numeric_limits<Real>::min()) || losses.matter_at_end(static_cast<double>(c))) return kForbidden<double>;
  for (std::size_t z = 0; z < stride; ++z) w.end[z] = f.end[z] / c;
  return log_z + log(static_cast<double>(c)) + f.end_top;
}

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
  const Real *alpha = w.alpha.data(), *after = w.after.data(), *turned_edge = f.edge_transposed.data();
  if (token_edge && !second) {
    turned_edge = grow(w.edge_transposed, n * cells);
    for (std::size_t t = 0; t < n; ++t)
      transpose(w.edge.data() + t * cells, stride, L, L, w.edge_transposed.data() + t * cells, stride);
  }
  for (std::size_t row = 0; row < (second && n > 1 ? L : 1); ++row)
    std::copy_n(w.end.data(), stride, w.beta.data() + row * stride);
  // P(z at t) = alpha_t[z] beta_t[z], at order 2 summed over y;   order 2: P(y, z at t) = alpha_t[y][z] beta_t[y][z]
  const auto visit = [&](std::size_t t, const Real* beta, std::size_t n_rows) TRELLIS_INLINE_LAMBDA {
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
  };
  backward<SumProduct>(chain, turned_edge, f.tri_transposed.data(), w.beta.data(), w.turned.data(), w.after.data(), visit);
  // P(y, z at t) = alpha_{t-1}[y] E_t[y][z] after_t[z]
  for (std::size_t t = 0; t < n && !second && x->token_pairs; ++t)
    for (std::size_t y = t ? 0 : L; y < (t ? L : L + 1); ++y) {
      const Real a = t ? alpha[(t - 1) * stride + y] : 1;
      for (std::size_t z = 0; z < stride; z += step)
        lanes_at(x->token_pairs + t * cells + y * stride + z) = a * lanes(chain.edge_at(t, y) + z) * lanes(after + t * stride + z);
    }
  // The first label of a sentence, the second (order 2), all others.
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
#undef TRELLIS_RUN

}  // namespace trellis
