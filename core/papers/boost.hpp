// Sequence AdaBoost (Altun, section 3): one feature a round, chosen with its step so that the exponential risk
//
//   R(w) = sum_i weight_i sum over y != gold_i of exp(F(x_i, y) - F(x_i, gold_i)) = sum_i weight_i (1 / p_i - 1)
//
// decreases as far as a bound guarantees. With D(i) = weight_i (1 / p_i - 1) / R and pi_i(y) = p(y | x_i) / (1 - p_i), a
// step w along feature k multiplies R by
//
//   Z(w)    = sum_i D(i) sum_y pi_i(y) exp(w u(y)),    u(y) = Phi_k(x_i, y) - Phi_k(x_i, gold_i)              (6)
//   loose  <= s exp(w L) + (1 - s) exp(w U),           s   = (U - sum_i D(i) E_i[u]) / (U - L)              (7), (8)
//   tight  <= sum_i D(i) (s_i exp(w L_i) + (1 - s_i) exp(w U_i)),    s_i = (U_i - E_i[u]) / (U_i - L_i)   (10), (11)
//
// E_i[u] = (E_p[Phi_k] - Phi_k(gold)) / (1 - p_i) for all features at once, by one forward-backward pass. Where a
// feature cannot occur, u = 0 and nothing changes; so after a round only the sentences in which the chosen feature can occur
// are recomputed, and only features that can occur in these are summed again. Sentences with a negligible weight in
// all sums are deferred: while the longest sentences have all the weight, the short ones wait.
//
// Along one feature the tight bound times R is a sum of exponentials of w (exponential_sum.hpp). Z itself equals that bound for
// sentences in which the count of the feature varies by at most one; the others are recomputed with the step,
// for each w of a line search. Two sums are stored per feature, A = sum_i D(i) s_i |L_i| and
// B = sum_i D(i) (1 - s_i) U_i. They bound the gain of the best step:
// with x the smallest absolute exponent,
//
//   tight(w) - 1 >= (A (exp(-x w) - 1) + B (exp(x w) - 1)) / x >= -(sqrt A - sqrt B)² / x
//
// so only the few features for which the bound is low enough are summed over their sentences and solved for. The loose bound
// needs B - A = sum_i D(i) E_i[u] alone. A and B are updated incrementally, with an allowance for rounding
// errors; decisions use recomputed sums, so the bits are those of a full pass, for any number of threads.
#pragma once
#include <span>
#include <vector>

#include "papers/exponential_sum.hpp"
#include "papers/occurrences.hpp"
#include "learn/sentence_sums.hpp"

namespace trellis {

enum class Bound { loose, tight, exact };

struct Chosen {
  std::int64_t feature = -1;  // -1: no step lowers the risk
  double step = 0;
  double log_bound = 0;       // log of the bound on the factor of the risk
};

struct Touched {
  std::size_t sentences = 0, tokens = 0;  // recomputed
};

class Booster {
 public:
  // All labels must be known. Steps are at most max_step long.
  Booster(const Layout& layout, const Examples& examples, Bound bound, double max_step);

  // A full pass from these parameters. `scale`, a logarithm, is the unit of negligible numbers: NaN for a new one.
  void begin(std::span<const double> parameters, double scale, std::size_t n_threads);
  // The best feature and its step.
  Chosen choose(std::size_t n_threads);
  // Takes a step, and recomputes what it changes.
  Touched step(std::size_t feature, double size, std::size_t n_threads);

  const std::vector<double>& parameters() const { return parameters_; }
  double scale() const { return scale_; }
  double log_risk() const;  // log R; infinite if some gold path is forbidden

 private:
  struct Scratch {
    SentenceSums<double>::Scratch chain;
    Piece piece;
    std::vector<double> residual;
  };
  double run_one(std::size_t s, Scratch& scratch) const;
  void run(std::span<const std::uint32_t> sentences, std::size_t n_threads);
  bool counts(std::size_t s) const;
  void weigh(std::size_t s);
  void rescale(std::size_t n_threads);
  struct Cell {  // contribution of one sentence to the tight bound of one feature: masses at exponents L and U
    double low, high, at_low, at_high;
  };
  Cell cell(std::size_t k, std::size_t cell, std::size_t s) const;
  template <class Visit>
  void each_meeting(std::size_t k, Visit visit) const;
  void tally(std::span<const std::uint32_t> meetings, double sign, std::size_t n_threads);
  void tally_all(std::size_t n_threads);
  double pulled(std::size_t k) const;
  LineStep tight_step(std::size_t k);
  LineStep loose_step(std::size_t k, double drawn, double risk) const;
  LinePoint exact_at(std::size_t k, double w, std::size_t n_threads);

  const Layout layout_;
  const Examples examples_;
  const Bound bound_;
  const double max_step_;
  Occurrences at_;
  SentenceSums<double> sums_;
  std::vector<double> parameters_;
  double scale_ = 0;
  std::vector<double> log_weights_;  // [n_sentences]
  std::vector<double> losses_;       // [n_sentences] when last computed
  std::vector<double> most_;         // [n_sentences] current upper bound of the loss
  std::vector<double> mass_;         // [n_sentences] weight_i (1 / p_i - 1) / exp(scale)
  std::vector<double> pull_;         // [n_sentences] weight_i / p_i / exp(scale)
  std::vector<std::uint8_t> stale_;  // [n_sentences] changed since last computed, and negligible
  std::vector<double> excess_;       // [n_cells] E_p[Phi_k] - Phi_k(gold)
  std::vector<double> down_, up_;     // [n_features] A and B, up to rounding
  std::vector<double> nearest_;       // [n_features] the smallest absolute exponent other than 0
  std::vector<LineStep> steps_;       // [n_features] if solved_: the minimum of the bound less 1, times R, and its step
  std::vector<std::uint8_t> solved_;  // [n_features]
  std::vector<double> coefficients_;  // of the feature being solved for
};

}  // namespace trellis
