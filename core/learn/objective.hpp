// Losses over a corpus and their gradients, for batch learners: the log loss of a chain (CRF), the same
// with sentence weights (exponential loss), and the loss of local decisions (maximum entropy).
//
// For sentence i with weight q_i:  loss_i = log Z_i - score(gold_i),  gradient = sum_i q_i (E_i[Phi] - Phi(gold_i)).
// With partial labels, score(gold) becomes log Z over the paths consistent with them, and Phi(gold) the
// expectation over these paths.
//
// The gradient of an attribute is a sum over its tokens. The corpus is cut into blocks whose tokens fit into
// a cache: the sentences of a block are run, the residual (expected minus gold) is stored for each token, then
// each attribute sums over its tokens there. The sum of a block depends on the block and the weights alone; block sums are
// added in fixed point (fixed_point.hpp), so that bits do not depend on threads, nor on the process that sums a block.
// Block b has the sentences that begin at tokens b · B to (b + 1) · B - 1 of the whole corpus.
#pragma once
#include <memory>

#include "learn/adagrad.hpp"
#include "engine/fixed_point.hpp"

namespace trellis {

class Objective {
 public:
  explicit Objective(std::vector<double> masses) : masses(std::move(masses)) {}
  virtual ~Objective() = default;
  // [n_examples] the maximum over outputs of each example of the sum of absolute feature values. No entry of the
  // gradient of sum_i w_i · loss_i exceeds sum_i w_i · mass_i, whatever the parameters.
  const std::vector<double> masses;
  // loss_i of all sentences and, unless null, sum_i weights[i] · gradient of loss_i in fixed point. Weights null: all one.
  virtual void evaluate(const double* parameters, const double* weights, std::size_t n_threads, double* losses,
                        const FixedPoint& fixed, std::int64_t* gradient) = 0;
  // One pass over n of the first `head` sentences in that order, updating parameters and squares after each batch; returns loss_i
  // before its update. The penalty is divided among the first `head` sentences.
  virtual void pass(const AdaGrad& rule, std::size_t head, const std::int64_t* order, std::size_t n, const double* weights,
                    std::size_t n_threads, double* parameters, double* squares, double* losses) = 0;
};

// `local`: each label given the gold labels before it (maximum entropy), instead of whole paths. `single`: in float.
// `first_token`: number of tokens of the corpus before these sentences, if other processes have them; `block`: B.
std::unique_ptr<Objective> make_objective(const Layout& layout, const Examples& examples, bool local, bool single,
                                          std::size_t first_token = 0, std::size_t block = 1 << 15);

}  // namespace trellis
