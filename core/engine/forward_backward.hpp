// Sums over all paths of a chain: log Z and the marginal probabilities, P(path) = exp(score(path)) / Z. By scaled products, and
// where those underflow by logarithms, so that any finite potentials are safe.
#pragma once
#include "engine/state_sums.hpp"
#include "engine/sum_product.hpp"

namespace trellis {

struct HistoryTables;  // those of label n-grams, and scratch

// Scratch of one thread.
struct SumWorkspace {
  Factors<double> factors;           // of the tables that all sentences share
  ChainTables<double> tables;             // the same as they are
  PassScratch<double> passes;
  StateTable<double> states;         // where logarithms are needed
  std::vector<double> emit, edge;    // [T, stride] minus infinity where a label is not allowed; [T, L+1, stride]
  std::vector<double> node, pairs;   // [T, stride], [T, L+1, stride]
  bool edge_per_token = false;
  double temperature = 1;            // by which all potentials are divided
  std::shared_ptr<HistoryTables> histories;  // where the chain has n-grams

  const double* token_edge() const { return edge_per_token ? edge.data() : nullptr; }
};

// Once for all sentences that share tables, before the calls below. Of the chain only the tables and the sizes are read.
void prepare_sums(const ChainView<double>& chain, SumWorkspace& work, double temperature = 1);

// log of the sum over all paths of exp(score); 0 for an empty sentence, minus infinity if all paths are forbidden.
double log_partition(const ChainView<double>& chain, SumWorkspace& work);

// Returns log Z and writes node [T, L], P(z at t), and unless it is null edge [T, L+1, L], P(y at t-1, z at t), where
// t = 0 has only the row of NULL. If all paths are forbidden all marginals are 0.
double marginals(const ChainView<double>& chain, SumWorkspace& work, double* node, double* edge);

// The potentials of one sentence into `work`, for other sums over its paths.
void load_sentence(const ChainView<double>& chain, SumWorkspace& work);

// What labels say of spans. A label is outside or belongs to a span of its type; between two neighbours a span goes on,
// or something ends or begins there (a cut).
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

// The sums by logarithms, of a chain that has a token, no label sets and no n-grams. What is wanted is added to; label triples stand in
// wanted.ngrams, [L+1, L+1, stride].
double exact_sums(const ChainView<double>& chain, StateTable<double>& work, const HistoryExpectations& wanted);

}  // namespace trellis
