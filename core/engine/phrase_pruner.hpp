// Which symbols are worth looking at over each span of a sentence, by a smaller grammar (cky.hpp).
#pragma once
#include <cmath>

#include "engine/cky.hpp"

namespace trellis {

// A grammar, and a smaller one whose symbols its symbols are cases of; tags are the same in both, in the same order.
struct PhrasePruner {
  const PhraseGrammar &fine, &coarse;
  std::vector<double> factors;         // [coarse rules]
  std::vector<std::int32_t> coarse_of;  // [fine symbols]
  double least;                        // probability by the smaller grammar

  // Probabilities far below `least` change nothing of what remains.
  double negligible() const { return 0.01 * least; }
};

// Scratch of one thread.
class Pruning {
 public:
  explicit Pruning(const PhrasePruner& pruner) : pruner_(pruner), sums_(pruner.coarse, pruner.factors) {}

  // False if the smaller grammar has no tree of the sentence.
  bool run(const WordTags& words) {
    tags_.clear();
    for (const WordTag& one : words.tags) tags_.push_back({pruner_.coarse_of[static_cast<std::size_t>(one.tag)], one.score});
    if (!std::isfinite(sums_.sum({words.starts, tags_}))) return false;
    sums_.find_posteriors(pruner_.negligible());
    sums_.keep(pruner_.least, remaining);
    return true;
  }
  Remaining remaining;

 private:
  const PhrasePruner& pruner_;
  CkySums sums_;
  std::vector<WordTag> tags_;
};

}  // namespace trellis
