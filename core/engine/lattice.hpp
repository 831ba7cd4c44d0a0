// Chains with label n-grams over a lattice (chain.hpp), the paths that pruning left. A *state* is a node
// together with the n-gram state of the labels up to it (ngrams.hpp); steps between states are few, so they are listed.
#pragma once
#include "engine/state_sums.hpp"

namespace trellis {

// Whether to search a chain on its lattice: every token has nodes.
template <class Real>
bool on_lattice(const ChainView<Real>& chain) {
  if (!chain.ngrams || !chain.allowed || !chain.allowed->lattice.starts || chain.n_tokens == 0) return false;
  const std::int64_t* starts = chain.allowed->lattice.starts;
  for (std::size_t t = 0; t < chain.n_tokens; ++t)
    if (const std::int32_t set = chain.allowed->set_of_token[t]; starts[set] == starts[set + 1]) return false;
  return true;
}

// The states and steps of a chain on its lattice; the steps into the states of a token are contiguous. N-gram states have at most
// `longest` labels.
template <class Real>
void lay_out(const ChainView<Real>& chain, StateTable<Real>& work, std::size_t longest = 0xffff);
// For state_paths.hpp and state_sums.hpp, after lay_out.
template <class R>
struct LatticeStates {
  using Real = R;
  static constexpr bool kListed = true;
  const ChainView<Real>& chain;
  StateTable<Real>& table;

  std::span<const StateStep<Real>> steps_at(std::size_t t) const {
    return {table.steps.data() + table.step_starts[t], table.step_starts[t + 1] - table.step_starts[t]};
  }
  template <class Visit>
  void each_into(std::size_t t, std::span<const std::uint32_t> states, Visit visit) {
    table.marked.resize(table.states.size());
    for (std::uint32_t state : states) table.marked[state] = 1;
    for (const StateStep<Real>& step : steps_at(t))
      if (table.marked[step.to]) visit(step);
    for (std::uint32_t state : states) table.marked[state] = 0;
  }
};

// Best paths on the lattice.
template <class Real>
StatePaths<LatticeStates<Real>> search_lattice(const ChainView<Real>& chain, StateTable<Real>& work);

// After lay_out: the score gap between the best path and the best path through each step, gaps [n_steps]. False if no path is
// possible.
bool step_gaps(const ChainView<double>& chain, StateTable<double>& work, std::vector<double>& gaps);

}  // namespace trellis
