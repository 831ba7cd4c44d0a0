// Chains with label n-grams over a lattice (chain.hpp): paths that pruning left. Where such a path goes is a *state*, a node
// together with what n-grams remember of the labels up to it (ngrams.hpp); steps between states are few, so they are listed.
#pragma once
#include <vector>

#include "engine/expectations.hpp"
#include "engine/scale.hpp"
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
  std::vector<Real> factors, scales;        // [n_steps and a vector more], [T]
  std::vector<Real> least;                  // [T] factors that are not zero
  std::vector<std::uint8_t> marked;         // [n_states]
  std::vector<double> of_ngram;             // [n_nodes]; 0 between uses

  // What grows with the length of a sentence.
  std::size_t bytes() const {
    return this->states.capacity() * sizeof(std::uint32_t) + steps.capacity() * sizeof(Step) +
           (this->alpha.capacity() + beta.capacity() + factors.capacity()) * sizeof(Real);
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

// By products of factors, each token's greatest 1 and its alpha scaled to sum to one; by logarithms where those vanish.
//   alpha[to] = sum over steps into it of alpha[from] · factor,   beta[from] = sum over steps out of it of factor · beta[to]
//   P(step) = alpha[from] · factor · beta[to]
namespace lattice_sums {

template <class S>
inline constexpr bool kScaled = std::is_same_v<S, SumProduct>;

double step_factors(LatticeWorkspace<double>& work, std::size_t n_tokens);

template <class S>
double forward(const ChainView<double>& chain, LatticeWorkspace<double>& w) {
  const std::size_t T = chain.n_tokens;
  constexpr double zero = S::template zero<double>;
  w.alpha.assign(w.states.size(), zero);
  w.alpha[0] = S::template one<double>;
  Scaling scaling;
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t i = w.step_starts[t]; i < w.step_starts[t + 1]; ++i) {
      double& to = w.alpha[w.steps[i].to];
      to = S::plus(to, S::times(w.alpha[w.steps[i].from], w.factors[i]));
    }
    const std::size_t first = w.state_starts[t], n = w.state_starts[t + 1] - first;
    if (kScaled<S> && !scaling.scale(w.alpha.data() + first, n, {1, w.least[t]}, w.scales[t])) return kForbidden<double>;
  }
  w.beta.assign(w.states.size(), zero);
  const auto end_of = [&](std::size_t s) { return chain.end ? chain.end[chain.ngrams->ngrams->label(w.states[s])] : 0; };
  double total = zero, top = kScaled<S> ? kForbidden<double> : 0, least_end = 1;
  for (std::size_t s = w.state_starts[T - 1]; kScaled<S> && s < w.states.size(); ++s) top = std::max(top, end_of(s));
  for (std::size_t s = w.state_starts[T - 1]; s < w.states.size(); ++s) {
    w.beta[s] = kScaled<S> ? std::exp(end_of(s) - top) : end_of(s);
    if (kScaled<S> && end_of(s) > kForbidden<double>) least_end = std::min(least_end, w.beta[s]);
    total = S::plus(total, S::times(w.alpha[s], w.beta[s]));
  }
  if (kScaled<S> && !scaling.take(total, {1, least_end})) return kForbidden<double>;
  for (std::size_t s = w.state_starts[T - 1]; s < w.states.size(); ++s)
    w.beta[s] = kScaled<S> ? w.beta[s] / total : w.beta[s] - total;
  return kScaled<S> ? scaling.log_z() + top : total;
}

template <class S, class Visit>
void backward(std::size_t T, LatticeWorkspace<double>& w, Visit visit) {
  for (std::size_t t = T; t-- > 0;) {
    if constexpr (kScaled<S>)
      for (std::size_t s = w.state_starts[t]; s < w.state_starts[t + 1]; ++s)  // of what is never met beta may be too large for a number
        w.beta[s] = w.alpha[s] > 0 ? w.beta[s] * w.scales[t] : 0;
    for (std::size_t i = w.step_starts[t]; i < w.step_starts[t + 1]; ++i) {
      const auto& step = w.steps[i];
      const double follows = S::times(w.factors[i], w.beta[step.to]), p = S::times(w.alpha[step.from], follows);
      w.beta[step.from] = S::plus(w.beta[step.from], follows);
      visit(t, step, kScaled<S> ? p : std::exp(p));
    }
  }
}

}  // namespace lattice_sums

template <class Visit>
double sum_steps(const ChainView<double>& chain, LatticeWorkspace<double>& w, bool goes_back, Visit visit) {
  using namespace lattice_sums;
  const double taken_out = step_factors(w, chain.n_tokens);
  double log_z = taken_out == kForbidden<double> ? taken_out : forward<SumProduct>(chain, w) + taken_out;
  if (std::isfinite(log_z)) {
    if (goes_back) backward<SumProduct>(chain.n_tokens, w, visit);
    return log_z;
  }
  for (std::size_t i = 0; i < w.steps.size(); ++i) w.factors[i] = (w.steps[i].total + w.steps[i].edge) + w.steps[i].emit;
  log_z = forward<LogSum>(chain, w);
  if (goes_back && std::isfinite(log_z)) backward<LogSum>(chain.n_tokens, w, visit);
  return log_z;
}

}  // namespace trellis
