// By products of factors, each token's scaled to sum to one; by logarithms where those overflow or vanish.
#include "engine/history_sums.hpp"

#include <cmath>

#include "engine/elementary.hpp"

namespace trellis {
namespace {

constexpr std::size_t kFewTriples = 4096;  // listed per token on average: small tables are faster than states

template <class S>
inline constexpr bool kScaled = std::is_same_v<S, SumProduct>;

// Factors of what labels give at a token, the greatest of them 1, and the range of all factors there; gives the logarithm that
// was taken out.
double emission_factors(const ChainView<double>& chain, const HistoryFactors& factors, std::size_t t, double* out, FactorRange& range) {
  const double* emit = chain.emit + t * chain.stride;
  const double* tops = factors.tops ? factors.tops + (chain.edge_per_token ? t * chain.stride : 0) : nullptr;
  double added = 0, taken = 0;  // by n-grams at this token, at most and at least
  if (const TokenNgrams<double>* own = chain.ngrams->by_token)
    for (std::size_t i = own->starts[t]; i < own->starts[t + 1]; ++i) {
      const double score = own->scores[i];
      if (score > kForbidden<double>) (score > 0 ? added : taken) += score;
    }
  const auto over = [&](const auto& labels) {
    double top = kForbidden<double>, most = kForbidden<double>, least = 0;
    for (std::size_t j = 0; j < labels.size(); ++j) top = std::max(top, emit[labels[j]]);
    if (top == kForbidden<double>) top = 0;
    for (std::size_t j = 0; j < labels.size(); ++j) {
      const double score = emit[labels[j]] - top;
      out[labels[j]] = exp(score);
      most = std::max(most, score + (tops ? tops[labels[j]] : factors.top));
      if (score > kForbidden<double>) least = std::min(least, score);
    }
    range = {exp(most + added), exp(least + taken + factors.bottom)};
    return top;
  };
  return chain.allowed ? over(labels_of(*chain.allowed, t)) : over(AllLabels{chain.n_labels});
}

// The range of scores [n] as factors.
FactorRange range_of(const double* scores, std::size_t n) {
  double most = kForbidden<double>, least = 0;
  for (std::size_t i = 0; i < n; ++i) {
    most = std::max(most, scores[i]);
    if (scores[i] > kForbidden<double>) least = std::min(least, scores[i]);
  }
  return {exp(most), exp(least)};
}

// log Z, and alpha of all tokens.
template <class S>
TRELLIS_INLINE double forward_any(const ChainView<double>& chain, HistorySumsWorkspace& work) {
  work.passes.begin(chain);
  if (work.alpha.size() < chain.n_tokens + 1) work.alpha.resize(chain.n_tokens + 1);
  work.alpha[0] = {{chain.ngrams->ngrams->null()}, {S::template one<double>}};
  const auto forward = [&](std::size_t t) TRELLIS_INLINE_LAMBDA {
    work.passes.template at_token<S>(t, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
      work.passes.template forward<S>(labels, score, work.alpha[t], work.alpha[t + 1]);
    });
    return std::span(work.alpha[t + 1].values);
  };
  return sum_forward<S>(chain.n_tokens, work.sums, forward, [&](std::size_t i) {
    return chain.end ? chain.end[chain.ngrams->ngrams->label(work.alpha[chain.n_tokens].states[i])] : S::template one<double>;
  });
}

template <class S>
TRELLIS_INLINE void backward_any(const ChainView<double>& chain, HistorySumsWorkspace& work,
                                 const HistoryExpectations& wanted) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const auto probability = [](double value) { return kScaled<S> ? value : exp(value); };
  work.here.states = work.alpha[chain.n_tokens].states;
  work.here.values.swap(work.sums.beta);
  for (std::size_t t = chain.n_tokens; t-- > 0;) {
    if constexpr (kScaled<S>)
      for (double& value : work.here.values) value *= work.sums.scales[t];
    work.passes.template at_token<S>(
        t, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
          work.passes.template backward<S>(labels, score, work.alpha[t], work.here, work.betas);
          work.passes.each_row([&](std::uint32_t node, const double* row) TRELLIS_INLINE_LAMBDA {
            const std::size_t y = ngrams.label(node);
            if (ngrams.length(node) == 1)
              for (std::size_t j = 0; j < labels.n; ++j) {
                const std::size_t z = labels.label(j);
                expect_pair(wanted, chain, t, y, z, probability(row[j]));
              }
            else if (wanted.ngrams)
              work.passes.each_explicit(labels, node, [&](std::uint32_t child, std::size_t j) TRELLIS_INLINE_LAMBDA {
                wanted.ngrams[child] += wanted.weight * probability(row[j]);
              });
          });
          if (const TokenNgrams<double>* own = chain.ngrams->by_token; own && wanted.token_ngrams)
            for (std::size_t i = own->starts[t]; i < own->starts[t + 1]; ++i) {
              const std::uint32_t node = own->nodes[i];
              const double* row = work.passes.row_of(ngrams.parent(node));
              const std::ptrdiff_t j = labels.at(ngrams.label(node));
              wanted.token_ngrams[i] = row && j >= 0 ? wanted.weight * probability(row[j]) : 0;
            }
        });
    work.here.states = work.alpha[t].states;
    work.here.values.swap(work.betas);
  }
}

