// Sums over all trees whose arcs may cross, by scores of arcs alone, without a subtraction: a determinant (the matrix-tree
// theorem) cancels where two words are each other's best head by far. One word has the root as its head, as in trees.hpp.
//
// Words that move to their heads, m to h at the rate A(h, m) = exp(score), are a Markov chain. One that is eliminated hands
// what moves to it on to where it moves (Grassmann, Taksar & Heyman 1985):
//
//   out[k] = sum over j that remain of A(j, k),   A(j, i) += A(k, i) · A(j, k) / out[k],   A(0, i) += A(k, i) · A(0, k) / out[k]
//
// When all words but m are eliminated, the product of all out[k] is W(m), the sum over trees of the words alone with m on top
// (the Markov chain tree theorem). On the way back, with root[m] = 0,
//
//   root[k] = (A(0, k) + sum over j that remained of A(j, k) · root[j]) / out[k]
//
// and trees with the arc from h to m weigh A(h, m) · W(m) · root[h], those with m as the root's word A(0, m) · W(m). Together
// they are Z, for every m: the arcs of each word are divided by their own sum.
//
// If out[k] = 0, those that come to k cannot come to m, so that the root's word is one of them: out[k] becomes A(0, k), all
// other arcs of the root so far are dropped, and from then on the root is a state like others ("closed").
//
// By products of factors as long as none of them is tiny, else by logarithms: scores of any size are safe. One half of the words
// is eliminated for all words of the other, and so on: O(n^3) in all.
#pragma once
#include "engine/trees.hpp"

namespace trellis {

// Scratch of one thread.
class SpanningSums {
 public:
  // log Z, and how often each arc [n + 1, n + 1] is in a tree; minus infinity and zeros where every tree is forbidden.
  double sum(const TreeScores& scores, double* arcs);

 private:
  // Words that remain, with their rates, and what eliminating n_out of them gave. The root is place n.
  struct Level {
    std::size_t n = 0, n_out = 0;
    std::vector<std::size_t> words;   // [n]
    std::vector<double> rates;        // [n, n + 1] from one to another or the root
    std::vector<std::size_t> order;   // [n + 1] those eliminated, those that remain, the root; what follows is in this order
    std::vector<double> to_out;       // [n, n_out, padded] from place i to place k as k is eliminated
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
  std::vector<double> factors_, logs_;  // [n + 1, n + 1] of arcs, less that of a word's best head; factors or logarithms
  std::vector<Level> levels_;           // by depth
  std::vector<double> root_;            // [n + 1] by word; of the root itself: whether m may be its word
  std::vector<double> values_;          // [n + 1, padded] root[k] by place
  double* arcs_ = nullptr;              // [n + 1, n + 1]
  double log_z_ = 0;
};

}  // namespace trellis
