// Weights of attributes of placed sites (text/places.hpp), sparse: a row of columns per attribute. A group of templates has one
// table of keys; what its columns stand for is the plan's business (arcs.hpp).
#pragma once
#include <algorithm>
#include <stdexcept>

#include "text/packed.hpp"
#include "text/places.hpp"
#include "weights/growing_rows.hpp"

namespace trellis {

struct PlacedWeights : GrowingVocabulary {
  std::vector<GrowingRows> rows;  // [n_groups]

  // `heavy`: rows of many columns become heavy.
  PlacedWeights(const Plan& plan, std::span<const std::uint32_t> n_columns, Learns learns, bool heavy = true)
      : GrowingVocabulary(empty_vocabulary(plan)) {
    // Light rows are searched from their beginning, so they are short.
    for (const std::uint32_t n : n_columns) rows.emplace_back(0, n, heavy ? std::clamp<std::size_t>(n / 4, 8, 32) : 0, learns);
  }

  // The attribute of a key in a group, created without weights if missing.
  std::uint32_t make_attribute(std::size_t group, std::uint64_t key) {
    const auto id = static_cast<std::size_t>(tables[group].find_or_add(key));
    if (id == rows[group].n_attributes()) rows[group].add_attribute();
    return static_cast<std::uint32_t>(id);
  }
  // Interface of Steps: a row is an attribute, a place its group and a column.
  static constexpr std::uint32_t kMostColumns = 1 << 16, kMostGroups = 1 << 16;
  static std::uint32_t place(std::size_t group, std::uint32_t column) { return static_cast<std::uint32_t>(group) << 16 | column; }
  LearntWeight find(std::uint32_t row, std::uint32_t place) { return rows[place >> 16].find(static_cast<std::int32_t>(row), place & 0xffff); }
  LearntWeight make(std::uint32_t row, std::uint32_t place) { return rows[place >> 16].make(static_cast<std::int32_t>(row), place & 0xffff); }

  // Interface for scoring: the attribute of a key, -1 if there is none; its weights, of a column, of n columns.
  std::int32_t find(std::size_t group, std::uint64_t key) const { return tables[group].find(key); }
  void prefetch(std::size_t group, std::uint64_t key) const { tables[group].prefetch(key); }
  void prefetch_row(std::size_t group, std::int32_t id) const { rows[group].prefetch_row(id); }
  void prefetch_slots(std::size_t group, std::int32_t id) const { rows[group].prefetch_slots(id); }
  float value(std::size_t group, std::int32_t id, std::uint32_t column) const { return rows[group].value(id, column); }
  void add_part(std::size_t group, std::int32_t id, std::uint32_t first, std::size_t n, double* sums) const {
    rows[group].add_part(id, first, n, sums);
  }
};

// Attributes with a nonzero weight as in a file: those of each group in turn by ascending keys, with their columns ascending.
template <template <class> class Hold>
struct PackedWeights {
  Hold<std::int64_t> counts;   // [n_groups] of attributes
  Hold<std::uint8_t> keys;     // packed numbers: of each attribute the difference to the key before it in its group
  Hold<std::uint8_t> sizes;    // packed numbers: of weights of each attribute
  Hold<std::uint8_t> columns;  // packed numbers: of each weight the difference to the column before it in its row
  Hold<float> weights;         // one after the other
};
template <class T>
using HoldVector = std::vector<T>;

// Adds attributes to packed weights.
class Packing {
 public:
  PackedWeights<HoldVector> packed;

  void begin_group() { packed.counts.push_back(0), key_ = 0; }
  // Slots by ascending columns; zero weights are dropped, and attributes without another.
  void add(std::uint64_t key, std::span<const GrowingRows::Slot> slots) {
    std::uint64_t n = 0, column = 0;
    for (const auto& [own, weight] : slots) {
      if (weight == 0) continue;
      pack(own - column, packed.columns);
      packed.weights.push_back(weight);
      column = own, ++n;
    }
    if (n == 0) return;
    pack(key - key_, packed.keys), pack(n, packed.sizes);
    key_ = key, ++packed.counts.back();
  }

 private:
  std::uint64_t key_ = 0;
};

// Calls begin(group), then add(key, slots) for its attributes. Throws std::invalid_argument if the arrays do not fit together.
template <template <class> class Hold, class Begin, class Add>
void unpack(const PackedWeights<Hold>& packed, std::span<const std::uint32_t> n_columns, Begin begin, Add add) {
  const auto check = [](bool ok, const char* why) {
    if (!ok) throw std::invalid_argument(why);
  };
  const std::span<const float> weights = packed.weights;
  Unpacked keys(packed.keys), sizes(packed.sizes), columns(packed.columns);
  std::vector<GrowingRows::Slot> slots;
  std::size_t at = 0;
  check(packed.counts.size() == n_columns.size(), "one number of attributes per group");
  std::uint64_t n_attributes = 0;
  for (const std::int64_t n : packed.counts)
    check(n >= 0 && (n_attributes += static_cast<std::uint64_t>(n)) <= weights.size(), "as many weights as attributes have");
  for (std::size_t g = 0; g < n_columns.size(); ++g) {
    begin(g);
    std::uint64_t key = 0;
    for (std::int64_t i = 0; i < packed.counts.data()[g]; ++i) {
      const std::uint64_t further = keys.next(), n = sizes.next();
      check((i == 0 || further > 0) && key + further < kSilent >> 1, "keys must ascend");
      key += further;
      check(n > 0 && n <= weights.size() - at, "as many weights as attributes have");
      slots.clear();
      std::uint64_t column = 0;
      for (std::uint64_t s = 0; s < n; ++s) {
        const std::uint64_t right = columns.next();
        check((s == 0 || right > 0) && right < n_columns[g] && column + right < n_columns[g], "columns must ascend, below their number");
        column += right;
        slots.push_back({static_cast<std::uint32_t>(column), weights[at++]});
      }
      add(key, std::span<const GrowingRows::Slot>(slots));
    }
  }
  check(keys.ended() && sizes.ended() && columns.ended() && at == weights.size(), "as many weights as attributes have");
}

}  // namespace trellis
