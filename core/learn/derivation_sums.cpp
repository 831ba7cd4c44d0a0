// The gradient of the log loss of right derivations:
//
//   d loss / d w[f] = sum over edges e of (P(e) - how often the right derivation has e) · value of f on e
#include "learn/derivations.hpp"
#include "learn/example_sums.hpp"

namespace trellis {

std::unique_ptr<Objective> derivation_objective(const DerivationExamples& examples, std::size_t n_features) {
  const std::vector<double> masses = masses_of(Derivations(nullptr, examples), examples.graphs.size());
  return std::make_unique<ExampleObjective>(masses, n_features, [&examples] {
    return [outputs = Derivations(nullptr, examples), residuals = std::vector<double>()](
               std::size_t g, const double* x, const GradientSink& to) mutable {
      outputs.enter(g);
      outputs.score_by(x);
      const double loss = outputs.log_loss(to.wanted() ? &residuals : nullptr);
      for (std::uint32_t e = 0; to.wanted() && e < residuals.size(); ++e)
        outputs.features_of({e}, residuals[e], [&](const Change& change) { to.add(change.row, change.by); });
      return loss;
    };
  });
}

}  // namespace trellis
