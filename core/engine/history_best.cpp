// The best path: the way back asks again which states before could give the score that is there.
#include "engine/history_best.hpp"

namespace trellis {
namespace {

// alpha of all states that the best paths may be in; false where no path is possible. First of a few states per token:
// their best path mostly is the best, which is known if no state was left out that could have reached its score. A beam
// goes no further: a path well above what was left out before it was narrowed is its best.
template <class Real>
bool reach_best(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  const Real reached = look_ahead(chain, work);
  if (reached == kForbidden<Real>) return reach_all(chain, work);
  const std::size_t beam = chain.ngrams->beam;
  const Real lost = reach_some(chain, work, reached - work.slack, beam ? beam : work.few);
  if (beam) return best_end(chain, work) > reached - work.slack / 2 || reach_beam(chain, work);
  const Real least = std::max(reached, best_end(chain, work)) - work.slack;
  if (lost >= least) reach_some(chain, work, least, kAllStates);
  return true;
}

}  // namespace

// The states that the best paths may be in are kept together: all with one last label, the lowest. Before them
//   d: ((alpha_{t-1}[d] + total_t[g]) + edge_t[y][z]) + emit_t[z] = alpha_t[state of g]
template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path) {
  const std::size_t T = chain.n_tokens;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  if (T == 0) return 0;
  const bool possible = reach_best(chain, work);
  const StateList<Real>& last = work.alpha[T];
  const Real best = possible ? best_end(chain, work) : kForbidden<Real>;
  if (best == kForbidden<Real>) {
    for (std::size_t t = 0; t < T; ++t) path[t] = chain.allowed ? labels_of(*chain.allowed, t).labels[0] : 0;
    return best;
  }
  // Of the states offered those with the lowest last label.
  auto &tied = work.tied, &before = work.before;
  const auto offer = [&](std::uint32_t state) {
    if (!before.empty() && ngrams.label(state) > ngrams.label(before[0])) return;
    if (!before.empty() && ngrams.label(state) < ngrams.label(before[0])) before.clear();
    before.push_back(state);
  };
  if (work.place.size() < ngrams.size()) work.place.resize(ngrams.size(), -1);
  before.clear();
  for (std::size_t i = 0; i < last.size(); ++i)
    if (end_score(chain, last.states[i], last.values[i]) == best) offer(last.states[i]);
  for (std::size_t t = T; t-- > 0;) {
    tied.swap(before);
    const std::size_t z = ngrams.label(tied[0]);
    path[t] = static_cast<std::int32_t>(z);
    if (t == 0) break;
    before.clear();
    const StateList<Real>&here = work.alpha[t + 1], &from = work.alpha[t];
    for (std::uint32_t state : tied) work.place[state] = 0;
    for (std::size_t i = 0; i < here.size(); ++i)
      if (work.place[here.states[i]] >= 0) work.place[here.states[i]] = static_cast<std::int32_t>(i);
    each_step(chain, work, t, tied, [&](std::size_t i, std::uint32_t state, Real total, Real edge, Real emit) {
      const std::int32_t place = work.place[state];
      if (place >= 0 && ((from.values[i] + total) + edge) + emit == here.values[static_cast<std::size_t>(place)])
        offer(from.states[i]);
    });
    for (std::uint32_t state : tied) work.place[state] = -1;
  }
  return best;
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

template float best_history(const ChainView<float>&, HistoryWorkspace<float>&, std::int32_t*);
template double best_history(const ChainView<double>&, HistoryWorkspace<double>&, std::int32_t*);
template float ngram_total(const NgramScores<float>&, std::size_t, std::uint32_t);
template double ngram_total(const NgramScores<double>&, std::size_t, std::uint32_t);
template float history_score(const ChainView<float>&, const std::int32_t*);
template double history_score(const ChainView<double>&, const std::int32_t*);

}  // namespace trellis
