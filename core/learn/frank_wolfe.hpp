// Hidden Markov support vector machines by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013):
//
//   primal   min_w  ½ |w|² + sum_i C_i H_i(w)                            H_i in margin_loss.hpp
//   dual     max_a  sum_i C_i cost(a_i) - ½ |w(a)|²,   w(a) = sum_i w_i,  w_i = C_i sum_y a_i(y) (Phi(gold) - Phi(y))
//
// a_i is a mixture of the paths of sentence i, the gold one among them: it begins as the gold path alone, w = 0. A step
// moves one mixture towards the path s that violates its margin most, as far as the dual rises:
//
//   gap_i = C_i (H_i(w) - (cost(a_i) - w · v_i)),   w_i = C_i v_i,   w_s = C_i (Phi(gold) - Phi(s))
//   step  = min(1, gap_i / |w_s - w_i|²),           w += step (w_s - w_i)
//
// The gaps of all sentences at one w sum to primal less dual.
#pragma once
#include "learn/margin_loss.hpp"
#include "learn/examples.hpp"
#include "learn/sparse.hpp"
#include "parallel.hpp"
#include "weights/growing_chain.hpp"

namespace trellis {

// A mixture is kept by labels, not by features: w_i is what the attributes of the tokens make of it. `amount` is how
// much more often the gold path than the mixture has labels x, y, z at t-2, t-1, t; labels that the order does not
// reach back to are 0.
struct MixturePart {
  std::uint32_t token;  // within its sentence
  std::uint16_t x, y, z;
  double amount;

  Part labels() const { return {token, x, y, z}; }
};

struct Block {
  std::vector<MixturePart> parts;  // tokens ascending; none where gold and mixture agree
  double cost = 0;          // cost(a_i)
};

struct StepsResult {
  std::int64_t mistakes = 0;  // tokens where the most violating path was not the gold one
  std::int64_t updates = 0;   // sentences that made a step
  double gap = 0;             // sum of gap_i, each as it was met: about the duality gap
};

class FrankWolfe : public GrowingChain {
 public:
  FrankWolfe(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels, int order,
             std::size_t n_sentences, double c, bool zero_one, const LabelParts& parts = {})
      : GrowingChain(n_attributes, n_edge_attributes, n_labels, order, false, parts), c(c), zero_one(zero_one),
        blocks(n_sentences) {}

  // One pass over the sentences in the given order. A sentence whose gold path is forbidden teaches nothing.
  // Every tenth of a second `go_on` is asked; where it says no the pass ends there.
  StepsResult epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                    const Patience::GoOn& go_on = {});

  // w and the dual anew from all blocks, in double, so that the rounding of many steps does not add up.
  void renew(const Examples& examples);

  // The average of w over all steps, step k weighted by k: (K (K + 1) / 2 · w - sum) / (K (K + 1) / 2) after K of them.
  double moments() const { return 0.5 * static_cast<double>(clock) * (static_cast<double>(clock) + 1); }

  double c;
  bool zero_one;
  std::vector<Block> blocks;  // [n_sentences]
  std::int64_t clock = 0;     // steps so far, those of no length among them
  double dual = 0;

 private:
  bool step(const Examples& examples, std::size_t sentence, double c_i, StepsResult& result);
  void direct(const Examples& examples, std::size_t begin, std::size_t n, const Block& block, const std::int32_t* path);
  double look_up();
  void apply(double scale);

  // Calls each(change) for the features of `n_parts` parts of one token, of the sentence that starts at `begin`.
  template <class Each>
  void spread(const ChainData& data, std::size_t begin, const MixturePart* parts, std::size_t n_parts, Each each);

  // Scratch.
  MarginScratch margin_;
  std::vector<MixturePart> direction_;  // amounts of w_s - w_i
  std::vector<double> held_;     // beside it, amounts of w_i
  std::vector<MixturePart> labels_;
  SparseSum change_;             // the same by features
  std::vector<LearntWeight> places_;  // beside its entries
};

}  // namespace trellis
