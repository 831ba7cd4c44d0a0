#include "weights/local_chain.hpp"

#include "engine/elementary.hpp"
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
      lanes_at(scores + z) = (tri ? lanes(tri + z) + lanes(edge + z) : lanes(edge + z)) + lanes(emit + z);
  }
}

// Z = exp(top) · sum, so that neither overflows.
template <class Real>
struct Normalization {
  Real top, sum;
  // Minus infinity where all is forbidden.
  template <class To>
  TRELLIS_INLINE To log() const { return To(top) + trellis::log(To(sum)); }
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
  for (std::size_t i = 0; i < chain.stride; i += kLanes<Real>) lanes_at(probabilities + i) *= by;
  return z.template log<double>() - score;
}

}  // namespace

#define TRELLIS_INSTANCES(Real)                                                                                             \
  TRELLIS_CLONES double decide(const ChainView<Real>& chain, const Part& part, const Real* longer, Real* probabilities) {   \
    return decide_any(chain, part, longer, probabilities);                                                                  \
  }
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)

LocalNormalizer::LocalNormalizer(const LabelTables<float>& labels) {
  constexpr float kSafe = 1e-30f;
  safe_ = kSafe;
  if (const float* tri = labels.tri) {
    const std::size_t stride = labels.stride, n = (labels.n_labels + 1) * (labels.n_labels + 1);
    factors_.resize(n * stride);
    tops_.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      tops_[i] = exp_row(tri + i * stride, labels.n_labels, stride, factors_.data() + i * stride);
  }
  if (!labels.ngrams) return;
  const Ngrams& ngrams = *labels.ngrams->ngrams;
  std::vector<float> totals;
  join_scores<MaxPlus>(ngrams, labels.ngrams->scores, totals);
  safe_ *= exp(std::max(0.0f, *std::max_element(totals.begin(), totals.end())));
  for (std::size_t g = 0; g < ngrams.size(); ++g) factors_.push_back(exp(labels.ngrams->scores[g]));
}

// One sentence on its way.
struct LocalPass {
  const LocalNormalizer& of;
  const ChainView<float> chain;
  float *emit, *edge;
  float *exps, *exact;  // [stride] each

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
    if (sum > of.safe_) return Normalization<float>{top + of.tops_[at], sum}.log<float>();
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

// The same where label n-grams are sparse. What labels score after a state is what they score after its shorter one, but for
// those that it has n-grams with.
struct LocalHistories {
  const LocalNormalizer& of;
  const ChainView<float> chain;
  float *emit, *edge;
  TokenNgrams<float>& by_token;
  LocalScratch& w;

  TRELLIS_INLINE void run() const {
    const Ngrams& ngrams = *chain.ngrams->ngrams;
    if (w.place.size() < ngrams.size()) w.place.resize(ngrams.size());
    w.states.assign(1, ngrams.null());
    by_token.starts.assign(1, 0), by_token.nodes.clear(), by_token.scores.clear();
    for (std::size_t t = 0; t < chain.n_tokens; ++t) {
      const std::size_t n = w.states.size();
      if (w.rows.size() < n * chain.stride) w.rows.resize(n * chain.stride);
      w.tops.resize(n), w.log_z.resize(n);
      for (std::size_t i = 0; i < n; ++i) w.place[w.states[i]] = static_cast<std::uint32_t>(i);
      for (std::size_t i = 0; i < n; ++i) w.log_z[i] = log_z(ngrams, t, i);
      for (std::size_t i = 0; i < n; ++i) take(ngrams, t, i);
      if (t) by_token.starts.push_back(by_token.nodes.size());
      go_on(ngrams, t);
    }
    if (chain.n_tokens) by_token.starts.push_back(by_token.nodes.size());
  }

