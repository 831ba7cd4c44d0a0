#include "learn/online.hpp"

#include "learn/chains.hpp"

namespace trellis {

EpochResult Online::epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                          std::size_t batch, std::size_t n_threads, const Patience::GoOn& go_on) {
  if (examples.data.segments) return segments_epoch(examples, sentences, n_sentences, batch, n_threads, go_on);
  if (batch > 1) return batched_epoch(examples, sentences, n_sentences, batch, n_threads, go_on);
  Chains chains(static_cast<GrowingChain&>(*this), labels(), order, examples);
  return online_pass(chains, *this, steps, clock, sentences, n_sentences, examples.weights, go_on);
}

}  // namespace trellis
