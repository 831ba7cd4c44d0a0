// The tagger's runtime: walks Python sentences, meets word types, decodes batches.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "tag/decoder.hpp"
#include "checks.hpp"
#include "features.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// data, starts, slots
using StringArrays = std::tuple<Array<std::uint8_t, 1>, Array<std::int64_t, 1>, Array<std::int32_t, 1>>;
// values, view ids [n_values, n_views], strings of each view (none for the value itself), label set of each value, what
// each view calls (none where native code cannot)
using ColumnArrays = std::tuple<StringArrays, Array<std::int32_t, 2>, std::vector<std::optional<StringArrays>>,
                                std::optional<Array<std::int32_t, 1>>, std::vector<std::optional<Calls>>>;
using BagArrays = std::pair<StringArrays, Array<std::int32_t, 1>>;
// set starts, set labels, the set of unknown words
using DictionaryArrays = std::tuple<Array<std::int64_t, 1>, Array<std::int32_t, 1>, std::int32_t>;

FrozenStrings strings_from(const StringArrays& given) {
  const auto& [data, starts, slots] = given;
  FrozenStrings strings{{data.data(), data.size()}, {starts.data(), starts.size()}, {slots.data(), slots.size()}};
  if (!strings.valid()) throw nb::value_error("a damaged table of strings");
  return strings;
}

ColumnModel column_from(const ColumnArrays& given, const Plan& plan, std::size_t n_sets) {
  const auto& [values, view_ids, views, set_of, calls] = given;
  ColumnModel column;
  column.values = strings_from(values);
  column.view_ids = view_ids.data();
  column.first_id = 2 * plan.reach;
  for (const auto& view : views) column.views.push_back(view ? strings_from(*view) : FrozenStrings{});
  if (view_ids.shape(0) != column.values.size() || view_ids.shape(1) != views.size())
    throw nb::value_error("view ids that do not fit their column");
  std::vector<std::uint32_t> n_strings;  // [n_views]
  for (std::size_t j = 0; j < views.size(); ++j)
    n_strings.push_back(static_cast<std::uint32_t>(views[j] ? column.views[j].size() : column.values.size()));
  if (!view_ids_fit({view_ids.data(), view_ids.size()}, n_strings, static_cast<std::uint32_t>(column.first_id)))
    throw nb::value_error("no such view id");
  if (set_of) {
    if (set_of->size() != column.values.size()) throw nb::value_error("label sets that do not fit their column");
    check_numbers(*set_of, n_sets, "no such set");
    column.set_of = set_of->data();
  }
  column.native = calls.size() == views.size();
  for (const auto& view : calls) column.native = column.native && view && add_view(column.tree, *view);
  return column;
}

std::string_view utf8(nb::handle text) {
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!data) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

[[noreturn]] void refuse(nb::handle token, const char* wanted) {
  throw nb::type_error(
      (std::string("a token is ") + Py_TYPE(token.ptr())->tp_name + "; this model reads " + wanted).c_str());
}

// The items of a list or tuple without a copy.
std::pair<PyObject**, std::size_t> items_of(nb::handle sequence, const char* what) {
  if (!PyList_Check(sequence.ptr()) && !PyTuple_Check(sequence.ptr()))
    throw nb::type_error((std::string(what) + " must be a list, not " + Py_TYPE(sequence.ptr())->tp_name).c_str());
  return {PySequence_Fast_ITEMS(sequence.ptr()), static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()))};
}

struct PyDecoder {
  // What the decoder points into stays alive with it.
  std::vector<ColumnArrays> columns;
  std::optional<BagArrays> bag;
  TableArrays tables, folds;
  RowArrays<std::uint16_t> rows;
  std::optional<RowArrays<std::uint32_t>> edge_rows;
  Array<float, 2> edge;
  std::optional<Array<float, 3>> tri;
  std::optional<Array<float, 2>> end;
  std::optional<DictionaryArrays> sets;
  nb::list labels;  // Python strings handed out again and again
  std::string wanted;
  std::unique_ptr<Decoder> core;

