// By products of factors, each token's scaled to sum to one; by logarithms where those overflow or vanish.
#include "engine/history_sums.hpp"

#include <cmath>

namespace trellis {
namespace {

// What vanishes among factors (below exp(-745)) must not have mattered: no factor is so large that it could have made up
// for it, and no token's sum is so small. Else logarithms are safe.
constexpr double kMostTop = 100, kLeastSum = 1e-40;
constexpr std::size_t kFewTriples = 4096;  // listed per token on average: small tables are faster than states

template <class S>
inline constexpr bool kScaled = std::is_same_v<S, SumProduct>;

// Factors of what labels give at a token, the greatest of them 1; gives the logarithm that was taken out.
double emission_factors(const ChainView<double>& chain, std::size_t t, double* out) {
  const double* emit = chain.emit + t * chain.stride;
  const auto over = [&](const auto& labels) {
    double top = kForbidden<double>;
    for (std::size_t j = 0; j < labels.size(); ++j) top = std::max(top, emit[labels[j]]);
    if (top == kForbidden<double>) top = 0;
    for (std::size_t j = 0; j < labels.size(); ++j) out[labels[j]] = std::exp(emit[labels[j]] - top);
    return top;
  };
  return chain.allowed ? over(labels_of(*chain.allowed, t)) : over(AllLabels{chain.n_labels});
}

// log Z, and alpha of all tokens; not finite where sums vanish or overflow.
template <class S>
TRELLIS_INLINE double forward_any(const ChainView<double>& chain, HistorySumsWorkspace& work) {
  const std::size_t T = chain.n_tokens;
  work.passes.begin(chain);
  if (work.alpha.size() < T + 1) work.alpha.resize(T + 1);
  work.alpha[0] = {{chain.ngrams->ngrams->null()}, {S::template one<double>}};
  double log_z = 0;
  for (std::size_t t = 0; t < T; ++t) {
    StateList<double>& to = work.alpha[t + 1];
    work.passes.template at_token<S>(
        t, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
          work.passes.template forward<S>(labels, score, work.alpha[t], to);
        });
    if (to.size() == 0) return kForbidden<double>;
    if constexpr (kScaled<S>) {
      double sum = 0;
      for (double value : to.values) sum += value;
      if (!(sum > kLeastSum)) return kForbidden<double>;
      work.scales[t] = 1 / sum;
      for (double& value : to.values) value *= work.scales[t];
      log_z += std::log(sum);
    }
  }
  const StateList<double>& last = work.alpha[T];
  double total = S::template zero<double>;
  for (std::size_t i = 0; i < last.size(); ++i)
    total = S::plus(total, chain.end ? S::times(last.values[i], chain.end[chain.ngrams->ngrams->label(last.states[i])])
                                     : last.values[i]);
  work.here.states = last.states;
  work.here.values.resize(last.size());
  for (std::size_t i = 0; i < last.size(); ++i) {
    const double end = chain.end ? chain.end[chain.ngrams->ngrams->label(last.states[i])] : S::template one<double>;
    work.here.values[i] = kScaled<S> ? end / total : end - total;
  }
  return kScaled<S> ? log_z + std::log(total) : total;
}

template <class S>
TRELLIS_INLINE void backward_any(const ChainView<double>& chain, HistorySumsWorkspace& work,
                                 const HistoryExpectations& wanted) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const auto probability = [](double value) { return kScaled<S> ? value : std::exp(value); };
  for (std::size_t t = chain.n_tokens; t-- > 0;) {
    if constexpr (kScaled<S>)
      for (double& value : work.here.values) value *= work.scales[t];
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
  double log_z = 0;
  for (std::size_t t = 0; t < T; ++t) {
    double* to = work.masses.data() + (t + 1) * n;
    work.flows.forward(chain, t, to - n, to);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += to[i];
    if (!(sum > kLeastSum)) return kForbidden<double>;
    work.scales[t] = 1 / sum;
    for (std::size_t i = 0; i < n; ++i) to[i] *= work.scales[t];
    log_z += std::log(sum);
  }
  const double* last = work.masses.data() + T * n;
  work.ends.resize(n);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    work.ends[i] = plan.last[i] == chain.n_labels ? 0 : chain.end ? chain.end[plan.last[i]] : 1;
    total += last[i] * work.ends[i];
  }
  for (double& end : work.ends) end /= total;
  return log_z + std::log(total);
}
TRELLIS_CLONES void backward_flows(const ChainView<double>& chain, const NgramPlan& plan, HistorySumsWorkspace& work,
                                   const HistoryExpectations& wanted) {
  const std::size_t n = plan.contexts.size(), stride = chain.stride;
  work.betas.resize(n);
  work.gram_sums.assign(plan.n_grams(), 0);
  for (std::size_t t = chain.n_tokens; t-- > 0;) {
    for (double& value : work.ends) value *= work.scales[t];
    work.flows.backward(chain, t, work.masses.data() + t * n, work.ends.data(), work.betas.data());
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
    work.ends.swap(work.betas);
  }
  if (wanted.ngrams)
    for (std::size_t k = 0; k < plan.n_grams(); ++k) wanted.ngrams[plan.nodes[k]] += wanted.weight * work.gram_sums[k];
}

}  // namespace

