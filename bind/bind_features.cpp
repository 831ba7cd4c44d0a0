// Columns of codes to attribute lists, the vocabulary that numbers them, dictionaries and clusters of words.
#include "features.hpp"
#include "papers/brown.hpp"
#include "text/lists.hpp"

using namespace trellis;

Plan plan_from(const PlanArrays& arrays, std::int32_t first_place, std::int32_t last_place) {
  constexpr std::int32_t kMaxReach = 1 << 16, kMostFolds = 1 << 30, kMeasures = 2;
  const bool placed = arrays.slots.has_value();
  require(arrays.atoms.shape(1) == 5 && arrays.templates.shape(1) == 3 && (!placed || arrays.slots->shape(1) == 2),
          "atoms are [n, 5], templates [n, 3], slots [n, 2]");
  Plan plan;
  plan.n_tables = arrays.n_tables, plan.n_folds = arrays.n_folds, plan.reach = arrays.reach;
  require(plan.n_tables >= 0 && plan.n_folds >= 0 && plan.n_folds < kMostFolds && plan.reach >= placed && plan.reach <= kMaxReach,
          "number out of range in a plan");
  for (std::size_t i = 0; placed && i < arrays.slots->shape(0); ++i)
    plan.slots.push_back({(*arrays.slots)(i, 0), (*arrays.slots)(i, 1)});
  const auto n_slots = static_cast<std::int32_t>(plan.slots.size());
  for (std::size_t i = 0; i < arrays.atoms.shape(0); ++i) {
    const std::int32_t* a = arrays.atoms.data() + 5 * i;
    if (!placed) plan.slots.push_back({a[0], a[1]});
    const Atom atom{placed ? a[0] : static_cast<std::int32_t>(i), placed ? a[1] : 0, a[2], a[3], a[4]};
    const std::int32_t farthest = plan.reach - placed;  // the root is one place outside the sentence
    require(atom.slot >= 0 && (!placed || atom.slot < (atom.place == kMeasure ? kMeasures : n_slots)) &&
                atom.place >= first_place && atom.place <= last_place && (atom.place >= 0 || atom.offset == 0) && atom.offset >= -farthest &&
                atom.offset <= farthest && atom.bits >= 1 && atom.bits <= 63 && atom.fold < plan.n_folds,
            "atom out of range");
    plan.atoms.push_back(atom);
  }
  for (std::size_t i = 0; i < arrays.templates.shape(0); ++i) {
    Template shape{arrays.templates(i, 0), arrays.templates(i, 1), arrays.templates(i, 2)};
    require(shape.first_atom >= 0 && shape.first_atom <= shape.last_atom &&
            static_cast<std::size_t>(shape.last_atom) <= plan.atoms.size() &&
                shape.table >= 0 && shape.table < plan.n_tables,
            "template out of range");
    for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a) {
      if (plan.atoms[a].place != kBetween) continue;
      require(shape.between < 0, "a template can look at most once at the tokens between");
      shape.between = plan.atoms[a].slot;
    }
    require(!placed || static_cast<std::size_t>(shape.table) == i, "there must be one table per template");
    plan.templates.push_back(shape);
  }
  require(!placed || static_cast<std::size_t>(plan.n_tables) == plan.templates.size(), "there must be one table per template");
  return plan;
}

std::vector<FrozenTable> tables_from(const TableArrays& arrays, std::size_t n_tables,
                                     const std::vector<std::int64_t>& limits) {
  const auto& [keys, ids, starts] = arrays;
  require(keys.size() == ids.size() && starts.size() == n_tables + 1 && starts(0) == 0 &&
              starts(n_tables) == static_cast<std::int64_t>(ids.size()),
          "tables have inconsistent sizes");
  std::vector<FrozenTable> tables;
  for (std::size_t k = 0; k < n_tables; ++k) {
    const std::int64_t first = starts(k), size = starts(k + 1) - first;
    require(size >= 1 && size <= std::numeric_limits<std::uint32_t>::max() && first >= 0 && starts(k + 1) <= starts(n_tables),
            "table size out of range");
    const std::int32_t* begin = ids.data() + first;
    const Bounds bounds = bounds_of({begin, static_cast<std::size_t>(size)});
    require(bounds.least >= -1 && (limits.empty() || bounds.greatest < limits[k]), "id out of range in a table");
    // An empty slot ends every search, so there must be one.
    require(bounds.least == -1, "a table has no empty slot");
    tables.push_back({keys.data() + first, begin, static_cast<std::uint64_t>(size)});
  }
  return tables;
}

