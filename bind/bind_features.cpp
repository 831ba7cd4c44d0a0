// Columns of codes to attribute lists, and the vocabulary that numbers them.
#include <algorithm>
#include <map>

#include "coded.hpp"
#include "features.hpp"
#include "text/lists.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// What both kinds of plans have in common; atom_from(row) gives an atom of a row of atoms.
template <class AtomFrom>
Plan read_plan(const PlanArrays& given, AtomFrom atom_from) {
  require(given.atoms.shape(1) == 5 && given.templates.shape(1) == 3, "atoms are [n, 5], templates [n, 3]");
  constexpr std::int32_t kMaxReach = 1 << 16;
  Plan plan;
  plan.n_tables = given.n_tables, plan.n_folds = given.n_folds, plan.reach = given.reach;
  require(plan.n_tables >= 0 && plan.n_folds >= 0 && plan.reach >= 0 && plan.reach <= kMaxReach, "a plan out of range");
  for (std::size_t i = 0; i < given.atoms.shape(0); ++i) {
    const Atom atom = atom_from(plan, given.atoms.data() + 5 * i);
    require(atom.offset >= -plan.reach && atom.offset <= plan.reach && atom.bits >= 1 && atom.bits <= 63 && atom.fold < plan.n_folds,
            "an atom out of range");
    plan.atoms.push_back(atom);
  }
  for (std::size_t i = 0; i < given.templates.shape(0); ++i) {
    Template shape{given.templates(i, 0), given.templates(i, 1), given.templates(i, 2)};
    require(shape.first_atom >= 0 && shape.first_atom <= shape.last_atom && static_cast<std::size_t>(shape.last_atom) <= plan.atoms.size() &&
                shape.table >= 0 && shape.table < plan.n_tables,
            "a template out of range");
    const std::span<const Atom> atoms(plan.atoms.data() + shape.first_atom, plan.atoms.data() + shape.last_atom);
    const auto n_between = std::ranges::count(atoms, kBetween, &Atom::place);
    require(n_between <= 1, "a template has one look at what stands between");
    shape.ranges = n_between > 0;
    plan.templates.push_back(shape);
  }
  return plan;
}

}  // namespace

Plan plan_from(const PlanArrays& given, std::size_t n_columns) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> slot_of;  // of a column and a view
  return read_plan(given, [&](Plan& plan, const std::int32_t* a) {
    require(a[0] >= 0 && static_cast<std::size_t>(a[0]) < n_columns && a[1] >= 0, "an atom out of range");
    const auto [slot, is_new] = slot_of.try_emplace({a[0], a[1]}, static_cast<std::int32_t>(plan.slots.size()));
    if (is_new) plan.slots.push_back({a[0], a[1]});
    return Atom{slot->second, 0, a[2], a[3], a[4]};
  });
}

Plan placed_plan_from(const PlanArrays& given, std::int32_t first_place, std::int32_t last_place) {
  constexpr std::int32_t kMeasures = 2;
  require(given.slots && given.slots->shape(1) == 2 && given.reach >= 1, "slots are [n, 2]");
  require(static_cast<std::size_t>(given.n_tables) == given.templates.shape(0), "one table per template");
  const auto n_slots = static_cast<std::int32_t>(given.slots->shape(0));
  Plan plan = read_plan(given, [&](Plan& to, const std::int32_t* a) {
    const Atom atom{a[0], a[1], a[2], a[3], a[4]};
    // The root is one place outside the sentence.
    require(atom.slot >= 0 && atom.slot < (atom.place == kMeasure ? kMeasures : n_slots) && atom.place >= first_place &&
                atom.place <= last_place && atom.offset > -to.reach && atom.offset < to.reach && (atom.place >= 0 || atom.offset == 0),
            "an atom out of range");
    return atom;
  });
  for (std::int32_t i = 0; i < n_slots; ++i) plan.slots.push_back({(*given.slots)(i, 0), (*given.slots)(i, 1)});
  for (std::size_t i = 0; i < plan.templates.size(); ++i)
    require(static_cast<std::size_t>(plan.templates[i].table) == i, "one table per template");
  return plan;
}

void check_views(const Plan& plan, std::span<const ColumnCodes> columns, const std::vector<CodedColumn>& arrays) {
  for (const auto& [column, view] : plan.slots)
    require(column >= 0 && static_cast<std::size_t>(column) < columns.size() && view >= 0 &&
                static_cast<std::size_t>(view) < columns[static_cast<std::size_t>(column)].views.n_views,
            "no such view of a column");
  for (const Atom& atom : plan.atoms) {
    if (atom.place == kMeasure) continue;
    const auto [column, view] = plan.view_of(atom);
    const auto& ids = arrays[static_cast<std::size_t>(column)].view_ids;
    for (std::size_t v = 0; v < ids.shape(0); ++v)
      require(ids(v, static_cast<std::size_t>(view)) < std::int64_t{1} << std::min(atom.bits, 32), "a view id that is too large for its key");
  }
}

