// The rule against underflow of sums by scaled products: alpha is made to sum to one at every token, by a scale 1 / c. What
// vanishes on the way is lost for good, so it must never have mattered. With
//
//   lost_t = (lost_{t-1} · most + vanished_t) / c_t,   most what a path can gain at a token at most,
//
// lost_t bounds the share of what was lost in all that there would be, had its paths gained as much as they can ever since. As long
// as that is nothing, sums are right to the last digits; else they are made by logarithms. Where no product can have
// vanished, vanished_t is 0, as in ordinary sentences of any length.
//
// Then betas do not overflow either: alpha · beta is a probability, and with an alpha so small that beta might, something vanished.
#pragma once
#include <span>
#include <vector>

#include "engine/elementary.hpp"
#include "engine/semiring.hpp"

namespace trellis {

// What the factors of a token and of the end can be: at most, and at least if not zero.
struct FactorRange {
  double most = 1, least = 1;
};

class Scaling {
 public:
  // Factors are at most exp(kMostTop), so that what vanishes (below 1e-308) would have been below kVanished.
  static constexpr double kMostTop = 100;

  // c: what sums come to at a token or at the end, by factors within a range. False if they may be wrong by now.
  bool take(double c, const FactorRange& range) {
    if (!(c > kLeastSum)) return false;
    lost_ = (lost_ * range.most + (least_ * range.least > kVanished ? 0 : kVanished)) / c;
    log_z_ += log(c);
    return lost_ < kNothing;
  }
  // The same of alpha at a token, which is made to sum to one by the factor `by`.
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
  double least_ = 1;  // alpha that is not zero
};

// What a forward pass by sums leaves for the way back, of T tokens.
struct ForwardSums {
  FactorRange range;           // set before
  std::vector<double> scales;  // [T] what alpha was multiplied with
  std::vector<double> beta;    // that of the last token, divided by Z
};

// log Z; minus infinity where products vanish or where there is no path. forward(t) makes alpha of a token out of the one before, end(i)
// is the factor of the end of the sentence after entry i of the last token.
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
