// Losses over a corpus and their gradients, for learners that go by gradients: the log loss of a chain (CRF), the same
// weighted by sentence (exponential loss), and of local decisions (maximum entropy).
//
// For sentence i with weight q_i:  loss_i = log Z_i - score(gold_i),  gradient = sum_i q_i (E_i[Phi] - Phi(gold_i)).
// Where labels are partial, score(gold) becomes log Z over the paths that agree with what is known, and Phi(gold) the
// expectation over them.
//
// The gradient of an attribute is a sum over the tokens it stands at. The corpus is cut into blocks whose tokens fit into
// a cache: the sentences of a block are run, what is expected minus what is gold is kept for each of its tokens, then
// each attribute sums over its tokens there. Blocks follow one another, and both steps are cut into pieces that do not
// depend on the number of threads, so neither do the bits.
#pragma once
#include <memory>

#include "learn/adagrad.hpp"

namespace trellis {

class Objective {
 public:
  virtual ~Objective() = default;
  // loss_i of all sentences and, unless it is null, sum_i weights[i] · gradient of loss_i. Weights null: all one.
  virtual void evaluate(const double* parameters, const double* weights, std::size_t n_threads, double* losses,
                        double* gradient) = 0;
  // One pass over the sentences in that order, changing parameters and squares after each batch; loss_i as it was met.
  virtual void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights,
                    std::size_t n_threads, double* parameters, double* squares, double* losses) = 0;
};

// `local`: each label given the gold labels before it (maximum entropy), instead of whole paths. `single`: in float.
std::unique_ptr<Objective> make_objective(const Layout& layout, const Examples& examples, bool local, bool single);

}  // namespace trellis
