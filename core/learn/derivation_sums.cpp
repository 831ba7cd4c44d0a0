#include "learn/derivation_sums.hpp"

#include <numeric>

namespace trellis {

DerivationObjective::DerivationObjective(const DerivationExamples& examples, std::size_t n_features)
    : examples_(examples), starts_(n_features + 1), shares_(n_features) {
  const std::size_t n_edges = examples.graphs.n_edges();
  const Sites& features = examples.features;
  for (std::size_t e = 0; e < n_edges; ++e)
    features.each(e, [&](std::int32_t f, float) { ++starts_[static_cast<std::size_t>(f) + 1]; });
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  edges_.resize(static_cast<std::size_t>(starts_.back())), values_.resize(edges_.size());
  std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
  for (std::size_t e = 0; e < n_edges; ++e)
    features.each(e, [&](std::int32_t f, float value) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(f)]++);
      edges_[at] = static_cast<std::int64_t>(e), values_[at] = value;
    });
  for (std::size_t f = 0; f < n_features; ++f)
    shares_[f] = starts_[f + 1] > starts_[f] ? 1.0 / static_cast<double>(starts_[f + 1] - starts_[f]) : 0;
}

double DerivationObjective::loss_of(std::size_t g, const double* x, double weight, HypergraphWorkspace& work,
                                    std::vector<double>& scores, double* residual) const {
  const HypergraphView graph = examples_.graphs[g];
  const std::size_t first = examples_.graphs.first_edge(g);
  scores.resize(graph.n_edges);
  for (std::size_t e = 0; e < graph.n_edges; ++e) {
    double score = 0;
    examples_.features.each(first + e, [&](std::int32_t f, float value) { score += static_cast<double>(value) * x[f]; });
    scores[e] = score;
  }
  double loss = sum_derivations(graph, scores.data(), work);
  for (std::int64_t e : examples_.right_of(g)) loss -= scores[static_cast<std::size_t>(e)];
  if (!residual) return loss;
  derivation_marginals(graph, work, residual, nullptr);
  for (std::int64_t e : examples_.right_of(g)) residual[e] -= 1;
  if (weight != 1)
    for (std::size_t e = 0; e < graph.n_edges; ++e) residual[e] *= weight;
  return loss;
}

namespace {
struct DerivationScratch {
  HypergraphWorkspace work;
  std::vector<double> scores;
};
}  // namespace

void DerivationObjective::evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses,
                                   double* gradient) const {
  std::vector<double> residual(gradient ? examples_.graphs.n_edges() : 0);
  parallel_blocks(examples_.graphs.size(), 8, n_threads, [] { return DerivationScratch(); },
                  [&](DerivationScratch& scratch, std::size_t begin, std::size_t end) {
    for (std::size_t g = begin; g < end; ++g)
      losses[g] = loss_of(g, x, weights ? weights[g] : 1, scratch.work, scratch.scores,
                          gradient ? residual.data() + examples_.graphs.first_edge(g) : nullptr);
  });
  if (!gradient) return;
  parallel_blocks(shares_.size(), 4096, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      double total = 0;
      for (auto i = static_cast<std::size_t>(starts_[f]); i < static_cast<std::size_t>(starts_[f + 1]); ++i)
        total += values_[i] * residual[static_cast<std::size_t>(edges_[i])];
      gradient[f] = total;
    }
  });
}

void DerivationObjective::pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights,
                               std::size_t n_threads, double* x, double* squares, double* losses) {
  struct Example {
    DerivationScratch scratch;
    std::vector<double> residual;
  };
  std::vector<Example> batch(std::min(rule.batch, n));
  std::size_t first = 0;
  const auto work = [&](std::size_t i) {
    const auto g = static_cast<std::size_t>(order[first + i]);
    Example& one = batch[i];
    one.residual.resize(examples_.graphs[g].n_edges);
    losses[g] = loss_of(g, x, weights ? weights[g] : 1, one.scratch.work, one.scratch.scores, one.residual.data());
  };
  Rounds::run(std::min(n_threads, batch.size()), work, [&](auto each) {
    SparseSum sum;
    for (; first < n; first += batch.size()) {
      const std::size_t size = std::min(batch.size(), n - first);
      each(size);
      for (std::size_t i = 0; i < size; ++i) {
        // A feature on several edges of an example takes one step, along what all of them give.
        const auto g = static_cast<std::size_t>(order[first + i]);
        const std::size_t first_edge = examples_.graphs.first_edge(g);
        sum.clear();
        for (std::size_t e = 0; e < batch[i].residual.size(); ++e)
          examples_.features.each(first_edge + e, [&](std::int32_t f, float value) {
            sum.add({static_cast<std::uint32_t>(f), 0, value * batch[i].residual[e]});
          });
        for (const Change& change : sum.entries())
          rule.step(x[change.row], squares[change.row], change.by, shares_[change.row]);
      }
    }
  });
}

}  // namespace trellis
