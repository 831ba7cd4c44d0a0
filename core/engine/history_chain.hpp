// A chain of any order: the potentials of one sentence, where what label pairs and triples give at orders 1 and 2 is
// given by label n-grams, of which only some exist.
//
//   score(path) = sum_t ((s + total_t[g_t]) + emit[t][z_t]), + end
//
// with g_t the longest n-gram that the labels up to z_t end in, and total the scores of an n-gram and of all its shorter
// ones, added from the shortest on.
#pragma once
#include <span>
#include <vector>

#include "engine/ngrams.hpp"
#include "engine/semiring.hpp"

namespace trellis {

// Scores that n-grams have at single tokens only: at token t those of nodes[starts[t] .. starts[t + 1]), each once.
template <class Real>
struct TokenNgrams {
  std::vector<std::size_t> starts{0};  // [T + 1]
  std::vector<std::uint32_t> nodes;
  std::vector<Real> scores;
};

template <class Real>
struct HistoryChain {
  const Ngrams* ngrams;
  std::size_t n_tokens, n_labels, stride;
  const Real* emit;                                // [T, stride]
  const Real* scores;                              // [n_nodes] of n-grams; minus infinity forbids
  const Real* totals = nullptr;                    // [n_nodes] as above, or null: summed where needed
  const TokenNgrams<Real>* by_token = nullptr;     // null: none
  const Real* end = nullptr;                       // [stride] of the last label, or null
  const LabelSets* allowed = nullptr;              // null allows every label everywhere
};

// What an n-gram and its shorter ones give, taken from a table ...
template <class Real>
struct TotalScores {
  const Real* totals;
  TRELLIS_INLINE Real operator()(std::uint32_t node) const { return totals[node]; }
};
// ... or joined on the way, from the shortest on, with what they give at this token (`added`, [n_nodes], or null).
template <class S, class Real>
struct JoinedScores {
  const Ngrams& ngrams;
  const Real* scores;
  const Real* added;
  Real operator()(std::uint32_t node) const {
    Real own = scores[node];
    if (added) own = S::times(own, added[node]);
    const std::uint32_t shorter = ngrams.shorter(node);
    return shorter == Ngrams::kRoot ? own : S::times((*this)(shorter), own);
  }
};

// totals[g] = totals[shorter of g] · scores[g]; those of shorter ones stand before.
template <class S, class Real>
void join_scores(const Ngrams& ngrams, const Real* scores, std::size_t first, std::vector<Real>& totals) {
  totals.resize(ngrams.size());
  if (first == 0) totals[0] = S::template one<Real>;
  for (std::size_t g = std::max<std::size_t>(1, first); g < ngrams.size(); ++g) {
    const std::uint32_t shorter = ngrams.shorter(static_cast<std::uint32_t>(g));
    totals[g] = shorter == Ngrams::kRoot ? scores[g] : S::times(totals[shorter], scores[g]);
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
