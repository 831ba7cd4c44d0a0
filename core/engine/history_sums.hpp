// Sums over all paths of a chain of any order: log Z, and how probable labels and label n-grams are at each token.
#pragma once
#include "engine/history_passes.hpp"

namespace trellis {

struct HistorySumsWorkspace {
  HistoryPasses<double> passes;
  std::vector<StateList<double>> alpha;  // [T + 1], scaled to sum to one or as logarithms
  std::vector<double> emit, end;         // [T, stride], [stride] factors
  std::vector<double> scales, betas;     // [T] 1 / what alpha summed to; [states]
  TokenNgrams<double> by_token;          // factors
  StateList<double> here;
};

// What is wanted beside log Z; null: not wanted.
struct HistoryExpectations {
  double* node = nullptr;          // [T, stride] P(label z at t); zero in the padding and where not allowed
  double* pairs = nullptr;         // [T, L + 1, stride] P(y before, z at t), y = L at the first token; likewise
  double* ngrams = nullptr;        // [n_nodes] += weight · sum_t P(the labels up to t end in n-gram g)
  double* token_ngrams = nullptr;  // [entries of by_token] weight · P of those n-grams at their tokens
  double weight = 1;
};

// `chain` has logarithms; `factors` and `factor_totals` (or null) are exp of its scores and totals. Returns log Z, minus
// infinity where no path is possible: then there are no expectations. The empty sentence has log Z = 0.
double sum_histories(const HistoryChain<double>& chain, const double* factors, const double* factor_totals,
                     HistorySumsWorkspace& work, const HistoryExpectations& wanted);

}  // namespace trellis
