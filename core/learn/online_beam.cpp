// Apart from online.cpp as online_batched.cpp is.
#include "learn/beam_chains.hpp"
#include "learn/online.hpp"

namespace trellis {

EpochResult Online::beam_epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                               std::size_t batch, std::size_t n_threads, const Patience::GoOn& go_on) {
  const auto make = [&] { return BeamChains(static_cast<GrowingChain&>(*this), labels(), order, examples, beam, update); };
  if (batch > 1)
    return batched_pass(make, *this, steps, clock, sentences, n_sentences, examples.weights, batch, n_threads, go_on);
  BeamChains chains = make();
  return online_pass(chains, *this, steps, clock, sentences, n_sentences, examples.weights, go_on);
}

}  // namespace trellis
