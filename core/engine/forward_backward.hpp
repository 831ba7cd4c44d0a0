// Forward-backward over a chain: log Z and marginals, P(path) = exp(score(path)) / Z. By scaled products; if those underflow, in
// log space, so that any finite potentials are safe.
#pragma once
#include "engine/state_sums.hpp"
#include "engine/sum_product.hpp"

namespace trellis {

struct HistoryTables;  // for label n-grams, and scratch

// Scratch of one thread.
struct SumWorkspace {
  Factors<double> factors;           // of the tables shared by all sentences
  ChainTables<double> tables;             // the same tables, not exponentiated
  PassScratch<double> passes;
  StateTable<double> states;         // for log space
  std::vector<double> emit, edge;    // [T, stride] minus infinity where a label is not allowed; [T, L+1, stride]
  std::vector<double> node, pairs;   // [T, stride], [T, L+1, stride]
  bool edge_per_token = false;
  double temperature = 1;            // all potentials are divided by it
  std::shared_ptr<HistoryTables> histories;  // for chains with n-grams

  const double* token_edge() const { return edge_per_token ? edge.data() : nullptr; }
};

// Call once for all sentences that share tables, before the functions below. Only the tables and sizes of the chain are read.
void prepare_sums(const ChainView<double>& chain, SumWorkspace& work, double temperature = 1);

// Returns log Z, the log of the sum over all paths of exp(score); 0 for an empty sentence, minus infinity if all paths are
// forbidden. Unless null, writes node [T, L], P(z at t), and edge [T, L+1, L], P(y at t-1, z at t), where t = 0 has only the row
// of NULL. If all paths are forbidden all marginals are 0.
double marginals(const ChainView<double>& chain, SumWorkspace& work, double* node, double* edge);
inline double log_partition(const ChainView<double>& chain, SumWorkspace& work) {
  return marginals(chain, work, nullptr, nullptr);
}

// Loads the potentials of one sentence into `work`, for other sums over its paths.
void load_sentence(const ChainView<double>& chain, SumWorkspace& work);

// How labels encode spans. A label is outside or belongs to a span of its type; two neighbouring labels either continue a span,
// or are a boundary (a cut).
struct SpanLabels {
  const std::int32_t* type_of;  // [L], -1 outside
  const std::uint8_t* cut;      // [L, L] of y and z after it
};

// The tokens begin..end, end not included, of one sentence.
struct SpanQuery {
  std::int64_t begin, end;  // 0 <= begin < end <= T
  std::int32_t type;
};

// Writes the probability of each of n spans, summed over all paths that have exactly that span, and returns log Z, as
// marginals does; 0 if all paths are forbidden (span_sums.cpp).
double span_sums(const ChainView<double>& chain, SumWorkspace& work, const SpanLabels& labels, const SpanQuery* spans,
                 std::size_t n, double* probabilities);

// Sums in log space, for a nonempty chain without label sets and n-grams. Requested sums are added to; label triples are in
// wanted.ngrams, [L+1, L+1, stride].
double exact_sums(const ChainView<double>& chain, StateTable<double>& work, const HistoryExpectations& wanted);

}  // namespace trellis
