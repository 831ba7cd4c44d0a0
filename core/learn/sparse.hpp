// Sparse vectors of weights: merging, products, accumulation.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trellis {

// One entry. The weights define what row and place mean.
struct Change {
  std::uint32_t row, place;
  double by;

  std::uint64_t key() const { return static_cast<std::uint64_t>(row) << 32 | place; }
};
using Changes = std::vector<Change>;

// Each key once, ascending, without zeros. Entries have a key() and an amount `by`.
template <class Entry>
void merge(std::vector<Entry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key() < b.key(); });
  std::size_t n = 0;
  for (std::size_t i = 0; i < entries.size();) {
    Entry total = entries[i++];
    for (; i < entries.size() && entries[i].key() == total.key(); ++i) total.by += entries[i].by;
    if (total.by != 0) entries[n++] = total;
  }
  entries.resize(n);
}

// a · b, both merged.
template <class Entry>
double dot(std::span<const Entry> a, std::span<const Entry> b) {
  double total = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].key() < b[j].key()) ++i;
    else if (b[j].key() < a[i].key()) ++j;
    else total += static_cast<double>(a[i++].by) * b[j++].by;
  }
  return total;
}
inline double dot(const Changes& a, const Changes& b) { return dot(std::span(a), std::span(b)); }

// An accumulator for sparse vectors: a small hash table with O(1) clear.
class SparseSum {
 public:
  void clear() {
    entries_.clear();
    if (++now_ == 0) now_ = 1, std::fill(cells_.begin(), cells_.end(), Cell{});
  }

  // Returns the index of the entry. Through registers: reading it back from memory at once would stall.
  std::uint32_t add(Change change) {
    // Vectors that are summed often have the same entries in the same order.
    if (++last_ < entries_.size() && entries_[last_].key() == change.key()) {
      entries_[last_].by += change.by;
      return last_;
    }
    if (2 * entries_.size() >= cells_.size()) grow();
    Cell& cell = find(change.key());
    if (cell.moment == now_) {
      entries_[cell.entry].by += change.by;
      return last_ = cell.entry;
    }
    cell = {now_, static_cast<std::uint32_t>(entries_.size())};
    entries_.push_back(change);
    return last_ = cell.entry;
  }

  // Each weight once, in order of first occurrence.
  const Changes& entries() const { return entries_; }

 private:
  struct Cell {
    std::uint32_t moment = 0;  // the sum that it belongs to
    std::uint32_t entry = 0;
  };

  // The index of an entry, or where to insert it: linear probing from a multiplicative hash.
  Cell& find(std::uint64_t key) {
    std::size_t at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 32) & (cells_.size() - 1);
    while (cells_[at].moment == now_ && entries_[cells_[at].entry].key() != key) at = (at + 1) & (cells_.size() - 1);
    return cells_[at];
  }
  void grow() {
    cells_.assign(std::max<std::size_t>(256, 2 * cells_.size()), Cell{});
    for (std::size_t i = 0; i < entries_.size(); ++i) find(entries_[i].key()) = {now_, static_cast<std::uint32_t>(i)};
  }

  std::vector<Cell> cells_;  // size is a power of two
  Changes entries_;
  std::uint32_t now_ = 1, last_ = 0;  // the current sum; the entry added last
};

}  // namespace trellis