std::vector<ColumnCodes> columns_from(const Plan& plan, const std::vector<CodedColumn>& arrays, std::size_t n_tokens) {
  std::vector<ColumnCodes> columns;
  for (const auto& [codes, views] : arrays) {
    require(codes.size() == n_tokens, "a column and the corpus have different lengths");
    check_numbers(codes, views.shape(0), "code out of range");
    columns.push_back({codes.data(), views.data(), views.shape(1)});
  }
  for (const auto& [column, view] : plan.slots)
    require(column >= 0 && static_cast<std::size_t>(column) < columns.size() && view >= 0 &&
                static_cast<std::size_t>(view) < columns[static_cast<std::size_t>(column)].n_views,
            "view of a column out of range");
  for (const Atom& atom : plan.atoms) {
    if (atom.place == kMeasure) continue;
    const auto [column, view] = plan.view_of(atom);
    const auto& ids = arrays[static_cast<std::size_t>(column)].view_ids;
    for (std::size_t v = 0; v < ids.shape(0); ++v)
      require(ids(v, static_cast<std::size_t>(view)) < std::int64_t{1} << std::min(atom.bits, 32),
              "view id too large for its key");
  }
  return columns;
}

void PyDictionary::begin() {
  constexpr std::size_t kMostSymbols = std::numeric_limits<std::int32_t>::max();
  require(n_symbols <= kMostSymbols, "too many symbols");
  check_starts(starts, symbols.size());
  check_numbers(symbols, n_symbols, "symbol out of range in an entry");
  require(!folds || folds->size() + 1 == starts.size(), "there must be one fold per entry");
  if (folds) check_numbers(*folds, kMostSymbols, "fold out of range");
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) require(starts(i) < starts(i + 1), "empty entry");
  core = std::make_shared<Dictionary>(n_symbols);
  without_gil([&] {
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      core->add(span(symbols).subspan(static_cast<std::size_t>(starts(i)), static_cast<std::size_t>(starts(i + 1) - starts(i))),
                folds ? (*folds)(i) : Dictionary::kAnyone);
  });
}

RECORD(LabelCounts, starts, labels, counts)

namespace {

Plan plan_of(const GrowingVocabulary& vocabulary, const PlanArrays& arrays) {
  Plan plan = plan_from(arrays);
  require(static_cast<std::size_t>(plan.n_tables) == vocabulary.tables.size() &&
              static_cast<std::size_t>(plan.n_folds) == vocabulary.folds.size(),
          "the plan belongs to another vocabulary");
  return plan;
}

TokenLists extracted(GrowingVocabulary& vocabulary, const PlanArrays& plan_arrays, const std::vector<CodedColumn>& column_arrays,
                     const Longs& starts, std::size_t n_threads) {
  const Plan plan = plan_of(vocabulary, plan_arrays);
  const auto columns = columns_from(plan, column_arrays, check_sentences(starts));
  return without_gil([&] { return extract(vocabulary, plan, columns, starts, n_threads); });
}

std::vector<std::int32_t> add(GrowingVocabulary& vocabulary, const PlanArrays& plan_arrays, std::size_t number,
                              const Array<std::int32_t, 2>& ids) {
  const Plan plan = plan_of(vocabulary, plan_arrays);
  require(number < plan.templates.size() &&
              ids.shape(1) == static_cast<std::size_t>(plan.templates[number].last_atom - plan.templates[number].first_atom),
          "the plan belongs to another vocabulary");
  const Template& shape = plan.templates[number];
  std::vector<std::int32_t> out(ids.shape(0));
  const std::int32_t* next = ids.data();
  const auto id_of = [&](const Atom&) { return *next++; };
  for (std::int32_t& id : out)
    id = vocabulary.tables[shape.table].find_or_add(pack_key(plan, shape, id_of, vocabulary.made_folds()));
  return out;
}

std::vector<std::int32_t> table_sizes(const GrowingVocabulary& vocabulary) {
  std::vector<std::int32_t> sizes;
  for (const GrowingTable& table : vocabulary.tables) sizes.push_back(table.size());
  return sizes;
}

// Keys of each table, sorted by number.
using KeyLists = std::vector<Array<std::uint64_t, 1>>;

std::vector<std::vector<std::int32_t>> merged(GrowingVocabulary& vocabulary, const PlanArrays& plan_arrays, const KeyLists& tables,
                                              const KeyLists& folds) {
  const Plan plan = plan_of(vocabulary, plan_arrays);
  require(tables.size() == vocabulary.tables.size() && folds.size() == vocabulary.folds.size(), "the keys belong to another vocabulary");
  const auto spans = [](const KeyLists& lists) { return std::vector<span<const std::uint64_t>>(lists.begin(), lists.end()); };
  return without_gil([&] { return merge(vocabulary, plan, spans(tables), spans(folds)); });
}

std::pair<FrozenArrays, FrozenArrays> freeze(const GrowingVocabulary& vocabulary, const Ints& rank) {
  require(rank.size() == static_cast<std::size_t>(vocabulary.first_numbers().back()), "rank must have one number per attribute");
  return {freeze_tables(vocabulary.tables, [&](std::int32_t id, std::int32_t base) { return rank(base + id); }),
          freeze_tables(vocabulary.folds)};
}

LabelCounts count_pairs(const ListArrays& lists, const Ints& gold, std::size_t n_attributes) {
  lists_from(lists, n_attributes, gold.size());
  return without_gil([&] { return count_labels(lists.starts, lists.ids, gold, n_attributes); });
}

TokenLists renumbered(const ListArrays& lists, const Ints& rank) {
  lists_from(lists, rank.size(), n_tokens_of(lists));
  return without_gil([&] { return renumber(lists.starts, lists.ids, lists.values, rank); });
}

// ---- dictionaries of multi-token entries

Numpy<std::int32_t> match(const PyDictionary& dictionary, const Ints& symbols, const Longs& starts,
                          const std::optional<Ints>& asks, std::size_t n_threads) {
  const std::size_t n_tokens = check_sentences(starts), n_sentences = starts.size() - 1;
  require(symbols.size() == n_tokens, "there must be one symbol per token");
  check_numbers(symbols, dictionary.core->n_symbols(), "symbol out of range", -1);
  require(!asks || asks->size() == n_sentences, "there must be one fold per sentence");
  if (asks) check_numbers(*asks, std::numeric_limits<std::int32_t>::max(), "fold out of range", Dictionary::kNobody);
  std::vector<std::int32_t> out(Dictionary::kWhere * n_tokens);
  each_item(n_sentences, 64, n_threads, [] { return std::vector<std::int32_t>(); }, [&](auto& values, std::size_t s) {
    const auto begin = static_cast<std::size_t>(starts(s)), n = static_cast<std::size_t>(starts(s + 1)) - begin;
    values.resize(Dictionary::kWhere * n);
    dictionary.core->match(span(symbols).subspan(begin, n), asks ? (*asks)(s) : Dictionary::kAnyone, values.data());
    for (std::size_t w = 0; w < Dictionary::kWhere; ++w)
      std::copy_n(values.data() + w * n, n, out.data() + w * n_tokens + begin);
  });
  return to_numpy(std::move(out), {Dictionary::kWhere, n_tokens});
}

}  // namespace

