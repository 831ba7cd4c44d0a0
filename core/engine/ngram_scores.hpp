// Scores of label n-grams of three labels and more, in chains of any order. Label pairs have a dense table; of the
// longer n-grams only some exist, so
//
//   score(path) = sum_t ((s + total_t[g_t]) + edge[y][z]) + emit[t][z], + end
//
// with g_t the longest n-gram that ends in z at t, and total the sum of the scores of an n-gram and of all its suffixes,
// added from the shortest on.
#pragma once
#include "engine/ngram_bounds.hpp"
#include "engine/semiring.hpp"

namespace trellis {

// Scores of n-grams at single tokens only: at token t the n-grams nodes[starts[t] .. starts[t + 1]), without duplicates.
template <class Real>
struct TokenNgrams {
  std::vector<std::size_t> starts{0};  // [T + 1]
  std::vector<std::uint32_t> nodes;    // of three labels and more
  std::vector<Real> scores;
};

template <class Real>
struct NgramScores {
  const Ngrams* ngrams;
  const Real* scores;                           // [n_nodes]; those of one and two labels are ignored
  const Real* totals = nullptr;                 // [n_nodes], or null: summed on demand
  const TokenNgrams<Real>* by_token = nullptr;  // null: none
  RelaxedChain<Real> relaxed{};                 // upper bounds on these scores, if known
  std::size_t beam = 0;                         // beam width: states per token; 0: all
};

// The total of an n-gram, summed on demand, plus the scores added(node).
template <class Real, class Added>
Real joined_score(const NgramScores<Real>& scores, std::uint32_t node, const Added& added) {
  const std::size_t length = scores.ngrams->length(node);
  if (length < kScored) return 0;
  const Real own = scores.scores[node] + added(node);
  return length == kScored ? own : joined_score(scores, scores.ngrams->shorter(node), added) + own;
}

// The total of an n-gram at token t, including its scores at t only.
template <class Real>
Real ngram_total(const NgramScores<Real>& scores, std::size_t t, std::uint32_t node) {
  return joined_score(scores, node, [&, at = scores.by_token](std::uint32_t g) {
    Real sum = 0;
    for (std::size_t i = at ? at->starts[t] : 0; at && i < at->starts[t + 1]; ++i) sum += at->nodes[i] == g ? at->scores[i] : 0;
    return sum;
  });
}

// Calls work(score) with the totals of n-grams at a token; the scratch of one thread.
template <class Real>
class ScoresAt {
 public:
  template <class Work>
  TRELLIS_INLINE void visit(const NgramScores<Real>& scores, std::size_t t, Work work) {
    const TokenNgrams<Real>* own = scores.by_token;
    const std::size_t first = own ? own->starts[t] : 0, last = own ? own->starts[t + 1] : 0;
    if (first == last && scores.totals)
      return work([totals = scores.totals](std::uint32_t node) TRELLIS_INLINE_LAMBDA { return totals[node]; });
    if (first < last && added_.size() < scores.ngrams->size()) added_.resize(scores.ngrams->size(), 0);
    for (std::size_t i = first; i < last; ++i) added_[own->nodes[i]] = own->scores[i];
    const auto added = [at = first < last ? added_.data() : nullptr](std::uint32_t node) { return at ? at[node] : 0; };
    work([&](std::uint32_t node) { return joined_score(scores, node, added); });
    for (std::size_t i = first; i < last; ++i) added_[own->nodes[i]] = 0;
  }

 private:
  std::vector<Real> added_;  // [n_nodes]; 0 between tokens
};

// totals[g] = totals[shorter of g] · scores[g]; shorter n-grams come first.
template <class S, class Real>
void join_scores(const Ngrams& ngrams, const Real* scores, std::vector<Real>& totals) {
  totals.resize(ngrams.size());
  for (std::size_t g = 0; g < ngrams.size(); ++g) {
    const auto node = static_cast<std::uint32_t>(g);
    const std::size_t length = ngrams.length(node);
    totals[g] = length < kScored    ? S::template one<Real>
                : length == kScored ? scores[g]
                                    : S::times(totals[ngrams.shorter(node)], scores[g]);
  }
}

// Calls visit(t, g) for the longest n-gram at the end of each prefix of a path.
template <class Visit>
void each_ngram(const Ngrams& ngrams, const std::int32_t* path, std::size_t n, Visit visit) {
  std::uint32_t state = ngrams.null();
  for (std::size_t t = 0; t < n; ++t) {
    const std::uint32_t node = ngrams.longest(state, static_cast<std::size_t>(path[t]));
    visit(t, node);
    state = ngrams.state(node);
  }
}

// score(path), added from left to right; 0 for an empty sentence.
template <class Real>
Real path_score(const ChainView<Real>& chain, const std::int32_t* path) {
  Real score = 0;
  std::uint32_t node = chain.ngrams ? chain.ngrams->ngrams->null() : 0;
  each_part(path, chain.n_tokens, chain.n_labels, [&](const Part& part) {
    if (chain.ngrams) node = chain.ngrams->ngrams->longest(chain.ngrams->ngrams->state(node), part.z);
    if (chain.ngrams) score += ngram_total(*chain.ngrams, part.token, node);
    if (chain.tri) score += chain.tri_at(part.x, part.y)[part.z];
    score += chain.edge_at(part.token, part.y)[part.z];
    score += chain.emit_at(part.token)[part.z];
  });
  return chain.end && chain.n_tokens ? score + chain.end[path[chain.n_tokens - 1]] : score;
}

}  // namespace trellis
