// Passes of online learners and of Frank-Wolfe over chains, segments, and chains with features of labels further back.
#include "learn/beam_chains.hpp"
#include "learn/segments.hpp"

namespace trellis {
namespace {

// Calls visit(make), where make() returns the chains or the segments of a corpus.
template <class Weights, class Visit>
auto with_structure(Weights& weights, const LabelWeights& labels, int order, const Examples& examples, bool zero_one, Visit visit) {
  if (examples.data.segments) return visit([&] { return Segments(weights, labels, order, examples, zero_one); });
  return visit([&] { return Chains(weights, labels, order, examples, zero_one); });
}

}  // namespace

EpochResult Online::epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                          std::size_t batch, std::size_t n_threads, const Patience::GoOn& go_on) {
  auto& weights = static_cast<GrowingChain&>(*this);
  const auto pass = [&](auto make) {
    return online_pass(make, weights, steps, clock, sentences, n_sentences, examples.weights, batch, n_threads, go_on);
  };
  if (examples.data.far.at.starts) return pass([&] { return BeamChains(weights, labels(), order, examples, beam, update); });
  return with_structure(weights, labels(), order, examples, false, pass);
}

MixtureResult FrankWolfe::epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                                const Patience::GoOn& go_on) {
  auto& weights = static_cast<GrowingChain&>(*this);
  return with_structure(weights, labels(), order, examples, steps.zero_one, [&](auto make) {
    auto structure = make();
    return steps.pass(structure, weights, sentences, n_sentences, examples.weights, go_on);
  });
}

void FrankWolfe::renew(const Examples& examples) {
  auto& weights = static_cast<GrowingChain&>(*this);
  with_structure(weights, labels(), order, examples, steps.zero_one, [&](auto make) {
    auto structure = make();
    steps.renew(structure, weights, examples.weights);
  });
}

void margin_losses(const LinearChain& model, int order, const Examples& examples, std::size_t n_sentences, bool zero_one,
                   std::size_t n_threads, double* losses) {
  with_structure(model, model.labels, order, examples, zero_one, [&](auto make) {
    parallel_blocks(n_sentences, 64, n_threads, make, [&](auto& structure, std::size_t first, std::size_t last) {
      for (std::size_t s = first; s < last; ++s)
        losses[s] = structure.load(s) && structure.possible() ? most_violated(structure, zero_one).loss : 0;
    });
  });
}

}  // namespace trellis
