// Sums over all paths of a chain of order 1 or 2: log Z and the marginal probabilities, P(path) = exp(score(path)) / Z.
// All sums are kept in logarithms and in double precision whatever the potentials are: any finite potentials are safe.
#pragma once
#include "engine/chain.hpp"

namespace trellis {

struct SumWorkspace {
  Scratch<double> alpha;    // order 1: [T, stride]; order 2: [T, L, stride]
  Scratch<double> beta;     // as alpha
  Scratch<double> emit;     // [T, stride], minus infinity where a label is not allowed
  Scratch<double> exps;     // [max(L, stride)]
  Scratch<double> sums;     // [stride]
  Scratch<double> logs;     // [stride]
  Scratch<double> weights;  // [stride]
  Scratch<double> table;    // exp(scores - top): of edge [L+1, stride], or of tri [L+1, L+1, stride]
  double top = 0;
  bool has_table = false;   // order 1 with edges per token has none
};

// Once for all sentences that share edge (order 1) or tri (order 2), before the calls below. Of the chain only those
// tables and the sizes are read.
void prepare_sums(const ChainView<float>& chain, SumWorkspace& work);
void prepare_sums(const ChainView<double>& chain, SumWorkspace& work);

// log of the sum over all paths of exp(score); 0 for an empty sentence, minus infinity if all paths are forbidden.
double log_partition(const ChainView<float>& chain, SumWorkspace& work);
double log_partition(const ChainView<double>& chain, SumWorkspace& work);

// Returns log Z and writes node [T, L], P(z at t), and unless it is null edge [T, L+1, L], P(y at t-1, z at t), where
// t = 0 has only the row of NULL. If all paths are forbidden all marginals are 0.
double marginals(const ChainView<float>& chain, SumWorkspace& work, double* node, double* edge);
double marginals(const ChainView<double>& chain, SumWorkspace& work, double* node, double* edge);

}  // namespace trellis
