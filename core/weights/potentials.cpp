// The sums of both kinds of weights, compiled once per instruction set.
#include "weights/potentials.hpp"

#include "weights/growing_chain.hpp"

namespace trellis {
namespace {

TRELLIS_CLONES ChainView<float> fill(const LinearChain& w, const ChainData& data, std::size_t begin, std::size_t end,
                                     Potentials<float>& to) {
  return chain_of(w.rows, w.edge_rows, w.labels, data, begin, end, to);
}
TRELLIS_CLONES ChainView<float> fill(const GrowingChain& w, const ChainData& data, std::size_t begin, std::size_t end,
                                     Potentials<float>& to) {
  return chain_of(w.rows, w.edge_rows, w.labels(), data, begin, end, to);
}

}  // namespace

ChainView<float> LinearChain::chain(const ChainData& data, std::size_t begin, std::size_t end,
                                    Potentials<float>& to) const {
  return fill(*this, data, begin, end, to);
}

ChainView<float> GrowingChain::chain(const ChainData& data, std::size_t begin, std::size_t end,
                                     Potentials<float>& to) const {
  return fill(*this, data, begin, end, to);
}

}  // namespace trellis