TRELLIS_CLONES double forward_products(const ChainView<double>& chain, HistorySumsWorkspace& work) {
  return forward_any<SumProduct>(chain, work);
}
TRELLIS_CLONES void backward_products(const ChainView<double>& chain, HistorySumsWorkspace& work,
                                      const HistoryExpectations& wanted) {
  backward_any<SumProduct>(chain, work, wanted);
}

// The same by flows, where every token may have every label.
TRELLIS_CLONES double forward_flows(const ChainView<double>& chain, const HistoryFactors& factors,
                                    HistorySumsWorkspace& work) {
  const NgramPlan& plan = *factors.plan;
  const std::size_t T = chain.n_tokens, n = plan.contexts.size();
  work.flows.begin(plan, factors.plan_totals);
  if (work.masses.size() < (T + 1) * n) work.masses.resize((T + 1) * n);
  std::fill_n(work.masses.data(), n, 0.0);
  work.masses[plan.single(chain.n_labels)] = 1;
  const auto forward = [&](std::size_t t) TRELLIS_INLINE_LAMBDA {
    double* to = work.masses.data() + (t + 1) * n;
    work.flows.forward(chain, t, to - n, to);
    return std::span(to, n);
  };
  return sum_forward<SumProduct>(T, work.sums, forward, [&](std::size_t i) {
    return plan.last[i] == chain.n_labels ? 0 : chain.end ? chain.end[plan.last[i]] : 1;
  });
}
TRELLIS_CLONES void backward_flows(const ChainView<double>& chain, const NgramPlan& plan, HistorySumsWorkspace& work,
                                   const HistoryExpectations& wanted) {
  const std::size_t n = plan.contexts.size(), stride = chain.stride;
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
    for (std::size_t i = 0; i < n; ++i)  // of what is never met beta may be too large for a number
      if (work.masses[t * n + i] == 0) work.betas[i] = 0;
    work.sums.beta.swap(work.betas);
  }
  if (wanted.ngrams)
    for (std::size_t k = 0; k < plan.n_grams(); ++k) wanted.ngrams[plan.nodes[k]] += wanted.weight * work.gram_sums[k];
}

}  // namespace

double sum_histories(const ChainView<double>& chain, const HistoryFactors& factors, HistorySumsWorkspace& work,
                     const HistoryExpectations& wanted) {
  const std::size_t T = chain.n_tokens, stride = chain.stride;
  if (T == 0) return 0;
  if (wanted.node) std::fill_n(wanted.node, T * stride, 0.0);
  if (wanted.token_pairs) std::fill_n(wanted.token_pairs, T * (chain.n_labels + 1) * stride, 0.0);
  if (on_lattice(chain)) return sum_on_lattice(chain, work.lattice, wanted);
  if (work.emit.size() < T * stride) work.emit.resize(T * stride);
  ChainView<double> products = chain;
  double taken_out = 0, top = factors.top;
  std::vector<FactorRange>& ranges = work.sums.ranges;
  ranges.resize(T + 1);
  for (std::size_t t = 0; t < T; ++t) taken_out += emission_factors(chain, factors, t, work.emit.data() + t * stride, ranges[t]);
  ranges[T] = chain.end ? range_of(chain.end, chain.n_labels) : FactorRange{};
  products.emit = work.emit.data(), products.edge = factors.edge, products.end = factors.end;
  work.ngrams = {chain.ngrams->ngrams, factors.ngrams, factors.totals, nullptr};
  if (chain.ngrams->by_token) {
    work.by_token = *chain.ngrams->by_token;
    for (std::size_t t = 0; t < T; ++t) {
      double added = 0;
      for (std::size_t i = work.by_token.starts[t]; i < work.by_token.starts[t + 1]; ++i) {
        double& score = work.by_token.scores[i];
        added += std::max(score, 0.0);
        score = exp(score);
      }
      top = std::max(top, factors.top + added);
    }
    work.ngrams.by_token = &work.by_token;
  }
  products.ngrams = &work.ngrams;
  // By flows where every token may have every label, by small tables where they are short, else by states.
  const bool by_flows = factors.plan && !chain.allowed && !chain.ngrams->by_token;
  const bool by_tables = !by_flows && has_few_triples(chain, kFewTriples);
  if (top <= Scaling::kMostTop) {
    const double log_z = by_flows    ? forward_flows(products, factors, work)
                         : by_tables ? work.listed.sum(products, work.sums)
                                     : forward_products(products, work);
    if (std::isfinite(log_z)) {
      if (!wanted.any()) return log_z + taken_out;
      if (by_flows) backward_flows(products, *factors.plan, work, wanted);
      else if (by_tables) work.listed.expect(products, work.sums, wanted);
      else backward_products(products, work, wanted);
      return log_z + taken_out;
    }
  }
  const double log_z = forward_any<LogSum>(chain, work);
  if (wanted.any() && std::isfinite(log_z)) backward_any<LogSum>(chain, work, wanted);
  return log_z;
}

}  // namespace trellis
