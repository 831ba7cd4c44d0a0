// The rule against underflow in sum-product with scaling: alpha is scaled by 1 / c to sum to one at every token. Underflow
// cannot be undone, so what vanishes must be negligible. With
//
//   lost_t = (lost_{t-1} · most + vanished_t) / c_t,   most the largest possible gain of a path at one token,
//
// lost_t bounds the lost share of the sum, assuming that lost paths gain as much as possible at all later tokens. While
// it is negligible, sums are correct to the last digits; otherwise they are recomputed in log space. If no product can have
// vanished, vanished_t is 0, as in ordinary sentences of any length.
//
// Betas do not overflow either: alpha · beta is a probability, and if alpha were small enough for that, something had vanished.
#pragma once
#include <span>
#include <vector>

#include "engine/elementary.hpp"
#include "engine/semiring.hpp"

namespace trellis {

// Upper and lower bounds on the nonzero factors of a token and of the end.
struct FactorRange {
  double most = 1, least = 1;
};

class Scaling {
 public:
  // Factors are at most exp(kMostTop), so products that underflow (below 1e-308) would have been below kVanished.
  static constexpr double kMostTop = 100;

  // c: the sum at a token or at the end, by factors within the range. False if sums may be inaccurate.
  bool take(double c, const FactorRange& range) {
    if (!(c > kLeastSum)) return false;
    lost_ = (lost_ * range.most + (least_ * range.least > kVanished ? 0 : kVanished)) / c;
    log_z_ += log(c);
    return lost_ < kNothing;
  }
  // The same for the alpha of a token, which is scaled by the factor `by` to sum to one.
  bool scale(std::span<double> alpha, const FactorRange& range, double& by) {
    double c = 0;
    for (double a : alpha) c += a;
    if (!take(c, range)) return false;
    by = 1 / c, least_ = 1;
    for (double& a : alpha)
      if ((a *= by) < least_ && a > 0) least_ = a;
    return true;
  }
  double log_z() const { return log_z_; }

 private:
  static constexpr double kLeastSum = 1e-290, kVanished = 1e-220, kNothing = 1e-20;
  double lost_ = 0, log_z_ = 0;
  double least_ = 1;  // smallest nonzero alpha
};

// Results of a sum-product forward pass for the backward pass, of T tokens.
struct ForwardSums {
  FactorRange range;           // set by the caller
  std::vector<double> scales;  // [T] the scales of alpha
  std::vector<double> beta;    // of the last token, divided by Z
};

// log Z; minus infinity if products underflow or there is no path. forward(t) computes alpha of a token from the previous one,
// end(i) is the factor of the end of the sentence after entry i of the last token.
template <class Forward, class End>
TRELLIS_INLINE double sum_forward(std::size_t T, ForwardSums& sums, Forward forward, End end) {
  Scaling scaling;
  std::span<double> alpha;
  sums.scales.resize(T);
  for (std::size_t t = 0; t < T; ++t)
    if (alpha = forward(t); alpha.empty() || !scaling.scale(alpha, sums.range, sums.scales[t])) return kForbidden<double>;
  double total = 0;
  sums.beta.resize(alpha.size());
  for (std::size_t i = 0; i < alpha.size(); ++i) total += alpha[i] * (sums.beta[i] = end(i));
  if (!scaling.take(total, sums.range)) return kForbidden<double>;
  for (double& beta : sums.beta) beta /= total;
  return scaling.log_z();
}

}  // namespace trellis
