// Sums over steps between states, in log space. The greatest term of each sum is factored out, so that scores may have any size:
//
//   alpha[to] = log sum over steps into it of exp(alpha[from] + score),   share = exp(alpha[from] + score - alpha[to])
//   P(step) = P(state that it leads to) · its share
//
// `States` is as in state_paths.hpp, with steps_at(t), all steps into the states of a token, and kListed: whether those of all
// tokens are stored in table.steps from table.step_starts[t] on. If not, they are recomputed in the backward pass.
#pragma once
#include "engine/state_paths.hpp"

namespace trellis {

// Requested marginals of a chain, beside log Z. Null: not requested.
struct HistoryExpectations {
  double* node = nullptr;          // [T, stride] P(label z at t); zero in the padding and for forbidden labels
  double* token_pairs = nullptr;   // [T, L + 1, stride] P(previous y, z at t), y = L at the first token; likewise
  double* pairs = nullptr;         // [L + 1, stride], or by index, += weight · the same summed over t
  double* ngrams = nullptr;        // [n_nodes] += weight · sum_t P(the labels up to t end in n-gram g), length 3 and more
  double* token_ngrams = nullptr;  // [entries of by_token] weight · P of those n-grams at their tokens
  double weight = 1;
  // [L + 1, stride] index of each label pair in `pairs`, -1: not stored. Null: a full table. With many labels the full table
  // is much larger than the requested pairs.
  const std::int32_t* places = nullptr;

  bool any() const { return node || token_pairs || pairs || ngrams || token_ngrams; }
};

// p = P(previous y, z at token t)
TRELLIS_INLINE void expect_pair(const HistoryExpectations& wanted, const ChainView<double>& chain, std::size_t t,
                                std::size_t y, std::size_t z, double p) {
  const std::size_t pair = y * chain.stride + z;
  if (wanted.node) wanted.node[t * chain.stride + z] += p;
  if (wanted.pairs && !wanted.places) wanted.pairs[pair] += wanted.weight * p;
  if (wanted.pairs && wanted.places && wanted.places[pair] >= 0) wanted.pairs[wanted.places[pair]] += wanted.weight * p;
  if (wanted.token_pairs) wanted.token_pairs[t * (chain.n_labels + 1) * chain.stride + pair] += p;
}

// alpha of the states of token t, and the shares of the steps into them, [n_steps plus a vector of padding].
void share_steps(StateTable<double>& table, std::size_t t, std::span<const StateStep<double>> steps, double* shares);
// log Z; minus infinity if no path is possible. table.beta becomes P of the last states, and 0 of all others.
double share_ends(const ChainView<double>& chain, StateTable<double>& table);

// log Z, and then calls visit(t, steps, P(step) [n_steps]), last token first.
template <class States, class Visit>
double sum_steps(States& states, bool goes_back, Visit visit) {
  auto& w = states.table;
  const auto shares_at = [&](std::size_t t, std::size_t n) {
    std::size_t first = 0;
    if constexpr (States::kListed) first = w.step_starts[t];
    w.shares.resize(std::max(w.shares.size(), first + n + kLanes<double>));
    return w.shares.data() + first;
  };
  w.alpha.assign(w.states.size(), 0.0);
  for (std::size_t t = 0; t < states.chain.n_tokens; ++t) {
    const auto steps = states.steps_at(t);
    share_steps(w, t, steps, shares_at(t, steps.size()));
  }
  const double log_z = share_ends(states.chain, w);
  if (!goes_back || log_z == kForbidden<double>) return log_z;
  for (std::size_t t = states.chain.n_tokens; t-- > 0;) {
    const auto steps = states.steps_at(t);
    double* p = shares_at(t, steps.size());
    if (!States::kListed) share_steps(w, t, steps, p);
    for (std::size_t i = 0; i < steps.size(); ++i) w.beta[steps[i].from] += p[i] *= w.beta[steps[i].to];
    visit(t, steps, static_cast<const double*>(p));
  }
  return log_z;
}

// log Z and the requested marginals; node and token_pairs must be zero.
template <class States>
double expect_steps(States& states, const HistoryExpectations& wanted) {
  const Ngrams& ngrams = *states.chain.ngrams->ngrams;
  const TokenNgrams<double>* by_token = wanted.token_ngrams ? states.chain.ngrams->by_token : nullptr;
  auto& w = states.table;
  if (by_token && w.of_ngram.size() < ngrams.size()) w.of_ngram.resize(ngrams.size(), 0.0);
  return sum_steps(states, wanted.any(), [&](std::size_t t, const auto& steps, const double* p) {
    const auto each_scored = [&](auto visit) TRELLIS_INLINE_LAMBDA {
      for (std::size_t i = 0; i < steps.size(); ++i)
        for (std::uint32_t g = steps[i].ngram; ngrams.length(g) >= kScored; g = ngrams.shorter(g)) visit(g, p[i]);
    };
    for (std::size_t i = 0; i < steps.size(); ++i)
      expect_pair(wanted, states.chain, t, ngrams.label(w.states[steps[i].from]), ngrams.label(steps[i].ngram), p[i]);
    if (wanted.ngrams) each_scored([&](std::uint32_t g, double of_step) { wanted.ngrams[g] += wanted.weight * of_step; });
    if (!by_token || by_token->starts[t] == by_token->starts[t + 1]) return;
    each_scored([&](std::uint32_t g, double of_step) { w.of_ngram[g] += of_step; });
    for (std::size_t i = by_token->starts[t]; i < by_token->starts[t + 1]; ++i)
      wanted.token_ngrams[i] = wanted.weight * w.of_ngram[by_token->nodes[i]];
    each_scored([&](std::uint32_t g, double) { w.of_ngram[g] = 0; });
  });
}

}  // namespace trellis
