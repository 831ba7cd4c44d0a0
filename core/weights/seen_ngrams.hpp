// The label n-grams of training, and how often each occurs.
#pragma once
#include <vector>

#include "engine/ngrams.hpp"

namespace trellis {

// Adds the n-grams of gold [n_tokens] that end at each token, of up to order + 1 labels; with `null` also those from NULL on.
// Unknown labels (-1) are in none. Returns how often each occurs, [n_nodes], times the weight of its sentence
// (weights null: all one).
inline std::vector<double> add_seen(Ngrams& ngrams, const std::int32_t* gold, const std::int64_t* starts,
                                    std::size_t n_sentences, bool null, const double* weights) {
  std::vector<double> counts(ngrams.size(), 0);
  for (std::size_t s = 0; s < n_sentences; ++s)
    for (std::int64_t t = starts[s]; t < starts[s + 1]; ++t) {
      // The first of at most order + 1 labels up to t, all of them known.
      std::int64_t first = t + 1;
      while (first > starts[s] && t + 1 - first <= static_cast<std::int64_t>(ngrams.order()) && gold[first - 1] >= 0) --first;
      if (first > t) continue;
      const bool from_null = null && first == starts[s] && t + 1 - first <= static_cast<std::int64_t>(ngrams.order());
      std::uint32_t node = from_null ? ngrams.null() : Ngrams::kRoot;
      for (; first <= t; ++first) node = ngrams.extend(node, static_cast<std::size_t>(gold[first]));
      counts.resize(ngrams.size(), 0);
      for (; node != Ngrams::kRoot; node = ngrams.shorter(node)) counts[node] += weights ? weights[s] : 1;
    }
  return counts;
}

}  // namespace trellis
