// Edge attributes about labels further back than those directly before a token, as they come from Python, checked.
#pragma once
#include <algorithm>

#include "checks.hpp"
#include "weights/far_labels.hpp"

// Those attributes of lists that are about labels further back, or the others.
class SplitLists {
 public:
  SplitLists() = default;
  SplitLists(const ListArrays& lists, const std::uint8_t* about, bool far) {
    const auto& [all_starts, all_ids, all_values] = lists;
    for (std::size_t t = 0; t + 1 < all_starts.size(); ++t) {
      for (std::int64_t i = all_starts(t); i < all_starts(t + 1); ++i) {
        if ((about[all_ids(i)] >= trellis::kFar) != far) continue;
        ids_.push_back(all_ids(i));
        if (all_values.size()) values_.push_back(all_values(i));
      }
      starts_.push_back(static_cast<std::int64_t>(ids_.size()));
    }
  }
  trellis::Sites sites() const { return {starts_.data(), ids_.data(), values_.empty() ? nullptr : values_.data()}; }
  bool empty() const { return ids_.empty(); }

 private:
  std::vector<std::int64_t> starts_{0};
  std::vector<std::int32_t> ids_;
  std::vector<float> values_;
};

// What attributes are about, each once, of those further back.
inline std::vector<std::uint8_t> far_kinds(span<const std::uint8_t> about) {
  std::vector<std::uint8_t> kinds(about.begin(), about.end());
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::erase_if(kinds, [](std::uint8_t kind) { return kind < trellis::kFar; });
  for (std::uint8_t kind : kinds) require(kind >= trellis::kFar + 1, "an attribute about no label");
  return kinds;
}

// The last token before each with the same word, counted from the beginning of its sentence, or -1: none.
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
  require(same.size() == static_cast<std::size_t>(starts(starts.size() - 1)), "same: one number per token");
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::int64_t t = starts(s); t < starts(s + 1); ++t)
      require(same(t) >= -1 && same(t) < t - starts(s), "same: a token before, in its sentence");
}
