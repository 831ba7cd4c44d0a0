#include "learn/predict.hpp"

#include "engine/viterbi.hpp"
#include "parallel.hpp"

namespace trellis {

void decode_all(const LinearChain& model, const ChainData& data, const std::int64_t* starts, std::size_t n_sentences,
                bool local, std::size_t n_threads, std::int32_t* paths) {
  struct State {
    Potentials<float> potentials;
    Workspace<float> viterbi;
  };
  const LocalNormalizer normalizer = local ? LocalNormalizer(model.labels) : LocalNormalizer();
  parallel_blocks(
      n_sentences, 64, n_threads, [] { return State{}; },
      [&](State& state, std::size_t first, std::size_t last) {
        for (std::size_t s = first; s < last; ++s)
          if (starts[s] < starts[s + 1])
            best_path(model.chain(data, starts[s], starts[s + 1], state.potentials, local ? &normalizer : nullptr),
                      state.viterbi, paths + starts[s]);
      });
}

}  // namespace trellis
