// Chains with label n-grams over a lattice (chain.hpp): paths that pruning left. Where such a path goes is a *state*, a node
// together with what n-grams remember of the labels up to it (ngrams.hpp); steps between states are few, so they are listed.
#pragma once
#include <vector>

#include "engine/expectations.hpp"
#include "engine/state_paths.hpp"

namespace trellis {

// Whether a chain is to be searched on its lattice: every token has nodes.
template <class Real>
bool on_lattice(const ChainView<Real>& chain) {
  if (!chain.ngrams || !chain.allowed || !chain.allowed->lattice.starts || chain.n_tokens == 0) return false;
  const std::int64_t* starts = chain.allowed->lattice.starts;
  for (std::size_t t = 0; t < chain.n_tokens; ++t)
    if (const std::int32_t set = chain.allowed->set_of_token[t]; starts[set] == starts[set + 1]) return false;
  return true;
}

// Scratch of one thread.
template <class Real>
struct LatticeWorkspace : StateTable<Real> {
  using Step = StateStep<Real>;
  std::vector<Step> steps;                  // those into a token's states together
  std::vector<std::size_t> step_starts;     // [T + 1]
  std::vector<std::uint32_t> first, next;   // [nodes of a token + 1] their first states
  ScoresAt<Real> scores_at;
  std::vector<Real> beta;                   // [n_states]
  std::vector<Real> shares, sums;           // [n_steps and a vector more], [n_states]
  std::vector<std::uint8_t> marked;         // [n_states]
  std::vector<double> of_ngram;             // [n_nodes]; 0 between uses

  // What grows with the length of a sentence.
  std::size_t bytes() const {
    return this->states.capacity() * sizeof(std::uint32_t) + steps.capacity() * sizeof(Step) +
           (this->alpha.capacity() + beta.capacity() + shares.capacity()) * sizeof(Real);
  }
};

// The states and steps of a chain on its lattice. N-grams are remembered up to `longest` labels.
template <class Real>
void lay_out(const ChainView<Real>& chain, LatticeWorkspace<Real>& work, std::size_t longest = 0xffff);

// As best_history and k_best_histories (history_best.hpp), of chains on a lattice.
template <class Real>
Real best_on_lattice(const ChainView<Real>& chain, LatticeWorkspace<Real>& work, std::int32_t* path);
template <class Real>
std::size_t k_best_on_lattice(const ChainView<Real>& chain, std::size_t k, LatticeWorkspace<Real>& work,
                              BestListsScratch<Real>& lists, std::int32_t* paths, Real* scores);

// After lay_out: log Z over the steps, minus infinity where no path is possible; then calls visit(t, step, P(step)).
template <class Visit>
double sum_steps(const ChainView<double>& chain, LatticeWorkspace<double>& work, bool goes_back, Visit visit);
// log Z of a chain on its lattice, and what is wanted; node and token_pairs must be zero.
double sum_on_lattice(const ChainView<double>& chain, LatticeWorkspace<double>& work, const HistoryExpectations& wanted);

// After lay_out: how much less than the best path the best one by each step scores, gaps [n_steps]. False if no path is
// possible.
bool step_gaps(const ChainView<double>& chain, LatticeWorkspace<double>& work, std::vector<double>& gaps);

// log Z over the steps of a lattice; in w.beta the probabilities of the last states, in w.shares what part of the sum of its state comes
// by a step.
double step_shares(const ChainView<double>& chain, LatticeWorkspace<double>& w);

// P(step) = P(state that it leads to) · its share
template <class Visit>
double sum_steps(const ChainView<double>& chain, LatticeWorkspace<double>& w, bool goes_back, Visit visit) {
  const double log_z = step_shares(chain, w);
  if (!goes_back || log_z == kForbidden<double>) return log_z;
  for (std::size_t t = chain.n_tokens; t-- > 0;)
    for (std::size_t i = w.step_starts[t]; i < w.step_starts[t + 1]; ++i) {
      const double p = w.beta[w.steps[i].to] * w.shares[i];
      w.beta[w.steps[i].from] += p;
      visit(t, w.steps[i], p);
    }
  return log_z;
}

}  // namespace trellis
