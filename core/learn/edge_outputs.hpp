// Derivations of a hypergraph as outputs to learn, for any edge scorer: margins and the log loss.
#pragma once
#include <algorithm>
#include <utility>

#include "engine/hypergraph_passes.hpp"
#include "learn/structure.hpp"

namespace trellis {

// Base class of structures over hypergraphs, for any edge scorer: an output is the list of its edges, with their number
// first. The derived class Own provides scores_ and features_of(part, amount, visit), which
// calls visit(change) for the features of an edge.
template <class Own>
class EdgeOutputs {
 public:
  // A part of a derivation: an edge.
  struct Part {
    std::uint32_t site;
    bool operator==(const Part&) const = default;
  };

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
  const std::vector<std::int64_t>& right() const { return right_; }
  bool possible() const { return true; }
  void get_ready() {}
  bool grows() const { return false; }
  void grow(const std::int32_t*) {}

  // Number of edges that an output has more often than the gold derivation.
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
  void collect(const std::int32_t* output, Changes& out) {
    each_difference(output, [&](const Part& part, double amount) { own().features_of(part, amount, [&](const Change& c) { out.push_back(c); }); });
  }
  template <class Visit>
  void each_feature(std::span<const Amount<Part>> parts, Visit visit) {
    for (const Amount<Part>& one : parts) own().features_of(one.part, one.amount, visit);
  }

  // The log loss of the gold derivation by scores_, -log p(gold) = log Z - score(gold). Unless null, residuals
  // become [n_edges] P(e) - number of times the gold derivation has e.
  double log_loss(std::vector<double>* residuals) {
    double loss = sum_derivations(graph_, scores_.data(), work_);
    for (std::int64_t e : right_) loss -= scores_[static_cast<std::size_t>(e)];
    if (!residuals) return loss;
    residuals->resize(graph_.n_edges);
    derivation_marginals(graph_, work_, residuals->data(), nullptr);
    for (std::int64_t e : right_) (*residuals)[static_cast<std::size_t>(e)] -= 1;
    return loss;
  }

  // The maximum over derivations of the sum of absolute feature values:
  //   most[v] = max over edges e into v of (features of e + sum over tails u of e of most[u])
  double most_features() {
    std::vector<double> most(graph_.n_nodes);
    for (std::size_t v = 0; v < graph_.n_nodes; ++v)
      for (auto e = static_cast<std::size_t>(graph_.in_starts[v]); e < static_cast<std::size_t>(graph_.in_starts[v + 1]); ++e) {
        double sum = 0;
        own().features_of({static_cast<std::uint32_t>(e)}, 1, [&](const Change& change) { sum += std::abs(change.by); });
        for (const std::int32_t tail : graph_.tails_of(e)) sum += most[static_cast<std::size_t>(tail)];
        most[v] = std::max(most[v], sum);
      }
    return graph_.n_edges ? most[graph_.goal] : 0;
  }

 protected:
  // A hypergraph with its gold derivation; costs [n_edges], null: 1 for every edge outside the gold derivation.
  void set(const HypergraphView& graph, std::span<const std::int64_t> right, const float* costs) {
    for (std::int64_t e : right_) n_right_[static_cast<std::size_t>(e)] = 0;
    graph_ = graph, costs_ = costs;
    right_.assign(right.begin(), right.end());
    if (n_right_.size() < graph_.n_edges) n_right_.resize(graph_.n_edges), n_other_.resize(graph_.n_edges);
    for (std::int64_t e : right_) ++n_right_[static_cast<std::size_t>(e)];
    scores_.resize(graph_.n_edges);
  }

  HypergraphView graph_{};
  std::vector<std::int64_t> right_;   // the edges of the gold derivation
  std::vector<double> scores_;        // [n_edges]
  HypergraphWorkspace work_;

 private:
  const Own& own() const { return static_cast<const Own&>(*this); }
  static std::span<const std::int32_t> edges_of(const std::int32_t* output) {
    return {output + 1, static_cast<std::size_t>(output[0])};
  }
  double cost_of(std::size_t e) const { return costs_ ? costs_[e] : n_right_[e] ? 0 : 1; }
  void keep(std::vector<std::int32_t>& output) const {
    output.assign(1, static_cast<std::int32_t>(edges_.size()));
    output.insert(output.end(), edges_.begin(), edges_.end());
  }

  const float* costs_ = nullptr;
  std::vector<std::int32_t> n_right_, n_other_;  // [n_edges] how often a derivation has each edge; zero between calls
  std::vector<double> with_costs_;               // [n_edges]
  std::vector<std::vector<std::int32_t>> outputs_;
  std::vector<std::int32_t> differing_;
  std::vector<std::int64_t> edges_;
};

// The bound on feature sums of the derivations of each example, for Objective.
template <class Outputs>
std::vector<double> masses_of(Outputs outputs, std::size_t n_examples) {
  std::vector<double> masses;
  for (std::size_t i = 0; i < n_examples; ++i) outputs.enter(i), masses.push_back(outputs.most_features());
  return masses;
}

}  // namespace trellis