  // log sum_z exp(what z scores after the labels of a state)
  TRELLIS_INLINE float log_z(const Ngrams& ngrams, std::size_t t, std::size_t i) const {
    const std::size_t stride = chain.stride;
    const std::uint32_t state = w.states[i];
    float* exps = w.rows.data() + i * stride;
    if (ngrams.length(state) == 1) {
      score_labels<float>(chain, t, ngrams.label(state), nullptr, exps);
      const Normalization<float> z = exp_labels(chain.n_labels, stride, exps);
      w.tops[i] = z.top;
      return z.log<float>();
    }
    const std::size_t shorter = w.place[ngrams.shorter(state)];
    w.tops[i] = w.tops[shorter];
    std::copy_n(w.rows.data() + shorter * stride, stride, exps);
    ngrams.each_child(state, [&](std::uint32_t g) { exps[ngrams.label(g)] *= of.factors_[g]; });
    const float sum = sum_lanes(exps, stride);
    if (sum > of.safe_ && sum < kMost) return Normalization<float>{w.tops[i], sum}.log<float>();
    return exact(ngrams, t, state);
  }
  static constexpr float kMost = 1e30f;

  // Where factors overflow or vanish; also where all is forbidden.
  float exact(const Ngrams& ngrams, std::size_t t, std::uint32_t state) const {
    std::vector<float> scores(chain.stride);
    score_labels<float>(chain, t, ngrams.label(state), nullptr, scores.data());
    for (std::uint32_t c = state; ngrams.length(c) + 1 >= kScored; c = ngrams.shorter(c))
      ngrams.each_child(c, [&](std::uint32_t g) { scores[ngrams.label(g)] += chain.ngrams->scores[g]; });
    return exp_labels(chain.n_labels, chain.stride, scores.data()).log<float>();
  }

  // Whether all is forbidden after a state depends on its last label alone: then it has probability 0.
  TRELLIS_INLINE void take(const Ngrams& ngrams, std::size_t t, std::size_t i) const {
    const std::uint32_t state = w.states[i];
    const std::size_t L = chain.n_labels, stride = chain.stride, y = ngrams.label(state);
    const float log_z = w.log_z[i];
    if (t == 0) {
      for (std::size_t z = 0; z < L; ++z) emit[z] = less(emit[z], log_z);
    } else if (ngrams.length(state) == 1) {
      float& before = emit[(t - 1) * stride + y];
      before = less(before, log_z);
    } else if (log_z != kForbidden<float>) {
      const float more = log_z - w.log_z[w.place[ngrams.shorter(state)]];
      if (ngrams.length(state) == 2)
        edge[((t - 1) * (L + 1) + ngrams.label(ngrams.parent(state))) * stride + y] -= more;
      else
        by_token.nodes.push_back(state), by_token.scores.push_back(-more);
    }
  }
  TRELLIS_INLINE static float less(float score, float log_z) { return log_z == kForbidden<float> ? log_z : score - log_z; }

  // The states that labels up to t may be in, with all their shorter ones.
  void go_on(const Ngrams& ngrams, std::size_t t) const {
    w.next.clear();
    const auto allowed = [&](std::size_t z) { return !chain.allowed || allows(*chain.allowed, t, z); };
    for (std::size_t z = 0; z < chain.n_labels; ++z)
      if (allowed(z)) w.next.push_back(static_cast<std::uint32_t>(1 + z));
    for (std::uint32_t d : w.states)
      ngrams.each_child(d, [&](std::uint32_t g) {
        if (ngrams.n_children(g) && allowed(ngrams.label(g))) w.next.push_back(g);
      });
    w.states.swap(w.next);
  }
};

TRELLIS_CLONES void LocalNormalizer::normalize(const ChainView<float>& chain, float* emit, float* edge,
                                               TokenNgrams<float>& ngrams, LocalScratch& scratch) const {
  if (scratch.rows.size() < 2 * chain.stride) scratch.rows.resize(2 * chain.stride);
  if (chain.ngrams) LocalHistories{*this, chain, emit, edge, ngrams, scratch}.run();
  else LocalPass{*this, chain, emit, edge, scratch.rows.data(), scratch.rows.data() + chain.stride}.run();
}

}  // namespace trellis
