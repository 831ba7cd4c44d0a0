// Chains with label triples (order 2 with sparse n-grams) whose tokens have lists of few labels: small tables over the listed
// labels of two tokens are faster than states then. Of the triples those that exist are looked up.
#pragma once
#include <vector>

#include "engine/ngram_scores.hpp"

namespace trellis {

// The labels at t - back, or NULL before the sentence.
struct ListsOf {
  const LabelSets& sets;
  std::int32_t null;
  ListedLabels operator()(std::size_t t, std::size_t back) const {
    return t < back ? ListedLabels{&null, 1} : labels_of(sets, t - back);
  }
  // Where the table of each token begins, [labels of t - 1, labels of t], and how long all are: at [T + 1].
  void lay_out(std::size_t T, std::vector<std::size_t>& at) const {
    at.assign(1, 0);
    for (std::size_t t = 0; t < T; ++t) at.push_back(at[t] + (*this)(t, 1).n * (*this)(t, 0).n);
  }
};

// Whether a chain has such lists, with at most so many triples per token on average.
template <class Real>
bool has_few_triples(const ChainView<Real>& chain, std::size_t most) {
  if (!chain.allowed || !chain.ngrams || chain.ngrams->ngrams->order() != 2 || chain.ngrams->by_token) return false;
  std::size_t total = 0, x = 1, y = 1;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const std::size_t z = labels_of(*chain.allowed, t).n;
    total += x * y * z;
    x = y, y = z;
  }
  return total <= most * chain.n_tokens;
}

// The pair of labels as an n-gram if some triple begins with it, else kNone.
inline std::uint32_t beginning(const Ngrams& ngrams, std::size_t y, std::size_t z) {
  const std::uint32_t node = ngrams.find(static_cast<std::uint32_t>(1 + y), z);
  return node != Ngrams::kNone && ngrams.n_children(node) ? node : Ngrams::kNone;
}

}  // namespace trellis
