// Viterbi without stored back-pointers: the forward pass keeps delta for all tokens and is all vector arithmetic over
// the new label z; the way back asks again, for the labels on the path only, which predecessor gave the maximum.
#include "engine/viterbi.hpp"

namespace trellis {
namespace {

// One row of delta: out[z] = (max_y (from[y] + table[y][z]) + edge[z]) + emit[z], without edge where it is null.
template <class Real>
struct Row {
  const Real* from;
  std::size_t from_step;  // from y to y + 1
  const Real* table;
  std::size_t table_step;  // from y to y + 1
  const Real* edge;
  const Real* emit;
  Real* out;
};

template <class Real, class Labels>
TRELLIS_INLINE void max_all(const Row<Real>& row, const Labels& labels, std::size_t stride) {
  each_block<Real>(stride, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
    constexpr std::size_t N = chunks, step = kLanes<Real>;
    Vector<Real> best[N];
    const Real* table = row.table + z;
    for (std::size_t n = 0; n < N; ++n)
      best[n] = row.from[labels[0] * row.from_step] + lanes(table + labels[0] * row.table_step + n * step);
    for (std::size_t i = 1; i < labels.size(); ++i) {
      const Real score = row.from[labels[i] * row.from_step];
      const Real* scores = table + labels[i] * row.table_step;
      for (std::size_t n = 0; n < N; ++n) {
        const Vector<Real> total = score + lanes(scores + n * step);
        best[n] = total > best[n] ? total : best[n];
      }
    }
    for (std::size_t n = 0; n < N; ++n) {
      if (row.edge) best[n] = best[n] + lanes(row.edge + z + n * step);
      lanes(row.out + z + n * step) = best[n] + lanes(row.emit + z + n * step);
    }
  });
}

// The same for the z of a short set, one by one.
template <class Real, class Labels>
TRELLIS_INLINE void max_listed(const Row<Real>& row, const Labels& labels, const Labels& targets) {
  for (std::size_t j = 0; j < targets.size(); ++j) {
    const std::size_t z = targets[j];
    Real best = row.from[labels[0] * row.from_step] + row.table[labels[0] * row.table_step + z];
    for (std::size_t i = 1; i < labels.size(); ++i) {
      const Real total = row.from[labels[i] * row.from_step] + row.table[labels[i] * row.table_step + z];
      best = total > best ? total : best;
    }
    if (row.edge) best = best + row.edge[z];
    row.out[z] = best + row.emit[z];
  }
}

// A set of a few labels is cheaper one by one than by vectors over all labels.
template <bool kAll, class Real, class Labels>
TRELLIS_INLINE void max_row(const Row<Real>& row, const Labels& labels, const Labels& targets, std::size_t stride) {
  if (kAll || targets.size() * kPadding > stride) max_all(row, labels, stride);
  else max_listed(row, labels, targets);
}

// Which labels are tried at token t: one type for all labels, one for allowed sets.
struct Everything {
  static constexpr bool kAll = true;
  std::size_t n_labels;
  AllLabels operator()(std::size_t) const { return {n_labels}; }
};
struct Allowed {
  static constexpr bool kAll = false;
  const LabelSets& sets;
  ListedLabels operator()(std::size_t t) const { return labels_of(sets, t); }
};

// Order 1. delta[t][z] is the best score of a prefix that ends with z at t:
//   delta[0][z] = edge_0[NULL][z] + emit[0][z]
//   delta[t][z] = max_y (delta[t-1][y] + edge_t[y][z]) + emit[t][z]
template <class Real, class LabelsAt>
TRELLIS_INLINE void forward_1(const ChainView<Real>& chain, Real* delta, const LabelsAt& labels_at) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  for (std::size_t z = 0; z < stride; ++z) delta[z] = chain.edge_at(0, L)[z] + chain.emit[z];
  for (std::size_t t = 1; t < T; ++t) {
    const Real* before = delta + (t - 1) * stride;
    const Row<Real> row{before, 1, chain.edge_at(t, 0), stride, nullptr, chain.emit_at(t), delta + t * stride};
    max_row<LabelsAt::kAll>(row, labels_at(t - 1), labels_at(t), stride);
  }
}

