#include "weights/growing_chain.hpp"

namespace trellis {
namespace {

TRELLIS_CLONES ChainView<float> potentials_of(const GrowingChain& weights, const LabelWeights& labels,
                                              const ChainData& data, std::size_t begin, std::size_t end,
                                              Potentials<float>& to) {
  return chain_of(weights.rows, weights.edge_rows, labels, data, begin, end, to);
}

}  // namespace

ChainView<float> GrowingChain::chain(const ChainData& data, std::size_t begin, std::size_t end,
                                     Potentials<float>& to) const {
  return potentials_of(*this, labels(), data, begin, end, to);
}

}  // namespace trellis
