// From columns of value codes to attribute ids.
//
// A *view* is a function of one value (its suffix, its shape, ...), tabulated once per distinct value: ids_of[c][v, j]
// is the id of view j for value v of column c, -1 if the view is undefined. The first 2 * reach ids of every
// view are reserved for positions outside the sentence: distance d before it is d - 1, distance d after it reach+d-1.
// A *template* is a conjunction of views at offsets from the places of a site: a token has one place, an arc or
// a span of words has several (places.hpp). Its key packs the ids of its views into 64 bits. If the bits do not suffice,
// the key so far is replaced by its number in a separate table (a fold), which keeps the key exact.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/lists.hpp"
#include "text/table.hpp"

namespace trellis {

struct Atom {
  std::int32_t slot;    // index of column and view; of a measure its number
  std::int32_t place;   // 0 for a token; otherwise an entry of Anchor::at, kBetween or kMeasure
  std::int32_t offset;  // relative to the place
  std::int32_t bits;    // width of its ids in the key
  std::int32_t fold;    // the fold that compresses the key before this atom is added, or -1
  bool operator==(const Atom&) const = default;
};
constexpr std::int32_t kMeasure = -1, kBetween = -2;

struct Template {
  std::int32_t first_atom, last_atom;  // atoms[first_atom .. last_atom)
  std::int32_t table;                  // templates of one table share their attributes
  std::int32_t between = -1;  // the slot of the atom that covers all places between the first two of an anchor; -1: none
};

struct ColumnView {
  std::int32_t column, view;
};

struct Plan {
  std::vector<Atom> atoms;
  std::vector<Template> templates;
  std::vector<ColumnView> slots;
  std::int32_t n_tables = 0;
  std::int32_t n_folds = 0;
  std::int32_t reach = 0;  // maximum distance of views outside the sentence

  const ColumnView& view_of(const Atom& atom) const { return slots[static_cast<std::size_t>(atom.slot)]; }
};

struct ColumnCodes {
  const std::int32_t* codes = nullptr;     // [n_tokens] values
  const std::int32_t* view_ids = nullptr;  // [n_values, n_views]
  std::size_t n_views = 0;
};

// A key outside the range of packed keys, which have at most 63 bits: the template is undefined.
constexpr std::uint64_t kSilent = ~std::uint64_t{0};

// The attributes of tokens, arcs or spans by their keys: one table per template table, one per fold.
template <class Table>
struct Vocabulary {
  std::vector<Table> tables, folds;

  std::int32_t find(const Template& shape, std::uint64_t key) const {
    return key == kSilent ? -1 : tables[static_cast<std::size_t>(shape.table)].find(key);
  }
  // Interface for packing: the number of a key in a fold, -1 if unknown; or created if unknown.
  auto known_folds() const {
    return [this](std::int32_t f, std::uint64_t key) { return folds[static_cast<std::size_t>(f)].find(key); };
  }
  auto made_folds() {
    return [this](std::int32_t f, std::uint64_t key) { return folds[static_cast<std::size_t>(f)].find_or_add(key); };
  }
  // Offsets of the numbers of each table when tables are concatenated, and the total: [n_tables + 1].
  std::vector<std::int32_t> first_numbers() const {
    std::vector<std::int32_t> first{0};
    for (const Table& table : tables) first.push_back(first.back() + table.size());
    return first;
  }
};
using FrozenVocabulary = Vocabulary<FrozenTable>;
using GrowingVocabulary = Vocabulary<GrowingTable>;
inline GrowingVocabulary empty_vocabulary(const Plan& plan) {
  const auto tables = [](std::int32_t n) { return std::vector<GrowingTable>(static_cast<std::size_t>(n)); };
  return {tables(plan.n_tables), tables(plan.n_folds)};
}

// The view id at a position that may lie outside [begin, end).
inline std::int32_t view_id(const ColumnCodes& column, std::int32_t view, std::int64_t at, std::int64_t begin,
                            std::int64_t end, std::int32_t reach) {
  if (at < begin) return static_cast<std::int32_t>(begin - at - 1);
  if (at >= end) return static_cast<std::int32_t>(reach + at - end);
  return column.view_ids[static_cast<std::size_t>(column.codes[at]) * column.n_views + view];
}

// key = id_1 · 2^(b_2 + ... + b_k) + ... + id_k, one id after the other: appends an id to the key. fold: as in vocabularies.
template <class Fold>
inline std::uint64_t pack_id(std::uint64_t key, const Atom& atom, std::int32_t id, Fold fold) {
  if (atom.fold >= 0 && id >= 0 && key != kSilent) {
    const std::int32_t folded = fold(atom.fold, key);
    key = folded < 0 ? kSilent : static_cast<std::uint64_t>(folded);
  }
  return ((id < 0) | (key == kSilent)) ? kSilent : (key << atom.bits) | static_cast<std::uint64_t>(id);
}
template <class IdOf, class Fold>
inline std::uint64_t pack_key(const Plan& plan, const Template& shape, IdOf id_of, Fold fold) {
  std::uint64_t key = 0;
  for (std::int32_t a = shape.first_atom; a < shape.last_atom && key != kSilent; ++a)
    key = pack_id(key, plan.atoms[a], id_of(plan.atoms[a]), fold);
  return key;
}

// Numbers every attribute of the corpus: ids are table by table, in order of first appearance.
TokenLists extract(GrowingVocabulary& vocabulary, const Plan& plan, std::span<const ColumnCodes> columns,
                   std::span<const std::int64_t> starts, std::size_t n_threads);

// Adds the keys of another vocabulary of the same plan, in order of their numbers, of tables and of folds. Returns the numbers
// here of the keys of each table.
std::vector<std::vector<std::int32_t>> merge(GrowingVocabulary& vocabulary, const Plan& plan,
                                             std::span<const std::span<const std::uint64_t>> tables,
                                             std::span<const std::span<const std::uint64_t>> folds);

}  // namespace trellis
