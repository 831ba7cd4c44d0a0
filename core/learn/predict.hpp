// Best paths of an encoded corpus by the weights of a chain.
#pragma once
#include "weights/potentials.hpp"

namespace trellis {

// Of all sentences, by n_threads; `local`: of a model normalised label by label.
void decode_all(const LinearChain& model, const ChainData& data, const std::int64_t* starts, std::size_t n_sentences,
                bool local, std::size_t n_threads, std::int32_t* paths);

}  // namespace trellis
