#include "learn/margin_loss.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace trellis {
namespace {

// w · (Phi(gold) - Phi(path)), in double: only where the two differ.
double lead(const ChainView<float>& chain, int order, const std::int32_t* gold, const std::int32_t* path) {
  double total = 0;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const Part right = part_at(gold, t, chain.n_labels), wrong = part_at(path, t, chain.n_labels);
    if (right.differs(wrong, order)) total += potential(chain, order, right) - potential(chain, order, wrong);
  }
  return total;
}

// The best wrong path, if there is any: the best, or the second where the best is the gold one.
const std::int32_t* best_wrong(const ChainView<float>& chain, const std::int32_t* gold, MarginScratch& scratch) {
  const std::size_t n = chain.n_tokens;
  std::int32_t* paths = scratch.paths.data();
  best_path(chain, scratch.viterbi, paths);
  if (!std::equal(gold, gold + n, paths)) return paths;
  float scores[2];
  return k_best(chain, 2, scratch.kbest, paths, scores) == 2 ? paths + n : nullptr;
}

// The best path by score + cost.
const std::int32_t* best_augmented(ChainView<float> chain, const Margin& margin, const std::int32_t* gold,
                                   MarginScratch& scratch) {
  scratch.augmented.assign(chain.emit, chain.emit + chain.n_tokens * chain.stride);
  margin.add_to(gold, chain.n_tokens, chain.n_labels, chain.stride, scratch.augmented.data());
  chain.emit = scratch.augmented.data();
  best_path(chain, scratch.viterbi, scratch.paths.data());
  return scratch.paths.data();
}

}  // namespace

Violation most_violated(const ChainView<float>& chain, int order, const Margin& margin, const std::int32_t* gold,
                        MarginScratch& scratch) {
  Violation out;
  if (path_score(chain, gold) == kForbidden<float>) return out;
  out.possible = true;
  scratch.paths.resize(2 * chain.n_tokens);
  const std::int32_t* path =
      margin.zero_one ? best_wrong(chain, gold, scratch) : best_augmented(chain, margin, gold, scratch);
  if (!path) return out;
  const double cost = margin.cost(gold, path, chain.n_tokens, chain.n_labels);
  const double loss = cost - lead(chain, order, gold, path);
  if (loss > 0) out.loss = loss, out.cost = cost, out.path = path;
  return out;
}

void margin_losses(const LinearChain& model, int order, const Examples& examples, std::size_t n_sentences,
                   const Margin& margin, std::size_t n_threads, double* losses) {
  parallel_blocks(
      n_sentences, 64, n_threads, [] { return MarginScratch{}; },
      [&](MarginScratch& scratch, std::size_t first, std::size_t last) {
        for (std::size_t s = first; s < last; ++s) {
          const std::size_t begin = examples.starts[s], end = examples.starts[s + 1];
          losses[s] = 0;
          if (begin == end) continue;
          const ChainView<float> chain = model.chain(examples.data, begin, end, scratch.potentials);
          losses[s] = most_violated(chain, order, margin, examples.gold + begin, scratch).loss;
        }
      });
}

}  // namespace trellis
