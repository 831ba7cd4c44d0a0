// Sums over the paths of one sentence at a time where label n-grams are sparse (chains of any order): what a loss and its
// gradient are made of. Labels that a token may not have are left out of the sums, not summed as minus infinity.
#pragma once
#include "engine/ngram_tables.hpp"
#include "weights/token_runs.hpp"

namespace trellis {

// Scratch of one thread.
struct HistoryScratch {
  HistorySumsWorkspace sums;
  std::vector<double> emit, edge;         // [n, stride], [n, L+1, stride] where edges differ by token
  std::vector<double> node, token_pairs;  // [n, stride], [n, L+1, stride]
  TokenRuns<double> runs;                 // what attributes give to n-grams
  std::vector<double> token_ngrams;       // [entries of runs] weight · probability
  std::vector<double> of_node;            // [n_nodes] the same for those of a token
  std::vector<std::int32_t> set_of_token, set_labels;
  std::vector<std::int64_t> set_starts;

  // The labels of each token that are in `sets` and in what `may_be` gives; sets.starts null: all labels.
  template <class MayBe>
  LabelSets both(const LabelSets& sets, std::size_t begin, std::size_t n, MayBe may_be) {
    set_of_token.clear(), set_labels.clear(), set_starts.assign(1, 0);
    for (std::size_t t = begin; t < begin + n; ++t) {
      const ListedLabels listed = may_be(t);
      for (std::size_t i = 0; i < listed.size(); ++i)
        if (!sets.starts || allows(sets, t, listed[i])) set_labels.push_back(static_cast<std::int32_t>(listed[i]));
      set_of_token.push_back(static_cast<std::int32_t>(t - begin));
      set_starts.push_back(static_cast<std::int64_t>(set_labels.size()));
    }
    return {set_of_token.data(), set_starts.data(), set_labels.data()};
  }
};

// log Z over the paths of n tokens, with w.runs where they are by_token; with a gradient w.node, w.token_pairs (where
// edges differ by token) and w.token_ngrams, and in pairs (by `places`, see HistoryExpectations) and ngrams [n_nodes]
// += weight · expectations.
template <class Real>
double sum_paths(const NgramTables& tables, std::size_t n, const Real* emit, const Real* token_edge, bool by_token,
                 const LabelSets* allowed, double weight, HistoryScratch& w, const std::int32_t* places, double* pairs, double* ngrams,
                 bool with_gradient) {
  const std::size_t stride = tables.labels().stride, pair_cells = (tables.labels().n_labels + 1) * stride;
  w.emit.assign(emit, emit + n * stride);
  if (token_edge) w.edge.assign(token_edge, token_edge + n * pair_cells);
  HistoryExpectations wanted;
  if (with_gradient) {
    w.node.resize(n * stride);
    if (token_edge) w.token_pairs.resize(n * pair_cells);
    w.token_ngrams.resize(w.runs.ngrams.nodes.size());
    wanted = {w.node.data(), token_edge ? w.token_pairs.data() : nullptr, pairs, ngrams,
              by_token ? w.token_ngrams.data() : nullptr, weight, places};
  }
  return tables.sum(n, w.emit.data(), token_edge ? w.edge.data() : nullptr, by_token ? &w.runs.ngrams : nullptr, allowed,
                    w.sums, wanted);
}

}  // namespace trellis
