// Losses over a corpus and their gradients, for learners that go by gradients: the log loss of a chain (CRF), the same
// weighted by sentence (exponential loss), and of local decisions (maximum entropy).
//
// For sentence i with weight q_i:  loss_i = log Z_i - score(gold_i),  gradient = sum_i q_i (E_i[Phi] - Phi(gold_i)).
// Where labels are partial, score(gold) becomes log Z over the paths that agree with what is known, and Phi(gold) the
// expectation over them.
//
// The gradient of an attribute is a sum over the tokens it stands at. The corpus is cut into blocks whose tokens fit into
// a cache: the sentences of a block are run, what is expected minus what is gold is kept for each of its tokens, then
// each attribute sums over its tokens there. The sum of a block depends on the block and the weights alone; sums of blocks are
// added in fixed point (fixed_point.hpp), so that bits do not depend on threads, nor on which process sums which blocks.
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
  // [n_examples] the largest sum of features, by their absolute values, that an output of each example has. No entry of the
  // gradient of sum_i w_i · loss_i exceeds sum_i w_i · mass_i, whatever the parameters.
  const std::vector<double> masses;
  // loss_i of all sentences and, unless it is null, sum_i weights[i] · gradient of loss_i in fixed point. Weights null: all one.
  virtual void evaluate(const double* parameters, const double* weights, std::size_t n_threads, double* losses,
                        const FixedPoint& fixed, std::int64_t* gradient) = 0;
  // One pass over n of the first `head` sentences in that order, changing parameters and squares after each batch; loss_i as it
  // was met. A penalty is shared by all of these.
  virtual void pass(const AdaGrad& rule, std::size_t head, const std::int64_t* order, std::size_t n, const double* weights,
                    std::size_t n_threads, double* parameters, double* squares, double* losses) = 0;
};

// `local`: each label given the gold labels before it (maximum entropy), instead of whole paths. `single`: in float.
// `first_token`: how many tokens of the corpus come before these sentences, where others have them; `block`: B.
std::unique_ptr<Objective> make_objective(const Layout& layout, const Examples& examples, bool local, bool single,
                                          std::size_t first_token = 0, std::size_t block = 1 << 15);

}  // namespace trellis
