// Forward-backward by scaled products of factors: the fast way to log Z and all expectations of a sentence.
//
// alpha is made to sum to one at every token, by a scale that goes into the token's emissions: afterwards they are the
// emissions of a chain whose Z is one, and alpha · beta are probabilities. Nothing overflows, and only scores some hundred
// below the best underflow. Where a sum comes out as zero, or a path that underflowed might win in the end, the caller
// goes by logarithms instead (forward_backward.hpp).
#pragma once

#include "engine/elementary.hpp"
#include "engine/factors.hpp"

namespace trellis {

// What both passes over one sentence keep, for any semiring.
template <class Real>
struct PassScratch {
  std::vector<Real> emit;     // [n, stride] as the semiring has it; after the forward pass, scaled
  std::vector<Real> alpha;    // [n, stride], order 2 [n, L, stride] (t = 0: its first row)
  std::vector<Real> after;    // as alpha: see backward()
  std::vector<Real> beta;     // [stride], order 2 [L, stride]
  std::vector<Real> end;      // [stride] the last beta
  std::vector<Real> turned;   // [stride, stride]
  std::vector<Real> columns;  // [n, stride] alpha of one middle
  std::vector<Real> edge, edge_transposed, tops;  // [n, L+1, stride] twice, [n, stride] where edges differ by token

  static void at_least(std::vector<Real>& v, std::size_t count) {
    if (v.size() < count) v.resize(count);
  }
  void grow(std::size_t n, std::size_t L, std::size_t stride, bool second) {
    const std::size_t size = second ? L * stride : stride;
    at_least(emit, n * stride), at_least(alpha, n * size), at_least(after, n * size);
    at_least(beta, size), at_least(end, stride);
    if (second) at_least(turned, stride * stride), at_least(columns, n * stride);
  }
  // Transposes of edges [n, L+1, stride] that differ by token.
  TRELLIS_INLINE void turn_edges(const Real* edges, std::size_t n, std::size_t L, std::size_t stride) {
    at_least(edge_transposed, n * (L + 1) * stride);
    for (std::size_t t = 0; t < n; ++t)
      transpose(edges + t * (L + 1) * stride, stride, L, L, edge_transposed.data() + t * (L + 1) * stride, stride);
  }
};

// A path whose alpha is lost by underflow can matter only if all that was kept falls as low: some c_t in a row, none of
// whose factors is above 1, have a product near the smallest number. Beta, at most one over that product, could overflow
// there too. Tiny and deep together stay above the smallest number, so that what is not lost is exact.
template <class Real>
class Losses {
 public:
  TRELLIS_INLINE explicit Losses(std::size_t L) : least_(Vector<Real>{} + Real(1)) {
    for (std::size_t z = padded(L) - kPadding; z < padded(L); ++z) padding_[z % kPadding] = z < L ? 0 : 1;
  }

  // After alpha_t [n_rows, stride] was scaled by 1 / c_t; whether sums may be wrong by now. log Z gets log c_t.
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
  // The same of scores at the end of the sentence, which sum to c.
  bool matter_at_end(double c) const { return may_win(std::min(fallen_, 1.0) * c, c); }
  double log_of_all() {
    take_log();
    return logs_;
  }

