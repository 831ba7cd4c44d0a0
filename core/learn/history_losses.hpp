// Sums over the paths of one sentence at a time where label n-grams are sparse (chains of any order): what a loss and its
// gradient are made of. Labels that a token may not have are left out of the sums, not summed as minus infinity.
#pragma once
#include <cmath>

#include "engine/history_sums.hpp"

namespace trellis {

// What labels score among themselves, in double, with its factors.
class NgramTables {
 public:
  // edge [L+1, stride], scores [n_nodes], end [stride] or empty
  template <class Real>
  void set(const Ngrams& ngrams, const std::vector<Real>& edge, const std::vector<Real>& scores, const std::vector<Real>& end) {
    const std::size_t L = ngrams.n_labels(), stride = padded(L);
    edge_.assign(edge.begin(), edge.end());
    scores_.assign(scores.begin(), scores.end());
    end_.assign(end.begin(), end.end());
    join_scores<MaxPlus>(ngrams, scores_.data(), totals_);
    scored_ = {&ngrams, scores_.data(), totals_.data()};
    const double top = greatest(totals_, totals_.size(), totals_.size()) + greatest(edge_, L, stride) + greatest(end_, L, stride);
    exp_all(edge_, edge_factors_), exp_all(scores_, score_factors_), exp_all(end_, end_factors_);
    join_scores<SumProduct>(ngrams, score_factors_.data(), total_factors_);
    factors_ = {edge_factors_.data(), score_factors_.data(), total_factors_.data(), end_.empty() ? nullptr : end_factors_.data(), top};
    labels_ = {L, stride, edge_.data(), nullptr, end_.empty() ? nullptr : end_.data(), &scored_};
  }

  const LabelTables<double>& labels() const { return labels_; }
  const HistoryFactors& factors() const { return factors_; }
  double total(std::uint32_t node) const { return totals_[node]; }

 private:
  static double greatest(const std::vector<double>& rows, std::size_t n, std::size_t stride) {
    double top = 0;
    for (std::size_t i = 0; i < rows.size(); i += stride) top = std::max(top, *std::max_element(rows.data() + i, rows.data() + i + n));
    return top;
  }
  static void exp_all(const std::vector<double>& from, std::vector<double>& to) {
    to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] == 0 ? 1 : std::exp(from[i]);
  }

  std::vector<double> edge_, scores_, totals_, end_;
  std::vector<double> edge_factors_, score_factors_, total_factors_, end_factors_;
  NgramScores<double> scored_{};
  HistoryFactors factors_{};
  LabelTables<double> labels_{};
};

// Scratch of one thread.
struct HistoryScratch {
  HistorySumsWorkspace sums;
  std::vector<double> emit, edge, edge_factors;  // [n, stride], [n, L+1, stride] where edges differ by token
  std::vector<double> node, token_pairs;         // [n, stride], [n, L+1, stride]
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

// log Z over the paths of n tokens; with a gradient w.node and w.token_pairs (where edges differ by token), and in pairs
// [L+1, stride] and ngrams [n_nodes] += weight · expectations.
template <class Real>
double sum_paths(const NgramTables& tables, std::size_t n, const Real* emit, const Real* token_edge, const LabelSets* allowed,
                 double weight, HistoryScratch& w, double* pairs, double* ngrams, bool with_gradient) {
  const LabelTables<double>& labels = tables.labels();
  HistoryFactors factors = tables.factors();
  const std::size_t stride = labels.stride, pair_cells = (labels.n_labels + 1) * stride;
  w.emit.assign(emit, emit + n * stride);
  if (token_edge) {
    w.edge.assign(token_edge, token_edge + n * pair_cells);
    w.edge_factors.resize(n * pair_cells);
    double top = 0;
    for (std::size_t i = 0; i < n * pair_cells; ++i) {
      w.edge_factors[i] = std::exp(w.edge[i]);
      if (i % stride < labels.n_labels) top = std::max(top, w.edge[i]);
    }
    factors.edge = w.edge_factors.data();
    factors.top += top;
  }
  const ChainView<double> chain(labels, n, w.emit.data(), token_edge ? w.edge.data() : nullptr, allowed);
  HistoryExpectations wanted;
  if (with_gradient) {
    w.node.resize(n * stride);
    if (token_edge) w.token_pairs.resize(n * pair_cells);
    wanted = {w.node.data(), token_edge ? w.token_pairs.data() : nullptr, pairs, ngrams, nullptr, weight};
  }
  return sum_histories(chain, factors, w.sums, wanted);
}

}  // namespace trellis
