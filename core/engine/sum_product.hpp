// Forward-backward by scaled products: the fast way to all marginals of a sentence, for training.
//
// Potentials become factors, exp(score - top). The tops of label pairs and triples are taken for each label that follows,
// and stand with the emissions: no factor is above 1, and alpha, normalised at every token, falls little from one to the
// next. Nothing overflows, and only scores some hundred below the best underflow. Where a sum comes out as zero, or a path that underflowed might win in
// the end, the caller goes by logarithms instead (forward_backward.hpp).
//
//   order 1   alpha_t[z]    = e_t[z] · sum_y alpha_{t-1}[y] E[y][z] / c_t
//             beta_{t-1}[y] = sum_z E[y][z] e_t[z] beta_t[z] / c_t
//   order 2   alpha_t[y][z] = e_t[z] E[y][z] · sum_x alpha_{t-1}[x][y] F[x][y][z] / c_t
//             beta_{t-1}[x][y] = sum_z F[x][y][z] E[y][z] e_t[z] beta_t[y][z] / c_t
//
// with e = exp(emit), E = exp(edge), F = exp(tri), c_t what makes alpha_t sum to one; log Z = sum_t log c_t + tops.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "engine/chain.hpp"
#include "engine/exponential.hpp"

namespace trellis {

// exp of the label pairs and triples, shared by all sentences. Padding lanes are zero.
template <class Real>
struct Factors {
  std::size_t n_labels = 0, stride = 0;
  std::vector<Real> edge;    // [L+1, stride]
  std::vector<Real> edge_t;  // [L, stride] its first L rows transposed
  std::vector<Real> tri;     // [L+1, L+1, stride], or empty at order 1
  std::vector<Real> end;     // [stride], or empty
  std::vector<Real> tops;    // [stride] what was taken off pairs and triples of each label before exp
  double end_top = 0;
};

template <class Real>
struct SumProductScratch {
  std::vector<Real> e;       // [n, stride]
  std::vector<Real> alpha;   // order 1 [n, stride], order 2 [n, L, stride] (t = 0: its first row)
  std::vector<Real> beta;    // order 1 [stride] twice, order 2 [L, stride] twice
  std::vector<Real> scale;   // [n] 1 / c_t
  std::vector<Real> out;     // e beta / c: order 1 [n, stride], order 2 [L, stride] with E
  std::vector<Real> edge, edge_t, tops;  // [n, L+1, stride], [n, L, stride], [n, stride] where edges differ by token
};

template <class Real>
TRELLIS_INLINE Real sum_of(const Vector<Real>& v) {
  if constexpr (kLanes<Real> == 4) return (v[0] + v[2]) + (v[1] + v[3]);
  else return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

template <class Real>
TRELLIS_INLINE Real largest_of(const Vector<Real>& v) {
  const Real half = std::max(std::max(v[0], v[2]), std::max(v[1], v[3]));
  if constexpr (kLanes<Real> == 4) return half;
  else return std::max(half, std::max(std::max(v[4], v[6]), std::max(v[5], v[7])));
}

template <class Real>
TRELLIS_INLINE Real sum_lanes(const Real* values, std::size_t stride) {
  Vector<Real> total = {};
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) total += lanes(values + z);
  return sum_of<Real>(total);
}

// row[z] becomes exp(row[z] - top), top = the largest of the first L; zero in the padding. Returns top.
template <class Real>
TRELLIS_INLINE Real exp_in_place(Real* row, std::size_t L, std::size_t stride) {
  for (std::size_t z = L; z < stride; ++z) row[z] = kForbidden<Real>;
  Vector<Real> largest = lanes(row);
  for (std::size_t z = kLanes<Real>; z < stride; z += kLanes<Real>) largest = lanes(row + z) > largest ? lanes(row + z) : largest;
  Real top = largest_of<Real>(largest);
  if (top == kForbidden<Real>) top = 0;
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes(row + z) = exp_lanes(lanes(row + z) - top);
  return top;
}

template <class Real>
TRELLIS_INLINE Real exp_row(const Real* scores, std::size_t L, std::size_t stride, Real* out) {
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes(out + z) = lanes(scores + z);
  return exp_in_place(out, L, stride);
}

// The same of emissions with the tops of what leads to each label.
template <class Real>
TRELLIS_INLINE Real exp_emissions(const Real* emit, const Real* tops, std::size_t L, std::size_t stride, Real* out) {
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes(out + z) = lanes(emit + z) + lanes(tops + z);
  return exp_in_place(out, L, stride);
}

// table[row, z] becomes exp(table[row, z] - top[z]) over rows of [stride], top[z] = the largest of column z, which is
// added to tops; columns of minus infinity, and the padding, become zero.
template <class Real>
TRELLIS_INLINE void exp_columns(const Real* table, std::size_t n_rows, std::size_t L, std::size_t stride, Real* out,
                                Real* tops) {
  for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
    Vector<Real> top = lanes(table + z);
    for (std::size_t row = 1; row < n_rows; ++row) {
      const Vector<Real>& scores = lanes(table + row * stride + z);
      top = scores > top ? scores : top;
    }
    top = top == kForbidden<Real> ? Vector<Real>{} : top;
    for (std::size_t row = 0; row < n_rows; ++row)
      lanes(out + row * stride + z) = exp_lanes(lanes(table + row * stride + z) - top);
    lanes(tops + z) += top;
  }
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t z = L; z < stride; ++z) out[row * stride + z] = 0;
  for (std::size_t z = L; z < stride; ++z) tops[z] = 0;
}

