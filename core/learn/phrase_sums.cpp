#include "learn/phrase_sums.hpp"

#include <algorithm>

namespace trellis {

PhraseParameters::PhraseParameters(const PhraseExamples& examples, const RuleColumns& of_rules) {
  std::vector<std::uint64_t> pairs;
  Remaining remaining;
  PhraseForest forest(examples.pruner.fine, examples.pruner.coarse_of);
  for (std::size_t s = 0; s < examples.size(); ++s) {
    examples.build(s, remaining, forest);
    const PhraseSites at = examples.sites_of(s, forest);
    for (const ForestEdge& edge : examples.right_of(s))
      each_site(forest, at, static_cast<std::size_t>(forest.find(edge)), [&](std::size_t site) {
        at.sites.each(site, [&](std::int32_t a, float) {
          of_rules.each(edge.rule, [&](std::int32_t c) {
            pairs.push_back(static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(c));
          });
        });
      });
    if (s % 256 == 255 || s + 1 == examples.size()) {
      std::sort(pairs.begin(), pairs.end());
      pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    }
  }
  starts.assign(static_cast<std::size_t>(examples.vocabulary.first_numbers().back()) + 1, 0);
  for (std::uint64_t pair : pairs) ++starts[(pair >> 32) + 1], columns.push_back(static_cast<std::uint32_t>(pair));
  for (std::size_t a = 1; a < starts.size(); ++a) starts[a] += starts[a - 1];
}

std::unique_ptr<Objective> phrase_objective(const PhraseExamples& examples, const RuleColumns& columns, const float* base,
                                            const PhraseParameters& parameters) {
  struct Work {
    Remaining remaining;
    PhraseForest forest;
    PhraseScores<double> scores_of;
    HypergraphWorkspace sums;
    std::vector<double> scores, shares;  // [n_edges]
  };
  const auto make_loss = [&examples, &columns, base, &parameters] {
    const PhrasePruner& pruner = examples.pruner;
    const auto work = std::make_shared<Work>(Work{{}, {pruner.fine, pruner.coarse_of}, PhraseScores<double>(columns), {}, {}, {}});
    return [&examples, base, &parameters, work](std::size_t s, const double* x, const GradientSink& to) {
      auto& [remaining, forest, scores_of, sums, scores, shares] = *work;
      examples.build(s, remaining, forest);
      const PhraseSites at = examples.sites_of(s, forest);
      const HypergraphView graph = forest.view();
      scores.resize(graph.n_edges), shares.resize(graph.n_edges);
      const Rows<std::uint32_t, double> rows{parameters.starts.data(), parameters.columns.data(), x};
      scores_of.score(forest, rows, at, base, scores.data());
      double loss = sum_derivations(graph, scores.data(), sums);
      if (to.wanted()) derivation_marginals(graph, sums, shares.data(), nullptr);
      for (const ForestEdge& edge : examples.right_of(s)) {
        const auto e = static_cast<std::size_t>(forest.find(edge));
        loss -= scores[e], shares[e] -= 1;
      }
      if (!to.wanted()) return loss;
      scores_of.hand_back(forest, at, shares.data(), [&](std::int32_t a, float value, auto amount_of) {
        const std::uint32_t* starts = parameters.starts.data() + a;
        for (std::size_t p = starts[0]; p < starts[1]; ++p)
          if (const double amount = amount_of(parameters.columns[p])) to.add(p, static_cast<double>(value) * amount);
      });
      return loss;
    };
  };
  return std::make_unique<ExampleObjective>(examples.size(), parameters.columns.size(), make_loss);
}

}  // namespace trellis
