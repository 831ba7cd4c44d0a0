// Labelled sentences, as learners of chains that go sentence by sentence read them.
#pragma once
#include "weights/sites.hpp"

namespace trellis {

struct Examples {
  const ChainData& data;
  const std::int64_t* starts;       // [n_sentences + 1]
  const std::int32_t* gold;         // [n_tokens], -1 where `partial` says which labels it may be
  LabelSets partial{};              // over all tokens, or starts null
  const double* weights = nullptr;  // [n_sentences] by which steps are multiplied, or null
  const float* costs = nullptr;     // [n_labels, n_labels] of gold label and another, or null: one per wrong label
};

}  // namespace trellis
