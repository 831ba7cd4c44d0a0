#include "weights/local_chain.hpp"

#include <cmath>

#include "engine/factors.hpp"

namespace trellis {
namespace {

// scores[z] = (tri[x][y][z] + edge_t[y][z]) + emit_t[z], minus infinity for labels that are not allowed; tri null: none.
template <class Real>
TRELLIS_INLINE void score_labels(const ChainView<Real>& chain, std::size_t t, std::size_t y, const Real* tri, Real* scores) {
  const std::size_t stride = chain.stride;
  const Real *edge = chain.edge_at(t, y), *emit = chain.emit_at(t);
  if (chain.allowed) {
    const ListedLabels labels = labels_of(*chain.allowed, t);
    std::fill_n(scores, stride, kForbidden<Real>);
    for (std::size_t i = 0; i < labels.size(); ++i)
      scores[labels[i]] = (tri ? tri[labels[i]] + edge[labels[i]] : edge[labels[i]]) + emit[labels[i]];
  } else {
    for (std::size_t z = 0; z < stride; z += kLanes<Real>)
      lanes(scores + z) = (tri ? lanes(tri + z) + lanes(edge + z) : lanes(edge + z)) + lanes(emit + z);
  }
}

// Z = exp(top) · sum, so that neither overflows.
template <class Real>
struct Normalization {
  Real top, sum;
  // Minus infinity where all is forbidden.
  template <class To>
  TRELLIS_INLINE To log() const { return To(top) + std::log(To(sum)); }
};

// Scores [stride] become exp(score - top).
template <class Real>
TRELLIS_INLINE Normalization<Real> exp_labels(std::size_t n_labels, std::size_t stride, Real* scores) {
  const Real top = exp_row(scores, n_labels, stride, scores);
  return {top, sum_lanes(scores, stride)};
}

template <class Real>
TRELLIS_INLINE double decide_any(const ChainView<Real>& chain, const Part& part, const Real* longer, Real* probabilities) {
  score_labels(chain, part.token, part.y, longer, probabilities);
  const double score = probabilities[part.z];
  const Normalization<Real> z = exp_labels(chain.n_labels, chain.stride, probabilities);
  const auto by = static_cast<Real>(1 / static_cast<double>(z.sum));
  for (std::size_t i = 0; i < chain.stride; i += kLanes<Real>) lanes(probabilities + i) *= by;
  return z.template log<double>() - score;
}

}  // namespace

TRELLIS_CLONES double decide(const ChainView<float>& chain, const Part& part, const float* longer, float* probabilities) {
  return decide_any(chain, part, longer, probabilities);
}
TRELLIS_CLONES double decide(const ChainView<double>& chain, const Part& part, const double* longer, double* probabilities) {
  return decide_any(chain, part, longer, probabilities);
}

LocalNormalizer::LocalNormalizer(const float* tri, std::size_t n_labels) {
  if (!tri) return;
  const std::size_t stride = padded(n_labels), n = (n_labels + 1) * (n_labels + 1);
  factors_.resize(n * stride);
  tops_.resize(n);
  for (std::size_t i = 0; i < n; ++i) tops_[i] = exp_row(tri + i * stride, n_labels, stride, factors_.data() + i * stride);
}

// One sentence on its way.
struct LocalPass {
  const LocalNormalizer& of;
  const ChainView<float> chain;
  float *emit, *edge;
  float *exps, *exact;  // [stride] each

  // Below this a sum of factors may owe something to factors that became zero.
  static constexpr float kSafe = 1e-30f;

  TRELLIS_INLINE void run() const {
    const std::size_t L = chain.n_labels;
    for (std::size_t t = 0; t < chain.n_tokens; ++t)
      for (std::size_t y = t ? 0 : L; y < (t ? L : L + 1); ++y) {
        score_labels<float>(chain, t, y, nullptr, exps);
        const Normalization<float> pairs = exp_labels(L, chain.stride, exps);
        if (!chain.tri) {
          take(t, L, y, pairs.log<float>());
          continue;
        }
        for (std::size_t x = t > 1 ? 0 : L; x < (t > 1 ? L : L + 1); ++x) take(t, x, y, log_z(t, x, y, pairs.top));
      }
  }

  // At order 2 the exponentials of pairs and of triples are computed once each; where their products underflow, anew.
  TRELLIS_INLINE float log_z(std::size_t t, std::size_t x, std::size_t y, float top) const {
    const std::size_t L = chain.n_labels, stride = chain.stride, at = x * (L + 1) + y;
    Vector<float> total = {};
    for (std::size_t z = 0; z < stride; z += kLanes<float>)
      total += lanes(of.factors_.data() + at * stride + z) * lanes(exps + z);
    const float sum = sum_of<float>(total);
    if (sum > kSafe) return Normalization<float>{top + of.tops_[at], sum}.log<float>();
    score_labels(chain, t, y, chain.tri_at(x, y), exact);
    return exp_labels(L, stride, exact).log<float>();
  }

  // A history after which everything is forbidden has probability 0.
  TRELLIS_INLINE void take(std::size_t t, std::size_t x, std::size_t y, float log_z) const {
    const std::size_t L = chain.n_labels, stride = chain.stride;
    const auto less = [log_z](float score) { return log_z == kForbidden<float> ? log_z : score - log_z; };
    if (t == 0) {
      for (std::size_t z = 0; z < L; ++z) emit[z] = less(emit[z]);
    } else {
      float& before = chain.tri ? edge[((t - 1) * (L + 1) + x) * stride + y] : emit[(t - 1) * stride + y];
      before = less(before);
    }
  }
};

TRELLIS_CLONES void LocalNormalizer::normalize(const ChainView<float>& chain, float* emit, float* edge,
                                               std::vector<float>& scratch) const {
  if (scratch.size() < 2 * chain.stride) scratch.resize(2 * chain.stride);
  LocalPass{*this, chain, emit, edge, scratch.data(), scratch.data() + chain.stride}.run();
}

}  // namespace trellis
