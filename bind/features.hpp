// Plans and tables from Python, validated; shared by extraction and decoding.
#pragma once
#include "checks.hpp"
#include "text/dictionary.hpp"
#include "text/extract.hpp"
#include "text/views.hpp"

// Atoms of a template refer to tokens, or, with slots, to places.
struct PlanArrays {
  Array<std::int32_t, 2> atoms;      // [n, 5]: column, view, offset, bits, fold or -1; at places slot, place, offset, bits, fold
  Array<std::int32_t, 2> templates;  // [n, 3]: first and last atom, table
  std::int32_t n_tables, n_folds, reach;
  std::optional<Array<std::int32_t, 2>> slots;  // [n, 2]: column, view
  FIELDS(atoms, templates, n_tables, n_folds, reach, slots)
};
struct TableArrays {
  Array<std::uint64_t, 1> keys;
  Ints ids;
  Longs starts;  // [n_tables + 1]
  FIELDS(keys, ids, starts)
};
RECORD(trellis::FrozenArrays, keys, ids, starts)
// Numbers stay as they are.
inline trellis::FrozenArrays freeze_tables(span<const trellis::GrowingTable> tables) {
  return trellis::freeze_tables(tables, [](std::int32_t id, std::int32_t) { return id; });
}

// A column of a corpus as codes, and the view ids of its values.
struct CodedColumn {
  Ints codes;
  Array<std::int32_t, 2> view_ids;  // [n_values, n_views]
  FIELDS(codes, view_ids)
};
// Columns with all views of a plan, whose ids fit into the bits of the atoms.
std::vector<trellis::ColumnCodes> columns_from(const trellis::Plan& plan, const std::vector<CodedColumn>& arrays,
                                               std::size_t n_tokens);
// A plan over tokens, or one over places from kMeasure or kBetween to last_place. Its views are checked separately, with columns.
trellis::Plan plan_from(const PlanArrays& arrays, std::int32_t first_place = 0, std::int32_t last_place = 0);
using Calls = std::vector<trellis::ViewTree::Call>;  // of a view, innermost first
// Tables of ids from -1, an empty slot, to below their limits; without limits, ids are not checked.
std::vector<trellis::FrozenTable> tables_from(const TableArrays& arrays, std::size_t n_tables,
                                              const std::vector<std::int64_t>& limits = {});

// A dictionary: entry i is symbols[starts[i]:starts[i + 1]], with duplicates; folds[i] is a training fold that contains it.
struct PyDictionary {
  std::size_t n_symbols;
  Longs starts;
  Ints symbols;
  std::optional<Ints> folds;
  ARGUMENTS(n_symbols, starts, symbols, folds)
  std::shared_ptr<trellis::Dictionary> core;

  void begin();
};
