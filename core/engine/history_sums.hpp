// Sums over all paths of a chain with label n-grams: log Z, and how probable labels and label n-grams are at each token.
#pragma once
#include "engine/history_flows.hpp"
#include "engine/history_passes.hpp"
#include "engine/lattice.hpp"
#include "engine/listed_passes.hpp"

namespace trellis {

struct HistorySumsWorkspace {
  HistoryPasses<double> passes;
  std::vector<StateList<double>> alpha;  // [T + 1], scaled to sum to one or as logarithms
  std::vector<double> emit, edge;        // [T, stride], [T, L+1, stride] factors
  std::vector<double> tops;              // [T, stride] as HistoryFactors has them, of edges per token
  std::vector<double> betas;             // [states]
  ForwardSums sums;
  TokenNgrams<double> by_token;          // factors
  NgramScores<double> ngrams;
  StateList<double> here;
  ListedPasses<double> listed;
  LatticeWorkspace<double> lattice;
  FlowPasses flows;
  std::vector<double> masses;     // [T + 1, n_contexts] alpha as the flows have it
  std::vector<double> gram_sums;  // [n_grams]
};

// exp of the scores of a chain that sentences share; what differs from token to token is made for each sentence.
struct HistoryFactors {
  const double* edge;              // [L + 1, stride], or [T, L + 1, stride] if the chain has edges per token
  const double* ngrams;            // [n_nodes]
  const double* totals = nullptr;  // [n_nodes] if the chain has them
  const double* end = nullptr;     // [stride]
  const NgramPlan* plan = nullptr;        // where it was made, with
  const double* plan_totals = nullptr;    // [n_grams] totals in its order
  double top = 0;                  // the most that an edge, a total and an end can give together, as a logarithm
  const double* tops = nullptr;    // [stride] the most that edges and totals give with a label; [T, stride] if edges are per token
  double bottom = kForbidden<double>;  // the least that an edge and a total give that are not forbidden
};

// `chain` has logarithms. Returns log Z, minus infinity where no path is possible: then there are no expectations. The
// empty sentence has log Z = 0.
double sum_histories(const ChainView<double>& chain, const HistoryFactors& factors, HistorySumsWorkspace& work,
                     const HistoryExpectations& wanted);

}  // namespace trellis
