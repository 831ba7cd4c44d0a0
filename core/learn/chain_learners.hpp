// Learners of chains, one call an epoch: online (decode a sentence, update the weights on errors, continue), and hidden Markov
// support vector machines by block-coordinate Frank-Wolfe; and the hinge losses of any weights of a chain. A pass calls `go_on`
// every tenth of a second; if it returns false, the pass stops.
#pragma once
#include "learn/chains.hpp"
#include "learn/mixture_steps.hpp"

namespace trellis {

enum class Update { kStandard, kEarly, kMaxViolation };  // beam_chains.hpp

// Weights during training, with their sums u[s] for averaging. After N examples in all,
//   gamma[s] = (N · w[s] - u[s]) / N
// is the average of weight s over the N moments after each example.
class Online : public GrowingChain {
 public:
  // As GrowingChain; with `log`, updates are recorded.
  Online(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels, int order, bool sparse,
         const Rule& rule, bool log, const LabelParts& parts = {})
      : GrowingChain(n_attributes, n_edge_attributes, n_labels, order, sparse, parts, rule.has_variances()),
        steps(rule, log) {}

  // One pass over the sentences in the given order. Sentences whose gold path is forbidden (by minus infinity among
  // the weights of label pairs or last labels) are skipped.
  // With `batch` above 1, the sentences of a batch are decoded with the same weights, on up to n_threads.
  EpochResult epoch(const Examples& examples, const std::int64_t* order, std::size_t n_sentences, std::size_t batch = 1,
                    std::size_t n_threads = 1, const Patience::GoOn& go_on = {});

  Steps steps;
  std::int64_t clock = 0;  // examples seen
  // With features of labels further back (beam_chains.hpp): the beam width, and the kind of update.
  std::size_t beam = 0;
  Update update = Update::kStandard;
};

class FrankWolfe : public GrowingChain {
 public:
  FrankWolfe(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels, int order, bool sparse,
             std::size_t n_sentences, double c, bool zero_one, const LabelParts& parts = {})
      : GrowingChain(n_attributes, n_edge_attributes, n_labels, order, sparse, parts), steps(n_sentences, c, zero_one) {}

  // One pass over the sentences in the given order.
  MixtureResult epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                      const Patience::GoOn& go_on = {});
  void renew(const Examples& examples);

  MixtureSteps<ChainPart> steps;
};

// H(w) of all sentences, by n_threads; 0 if the gold path is forbidden. `zero_one`: every wrong path costs 1.
void margin_losses(const LinearChain& model, int order, const Examples& examples, std::size_t n_sentences, bool zero_one,
                   std::size_t n_threads, double* losses);

}  // namespace trellis
