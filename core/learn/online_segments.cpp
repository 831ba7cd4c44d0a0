// Apart from online.cpp, as online_batched.cpp is.
#include "learn/online.hpp"
#include "learn/segments.hpp"

namespace trellis {

EpochResult Online::segments_epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                                   std::size_t batch, std::size_t n_threads, const Patience::GoOn& go_on) {
  const auto make = [&] { return Segments(static_cast<GrowingChain&>(*this), labels(), order, examples); };
  if (batch > 1)
    return batched_pass(make, *this, steps, clock, sentences, n_sentences, examples.weights, batch, n_threads, go_on);
  auto segments = make();
  return online_pass(segments, *this, steps, clock, sentences, n_sentences, examples.weights, go_on);
}

}  // namespace trellis
