// Losses of examples with sparse gradients: summed over all examples, or for stochastic steps.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "learn/objective.hpp"

namespace trellis {

// Receives the gradient of an example, entry by entry; parameters may be repeated.
class GradientSink {
 public:
  using Entries = std::vector<std::pair<std::uint32_t, double>>;

  GradientSink() = default;  // no gradient requested
  GradientSink(std::int64_t* sums, const FixedPoint& fixed, double weight) : sums_(sums), fixed_(fixed), weight_(weight) {}
  GradientSink(Entries* entries, double weight) : entries_(entries), weight_(weight) {}

  bool wanted() const { return sums_ || entries_; }
  TRELLIS_INLINE void add(std::size_t parameter, double amount) const {
    if (sums_) fixed_.add(sums_[parameter], weight_ * amount);
    else entries_->emplace_back(static_cast<std::uint32_t>(parameter), weight_ * amount);
  }

 private:
  std::int64_t* sums_ = nullptr;
  FixedPoint fixed_{0};
  Entries* entries_ = nullptr;
  double weight_ = 1;
};

class ExampleObjective final : public Objective {
 public:
  // The loss of example i by parameters x; writes its gradient to `to`, if requested. Holds the scratch of one thread.
  using LossOf = std::function<double(std::size_t i, const double* x, const GradientSink& to)>;
  ExampleObjective(const std::vector<double>& masses, std::size_t n_parameters, std::function<LossOf()> make_loss)
      : Objective(masses), n_examples_(masses.size()), n_parameters_(n_parameters), make_loss_(std::move(make_loss)) {}

  std::size_t n_parameters() const { return n_parameters_; }
  void evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses, const FixedPoint& fixed,
                std::int64_t* gradient) override;
  void pass(const AdaGrad& rule, std::size_t head, const std::int64_t* order, std::size_t n, const double* weights,
            std::size_t n_threads, double* parameters, double* squares, double* losses) override;

 private:
  void find_shares();

  const std::size_t n_examples_, n_parameters_;
  std::function<LossOf()> make_loss_;
  // [n_parameters] one over the number of occurrences in the gradients of the first head_ examples, for AdaGrad
  std::vector<double> shares_;
  std::size_t head_ = 0;
};

}  // namespace trellis
