// Hidden Markov support vector machines by block-coordinate Frank-Wolfe, and the hinge losses of any weights of a chain.
#pragma once
#include "learn/chains.hpp"
#include "learn/mixture_steps.hpp"

namespace trellis {

class FrankWolfe : public GrowingChain {
 public:
  FrankWolfe(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels, int order, bool sparse,
             std::size_t n_sentences, double c, bool zero_one, const LabelParts& parts = {})
      : GrowingChain(n_attributes, n_edge_attributes, n_labels, order, sparse, parts), steps(n_sentences, c, zero_one) {}

  // One pass over the sentences in the given order. Every tenth of a second `go_on` is called; if it returns false, the pass
  // stops.
  MixtureResult epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                      const Patience::GoOn& go_on = {});
  void renew(const Examples& examples);

  MixtureSteps<ChainPart> steps;
};

// H(w) of all sentences, by n_threads; 0 if the gold path is forbidden. `zero_one`: every wrong path costs 1.
void margin_losses(const LinearChain& model, int order, const Examples& examples, std::size_t n_sentences, bool zero_one,
                   std::size_t n_threads, double* losses);

}  // namespace trellis
