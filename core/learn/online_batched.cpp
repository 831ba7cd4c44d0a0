// Apart from online.cpp: with two callers in one file the compiler no longer puts collecting and stepping into the loop.
#include "learn/chains.hpp"
#include "learn/online.hpp"

namespace trellis {

EpochResult Online::batched_epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                                  std::size_t batch, std::size_t n_threads, const Patience::GoOn& go_on) {
  const auto make = [&] { return Chains(static_cast<GrowingChain&>(*this), labels(), order, examples); };
  return batched_pass(make, *this, steps, clock, sentences, n_sentences, examples.weights, batch, n_threads, go_on);
}

}  // namespace trellis
