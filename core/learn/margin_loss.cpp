#include "learn/margin_loss.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace trellis {
namespace {

// w · (Phi(gold) - Phi(path)), in double: only where the two differ.
double lead(const ChainView<float>& chain, int order, const std::int32_t* gold, const std::int32_t* path) {
  const auto null = static_cast<std::int32_t>(chain.n_labels);
  std::int32_t x = null, y = null, u = null, v = null;  // of gold and of path
  double total = 0;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const std::int32_t z = gold[t], w = path[t];
    if (z != w || (order >= 1 && y != v) || (order == 2 && x != u))
      total += potential(chain, order, t, x, y, z) - potential(chain, order, t, u, v, w);
    x = y, y = z, u = v, v = w;
  }
  return total;
}

// The best wrong path, if there is any: the best, or the second where the best is the gold one.
const std::int32_t* best_wrong(const ChainView<float>& chain, const std::int32_t* gold, MarginScratch& scratch) {
  const std::size_t n = chain.n_tokens;
  std::int32_t* paths = scratch.paths.data();
  best_path(chain, scratch.chain.viterbi, paths);
  if (!std::equal(gold, gold + n, paths)) return paths;
  float scores[2];
  return k_best(chain, 2, scratch.kbest, paths, scores) == 2 ? paths + n : nullptr;
}

// The best path by score + cost.
const std::int32_t* best_augmented(ChainView<float> chain, const Margin& margin, const std::int32_t* gold,
                                   MarginScratch& scratch) {
  const std::size_t n = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  scratch.augmented.resize(n * stride);
  for (std::size_t t = 0; t < n; ++t) {
    const float* emit = chain.emit_at(t);
    float* out = scratch.augmented.data() + t * stride;
    if (margin.costs) {
      std::copy_n(emit, stride, out);
      for (std::size_t z = 0; z < L; ++z) out[z] += margin.costs[gold[t] * L + z];
    } else {
      for (std::size_t z = 0; z < stride; ++z) out[z] = emit[z] + 1;
      out[gold[t]] = emit[gold[t]];
    }
  }
  chain.emit = scratch.augmented.data();
  best_path(chain, scratch.chain.viterbi, scratch.paths.data());
  return scratch.paths.data();
}

TRELLIS_CLONES ChainView<float> chain_one(const Rows<std::uint16_t>& rows, const Rows<std::uint32_t>& edge_rows,
                                          const LabelWeights& labels, const ChainData& data, std::size_t begin,
                                          std::size_t end, ChainScratch& scratch, LabelSets& sets) {
  return chain_of(rows, edge_rows, labels, data, begin, end, scratch, sets);
}

}  // namespace

double Margin::cost(const std::int32_t* gold, const std::int32_t* path, std::size_t n, std::size_t n_labels) const {
  double total = 0;
  for (std::size_t t = 0; t < n; ++t)
    if (gold[t] != path[t]) {
      if (zero_one) return 1;
      total += costs ? costs[gold[t] * n_labels + path[t]] : 1;
    }
  return total;
}

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

void margin_losses(const Rows<std::uint16_t>& rows, const Rows<std::uint32_t>& edge_rows, const LabelWeights& labels,
                   int order, const ChainData& data, const std::int64_t* starts, std::size_t n_sentences,
                   const std::int32_t* gold, const Margin& margin, std::size_t n_threads, double* losses) {
  parallel_blocks(
      n_sentences, 64, n_threads, [] { return MarginScratch{}; },
      [&](MarginScratch& scratch, std::size_t first, std::size_t last) {
        for (std::size_t s = first; s < last; ++s) {
          losses[s] = 0;
          if (starts[s] == starts[s + 1]) continue;
          LabelSets sets{};
          const ChainView<float> chain =
              chain_one(rows, edge_rows, labels, data, starts[s], starts[s + 1], scratch.chain, sets);
          losses[s] = most_violated(chain, order, margin, gold + starts[s], scratch).loss;
        }
      });
}

}  // namespace trellis
