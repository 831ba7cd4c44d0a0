// Forward-backward by scaled products: the fast way to all marginals of a sentence, for training.
//
// Potentials become factors, exp(score - top); alpha is normalised at every token, so that nothing overflows and only
// scores some hundred below the best underflow. Where a sum comes out as zero, or a path that underflowed might win in
// the end, the caller goes by logarithms instead (forward_backward.hpp).
//
//   order 1   alpha_t[z]    = e_t[z] · sum_y alpha_{t-1}[y] E[y][z] / c_t
//             beta_{t-1}[y] = sum_z E[y][z] e_t[z] beta_t[z] / c_t
//   order 2   alpha_t[y][z] = e_t[z] E[y][z] · sum_x alpha_{t-1}[x][y] F[x][y][z] / c_t
//             beta_{t-1}[x][y] = sum_z F[x][y][z] E[y][z] e_t[z] beta_t[y][z] / c_t
//
// with e = exp(emit), E = exp(edge), F = exp(tri), c_t what makes alpha_t sum to one; log Z = sum_t log c_t + tops.
#pragma once
#include <cmath>
#include <vector>

#include "chain.hpp"
#include "exponential.hpp"

namespace trellis {

// exp of the label pairs and triples, shared by all sentences. Padding lanes are zero.
template <class Real>
struct Factors {
  std::size_t n_labels = 0, stride = 0;
  std::vector<Real> edge;    // [L+1, stride]
  std::vector<Real> edge_t;  // [L, stride] its first L rows transposed
  std::vector<Real> tri;     // [L+1, L+1, stride], or empty at order 1
  std::vector<Real> end;     // [stride], or empty
  double edge_top = 0, tri_top = 0, end_top = 0;  // what was taken off before exp
};

template <class Real>
struct SumProductScratch {
  std::vector<Real> e;       // [n, stride]
  std::vector<Real> alpha;   // order 1 [n, stride], order 2 [n, L, stride] (t = 0: its first row)
  std::vector<Real> beta;    // order 1 [stride] twice, order 2 [L, stride] twice
  std::vector<Real> scale;   // [n] 1 / c_t
  std::vector<Real> out;     // [L, stride] E e beta / c at order 2, [stride] at order 1
  std::vector<Real> edge, edge_t;  // [n, L+1, stride], [n, L, stride] factors of edges that differ by token
};

template <class Real>
TRELLIS_INLINE Real sum_lanes(const Real* values, std::size_t stride) {
  Vector<Real> total = {};
  for (std::size_t z = 0; z < stride; z += kLanes) total += lanes(values + z);
  Real sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += total[lane];
  return sum;
}

// out[z] = exp(scores[z] - top), top = the largest of the first L; zero in the padding. Returns top.
template <class Real>
TRELLIS_INLINE Real exp_row(const Real* scores, std::size_t L, std::size_t stride, Real* out) {
  Real top = kForbidden<Real>;
  for (std::size_t z = 0; z < L; ++z) top = scores[z] > top ? scores[z] : top;
  if (top == kForbidden<Real>) top = 0;
  for (std::size_t z = 0; z < stride; z += kLanes) lanes(out + z) = exp_lanes(lanes(scores + z) - top);
  for (std::size_t z = L; z < stride; ++z) out[z] = 0;
  return top;
}

// A path whose alpha is lost by underflow can matter only if all that was kept falls as low: some c_t in a row, none of
// whose factors is above 1, have a product near the smallest number. Beta, at most one over that product, could overflow
// there too. Tiny and deep together stay above the smallest number, so that what is not lost is exact.
template <class Real>
class Losses {
 public:
  // After alpha_t [n_rows, stride] was scaled by 1 / c_t; whether sums may be wrong by now.
  TRELLIS_INLINE bool matter(const Real* alpha, std::size_t n_rows, std::size_t L, std::size_t stride, double log_c) {
    fallen_ = std::min(fallen_, 0.0) + log_c;
    for (std::size_t y = 0; y < n_rows; ++y)
      for (std::size_t z = 0; z < L; ++z) lost_ |= alpha[y * stride + z] < kTiny;
    return (lost_ ? fallen_ : log_c) < kDeep;
  }

