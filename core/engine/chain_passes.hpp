// Forward and backward passes over a chain, for every order and every semiring.
//
// The scores of a history are indexed by its last label z, at order 2 by its last two labels y, z. All histories with one
// `middle` (the label y at order 2; a single dummy at order 1) are extended in one row, summed over the labels that drop out
// of the history:
//
//   order 1   alpha_t[z]    = (sum_y alpha_{t-1}[y] · edge_t[y][z]) · emit_t[z]
//   order 2   alpha_t[y][z] = (sum_x alpha_{t-1}[x][y] · tri[x][y][z]) · edge_t[y][z] · emit_t[z]
//
// The backward pass is the same loop over transposed tables.
#pragma once
#include "engine/row.hpp"

namespace trellis {

// The candidate labels at token t: one type for all labels, one for allowed sets. `only`: a single label numbered 0.
struct Everything {
  static constexpr bool kAll = true;
  std::size_t n_labels;
  AllLabels operator()(std::size_t) const { return {n_labels}; }
  AllLabels only() const { return {1}; }
};
struct Allowed {
  static constexpr bool kAll = false;
  const LabelSets& sets;
  ListedLabels operator()(std::size_t t) const { return labels_of(sets, t); }
  ListedLabels only() const {
    static constexpr std::int32_t zero = 0;
    return {&zero, 1};
  }
};

// Calls work(chain, order) with the sizes that the order fixes known to the compiler, and the chain in registers.
template <class Real, class Work>
TRELLIS_INLINE auto by_order(ChainView<Real> chain, Work work) {
  if (chain.tri) return work(chain, Size<2>{});
  chain.tri = nullptr;
  return work(chain, Size<1>{});
}

// The middles of the histories of token t.
template <class Real, class LabelsAt>
TRELLIS_INLINE auto middles_at(const ChainView<Real>& chain, std::size_t t, const LabelsAt& labels_at) {
  return chain.tri && t ? labels_at(t - 1) : labels_at.only();
}

// The labels that drop out of the histories as they are extended to token t; `only` if that label is NULL.
template <class Real, class LabelsAt>
TRELLIS_INLINE auto leavers_at(const ChainView<Real>& chain, std::size_t t, const LabelsAt& labels_at) {
  const std::size_t order = chain.tri ? 2 : 1;
  return t >= order ? labels_at(t - order) : labels_at.only();
}

// The row of one middle at token t, from the histories of the previous token.
template <class S, class Real>
TRELLIS_INLINE Row<Real> row_at(const ChainView<Real>& chain, std::size_t t, std::size_t middle, const Real* from,
                                Real* to) {
  static constexpr Real one = S::template one<Real>;
  const std::size_t L = chain.n_labels, stride = chain.stride;
  Real* out = to + middle * stride;
  const Real* emit = chain.emit_at(t);
  TRELLIS_ASSUME(emit);
  if (!chain.tri) {
    if (t == 0) return {&one, 0, chain.edge_at(0, L), 0, nullptr, emit, out};
    return {from, 1, chain.edge_at(t, 0), stride, nullptr, emit, out};
  }
  const Real* edge = chain.edge_at(t, t ? middle : L);
  TRELLIS_ASSUME(edge);
  if (t == 0) return {&one, 0, chain.tri_at(L, L), 0, edge, emit, out};
  if (t == 1) return {from + middle, 0, chain.tri_at(L, middle), 0, edge, emit, out};
  return {from + middle, stride, chain.tri_at(0, middle), (L + 1) * stride, edge, emit, out};
}

// alpha of all tokens, [T, stride] or [T, L, stride]; only entries of allowed labels are written. After each token
// after(t, its alpha, n_rows) is called; the pass stops if that is false.
template <class S, class Real, class LabelsAt, class After>
TRELLIS_INLINE bool forward(const ChainView<Real>& chain, const LabelsAt& labels_at, Real* alpha, After after) {
  return by_order(chain, [&](const auto& known, auto order) TRELLIS_INLINE_LAMBDA {
    const std::size_t size = known.token_size();
    Real* here = alpha;
    for (std::size_t t = 0; t < known.n_tokens; ++t, here += size) {
      const auto middles = middles_at(known, t, labels_at);
      if (t < order) {  // only one predecessor
        for (std::size_t j = 0; j < middles.size(); ++j) {
          const Row<Real> row = row_at<S>(known, t, middles[j], t ? here - size : here, here);
          for (std::size_t z = 0; z < known.stride; z += kLanes<Real>) lanes_at(row.out + z) = extend_lanes<S>(row, z);
        }
      } else {
        const auto leavers = labels_at(t - order);
        const auto row = [&](std::size_t j) TRELLIS_INLINE_LAMBDA {
          TRELLIS_ASSUME(t >= order);
          return row_at<S>(known, t, middles[j], here - size, here);
        };
        if (LabelsAt::kAll && order == 2 && known.stride <= kBlock)  // the row length is tested once
          each_block<Real>(known.stride, [&](auto n, std::size_t z) TRELLIS_INLINE_LAMBDA {
            for (std::size_t j = 0; j < middles.size(); ++j) reduce_block<S, n>(row(j), leavers, z);
          });
        else
          for (std::size_t j = 0; j < middles.size(); ++j)
            // For a set of few labels a scalar loop is cheaper than vectors over all labels.
            if (const auto targets = labels_at(t); LabelsAt::kAll || targets.size() * kPadding > known.stride)
              reduce_all<S>(row(j), leavers, known.stride);
            else reduce_listed<S>(row(j), leavers, targets);
      }
      if (!after(t, here, middles.size())) return false;
    }
    return true;
  });
}

// after_t: the score from a history of token t - 1 on, including token t:
//
//   order 1   after_t[z]    = emit_t[z] · beta_t[z],                  beta_{t-1}[y]    = sum_z edge_t[y][z] · after_t[z]
//   order 2   after_t[y][z] = edge_t[y][z] · emit_t[z] · beta_t[y][z],  beta_{t-1}[x][y] = sum_z tri[x][y][z] · after_t[y][z]
//
// over all labels, from the last beta ([rows of the last token, stride], overwritten) back. Transposed tables: edges
// [L, stride] of z and previous y, or [T, L+1, stride] if edge_per_token; triples [L, L, stride] of y, z and previous x.
// `after` has the shape of alpha; `turned` is [stride, stride], used at order 2. visit(t, beta, n_rows) is called for a token before
// its beta is overwritten.
template <class S, class Real, class Visit>
TRELLIS_INLINE void backward(const ChainView<Real>& chain, const Real* edges, const Real* triples, Real* beta, Real* turned,
                             Real* after, Visit visit) {
  const std::size_t L = chain.n_labels, stride = chain.stride, size = chain.token_size();
  for (std::size_t t = chain.n_tokens; t-- > 0;) {
    const std::size_t n_rows = chain.tri && t ? L : 1;
    Real* here = after + t * size;
    visit(t, beta, n_rows);
    for (std::size_t y = 0; y < n_rows; ++y)
      for (std::size_t z = 0; z < stride; z += kLanes<Real>) {
        Vector<Real> value = S::times(lanes(chain.emit_at(t) + z), lanes(beta + y * stride + z));
        if (chain.tri) value = S::times(lanes(chain.edge_at(t, t ? y : L) + z), value);
        lanes_at(here + y * stride + z) = value;
      }
    if (t == 0) break;
    const AllLabels all{L};
    if (!chain.tri) {
      const Real* table = edges + (chain.edge_per_token ? t * (L + 1) * stride : 0);
      reduce_all<S>(Row<Real>{here, 1, table, stride, nullptr, nullptr, beta}, all, stride);
    } else if (t > 1) {
      for (std::size_t y = 0; y < L; ++y)
        reduce_all<S>(Row<Real>{here + y * stride, 1, triples + y * L * stride, stride, nullptr, nullptr, turned + y * stride},
                      all, stride);
      transpose(turned, stride, L, L, beta, stride);
    } else {
      for (std::size_t y = 0; y < stride; ++y) beta[y] = S::template zero<Real>;
      for (std::size_t y = 0; y < L; ++y)
        for (std::size_t z = 0; z < L; ++z)
          beta[y] = S::plus(beta[y], S::times(chain.tri_at(L, y)[z], here[y * stride + z]));
    }
  }
}

}  // namespace trellis
