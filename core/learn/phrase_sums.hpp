// The log loss of right trees, -log p(right) = log Z - score(right), over the trees that remain of each sentence, and its
// gradient:
//
//   d loss / d w[a, c] = sum over edges e with attribute a and column c of P(e) - (1 if the right tree has e)
//
// Pairs of an attribute and a column have a weight if right trees have them.
#pragma once
#include "learn/objective.hpp"
#include "learn/phrases.hpp"

namespace trellis {

class PhraseObjective : public Objective {
 public:
  // base [n_rules]; all must outlive it.
  PhraseObjective(const PhraseExamples& examples, const RuleColumns& columns, const float* base);

  std::size_t n_parameters() const { return columns_of_.size(); }
  // Parameters by attributes: those of a are starts()[a] .. starts()[a + 1], each with its column.
  const std::vector<std::uint32_t>& starts() const { return starts_; }
  const std::vector<std::uint32_t>& columns_of() const { return columns_of_; }

  void losses(const double* parameters, std::size_t n_threads, double* losses) override {
    evaluate(parameters, nullptr, n_threads, losses, nullptr);
  }
  void gradient(const double* parameters, const double* weights, std::size_t n_threads, double* losses, double* gradient) override {
    evaluate(parameters, weights, n_threads, losses, gradient);
  }
  void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, std::size_t n_threads,
            double* parameters, double* squares, double* losses) override;

 private:
  struct Scratch;
  // Loss of sentence s by parameters x; calls add(parameter, amount) for its gradient.
  template <class Add>
  double loss_of(std::size_t s, const double* x, Scratch& work, Add add) const;
  void evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses, double* gradient) const;

  const PhraseExamples& examples_;
  const RuleColumns& columns_;
  const float* base_;
  std::vector<std::uint32_t> starts_, columns_of_;  // [n_attributes + 1], [n_parameters]
  std::vector<double> shares_;                      // [n_parameters] one over the number of sites that each is on
};

}  // namespace trellis
