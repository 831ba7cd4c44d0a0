#include <algorithm>

#include "engine/history_states.hpp"

namespace trellis {
namespace {

template <class Real>
Real best_end(const ChainView<Real>& chain, const HistoryWorkspace<Real>& work) {
  Real best = kForbidden<Real>;
  for (std::size_t s = work.state_starts[chain.n_tokens - 1]; s < work.states.size(); ++s)
    best = std::max(best, end_score(chain, work.states[s], work.alpha[s]));
  return best;
}

// The states that a beam keeps; where these leave no path, all of them.
template <class Real>
void reach_beam(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  keep_pairs(chain, work, kForbidden<Real>);
  look_ahead(chain, work);
  reach_states(chain, work, kForbidden<Real>, chain.ngrams->beam);
  if (best_end(chain, work) == kForbidden<Real>) reach_all(chain, work);
}

// The states that the best paths may be in. First of a few states per
// token: their best path mostly is the best, which is known if no state was left out that could have reached its score. A beam
// goes no further: a path well above what was left out before it was narrowed is its best.
template <class Real>
void reach_best(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  constexpr std::size_t kFewLabels = 64;  // whose pairs cost no more than finding out which of them to drop
  Real reached = chain.allowed || chain.n_labels <= kFewLabels ? kForbidden<Real> : bound_labels(chain, work);
  keep_pairs(chain, work, reached - work.slack);
  reached = std::max(reached, look_ahead(chain, work));
  if (reached == kForbidden<Real>) return reach_all(chain, work);
  const std::size_t beam = chain.ngrams->beam;
  const Real lost = reach_states(chain, work, reached - work.slack, beam ? beam : work.few), best = best_end(chain, work);
  if (beam && !(best > reached - work.slack / 2)) reach_beam(chain, work);
  const Real least = std::max(reached, best) - work.slack;
  if (!beam && lost >= least) reach_states(chain, work, least, kAllStates);
}

// About how much less than the best path the k-th best scores: the k-th least sum of some of what labels at single tokens cost, which
// it would be if tokens were independent. Sums come in order: the next ones after one whose last and greatest term is number i have
// number i + 1 as well, or in its place.
template <class Real>
Real guess_gap(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::size_t k) {
  std::vector<Real>& costs = work.costs;
  costs.clear();
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const Real *before = work.best.data() + t * chain.stride, *after = work.best.data() + (2 * chain.n_tokens - 1 - t) * chain.stride;
    const auto through = [&](std::size_t z) { return before[z] + (after[z] - chain.emit_at(t)[z]); };
    const auto best = static_cast<std::size_t>(work.path[t]);
    for (std::size_t z = 0; z < chain.n_labels; ++z)
      if (z != best && through(z) > kForbidden<Real>) costs.push_back(std::max(through(best) - through(z), Real(0)));
  }
  std::partial_sort(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(std::min(costs.size(), k)), costs.end());
  auto& open = work.ranked;
  open.clear();
  if (!costs.empty()) open.emplace_back(-costs[0], 0);
  for (std::size_t rank = 2; rank < k && !open.empty(); ++rank) {
    const auto [sum, i] = open.front();
    std::pop_heap(open.begin(), open.end());
    open.pop_back();
    for (const Real less : {Real(0), i + 1 < costs.size() ? costs[i] : Real(0)}) {
      if (i + 1 == costs.size()) break;
      open.emplace_back(sum + less - costs[i + 1], i + 1);
      std::push_heap(open.begin(), open.end());
    }
  }
  return open.empty() ? -kForbidden<Real> : -open.front().first;
}

}  // namespace

template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path) {
  if (chain.n_tokens == 0) return 0;
  work.slack = 0;
  if (chain.ngrams->relaxed.pairs) reach_best(chain, work);
  else reach_all(chain, work);
  return StatePaths(HistoryStates<Real>{chain, work}).best(path);
}

// Of the states by which paths may score a guess less than the best one: are there k paths as good, no other is among the k best. Else
// the guess was too low. Those of a beam are among its states.
template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work,
                             BestListsScratch<Real>& lists, std::int32_t* paths, Real* scores) {
  const auto collect = [&] { return StatePaths(HistoryStates<Real>{chain, work}).k_best(k, lists, paths, scores); };
  work.slack = 0;
  if (chain.ngrams->relaxed.pairs) {
    Real reached = chain.allowed ? kForbidden<Real> : bound_labels(chain, work);
    if (chain.ngrams->beam) {
      reach_beam(chain, work);
      return collect();
    }
    constexpr Real kMore = 1.2, kWider = 1.3;  // than the guess, which is some 10% too low on average; in the next round
    Real gap = chain.allowed ? work.last_gap : std::max(kMore * guess_gap(chain, work, k), work.slack);
    for (int round = 0; round < 16 && gap < -kForbidden<Real>; ++round, gap *= kWider) {
      keep_pairs(chain, work, reached - work.slack - gap);
      reached = std::max(reached, look_ahead(chain, work));
      if (reached == kForbidden<Real>) break;
      const Real least = reached - work.slack - gap;
      reach_states(chain, work, least, kAllStates);
      if (collect() < k || scores[k - 1] < least + work.slack) continue;
      work.last_gap = std::max(scores[0] - scores[k - 1], work.slack);
      return k;
    }
  }
  reach_all(chain, work);
  return collect();
}

// The total of the longest n-gram with what it gives at its token.
template <class Real>
Real ngram_total(const NgramScores<Real>& scores, std::size_t t, std::uint32_t node) {
  const Ngrams& ngrams = *scores.ngrams;
  if (ngrams.length(node) < kScored) return 0;
  Real own = scores.scores[node];
  if (const TokenNgrams<Real>* at = scores.by_token)
    for (std::size_t i = at->starts[t]; i < at->starts[t + 1]; ++i)
      if (at->nodes[i] == node) own += at->scores[i];
  return ngrams.length(node) == kScored ? own : ngram_total(scores, t, ngrams.shorter(node)) + own;
}

template <class Real>
Real history_score(const ChainView<Real>& chain, const std::int32_t* path) {
  Real total = 0;
  each_ngram(*chain.ngrams->ngrams, path, chain.n_tokens, [&](std::size_t t, std::uint32_t node) {
    const std::size_t y = t ? static_cast<std::size_t>(path[t - 1]) : chain.n_labels;
    total = ((total + ngram_total(*chain.ngrams, t, node)) + chain.edge_at(t, y)[path[t]]) + chain.emit_at(t)[path[t]];
  });
  return chain.end && chain.n_tokens ? total + chain.end[path[chain.n_tokens - 1]] : total;
}

#define TRELLIS_INSTANCES(Real)                                                                                              \
  template Real best_history(const ChainView<Real>&, HistoryWorkspace<Real>&, std::int32_t*);                                \
  template std::size_t k_best_histories(const ChainView<Real>&, std::size_t, HistoryWorkspace<Real>&, BestListsScratch<Real>&, \
                                        std::int32_t*, Real*);                                                               \
  template Real ngram_total(const NgramScores<Real>&, std::size_t, std::uint32_t);                                           \
  template Real history_score(const ChainView<Real>&, const std::int32_t*);
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)
#undef TRELLIS_INSTANCES

}  // namespace trellis
