// How probable a span is: the sum over all paths that have exactly that span, by constrained forward-backward.
#pragma once
#include "engine/forward_backward.hpp"

namespace trellis {

// What labels say of spans. A label is outside or belongs to a span of its type; between two neighbours a span goes on,
// or something ends or begins there (a cut).
struct SpanLabels {
  const std::int32_t* type_of;  // [L], -1 outside
  const std::uint8_t* cut;      // [L, L] of y and z after it
};

// The tokens begin..end, end not included, of one sentence.
struct SpanQuery {
  std::int64_t begin, end;  // 0 <= begin < end <= T
  std::int32_t type;
};

// Writes the probability of each of n spans and returns log Z, as marginals does; 0 if all paths are forbidden.
// prepare_sums goes before, as for all sums.
template <class Real>
double span_sums(const ChainView<Real>& chain, SumWorkspace& work, const SpanLabels& labels, const SpanQuery* spans,
                 std::size_t n, double* probabilities);

}  // namespace trellis