// The factors of label pairs [L+1, stride], triples [L+1, L+1, stride] or none, and ends [stride] or none.
template <class Real>
TRELLIS_INLINE void set_factors(const std::vector<Real>& edge, const std::vector<Real>& tri, std::span<const float> end,
                                std::size_t L, Factors<Real>& f) {
  const std::size_t stride = padded(L);
  f.n_labels = L;
  f.stride = stride;
  f.tops.assign(stride, 0);
  f.edge.resize(edge.size());
  exp_columns(edge.data(), L + 1, L, stride, f.edge.data(), f.tops.data());
  f.edge_t.assign(L * stride, 0);
  for (std::size_t y = 0; y < L; ++y)
    for (std::size_t z = 0; z < L; ++z) f.edge_t[z * stride + y] = f.edge[y * stride + z];
  f.tri.resize(tri.size());
  if (!tri.empty()) exp_columns(tri.data(), (L + 1) * (L + 1), L, stride, f.tri.data(), f.tops.data());
  f.end.assign(end.begin(), end.end());
  if (!end.empty()) f.end_top = exp_in_place(f.end.data(), L, stride);
}

// out[z] = sum_y a[y] · rows[y, z]; two chains of sums, so that they do not wait.
template <class Real>
TRELLIS_INLINE void weigh_rows(const Real* a, const Real* rows, std::size_t n, std::size_t stride, Real* out) {
  each_block<Real>(stride, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
    constexpr std::size_t N = chunks, step = kLanes<Real>;
    Vector<Real> even[N] = {}, odd[N] = {};
    const Real* row = rows + z;
    std::size_t y = 0;
    for (; y + 2 <= n; y += 2, row += 2 * stride)
      for (std::size_t c = 0; c < N; ++c) {
        even[c] += a[y] * lanes(row + c * step);
        odd[c] += a[y + 1] * lanes(row + stride + c * step);
      }
    if (y < n)
      for (std::size_t c = 0; c < N; ++c) even[c] += a[y] * lanes(row + c * step);
    for (std::size_t c = 0; c < N; ++c) lanes(out + z + c * step) = even[c] + odd[c];
  });
}

