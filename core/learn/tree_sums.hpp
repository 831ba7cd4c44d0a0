// The log loss of right trees, -log p(right) = log Z - score(right), and its gradient:
//
//   d loss / d w[f] = sum over parts of (P(part) - whether the right tree has it) · whether f is on the part
//
// Parts are arcs, arcs with a label, and siblings. Attributes of right parts have weights, one after the other in a vector.
#pragma once
#include "learn/example_sums.hpp"
#include "learn/trees.hpp"

namespace trellis {

// Attributes with their places in a vector: attribute i of template t has x[first[t] + i · columns[t] ...]. The filter's, whose
// template is the last one, have no weights: where they are only matters, not what they have.
struct FixedPlaces {
  const GrowingPlaces& attributes;
  std::vector<std::size_t> first{0};  // [n_templates + 1]
  std::size_t n_weights;
  const double* x = nullptr;

  FixedPlaces(const GrowingPlaces& attributes, const ArcPlan& plan);
  std::int32_t fold(std::int32_t f, std::uint64_t key) const { return attributes.fold(f, key); }
  void prefetch(std::size_t t, std::uint64_t key) const { attributes.prefetch(t, key); }
  const double* row(std::size_t t, std::uint64_t key) const {
    const std::int32_t id = attributes.tables()[t].find(key);
    if (id < 0) return nullptr;
    return first[t] < n_weights ? x + first[t] + static_cast<std::size_t>(id) * attributes.columns()[t] : x;
  }
};

// Attributes of all right parts, and of the filter.
void add_right_attributes(const ArcPlan& plan, const TreeExamples& examples, GrowingPlaces& to);

// All must outlive it.
std::unique_ptr<ExampleObjective> tree_objective(const ArcPlan& plan, const GrowingPlaces& attributes,
                                                 const TreeExamples& examples, bool projective);

}  // namespace trellis
