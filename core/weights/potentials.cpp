// The sums of both kinds of weights, compiled once per instruction set.
#include "weights/potentials.hpp"

#include "weights/growing_chain.hpp"

namespace trellis {

TRELLIS_CLONES ChainView<float> LinearChain::chain(const ChainData& data, std::size_t begin, std::size_t end,
                                                   Potentials<float>& to) const {
  return chain_of(rows, parts, edge_rows, labels, data, begin, end, to);
}

TRELLIS_CLONES ChainView<float> GrowingChain::chain(const ChainData& data, std::size_t begin, std::size_t end,
                                                    Potentials<float>& to) const {
  return chain_of(rows, parts, edge_rows, labels(), data, begin, end, to);
}

}  // namespace trellis
