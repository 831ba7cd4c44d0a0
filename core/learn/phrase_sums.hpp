// The log loss of right trees, -log p(right) = log Z - score(right), over the trees that remain of each sentence, and its
// gradient:
//
//   d loss / d w[a, c] = sum over edges e with attribute a and column c of P(e) - (1 if the right tree has e)
//
// Pairs of an attribute and a column have a weight if right trees have them.
#pragma once
#include "learn/example_sums.hpp"
#include "learn/phrases.hpp"

namespace trellis {

class PhraseObjective : public ExampleObjective {
 public:
  // base [n_rules]; all must outlive it.
  PhraseObjective(const PhraseExamples& examples, const RuleColumns& columns, const float* base);

  // Parameters by attributes: those of a are starts()[a] .. starts()[a + 1], each with its column.
  const std::vector<std::uint32_t>& starts() const { return starts_; }
  const std::vector<std::uint32_t>& columns_of() const { return columns_of_; }

 private:
  struct Buffers;
  std::size_t size() const override { return examples_.size(); }
  std::unique_ptr<Scratch> make_scratch() const override;
  double loss_of(std::size_t s, const double* x, Scratch& scratch, const GradientSink& to) const override;

  const PhraseExamples& examples_;
  const RuleColumns& columns_;
  const float* base_;
  std::vector<std::uint32_t> starts_, columns_of_;  // [n_attributes + 1], [n_parameters]
};

}  // namespace trellis
