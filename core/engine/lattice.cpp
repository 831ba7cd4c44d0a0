#include "engine/lattice.hpp"

#include "engine/elementary.hpp"
#include "engine/hypergraph_passes.hpp"

namespace trellis {
namespace {

//   alpha[to] = max over steps into it of ((alpha[from] + total) + edge) + emit
template <class Real>
void forward_best(StateTable<Real>& w) {
  w.alpha.assign(w.states.size(), kForbidden<Real>);
  w.alpha[0] = 0;
  for (const auto& step : w.steps) w.alpha[step.to] = std::max(w.alpha[step.to], step.grown(w.alpha[step.from]));
}

}  // namespace

template <class Real>
void lay_out(const ChainView<Real>& chain, StateTable<Real>& w, std::size_t longest) {
  const Lattice& lattice = chain.allowed->lattice;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  w.states.assign(1, ngrams.null());
  w.state_starts.assign(1, 1), w.step_starts.assign(1, 0), w.steps.clear();
  w.first.assign({0, 1});
  constexpr std::uint32_t kNotMet = 0xffffffff;
  const std::uint32_t n_singles = ngrams.null();  // nodes up to this number have one label
  // The index of the current node's state for an n-gram, created if missing.
  const auto state_of = [&](std::uint32_t ngram) {
    std::uint32_t state = ngrams.state(ngram), to = w.next.back();
    while (ngrams.length(state) > longest) state = ngrams.shorter(state);
    while (to < w.states.size() && w.states[to] != state) ++to;
    if (to == w.states.size()) w.states.push_back(state);
    return to;
  };
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const std::int32_t set = chain.allowed->set_of_token[t];
    w.next.assign(1, static_cast<std::uint32_t>(w.states.size()));
    w.scores_at.visit(*chain.ngrams, t, [&](const auto& score) TRELLIS_INLINE_LAMBDA {
      const std::int64_t first_arc = lattice.in_starts[lattice.starts[set]];
      for (std::int64_t v = lattice.starts[set]; v < lattice.starts[set + 1]; ++v) {
        const auto z = static_cast<std::size_t>(lattice.labels[v]);
        const Real emit = chain.emit_at(t)[z];
        for (std::int64_t arc = lattice.in_starts[v]; arc < lattice.in_starts[v + 1]; ++arc) {
          const auto u = static_cast<std::size_t>(lattice.from[arc]);
          if (w.first[u] == w.first[u + 1]) continue;
          const std::size_t y = ngrams.label(w.states[w.first[u]]);
          const Real edge = chain.edge_at(t, y)[z];
          const auto number = static_cast<std::uint32_t>(arc - first_arc);
          // By the label pair alone, unless a longer n-gram of the previous labels exists.
          const std::uint32_t pair = ngrams.longest(static_cast<std::uint32_t>(1 + y), z);
          std::uint32_t by_pair = kNotMet;
          for (std::uint32_t from = w.first[u]; from < w.first[u + 1]; ++from) {
            std::uint32_t ngram = Ngrams::kNone;
            for (std::uint32_t c = w.states[from]; ngram == Ngrams::kNone && c > n_singles; c = ngrams.shorter(c))
              ngram = ngrams.find(c, z);
            if (ngram != Ngrams::kNone) {
              w.steps.push_back({from, state_of(ngram), ngram, number, score(ngram), edge, emit});
              continue;
            }
            if (by_pair == kNotMet) by_pair = state_of(pair);
            w.steps.push_back({from, by_pair, pair, number, 0, edge, emit});
          }
        }
        w.next.push_back(static_cast<std::uint32_t>(w.states.size()));
      }
    });
    w.first.swap(w.next);
    w.state_starts.push_back(w.states.size()), w.step_starts.push_back(w.steps.size());
  }
}

template <class Real>
StatePaths<LatticeStates<Real>> search_lattice(const ChainView<Real>& chain, StateTable<Real>& w) {
  lay_out(chain, w);
  forward_best(w);
  return StatePaths(LatticeStates<Real>{chain, w});
}

void share_steps(StateTable<double>& w, std::size_t t, std::span<const StateStep<double>> steps, double* shares) {
  const std::size_t first = w.state_starts[t], last = w.state_starts[t + 1];
  w.sums.resize(w.states.size());
  std::fill(w.alpha.begin() + static_cast<std::ptrdiff_t>(first), w.alpha.begin() + static_cast<std::ptrdiff_t>(last), kForbidden<double>);
  std::fill(w.sums.begin() + static_cast<std::ptrdiff_t>(first), w.sums.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    shares[i] = w.alpha[steps[i].from] + steps[i].score();
    w.alpha[steps[i].to] = std::max(w.alpha[steps[i].to], shares[i]);
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (shares[i] > kForbidden<double>) shares[i] -= w.alpha[steps[i].to];
  exp_values(shares, steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) w.sums[steps[i].to] += shares[i];
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (shares[i] > 0) shares[i] /= w.sums[steps[i].to];
  for (std::size_t s = first; s < last; ++s)
    if (w.sums[s] > 1) w.alpha[s] += log(w.sums[s]);
}

double share_ends(const ChainView<double>& chain, StateTable<double>& w) {
  const std::size_t first = w.state_starts[chain.n_tokens - 1];
  w.beta.assign(w.states.size(), 0.0);
  for (std::size_t s = first; s < w.states.size(); ++s) w.beta[s] = end_score(chain, w.states[s], w.alpha[s]);
  return first < w.states.size() ? LogSumOf::sum(w.beta.data() + first, w.states.size() - first) : kForbidden<double>;
}

//   beta[from] = max over steps out of it of ((total + edge) + emit) + beta[to]
bool step_gaps(const ChainView<double>& chain, StateTable<double>& w, std::vector<double>& gaps) {
  const std::size_t T = chain.n_tokens;
  forward_best(w);
  w.beta.assign(w.states.size(), kForbidden<double>);
  double best = kForbidden<double>;
  for (std::size_t s = w.state_starts[T - 1]; s < w.states.size(); ++s) {
    w.beta[s] = end_score(chain, w.states[s], 0.0);
    best = std::max(best, w.alpha[s] + w.beta[s]);
  }
  if (best == kForbidden<double>) return false;
  gaps.resize(w.steps.size());
  for (std::size_t i = w.steps.size(); i-- > 0;) {
    const auto& step = w.steps[i];
    const double follows = step.score() + w.beta[step.to];
    w.beta[step.from] = std::max(w.beta[step.from], follows);
    gaps[i] = best - (w.alpha[step.from] + follows);
  }
  std::size_t state = w.states.size() - 1;  // of the best path, by back-tracking: its gaps are exactly 0 despite rounding
  while (w.alpha[state] + end_score(chain, w.states[state], 0.0) != best) --state;
  for (std::size_t t = T; t-- > 0;) {
    std::size_t i = w.step_starts[t];
    while (w.steps[i].to != state || w.steps[i].grown(w.alpha[w.steps[i].from]) != w.alpha[state]) ++i;
    gaps[i] = 0;
    state = w.steps[i].from;
  }
  return true;
}

#define TRELLIS_INSTANCES(Real)                                                        \
  template void lay_out(const ChainView<Real>&, StateTable<Real>&, std::size_t); \
  template StatePaths<LatticeStates<Real>> search_lattice(const ChainView<Real>&, StateTable<Real>&);
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)
#undef TRELLIS_INSTANCES

}  // namespace trellis