  PyDecoder(const PlanArrays& plan_arrays, std::size_t n_emission, TableArrays tables_, TableArrays folds_,
            std::vector<ColumnArrays> columns_, std::optional<BagArrays> bag_, RowArrays<std::uint16_t> rows_,
            std::optional<RowArrays<std::uint32_t>> edge_rows_, Array<float, 2> edge_,
            std::optional<Array<float, 3>> tri_, std::optional<Array<float, 2>> end_, std::optional<DictionaryArrays> sets_, nb::typed<nb::list, nb::str> labels_,
            std::string wanted_, std::size_t cache_bytes, bool local)
      : columns(std::move(columns_)), bag(std::move(bag_)), tables(std::move(tables_)), folds(std::move(folds_)),
        rows(std::move(rows_)), edge_rows(std::move(edge_rows_)), edge(std::move(edge_)), tri(std::move(tri_)), end(std::move(end_)),
        sets(std::move(sets_)), labels(std::move(labels_)), wanted(std::move(wanted_)) {
    Plan plan = plan_from(plan_arrays, columns.size());
    const LabelWeights weights = label_weights_from(edge, tri, end);
    const auto n_attributes = static_cast<std::int64_t>(std::get<0>(rows).size() - 1);
    const auto n_edge_attributes = edge_rows ? static_cast<std::int64_t>(std::get<0>(*edge_rows).size() - 1) : 0;
    if (n_emission > plan.templates.size() || labels.size() != weights.n_labels)
      throw nb::value_error("parts of a model that do not fit together");
    std::vector<std::int64_t> limits(plan.n_tables, std::numeric_limits<std::int32_t>::max());
    for (std::size_t k = 0; k < plan.templates.size(); ++k) {
      std::int64_t& limit = limits[plan.templates[k].table];
      limit = std::min(limit, k < n_emission ? n_attributes : n_edge_attributes);
    }
    FrozenVocabulary vocabulary{tables_from(tables, plan.n_tables, limits), tables_from(folds, plan.n_folds)};
    LabelSets label_sets{};
    std::int32_t open_set = -1;
    std::size_t n_sets = 0;
    if (sets) {
      const auto& [starts, set_labels, open] = *sets;
      n_sets = starts.size() - 1;
      check_sets(starts, set_labels, weights.n_labels);
      require(!columns.empty() && open >= 0 && static_cast<std::size_t>(open) < n_sets, "damaged label sets");
      label_sets = {nullptr, starts.data(), set_labels.data()};
      open_set = open;
    }
    std::vector<ColumnModel> column_models;
    for (const auto& column : columns) column_models.push_back(column_from(column, plan, n_sets));
    for (const Atom& atom : plan.atoms)
      if (static_cast<std::size_t>(atom.view) >= column_models[atom.column].views.size())
        throw nb::index_error("an atom without a view");
    FrozenStrings bag_strings;
    if (bag) {
      bag_strings = strings_from(bag->first);
      if (bag->second.size() != bag_strings.size()) throw nb::value_error("attributes that do not fit their strings");
      check_numbers(bag->second, static_cast<std::size_t>(n_attributes), "an attribute out of range", -1);
    }
    core = std::make_unique<Decoder>(std::move(plan), n_emission, std::move(vocabulary), std::move(column_models),
                                     bag_strings, bag ? bag->second.data() : nullptr, rows_from(rows, weights.n_labels),
                                     static_cast<std::size_t>(n_attributes),
                                     edge_rows ? rows_from(*edge_rows, (weights.n_labels + 1) * weights.stride)
                                               : Rows<std::uint32_t>{},
                                     weights, label_sets, open_set, cache_bytes, local);
  }

  // Whoever waits for the lock lets go of the GIL: its holder may need it, for the __float__ of an attribute's value.
  std::unique_lock<std::mutex> locked() const {
    std::unique_lock<std::mutex> lock = core->try_lock();
    if (!lock.owns_lock()) {
      nb::gil_scoped_release release;
      lock.lock();
    }
    return lock;
  }

  void add_attribute(Batch& batch, std::string_view name, double value) const {
    if (!std::isfinite(static_cast<float>(value))) throw nb::value_error("the value of an attribute must be a finite number");
    const std::int32_t id = core->bag_attribute(name);
    if (id >= 0 && value != 0) batch.bag_ids.push_back(id), batch.bag_values.push_back(static_cast<float>(value));
  }

