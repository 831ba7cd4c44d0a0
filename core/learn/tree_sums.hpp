// The log loss of gold trees, -log p(gold) = log Z - score(gold), and its gradient:
//
//   d loss / d w[f] = sum over parts of (P(part) - whether the right tree has it) · whether f is on the part
//
// Parts are arcs, labelled arcs, and siblings. Attributes of gold parts have weights, concatenated in a vector.
#pragma once
#include "learn/example_sums.hpp"
#include "learn/trees.hpp"

namespace trellis {

// Offsets of the weights of each template, and the total: [n_templates + 1]. Attributes of the filter have no weights: only
// their presence matters.
std::vector<std::size_t> first_weights(const ArcPlan& plan, const GrowingPlaces& attributes);

// Attributes of all gold parts, and of the filter.
void add_right_attributes(const ArcPlan& plan, const TreeExamples& examples, GrowingPlaces& to);

// All arguments must outlive it.
std::unique_ptr<ExampleObjective> tree_objective(const ArcPlan& plan, const GrowingPlaces& attributes,
                                                 const TreeExamples& examples, bool projective);

}  // namespace trellis
