#include "weights/local_chain.hpp"

#include <cmath>

#include "engine/factors.hpp"
#include "weights/potentials.hpp"

namespace trellis {

LocalNormalizer::LocalNormalizer(const LabelWeights& labels)
    : n_labels_(labels.n_labels), stride_(labels.stride), edge_(labels.edge), tri_(labels.tri) {
  if (!tri_) return;
  const std::size_t n = (n_labels_ + 1) * (n_labels_ + 1);
  factors_.resize(n * stride_);
  tops_.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    tops_[i] = exp_row(tri_ + i * stride_, n_labels_, stride_, factors_.data() + i * stride_);
}

// One sentence on its way.
struct LocalPass {
  const LocalNormalizer& of;
  float* emit;
  float* edge_by_token;
  float *row, *exps;  // [stride] each

  // Below this a sum of factors may owe something to factors that became zero.
  static constexpr float kSafe = 1e-30f;

  TRELLIS_INLINE void run(std::size_t n, const LabelSets* allowed) const {
    const std::size_t L = of.n_labels_, stride = of.stride_;
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t y = t ? 0 : L; y < (t ? L : L + 1); ++y) {
        const float top = scores(t, y, allowed);
        if (!of.tri_) {
          take(t, L, y, top + std::log(sum_lanes(exps, stride)));
          continue;
        }
        for (std::size_t x = t > 1 ? 0 : L; x < (t > 1 ? L : L + 1); ++x) take(t, x, y, log_sum(x, y, top));
      }
  }

  // row[z] = edge_t[y][z] + emit_t[z] for allowed labels, exps = exp(row - top)
  TRELLIS_INLINE float scores(std::size_t t, std::size_t y, const LabelSets* allowed) const {
    const std::size_t L = of.n_labels_, stride = of.stride_;
    const float* edge = (edge_by_token ? edge_by_token + t * (L + 1) * stride : of.edge_) + y * stride;
    const float* here = emit + t * stride;
    if (allowed) {
      const ListedLabels labels = labels_of(*allowed, t);
      for (std::size_t z = 0; z < stride; ++z) row[z] = kForbidden<float>;
      for (std::size_t i = 0; i < labels.size(); ++i) row[labels[i]] = edge[labels[i]] + here[labels[i]];
    } else {
      for (std::size_t z = 0; z < stride; z += kLanes<float>) lanes(row + z) = lanes(edge + z) + lanes(here + z);
    }
    return exp_row(row, L, stride, exps);
  }

  TRELLIS_INLINE float log_sum(std::size_t x, std::size_t y, float top) const {
    const std::size_t L = of.n_labels_, stride = of.stride_, at = x * (L + 1) + y;
    Vector<float> total = {};
    for (std::size_t z = 0; z < stride; z += kLanes<float>) total += lanes(of.factors_.data() + at * stride + z) * lanes(exps + z);
    float sum = 0;
    for (std::size_t lane = 0; lane < kLanes<float>; ++lane) sum += total[lane];
    if (sum > kSafe) return (top + of.tops_[at]) + std::log(sum);
    float best = kForbidden<float>;
    for (std::size_t z = 0; z < L; ++z) best = std::max(best, row[z] + of.tri_[at * stride + z]);
    if (best == kForbidden<float>) return best;
    sum = 0;
    for (std::size_t z = 0; z < L; ++z) sum += std::exp(row[z] + of.tri_[at * stride + z] - best);
    return best + std::log(sum);
  }

  // A history after which everything is forbidden has probability 0.
  TRELLIS_INLINE void take(std::size_t t, std::size_t x, std::size_t y, float log_z) const {
    const std::size_t L = of.n_labels_, stride = of.stride_;
    const auto less = [log_z](float score) { return log_z == kForbidden<float> ? log_z : score - log_z; };
    if (t == 0) {
      for (std::size_t z = 0; z < L; ++z) emit[z] = less(emit[z]);
    } else {
      float& before =
          of.tri_ ? edge_by_token[((t - 1) * (L + 1) + x) * stride + y] : emit[(t - 1) * stride + y];
      before = less(before);
    }
  }
};

TRELLIS_CLONES void LocalNormalizer::normalize(std::size_t n, const LabelSets* allowed, float* emit,
                                               float* edge_by_token, std::vector<float>& scratch) const {
  if (scratch.size() < 2 * stride_) scratch.resize(2 * stride_);
  LocalPass{*this, emit, edge_by_token, scratch.data(), scratch.data() + stride_}.run(n, allowed);
}

}  // namespace trellis
