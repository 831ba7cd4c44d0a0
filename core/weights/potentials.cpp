// The sums of both kinds of weights, compiled once per instruction set.
#include "weights/potentials.hpp"

#include "weights/growing_chain.hpp"

namespace trellis {

TRELLIS_CLONES ChainView<float> LinearChain::chain(const ChainData& data, std::size_t begin, std::size_t end,
                                                   Potentials<float>& to) const {
  return chain_of<false>(rows, parts, edge_rows, labels, data, begin, end, to);
}

namespace {

// Separate functions, so that each is optimised independently.
TRELLIS_CLONES ChainView<float> chain_of_all(const GrowingChain& weights, const ChainData& data, std::size_t begin,
                                             std::size_t end, Potentials<float>& to) {
  return chain_of<false>(weights.rows, weights.parts, weights.edge_rows, weights.labels(), data, begin, end, to);
}
TRELLIS_CLONES ChainView<float> chain_of_listed(const GrowingChain& weights, const ChainData& data, std::size_t begin,
                                                std::size_t end, Potentials<float>& to) {
  return chain_of<true>(weights.rows, weights.parts, weights.edge_rows, weights.labels(), data, begin, end, to);
}

}  // namespace

ChainView<float> GrowingChain::chain(const ChainData& data, std::size_t begin, std::size_t end,
                                     Potentials<float>& to) const {
  return data.sets.starts ? chain_of_listed(*this, data, begin, end, to) : chain_of_all(*this, data, begin, end, to);
}

}  // namespace trellis