 private:
  TRELLIS_INLINE bool may_win(double fallen, double c) const {
    return fallen < kDeep && (c < kDeep || -largest_of<Real>(-least_) < kTiny);
  }
  // One logarithm for many c_t: none is below kLow, nor is their product so far.
  void take_log() {
    logs_ += log(product_);
    product_ = 1;
  }
  static constexpr Real kTiny = sizeof(Real) == 4 ? Real(1e-24) : Real(1e-150);
  static constexpr double kDeep = sizeof(Real) == 4 ? 1e-13 : 1e-150;
  static constexpr double kLow = 1e-150;
  Vector<Real> least_;      // the least alpha so far, by lanes
  Real padding_[kPadding];  // 1 where the last lanes are no labels
  double fallen_ = 1, product_ = 1, logs_ = 0;
};

// The factors of one sentence, potentials emit [n, stride] and edges [n, L+1, stride] of each token or null, as a chain
// in w.emit and w.edge. Returns what was taken off all paths.
template <class Real>
TRELLIS_INLINE double load_factors(const Factors<Real>& f, const Real* emit, std::size_t n, const Real* token_edge,
                                   PassScratch<Real>& w) {
  const std::size_t L = f.n_labels, stride = f.stride, cells = (L + 1) * stride;
  w.grow(n, L, stride, !f.tri.empty());
  if (token_edge) {
    w.at_least(w.edge, n * cells), w.at_least(w.tops, n * stride);
    for (std::size_t t = 0; t < n; ++t) {
      std::copy_n(f.tri_tops.data(), stride, w.tops.data() + t * stride);
      exp_columns(token_edge + t * cells, L + 1, L, stride, w.edge.data() + t * cells, w.tops.data() + t * stride);
    }
  }
  double tops = 0;
  for (std::size_t t = 0; t < n; ++t)
    tops += exp_emissions(emit + t * stride, token_edge ? w.tops.data() + t * stride : f.tops.data(), stride,
                          w.emit.data() + t * stride);
  return tops;
}

// The forward pass, into w.alpha, w.emit and w.end. Returns log Z; minus infinity where factors underflowed.
template <class Real>
TRELLIS_INLINE double scaled_forward(const Factors<Real>& f, const Real* emit, std::size_t n, const Real* token_edge,
                                     PassScratch<Real>& w) {
  const std::size_t L = f.n_labels, stride = f.stride;
  double log_z = load_factors(f, emit, n, token_edge, w);
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
  log_z += losses.log_of_all();
  if (f.end.empty()) {
    std::fill_n(w.end.data(), stride, Real(1));
    return log_z;
  }
  const Real* last = w.alpha.data() + (n - 1) * chain.token_size();
  Real c = 0;
  for (std::size_t row = 0; row < (chain.tri && n > 1 ? L : 1); ++row)
    for (std::size_t z = 0; z < L; ++z) c += last[row * stride + z] * f.end[z];
  if (!(c > std::numeric_limits<Real>::min()) || losses.matter_at_end(static_cast<double>(c))) return kForbidden<double>;
  for (std::size_t z = 0; z < stride; ++z) w.end[z] = f.end[z] / c;
  return log_z + log(static_cast<double>(c)) + f.end_top;
}

// The way back after it: w.after. visit(t, beta, n_rows) is called for each token, the last first.
template <class Real, class Visit>
TRELLIS_INLINE void scaled_backward(const Factors<Real>& f, std::size_t n, bool token_edge, PassScratch<Real>& w,
                                    Visit visit) {
  const std::size_t L = f.n_labels, stride = f.stride;
  if (token_edge && f.tri.empty()) w.turn_edges(w.edge.data(), n, L, stride);
  for (std::size_t row = 0; row < (!f.tri.empty() && n > 1 ? L : 1); ++row)
    std::copy_n(w.end.data(), stride, w.beta.data() + row * stride);
  const Transposed<Real> transposed{token_edge ? w.edge_transposed.data() : f.edge_transposed.data(),
                                    f.tri_transposed.data()};
  backward<SumProduct>(f.view(n, w.emit.data(), token_edge ? w.edge.data() : nullptr), transposed, w.beta.data(),
                       w.turned.data(), w.after.data(), visit);
}

// What the passes add up. Null: not wanted. Pairs and triples are sums of products without their own factor, which is the
// same for all tokens and is multiplied in at the end.
template <class Real>
struct Expectations {
  Real* node = nullptr;         // [n, stride] weight · P(z at t), set or added
  bool add = false;
  Real* pairs = nullptr;        // [stride+1, stride] sum_t weight · P(y, z) / E[y][z]   (order 1 with shared edges)
  Real* pair_sums = nullptr;    // [L+1, stride] sum_t weight · P(y, z)             (order 2)
  Real* triples = nullptr;      // [stride+1, L+1, stride] sum_t weight · P(x, y, z) / F[x][y][z]
  Real* token_pairs = nullptr;  // [n, L+1, stride] P(y, z at t): of NULL at t = 0, of all others later
};

// Both passes over one sentence of at least one token. Returns log Z; minus infinity where factors underflowed. With
// expectations null only log Z is computed.
double sum_product(const Factors<float>& factors, const float* emit, std::size_t n, const float* token_edge, float weight,
                   PassScratch<float>& w, const Expectations<float>* x);
double sum_product(const Factors<double>& factors, const double* emit, std::size_t n, const double* token_edge,
                   double weight, PassScratch<double>& w, const Expectations<double>* x);

}  // namespace trellis
