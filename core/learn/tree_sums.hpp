// The log loss of right trees, -log p(right) = log Z - score(right), and its gradient:
//
//   d loss / d w[f] = sum over parts of (P(part) - whether the right tree has it) · whether f is on the part
//
// Parts are arcs, arcs with a label, and siblings. Attributes of right parts have weights, one after the other in a vector.
#pragma once
#include "learn/example_sums.hpp"
#include "learn/trees.hpp"

namespace trellis {

// Where the weights of each template begin, and their number: [n_templates + 1]. Attributes of the filter have none: that they
// are there is all that matters.
std::vector<std::size_t> first_weights(const ArcPlan& plan, const GrowingPlaces& attributes);

// Attributes of all right parts, and of the filter.
void add_right_attributes(const ArcPlan& plan, const TreeExamples& examples, GrowingPlaces& to);

// All must outlive it.
std::unique_ptr<ExampleObjective> tree_objective(const ArcPlan& plan, const GrowingPlaces& attributes,
                                                 const TreeExamples& examples, bool projective);

}  // namespace trellis