std::vector<FrozenTable> tables_from(const TableArrays& given, std::size_t n_tables,
                                     const std::vector<std::int64_t>& limits) {
  const auto& [keys, ids, starts] = given;
  if (keys.size() != ids.size() || starts.size() != n_tables + 1 || starts(0) != 0 ||
      starts(n_tables) != static_cast<std::int64_t>(ids.size()))
    throw nb::value_error("tables that do not fit together");
  std::vector<FrozenTable> tables;
  for (std::size_t k = 0; k < n_tables; ++k) {
    const std::int64_t first = starts(k), size = starts(k + 1) - first;
    if (size < 1 || !std::has_single_bit(static_cast<std::uint64_t>(size)) || first < 0 ||
        starts(k + 1) > starts(n_tables))
      throw nb::value_error("a table whose size is no power of two");
    const std::int32_t* begin = ids.data() + first;
    const Bounds bounds = bounds_of({begin, static_cast<std::size_t>(size)});
    if (bounds.least < -1 || (!limits.empty() && bounds.greatest >= limits[k]))
      throw nb::value_error("a table with an id out of range");
    // An empty slot ends every search, so there must be one.
    if (bounds.least != -1) throw nb::value_error("a table without an empty slot");
    tables.push_back({keys.data() + first, begin, static_cast<std::uint64_t>(size - 1)});
  }
  return tables;
}

std::vector<ColumnCodes> columns_from(const std::vector<CodedColumn>& given, std::size_t n_tokens) {
  std::vector<ColumnCodes> columns;
  for (const auto& [codes, views] : given) {
    require(codes.size() == n_tokens, "a column of another length than the corpus");
    check_numbers(codes, views.shape(0), "a code without a value");
    columns.push_back({codes.data(), {views.data(), views.shape(1)}});
  }
  return columns;
}

