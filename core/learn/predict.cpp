#include "learn/predict.hpp"

#include "engine/viterbi.hpp"
#include "parallel.hpp"

namespace trellis {
namespace {

struct DecodeScratch {
  Potentials<float> potentials;
  Workspace<float> viterbi;
};

TRELLIS_CLONES void decode_block(const Rows<std::uint16_t>& rows, const Rows<std::uint32_t>& edge_rows,
                                 const LabelWeights& labels, const ChainData& data, const std::int64_t* starts,
                                 std::size_t first, std::size_t last, DecodeScratch& scratch, std::int32_t* paths,
                                 const LocalNormalizer* local) {
  for (std::size_t s = first; s < last; ++s)
    if (starts[s] < starts[s + 1])
      best_path(chain_of(rows, edge_rows, labels, data, starts[s], starts[s + 1], scratch.potentials, local),
                scratch.viterbi, paths + starts[s]);
}

}  // namespace

void decode_all(const Rows<std::uint16_t>& rows, const Rows<std::uint32_t>& edge_rows, const LabelWeights& labels,
                const ChainData& data, const std::int64_t* starts, std::size_t n_sentences, bool local,
                std::size_t n_threads, std::int32_t* paths) {
  const LocalNormalizer normalizer = local ? LocalNormalizer(labels) : LocalNormalizer();
  parallel_blocks(
      n_sentences, 64, n_threads, [] { return DecodeScratch{}; },
      [&](DecodeScratch& scratch, std::size_t first, std::size_t last) {
        decode_block(rows, edge_rows, labels, data, starts, first, last, scratch, paths, local ? &normalizer : nullptr);
      });
}

}  // namespace trellis
