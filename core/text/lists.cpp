#include "text/lists.hpp"

#include <algorithm>
#include <numeric>

namespace trellis {

LabelCounts count_labels(std::span<const std::int64_t> starts, std::span<const std::int32_t> ids,
                         std::span<const std::int32_t> gold, std::size_t n_attributes) {
  // Groups the labels of all tokens by attribute: a counting sort.
  std::vector<std::int64_t> first(n_attributes + 1);
  for (std::int32_t id : ids) ++first[id + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int64_t> next(first.begin(), first.end() - 1);
  std::vector<std::uint32_t> seen(ids.size());
  for (std::size_t t = 0; t < gold.size(); ++t)
    for (std::int64_t i = starts[t]; i < starts[t + 1]; ++i) seen[next[ids[i]]++] = static_cast<std::uint32_t>(gold[t]);

  LabelCounts out;
  out.starts.assign(n_attributes + 1, 0);
  for (std::size_t a = 0; a < n_attributes; ++a) {
    std::sort(seen.begin() + first[a], seen.begin() + first[a + 1]);
    for (std::int64_t i = first[a]; i < first[a + 1]; ++i) {
      if (i == first[a] || seen[i] != seen[i - 1]) out.labels.push_back(seen[i]), out.counts.push_back(0);
      ++out.counts.back();
    }
    out.starts[a + 1] = static_cast<std::int64_t>(out.labels.size());
  }
  return out;
}

TokenLists renumber(std::span<const std::int64_t> starts, std::span<const std::int32_t> ids,
                     std::span<const float> values, std::span<const std::int32_t> rank) {
  TokenLists out;
  out.starts.reserve(starts.size());
  out.ids.reserve(ids.size());
  for (std::size_t t = 0; t + 1 < starts.size(); ++t) {
    for (std::int64_t i = starts[t]; i < starts[t + 1]; ++i) {
      if (rank[ids[i]] < 0) continue;
      out.ids.push_back(rank[ids[i]]);
      if (!values.empty()) out.values.push_back(values[i]);
    }
    out.end_token();
  }
  return out;
}

}  // namespace trellis
