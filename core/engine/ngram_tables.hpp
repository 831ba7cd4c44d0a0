// The tables of a chain with label n-grams that sentences share, in double and as factors, ready for sums over paths.
#pragma once
#include <algorithm>
#include <cmath>

#include "engine/history_sums.hpp"

namespace trellis {

// What labels score among themselves, in double, with its factors; always of the same n-grams.
class NgramTables {
 public:
  // edge [L+1, stride], scores [n_nodes], end [stride] or empty
  template <class Real>
  void set(const Ngrams& ngrams, const std::vector<Real>& edge, const std::vector<Real>& scores,
           const std::vector<Real>& end) {
    const std::size_t L = ngrams.n_labels(), stride = padded(L);
    edge_.assign(edge.begin(), edge.end());
    scores_.assign(scores.begin(), scores.end());
    end_.assign(end.begin(), end.end());
    join_scores<MaxPlus>(ngrams, scores_.data(), totals_);
    scored_ = {&ngrams, scores_.data(), totals_.data()};
    const double top =
        greatest(totals_, totals_.size(), totals_.size()) + greatest(edge_, L, stride) + greatest(end_, L, stride);
    exp_all(edge_, edge_factors_), exp_all(scores_, score_factors_), exp_all(end_, end_factors_);
    join_scores<SumProduct>(ngrams, score_factors_.data(), total_factors_);
    const double* end_factors = end_.empty() ? nullptr : end_factors_.data();
    if (plan_.n_nodes != ngrams.size()) plan_.make(ngrams);
    plan_totals_.clear();
    for (std::uint32_t g : plan_.nodes) plan_totals_.push_back(total_factors_[g]);
    factors_ = {edge_factors_.data(), score_factors_.data(), total_factors_.data(), end_factors, &plan_, plan_totals_.data(), top};
    labels_ = {L, stride, edge_.data(), nullptr, end_.empty() ? nullptr : end_.data(), &scored_};
  }

  const LabelTables<double>& labels() const { return labels_; }
  double total(std::uint32_t node) const { return totals_[node]; }

  // log Z and expectations of n tokens: emit [n, stride]; token_edge [n, L+1, stride] where label pairs differ by token,
  // else null; by_token what n-grams have at single tokens, or null. See sum_histories.
  double sum(std::size_t n, const double* emit, const double* token_edge, const TokenNgrams<double>* by_token,
             const LabelSets* allowed, HistorySumsWorkspace& work, const HistoryExpectations& wanted) const {
    HistoryFactors factors = factors_;
    if (token_edge) {
      const std::size_t size = n * (labels_.n_labels + 1) * labels_.stride;
      work.edge.resize(size);
      double top = 0;
      for (std::size_t i = 0; i < size; ++i) {
        work.edge[i] = std::exp(token_edge[i]);
        if (i % labels_.stride < labels_.n_labels) top = std::max(top, token_edge[i]);
      }
      factors.edge = work.edge.data();
      factors.top += top;
    }
    NgramScores<double> scored = scored_;
    scored.by_token = by_token;
    ChainView<double> chain(labels_, n, emit, token_edge, allowed);
    chain.ngrams = &scored;
    return sum_histories(chain, factors, work, wanted);
  }

 private:
  static double greatest(const std::vector<double>& rows, std::size_t n, std::size_t stride) {
    double top = 0;
    for (std::size_t i = 0; i < rows.size(); i += stride)
      top = std::max(top, *std::max_element(rows.data() + i, rows.data() + i + n));
    return top;
  }
  static void exp_all(const std::vector<double>& from, std::vector<double>& to) {
    to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] == 0 ? 1 : std::exp(from[i]);
  }

  std::vector<double> edge_, scores_, totals_, end_;
  std::vector<double> edge_factors_, score_factors_, total_factors_, end_factors_;
  NgramPlan plan_;
  std::vector<double> plan_totals_;  // [n_grams] factors, in its order
  NgramScores<double> scored_{};
  HistoryFactors factors_{};
  LabelTables<double> labels_{};
};

}  // namespace trellis
