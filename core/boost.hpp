// Sequence AdaBoost (Altun, section 3): one feature a round, chosen with its step so that the exponential risk
//
//   R(w) = sum_i weight_i sum over y != gold_i of exp(F(x_i, y) - F(x_i, gold_i)) = sum_i weight_i (1 / p_i - 1)
//
// falls as far as a bound on it shows. With D(i) = weight_i (1 / p_i - 1) / R and pi_i(y) = p(y | x_i) / (1 - p_i), a
// step w along feature k multiplies R by
//
//   Z(w)    = sum_i D(i) sum_y pi_i(y) exp(w u(y)),    u(y) = Phi_k(x_i, y) - Phi_k(x_i, gold_i)              (6)
//   loose  <= s exp(w L) + (1 - s) exp(w U),           s   = (U - sum_i D(i) E_i[u]) / (U - L)              (7), (8)
//   tight  <= sum_i D(i) (s_i exp(w L_i) + (1 - s_i) exp(w U_i)),    s_i = (U_i - E_i[u]) / (U_i - L_i)   (10), (11)
//
// E_i[u] = (E_p[Phi_k] - Phi_k(gold)) / (1 - p_i) for all features at once, by one forward-backward pass. Where a
// feature cannot occur, u = 0 and nothing changes; so after a round only the sentences that the chosen feature can occur
// in are run again, and only the features that can occur in those are summed again.
//
// Along one feature, Z and the tight bound times R are sums of exponentials of w (exponential_sum.hpp): what is kept of
// a feature are its coefficients. They are sums over fixed blocks of sentences, of which only those that changed are
// summed again, so that the bits are those of a full pass, whatever the number of threads.
#pragma once
#include <span>
#include <vector>

#include "accumulators.hpp"
#include "exponential_sum.hpp"
#include "occurrences.hpp"
#include "sentence_sums.hpp"

namespace trellis {

enum class Bound { loose, tight, exact };

struct Chosen {
  std::int64_t feature = -1;  // -1: no step of any feature lowers the risk
  double step = 0;
  double log_bound = 0;       // log of what the risk is multiplied by at most
};

struct Touched {
  std::size_t sentences = 0, tokens = 0, features = 0;  // run again; summed again
};

class Booster {
 public:
  // weights: how much each sentence counts, or null. No step is longer than max_step.
  Booster(const Layout& layout, const ChainData& data, const std::int64_t* starts, std::size_t n_sentences,
          const std::int32_t* gold, const double* weights, Bound bound, double max_step);

  // A full pass from these parameters. `scale`, a logarithm, is what small numbers are measured by: NaN for a new one.
  void begin(std::span<const double> parameters, double scale, std::size_t n_threads);
  // The best feature and its step.
  Chosen choose(std::size_t n_threads);
  // Take a step, and run again what it changes.
  Touched step(std::size_t feature, double size, std::size_t n_threads);

  const std::vector<double>& parameters() const { return sums_.parameters(); }
  double scale() const { return scale_; }
  double log_risk() const;                                      // log R; infinite if some gold path is forbidden
  const std::vector<double>& losses() const { return losses_; }  // [n_sentences] -log p_i

  // What is known of one feature: every sentence it can occur in, with L_i, U_i and s_i.
  struct Meeting {
    std::size_t sentence;
    double low, high, s;
  };
  std::vector<Meeting> meetings(std::size_t feature) const;
  struct Range {
    double low, high, s;
  };
  Range range(std::size_t feature) const;  // L, U and s over all sentences
  // The bounds and the truth: what a step multiplies R by.
  double loose_bound(std::size_t feature, double step) const;
  double tight_bound(std::size_t feature, double step) const;
  double exact(std::size_t feature, double step, std::size_t n_threads) const;
  Step exact_step(std::size_t feature, std::size_t n_threads) const;

 private:
  struct Unit {  // some features of a group, summed by one thread
    std::uint32_t group, first, last;
  };
  struct Exponents {  // Z along one feature, summed over sentences; empty if it could not be
    std::vector<double> values, coefficients;
  };
  void lay_out_blocks();
  void run(std::span<const std::uint32_t> sentences, std::size_t n_threads);
  void weigh(std::size_t s);
  void sum_dirty(std::size_t n_threads);
  void sum_unit(const Unit& unit);
  void sum_block(const Unit& unit, std::size_t block);
  void mark(std::size_t s);
  void mark_all();
  double total() const;
  ExponentialSum tight_sum(std::size_t k) const;
  Step loose_step(std::size_t k) const;
  Chosen choose_loose(std::size_t n_threads);
  Chosen choose_tight();
  Counted counted(std::size_t k, std::size_t s) const;
  Exponents exact_sum(std::size_t k, std::size_t n_threads) const;

  const Layout layout_;
  const ChainData data_;
  const std::int64_t* starts_;
  const std::size_t n_sentences_;
  const std::int32_t* gold_;
  const double* weights_;
  const Bound bound_;
  const double max_step_;
  Occurrences at_;
  SentenceSums sums_;
  double scale_ = 0;
  std::vector<double> losses_;      // [n_sentences]
  std::vector<double> mass_;        // [n_sentences] weight_i (1 / p_i - 1) / exp(scale)
  std::vector<double> pull_;        // [n_sentences] weight_i / p_i / exp(scale)
  std::vector<double> excess_;      // [n_cells] E_p[Phi_k] - Phi_k(gold)
  // Coefficients: of feature k from coefficient_starts_[k]; of group g's block b at block_starts_[g] + b · its width.
  std::vector<std::size_t> coefficient_starts_, block_starts_, block_sizes_, first_blocks_;
  std::vector<double> coefficients_, block_coefficients_;
  std::vector<std::uint8_t> dirty_blocks_, dirty_groups_;
  std::vector<Unit> units_;
  std::vector<double> gains_;         // [n_features] at most so much below 0; if solved_, the least itself
  std::vector<double> steps_;         // [n_features]
  std::vector<std::uint8_t> solved_;  // [n_features]
};

}  // namespace trellis
