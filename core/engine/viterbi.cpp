// Viterbi without stored back-pointers: the forward pass stores delta for all tokens and is all vector arithmetic over
// the new label z; the back-trace recomputes, for the labels on the path only, which predecessor gave the maximum.
#include "engine/viterbi.hpp"

#include "engine/chain_passes.hpp"

namespace trellis {
namespace {

// The first label whose term equals entry z of a row; if none does (NaN), the last label.
template <class Real, class Labels>
TRELLIS_INLINE std::size_t first_way_in(const Row<Real>& row, const Labels& labels, std::size_t z) {
  std::size_t i = 0;
  while (i + 1 < labels.size() && extend<MaxPlus>(row, row.from[labels[i] * row.from_step], labels[i], z) != row.out[z]) ++i;
  return labels[i];
}

// The last history: argmax delta_{T-1}[y][z] + end[z], the lowest z first. Then, going back, the label that drops out: the first
// one that reproduces the history's score by the same operations.
//   x = first x: ((delta_{t-1}[x][y] + tri[x][y][z]) + edge_t[y][z]) + emit_t[z] = delta_t[y][z]
template <class Real, class LabelsAt>
TRELLIS_INLINE Real trace(const ChainView<Real>& chain, std::size_t order, Real* delta, const LabelsAt& labels_at,
                          std::int32_t* path) {
  const std::size_t T = chain.n_tokens;
  const auto finals = labels_at(T - 1), middles = middles_at(chain, T - 1, labels_at);
  const Real* last = delta + (T - 1) * chain.token_size();
  std::size_t y = middles[0], z = finals[0];
  const auto total = [&](std::size_t i, std::size_t j) TRELLIS_INLINE_LAMBDA {
    const Real score = last[middles[i] * chain.stride + finals[j]];
    return chain.end ? score + chain.end[finals[j]] : score;
  };
  Real score = total(0, 0);
  for (std::size_t j = 0; j < finals.size(); ++j)
    for (std::size_t i = 0; i < middles.size(); ++i)
      if (total(i, j) > score) score = total(i, j), y = middles[i], z = finals[j];
  path[T - 1] = static_cast<std::int32_t>(z);
  if (order == 2 && T > 1) path[T - 2] = static_cast<std::int32_t>(y);
  for (std::size_t t = T - 1; t >= order; --t) {
    Real* here = delta + t * chain.token_size();
    TRELLIS_ASSUME(t >= order);
    const Row<Real> row = row_at<MaxPlus>(chain, t, y, here - chain.token_size(), here);
    const std::size_t x = first_way_in(row, labels_at(t - order), z);
    path[t - order] = static_cast<std::int32_t>(x);
    z = order == 2 ? y : x;
    y = order == 2 ? x : y;
  }
  return score;
}

// delta (alpha in MaxPlus) of all tokens; with a path, also the best one and its score.
template <class Real>
TRELLIS_INLINE Real run_any(const ChainView<Real>& chain, Real* delta, std::int32_t* path) {
  const auto both = [&](const auto& labels_at) TRELLIS_INLINE_LAMBDA {
    forward<MaxPlus>(chain, labels_at, delta, [](auto...) TRELLIS_INLINE_LAMBDA { return true; });
    if (!path) return Real(0);
    return by_order(chain, [&](const ChainView<Real>& known, auto order) TRELLIS_INLINE_LAMBDA {
      return trace(known, order, delta, labels_at, path);
    });
  };
  return chain.allowed ? both(Allowed{*chain.allowed}) : both(Everything{chain.n_labels});
}

}  // namespace

#define TRELLIS_RUN(Real) \
  TRELLIS_CLONES Real search_dense(const ChainView<Real>& chain, Real* delta, std::int32_t* path) { return run_any(chain, delta, path); }
TRELLIS_FOR_REALS(TRELLIS_RUN)
#undef TRELLIS_RUN

template <class Real>
Real best_path(const ChainView<Real>& chain, Workspace<Real>& work, std::int32_t* path) {
  if (on_lattice(chain)) return search_lattice(chain, work.histories).best(path);
  if (chain.ngrams) return best_history(chain, work.histories, path);
  return chain.n_tokens ? search_dense(chain, grow(work.delta, chain.n_tokens * chain.token_size()), path) : 0;
}

template float best_path(const ChainView<float>&, Workspace<float>&, std::int32_t*);
template double best_path(const ChainView<double>&, Workspace<double>&, std::int32_t*);

}  // namespace trellis
