// Lists of items side by side in one array.
#pragma once
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace trellis {

template <class Item>
struct Groups {
  std::vector<std::size_t> starts{0};  // [n + 1] group g has items[starts[g] .. starts[g + 1])
  std::vector<Item> items;

  std::size_t size() const { return starts.size() - 1; }
  std::size_t size_of(std::size_t g) const { return starts[g + 1] - starts[g]; }
  std::span<const Item> operator[](std::size_t g) const { return {items.data() + starts[g], size_of(g)}; }

  void clear() { starts.assign(1, 0), items.clear(); }
  // Appends a group: these items, or those appended to `items` since the last one.
  void add(std::span<const Item> group) { items.insert(items.end(), group.begin(), group.end()), end_group(); }
  void end_group() { starts.push_back(items.size()); }
  // Becomes n groups of the items for which each(visit) calls visit(group, item), each in that order. A counting sort: each() is
  // called twice.
  template <class Each>
  void sort(std::size_t n, Each each) {
    starts.assign(n + 2, 0);
    each([&](std::size_t g, const Item&) { ++starts[g + 2]; });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    items.resize(starts.back());
    each([&](std::size_t g, const Item& item) { items[starts[g + 1]++] = item; });
    starts.pop_back();
  }
};

}  // namespace trellis
