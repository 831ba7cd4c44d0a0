// Sums over all paths of a chain with label triples where each token has a list of few labels (listed_labels.hpp).
#pragma once
#include <vector>

#include "engine/expectations.hpp"
#include "engine/listed_labels.hpp"
#include "engine/scale.hpp"

namespace trellis {

// Scratch of one thread.
struct ListedSumsWorkspace {
  // A triple that exists, with a pair of labels by its place in the table before and label number k of a token.
  struct Triple {
    std::uint32_t pair, k, node;
    double kept;  // what its place in a row has without it
  };
  std::vector<std::size_t> at;       // [T + 1] where the tables of a token begin
  std::vector<double> alpha;         // [T] tables [labels of t - 1, labels of t], each sums to one
  std::vector<double> scales;        // [T] 1 / what alpha summed to
  std::vector<double> beta, before;  // one such table each
  std::vector<double> row;           // [labels of t]
  std::vector<Triple> triples;       // that end at a token, token by token, those of a pair together
  std::vector<std::int32_t> place;   // [n_labels] in the list of a token, -1: not there
  std::vector<std::size_t> ends;     // [T] where those of a token end
};

// `chain` has factors, with the ranges [T + 1] of tokens and of the end. Gives log Z, and alpha of all tokens; minus infinity
// where sums vanish. Of at least one token.
double forward_listed(const ChainView<double>& chain, const FactorRange* ranges, ListedSumsWorkspace& work);
// After it: what is wanted.
void backward_listed(const ChainView<double>& chain, ListedSumsWorkspace& work, const HistoryExpectations& wanted);

}  // namespace trellis