 private:
  static constexpr Real kTiny = sizeof(Real) == 4 ? Real(1e-24) : Real(1e-150);
  static constexpr double kDeep = sizeof(Real) == 4 ? -29 : -345;  // 1e-13, 1e-150
  bool lost_ = false;
  double fallen_ = 0;
};

// What the passes add up for the gradient. Pairs and triples are sums of products without their own factor, which is
// the same for all tokens and is multiplied in at the end.
template <class Real>
struct Expectations {
  Real* node;         // [n, stride] P(z at t)
  Real* pairs;        // [L+1, stride] sum_t weight · P(y, z) / E[y][z]   (order 1 with shared edges)
  Real* pair_sums;    // [L+1, stride] sum_t weight · P(y, z)             (order 2)
  Real* triples;      // [L+1, L+1, stride] sum_t weight · P(x, y, z) / F[x][y][z]
  Real* token_pairs;  // [n, L+1, stride] P(y, z at t) where edges differ by token, or null
};

// Both passes over one sentence of at least one token. Returns log Z; minus infinity where factors underflowed.
// With expectations null only log Z is computed.
template <class Real>
TRELLIS_INLINE double sum_product_1(const Factors<Real>& f, const Real* emit, std::size_t n, const Real* token_edge,
                                    Real weight, SumProductScratch<Real>& w, const Expectations<Real>* x) {
  const std::size_t L = f.n_labels, stride = f.stride, size = (L + 1) * stride;
  if (w.e.size() < n * stride) w.e.resize(n * stride), w.alpha.resize(n * stride), w.scale.resize(n);
  if (w.beta.size() < 2 * stride) w.beta.resize(2 * stride), w.out.resize(stride);
  double log_z = 0;
  Losses<Real> losses;
  if (token_edge) {
    if (w.edge.size() < n * size) w.edge.resize(n * size), w.edge_t.resize(n * size);
    for (std::size_t t = 0; t < n; ++t) {
      Real top = kForbidden<Real>;
      for (std::size_t y = 0; y <= L; ++y)
        for (std::size_t z = 0; z < L; ++z) top = std::max(top, token_edge[t * size + y * stride + z]);
      if (top == kForbidden<Real>) top = 0;
      for (std::size_t y = 0; y <= L; ++y) {
        Real* row = w.edge.data() + t * size + y * stride;
        for (std::size_t z = 0; z < stride; z += kLanes)
          lanes(row + z) = exp_lanes(lanes(token_edge + t * size + y * stride + z) - top);
        for (std::size_t z = L; z < stride; ++z) row[z] = 0;
        if (y < L)
          for (std::size_t z = 0; z < L; ++z) w.edge_t[t * size + z * stride + y] = row[z];
      }
      for (std::size_t z = 0; z < L; ++z)
        for (std::size_t y = L; y < stride; ++y) w.edge_t[t * size + z * stride + y] = 0;
      log_z += top;
    }
  } else {
    log_z = static_cast<double>(n) * f.edge_top;
  }
  auto edge_at = [&](std::size_t t) { return token_edge ? w.edge.data() + t * size : f.edge.data(); };
  auto edge_t_at = [&](std::size_t t) { return token_edge ? w.edge_t.data() + t * size : f.edge_t.data(); };

  for (std::size_t t = 0; t < n; ++t) {
    Real* e = w.e.data() + t * stride;
    Real* alpha = w.alpha.data() + t * stride;
    const Real* last = w.alpha.data() + (t ? t - 1 : 0) * stride;
    log_z += exp_row(emit + t * stride, L, stride, e);
    const Real* edge = edge_at(t);
    for (std::size_t z = 0; z < stride; z += kLanes) {
      Vector<Real> sum = {};
      if (t == 0)
        sum = lanes(edge + L * stride + z);
      else
        for (std::size_t y = 0; y < L; ++y) sum += last[y] * lanes(edge + y * stride + z);
      lanes(alpha + z) = sum * lanes(e + z);
    }
    const Real c = sum_lanes(alpha, stride);
    if (!(c > std::numeric_limits<Real>::min())) return kForbidden<double>;
    w.scale[t] = 1 / c;
    for (std::size_t z = 0; z < stride; z += kLanes) lanes(alpha + z) *= w.scale[t];
    const double log_c = std::log(static_cast<double>(c));
    if (losses.matter(alpha, 1, L, stride, log_c)) return kForbidden<double>;
    log_z += log_c;
  }

  Real* beta = w.beta.data();
  Real* before = w.beta.data() + stride;
  for (std::size_t z = 0; z < stride; ++z) beta[z] = 1;
  if (!f.end.empty()) {
    const Real* alpha = w.alpha.data() + (n - 1) * stride;
    for (std::size_t z = 0; z < stride; z += kLanes) lanes(w.out.data() + z) = lanes(alpha + z) * lanes(f.end.data() + z);
    const Real c = sum_lanes(w.out.data(), stride);
    if (!(c > std::numeric_limits<Real>::min())) return kForbidden<double>;
    for (std::size_t z = 0; z < stride; ++z) beta[z] = f.end[z] / c;
    log_z += std::log(static_cast<double>(c)) + f.end_top;
  }
  if (!x) return log_z;

  for (std::size_t t = n; t-- > 0;) {
    const Real* alpha = w.alpha.data() + t * stride;
    const Real* e = w.e.data() + t * stride;
    Real* out = w.out.data();  // e_t[z] beta_t[z] / c_t
    for (std::size_t z = 0; z < stride; z += kLanes) {
      lanes(x->node + t * stride + z) = lanes(alpha + z) * lanes(beta + z);
      lanes(out + z) = lanes(e + z) * lanes(beta + z) * w.scale[t];
    }
    auto add_pairs = [&](std::size_t y, Real a) {
      if (token_edge) {
        Real* pairs = x->token_pairs + t * size + y * stride;
        for (std::size_t z = 0; z < stride; z += kLanes)
          lanes(pairs + z) = a * lanes(edge_at(t) + y * stride + z) * lanes(out + z);
      } else {
        for (std::size_t z = 0; z < stride; z += kLanes)
          lanes(x->pairs + y * stride + z) += (weight * a) * lanes(out + z);
      }
    };
    if (t == 0) {
      add_pairs(L, 1);
      break;
    }
    for (std::size_t y = 0; y < L; ++y) add_pairs(y, w.alpha[(t - 1) * stride + y]);
    for (std::size_t y = 0; y < stride; y += kLanes) {
      Vector<Real> sum = {};
      for (std::size_t z = 0; z < L; ++z) sum += out[z] * lanes(edge_t_at(t) + z * stride + y);
      lanes(before + y) = sum;
    }
    std::swap(beta, before);
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
  double log_z = static_cast<double>(n) * (f.edge_top + f.tri_top);
  Losses<Real> losses;

  for (std::size_t t = 0; t < n; ++t) {
    Real* e = w.e.data() + t * stride;
    Real* alpha = w.alpha.data() + t * token;
    const Real* last = w.alpha.data() + (t ? t - 1 : 0) * token;
    log_z += exp_row(emit + t * stride, L, stride, e);
    Real c = 0;
    if (t == 0) {
      for (std::size_t z = 0; z < stride; z += kLanes)
        lanes(alpha + z) = lanes(f.edge.data() + L * stride + z) * lanes(tri(L, L) + z) * lanes(e + z);
      c = sum_lanes(alpha, stride);
    } else {
      for (std::size_t y = 0; y < L; ++y) {
        for (std::size_t z = 0; z < stride; z += kLanes) {
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
    for (std::size_t z = 0; z < (t ? token : stride); z += kLanes) lanes(alpha + z) *= w.scale[t];
    const double log_c = std::log(static_cast<double>(c));
    if (losses.matter(alpha, t ? L : 1, L, stride, log_c)) return kForbidden<double>;
    log_z += log_c;
  }

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
      for (std::size_t z = 0; z < stride; z += kLanes) {
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
      for (std::size_t z = 0; z < stride; z += kLanes)
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
        for (std::size_t z = 0; z < stride; z += kLanes)
          sum += lanes(tri(far, y) + z) * lanes(w.out.data() + y * stride + z);
        Real total = 0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) total += sum[lane];
        before[x_ * stride + y] = total;
      }
    for (std::size_t x_ = 0; x_ < (t > 1 ? L : 1); ++x_)
      for (std::size_t y = L; y < stride; ++y) before[x_ * stride + y] = 0;
    std::swap(beta, before);
  }
  return log_z;
}

}  // namespace trellis