  // A dict of name to value (string, boolean, number), or a list of strings.
  void add_bag(Batch& batch, nb::handle token) const {
    if (PyDict_Check(token.ptr())) {
      PyObject *key, *value;
      Py_ssize_t at = 0;
      while (PyDict_Next(token.ptr(), &at, &key, &value)) {
        if (!PyUnicode_Check(key)) refuse(key, "attributes named by strings");
        if (PyUnicode_Check(value)) {
          const std::string name = std::string(utf8(key)) + ":" + std::string(utf8(value));
          add_attribute(batch, name, 1);
        } else {
          const double number = PyFloat_AsDouble(value);
          if (number == -1 && PyErr_Occurred()) throw nb::python_error();
          add_attribute(batch, utf8(key), number);
        }
      }
    } else {
      auto [items, n] = items_of(token, "the attributes of a token");
      for (std::size_t i = 0; i < n; ++i) {
        if (!PyUnicode_Check(items[i])) refuse(items[i], "attributes that are strings");
        add_attribute(batch, utf8(items[i]), 1);
      }
    }
    batch.bag_starts.push_back(static_cast<std::int64_t>(batch.bag_ids.size()));
  }

  void add_sentence(Batch& batch, nb::handle sentence) const {
    auto [tokens, n] = items_of(sentence, "a sentence");
    const std::size_t n_columns = core->n_columns();
    for (std::size_t t = 0; t < n; ++t) {
      if (bag && n_columns == 0) {
        add_bag(batch, tokens[t]);
      } else if (!bag && n_columns == 1 && PyUnicode_Check(tokens[t])) {
        batch.codes[0].push_back(core->type_of(batch, 0, utf8(tokens[t])));
      } else {
        if (!PyList_Check(tokens[t]) && !PyTuple_Check(tokens[t])) refuse(tokens[t], wanted.c_str());
        auto [fields, n_fields] = items_of(tokens[t], "a token");
        if (n_fields != n_columns + bag.has_value())
          throw nb::value_error(("a token has " + std::to_string(n_fields) + " values; this model reads " + wanted).c_str());
        for (std::size_t c = 0; c < n_columns; ++c) {
          if (!PyUnicode_Check(fields[c])) refuse(fields[c], wanted.c_str());
          batch.codes[c].push_back(core->type_of(batch, c, utf8(fields[c])));
        }
        if (bag) add_bag(batch, fields[n_columns]);
      }
    }
    batch.starts.push_back(batch.starts.back() + static_cast<std::int64_t>(n));
  }

  // Under the lock. Many new words are worth letting other Python threads run meanwhile.
  void finish(Batch& batch, std::size_t n_threads) const {
    constexpr std::size_t kMany = 256;
    if (core->n_new(batch) < kMany) return core->finish(batch, 1);
    nb::gil_scoped_release release;
    core->finish(batch, n_threads);
  }

  Batch encode(nb::list sentences, std::size_t n_threads) {
    auto lock = locked();
    Batch batch = core->begin();
    for (nb::handle sentence : sentences) add_sentence(batch, sentence);
    finish(batch, n_threads);
    return batch;
  }

  // Labels of one sentence, or None if a word's views must be computed first.
  nb::object tag_one(nb::handle sentence) {
    Batch batch;
    {
      auto lock = locked();
      batch = core->begin();
      add_sentence(batch, sentence);
      finish(batch, 1);
    }
    if (!batch.undefined.empty()) return nb::none();
    const std::size_t n = batch.starts.back();
    std::vector<std::int32_t> path(n);
    core->decode(batch, 1, path.data());
    return strings_of(path.data(), n);
  }

  nb::list strings_of(const std::int32_t* path, std::size_t n) const {
    PyObject* out = PyList_New(static_cast<Py_ssize_t>(n));
    if (!out) throw nb::python_error();
    for (std::size_t t = 0; t < n; ++t)
      PyList_SET_ITEM(out, t, Py_NewRef(PyList_GET_ITEM(labels.ptr(), path[t])));
    return nb::steal<nb::list>(out);
  }

