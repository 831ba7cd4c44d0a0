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
  // Minus infinity if everything is forbidden.
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
#undef TRELLIS_INSTANCES

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

// The current sentence, by the states of the labels before a token: single labels, numbered from 1 on, NULL after
// them, and with sparse label n-grams the prefixes of longer n-grams. After such a state, labels score as after its
// suffix, except those with which it has n-grams. With a table of triples all pairs are evaluated.
struct LocalPass {
  const LocalNormalizer& of;
  const ChainView<float> chain;
  const Ngrams* ngrams;  // or null
  float *emit, *edge;
  TokenNgrams<float>& by_token;
  LocalScratch& w;
  static constexpr float kMost = 1e30f;

  TRELLIS_INLINE void run() const {
    if (ngrams && w.place.size() < ngrams->size()) w.place.resize(ngrams->size());
    w.states.assign(1, static_cast<std::uint32_t>(1 + chain.n_labels));
    by_token.starts.assign(1, 0), by_token.nodes.clear(), by_token.scores.clear();
    for (std::size_t t = 0; t < chain.n_tokens; ++t) {
      const std::size_t n = w.states.size();
      if (w.rows.size() < n * chain.stride) w.rows.resize(n * chain.stride);
      w.tops.resize(n), w.log_z.resize(n);
      for (std::size_t i = 0; ngrams && i < n; ++i) w.place[w.states[i]] = static_cast<std::uint32_t>(i);
      for (std::size_t i = 0; i < n; ++i) w.log_z[i] = is_single(w.states[i]) ? log_z(t, i) : longer_log_z(t, i);
      for (std::size_t i = 0; i < n; ++i) {
        if (!is_single(w.states[i])) take_longer(t, i);
        else if (!chain.tri) take(t, chain.n_labels, label(i), w.log_z[i]);
        else each_before(t, [&](std::size_t x) TRELLIS_INLINE_LAMBDA { take(t, x, label(i), log_z_of_pair(t, x, i)); });
      }
      if (t) by_token.starts.push_back(by_token.nodes.size());
      go_on(t);
    }
    if (chain.n_tokens) by_token.starts.push_back(by_token.nodes.size());
  }

  TRELLIS_INLINE bool is_single(std::uint32_t state) const { return state <= 1 + chain.n_labels; }
  TRELLIS_INLINE std::size_t label(std::size_t i) const { return w.states[i] - 1; }  // of a state of one label
  template <class Visit>
  TRELLIS_INLINE void each_before(std::size_t t, Visit visit) const {
    for (std::size_t x = t > 1 ? 0 : chain.n_labels; x < (t > 1 ? chain.n_labels : chain.n_labels + 1); ++x) visit(x);
  }

  // log sum_z exp(score of z after a label); the exponentials are stored in a row.
  TRELLIS_INLINE float log_z(std::size_t t, std::size_t i) const {
    float* exps = w.rows.data() + i * chain.stride;
    score_labels<float>(chain, t, label(i), nullptr, exps);
    const Normalization<float> z = exp_labels(chain.n_labels, chain.stride, exps);
    w.tops[i] = z.top;
    return z.log<float>();
  }
  // The same after x and that label. Exponentials of pairs and of triples are computed once each; if their products
  // underflow, they are recomputed.
  TRELLIS_INLINE float log_z_of_pair(std::size_t t, std::size_t x, std::size_t i) const {
    const std::size_t stride = chain.stride, at = x * (chain.n_labels + 1) + label(i);
    const float* exps = w.rows.data() + i * stride;
    Vector<float> total = {};
    for (std::size_t z = 0; z < stride; z += kLanes<float>)
      total += lanes(of.factors_.data() + at * stride + z) * lanes(exps + z);
    const float sum = sum_of<float>(total);
    if (sum > of.safe_) return Normalization<float>{w.tops[i] + of.tops_[at], sum}.log<float>();
    w.exact.resize(stride);
    score_labels(chain, t, label(i), chain.tri_at(x, label(i)), w.exact.data());
    return exp_labels(chain.n_labels, stride, w.exact.data()).log<float>();
  }
  TRELLIS_INLINE float longer_log_z(std::size_t t, std::size_t i) const {
    const std::size_t stride = chain.stride, shorter = w.place[ngrams->shorter(w.states[i])];
    float* exps = w.rows.data() + i * stride;
    w.tops[i] = w.tops[shorter];
    std::copy_n(w.rows.data() + shorter * stride, stride, exps);
    ngrams->each_child(w.states[i], [&](std::uint32_t g) { exps[ngrams->label(g)] *= of.factors_[g]; });
    const float sum = sum_lanes(exps, stride);
    if (sum > of.safe_ && sum < kMost) return Normalization<float>{w.tops[i], sum}.log<float>();
    // If factors overflow or underflow; also if everything is forbidden.
    w.exact.resize(stride);
    score_labels<float>(chain, t, ngrams->label(w.states[i]), nullptr, w.exact.data());
    for (std::uint32_t c = w.states[i]; ngrams->length(c) + 1 >= kScored; c = ngrams->shorter(c))
      ngrams->each_child(c, [&](std::uint32_t g) { w.exact[ngrams->label(g)] += chain.ngrams->scores[g]; });
    return exp_labels(chain.n_labels, stride, w.exact.data()).log<float>();
  }

  // A history without allowed next labels has probability 0.
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
  // Whether everything is forbidden after a state depends on its last label alone, which was handled before.
  TRELLIS_INLINE void take_longer(std::size_t t, std::size_t i) const {
    const std::uint32_t state = w.states[i];
    if (w.log_z[i] == kForbidden<float>) return;
    const float more = w.log_z[i] - w.log_z[w.place[ngrams->shorter(state)]];
    if (ngrams->length(state) == 2)
      edge[((t - 1) * (chain.n_labels + 1) + ngrams->label(ngrams->parent(state))) * chain.stride + ngrams->label(state)] -= more;
    else
      by_token.nodes.push_back(state), by_token.scores.push_back(-more);
  }

  // The possible states of the labels up to t, with all their suffixes.
  void go_on(std::size_t t) const {
    w.next.clear();
    const auto allowed = [&](std::size_t z) { return !chain.allowed || allows(*chain.allowed, t, z); };
    for (std::size_t z = 0; z < chain.n_labels; ++z)
      if (allowed(z)) w.next.push_back(static_cast<std::uint32_t>(1 + z));
    for (std::size_t i = 0; ngrams && i < w.states.size(); ++i)
      ngrams->each_child(w.states[i], [&](std::uint32_t g) {
        if (ngrams->n_children(g) && allowed(ngrams->label(g))) w.next.push_back(g);
      });
    w.states.swap(w.next);
  }
};

TRELLIS_CLONES void LocalNormalizer::normalize(const ChainView<float>& chain, float* emit, float* edge,
                                               TokenNgrams<float>& ngrams, LocalScratch& scratch) const {
  LocalPass{*this, chain, chain.ngrams ? chain.ngrams->ngrams : nullptr, emit, edge, ngrams, scratch}.run();
}

}  // namespace trellis
