// Derivations of hypergraphs as outputs to learn: features stand on edges, and an output is the list of its edges, with
// their number first. What online learners and Frank-Wolfe ask of a structure (structure.hpp).
#pragma once
#include <algorithm>

#include "engine/hypergraph_kbest.hpp"
#include "learn/structure.hpp"
#include "weights/growing_rows.hpp"
#include "weights/sites.hpp"

namespace trellis {

// Hypergraphs whose edges are sorted by heads, with the features and the right derivation of each.
struct DerivationExamples {
  const Hypergraphs& graphs;
  Sites features;                  // of all edges
  const std::int64_t* right_starts;  // [n + 1]
  const std::int64_t* right;         // edges, numbered within their hypergraph
  const float* costs = nullptr;      // [n_edges], or null: 1 of every edge that is not in the right derivation

  std::span<const std::int64_t> right_of(std::size_t g) const {
    return {right + right_starts[g], static_cast<std::size_t>(right_starts[g + 1] - right_starts[g])};
  }
};

// One weight per feature. A row is the number of a feature, its only place 0.
struct FeatureWeights {
  LearntTable table;

  FeatureWeights(std::size_t n, bool variances) : table(n, variances) {}
  LearntWeight find(std::uint32_t row, std::uint32_t) { return table.at(row); }
  LearntWeight make(std::uint32_t row, std::uint32_t) { return table.at(row); }
  template <class Visit>
  void each_weight(Visit visit) const {
    for (std::uint32_t row = 0; row < table.weights.size(); ++row) visit(row, 0u);
  }
  void changed() {}
  FeatureWeights empty() const { return FeatureWeights(table.weights.size(), false); }
};

class Derivations {
 public:
  // A part of a derivation: an edge.
  struct Part {
    std::uint32_t site;
    bool operator==(const Part&) const = default;
  };

  Derivations(const FeatureWeights& weights, const DerivationExamples& examples) : weights_(weights), examples_(examples) {}

  // score[e] = sum of value · weight over the features of e
  bool load(std::size_t g) {
    enter(g);
    scores_.resize(graph_.n_edges);
    for (std::size_t e = 0; e < graph_.n_edges; ++e) {
      double score = 0;
      examples_.features.each(first_ + e, [&](std::int32_t feature, float value) {
        score += static_cast<double>(value) * weights_.table.weights[static_cast<std::size_t>(feature)];
      });
      scores_[e] = score;
    }
    return true;
  }
  void enter(std::size_t g) {
    for (std::int64_t e : right_) n_right_[static_cast<std::size_t>(e)] = 0;
    graph_ = examples_.graphs[g], first_ = examples_.graphs.first_edge(g), right_ = examples_.right_of(g);
    if (n_right_.size() < graph_.n_edges) n_right_.resize(graph_.n_edges), n_other_.resize(graph_.n_edges);
    for (std::int64_t e : right_) ++n_right_[static_cast<std::size_t>(e)];
  }
  bool possible() const { return true; }
  void get_ready() {}
  bool grows() const { return false; }
  void grow(const std::int32_t*) {}

  std::size_t best(std::size_t k, bool augmented) {
    const double* scores = scores_.data();
    if (augmented) {
      with_costs_.resize(graph_.n_edges);
      for (std::size_t e = 0; e < graph_.n_edges; ++e) with_costs_[e] = scores_[e] + cost_of(e);
      scores = with_costs_.data();
    }
    if (outputs_.size() < k) outputs_.resize(k);
    if (k == 1) {
      best_derivation(graph_, scores, work_, edges_);
      keep(outputs_[0]);
      return 1;
    }
    KBestDerivations derivations(graph_, scores, work_);
    std::size_t n = 0;
    for (; n < k && derivations.find(n + 1); ++n) {
      derivations.edges(n, edges_);
      keep(outputs_[n]);
    }
    return n;
  }
  const std::int32_t* output(std::size_t i) const { return outputs_[i].data(); }

  // Edges that an output has more often than the right derivation.
  std::size_t n_wrong(const std::int32_t* output) {
    std::size_t n = 0;
    for (std::int32_t e : edges_of(output)) n += ++n_other_[static_cast<std::size_t>(e)] > n_right_[static_cast<std::size_t>(e)];
    for (std::int32_t e : edges_of(output)) n_other_[static_cast<std::size_t>(e)] = 0;
    return n;
  }
  double cost(const std::int32_t* output) {
    double total = 0;
    for (std::int32_t e : edges_of(output)) total += cost_of(static_cast<std::size_t>(e));
    return total;
  }
  void collect(const std::int32_t* output, Changes& out) {
    each_difference(output, [&](const Part& part, double amount) { features_of(part, amount, [&](const Change& c) { out.push_back(c); }); });
  }

  double score(const Part& part) const { return scores_[part.site]; }
  template <class Visit>
  void each_difference(const std::int32_t* output, Visit visit) {
    differing_.clear();
    for (std::int32_t e : edges_of(output)) --n_other_[static_cast<std::size_t>(e)], differing_.push_back(e);
    for (std::int64_t e : right_) ++n_other_[static_cast<std::size_t>(e)], differing_.push_back(static_cast<std::int32_t>(e));
    std::sort(differing_.begin(), differing_.end());
    for (std::int32_t e : differing_)
      if (const std::int32_t amount = std::exchange(n_other_[static_cast<std::size_t>(e)], 0))
        visit(Part{static_cast<std::uint32_t>(e)}, static_cast<double>(amount));
  }
  template <class Visit>
  void each_feature(std::span<const Amount<Part>> parts, Visit visit) {
    for (const Amount<Part>& one : parts) features_of(one.part, one.amount, visit);
  }

 private:
  static std::span<const std::int32_t> edges_of(const std::int32_t* output) {
    return {output + 1, static_cast<std::size_t>(output[0])};
  }
  double cost_of(std::size_t e) const { return examples_.costs ? examples_.costs[first_ + e] : n_right_[e] ? 0 : 1; }
  void keep(std::vector<std::int32_t>& output) const {
    output.assign(1, static_cast<std::int32_t>(edges_.size()));
    output.insert(output.end(), edges_.begin(), edges_.end());
  }
  template <class Visit>
  void features_of(const Part& part, double amount, Visit visit) const {
    examples_.features.each(first_ + part.site, [&](std::int32_t feature, float value) {
      visit(Change{static_cast<std::uint32_t>(feature), 0, amount * value});
    });
  }

  const FeatureWeights& weights_;
  const DerivationExamples& examples_;
  HypergraphView graph_{};
  std::size_t first_ = 0;                    // edge of the hypergraph
  std::span<const std::int64_t> right_{};    // the edges of its right derivation
  std::vector<std::int32_t> n_right_, n_other_;  // [n_edges] how often the right derivation has an edge; zero between calls
  std::vector<double> scores_, with_costs_;  // [n_edges]
  std::vector<std::vector<std::int32_t>> outputs_;
  std::vector<std::int32_t> differing_;
  std::vector<std::int64_t> edges_;
  HypergraphWorkspace work_;
};

static_assert(PartStructure<Derivations>);

}  // namespace trellis
