// Both passes by logarithms: slower than products, and safe for potentials of any size.
#pragma once
#include "engine/sum_product.hpp"

namespace trellis {

// Both passes over a sentence, into w.alpha and w.after; log Z. The tables' transposes must be there.
TRELLIS_INLINE double log_passes(const Tables<double>& tables, const double* emit, std::size_t n, const double* token_edge,
                                 PassScratch<double>& w) {
  const std::size_t L = tables.n_labels, stride = tables.stride;
  const ChainView<double> chain = tables.view(n, emit, token_edge);
  w.grow(n, L, stride, chain.tri != nullptr);
  forward<LogSum>(chain, Everything{L}, w.alpha.data(), [](auto...) TRELLIS_INLINE_LAMBDA { return true; });
  const double* last = w.alpha.data() + (n - 1) * chain.token_size();
  const std::size_t n_rows = chain.tri && n > 1 ? L : 1;
  double log_z = kForbidden<double>;
  for (std::size_t z = 0; z < L; ++z) w.end[z] = chain.end ? chain.end[z] : 0;
  for (std::size_t row = 0; row < n_rows; ++row) {
    std::copy_n(w.end.data(), stride, w.beta.data() + row * stride);
    for (std::size_t z = 0; z < L; ++z) log_z = LogSum::plus(log_z, last[row * stride + z] + w.end[z]);
  }
  if (log_z == kForbidden<double>) return log_z;
  if (token_edge && !chain.tri) w.turn_edges(token_edge, n, L, stride);
  const Transposed<double> transposed{token_edge ? w.edge_transposed.data() : tables.edge_transposed.data(),
                                      tables.tri_transposed.data()};
  backward<LogSum>(chain, transposed, w.beta.data(), w.turned.data(), w.after.data(), [](auto...) TRELLIS_INLINE_LAMBDA {});
  return log_z;
}

}  // namespace trellis
