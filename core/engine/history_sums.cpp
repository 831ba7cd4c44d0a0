// By products of factors, each token's scaled to sum to one; by logarithms where those overflow or vanish.
#include "engine/history_sums.hpp"

#include <cmath>

namespace trellis {
namespace {

template <class S>
inline constexpr bool kScaled = std::is_same_v<S, SumProduct>;

// Factors of what labels give at a token, the greatest of them 1; gives the logarithm that was taken out.
double emission_factors(const HistoryChain<double>& chain, std::size_t t, double* out) {
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
TRELLIS_INLINE double forward_any(const HistoryChain<double>& chain, HistorySumsWorkspace& work) {
  const std::size_t T = chain.n_tokens;
  work.passes.begin(chain);
  if (work.alpha.size() < T + 1) work.alpha.resize(T + 1);
  work.alpha[0] = {{chain.ngrams->null()}, {S::template one<double>}};
  double log_z = 0;
  for (std::size_t t = 0; t < T; ++t) {
    StateList<double>& to = work.alpha[t + 1];
    work.passes.template at_token<S>(
        t, chain.emit + t * chain.stride, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
          work.passes.template forward<S>(labels, score, work.alpha[t], to);
        });
    if (to.size() == 0) return kForbidden<double>;
    if constexpr (kScaled<S>) {
      double sum = 0;
      for (double value : to.values) sum += value;
      if (!(sum > 1e-290 && sum < 1e290)) return kForbidden<double>;
      work.scales[t] = 1 / sum;
      for (double& value : to.values) value *= work.scales[t];
      log_z += std::log(sum);
    }
  }
  const StateList<double>& last = work.alpha[T];
  double total = S::template zero<double>;
  for (std::size_t i = 0; i < last.size(); ++i)
    total = S::plus(total, chain.end ? S::times(last.values[i], chain.end[chain.ngrams->label(last.states[i])])
                                     : last.values[i]);
  work.here.states = last.states;
  work.here.values.resize(last.size());
  for (std::size_t i = 0; i < last.size(); ++i) {
    const double end = chain.end ? chain.end[chain.ngrams->label(last.states[i])] : S::template one<double>;
    work.here.values[i] = kScaled<S> ? end / total : end - total;
  }
  return kScaled<S> ? log_z + std::log(total) : total;
}

template <class S>
TRELLIS_INLINE void backward_any(const HistoryChain<double>& chain, HistorySumsWorkspace& work,
                                 const HistoryExpectations& wanted) {
  const Ngrams& ngrams = *chain.ngrams;
  const auto probability = [](double value) { return kScaled<S> ? value : std::exp(value); };
  const std::size_t pair_size = (chain.n_labels + 1) * chain.stride;
  for (std::size_t t = chain.n_tokens; t-- > 0;) {
    if constexpr (kScaled<S>)
      for (double& value : work.here.values) value *= work.scales[t];
    work.passes.template at_token<S>(
        t, chain.emit + t * chain.stride, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
          work.passes.template backward<S>(labels, score, work.alpha[t], work.here, work.betas);
          work.passes.each_row([&](std::uint32_t node, const double* row) TRELLIS_INLINE_LAMBDA {
            if (wanted.node && node == Ngrams::kRoot)
              for (std::size_t j = 0; j < labels.n; ++j)
                wanted.node[t * chain.stride + labels.label(j)] = probability(row[j]);
            if (wanted.pairs && ngrams.length(node) == 1)
              for (std::size_t j = 0; j < labels.n; ++j)
                wanted.pairs[t * pair_size + ngrams.label(node) * chain.stride + labels.label(j)] = probability(row[j]);
            if (wanted.ngrams)
              work.passes.each_explicit(labels, node, [&](std::uint32_t child, std::size_t j) TRELLIS_INLINE_LAMBDA {
                wanted.ngrams[child] += wanted.weight * probability(row[j]);
              });
          });
          if (wanted.token_ngrams)
            for (std::size_t i = chain.by_token->starts[t]; i < chain.by_token->starts[t + 1]; ++i) {
              const std::uint32_t node = chain.by_token->nodes[i];
              const double* row = work.passes.row_of(ngrams.parent(node));
              const std::ptrdiff_t j = labels.at(ngrams.label(node));
              wanted.token_ngrams[i] = row && j >= 0 ? wanted.weight * probability(row[j]) : 0;
            }
        });
    work.here.states = work.alpha[t].states;
    work.here.values.swap(work.betas);
  }
}

TRELLIS_CLONES double forward_products(const HistoryChain<double>& chain, HistorySumsWorkspace& work) {
  return forward_any<SumProduct>(chain, work);
}
TRELLIS_CLONES void backward_products(const HistoryChain<double>& chain, HistorySumsWorkspace& work,
                                      const HistoryExpectations& wanted) {
  backward_any<SumProduct>(chain, work, wanted);
}

}  // namespace

double sum_histories(const HistoryChain<double>& chain, const double* factors, const double* factor_totals,
                     HistorySumsWorkspace& work, const HistoryExpectations& wanted) {
  const std::size_t T = chain.n_tokens, stride = chain.stride;
  if (T == 0) return 0;
  const bool passes_back = wanted.node || wanted.pairs || wanted.ngrams || wanted.token_ngrams;
  if (wanted.node) std::fill_n(wanted.node, T * stride, 0.0);
  if (wanted.pairs) std::fill_n(wanted.pairs, T * (chain.n_labels + 1) * stride, 0.0);
  work.emit.resize(std::max(work.emit.size(), T * stride));
  work.scales.resize(std::max(work.scales.size(), T));
  HistoryChain<double> products = chain;
  double taken_out = 0;
  for (std::size_t t = 0; t < T; ++t) taken_out += emission_factors(chain, t, work.emit.data() + t * stride);
  products.emit = work.emit.data();
  products.scores = factors, products.totals = factor_totals;
  if (chain.end) {
    work.end.resize(stride);
    for (std::size_t z = 0; z < chain.n_labels; ++z) work.end[z] = std::exp(chain.end[z]);
    products.end = work.end.data();
  }
  if (chain.by_token) {
    work.by_token = *chain.by_token;
    for (double& score : work.by_token.scores) score = std::exp(score);
    products.by_token = &work.by_token;
  }
  if (const double log_z = forward_products(products, work); std::isfinite(log_z)) {
    if (passes_back) backward_products(products, work, wanted);
    return log_z + taken_out;
  }
  const double log_z = forward_any<LogSum>(chain, work);
  if (passes_back && std::isfinite(log_z)) backward_any<LogSum>(chain, work, wanted);
  return log_z;
}

}  // namespace trellis
