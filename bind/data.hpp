// Encoded corpora as they come from Python, checked.
#pragma once
#include <optional>
#include <tuple>

#include "bind.hpp"
#include "weights/linear_chain.hpp"

// starts, ids, values (empty: all one)
using ListArrays = std::tuple<Array<std::int64_t, 1>, Array<std::int32_t, 1>, Array<float, 1>>;
// the set of each token, set starts, set labels
using SetArrays = std::tuple<Array<std::int32_t, 1>, Array<std::int64_t, 1>, Array<std::int32_t, 1>>;

// An encoded corpus; keeps the arrays it points into.
struct Encoded {
  Array<std::int64_t, 1> starts;
  ListArrays lists;
  std::optional<ListArrays> edge_lists;
  std::optional<SetArrays> sets;
  std::size_t n_attributes, n_edge_attributes, n_labels;
  trellis::ChainData data;

  Encoded(Array<std::int64_t, 1> starts, ListArrays lists, std::optional<ListArrays> edge_lists,
          std::optional<SetArrays> sets, std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels);
  std::size_t n_sentences() const { return starts.size() - 1; }
  std::size_t n_tokens() const { return starts(starts.size() - 1); }
};

// Label sets over n_tokens tokens, checked.
trellis::LabelSets sets_from(const SetArrays& given, std::size_t n_labels, std::size_t n_tokens);