namespace {

using Lists = std::pair<Numpy<std::int64_t>, Numpy<std::int32_t>>;
Lists lists_to_numpy(TokenLists lists) { return {to_numpy(std::move(lists.starts)), to_numpy(std::move(lists.ids))}; }

constexpr std::size_t kAnyColumns = std::numeric_limits<std::int32_t>::max();

Lists extract(GrowingVocabulary& vocabulary, const PlanArrays& plan_arrays, const std::vector<CodedColumn>& column_arrays,
              const Longs& starts_array, std::size_t n_threads) {
  const Plan plan = plan_from(plan_arrays, column_arrays.size());
  const auto starts = span(starts_array);
  const auto columns = columns_from(column_arrays, check_sentences(starts_array));
  check_views(plan, columns, column_arrays);
  if (static_cast<std::size_t>(plan.n_tables) != vocabulary.tables().size() ||
      static_cast<std::size_t>(plan.n_folds) != vocabulary.folds().size())
    throw nb::value_error("a plan of another vocabulary");
  TokenLists lists = without_gil([&] { return vocabulary.extract(plan, columns, starts, n_threads); });
  return lists_to_numpy(std::move(lists));
}

Numpy<std::int32_t> add(GrowingVocabulary& vocabulary, const PlanArrays& plan_arrays, std::size_t number,
                        const Array<std::int32_t, 2>& ids) {
  const Plan plan = plan_from(plan_arrays, kAnyColumns);
  if (number >= plan.templates.size() || static_cast<std::size_t>(plan.n_tables) != vocabulary.tables().size() ||
      static_cast<std::size_t>(plan.n_folds) != vocabulary.folds().size() ||
      ids.shape(1) != static_cast<std::size_t>(plan.templates[number].last_atom - plan.templates[number].first_atom))
    throw nb::value_error("a plan of another vocabulary");
  return to_numpy(vocabulary.add(plan, number, ids.data(), ids.shape(0)));
}

Numpy<std::int32_t> table_sizes(const GrowingVocabulary& vocabulary) {
  std::vector<std::int32_t> sizes;
  for (const GrowingTable& table : vocabulary.tables()) sizes.push_back(table.size());
  return to_numpy(std::move(sizes));
}

std::pair<TablesOut, TablesOut> freeze(const GrowingVocabulary& vocabulary, const Ints& rank) {
  require(rank.size() == static_cast<std::size_t>(vocabulary.n_attributes()), "rank needs one number per attribute");
  return {tables_out(vocabulary.tables(), [&](std::int32_t id, std::int32_t base) { return rank(base + id); }),
          tables_out(vocabulary.folds())};
}

void check_lists(const Longs& starts, const Ints& ids, std::size_t n_attributes) {
  check_starts(starts, ids.size());
  check_numbers(ids, n_attributes, "no such attribute");
}

Numpy<std::int64_t> counted(const Ints& ids, std::size_t n_attributes) {
  check_numbers(ids, n_attributes, "no such attribute");
  return to_numpy(without_gil([&] { return count_attributes(span(ids), n_attributes); }));
}

std::tuple<Numpy<std::int64_t>, Numpy<std::uint32_t>, Numpy<std::int32_t>> count_pairs(
    const Longs& starts, const Ints& ids, const Ints& gold,
    std::size_t n_attributes) {
  check_lists(starts, ids, n_attributes);
  require(gold.size() + 1 == starts.size(), "gold needs one label per token");
  LabelCounts found = without_gil([&] { return count_labels(span(starts), span(ids), span(gold), n_attributes); });
  return {to_numpy(std::move(found.starts)), to_numpy(std::move(found.labels)), to_numpy(std::move(found.counts))};
}

std::tuple<Numpy<std::int64_t>, Numpy<std::int32_t>, Numpy<float>> renumbered(
    const Longs& starts, const Ints& ids, const Floats& values,
    const Ints& rank) {
  check_lists(starts, ids, rank.size());
  require(values.size() == 0 || values.size() == ids.size(), "values need one number per id");
  TokenLists lists = without_gil([&] { return renumber(span(starts), span(ids), span(values), span(rank)); });
  return {to_numpy(std::move(lists.starts)), to_numpy(std::move(lists.ids)), to_numpy(std::move(lists.values))};
}

// What a view says of each string, in order of first appearance. `others` is what it says of those that are not ASCII.
std::optional<Coded> view_table(const Calls& calls, const Bytes& data, const Longs& starts,
                                const std::vector<std::optional<std::string>>& others) {
  check_strings(data, starts);
  ViewTree tree;
  if (!add_view(tree, calls)) return std::nullopt;
  Interner strings;
  std::vector<std::int32_t> ids;
  Said said;
  std::size_t n_others = 0;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::string_view value(reinterpret_cast<const char*>(data.data()) + starts(i), starts(i + 1) - starts(i));
    if (is_ascii(value)) {
      tree.ask(value, said);
      ids.push_back(said.views[0].data() ? strings.intern(said.views[0]) : -1);
    } else {
      if (n_others == others.size()) throw nb::value_error("more strings that are not ASCII than answers for them");
      const auto& other = others[n_others++];
      ids.push_back(other ? strings.intern(*other) : -1);
    }
  }
  return coded(std::move(ids), strings);
}

}  // namespace

void bind_features(nb::module_& module) {
  nb::class_<GrowingVocabulary>(module, "GrowingVocabulary", "Attributes numbered while a corpus is extracted.")
      .def("__init__", [](GrowingVocabulary* self, const PlanArrays& plan) {
        new (self) GrowingVocabulary(plan_from(plan, kAnyColumns));
      }, "plan"_array)
      .def_prop_ro("n_attributes", guarded<GrowingVocabulary>(&GrowingVocabulary::n_attributes))
      .def_prop_ro("table_sizes", guarded(&table_sizes), nb::rv_policy::move,
                   "How many attributes each table has; their numbers follow one another.")
      .def("add", guarded(&add), "plan"_array, "template_number"_a, "ids"_array,
           "Attributes of one template by their view ids [n, n_atoms]: their numbers within the table.")
      .def("extract", guarded(&extract), "plan"_array, "columns"_array, "starts"_array, "n_threads"_a,
           "Number all attributes of a corpus: (starts, ids).")
      .def("freeze", guarded(&freeze), "rank"_array, "(tables, folds), attributes renumbered.");
  module.def("view_table", &view_table, "calls"_a, "data"_array, "starts"_array, "others"_a,
             "What a view says of strings: (codes, -1 for nothing; data, starts). None if native code lacks a call; "
             "others says it of strings that are not ASCII.");
  module.def("count_attributes", &counted, "ids"_array, "n_attributes"_a, "How often each attribute stands in lists.");
  module.def("count_pairs", &count_pairs, "starts"_array, "ids"_array, "gold"_array, "n_attributes"_a,
             "(row starts, labels, counts): the labels each attribute was seen with.");
  module.def("renumber", &renumbered, "starts"_array, "ids"_array, "values"_array, "rank"_array,
             "Lists of attributes with new numbers: (starts, ids, values).");
}
