#include "learn/frank_wolfe.hpp"

namespace trellis {

MixtureResult FrankWolfe::epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                                const Patience::GoOn& go_on) {
  Chains chains(static_cast<GrowingChain&>(*this), labels(), order, examples, steps.zero_one);
  return steps.pass(chains, static_cast<GrowingChain&>(*this), sentences, n_sentences, examples.weights, go_on);
}

void FrankWolfe::renew(const Examples& examples) {
  Chains chains(static_cast<GrowingChain&>(*this), labels(), order, examples, steps.zero_one);
  steps.renew(chains, static_cast<GrowingChain&>(*this), examples.weights);
}

void margin_losses(const LinearChain& model, int order, const Examples& examples, std::size_t n_sentences, bool zero_one,
                   std::size_t n_threads, double* losses) {
  parallel_blocks(
      n_sentences, 64, n_threads, [&] { return Chains(model, model.labels, order, examples, zero_one); },
      [&](auto& chains, std::size_t first, std::size_t last) {
        for (std::size_t s = first; s < last; ++s)
          losses[s] = chains.load(s) && chains.possible() ? most_violated(chains, zero_one).loss : 0;
      });
}

}  // namespace trellis