void bind_features(nb::module_& module) {
  nb::class_<GrowingVocabulary>(module, "GrowingVocabulary", "Attributes numbered while a corpus is extracted.")
      .def("__init__", [](GrowingVocabulary* self, const PlanArrays& plan) {
        new (self) GrowingVocabulary(empty_vocabulary(plan_from(plan)));
      }, "plan"_a)
      .def_prop_ro("n_attributes", guarded(+[](const GrowingVocabulary& self) { return self.first_numbers().back(); }))
      .def_prop_ro("table_sizes", guarded(&table_sizes),
                   "How many attributes each table has; their numbers follow one another.")
      .def("add", guarded(&add), "plan"_a, "template_number"_a, "ids"_a,
           "Attributes of one template by their view ids [n, n_atoms]: their numbers within the table.")
      .def("extract", guarded(&extracted), "plan"_a, "columns"_a, "starts"_a, "n_threads"_a,
           "Number all attributes of a corpus.")
      .def("merge", guarded(&merged), "plan"_a, "tables"_a, "folds"_a,
           "Adds the keys of another vocabulary of that plan, by their numbers; gives their numbers here, table by table.")
      .def("freeze", guarded(&freeze), "rank"_a, "(tables, folds), attributes renumbered.");
  module.def("count_pairs", &count_pairs, "lists"_a, "gold"_a, "n_attributes"_a,
             "Row starts, labels and counts: the labels each attribute was seen with.");
  module.def("renumber", &renumbered, "lists"_a, "rank"_a, "Lists of attributes with new numbers.");
  bind_class<PyDictionary>(module, "Dictionary", "Entries that are runs of tokens.")
      .def("match", &match, "symbols"_a, "starts"_a, "asks"_a.none(), "n_threads"_a,
           "[4, n_tokens] values of each token (core/text/dictionary.hpp); asks, by sentence: its fold, -1 or -2.");
  module.attr("DICTIONARY_MOST") = Dictionary::kMost;
  module.attr("DICTIONARY_SILENT") = Dictionary::kSilent;
  module.def("brown_clusters", [](const Ints& tokens, const Longs& starts, std::size_t n_words, std::size_t n_classes,
         std::size_t n_threads, const nb::typed<nb::callable, void(std::size_t)>& told) {
        require(check_sentences(starts) == tokens.size(), "sentence starts do not match the tokens");
        check_numbers(tokens, n_words, "word out of range");
        require(n_classes > 0 && n_words > 0 && n_words < (std::size_t{1} << 31), "no words or no classes");
        BrownClusters found = without_gil([&] {
          const auto tell = [&](std::size_t done) { with_gil([&] { told(done); }); };
          return brown_clusters(tokens, starts, n_words, n_classes, n_threads, tell);
        });
        return std::pair(std::move(found.class_of), std::move(found.merges));
      },
      "tokens"_a, "starts"_a, "n_words"_a, "n_classes"_a, "n_threads"_a, "told"_a,
      "The class of every word, from the most frequent one on, and the pairs of classes that are merged after.");
}
