// Exact tables from a 64-bit key to a 32-bit id: growable while a vocabulary is built, then frozen into two flat
// arrays that can be memory-mapped.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "large_pages.hpp"

namespace trellis {

// Mixes all bits of a key (the finaliser of SplitMix64), so that packed ids spread over the slots.
inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Open addressing with linear probing; an id of -1 marks an empty slot. Any number of slots below 2^32 works: the search for a
// key begins at the slot n_slots times the upper half of its hash as a fraction.
struct FrozenTable {
  const std::uint64_t* keys = nullptr;  // [n_slots]
  const std::int32_t* ids = nullptr;    // [n_slots]
  std::uint64_t n_slots = 0;

  std::uint64_t first_slot(std::uint64_t key) const { return (mix(key) >> 32) * n_slots >> 32; }
  // The slot of the key, or the empty slot that ends its search.
  std::uint64_t slot_of(std::uint64_t key) const {
    std::uint64_t i = first_slot(key);
    while (keys[i] != key && ids[i] >= 0) i = i + 1 < n_slots ? i + 1 : 0;
    return i;
  }
  std::int32_t find(std::uint64_t key) const { return ids[slot_of(key)]; }
  void prefetch(std::uint64_t key) const {
    __builtin_prefetch(keys + first_slot(key));
    __builtin_prefetch(ids + first_slot(key));
  }
};

// At most three of five slots are taken.
class GrowingTable {
 public:
  GrowingTable() { resize(16); }
  // Makes room for n keys.
  void reserve(std::size_t n) { resize(std::max(entries_.size(), 5 * n / 3 + 2)); }

  // The id of the key; a new key gets the next id.
  std::int32_t find_or_add(std::uint64_t key) {
    Entry& entry = entries_[place_of(key)];
    if (entry.id >= 0) return entry.id;
    entry = {key, size_};
    if (5 * static_cast<std::size_t>(++size_) >= 3 * entries_.size()) resize(3 * entries_.size() / 2);
    return size_ - 1;
  }
  // The id of the key, -1 if it has none.
  std::int32_t find(std::uint64_t key) const { return entries_[place_of(key)].id; }
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&entries_[first_slot(key)]); }
  std::int32_t size() const { return size_; }

  // Calls each(key, id) for every entry, in slot order.
  template <class Each>
  void for_each(Each each) const {
    for (const Entry& entry : entries_)
      if (entry.id >= 0) each(entry.key, entry.id);
  }

 private:
  struct [[gnu::packed]] Entry {
    std::uint64_t key = 0;
    std::int32_t id = -1;  // -1: empty
  };
  using Entries = std::vector<Entry, LargePages<Entry>>;

  std::uint64_t first_slot(std::uint64_t key) const { return (mix(key) >> 32) * entries_.size() >> 32; }
  // The slot of the key, or the one to insert it at.
  std::size_t place_of(std::uint64_t key) const {
    std::uint64_t i = first_slot(key);
    while (entries_[i].id >= 0 && entries_[i].key != key) i = i + 1 < entries_.size() ? i + 1 : 0;
    return i;
  }
  void resize(std::size_t n_slots) {
    Entries old(n_slots);
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.id >= 0) entries_[place_of(entry.key)] = entry;
  }
  Entries entries_;  // [n_slots]
  std::int32_t size_ = 0;
};

// All keys in the order of their ids.
inline std::vector<std::uint64_t> keys_of(const GrowingTable& table) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(table.size()));
  table.for_each([&](std::uint64_t key, std::int32_t id) { keys[static_cast<std::size_t>(id)] = key; });
  return keys;
}

// Keys with their ids, by ascending keys.
inline std::vector<std::pair<std::uint64_t, std::int32_t>> sorted_keys(const GrowingTable& table) {
  std::vector<std::pair<std::uint64_t, std::int32_t>> out;
  out.reserve(static_cast<std::size_t>(table.size()));
  table.for_each([&](std::uint64_t key, std::int32_t id) { out.emplace_back(key, id); });
  std::sort(out.begin(), out.end());
  return out;
}

// A tree of symbol sequences: a node for each prefix, after the roots, where sequences begin.
class SymbolTree {
 public:
  explicit SymbolTree(std::size_t n_roots) : parents(n_roots, -1), symbols(parents), n_roots_(parents.size()) {}

  std::size_t size() const { return parents.size(); }
  std::size_t n_roots() const { return n_roots_; }
  // The child by a symbol, or -1.
  std::int32_t find(std::int32_t node, std::int32_t symbol) const {
    const std::int32_t edge = edges_.find(key(node, symbol));
    return edge < 0 ? -1 : static_cast<std::int32_t>(n_roots_) + edge;
  }
  // The same, created if missing.
  std::int32_t make(std::int32_t node, std::int32_t symbol) {
    const std::int32_t child = static_cast<std::int32_t>(n_roots_) + edges_.find_or_add(key(node, symbol));
    if (static_cast<std::size_t>(child) == size()) parents.push_back(node), symbols.push_back(symbol);
    return child;
  }

  std::vector<std::int32_t> parents, symbols;  // [size], -1 of roots

 private:
  static std::uint64_t key(std::int32_t node, std::int32_t symbol) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(symbol);
  }
  GrowingTable edges_;
  std::size_t n_roots_;
};

// Concatenated tables: table k has the slots starts[k] .. starts[k + 1].
struct FrozenArrays {
  std::vector<std::uint64_t> keys;
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> starts{0};  // [n_tables + 1]
};

// rank(id, base) renumbers entry id of the table whose first attribute is base, -1 drops it. Entries are stored in the
// order of their ranks, so that the layout does not depend on the history of a table.
template <class Rank>
FrozenArrays freeze_tables(std::span<const GrowingTable> tables, Rank rank) {
  FrozenArrays out;
  std::int32_t base = 0;
  for (const GrowingTable& table : tables) {
    std::vector<std::pair<std::int32_t, std::uint64_t>> kept;
    table.for_each([&](std::uint64_t key, std::int32_t id) {
      if (rank(id, base) >= 0) kept.emplace_back(rank(id, base), key);
    });
    std::sort(kept.begin(), kept.end());
    // Less than half of the slots are taken, so a search is short and always ends.
    const std::size_t n_slots = 2 * kept.size() + 1, first = out.keys.size();
    out.keys.resize(first + n_slots);
    out.ids.resize(first + n_slots, -1);
    const FrozenTable frozen{out.keys.data() + first, out.ids.data() + first, n_slots};
    for (auto [id, key] : kept) {
      const std::size_t at = first + frozen.slot_of(key);
      out.keys[at] = key, out.ids[at] = id;
    }
    out.starts.push_back(static_cast<std::int64_t>(out.keys.size()));
    base += table.size();
  }
  return out;
}

}  // namespace trellis
