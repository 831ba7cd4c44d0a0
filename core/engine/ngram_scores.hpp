// What label n-grams of three labels and more give, in chains of any order. Label pairs have their dense table; of the
// longer ones only some exist, so
//
//   score(path) = sum_t ((s + total_t[g_t]) + edge[y][z]) + emit[t][z], + end
//
// with g_t the longest n-gram that the labels up to z end in, and total the scores of an n-gram and of all its shorter
// ones, added from the shortest on.
#pragma once
#include "engine/ngram_bounds.hpp"
#include "engine/semiring.hpp"

namespace trellis {

// Scores that n-grams have at single tokens only: at token t those of nodes[starts[t] .. starts[t + 1]), each once.
template <class Real>
struct TokenNgrams {
  std::vector<std::size_t> starts{0};  // [T + 1]
  std::vector<std::uint32_t> nodes;    // of three labels and more
  std::vector<Real> scores;
};

template <class Real>
struct NgramScores {
  const Ngrams* ngrams;
  const Real* scores;                           // [n_nodes]; those of one and two labels do not count
  const Real* totals = nullptr;                 // [n_nodes], or null: summed where needed
  const TokenNgrams<Real>* by_token = nullptr;  // null: none
  RelaxedChain<Real> relaxed{};                 // what they give at most, where that is known
  std::size_t beam = 0;                         // states per token that best paths are looked for in; 0: all
};

// The total of an n-gram, from a table ...
template <class Real>
struct TotalScores {
  const Real* totals;
  TRELLIS_INLINE Real operator()(std::uint32_t node) const { return totals[node]; }
};
// ... or joined on the way, with what they give at this token (`added`, [n_nodes], or null).
template <class Real>
struct JoinedScores {
  const Ngrams& ngrams;
  const Real* scores;
  const Real* added;
  Real own(std::uint32_t node) const { return added ? scores[node] + added[node] : scores[node]; }
  Real operator()(std::uint32_t node) const {
    const std::size_t length = ngrams.length(node);
    if (length <= kScored) return length < kScored ? 0 : own(node);
    return (*this)(ngrams.shorter(node)) + own(node);
  }
};

// Calls work(score) with the totals of n-grams at a token; the scratch of one thread.
template <class Real>
class ScoresAt {
 public:
  template <class Work>
  TRELLIS_INLINE void visit(const NgramScores<Real>& scores, std::size_t t, Work work) {
    const Ngrams& ngrams = *scores.ngrams;
    const TokenNgrams<Real>* own = scores.by_token;
    const std::size_t first = own ? own->starts[t] : 0, last = own ? own->starts[t + 1] : 0;
    if (first == last && scores.totals) return work(TotalScores<Real>{scores.totals});
    if (first < last && added_.size() < ngrams.size()) added_.resize(ngrams.size(), 0);
    for (std::size_t i = first; i < last; ++i) added_[own->nodes[i]] = own->scores[i];
    work(JoinedScores<Real>{ngrams, scores.scores, first < last ? added_.data() : nullptr});
    for (std::size_t i = first; i < last; ++i) added_[own->nodes[i]] = 0;
  }

 private:
  std::vector<Real> added_;  // [n_nodes]; 0 between tokens
};

// The total of an n-gram at token t, with what it gives there alone (history_states.cpp).
template <class Real>
Real ngram_total(const NgramScores<Real>& scores, std::size_t t, std::uint32_t node);

// totals[g] = totals[shorter of g] · scores[g]; shorter ones stand before.
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

// Calls visit(t, g) for the longest n-gram that a path ends in at every token.
template <class Visit>
void each_ngram(const Ngrams& ngrams, const std::int32_t* path, std::size_t n, Visit visit) {
  std::uint32_t state = ngrams.null();
  for (std::size_t t = 0; t < n; ++t) {
    const std::uint32_t node = ngrams.longest(state, static_cast<std::size_t>(path[t]));
    visit(t, node);
    state = ngrams.state(node);
  }
}

}  // namespace trellis
