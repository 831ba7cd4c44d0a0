#include "engine/history_sums.hpp"

#include <cmath>

#include "engine/elementary.hpp"

namespace trellis {
namespace {

// Factors of scores minus their maximum; returns the maximum, and writes the least other score to `bottom`.
template <class Labels>
double exp_listed(const double* scores, const Labels& labels, double* out, double& bottom) {
  double top = kForbidden<double>;
  for (std::size_t j = 0; j < labels.size(); ++j) top = std::max(top, scores[labels[j]]);
  if (top == kForbidden<double>) top = 0;
  for (std::size_t j = 0; j < labels.size(); ++j) {
    const double score = scores[labels[j]] - top;
    out[labels[j]] = exp(score);
    if (score > kForbidden<double>) bottom = std::min(bottom, score);
  }
  return top;
}

TRELLIS_CLONES double forward_flows(const ChainView<double>& chain, const NgramPlan& plan, HistorySumsWorkspace& work) {
  const std::size_t T = chain.n_tokens, n = plan.contexts.size();
  if (work.masses.size() < (T + 1) * n) work.masses.resize((T + 1) * n);
  std::fill_n(work.masses.data(), n, 0.0);
  work.masses[plan.single(chain.n_labels)] = 1;
  const auto forward = [&](std::size_t t) TRELLIS_INLINE_LAMBDA {
    double* to = work.masses.data() + (t + 1) * n;
    work.flows.forward(chain, t, to - n, to);
    return std::span(to, n);
  };
  return sum_forward(T, work.sums, forward, [&](std::size_t i) {
    return plan.last[i] == chain.n_labels ? 0 : chain.end ? chain.end[plan.last[i]] : 1;
  });
}
TRELLIS_CLONES void backward_flows(const ChainView<double>& chain, const NgramPlan& plan, HistorySumsWorkspace& work,
                                   const HistoryExpectations& wanted) {
  const std::size_t n = plan.contexts.size(), stride = chain.stride;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  work.betas.resize(n);
  work.gram_sums.assign(plan.n_grams(), 0);
  for (std::size_t t = chain.n_tokens; t-- > 0;) {
    for (double& value : work.sums.beta) value *= work.sums.scales[t];
    work.flows.backward(chain, t, work.masses.data() + t * n, work.sums.beta.data(), work.betas.data());
    const double* found = work.flows.expectations();
    for (std::size_t y = 0; y <= chain.n_labels; ++y) {
      if (!work.flows.has_mass(plan.single(y))) continue;
      const double* p = found + y * stride;
      for (std::size_t z = 0; z < chain.n_labels; ++z) expect_pair(wanted, chain, t, y, z, p[z]);
    }
    if (wanted.ngrams)
      for (std::size_t i = 0; i < plan.n_long; ++i)
        if (work.flows.has_mass(i))
          for (std::size_t k = plan.starts[i]; k < plan.starts[i + 1]; ++k) work.gram_sums[k] += found[plan.pair_size + k];
    if (const TokenNgrams<double>* by_token = chain.ngrams->by_token; by_token && wanted.token_ngrams)
      for (std::size_t i = by_token->starts[t]; i < by_token->starts[t + 1]; ++i) {
        const std::uint32_t node = by_token->nodes[i];
        const bool is_met = work.flows.has_mass(plan.number[ngrams.parent(node)]);
        wanted.token_ngrams[i] = is_met ? wanted.weight * found[plan.place[node]] : 0;
      }
    for (std::size_t i = 0; i < n; ++i)  // beta of unreachable contexts may overflow
      if (work.masses[t * n + i] == 0) work.betas[i] = 0;
    work.sums.beta.swap(work.betas);
  }
  if (wanted.ngrams)
    for (std::size_t k = 0; k < plan.n_grams(); ++k) wanted.ngrams[plan.nodes[k]] += wanted.weight * work.gram_sums[k];
}

}  // namespace

// Minus infinity if factors overflow or underflow.
double NgramTables::sum_products(const ChainView<double>& chain, HistorySumsWorkspace& work, const HistoryExpectations& wanted) const {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  ChainView<double> products = chain;
  NgramScores<double> scored{chain.ngrams->ngrams, nullptr};
  products.edge = edge_factors_.data(), products.end = chain.end ? end_factors_.data() : nullptr, products.ngrams = &scored;
  ScoreRange edges = edges_, tokens;  // of label pairs; of emissions and token-specific n-grams
  if (chain.edge_per_token) {
    const std::size_t size = T * (L + 1) * stride;
    edges = {};
    products.edge = grow(work.edge, size);
    for (std::size_t i = 0; i < size; ++i) {
      work.edge[i] = exp(chain.edge[i]);
      if (i % stride < L) edges.add(chain.edge[i]);
    }
  }
  products.emit = grow(work.emit, T * stride);
  if (chain.allowed) std::fill_n(work.emit.data(), T * stride, 0.0);
  if (chain.ngrams->by_token) work.by_token = *chain.ngrams->by_token, scored.by_token = &work.by_token;
  double taken_out = 0;
  for (std::size_t t = 0; t < T; ++t) {
    double added = 0, bottom = 0;
    for (std::size_t i = scored.by_token ? work.by_token.starts[t] : 0; scored.by_token && i < work.by_token.starts[t + 1]; ++i) {
      double& score = work.by_token.scores[i];
      if (score > kForbidden<double>) (score > 0 ? added : bottom) += score;
      score = exp(score);
    }
    const auto over = [&](const auto& labels) {
      double least = 0;
      const double top = exp_listed(chain.emit_at(t), labels, work.emit.data() + t * stride, least);
      tokens.add(added), tokens.add(least + bottom);
      return top;
    };
    taken_out += chain.allowed ? over(labels_of(*chain.allowed, t)) : over(AllLabels{L});
  }
  const double top = edges.top + total_.top + ends_.top + tokens.top;
  if (top > Scaling::kMostTop) return kForbidden<double>;
  work.sums.range = {exp(top), exp(edges.bottom + total_.bottom + ends_.bottom + tokens.bottom)};
  work.flows.begin(plan_, plan_totals_.data());
  const double log_z = forward_flows(products, plan_, work);
  if (wanted.any() && std::isfinite(log_z)) backward_flows(products, plan_, work, wanted);
  return log_z + taken_out;
}

double NgramTables::sum(std::size_t n, const double* emit, const double* token_edge, const TokenNgrams<double>* by_token,
                        const LabelSets* allowed, HistorySumsWorkspace& work, const HistoryExpectations& wanted) const {
  if (n == 0) return 0;
  NgramScores<double> scored = scored_;
  scored.by_token = by_token;
  ChainView<double> chain(labels_, n, emit, token_edge, allowed);
  chain.ngrams = &scored;
  if (wanted.node) std::fill_n(wanted.node, n * chain.stride, 0.0);
  if (wanted.token_pairs) std::fill_n(wanted.token_pairs, n * (chain.n_labels + 1) * chain.stride, 0.0);
  if (on_lattice(chain)) {
    lay_out(chain, work.states);
    LatticeStates<double> states{chain, work.states};
    return expect_steps(states, wanted);
  }
  if (work.listed.is_worth(chain)) {
    const double log_z = work.listed.sum(chain);
    if (std::isfinite(log_z)) {
      if (!wanted.any()) return log_z;
      work.listed.each_step([&](std::size_t t, std::size_t, std::size_t y, std::size_t z, double p) { expect_pair(wanted, chain, t, y, z, p); });
      if (wanted.ngrams) work.listed.each_triple([&](std::uint32_t g, double p) { wanted.ngrams[g] += wanted.weight * p; });
      return log_z;
    }
  } else if (const double log_z = sum_products(chain, work, wanted); std::isfinite(log_z)) {
    return log_z;
  }
  reach_all(chain, work.states);
  HistoryStates<double> states{chain, work.states};
  return expect_steps(states, wanted);
}

}  // namespace trellis
