// Edge attributes about labels further back than those directly before a token, from Python, validated.
#pragma once
#include <set>
#include <unordered_map>

#include "checks.hpp"
#include "text/lists.hpp"
#include "weights/far_labels.hpp"

// The attributes of lists that are about labels further back, or the others.
inline trellis::TokenLists some_of(const ListArrays& lists, span<const std::uint8_t> about, bool far) {
  std::vector<std::int32_t> rank(about.size());
  for (std::size_t a = 0; a < rank.size(); ++a)
    rank[a] = (about[a] >= trellis::kFar) == far ? static_cast<std::int32_t>(a) : -1;
  return trellis::renumber(lists.starts, lists.ids, lists.values, rank);
}
inline trellis::Sites sites_of(const trellis::TokenLists& lists) {
  return {lists.starts.data(), lists.ids.data(), lists.values.empty() ? nullptr : lists.values.data()};
}

// The kinds of attributes about labels further back, without duplicates.
inline std::vector<std::uint8_t> far_kinds(span<const std::uint8_t> about) {
  const std::set<std::uint8_t> all(about.begin(), about.end());
  require(!all.contains(trellis::kFar), "attribute without a label");
  return {all.upper_bound(trellis::kFar), all.end()};
}

// For each token the last earlier token with the same word, relative to its sentence, or -1: none.
inline std::vector<std::int32_t> same_words(span<const std::int32_t> words, span<const std::int64_t> starts) {
  std::vector<std::int32_t> same(words.size(), -1);
  std::unordered_map<std::int32_t, std::int32_t> last;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    last.clear();
    for (std::int64_t t = starts[s]; t < starts[s + 1]; ++t) {
      const auto at = static_cast<std::size_t>(t);
      const auto [found, is_new] = last.try_emplace(words[at], 0);
      if (!is_new) same[at] = found->second;
      found->second = static_cast<std::int32_t>(t - starts[s]);
    }
  }
  return same;
}
inline void check_same(const Ints& same, const Longs& starts) {
  require(same.size() == static_cast<std::size_t>(starts(starts.size() - 1)), "same must have one number per token");
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::int64_t t = starts(s); t < starts(s + 1); ++t)
      require(same(t) >= -1 && same(t) < t - starts(s), "same must be an earlier token of the sentence");
}