  // Columns of a corpus: (codes, data, starts) each; and its bag (starts, codes, weights, data, starts).
  using CorpusColumn = std::tuple<Array<std::int32_t, 1>, Array<std::uint8_t, 1>, Array<std::int64_t, 1>>;
  using CorpusBag = std::tuple<Array<std::int64_t, 1>, Array<std::int32_t, 1>, Array<float, 1>, Array<std::uint8_t, 1>,
                               Array<std::int64_t, 1>>;
  Batch encode_corpus(const std::vector<CorpusColumn>& given, const std::optional<CorpusBag>& given_bag,
                      const Array<std::int64_t, 1>& starts, std::size_t n_threads) {
    if (given.size() != core->n_columns() || given_bag.has_value() != bag.has_value() || starts.size() == 0)
      throw nb::value_error("other columns than the model reads");
    auto lock = locked();
    Batch batch = core->begin();
    batch.starts.assign(starts.data(), starts.data() + starts.size());
    const std::size_t n_tokens = batch.starts.back();
    for (std::size_t i = 1; i < batch.starts.size(); ++i)
      if (batch.starts[i] < batch.starts[i - 1]) throw nb::value_error("starts must not fall");
    auto string_at = [](const Array<std::uint8_t, 1>& data, const Array<std::int64_t, 1>& ends, std::int32_t v) {
      if (v < 0 || static_cast<std::size_t>(v) + 1 >= ends.size() || ends(v) < 0 || ends(v + 1) < ends(v) ||
          ends(v + 1) > static_cast<std::int64_t>(data.size()))
        throw nb::index_error("a code without a value");
      return std::string_view(reinterpret_cast<const char*>(data.data()) + ends(v), ends(v + 1) - ends(v));
    };
    for (std::size_t c = 0; c < given.size(); ++c) {
      const auto& [codes, data, ends] = given[c];
      if (codes.size() != n_tokens) throw nb::value_error("a column of another length than the corpus");
      std::vector<std::int32_t> type_of(ends.size(), -1);  // each distinct value is looked up once
      batch.codes[c].resize(n_tokens);
      for (std::size_t t = 0; t < n_tokens; ++t) {
        const std::string_view name = string_at(data, ends, codes(t));
        if (type_of[codes(t)] < 0) type_of[codes(t)] = core->type_of(batch, c, name);
        batch.codes[c][t] = type_of[codes(t)];
      }
    }
    if (given_bag) {
      const auto& [first, codes, weights, data, ends] = *given_bag;
      if (first.size() != n_tokens + 1 || codes.size() != weights.size() || first(0) != 0 ||
          first(n_tokens) != static_cast<std::int64_t>(codes.size()))
        throw nb::value_error("attributes that do not fit the corpus");
      for (std::size_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t i = first(t); i < first(t + 1); ++i) add_attribute(batch, string_at(data, ends, codes(i)), weights(i));
        batch.bag_starts.push_back(static_cast<std::int64_t>(batch.bag_ids.size()));
      }
    }
    finish(batch, n_threads);
    return batch;
  }

  void define(Batch& batch, std::int32_t column, std::int32_t type, const nb::list& strings) {
    std::vector<std::string_view> views;
    for (nb::handle text : strings) views.push_back(text.is_none() ? std::string_view{} : utf8(text));
    auto lock = locked();
    if (column < 0 || static_cast<std::size_t>(column) >= core->n_columns()) throw nb::index_error("no such column");
    const Lexicon& lexicon = *(*batch.lexicons)[column];
    if (type < 0 || type >= lexicon.size() || views.size() != lexicon.n_views()) throw nb::index_error("no such type");
    core->define(batch, column, type, views);
  }

  void check_defined(const Batch& batch) const {
    for (auto [column, type] : batch.undefined)
      if (!(*batch.lexicons)[column]->defined(type)) throw nb::value_error("a type whose views were not defined");
  }

  std::vector<std::int32_t> paths(const Batch& batch, std::size_t n_threads) const {
    check_defined(batch);
    std::vector<std::int32_t> out(batch.starts.back());
    nb::gil_scoped_release release;
    core->decode(batch, n_threads, out.data());
    return out;
  }

  nb::list label_lists(const Batch& batch, std::size_t n_threads) const {
    const std::vector<std::int32_t> all = paths(batch, n_threads);
    nb::list out;
    for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s)
      out.append(strings_of(all.data() + batch.starts[s], batch.starts[s + 1] - batch.starts[s]));
    return out;
  }

  std::pair<Numpy<float>, std::optional<Numpy<float>>> potentials(const Batch& batch, std::size_t n_threads) const {
    check_defined(batch);
    const std::size_t n = batch.starts.back(), L = core->n_labels();
    std::vector<float> emit(n * L), edges(core->edges_by_token() ? n * (L + 1) * L : 0);
    {
      nb::gil_scoped_release release;
      core->potentials(batch, n_threads, emit.data(), core->edges_by_token() ? edges.data() : nullptr);
    }
    std::optional<Numpy<float>> edge_array;
    if (core->edges_by_token()) edge_array = to_numpy(std::move(edges), {n, L + 1, L});
    return {to_numpy(std::move(emit), {n, L}), edge_array};
  }
};

}  // namespace

