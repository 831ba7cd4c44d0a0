// The hinge loss of a sentence and the path that gives it (Altun 2003, section 4.1):
//   H(w) = max(0, max_y cost(y) - w · (Phi(gold) - Phi(y)))
#pragma once
#include "engine/kbest.hpp"
#include "learn/examples.hpp"
#include "learn/margin.hpp"
#include "weights/potentials.hpp"

namespace trellis {

struct MarginScratch {
  Potentials<float> potentials;
  Workspace<float> viterbi;
  KBestWorkspace<float> kbest;
  std::vector<float> augmented;     // [n, stride]
  std::vector<std::int32_t> paths;  // [2, n]
};

struct Violation {
  bool possible = false;               // whether the gold path is allowed; if not there is nothing to learn
  double loss = 0, cost = 0;           // H(w), and cost(y) of the path that gives it
  const std::int32_t* path = nullptr;  // that path, or null: the gold path itself; lives in the scratch
};

// What a part of a path gives. At order 0 labels alone have weights.
inline double potential(const ChainView<float>& chain, int order, const Part& part) {
  double score = chain.emit_at(part.token)[part.z];
  if (order >= 1) score += chain.edge_at(part.token, part.y)[part.z];
  if (order == 2) score += chain.tri_at(part.x, part.y)[part.z];
  return score;
}

// The most violated margin of a sentence that has a token at least.
Violation most_violated(const ChainView<float>& chain, int order, const Margin& margin, const std::int32_t* gold,
                        MarginScratch& scratch);

// H(w) of all sentences, by n_threads; 0 where the gold path is forbidden.
void margin_losses(const LinearChain& model, int order, const Examples& examples, std::size_t n_sentences,
                   const Margin& margin, std::size_t n_threads, double* losses);

}  // namespace trellis
