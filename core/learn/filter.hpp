// Learning the filter that prunes labels: a log-linear model of single labels, p(z | x) ~ exp(sum over a of w[a, z]).
//
// Stochastic steps, token by token, each weight with a rate of its own (AdaGrad). Of a token only the labels that are
// neither all but certain nor all but impossible are stepped on, so that most rows stay short.
#pragma once
#include <span>

#include "learn/examples.hpp"
#include "parallel.hpp"
#include "weights/growing_rows.hpp"
#include "weights/label_filter.hpp"

namespace trellis {

struct FilterSteps {
  float rate = 0.5f;
  float least = 0.002f;  // a residual below it makes no step
};

class Filter {
 public:
  // Only the first n_used attributes have weights: attributes are numbered by how often they are seen.
  Filter(std::size_t n_attributes, std::size_t n_used, std::size_t n_labels)
      : rows(n_attributes, n_labels, heavy_from<float>(padded(n_labels)), true), n_used_(n_used) {}

  // One pass over some sentences in the given order.
  void pass(const Examples& tokens, std::span<const std::int64_t> sentences, const FilterSteps& steps,
            const Patience::GoOn& go_on);
  // By how much the best label outscores the gold one at each token of some sentences; of known labels only.
  std::vector<float> gold_margins(const Examples& tokens, std::span<const std::int64_t> sentences,
                                  std::size_t n_threads) const;
  // The candidates of their tokens, the gold label always among them; all labels where that is not known. `scored` become
  // their scores.
  TokenSets candidates(const Examples& tokens, std::span<const std::int64_t> sentences, const FilterRule& rule,
                       std::size_t n_threads, std::vector<float>& scored) const;

  GrowingRows rows;

 private:
  void scores(const ChainData& data, std::size_t token, float* out) const;
  const std::size_t n_used_;
};

}  // namespace trellis
