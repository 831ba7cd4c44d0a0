// The gradient of the log loss of right trees:
//
//   d loss / d w[a, c] = sum over edges e with attribute a and column c of P(e) - (1 if the right tree has e)
#include <algorithm>

#include "learn/example_sums.hpp"
#include "learn/phrases.hpp"

namespace trellis {

PhraseParameters::PhraseParameters(const PhraseExamples& examples, const RuleColumns& of_rules) {
  std::vector<std::uint64_t> pairs;
  PhraseTrees trees(nullptr, examples, of_rules, nullptr);
  for (std::size_t s = 0; s < examples.size(); ++s) {
    trees.enter(s);
    for (const std::int64_t e : trees.right())
      trees.features_of({static_cast<std::uint32_t>(e)}, 1, [&](const Change& change) { pairs.push_back(change.key()); });
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
  const std::vector<double> masses = masses_of(PhraseTrees(nullptr, examples, columns, base), examples.size());
  return std::make_unique<ExampleObjective>(masses, parameters.columns.size(), [&examples, &columns, base, &parameters] {
    return [trees = PhraseTrees(nullptr, examples, columns, base), sums = PhraseScores<double>(columns),
            residuals = std::vector<double>(), &parameters](std::size_t s, const double* x, const GradientSink& to) mutable {
      trees.enter(s);
      trees.score_by(Rows<std::uint32_t, double>{parameters.starts.data(), parameters.columns.data(), x}, sums);
      const double loss = trees.log_loss(to.wanted() ? &residuals : nullptr);
      if (!to.wanted()) return loss;
      trees.hand_back(residuals, sums, [&](std::int32_t a, float value, auto amount_of) {
        const std::uint32_t* starts = parameters.starts.data() + a;
        for (std::size_t p = starts[0]; p < starts[1]; ++p)
          if (const double amount = amount_of(parameters.columns[p])) to.add(p, static_cast<double>(value) * amount);
      });
      return loss;
    };
  });
}

}  // namespace trellis
