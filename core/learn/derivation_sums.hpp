// The log loss of right derivations, -log p(right) = log Z - score(right), and its gradient:
//
//   d loss / d w[f] = sum over edges e of (P(e) - how often the right derivation has e) · value of f on e
#pragma once
#include "learn/derivations.hpp"
#include "learn/objective.hpp"

namespace trellis {

class DerivationObjective : public Objective {
 public:
  DerivationObjective(const DerivationExamples& examples, std::size_t n_features);

  void losses(const double* parameters, std::size_t n_threads, double* losses) override {
    evaluate(parameters, nullptr, n_threads, losses, nullptr);
  }
  void gradient(const double* parameters, const double* weights, std::size_t n_threads, double* losses,
                double* gradient) override {
    evaluate(parameters, weights, n_threads, losses, gradient);
  }
  void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, std::size_t n_threads,
            double* parameters, double* squares, double* losses) override;

 private:
  void evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses, double* gradient) const;
  // Loss of example g, and with `residual` [its edges] P(e) less right, times `weight`.
  double loss_of(std::size_t g, const double* x, double weight, HypergraphWorkspace& work, std::vector<double>& scores,
                 double* residual) const;

  const DerivationExamples& examples_;
  // The edges of every feature, with its values: the gradient is summed feature by feature, in a fixed order.
  std::vector<std::int64_t> starts_;  // [n_features + 1]
  std::vector<std::int64_t> edges_;
  std::vector<float> values_;
  std::vector<double> shares_;  // [n_features] one over the number of edges that it is on
};

}  // namespace trellis
