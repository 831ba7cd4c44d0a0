// Losses of examples whose gradients are sparse: summed over all of them, or stepped along example by example.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "learn/objective.hpp"

namespace trellis {

// What takes the gradient of an example, amount by amount; the same parameter may come more than once.
class GradientSink {
 public:
  using Entries = std::vector<std::pair<std::uint32_t, double>>;

  GradientSink() = default;  // none is wanted
  GradientSink(double* sums, double weight) : sums_(sums), weight_(weight) {}
  GradientSink(Entries* entries, double weight) : entries_(entries), weight_(weight) {}

  bool wanted() const { return sums_ || entries_; }
  TRELLIS_INLINE void add(std::size_t parameter, double amount) const {
    if (sums_) sums_[parameter] += weight_ * amount;
    else entries_->emplace_back(static_cast<std::uint32_t>(parameter), weight_ * amount);
  }

 private:
  double* sums_ = nullptr;
  Entries* entries_ = nullptr;
  double weight_ = 1;
};

class ExampleObjective final : public Objective {
 public:
  // The loss of example i by parameters x; its gradient goes into `to`, if it is wanted. Keeps the scratch of one thread.
  using LossOf = std::function<double(std::size_t i, const double* x, const GradientSink& to)>;
  ExampleObjective(std::size_t n_examples, std::size_t n_parameters, std::function<LossOf()> make_loss);

  std::size_t n_parameters() const { return shares_.size(); }
  void evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses, double* gradient) override;
  void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, std::size_t n_threads,
            double* parameters, double* squares, double* losses) override;

 private:
  std::size_t n_examples_;
  std::function<LossOf()> make_loss_;
  std::vector<double> shares_;  // [n_parameters] one over the number of times that each is in a gradient, as AdaGrad takes them
};

}  // namespace trellis
