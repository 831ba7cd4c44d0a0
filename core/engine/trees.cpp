#include "engine/trees.hpp"

#include <cstdlib>
#include <numeric>
#include <utility>

namespace trellis {

void TreeScores::resize(std::size_t n_words, bool with_siblings) {
  n = n_words, second_order = with_siblings;
  arcs.assign((n + 1) * (n + 1), kForbidden<double>);
  if (!second_order) return;
  starts.resize((n + 1) * (n + 1));
  std::size_t total = 0;
  for (std::size_t h = 0; h <= n; ++h)
    for (std::size_t m = 0; m <= n; ++m) {
      starts[h * (n + 1) + m] = total;
      total += h == 0 ? 1 : distance(h, m);  // the root has one word, which has no siblings
    }
  siblings.assign(total, 0);
}

// value(item) = max over ways of value(first) + value(second) + score of the part
double TreeChart::best(const TreeScores& scores, std::int32_t* heads) {
  n_ = scores.n;
  if (n_ == 0) return 0;
  values_.assign(4 * (n_ + 1) * (n_ + 1), kForbidden<double>);
  for (std::uint32_t m = 1; m <= n_; ++m) at({TreeItem::kComplete, m, m}) = 0;
  each_item(n_, [&](const TreeItem& item) {
    if (item.kind == TreeItem::kOpen && scores.arc(item.from, item.to) == kForbidden<double>) return;
    double best = kForbidden<double>;
    each_way(item, n_, scores.second_order, [&](const TreeWay& way) { best = std::max(best, value(way, scores)); });
    at(item) = best;
  });
  const TreeItem goal{TreeItem::kGoal, 0, 0};
  if (at(goal) == kForbidden<double>) return kForbidden<double>;
  open_.assign(1, goal);
  while (!open_.empty()) {
    const TreeItem item = open_.back();
    open_.pop_back();
    if (item.kind == TreeItem::kComplete && item.from == item.to) continue;
    bool found = false;
    each_way(item, n_, scores.second_order, [&](const TreeWay& way) {
      if (found || value(way, scores) != at(item)) return;
      found = true;
      if (way.part.word) heads[way.part.word - 1] = static_cast<std::int32_t>(way.part.head);
      open_.push_back(way.first), open_.push_back(way.second);
    });
  }
  return at(goal);
}

void find_siblings(std::span<const std::int32_t> heads, std::vector<std::int32_t>& siblings) {
  const auto n = static_cast<std::int32_t>(heads.size());
  siblings.assign(heads.begin(), heads.end());
  std::vector<std::int32_t> left(heads.size() + 1), right;  // of each head the previous word on that side
  std::iota(left.begin(), left.end(), 0), right = left;
  for (std::int32_t m = 1; m <= n; ++m)
    if (const std::int32_t h = heads[static_cast<std::size_t>(m - 1)]; m > h && h > 0)
      siblings[static_cast<std::size_t>(m - 1)] = std::exchange(right[static_cast<std::size_t>(h)], m);
  for (std::int32_t m = n; m >= 1; --m)
    if (const std::int32_t h = heads[static_cast<std::size_t>(m - 1)]; m < h)
      siblings[static_cast<std::size_t>(m - 1)] = std::exchange(left[static_cast<std::size_t>(h)], m);
}

bool is_tree(std::span<const std::int32_t> heads) {
  const auto n = static_cast<std::int32_t>(heads.size());
  std::int32_t n_roots = 0;
  for (std::int32_t h : heads) {
    if (h < 0 || h > n) return false;
    n_roots += h == 0;
  }
  if (n_roots != 1) return heads.empty();
  std::vector<std::int32_t> seen(heads.size() + 1, 0);  // the word whose path to the root visited it
  for (std::int32_t m = 1; m <= n; ++m)
    for (std::int32_t at = m; at != 0; at = heads[static_cast<std::size_t>(at - 1)]) {
      std::int32_t& by = seen[static_cast<std::size_t>(at)];
      if (by == m) return false;
      if (by) break;
      by = m;
    }
  return true;
}

namespace {

// Whether `at` is in the subtree of `head`; all words are in the subtree of the root.
bool is_below(std::span<const std::int32_t> heads, std::int32_t at, std::int32_t head) {
  for (; at != 0; at = heads[static_cast<std::size_t>(at - 1)])
    if (at == head) return true;
  return head == 0;
}

// The word of the shortest arc that spans a word outside the subtree of its head; 0 if there is none.
std::int32_t crossing(std::span<const std::int32_t> heads) {
  std::int32_t found = 0, shortest = 0;
  for (std::int32_t m = 1; m <= static_cast<std::int32_t>(heads.size()); ++m) {
    const std::int32_t h = heads[static_cast<std::size_t>(m - 1)], length = std::abs(m - h);
    if (found && length >= shortest) continue;
    for (std::int32_t k = std::min(h, m) + 1; k < std::max(h, m); ++k)
      if (!is_below(heads, k, h)) {
        found = m, shortest = length;
        break;
      }
  }
  return found;
}

}  // namespace

bool is_projective(std::span<const std::int32_t> heads) { return crossing(heads) == 0; }

void make_projective(std::span<std::int32_t> heads) {
  while (const std::int32_t m = crossing(heads)) {
    std::int32_t& head = heads[static_cast<std::size_t>(m - 1)];
    head = heads[static_cast<std::size_t>(head - 1)];
  }
}

}  // namespace trellis
