// Sums over all trees with possibly crossing arcs, by scores of arcs alone, without subtraction: a determinant (the matrix-tree
// theorem) cancels if two words strongly prefer each other as head. One word has the root as its head, as in trees.hpp.
//
// Words that move to their heads, m to h at the rate A(h, m) = exp(score), are a Markov chain. Eliminating word k redirects
// the transitions into it to its own targets (Grassmann, Taksar & Heyman 1985):
//
//   out[k] = sum over remaining j of A(j, k),   A(j, i) += A(k, i) · A(j, k) / out[k],   A(0, i) += A(k, i) · A(0, k) / out[k]
//
// After all words but m are eliminated, the product of all out[k] is W(m), the sum over trees of the words alone with m on top
// (the Markov chain tree theorem). In the backward pass, with root[m] = 0,
//
//   root[k] = (A(0, k) + sum over j that remained of A(j, k) · root[j]) / out[k]
//
// and trees with the arc from h to m weigh A(h, m) · W(m) · root[h], those with m attached to the root A(0, m) · W(m). These
// sum to Z, for every m: the arcs of each word are normalised by their own sum.
//
// If out[k] = 0, no word that reaches k reaches m, so one of these is attached to the root: out[k] becomes A(0, k), all
// other arcs of the root so far are dropped, and from then on the root is a state like others ("closed").
//
// By products of factors unless one is tiny, else in log space: scores of any size are safe. One half of the words
// is eliminated for all words of the other half, recursively: O(n^3) in all.
#pragma once
#include "engine/trees.hpp"

namespace trellis {

// Scratch of one thread.
class SpanningSums {
 public:
  // log Z and the marginal of each arc [n + 1, n + 1]; minus infinity and zeros if every tree is forbidden.
  double sum(const TreeScores& scores, double* arcs);

 private:
  // The remaining words with their rates, and the results of eliminating n_out of them. The root is place n.
  struct Level {
    std::size_t n = 0, n_out = 0;
    std::vector<std::size_t> words;   // [n]
    std::vector<double> rates;        // [n, n + 1] from one word to another or the root
    std::vector<std::size_t> order;   // [n + 1] eliminated words, remaining words, the root; the arrays below use this order
    std::vector<double> to_out;       // [n, n_out, padded] rate from place i to place k when k is eliminated
    std::vector<double> onward;       // [n_out, n + 1, padded] A(j, k) / out[k]
    std::vector<double> onward_from;  // [n + 1, n_out, padded] the same transposed
  };
  enum Outcome { kDone, kNoTree, kLost };  // kLost: factors are too small for products
  static constexpr std::size_t kNever = ~std::size_t{0};

  Outcome start();
  // `pivots`: the logarithm of the product of all out[k] so far; closed_at: the depth at which the root became a state.
  Outcome descend(std::size_t depth, double pivots, std::size_t closed_at);
  Outcome eliminate(Level& level, Level& next, double& pivots, bool& closed);
  Outcome go_back(std::size_t depth, double pivots, std::size_t closed_at);
  template <class S>
  Outcome eliminate_any(Level& level, Level& next, double& pivots, bool& closed);
  template <class S>
  Outcome go_back_any(std::size_t depth, double pivots, std::size_t closed_at);

  std::size_t n_ = 0;
  bool by_logs_ = false;
  std::vector<double> factors_, logs_;  // [n + 1, n + 1] of arcs, minus the score of the word's best head; factors or logarithms
  std::vector<Level> levels_;           // by depth
  std::vector<double> root_;            // [n + 1] by word; of the root itself: whether m may be attached to it
  std::vector<double> values_;          // [n + 1, padded] root[k] by place
  double* arcs_ = nullptr;              // [n + 1, n + 1]
  double log_z_ = 0;
};

}  // namespace trellis
