#include "learn/phrase_sums.hpp"

#include <algorithm>

namespace trellis {

struct PhraseObjective::Buffers : Scratch {
  Remaining remaining;
  PhraseForest forest;
  PhraseScores<double> scores_of;
  HypergraphWorkspace work;
  std::vector<double> scores, shares;  // [n_edges]

  explicit Buffers(const PhraseObjective& of) : forest(of.examples_.pruner.fine, of.examples_.pruner.coarse_of), scores_of(of.columns_) {}
};

PhraseObjective::PhraseObjective(const PhraseExamples& examples, const RuleColumns& columns, const float* base)
    : examples_(examples), columns_(columns), base_(base) {
  std::vector<std::uint64_t> pairs;
  Buffers work(*this);
  for (std::size_t s = 0; s < examples.size(); ++s) {
    examples.build(s, work.remaining, work.forest);
    const PhraseSites at = examples.sites_of(s, work.forest);
    for (const ForestEdge& edge : examples.right_of(s)) {
      const auto add = [&](std::size_t site) {
        at.sites.each(site, [&](std::int32_t a, float) {
          columns.each(edge.rule, [&](std::int32_t c) { pairs.push_back(static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(c)); });
        });
      };
      add(at.first_span + work.forest.span_of(static_cast<std::size_t>(work.forest.find(edge))));
      if (edge.split) add(at.first_split + static_cast<std::size_t>(edge.split));
    }
    if (s % 256 == 255 || s + 1 == examples.size()) {
      std::sort(pairs.begin(), pairs.end());
      pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    }
  }
  starts_.assign(static_cast<std::size_t>(examples.vocabulary->n_attributes()) + 1, 0);
  for (std::uint64_t pair : pairs) ++starts_[(pair >> 32) + 1], columns_of_.push_back(static_cast<std::uint32_t>(pair));
  for (std::size_t a = 1; a < starts_.size(); ++a) starts_[a] += starts_[a - 1];
  count_shares(pairs.size());
}

std::unique_ptr<ExampleObjective::Scratch> PhraseObjective::make_scratch() const { return std::make_unique<Buffers>(*this); }

double PhraseObjective::loss_of(std::size_t s, const double* x, Scratch& scratch, const GradientSink& to) const {
  auto& work = static_cast<Buffers&>(scratch);
  examples_.build(s, work.remaining, work.forest);
  const PhraseSites at = examples_.sites_of(s, work.forest);
  const HypergraphView graph = work.forest.view();
  work.scores.resize(graph.n_edges), work.shares.resize(graph.n_edges);
  work.scores_of.score(work.forest, Rows<std::uint32_t, double>{starts_.data(), columns_of_.data(), x}, at, base_, work.scores.data());
  double loss = sum_derivations(graph, work.scores.data(), work.work);
  if (to.wanted()) derivation_marginals(graph, work.work, work.shares.data(), nullptr);
  for (const ForestEdge& edge : examples_.right_of(s)) {
    const auto e = static_cast<std::size_t>(work.forest.find(edge));
    loss -= work.scores[e], work.shares[e] -= 1;
  }
  if (!to.wanted()) return loss;
  work.scores_of.hand_back(work.forest, at, work.shares.data(), [&](std::int32_t a, float value, auto amount_of) {
    for (std::size_t p = starts_[static_cast<std::size_t>(a)]; p < starts_[static_cast<std::size_t>(a) + 1]; ++p)
      if (const double amount = amount_of(columns_of_[p])) to.add(p, static_cast<double>(value) * amount);
  });
  return loss;
}

}  // namespace trellis
