// Plans and tables as they come from Python, checked; shared by extraction and decoding.
#pragma once
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "text/extract.hpp"
#include "text/views.hpp"

// atoms [n, 5], templates [n, 3], n_tables, n_folds, reach
using PlanArrays = std::tuple<Array<std::int32_t, 2>, Array<std::int32_t, 2>, std::int32_t, std::int32_t, std::int32_t>;
// keys, ids, starts [n_tables + 1]
using TableArrays = std::tuple<Array<std::uint64_t, 1>, Array<std::int32_t, 1>, Array<std::int64_t, 1>>;

trellis::Plan plan_from(const PlanArrays& given, std::size_t n_columns);
// The calls of a view with their numbers, the innermost first.
using Calls = std::vector<std::pair<std::string, std::int64_t>>;
inline bool add_view(trellis::ViewTree& tree, const Calls& calls) {
  std::vector<trellis::ViewTree::Call> named;
  for (const auto& [name, number] : calls) named.push_back({name, number});
  return tree.add(named);
}
// Tables of ids from -1, which marks an empty slot, to below their limits; without limits of any ids.
std::vector<trellis::FrozenTable> tables_from(const TableArrays& given, std::size_t n_tables,
                                              const std::vector<std::int64_t>& limits = {});
