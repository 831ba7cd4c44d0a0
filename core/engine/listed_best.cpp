#include "engine/listed_best.hpp"

namespace trellis {
//   alpha_t[y][z] = (max_x (alpha_{t-1}[x][y] + tri[x, y, z]) + edge[y][z]) + emit_t[z]
// Then back: x = first x: ((alpha_{t-1}[x][y] + tri[x, y, z]) + edge[y][z]) + emit_t[z] = alpha_t[y][z]
template <class Real>
Real best_listed(const ChainView<Real>& chain, ListedWorkspace<Real>& w, std::int32_t* path) {
  const std::size_t T = chain.n_tokens;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const Real* scores = chain.ngrams->scores;
  const ListsOf listed{*chain.allowed, static_cast<std::int32_t>(chain.n_labels)};
  listed.lay_out(T, w.at);
  if (w.alpha.size() < w.at[T]) w.alpha.resize(w.at[T]), w.pairs.resize(w.at[T]);
  for (std::size_t t = 0; t < T; ++t) {
    const ListedLabels xs = listed(t, 2), ys = listed(t, 1), zs = listed(t, 0);
    const Real *emit = chain.emit_at(t), *before = t ? w.alpha.data() + w.at[t - 1] : nullptr;
    const std::uint32_t* pairs = t ? w.pairs.data() + w.at[t - 1] : nullptr;
    Real* alpha = w.alpha.data() + w.at[t];
    w.best.resize(zs.n);
    for (std::size_t j = 0; j < ys.n; ++j, alpha += zs.n) {
      const Real* edge = chain.edge_at(t, ys[j]);
      Real other = t ? kForbidden<Real> : 0;  // the best of pairs with which no triple begins
      for (std::size_t i = 0; t && i < xs.n; ++i)
        if (pairs[i * ys.n + j] == Ngrams::kNone) other = std::max(other, before[i * ys.n + j]);
      std::fill(w.best.begin(), w.best.end(), other);
      for (std::size_t i = 0; t && i < xs.n; ++i)
        if (const std::uint32_t pair = pairs[i * ys.n + j]; pair != Ngrams::kNone)
          for (std::size_t k = 0; k < zs.n; ++k) {
            const std::uint32_t triple = ngrams.find(pair, zs[k]);
            const Real score = before[i * ys.n + j];
            w.best[k] = std::max(w.best[k], triple == Ngrams::kNone ? score : score + scores[triple]);
          }
      std::uint32_t* nodes = w.pairs.data() + w.at[t] + j * zs.n;
      for (std::size_t k = 0; k < zs.n; ++k) {
        alpha[k] = (w.best[k] + edge[zs[k]]) + emit[zs[k]];
        nodes[k] = beginning(ngrams, ys[j], zs[k]);
      }
    }
  }
  const ListedLabels ys = listed(T - 1, 1), zs = listed(T - 1, 0);
  Real best = kForbidden<Real>;
  std::size_t j = 0, k = 0;
  for (std::size_t z = 0; z < zs.n; ++z)
    for (std::size_t y = 0; y < ys.n; ++y) {
      const Real score = w.alpha[w.at[T - 1] + y * zs.n + z], total = chain.end ? score + chain.end[zs[z]] : score;
      if (total > best) best = total, j = y, k = z;
    }
  if (best == kForbidden<Real>) {
    for (std::size_t t = 0; t < T; ++t) path[t] = listed(t, 0).labels[0];
    return best;
  }
  path[T - 1] = zs.labels[k];
  if (T > 1) path[T - 2] = ys.labels[j];
  for (std::size_t t = T - 1; t >= 2; --t) {
    const ListedLabels labels = listed(t, 2);
    const std::size_t n = listed(t, 1).n, z = listed(t, 0)[k];
    const Real edge = chain.edge_at(t, listed(t, 1)[j])[z], emit = chain.emit_at(t)[z];
    const Real target = w.alpha[w.at[t] + j * listed(t, 0).n + k];
    const auto grown = [&](std::size_t i) {
      Real score = w.alpha[w.at[t - 1] + i * n + j];
      if (const std::uint32_t pair = w.pairs[w.at[t - 1] + i * n + j]; pair != Ngrams::kNone)
        if (const std::uint32_t triple = ngrams.find(pair, z); triple != Ngrams::kNone) score += scores[triple];
      return (score + edge) + emit;
    };
    std::size_t i = 0;
    while (i + 1 < labels.n && grown(i) != target) ++i;
    path[t - 2] = labels.labels[i];
    k = j, j = i;
  }
  return best;
}

template float best_listed(const ChainView<float>&, ListedWorkspace<float>&, std::int32_t*);
template double best_listed(const ChainView<double>&, ListedWorkspace<double>&, std::int32_t*);

}  // namespace trellis