// to[y, z] += weight · sum_t a[t, y] · b[t, z], kept in registers over all t for a few y. Rows of `to` beyond the labels,
// up to the stride, get zeros of the padding added.
template <class Real>
TRELLIS_INLINE void add_products(const Real* a, const Real* b, std::size_t n, std::size_t stride, Real weight, Real* to) {
  constexpr std::size_t kRows = kLanes<Real> / 2;
  for (std::size_t y = 0; y < stride; y += kRows)
    each_block<Real>(stride, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
      constexpr std::size_t N = chunks, step = kLanes<Real>;
      Vector<Real> sum[kRows][N] = {};
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t r = 0; r < kRows; ++r)
          for (std::size_t c = 0; c < N; ++c) sum[r][c] += a[t * stride + y + r] * lanes(b + t * stride + z + c * step);
      for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t c = 0; c < N; ++c) lanes(to + (y + r) * stride + z + c * step) += weight * sum[r][c];
    });
}

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
    if (fallen_ < kDeep && (c < kDeep || -largest_of<Real>(-least_) < kTiny)) return true;
    if (product_ < kLow || product_ > 1 / kLow) take_log();
    product_ *= c;
    return false;
  }
  double log_of_all() {
    take_log();
    return logs_;
  }

 private:
  // One logarithm for many c_t: none is below kLow, nor is their product so far.
  void take_log() {
    logs_ += std::log(product_);
    product_ = 1;
  }
  static constexpr Real kTiny = sizeof(Real) == 4 ? Real(1e-24) : Real(1e-150);
  static constexpr double kDeep = sizeof(Real) == 4 ? 1e-13 : 1e-150;
  static constexpr double kLow = 1e-150;
  Vector<Real> least_;      // the least alpha so far, by lanes
  Real padding_[kPadding];  // 1 where the last lanes are no labels
  double fallen_ = 1, product_ = 1, logs_ = 0;
};

// What the passes add up for the gradient. Pairs and triples are sums of products without their own factor, which is
// the same for all tokens and is multiplied in at the end.
template <class Real>
struct Expectations {
  Real* node;         // [n, stride] P(z at t)
  Real* pairs;        // [stride+1, stride] sum_t weight · P(y, z) / E[y][z]   (order 1 with shared edges)
  Real* pair_sums;    // [L+1, stride] sum_t weight · P(y, z)             (order 2)
  Real* triples;      // [L+1, L+1, stride] sum_t weight · P(x, y, z) / F[x][y][z]
  Real* token_pairs;  // [n, L+1, stride] P(y, z at t) where edges differ by token, or null
};

// Factors of edges that differ by token, and their transposes.
template <class Real>
TRELLIS_INLINE void token_factors(const Real* token_edge, std::size_t n, std::size_t L, std::size_t stride,
                                  SumProductScratch<Real>& w) {
  const std::size_t size = (L + 1) * stride;
  if (w.edge.size() < n * size) w.edge.resize(n * size), w.edge_t.resize(n * size);
  w.tops.assign(n * stride, 0);
  for (std::size_t t = 0; t < n; ++t) {
    Real *edge = w.edge.data() + t * size, *edge_t = w.edge_t.data() + t * size;
    exp_columns(token_edge + t * size, L + 1, L, stride, edge, w.tops.data() + t * stride);
    for (std::size_t z = 0; z < L; ++z) {
      for (std::size_t y = 0; y < L; ++y) edge_t[z * stride + y] = edge[y * stride + z];
      for (std::size_t y = L; y < stride; ++y) edge_t[z * stride + y] = 0;
    }
  }
}