double sum_histories(const ChainView<double>& chain, const HistoryFactors& factors, HistorySumsWorkspace& work,
                     const HistoryExpectations& wanted) {
  const std::size_t T = chain.n_tokens, stride = chain.stride;
  if (T == 0) return 0;
  const bool goes_back = wanted.node || wanted.token_pairs || wanted.pairs || wanted.ngrams || wanted.token_ngrams;
  if (wanted.node) std::fill_n(wanted.node, T * stride, 0.0);
  if (wanted.token_pairs) std::fill_n(wanted.token_pairs, T * (chain.n_labels + 1) * stride, 0.0);
  if (on_lattice(chain)) return sum_on_lattice(chain, work.lattice, wanted);
  if (work.emit.size() < T * stride) work.emit.resize(T * stride);
  if (work.scales.size() < T) work.scales.resize(T);
  ChainView<double> products = chain;
  double taken_out = 0, top = factors.top;
  for (std::size_t t = 0; t < T; ++t) taken_out += emission_factors(chain, t, work.emit.data() + t * stride);
  products.emit = work.emit.data(), products.edge = factors.edge, products.end = factors.end;
  work.ngrams = {chain.ngrams->ngrams, factors.ngrams, factors.totals, nullptr};
  if (chain.ngrams->by_token) {
    work.by_token = *chain.ngrams->by_token;
    for (double& score : work.by_token.scores) top = std::max(top, factors.top + score), score = std::exp(score);
    work.ngrams.by_token = &work.by_token;
  }
  products.ngrams = &work.ngrams;
  if (factors.plan && !chain.allowed && !chain.ngrams->by_token) {
    const double log_z = top > kMostTop ? kForbidden<double> : forward_flows(products, factors, work);
    if (std::isfinite(log_z)) {
      if (goes_back) backward_flows(products, *factors.plan, work, wanted);
      return log_z + taken_out;
    }
  } else if (has_few_triples(chain, kFewTriples)) {
    const double log_z = top > kMostTop ? kForbidden<double> : forward_listed(products, work.listed, kLeastSum);
    if (std::isfinite(log_z)) {
      if (goes_back) backward_listed(products, work.listed, wanted);
      return log_z + taken_out;
    }
  } else if (const double log_z = top > kMostTop ? kForbidden<double> : forward_products(products, work); std::isfinite(log_z)) {
    if (goes_back) backward_products(products, work, wanted);
    return log_z + taken_out;
  }
  const double log_z = forward_any<LogSum>(chain, work);
  if (goes_back && std::isfinite(log_z)) backward_any<LogSum>(chain, work, wanted);
  return log_z;
}

}  // namespace trellis
