#include "engine/history_best.hpp"

namespace trellis {
namespace {

// The states of a chain with alpha (state_paths.hpp); the steps into them are found when they are asked for.
template <class R>
struct HistoryStates {
  using Real = R;
  const ChainView<Real>& chain;
  HistoryWorkspace<Real>& work;
  StateTable<Real>& table;

  HistoryStates(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) : chain(chain), work(work), table(work.table) {
    table.states.clear(), table.alpha.clear(), table.state_starts.clear();
    for (std::size_t t = 0; t <= chain.n_tokens; ++t) {
      const StateList<Real>& list = work.alpha[t];
      table.states.insert(table.states.end(), list.states.begin(), list.states.end());
      table.alpha.insert(table.alpha.end(), list.values.begin(), list.values.end());
      table.state_starts.push_back(table.states.size());
    }
    if (work.place.size() < chain.ngrams->ngrams->size()) work.place.resize(chain.ngrams->ngrams->size(), -1);
  }

  template <class Visit>
  void each_into(std::size_t t, std::span<const std::uint32_t> states, Visit visit) {
    const Ngrams& ngrams = *chain.ngrams->ngrams;
    const std::size_t z = ngrams.label(table.states[states[0]]);
    // A state of two labels and more is reached from states that end in all but its last.
    const std::uint32_t parent = states.size() == 1 ? ngrams.parent(table.states[states[0]]) : Ngrams::kRoot;
    for (std::uint32_t state : states) work.place[table.states[state]] = static_cast<std::int32_t>(state);
    work.passes.template at_token<MaxPlus>(t, [&](const auto& labels, const auto& score) {
      const Real emit = labels.emit[labels.at(z)];
      for (std::size_t from = table.first_before(t); from < table.state_starts[t]; ++from) {
        const std::size_t y = ngrams.label(table.states[from]);
        if (parent != Ngrams::kRoot && y != ngrams.label(parent)) continue;
        const std::uint32_t node = ngrams.longest(table.states[from], z);
        if (const std::int32_t to = work.place[ngrams.state(node)]; to >= 0)
          visit(StateStep<Real>{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), node, 0, score(node),
                                chain.edge_at(t, y)[z], emit});
      }
    });
    for (std::uint32_t state : states) work.place[table.states[state]] = -1;
  }
};

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

template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path) {
  if (chain.n_tokens == 0) return 0;
  if (!reach_best(chain, work)) work.alpha[chain.n_tokens] = {};
  HistoryStates<Real> states(chain, work);
  return StatePaths(states).best(path);
}

// First from a few states per token: k paths that they hold say how good the others must be. Those of a beam are among its states.
template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work,
                             BestListsScratch<Real>& lists, std::int32_t* paths, Real* scores) {
  const auto collect = [&](std::int32_t* to) {
    HistoryStates<Real> states(chain, work);
    return StatePaths(states).k_best(k, lists, to, scores);
  };
  if (look_ahead(chain, work) == kForbidden<Real>) return reach_all(chain, work) ? collect(paths) : 0;
  if (chain.ngrams->beam) return reach_beam(chain, work) ? collect(paths) : 0;
  for (std::size_t width = work.few;; width *= 4) {
    const Real lost = reach_some(chain, work, kForbidden<Real>, width);
    if (lost == kForbidden<Real>) return collect(paths);
    if (collect(nullptr) < k) continue;
    const Real least = scores[k - 1] - work.slack;
    if (lost >= least) reach_some(chain, work, least, kAllStates);
    return collect(paths);
  }
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

}  // namespace trellis