// Order 1, back:
//   z = argmax_z delta[T-1][z] + end[z]
//   y = argmax_y (delta[t-1][y] + edge_t[y][z]) + emit[t][z]
template <class Real, class LabelsAt>
TRELLIS_INLINE Real back_1(const ChainView<Real>& chain, const Real* delta, const LabelsAt& labels_at,
                           std::int32_t* path) {
  const std::size_t T = chain.n_tokens, stride = chain.stride;
  const Real* last = delta + (T - 1) * stride;
  const auto finals = labels_at(T - 1);
  std::size_t z = finals[0];
  Real score = chain.end ? last[z] + chain.end[z] : last[z];
  for (std::size_t j = 1; j < finals.size(); ++j) {
    const std::size_t other = finals[j];
    const Real total = chain.end ? last[other] + chain.end[other] : last[other];
    if (total > score) score = total, z = other;
  }
  path[T - 1] = static_cast<std::int32_t>(z);
  for (std::size_t t = T - 1; t > 0; --t) {
    const Real* before = delta + (t - 1) * stride;
    const Real emit = chain.emit_at(t)[z];
    const Real* table = chain.edge_at(t, 0) + z;
    const auto labels = labels_at(t - 1);
    std::size_t y = labels[0];
    Real best = (before[y] + table[y * stride]) + emit;
    for (std::size_t i = 1; i < labels.size(); ++i) {
      const Real total = (before[labels[i]] + table[labels[i] * stride]) + emit;
      if (total > best) best = total, y = labels[i];
    }
    path[t - 1] = static_cast<std::int32_t>(y);
    z = y;
  }
  return score;
}

// Order 2. delta[t][y][z] is the best score of a prefix that ends with y, z at t-1, t; at t = 0, y is NULL and the one
// row stands first:
//   delta[0][z]    = (tri[NULL][NULL][z] + edge_0[NULL][z]) + emit[0][z]
//   delta[1][y][z] = ((delta[0][y] + tri[NULL][y][z]) + edge_1[y][z]) + emit[1][z]
//   delta[t][y][z] = (max_x (delta[t-1][x][y] + tri[x][y][z]) + edge_t[y][z]) + emit[t][z]
template <class Real, class LabelsAt>
TRELLIS_INLINE void forward_2(const ChainView<Real>& chain, Real* delta, const LabelsAt& labels_at) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  const std::size_t tri_step = (L + 1) * stride;  // from x to x + 1
  const std::size_t token = L * stride;           // from t to t + 1 in delta
  for (std::size_t z = 0; z < stride; ++z)
    delta[z] = (chain.tri_at(L, L)[z] + chain.edge_at(0, L)[z]) + chain.emit[z];
  for (std::size_t t = 1; t < T; ++t) {
    const Real* before = delta + (t - 1) * token;
    const auto middles = labels_at(t - 1);
    for (std::size_t j = 0; j < middles.size(); ++j) {
      const std::size_t y = middles[j];
      Real* out = delta + t * token + y * stride;
      if (t == 1) {
        const Real* tri = chain.tri_at(L, y);
        for (std::size_t z = 0; z < stride; ++z)
          out[z] = ((before[y] + tri[z]) + chain.edge_at(1, y)[z]) + chain.emit_at(1)[z];
      } else {
        const Row<Real> row{before + y, stride, chain.tri_at(0, y), tri_step, chain.edge_at(t, y), chain.emit_at(t),
                            out};
        max_row<LabelsAt::kAll>(row, labels_at(t - 2), labels_at(t), stride);
      }
    }
  }
}

