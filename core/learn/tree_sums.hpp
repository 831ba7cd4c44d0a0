// The log loss of gold trees, -log p(gold) = log Z - score(gold), and its gradient:
//
//   d loss / d w[f] = sum over parts of (P(part) - whether the right tree has it) · whether f is on the part
//
// Parts are arcs, labelled arcs, and siblings. Attributes of gold parts have weights, concatenated in a vector.
#pragma once
#include "learn/example_sums.hpp"
#include "learn/trees.hpp"

namespace trellis {

// The attributes of all gold parts, and of the filter. Each has one slot per template and value of its measure, which stands
// for a weight, or for one per label.
PlacedWeights right_attributes(const ArcPlan& plan, const TreeExamples& examples);

// Offsets of the weights of every slot of each group, and the total; weights are ordered by group, key and column. The filter
// has no weights: only the presence of its attributes matters.
struct TreeParameters {
  std::vector<std::vector<std::size_t>> first;  // [n_groups] of [n_slots]
  std::size_t total = 0;
  TreeParameters(const ArcPlan& plan, const PlacedWeights& attributes);
};

// All arguments must outlive it.
std::unique_ptr<ExampleObjective> tree_objective(const ArcPlan& plan, const PlacedWeights& attributes, const TreeParameters& parameters,
                                                 const TreeExamples& examples, bool projective);

}  // namespace trellis
