// How probable a span is: the sum over all paths that have exactly that span, by constrained forward-backward.
#include "engine/elementary.hpp"
#include "engine/forward_backward.hpp"

namespace trellis {
namespace {

// Whether a path that has a span may have y, z at t - 1, t, for t from its begin to its end: only labels of its type inside,
// cuts at its borders and none within.
bool may_have(const SpanQuery& span, const SpanLabels& labels, std::size_t L, std::size_t t, std::size_t y, std::size_t z) {
  const auto begin = static_cast<std::size_t>(span.begin), end = static_cast<std::size_t>(span.end);
  if (t < end && labels.type_of[z] != span.type) return false;
  return y == L || (labels.cut[y * L + z] != 0) == (t == begin || t == end);
}

// Of a chain of order 1 whose sums by products are in `work`. What comes before the span is in alpha, what comes after it in
// `after`; sums[z] over all beginnings of such paths with z at t:
//
//   sums_t[z] = (sum_y sums_{t-1}[y] · edge_t[y][z]) · emit_t[z], for the y, z that they may have;   after the span · after_t[z]
double sum_between(std::size_t T, const SumWorkspace& work, const SpanLabels& labels, const SpanQuery& span) {
  const PassScratch<double>& passes = work.passes;
  const ChainView<double> chain = work.factors.view(T, passes.emit.data(), work.edge_per_token ? passes.edge.data() : nullptr);
  const std::size_t L = chain.n_labels, stride = chain.stride;
  const auto begin = static_cast<std::size_t>(span.begin), end = static_cast<std::size_t>(span.end);
  std::vector<double> sums(L + 1), next;  // of labels and NULL
  if (begin) std::copy_n(passes.alpha.data() + (begin - 1) * stride, L, sums.data());
  else sums[L] = 1;
  for (std::size_t t = begin; t < std::min(end + 1, T); ++t) {
    const double* last = t < end ? chain.emit_at(t) : passes.after.data() + t * stride;
    next.assign(L + 1, 0);
    for (std::size_t y = 0; y <= L; ++y)
      for (std::size_t z = 0; z < L && sums[y] > 0; ++z)
        if (may_have(span, labels, L, t, y, z)) next[z] += sums[y] * chain.edge_at(t, y)[z] * last[z];
    sums.swap(next);
  }
  double total = 0;
  for (std::size_t z = 0; z < L; ++z) total += end < T ? sums[z] : sums[z] * passes.end[z];
  return total;
}

}  // namespace

// At order 1 by one recursion over the tokens of a span. Where more labels reach over its borders, or products vanish: log Z of
// the paths that have it, less log Z of all.
double span_sums(const ChainView<double>& chain, SumWorkspace& work, const SpanLabels& labels, const SpanQuery* spans,
                 std::size_t n, double* probabilities) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride, cells = (L + 1) * stride;
  if (T == 0) return 0;
  if (!chain.ngrams && !chain.tri) {
    load_sentence(chain, work);
    work.node.resize(T * stride);
    Expectations<double> x;
    x.node = work.node.data();
    const double log_z = sum_product(work.factors, work.emit.data(), T, work.token_edge(), 1.0, work.passes, &x);
    for (std::size_t i = 0; i < n && log_z > kForbidden<double>; ++i) probabilities[i] = sum_between(T, work, labels, spans[i]);
    if (log_z > kForbidden<double>) return log_z;
  }
  const double log_z = log_partition(chain, work);
  std::vector<double> edge(T * cells);  // [T, L+1, stride]
  ChainView<double> having = chain;
  having.edge_per_token = true, having.edge = edge.data();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t t = 0; t < T; ++t) std::copy_n(chain.edge_at(t, 0), cells, edge.data() + t * cells);
    for (auto t = static_cast<std::size_t>(spans[i].begin); t < std::min(static_cast<std::size_t>(spans[i].end) + 1, T); ++t)
      for (std::size_t y = 0; y <= L; ++y)
        for (std::size_t z = 0; z < L; ++z)
          if (!may_have(spans[i], labels, L, t, y, z)) edge[t * cells + y * stride + z] = kForbidden<double>;
    probabilities[i] = log_z > kForbidden<double> ? exp(log_partition(having, work) - log_z) : 0;
  }
  return log_z;
}

}  // namespace trellis
