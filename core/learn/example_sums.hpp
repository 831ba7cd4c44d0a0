// Losses of examples whose gradients are sparse: summed over all of them, or stepped along example by example.
#pragma once
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

class ExampleObjective : public Objective {
 public:
  std::size_t n_parameters() const { return shares_.size(); }

  void losses(const double* parameters, std::size_t n_threads, double* losses) override {
    evaluate(parameters, nullptr, n_threads, losses, nullptr);
  }
  void gradient(const double* parameters, const double* weights, std::size_t n_threads, double* losses, double* gradient) override {
    evaluate(parameters, weights, n_threads, losses, gradient);
  }
  void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, std::size_t n_threads,
            double* parameters, double* squares, double* losses) override;

 protected:
  // What one thread needs.
  struct Scratch {
    virtual ~Scratch() = default;
  };
  virtual std::size_t size() const = 0;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  // The loss of example i by parameters x; its gradient goes into `to`, if it is wanted.
  virtual double loss_of(std::size_t i, const double* x, Scratch& scratch, const GradientSink& to) const = 0;

  // In the constructor, once the rest is there.
  void count_shares(std::size_t n_parameters);

 private:
  void evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses, double* gradient) const;

  std::vector<double> shares_;  // [n_parameters] one over the number of times that each is in a gradient, as AdaGrad takes them
};

}  // namespace trellis