// Both passes over one sentence of at least one token. Returns log Z; minus infinity where factors underflowed.
// With expectations null only log Z is computed.
template <class Real>
TRELLIS_INLINE double sum_product_1(const Factors<Real>& f, const Real* emit, std::size_t n, const Real* token_edge,
                                    Real weight, SumProductScratch<Real>& w, const Expectations<Real>* x) {
  const std::size_t L = f.n_labels, stride = f.stride, size = (L + 1) * stride;
  if (w.e.size() < n * stride) {
    w.e.resize(n * stride), w.alpha.resize(n * stride), w.out.resize(n * stride);
    w.scale.resize(n);
  }
  if (w.beta.size() < 2 * stride) w.beta.resize(2 * stride);
  double log_z = 0;
  Losses<Real> losses(L);
  if (token_edge) token_factors(token_edge, n, L, stride, w);
  auto edge_at = [&](std::size_t t) { return token_edge ? w.edge.data() + t * size : f.edge.data(); };
  auto edge_t_at = [&](std::size_t t) { return token_edge ? w.edge_t.data() + t * size : f.edge_t.data(); };
  auto tops_at = [&](std::size_t t) { return token_edge ? w.tops.data() + t * stride : f.tops.data(); };

  for (std::size_t t = 0; t < n; ++t) log_z += exp_emissions(emit + t * stride, tops_at(t), L, stride, w.e.data() + t * stride);
  for (std::size_t t = 0; t < n; ++t) {
    const Real* e = w.e.data() + t * stride;
    Real* alpha = w.alpha.data() + t * stride;
    if (t == 0) std::copy_n(edge_at(t) + L * stride, stride, alpha);
    else weigh_rows(alpha - stride, edge_at(t), L, stride, alpha);
    for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes(alpha + z) *= lanes(e + z);
    const Real c = sum_lanes(alpha, stride);
    if (!(c > std::numeric_limits<Real>::min())) return kForbidden<double>;
    w.scale[t] = 1 / c;
    for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes(alpha + z) *= w.scale[t];
    if (losses.matter(alpha, 1, stride, c)) return kForbidden<double>;
  }
  log_z += losses.log_of_all();

  Real* beta = w.beta.data();
  Real* before = w.beta.data() + stride;
  for (std::size_t z = 0; z < stride; ++z) beta[z] = 1;
  if (!f.end.empty()) {
    const Real* alpha = w.alpha.data() + (n - 1) * stride;
    for (std::size_t z = 0; z < stride; z += kLanes<Real>) lanes(w.out.data() + z) = lanes(alpha + z) * lanes(f.end.data() + z);
    const Real c = sum_lanes(w.out.data(), stride);
    if (!(c > std::numeric_limits<Real>::min())) return kForbidden<double>;
    for (std::size_t z = 0; z < stride; ++z) beta[z] = f.end[z] / c;
    log_z += std::log(static_cast<double>(c)) + f.end_top;
  }
  if (!x) return log_z;

  for (std::size_t t = n; t-- > 0;) {
    const Real* alpha = w.alpha.data() + t * stride;
    const Real* e = w.e.data() + t * stride;
    Real* out = w.out.data() + t * stride;  // e_t[z] beta_t[z] / c_t
    for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
      lanes(x->node + t * stride + z) = lanes(alpha + z) * lanes(beta + z);
      lanes(out + z) = lanes(e + z) * lanes(beta + z) * w.scale[t];
    }
    if (t == 0) break;
    weigh_rows(out, edge_t_at(t), L, stride, before);
    std::swap(beta, before);
  }
  // P(y, z at t) = alpha_{t-1}[y] E[y][z] out_t[z]
  if (token_edge) {
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t y = t ? 0 : L; y < (t ? L : L + 1); ++y) {
        const Real a = t ? w.alpha[(t - 1) * stride + y] : 1;
        for (std::size_t z = 0; z < stride; z += kLanes<Real>)
          lanes(x->token_pairs + t * size + y * stride + z) =
              a * lanes(edge_at(t) + y * stride + z) * lanes(w.out.data() + t * stride + z);
      }
  } else {
    for (std::size_t z = 0; z < stride; z += kLanes<Real>)
      lanes(x->pairs + L * stride + z) += weight * lanes(w.out.data() + z);
    add_products(w.alpha.data(), w.out.data() + stride, n - 1, stride, weight, x->pairs);
  }
  return log_z;
}

