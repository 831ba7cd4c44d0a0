// A sparse vector summed up entry by entry: a small hash table that forgets all at once.
#pragma once
#include "weights/growing_chain.hpp"

namespace trellis {

class SparseSum {
 public:
  void clear() {
    entries_.clear();
    if (++now_ == 0) now_ = 1, std::fill(cells_.begin(), cells_.end(), Cell{});
  }

  void add(std::uint32_t row, std::uint32_t place, double by) {
    if (2 * entries_.size() >= cells_.size()) grow();
    Cell& cell = find(row, place);
    if (cell.moment == now_) {
      entries_[cell.entry].by += by;
      return;
    }
    cell = {now_, static_cast<std::uint32_t>(entries_.size())};
    entries_.push_back({row, place, by});
  }

  // Each weight once, in the order in which they first came.
  const Changes& entries() const { return entries_; }

 private:
  struct Cell {
    std::uint32_t moment = 0;  // of the sum that it belongs to
    std::uint32_t entry = 0;
  };

  // Where an entry stands, or should stand: linear probing from a multiplicative hash.
  Cell& find(std::uint32_t row, std::uint32_t place) {
    const std::uint64_t key = (static_cast<std::uint64_t>(row) << 32 | place) * 0x9e3779b97f4a7c15ULL;
    std::size_t at = static_cast<std::size_t>(key >> 32) & (cells_.size() - 1);
    while (cells_[at].moment == now_) {
      const Change& entry = entries_[cells_[at].entry];
      if (entry.row == row && entry.place == place) break;
      at = (at + 1) & (cells_.size() - 1);
    }
    return cells_[at];
  }
  void grow() {
    cells_.assign(std::max<std::size_t>(256, 2 * cells_.size()), Cell{});
    for (std::size_t i = 0; i < entries_.size(); ++i)
      find(entries_[i].row, entries_[i].place) = {now_, static_cast<std::uint32_t>(i)};
  }

  std::vector<Cell> cells_;  // a power of two
  Changes entries_;
  std::uint32_t now_ = 1;
};

}  // namespace trellis
