#include "text/dictionary.hpp"

#include <algorithm>

namespace trellis {

void Dictionary::add(std::span<const std::int32_t> entry, std::int32_t fold) {
  std::int32_t at = entry[0];
  for (const std::int32_t symbol : entry.subspan(1)) {
    nodes_[static_cast<std::size_t>(at)].has_children = true;
    at = tree_.make(at, symbol);
    nodes_.resize(tree_.size());
  }
  std::int32_t& known = nodes_[static_cast<std::size_t>(at)].fold;
  known = known == kNoEntry || known == fold ? fold : kAnyone;
}

void Dictionary::match(std::span<const std::int32_t> symbols, std::int32_t asks, std::int32_t* values) const {
  const std::size_t n = symbols.size();
  std::fill_n(values, kWhere * n, asks == kNobody ? kSilent : 0);
  std::int32_t *begins = values, *ends = values + n, *inside = values + 2 * n, *parts = values + 3 * n;
  std::fill_n(parts, n, kSilent);
  if (asks == kNobody) return;
  std::size_t taken = 0;  // end of the last match
  for (std::size_t t = 0; t < n; ++t) {
    if (symbols[t] < 0) continue;
    std::size_t longest = 0;
    std::int32_t at = symbols[t];
    for (std::size_t length = 1; at >= 0; ++length) {
      const auto [fold, has_children] = nodes_[static_cast<std::size_t>(at)];
      if (fold == kAnyone || (fold >= 0 && fold != asks)) {
        longest = length;
        std::int32_t& end = ends[t + length - 1];
        end = std::max(end, static_cast<std::int32_t>(std::min<std::size_t>(length, kMost)));
      }
      at = has_children && t + length < n && symbols[t + length] >= 0 ? tree_.find(at, symbols[t + length]) : -1;
    }
    begins[t] = static_cast<std::int32_t>(std::min<std::size_t>(longest, kMost));
    for (std::size_t i = t + 1; i + 1 < t + longest; ++i) inside[i] = std::max(inside[i], begins[t]);
    if (t < taken || longest == 0) continue;
    taken = t + longest;
    for (std::size_t i = t; i < taken; ++i) parts[i] = i == t ? kFirst : i + 1 == taken ? kLast : kInner;
    if (longest == 1) parts[t] = kOnly;
  }
}

}  // namespace trellis
