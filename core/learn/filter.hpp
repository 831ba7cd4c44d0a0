// Training of the pruning filter: a log-linear model of single labels, p(z | x) ~ exp(sum over a of w[a, z]).
//
// Stochastic gradient steps per token, with a learning rate per weight (AdaGrad). At each token only labels with
// probabilities neither near one nor near zero are updated, so that most rows stay short.
#pragma once
#include <span>

#include "learn/examples.hpp"
#include "parallel.hpp"
#include "weights/growing_rows.hpp"
#include "weights/label_filter.hpp"

namespace trellis {

struct FilterSteps {
  float rate = 0.5f;
  float least = 0.002f;  // residuals below it make no step
};

class Filter {
 public:
  // Only the first n_used attributes have weights: attributes are sorted by frequency.
  Filter(std::size_t n_attributes, std::size_t n_used, std::size_t n_labels)
      : rows(n_attributes, n_labels, heavy_from<float>(padded(n_labels)), true), n_used_(n_used) {}

  // One pass over some sentences in the given order.
  void pass(const Examples& tokens, std::span<const std::int64_t> sentences, const FilterSteps& steps,
            const Patience::GoOn& go_on);
  // The score gap between the best and the gold label at each token of some sentences; for known labels only.
  std::vector<float> gold_margins(const Examples& tokens, std::span<const std::int64_t> sentences,
                                  std::size_t n_threads) const;
  // The candidates of their tokens, always including the gold label; all labels if that is unknown. `scored` becomes
  // their scores.
  TokenSets candidates(const Examples& tokens, std::span<const std::int64_t> sentences, const FilterRule& rule,
                       std::size_t n_threads, std::vector<float>& scored) const;

  GrowingRows rows;

 private:
  void scores(const ChainData& data, std::size_t token, float* out) const;
  const std::size_t n_used_;
};

}  // namespace trellis
