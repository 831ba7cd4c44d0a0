#include "engine/forward_backward.hpp"

#include "engine/passes.hpp"

namespace trellis {
namespace {

template <class Real>
TRELLIS_INLINE void prepare_any(const ChainView<Real>& chain, SumWorkspace& work) {
  work.has_table = chain.tri || !chain.edge_per_token;
  if (!work.has_table) return;
  const std::size_t L = chain.n_labels, rows = chain.tri ? (L + 1) * (L + 1) : L + 1;
  const Real* scores = chain.tri ? chain.tri : chain.edge;
  double* table = work.table.grow(rows * chain.stride);
  work.top = kImpossible;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t z = 0; z < L; ++z)
      work.top = std::max(work.top, static_cast<double>(scores[r * chain.stride + z]));
  if (work.top == kImpossible) work.top = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t z = 0; z < chain.stride; ++z) {
      const std::size_t at = r * chain.stride + z;
      table[at] = z < L ? std::exp(static_cast<double>(scores[at]) - work.top) : 0.0;
    }
}

template <class Real>
TRELLIS_INLINE double log_partition_any(const ChainView<Real>& chain, SumWorkspace& work) {
  if (chain.n_tokens == 0) return 0;
  const Passes<Real> passes(chain, work);
  passes.start();
  chain.tri ? passes.forward_2() : passes.forward_1();
  return passes.finish();
}

template <class Real>
TRELLIS_INLINE double marginals_any(const ChainView<Real>& chain, SumWorkspace& work, double* node, double* edge) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels;
  std::fill(node, node + T * L, 0.0);
  if (edge) std::fill(edge, edge + T * (L + 1) * L, 0.0);
  if (T == 0) return 0;
  const Passes<Real> passes(chain, work);
  const double log_z = passes.both();
  if (log_z == kImpossible) return log_z;
  chain.tri ? passes.marginals_2(log_z, node, edge) : passes.marginals_1(log_z, node, edge);
  return log_z;
}

}  // namespace

TRELLIS_CLONES void prepare_sums(const ChainView<float>& chain, SumWorkspace& work) { prepare_any(chain, work); }
TRELLIS_CLONES void prepare_sums(const ChainView<double>& chain, SumWorkspace& work) { prepare_any(chain, work); }

TRELLIS_CLONES double log_partition(const ChainView<float>& chain, SumWorkspace& work) {
  return log_partition_any(chain, work);
}
TRELLIS_CLONES double log_partition(const ChainView<double>& chain, SumWorkspace& work) {
  return log_partition_any(chain, work);
}

TRELLIS_CLONES double marginals(const ChainView<float>& chain, SumWorkspace& work, double* node, double* edge) {
  return marginals_any(chain, work, node, edge);
}
TRELLIS_CLONES double marginals(const ChainView<double>& chain, SumWorkspace& work, double* node, double* edge) {
  return marginals_any(chain, work, node, edge);
}

}  // namespace trellis
