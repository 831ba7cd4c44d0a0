// Best paths of a chain with label n-grams: Viterbi over the states that good paths can visit, or over all of them.
#pragma once
#include <numeric>

#include "engine/state_paths.hpp"

namespace trellis {

struct LabelPair {
  std::uint32_t x, y;
};

// Scratch of one thread, reusable for any number of sentences.
template <class Real>
struct HistoryWorkspace : StateTable<Real> {
  std::vector<std::int32_t> place;          // [n_nodes] index of some states in the table; -1 between uses
  std::vector<Real> edges, emit, best;      // of the relaxed chain of order 1 and its mirror image
  std::vector<LabelPair> pairs;             // candidate label pairs of good paths by token, then first label; one per first
                                            // label where the relaxed chain has no triples
  std::vector<std::pair<std::size_t, std::size_t>> pairs_at;  // [T] the first pair of a token, number of pairs
  std::vector<Real> ahead;                  // [T, n_before, stride] upper bound on the rest of the path, by the relaxed chain
  Real slack = 0;                           // far above accumulated rounding errors
  std::size_t few = 16;                     // states per token that are tried first
  std::vector<Real> base;                   // [T, L, stride] label pairs plus a bound on the rest, without longer n-grams
  std::vector<LabelPair> asked;             // label pairs whose bounds look_ahead computes
  std::vector<std::uint8_t> goes_on;        // [L]
  std::vector<std::int32_t> labels;         // [L + 1]
  std::vector<Real> token_scores, gains;    // [n_nodes], [n_labels, stride] of one token, 0 between tokens: see with_gains
  std::vector<std::int32_t> path;           // [T]
  std::vector<std::pair<Real, std::size_t>> ranked;  // states by the bound on their paths
  std::vector<Real> costs;                  // of changing labels at single tokens
  Real last_gap = 1;                        // between the best and the k-th best path of the previous sentence

  // Memory that grows with the length of a sentence.
  std::size_t bytes() const { return StateTable<Real>::bytes() + (ahead.capacity() + base.capacity() + emit.capacity() + best.capacity()) * sizeof(Real); }
  // Upper bounds on the score after labels x and any other one at token t.
  Real* ahead_of(const ChainView<Real>& chain, std::size_t t, std::size_t x) {
    return ahead.data() + (t * chain.ngrams->relaxed.n_before + x) * chain.stride;
  }
  Real* base_of(const ChainView<Real>& chain, std::size_t t, std::size_t y) {
    return base.data() + (t * chain.n_labels + y) * chain.stride;
  }
};

// The states of a chain, for state_paths.hpp and state_sums.hpp. Steps are computed on demand: all together can be many more
// than states.
template <class R>
struct HistoryStates {
  using Real = R;
  static constexpr bool kListed = false;
  const ChainView<Real>& chain;
  HistoryWorkspace<Real>& table;

  template <class Visit>
  void each_into(std::size_t t, std::span<const std::uint32_t> states, Visit visit) {
    const Ngrams& ngrams = *chain.ngrams->ngrams;
    const std::int32_t label = ngrams.label(table.states[states[0]]);
    // A state of two labels and more is reached from states that end in its labels but the last one.
    const std::uint32_t parent = states.size() == 1 ? ngrams.parent(table.states[states[0]]) : Ngrams::kRoot;
    const auto may_come_from = [&](std::size_t y) { return parent == Ngrams::kRoot || y == ngrams.label(parent); };
    each_step(t, states, ListedLabels{&label, 1}, may_come_from, visit);
  }
  std::span<const StateStep<Real>> steps_at(std::size_t t) {
    table.steps.clear();
    table.tied.resize(table.state_starts[t + 1] - table.state_starts[t]);
    std::iota(table.tied.begin(), table.tied.end(), static_cast<std::uint32_t>(table.state_starts[t]));
    const std::span<const std::uint32_t> states = table.tied;
    const auto keep = [&](const StateStep<Real>& step) { table.steps.push_back(step); };
    const auto from_any = [](std::size_t) { return true; };
    if (chain.allowed) each_step(t, states, labels_of(*chain.allowed, t), from_any, keep);
    else each_step(t, states, AllLabels{chain.n_labels}, from_any, keep);
    return table.steps;
  }

 private:
  // Calls visit(step) for the steps into some states of token t by some labels.
  template <class Labels, class From, class Visit>
  void each_step(std::size_t t, std::span<const std::uint32_t> states, const Labels& labels, From may_come_from, Visit visit) {
    const Ngrams& ngrams = *chain.ngrams->ngrams;
    for (const std::uint32_t state : states) table.place[table.states[state]] = static_cast<std::int32_t>(state);
    table.scores_at.visit(*chain.ngrams, t, [&](const auto& score) {
      for (std::size_t from = table.first_before(t); from < table.state_starts[t]; ++from) {
        const std::size_t y = ngrams.label(table.states[from]);
        if (!may_come_from(y)) continue;
        for (std::size_t j = 0; j < labels.size(); ++j) {
          const std::uint32_t node = ngrams.longest(table.states[from], labels[j]);
          if (const std::int32_t to = table.place[ngrams.state(node)]; to >= 0)
            visit(StateStep<Real>{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), node, 0, score(node),
                                  chain.edge_at(t, y)[labels[j]], chain.emit_at(t)[labels[j]]});
        }
      }
    });
    for (const std::uint32_t state : states) table.place[table.states[state]] = -1;
  }
};

// Builds the table of states through which a path can score `least` or more, per token the `width` with the best bounds. Returns
// the highest bound of the others. Call look_ahead before, unless all states are used.
inline constexpr std::size_t kAllStates = static_cast<std::size_t>(-1);
template <class Real>
Real reach_states(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, Real least, std::size_t width);
template <class Real>
void reach_all(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  reach_states(chain, work, kForbidden<Real>, kAllStates);
}

// Writes the best path [T] and returns its score. Ties: the lowest label wins, decided from the last label backwards. If
// all paths are forbidden the score is minus infinity, and the path has the lowest allowed labels.
template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path);

// The k best paths [k, T] with their scores, best first; returns the number that are not forbidden. Ties as above.
template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work,
                             BestListsScratch<Real>& lists, std::int32_t* paths, Real* scores);

}  // namespace trellis
