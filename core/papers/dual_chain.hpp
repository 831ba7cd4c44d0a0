// Chains learnt in the dual (Altun, section 4): the model is a weighted list of label sequences wrongly predicted
// in training,
//
//   w = sum over (i, y) of alpha(i, y) · (Phi(x_i, gold_i) - Phi(x_i, y)),
//
// and Phi occurs only in inner products: label pairs (and triples) by counting common ones, observations by a
// kernel k (equation 15). So a sentence's potentials are those of an ordinary chain (equations 17 to 19):
//
//   edge[y, z]  = delta(y, z)                             weights of label pairs, kept as such
//   emit[s, z]  = sum over tokens t of beta(t, z) k(x_s, x_t)
//   beta(t, z)  = sum over sequences y of t's sentence of alpha · ([gold_t = z] - [y_t = z])
//
// With the linear kernel emit comes from weights of attributes, which are then stored as well.
#pragma once
#include "engine/viterbi.hpp"
#include "learn/margin.hpp"
#include "learn/margin_qp.hpp"
#include "papers/kernel.hpp"
#include "parallel.hpp"
#include "weights/potentials.hpp"

namespace trellis {

// w in the form of potentials.
struct DualWeights {
  std::vector<double> edge, tri;                     // [L+1, stride], [L+1, L+1, stride] or empty; with what is forbidden
  HeavyRows<double> rows;                            // of the linear kernel; updated attributes have one
  std::vector<std::vector<Coefficient>> expansions;  // of other kernels: beta of each sentence's tokens
};

// A label sequence other than the gold sequence, and Phi(gold) - Phi(y) in two parts.
struct Sequence {
  std::vector<std::int32_t> path;  // [n]
  Changes labels;                  // merged; row: the token within its sentence, place: the label
  Changes pairs;                   // merged; row 0: label pairs, row 1: label triples
  double alpha = 0;
  double past = 0;  // sum of (moment of change · change of alpha), for averaging
  double cost = 0;
  std::vector<double> products{};  // with the earlier sequences in its working set and with itself, as far as computed
};

struct PassResult {
  std::int64_t mistakes = 0;  // tokens with a wrong label in the best path
  std::int64_t updates = 0;   // sentences that changed the weights
  double violation = 0;       // the largest violation of a sentence's optimality at its visit
  double gap = 0;             // sum over sentences of the gap in the dual at their visit; the duality gap if nothing changed
};

// The training data; all pointers must outlive the learner.
struct DualProblem : Examples {
  std::size_t n_attributes, n_labels;
  int order;                    // 0: label pairs have no weights; 1; 2: triples have weights too
  const float* edge = nullptr;  // [L+1, stride] 0 or minus infinity, or null
  const float* end = nullptr;   // [stride] the same for last labels, or null
};

class DualChain {
 public:
  DualChain(const DualProblem& problem, const Kernel& kernel, const double* given, std::size_t memory);

  // One pass of algorithm 3. The dual of the HM-SVM is
  //   max  sum alpha(i, y) cost(y) - ½ |w|²    with  alpha >= 0,  sum over y of alpha(i, y) <= C · weight_i.
  // cost is 1 for every sequence but the gold one, or the sum of its labels' costs (`hamming`).
  PassResult margin_pass(const std::int64_t* order, std::size_t n, double c, double epsilon, bool hamming,
                         std::size_t n_threads, const Patience::GoOn& go_on = {});
  // One pass of the perceptron (algorithm 1): alpha(i, best) += weight_i where the best path is not the gold one.
  PassResult perceptron_pass(const std::int64_t* order, std::size_t n, std::size_t n_threads, const Patience::GoOn& go_on = {});

  // Adds a sequence of a state, after `sets` were cleared.
  void restore(std::size_t i, std::vector<std::int32_t> path, double alpha, double past);
  // Phi(gold_i) - Phi(path), with its cost.
  Sequence sequence(std::size_t i, std::vector<std::int32_t> path, bool hamming) const;

  bool linear() const { return kernel_.kind == Kernel::kLinear; }

  std::vector<std::vector<Sequence>> sets;  // the working set of every sentence
  std::int64_t clock = 0;                   // sentences visited by the perceptron
  double dual = 0;                          // its value

 private:
  ChainView<double> chain_of(std::size_t i);
  void add(std::size_t i, const Sequence& sequence, double by, DualWeights& weights) const;
  void expand_sentence(std::size_t i, DualWeights& weights) const;
  DualWeights weights() const;
  double product(std::size_t i, const Sequence& a, const Sequence& b, const double* own) const;
  double cost(std::size_t i, const std::vector<std::int32_t>& path) const;
  std::size_t find(std::size_t i, const std::vector<std::int32_t>& path) const;
  void add_rival(std::size_t i, const ChainView<double>& chain, bool hamming, PassResult& result);
  bool violates(std::size_t i, const ChainView<double>& chain, double c, double epsilon, PassResult& result);
  void optimize(std::size_t i, double c, double tolerance);
  const std::vector<double>& products_of(std::size_t i);
  void remove_idle(std::size_t i);
  template <class Visit>
  PassResult pass(const std::int64_t* order, std::size_t n, std::size_t n_threads, const Patience::GoOn& go_on, Visit visit);

  DualProblem problem_;
  Kernel kernel_;
  std::size_t stride_;
  std::vector<double> end_;  // [stride] or empty
  Gram gram_;
  DualWeights now_;

  // Scratch.
  Potentials<double> potentials_;
  std::vector<double> augmented_, sums_, block_, own_, products_, losses_, alphas_, chosen_;
  std::vector<std::int32_t> paths_;
  Workspace<double> viterbi_;
  MarginQp qp_;
};

}  // namespace trellis
