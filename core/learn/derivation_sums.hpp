// The log loss of right derivations, -log p(right) = log Z - score(right), and its gradient:
//
//   d loss / d w[f] = sum over edges e of (P(e) - how often the right derivation has e) · value of f on e
#pragma once
#include "learn/derivations.hpp"
#include "learn/example_sums.hpp"

namespace trellis {

class DerivationObjective : public ExampleObjective {
 public:
  DerivationObjective(const DerivationExamples& examples, std::size_t n_features) : examples_(examples) { count_shares(n_features); }

 private:
  struct Buffers : Scratch {
    HypergraphWorkspace work;
    std::vector<double> scores, residual;  // [n_edges]
  };
  std::size_t size() const override { return examples_.graphs.size(); }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Buffers>(); }
  double loss_of(std::size_t g, const double* x, Scratch& scratch, const GradientSink& to) const override;

  const DerivationExamples& examples_;
};

}  // namespace trellis
