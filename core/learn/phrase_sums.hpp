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

// The parameters, by attributes: those of a are starts[a] .. starts[a + 1], each with its column.
struct PhraseParameters {
  std::vector<std::uint32_t> starts{0}, columns;  // [n_attributes + 1], [n_parameters]

  PhraseParameters(const PhraseExamples& examples, const RuleColumns& columns);
};

// base [n_rules]; all must outlive it.
std::unique_ptr<Objective> phrase_objective(const PhraseExamples& examples, const RuleColumns& columns, const float* base,
                                            const PhraseParameters& parameters);

}  // namespace trellis
