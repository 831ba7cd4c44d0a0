// Costs of wrong labels, for margin-based learners: the larger the cost, the larger the margin.
#pragma once
#include "engine/chain.hpp"

namespace trellis {

// Costs of label sequences relative to the gold sequence: 1 for any error, or a sum over wrong labels.
struct Margin {
  bool zero_one = false;
  const float* costs = nullptr;         // [n_labels, n_labels] of gold label and another, or null: 1 per wrong label
  const std::int32_t* known = nullptr;  // [n] -1 if a label is not fully known: the labels in `partial` cost nothing there
  LabelSets partial{};                  // of the sentence's tokens; read only where known is -1

  // The cost of label z at token t.
  float cost(std::size_t t, std::int32_t right, std::size_t z, std::size_t n_labels) const {
    const auto gold = static_cast<std::size_t>(right);
    if (z == gold || (known && known[t] < 0 && allows(partial, t, z))) return 0;
    return costs ? costs[gold * n_labels + z] : 1;
  }

  // The cost of a path [n].
  double cost(const std::int32_t* right, const std::int32_t* path, std::size_t n, std::size_t n_labels) const {
    if (zero_one) return std::equal(right, right + n, path) ? 0 : 1;
    double total = 0;
    for (std::size_t t = 0; t < n; ++t) total += cost(t, right[t], static_cast<std::size_t>(path[t]), n_labels);
    return total;
  }

  // emit[t, z] += cost of z at t, so that Viterbi finds the maximum of score + cost.
  template <class Real>
  void add_to(const std::int32_t* right, std::size_t n, std::size_t n_labels, std::size_t stride, Real* emit) const {
    for (std::size_t t = 0; t < n; ++t, emit += stride) {
      if (known && known[t] < 0) {
        for (std::size_t z = 0; z < n_labels; ++z) emit[z] += cost(t, right[t], z, n_labels);
        continue;
      }
      const auto gold = static_cast<std::size_t>(right[t]);
      const Real score = emit[gold];
      for (std::size_t z = 0; z < n_labels; ++z) emit[z] += costs ? costs[gold * n_labels + z] : 1;
      emit[gold] = score;
    }
  }
};

}  // namespace trellis