template <class Real>
TRELLIS_INLINE double sum_product_2(const Factors<Real>& f, const Real* emit, std::size_t n, Real weight,
                                    SumProductScratch<Real>& w, const Expectations<Real>* x) {
  const std::size_t L = f.n_labels, stride = f.stride, token = L * stride;
  if (w.e.size() < n * stride) w.e.resize(n * stride), w.scale.resize(n);
  if (w.alpha.size() < n * token) w.alpha.resize(n * token);
  if (w.beta.size() < 2 * token) w.beta.resize(2 * token), w.out.resize(token);
  auto tri = [&](std::size_t x_, std::size_t y) { return f.tri.data() + (x_ * (L + 1) + y) * stride; };
  double log_z = 0;
  Losses<Real> losses(L);

  for (std::size_t t = 0; t < n; ++t) {
    Real* e = w.e.data() + t * stride;
    Real* alpha = w.alpha.data() + t * token;
    const Real* last = w.alpha.data() + (t ? t - 1 : 0) * token;
    log_z += exp_emissions(emit + t * stride, f.tops.data(), L, stride, e);
    Real c = 0;
    if (t == 0) {
      for (std::size_t z = 0; z < stride; z += kLanes<Real>)
        lanes(alpha + z) = lanes(f.edge.data() + L * stride + z) * lanes(tri(L, L) + z) * lanes(e + z);
      c = sum_lanes(alpha, stride);
    } else {
      for (std::size_t y = 0; y < L; ++y) {
        for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
          Vector<Real> sum = {};
          if (t == 1)
            sum = last[y] * lanes(tri(L, y) + z);
          else
            for (std::size_t x_ = 0; x_ < L; ++x_) sum += last[x_ * stride + y] * lanes(tri(x_, y) + z);
          lanes(alpha + y * stride + z) = sum * lanes(f.edge.data() + y * stride + z) * lanes(e + z);
        }
        c += sum_lanes(alpha + y * stride, stride);
      }
    }
    if (!(c > std::numeric_limits<Real>::min())) return kForbidden<double>;
    w.scale[t] = 1 / c;
    for (std::size_t z = 0; z < (t ? token : stride); z += kLanes<Real>) lanes(alpha + z) *= w.scale[t];
    if (losses.matter(alpha, t ? L : 1, stride, c)) return kForbidden<double>;
  }
  log_z += losses.log_of_all();

  Real* beta = w.beta.data();
  Real* before = w.beta.data() + token;
  for (std::size_t z = 0; z < token; ++z) beta[z] = 1;
  if (!f.end.empty()) {
    const Real* alpha = w.alpha.data() + (n - 1) * token;
    Real c = 0;
    for (std::size_t y = 0; y < (n > 1 ? L : 1); ++y)
      for (std::size_t z = 0; z < L; ++z) c += alpha[y * stride + z] * f.end[z];
    if (!(c > std::numeric_limits<Real>::min())) return kForbidden<double>;
    for (std::size_t y = 0; y < L; ++y)
      for (std::size_t z = 0; z < stride; ++z) beta[y * stride + z] = f.end[z] / c;
    log_z += std::log(static_cast<double>(c)) + f.end_top;
  }
  if (!x) return log_z;

  for (std::size_t t = n; t-- > 0;) {
    const Real* alpha = w.alpha.data() + t * token;
    const Real* last = w.alpha.data() + (t ? t - 1 : 0) * token;
    const Real* e = w.e.data() + t * stride;
    Real* node = x->node + t * stride;
    for (std::size_t z = 0; z < stride; ++z) node[z] = 0;
    for (std::size_t y = 0; y < (t ? L : 1); ++y) {
      const std::size_t row = t ? y : L;  // the label before: NULL at the beginning
      Real* out = w.out.data() + y * stride;
      for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
        const Vector<Real> p = lanes(alpha + y * stride + z) * lanes(beta + y * stride + z);
        lanes(node + z) += p;
        lanes(x->pair_sums + row * stride + z) += weight * p;
        lanes(out + z) =
            lanes(f.edge.data() + row * stride + z) * lanes(e + z) * lanes(beta + y * stride + z) * w.scale[t];
      }
    }
    // P(x, y, z) = alpha_{t-1}[x][y] F[x][y][z] out[y][z]
    auto add = [&](std::size_t x_, std::size_t y, std::size_t row, Real a) {
      Real* triples = x->triples + (x_ * (L + 1) + row) * stride;
      for (std::size_t z = 0; z < stride; z += kLanes<Real>)
        lanes(triples + z) += (weight * a) * lanes(w.out.data() + y * stride + z);
    };
    if (t == 0) {
      add(L, 0, L, 1);
      break;
    }
    for (std::size_t x_ = 0; x_ < (t > 1 ? L : 1); ++x_)
      for (std::size_t y = 0; y < L; ++y) {
        const std::size_t far = t > 1 ? x_ : L;
        const Real a = t > 1 ? last[x_ * stride + y] : last[y];
        add(far, y, y, a);
        Vector<Real> sum = {};
        for (std::size_t z = 0; z < stride; z += kLanes<Real>)
          sum += lanes(tri(far, y) + z) * lanes(w.out.data() + y * stride + z);
        Real total = 0;
        for (std::size_t lane = 0; lane < kLanes<Real>; ++lane) total += sum[lane];
        before[x_ * stride + y] = total;
      }
    for (std::size_t x_ = 0; x_ < (t > 1 ? L : 1); ++x_)
      for (std::size_t y = L; y < stride; ++y) before[x_ * stride + y] = 0;
    std::swap(beta, before);
  }
  return log_z;
}

}  // namespace trellis