void bind_decoder(nb::module_& module) {
  nb::class_<Batch>(module, "Batch", "Sentences as codes of word types.")
      .def_prop_ro("starts", [](const Batch& batch) { return to_numpy(batch.starts); }, nb::rv_policy::move)
      .def_prop_ro("undefined", [](const Batch& batch) {
        std::vector<std::tuple<std::int32_t, std::int32_t, std::string>> out;
        for (auto [column, type] : batch.undefined)
          out.emplace_back(column, type, std::string((*batch.lexicons)[column]->name(type)));
        return out;
      }, "(column, type, string) of words whose views must be defined before decoding.");
  nb::class_<PyDecoder>(module, "Decoder", "A model ready to tag.")
      .def(nb::init<const PlanArrays&, std::size_t, TableArrays, TableArrays, std::vector<ColumnArrays>,
                    std::optional<BagArrays>, RowArrays<std::uint16_t>, std::optional<RowArrays<std::uint32_t>>,
                    Array<float, 2>, std::optional<Array<float, 3>>, std::optional<Array<float, 2>>, std::optional<DictionaryArrays>,
                    nb::typed<nb::list, nb::str>,
                    std::string, std::size_t, bool>(),
           "plan"_array, "n_emission"_a, "tables"_array, "folds"_array, "columns"_array, "bag"_array.none(), "rows"_array, "edge_rows"_array.none(),
           "edge"_array, "tri"_array.none(), "end"_array.none(), "sets"_array.none(), "labels"_array, "wanted"_a, "cache_bytes"_a,
           "local"_a = false)
      .def("tag_one", &PyDecoder::tag_one, "sentence"_a.none(), nb::sig("def tag_one(self, sentence: object) -> list[str] | None"),
           "The labels of one sentence, or None if it has words whose views must be defined first.")
      .def("encode", &PyDecoder::encode, "sentences"_a, "n_threads"_a,
           nb::sig("def encode(self, sentences: list[object], n_threads: int) -> Batch"))
      .def("encode_corpus", &PyDecoder::encode_corpus, "columns"_array, "bag"_array.none(), "starts"_array, "n_threads"_a)
      .def("define", &PyDecoder::define, "batch"_a, "column"_a, "type"_a, "strings"_a,
           nb::sig("def define(self, batch: Batch, column: int, type: int, strings: list[str | None]) -> None"),
           "What each view says of a word: a string, or None.")
      .def("decode", [](const PyDecoder& self, const Batch& batch, std::size_t n_threads) {
        return to_numpy(self.paths(batch, n_threads));
      }, "batch"_a, "n_threads"_a, "The best path of every sentence, one label a token.")
      .def("labels", &PyDecoder::label_lists, "batch"_a, "n_threads"_a,
           nb::sig("def labels(self, batch: Batch, n_threads: int) -> list[list[str]]"),
           "The best path of every sentence as lists of strings.")
      .def("potentials", &PyDecoder::potentials, "batch"_a, "n_threads"_a,
           "(emit [n_tokens, n_labels], edge [n_tokens, n_labels + 1, n_labels] or None).")
      .def("attribute_lists", [](const PyDecoder& self, const Batch& batch, bool on_edge) {
        self.check_defined(batch);
        Decoder::Lists lists = self.core->attribute_lists(batch, on_edge);
        return std::make_tuple(to_numpy(std::move(lists.starts)), to_numpy(std::move(lists.ids)),
                               to_numpy(std::move(lists.values)));
      }, "batch"_a, "on_edge"_a, "What stands at each token: (starts, attributes, values), as Encoded takes them.")
      .def("set_of", [](const PyDecoder& self, const Batch& batch) {
        self.check_defined(batch);
        std::vector<std::int32_t> out(batch.starts.back());
        for (std::size_t t = 0; t < out.size(); ++t) out[t] = self.core->set_of(batch, t);
        return to_numpy(std::move(out));
      }, "batch"_a, "The label set of every token by the tag dictionary, -1 without one.");
}
