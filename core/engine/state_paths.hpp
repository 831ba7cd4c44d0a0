// Best paths over states with known prefix scores (alpha): states of label n-grams (history_states.hpp), also on a lattice
// (lattice.hpp). Ties: the lowest label wins, decided from the last label backwards. Forbidden paths are skipped.
//
// `States` has a chain, a table, and each_into(t, states, visit): calls visit(step) for the steps into states of token t with
// the same last label.
#pragma once
#include <array>
#include <span>

#include "engine/best_lists.hpp"
#include "engine/ngram_scores.hpp"

namespace trellis {

// A step that adds one label.
template <class Real>
struct StateStep {
  std::uint32_t from, to;  // states
  std::uint32_t ngram;     // the longest at the end of the labels up to `to`
  std::uint32_t arc;       // of a lattice
  Real total, edge, emit;

  Real score() const { return (total + edge) + emit; }
  Real grown(Real before) const { return ((before + total) + edge) + emit; }
};

// Scratch of one thread.
template <class Real>
struct StateTable {
  std::vector<std::uint32_t> states;        // as n-grams: first NULL alone, then those of all tokens
  std::vector<std::size_t> state_starts;    // [T + 1] offsets by token, then the total number
  std::vector<Real> alpha;                  // [n_states]
  std::vector<std::uint32_t> tied, before;  // states of equally good paths
  std::vector<StateStep<Real>> ways;        // of the graph
  std::vector<StateStep<Real>> steps;       // of all tokens or of one
  std::vector<Real> shares, sums, beta;     // [n_steps and a vector more], [n_states] twice: see state_sums.hpp
  std::vector<Real> of_ngram;               // [n_nodes]; 0 between uses
  std::vector<std::size_t> step_starts;     // [T + 1] of a lattice: see lattice.hpp
  std::vector<std::uint32_t> first, next;   // [nodes of a token + 1] their first states
  std::vector<std::uint8_t> marked;         // [n_states]; 0 between uses
  ScoresAt<Real> scores_at;

  std::size_t first_before(std::size_t t) const { return t ? state_starts[t - 1] : 0; }
  // Memory that grows with the length of a sentence.
  std::size_t bytes() const {
    return states.capacity() * sizeof(std::uint32_t) + (ways.capacity() + steps.capacity()) * sizeof(StateStep<Real>) +
           (alpha.capacity() + shares.capacity() + sums.capacity() + beta.capacity()) * sizeof(Real);
  }
};

template <class Real>
Real end_score(const ChainView<Real>& chain, std::uint32_t ngram, Real score) {
  return chain.end ? score + chain.end[chain.ngrams ? chain.ngrams->ngrams->label(ngram) : ngram - 1] : score;
}

template <class States>
class StatePaths {
 public:
  using Real = typename States::Real;
  static constexpr bool kOneTail = true, kStates = true;  // as required by best_lists.hpp

  explicit StatePaths(const States& states) : states_(states), chain_(states.chain), w_(states.table) { w_.ways.clear(); }

  // Writes the best path [T] and returns its score. If all are forbidden: minus infinity, and the lowest allowed labels.
  Real best(std::int32_t* path) {
    Real best = kForbidden<Real>;
    each_last([&](std::uint32_t, Real score) { best = std::max(best, score); });
    if (best == kForbidden<Real>) {
      for (std::size_t t = 0; t < chain_.n_tokens; ++t) path[t] = chain_.allowed ? labels_of(*chain_.allowed, t).labels[0] : 0;
      return best;
    }
    w_.tied.clear();
    each_last([&](std::uint32_t state, Real score) {
      if (score == best) offer(state, w_.tied);
    });
    for (std::size_t t = chain_.n_tokens; t-- > 0;) {
      path[t] = static_cast<std::int32_t>(label(w_.tied[0]));
      if (t) go_back(t, w_.tied);
    }
    return best;
  }
  // The k best paths [k, T], best first; returns their number.
  std::size_t k_best(std::size_t k, BestListsScratch<Real>& scratch, std::int32_t* paths, Real* scores) {
    return BestLists<StatePaths>(*this, scratch).paths(k, chain_.n_tokens, paths, scores);
  }

  std::size_t goal() const { return w_.states.size(); }
  std::size_t n_nodes() const { return goal() + 1; }
  Real best(std::size_t v) const { return w_.alpha[v]; }
  std::size_t label(std::size_t v) const { return chain_.ngrams->ngrams->label(w_.states[v]); }
  std::array<std::uint32_t, 1> tails(std::size_t v, std::uint32_t way) const { return {v == goal() ? way : w_.ways[way].from}; }
  template <class Visit>
  void each_way(std::size_t v, Visit visit) {
    if (v == goal()) return each_last(visit);
    const auto state = static_cast<std::uint32_t>(v);
    if (v == 0) return;
    states_.each_into(token_of(v), std::span(&state, 1), [&](const StateStep<Real>& step) {
      w_.ways.push_back(step);
      visit(static_cast<std::uint32_t>(w_.ways.size() - 1), step.grown(w_.alpha[step.from]));
    });
  }
  template <class ScoreOf>
  Real score(std::size_t v, std::uint32_t way, ScoreOf of) const {
    return v == goal() ? end_score(chain_, w_.states[way], of(0)) : w_.ways[way].grown(of(0));
  }
  void back(std::vector<std::uint32_t>& tied) { go_back(token_of(tied[0]), tied); }

 private:
  std::size_t token_of(std::size_t v) const {
    return static_cast<std::size_t>(std::upper_bound(w_.state_starts.begin(), w_.state_starts.end(), v) - w_.state_starts.begin()) - 1;
  }
  // Calls visit(state, score of the best path that ends in it).
  template <class Visit>
  void each_last(Visit visit) {
    for (std::size_t s = w_.state_starts[chain_.n_tokens - 1]; s < w_.states.size(); ++s)
      visit(static_cast<std::uint32_t>(s), end_score(chain_, w_.states[s], w_.alpha[s]));
  }
  // Retains the states with the lowest last label among those offered: best paths can end in any of them.
  void offer(std::uint32_t state, std::vector<std::uint32_t>& to) const {
    if (!to.empty() && label(state) > label(to[0])) return;
    if (!to.empty() && label(state) < label(to[0])) to.clear();
    to.push_back(state);
  }
  // From tied states of token t to those of the previous token.
  //   d: ((alpha[d] + total) + edge) + emit = alpha[state]
  void go_back(std::size_t t, std::vector<std::uint32_t>& tied) {
    w_.before.clear();
    states_.each_into(t, tied, [&](const StateStep<Real>& step) {
      if (step.grown(w_.alpha[step.from]) == w_.alpha[step.to]) offer(step.from, w_.before);
    });
    tied.swap(w_.before);
  }

  States states_;
  const ChainView<Real>& chain_;
  StateTable<Real>& w_;
};

}  // namespace trellis
