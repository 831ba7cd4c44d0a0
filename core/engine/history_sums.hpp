// Forward-backward over a chain with label n-grams: log Z and marginals of labels and label n-grams at each token. By products of
// factors, scaled to sum to one at each token; in log space if those overflow or underflow.
#pragma once
#include <cmath>
#include <optional>

#include "engine/elementary.hpp"
#include "engine/history_flows.hpp"
#include "engine/history_states.hpp"
#include "engine/lattice.hpp"
#include "engine/listed_sums.hpp"

namespace trellis {

// Scratch of one thread.
struct HistorySumsWorkspace {
  std::vector<double> emit, edge;     // [T, stride], [T, L+1, stride] factors
  TokenNgrams<double> by_token;       // factors
  ForwardSums sums;
  ListedSums<double> listed;
  FlowPasses flows;
  std::vector<double> masses, betas;  // [T + 1, n_contexts] alpha of the flows, [n_contexts]
  std::vector<double> gram_sums;      // [n_grams]
  HistoryWorkspace<double> states;
};

// Scores of label n-grams, shared by sentences, in double and as factors; the set of n-grams never changes.
class NgramTables {
 public:
  // edge [L+1, stride], scores [n_nodes], end [stride] or empty. With `changed`, only these cells of edge
  // have changed since everything was set; with many labels they are few.
  template <class Real>
  void set(const Ngrams& ngrams, const std::vector<Real>& edge, const std::vector<Real>& scores,
           const std::vector<Real>& end, std::optional<std::span<const std::int32_t>> changed = {}) {
    const std::size_t L = ngrams.n_labels(), stride = padded(L);
    set_edges(edge, L, stride, changed);
    scores_.assign(scores.begin(), scores.end());
    end_.assign(end.begin(), end.end());
    join_scores<MaxPlus>(ngrams, scores_.data(), totals_);
    scored_ = {&ngrams, scores_.data(), totals_.data()};
    total_ = {}, ends_ = {};
    for (std::uint32_t g = 1; g < ngrams.size(); ++g)
      if (ngrams.length(g) >= kScored) total_.add(totals_[g]), total_.add(scores_[g]);  // factors are multiplied one by one
    for (std::size_t z = 0; z < L && !end_.empty(); ++z) ends_.add(end_[z]);
    std::vector<double> factors, total_factors;
    exp_all(scores_, factors), exp_all(end_, end_factors_);
    join_scores<SumProduct>(ngrams, factors.data(), total_factors);
    if (plan_.n_nodes != ngrams.size()) plan_ = NgramPlan(ngrams);
    plan_totals_.clear();
    for (std::uint32_t g : plan_.nodes) plan_totals_.push_back(total_factors[g]);
    labels_ = {L, stride, edge_.data(), nullptr, end_.empty() ? nullptr : end_.data(), &scored_};
  }

  double total(std::uint32_t node) const { return totals_[node]; }

  // log Z and the requested marginals of n tokens: emit [n, stride]; token_edge [n, L+1, stride] if label pairs differ by token,
  // else null; by_token the scores of n-grams at single tokens, or null. If no path is possible: minus infinity and no
  // expectations. The empty sentence has log Z = 0.
  double sum(std::size_t n, const double* emit, const double* token_edge, const TokenNgrams<double>* by_token,
             const LabelSets* allowed, HistorySumsWorkspace& work, const HistoryExpectations& wanted) const;

 private:
  // Upper and lower bounds on scores that are not forbidden.
  struct ScoreRange {
    double top = 0, bottom = 0;
    void add(double score) {
      top = std::max(top, score);
      if (score > kForbidden<double>) bottom = std::min(bottom, score);
    }
  };

  template <class Real>
  void set_edges(const std::vector<Real>& edge, std::size_t L, std::size_t stride,
                 const std::optional<std::span<const std::int32_t>>& changed) {
    if (!changed) {
      edge_.assign(edge.begin(), edge.end());
      exp_all(edge_, edge_factors_);
      edges_ = {};
      for (std::size_t i = 0; i < edge_.size(); i += stride)
        for (std::size_t z = 0; z < L; ++z) edges_.add(edge_[i + z]);
      return;
    }
    for (const std::int32_t cell : *changed) {
      const auto place = static_cast<std::size_t>(cell);
      edge_[place] = edge[place];
      edge_factors_[place] = factor(edge_[place]);
      edges_.add(edge_[place]);
    }
  }
  static double factor(double score) { return score == 0 ? 1 : exp(score); }
  static void exp_all(const std::vector<double>& from, std::vector<double>& to) {
    to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = factor(from[i]);
  }
  double sum_products(const ChainView<double>& chain, HistorySumsWorkspace& work, const HistoryExpectations& wanted) const;

  std::vector<double> edge_, scores_, totals_, end_;
  std::vector<double> edge_factors_, end_factors_;
  ScoreRange edges_, total_, ends_;
  NgramPlan plan_;
  std::vector<double> plan_totals_;  // [n_grams] factors, in its order
  NgramScores<double> scored_{};
  LabelTables<double> labels_{};
};

}  // namespace trellis
