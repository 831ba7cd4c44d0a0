// Derivations of hypergraphs as outputs to learn: features are on edges. The interface for online learners and Frank-Wolfe
// is in structure.hpp.
#pragma once
#include <algorithm>
#include <memory>

#include "learn/edge_outputs.hpp"
#include "weights/growing_rows.hpp"
#include "weights/sites.hpp"

namespace trellis {

// Hypergraphs with edges sorted by head, with features and the gold derivation of each.
struct DerivationExamples {
  const Hypergraphs& graphs;
  Sites features;                  // of all edges
  const std::int64_t* right_starts;  // [n + 1]
  const std::int64_t* right;         // edges, numbered within their hypergraph
  const float* costs = nullptr;      // [n_edges], or null: 1 for every edge outside the gold derivation

  std::span<const std::int64_t> right_of(std::size_t g) const {
    return {right + right_starts[g], static_cast<std::size_t>(right_starts[g + 1] - right_starts[g])};
  }
};

// One weight per feature. A row is the index of a feature, its only place is 0.
struct FeatureWeights {
  LearntTable table;

  FeatureWeights(std::size_t n, bool variances) : table(n, variances) {}
  LearntWeight find(std::uint32_t row, std::uint32_t) { return table.at(row); }
  LearntWeight make(std::uint32_t row, std::uint32_t) { return table.at(row); }
  template <class Visit>
  void each_weight(Visit visit) const {
    for (std::uint32_t row = 0; row < table.weights.size(); ++row) visit(row, 0u);
  }
  FeatureWeights empty() const { return FeatureWeights(table.weights.size(), false); }
};

class Derivations : public EdgeOutputs<Derivations> {
 public:
  // Weights null: nothing is loaded, and score_by() gets other weights.
  Derivations(const FeatureWeights* weights, const DerivationExamples& examples) : weights_(weights), examples_(examples) {}

  bool load(std::size_t g) {
    enter(g);
    score_by(weights_->table.weights.data());
    return true;
  }
  // score[e] = sum of value · weight over the features of e
  template <class Real>
  void score_by(const Real* weights) {
    for (std::size_t e = 0; e < graph_.n_edges; ++e) {
      double score = 0;
      examples_.features.each(first_ + e, [&](std::int32_t feature, float value) {
        score += static_cast<double>(value) * weights[feature];
      });
      scores_[e] = score;
    }
  }
  void enter(std::size_t g) {
    first_ = examples_.graphs.first_edge(g);
    set(examples_.graphs[g], examples_.right_of(g), examples_.costs ? examples_.costs + first_ : nullptr);
  }
  template <class Visit>
  void features_of(const Part& part, double amount, Visit visit) const {
    examples_.features.each(first_ + part.site, [&](std::int32_t feature, float value) {
      visit(Change{static_cast<std::uint32_t>(feature), 0, amount * value});
    });
  }

 private:
  const FeatureWeights* weights_;
  const DerivationExamples& examples_;
  std::size_t first_ = 0;  // edge of the hypergraph
};

static_assert(PartStructure<Derivations>);

// Log losses of the gold derivations; the examples must outlive it.
class Objective;
std::unique_ptr<Objective> derivation_objective(const DerivationExamples& examples, std::size_t n_features);

}  // namespace trellis
