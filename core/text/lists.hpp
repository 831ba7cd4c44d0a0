// Lists of attributes, one per token: the labels they were seen with, and renumbering.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace trellis {

// Token t has the attributes ids[starts[t] .. starts[t + 1]), each with a value; values empty: all are one.
struct TokenLists {
  std::vector<std::int64_t> starts{0};  // [n_tokens + 1]
  std::vector<std::int32_t> ids;
  std::vector<float> values;
  void add(std::int32_t id, float value) { ids.push_back(id), values.push_back(value); }
  void end_token() { starts.push_back(static_cast<std::int64_t>(ids.size())); }
};

// The labels (or pairs, any code) that each attribute was seen with, ascending, with counts: those of attribute a are
// labels[starts[a] .. starts[a + 1]).
struct LabelCounts {
  std::vector<std::int64_t> starts;   // [n_attributes + 1]
  std::vector<std::uint32_t> labels;
  std::vector<std::int32_t> counts;
};
LabelCounts count_labels(std::span<const std::int64_t> starts, std::span<const std::int32_t> ids,
                         std::span<const std::int32_t> gold, std::size_t n_attributes);

// The lists with attributes renumbered by rank; those of rank -1 are dropped, with their values.
TokenLists renumber(std::span<const std::int64_t> starts, std::span<const std::int32_t> ids,
                     std::span<const float> values, std::span<const std::int32_t> rank);

}  // namespace trellis