// Order 2, back:
//   z, y = argmax delta[T-1][y][z] + end[y][z], the lowest z first
//   x = argmax_x ((delta[t-1][x][y] + tri[x][y][z]) + edge_t[y][z]) + emit[t][z]
template <class Real, class LabelsAt>
TRELLIS_INLINE Real back_2(const ChainView<Real>& chain, const Real* delta, const LabelsAt& labels_at,
                           std::int32_t* path) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  const std::size_t tri_step = (L + 1) * stride, token = L * stride;
  const Real* last = delta + (T - 1) * token;
  const auto finals = labels_at(T - 1);
  std::size_t y = 0, z = 0;
  Real score = 0;
  if (T == 1) {
    for (std::size_t j = 0; j < finals.size(); ++j) {
      const Real total = chain.end ? last[finals[j]] + chain.end[L * stride + finals[j]] : last[finals[j]];
      if (j == 0 || total > score) score = total, z = finals[j];
    }
    path[0] = static_cast<std::int32_t>(z);
    return score;
  }
  const auto middles = labels_at(T - 2);
  for (std::size_t j = 0; j < finals.size(); ++j) {
    for (std::size_t i = 0; i < middles.size(); ++i) {
      const std::size_t at = middles[i] * stride + finals[j];
      const Real total = chain.end ? last[at] + chain.end[at] : last[at];
      if ((i == 0 && j == 0) || total > score) score = total, y = middles[i], z = finals[j];
    }
  }
  path[T - 1] = static_cast<std::int32_t>(z);
  path[T - 2] = static_cast<std::int32_t>(y);
  for (std::size_t t = T - 1; t > 1; --t) {
    const Real* before = delta + (t - 1) * token + y;
    const Real* table = chain.tri_at(0, y) + z;
    const Real edge = chain.edge_at(t, y)[z], emit = chain.emit_at(t)[z];
    const auto labels = labels_at(t - 2);
    std::size_t x = labels[0];
    Real best = ((before[x * stride] + table[x * tri_step]) + edge) + emit;
    for (std::size_t i = 1; i < labels.size(); ++i) {
      const Real total = ((before[labels[i] * stride] + table[labels[i] * tri_step]) + edge) + emit;
      if (total > best) best = total, x = labels[i];
    }
    path[t - 2] = static_cast<std::int32_t>(x);
    z = y;
    y = x;
  }
  return score;
}

template <class Real, class LabelsAt>
TRELLIS_INLINE void forward(const ChainView<Real>& chain, Real* delta, const LabelsAt& labels_at) {
  chain.tri ? forward_2(chain, delta, labels_at) : forward_1(chain, delta, labels_at);
}

template <class Real>
TRELLIS_INLINE const Real* best_prefixes_any(const ChainView<Real>& chain, Workspace<Real>& work) {
  const std::size_t row = chain.tri ? chain.n_labels * chain.stride : chain.stride;
  Real* delta = work.delta.grow(chain.n_tokens * row);
  if (chain.allowed) forward(chain, delta, Allowed{*chain.allowed});
  else forward(chain, delta, Everything{chain.n_labels});
  return delta;
}

template <class Real, class LabelsAt>
TRELLIS_INLINE Real back(const ChainView<Real>& chain, const Real* delta, const LabelsAt& labels_at,
                         std::int32_t* path) {
  return chain.tri ? back_2(chain, delta, labels_at, path) : back_1(chain, delta, labels_at, path);
}

template <class Real>
TRELLIS_INLINE Real best_path_any(const ChainView<Real>& chain, Workspace<Real>& work, std::int32_t* path) {
  if (chain.n_tokens == 0) return 0;
  const Real* delta = best_prefixes_any(chain, work);
  if (chain.allowed) return back(chain, delta, Allowed{*chain.allowed}, path);
  return back(chain, delta, Everything{chain.n_labels}, path);
}

}  // namespace

TRELLIS_CLONES const float* best_prefixes(const ChainView<float>& chain, Workspace<float>& work) {
  return best_prefixes_any(chain, work);
}
TRELLIS_CLONES const double* best_prefixes(const ChainView<double>& chain, Workspace<double>& work) {
  return best_prefixes_any(chain, work);
}
TRELLIS_CLONES float best_path(const ChainView<float>& chain, Workspace<float>& work, std::int32_t* path) {
  return best_path_any(chain, work, path);
}
TRELLIS_CLONES double best_path(const ChainView<double>& chain, Workspace<double>& work, std::int32_t* path) {
  return best_path_any(chain, work, path);
}

}  // namespace trellis
