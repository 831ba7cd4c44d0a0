// Labelled sentences, the input of all chain learners.
#pragma once
#include "weights/sites.hpp"

namespace trellis {

struct Examples {
  const ChainData& data;
  const std::int64_t* starts;       // [n_sentences + 1]
  const std::int32_t* gold;         // [n_tokens], -1 where `partial` lists the possible labels
  LabelSets partial{};              // over all tokens, or starts null
  const double* weights = nullptr;  // [n_sentences] sample weights, or null
  const float* costs = nullptr;     // [n_labels, n_labels] of gold label and another, or null: 1 per wrong label
  std::size_t n_sentences = 0;      // for learners that go over all of them

  std::size_t n_tokens() const { return n_sentences ? static_cast<std::size_t>(starts[n_sentences]) : 0; }
};

}  // namespace trellis
