// The tagger's runtime: walks Python sentences, meets word types, decodes batches.
#include <algorithm>
#include <stdexcept>

#include "attributes.hpp"
#include "data.hpp"
#include "dictionary.hpp"
#include "far.hpp"
#include "features.hpp"
#include "tag/decoder.hpp"
#include "weights.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// What is known of the values of a column.
struct ColumnArrays {
  StringArrays values;
  Array<std::int32_t, 2> view_ids;                      // [n_values, n_views]
  std::vector<std::optional<StringArrays>> strings;     // [n_views] of each view; none: the values themselves
  std::optional<Ints> set_of;         // [n_values] the label set of each
  std::vector<std::optional<Calls>> calls;              // [n_views] what each calls; none: native code cannot
  std::vector<std::optional<Array<float, 2>>> vectors;  // [n_views] what each gives; none: it gives strings
  FIELDS(values, view_ids, strings, set_of, calls, vectors)
};
// A dictionary, and the column and the view that it looks at.
using MatcherArguments = std::tuple<PyDictionary, std::int32_t, std::int32_t>;
// Of a derived column its matcher, and which of the answers it is.
using DerivedColumn = std::pair<std::int32_t, std::int32_t>;
// Free-form attributes.
struct BagArrays {
  StringArrays strings;
  Ints attributes;            // [n_strings] with labels, or -1
  std::optional<Ints> pairs;  // [n_strings] with label pairs, or -1
  FIELDS(strings, attributes, pairs)
};
// A tag dictionary: sets of labels, that of unknown words first.
struct DictionaryArrays {
  Longs starts;
  Ints labels;
  FIELDS(starts, labels)
};
struct EndingArrays {
  StringArrays strings;           // what unknown words end in
  Ints set_of;  // [n_strings]
  FIELDS(strings, set_of)
};

FrozenStrings strings_from(const StringArrays& given) {
  const auto& [data, starts, slots] = given;
  FrozenStrings strings{span(data), span(starts), span(slots)};
  require(strings.valid(), "a damaged table of strings");
  strings.shorten_searches();
  return strings;
}

// Levels of pruning above order 0.
struct LevelArrays {
  Array<float, 2> edge;              // [L + 1, stride] weights of label pairs
  std::shared_ptr<PyNgrams> ngrams;  // longer ones
  Doubles margins;          // of each level
  FIELDS(edge, ngrams, margins)
};
// The filter that prunes labels: it leaves those within a margin of the best, at most so many.
struct FilterArrays {
  RowArrays<std::uint16_t> rows;
  float margin;
  std::size_t most;
  std::optional<LevelArrays> levels;
  FIELDS(rows, margin, most, levels)
};

// With what the model itself forbids.
std::shared_ptr<const FilterLevels> levels_from(const LevelArrays& given, const LabelWeights& labels) {
  const auto& [edge, ngrams, margins] = given;
  const std::size_t L = labels.n_labels, stride = labels.stride;
  require(ngrams && ngrams->ngrams.n_labels() == L && edge.shape(0) == L + 1 && edge.shape(1) == stride && margins.size() > 0,
          "levels of a filter for other labels");
  require(are_scores(edge.data(), L + 1, L, stride), "levels: scores must be finite or minus infinity");
  for (double margin : span(margins)) require(margin >= 0, "a filter must leave a label");
  auto levels = std::make_shared<FilterLevels>(L, ngrams->ngrams.order());
  levels->ngrams = ngrams->ngrams;
  levels->scores = ngrams->double_scores;
  for (std::size_t i = 0; i < edge.size(); ++i)
    levels->edge[i] = std::isinf(labels.edge[i]) ? kForbidden<double> : static_cast<double>(edge.data()[i]);
  for (std::size_t z = 0; labels.end && z < stride; ++z) levels->end.push_back(std::isinf(labels.end[z]) ? kForbidden<double> : 0);
  return levels;
}

// What turns strings into attributes, and the tag dictionary: checked when a decoder is made of it.
struct Features {
  PlanArrays plan;
  std::size_t n_emission, n_pair, n_far;
  TableArrays tables, folds;
  std::vector<ColumnArrays> columns;
  std::optional<BagArrays> bag;
  std::optional<DictionaryArrays> dictionary;
  std::optional<EndingArrays> endings;
  std::vector<MatcherArguments> matchers;
  std::vector<DerivedColumn> derived;
  FIELDS(plan, n_emission, n_pair, n_far, tables, folds, columns, bag, dictionary, endings, matchers, derived)

  // All of it with the weights, checked; points into the arrays here.
  TaggerModel model(const Weights& weights, const std::optional<FilterArrays>& filter) const {
    TaggerModel model;
    static_cast<LinearChain&>(model) = weights;
    model.n_attributes = weights.n_attributes;
    model.local = weights.local;
    add_templates(model, weights);
    const std::size_t n_sets = add_sets(model, weights.labels.n_labels);
    for (const auto& column : columns) model.columns.push_back(column_from(column, 2 * model.plan.reach, n_sets));
    check_looks(model);
    add_matchers(model);
    if (bag) add_bag(model, weights);
    if (filter) add_filter(model, *filter, weights);
    make_read_only(std::tie(tables, folds, columns, bag, dictionary, endings, weights.row_arrays, weights.edge_row_arrays, filter));
    return model;
  }

 private:
  void add_templates(TaggerModel& model, const Weights& weights) const {
    model.plan = plan_from(plan, columns.size());
    model.n_emission = n_emission, model.n_pair = n_pair, model.n_far = n_far;
    const std::size_t n_templates = model.plan.templates.size();
    require(n_emission <= n_templates && n_pair <= n_templates - n_emission && n_far <= n_templates - n_emission - n_pair,
            "more templates of labels than templates");
    const bool has_runs = n_emission + n_pair + n_far < n_templates;
    require(has_runs ? weights.ngrams && !weights.local : !weights.has_runs, "templates and rows of other label runs");
    require(tables.starts.size() == static_cast<std::size_t>(model.plan.n_tables) + 1, "tables that do not fit together");
    std::vector<std::int64_t> limits(model.plan.n_tables, std::numeric_limits<std::int32_t>::max());
    for (std::size_t k = 0; k < n_templates; ++k) {
      std::int64_t& limit = limits[model.plan.templates[k].table];
      limit = std::min<std::int64_t>(limit, k < n_emission ? weights.n_attributes : weights.n_edge_attributes);
    }
    model.vocabulary = {tables_from(tables, model.plan.n_tables, limits), tables_from(folds, model.plan.n_folds)};
  }
  // The tag dictionary and the endings of words that it lacks; gives the number of its sets.
  std::size_t add_sets(TaggerModel& model, std::size_t n_labels) const {
    std::size_t n_sets = 0;
    if (dictionary) {
      const auto& [starts, labels] = *dictionary;
      check_sets(starts, labels, n_labels);
      n_sets = starts.size() - 1;
      require(!columns.empty() && n_sets > 0, "damaged label sets");
      model.sets = {nullptr, starts.data(), labels.data()};
      model.open_set = 0;
    }
    if (endings) {
      model.endings = strings_from(endings->strings);
      require(endings->set_of.size() == model.endings.size(), "sets that do not fit their endings");
      check_numbers(endings->set_of, n_sets, "an ending without a set of labels");
      model.ending_sets = endings->set_of.data();
    }
    return n_sets;
  }
  // That templates look at views that columns have, and at vectors alone.
  void check_looks(const TaggerModel& model) const {
    for (const auto& [column, view] : model.plan.slots)
      require(static_cast<std::size_t>(view) < model.columns[column].views.size(), "an atom without a view");
    for (std::size_t k = 0; k < model.plan.templates.size(); ++k) {
      const Template& shape = model.plan.templates[k];
      for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a) {
        const auto [column, view] = model.plan.view_of(model.plan.atoms[a]);
        require(!model.columns[column].vectors[view].numbers || (k < n_emission && shape.last_atom == shape.first_atom + 1),
                "a vector that does not stand alone");
      }
    }
  }
  void add_bag(TaggerModel& model, const Weights& weights) const {
    const auto& [strings, attributes, pairs] = *bag;
    model.bag = strings_from(strings);
    require(attributes.size() == model.bag.size() && (!pairs || pairs->size() == model.bag.size()),
            "attributes that do not fit their strings");
    check_numbers(attributes, weights.n_attributes, "an attribute out of range", -1);
    model.bag_attributes = attributes.data();
    if (!pairs) return;
    check_numbers(*pairs, weights.n_edge_attributes, "an attribute of label pairs out of range", -1);
    model.bag_pairs = pairs->data();
  }
  static void add_filter(TaggerModel& model, const FilterArrays& filter, const Weights& weights) {
    const auto& [rows, margin, most, levels] = filter;
    require(rows.starts.size() == weights.n_attributes + 1, "a filter of other attributes");
    require(margin >= 0 && most > 0, "a filter must leave a label");
    model.filter = rows_from(rows, weights.labels.n_labels);
    model.rule = {margin, most};
    if (!levels) return;
    model.levels = levels_from(*levels, weights.labels);
    model.margins.assign(levels->margins.data(), levels->margins.data() + levels->margins.size());
  }
  void add_matchers(TaggerModel& model) const {
    require(derived.size() <= model.columns.size(), "more derived columns than columns");
    const std::size_t n_given = model.columns.size() - derived.size();
    for (const auto& [dictionary, column, view] : matchers) {
      require(column >= 0 && static_cast<std::size_t>(column) < n_given && view >= 0 &&
                  static_cast<std::size_t>(view) < model.columns[column].views.size() &&
                  dictionary.core->n_symbols() == model.columns[column].views[view].size(),
              "a dictionary of another column");
      model.matchers.push_back({dictionary.core, column, view});
    }
    for (std::size_t i = 0; i < derived.size(); ++i) {
      const auto [matcher, where] = derived[i];
      require(matcher >= 0 && static_cast<std::size_t>(matcher) < matchers.size() && where >= 0 &&
                  static_cast<std::size_t>(where) < Dictionary::kWhere,
              "no such derived column");
      const FrozenStrings& values = model.columns[n_given + i].values;
      require(values.size() == Dictionary::kValues, "a derived column with other values");
      for (std::int32_t value = 0; value < static_cast<std::int32_t>(values.size()); ++value)
        require(values.lookup(values.at(value)) == value, "a derived column with a value twice");
      model.derived.push_back({matcher, where});
    }
  }
  static ColumnModel column_from(const ColumnArrays& given, std::int32_t first_id, std::size_t n_sets) {
    const auto& [values, view_ids, views, set_of, calls, vectors] = given;
    ColumnModel column;
    column.values = strings_from(values);
    column.view_ids = view_ids.data();
    column.first_id = first_id;
    for (const auto& view : views) column.views.push_back(view ? strings_from(*view) : FrozenStrings{});
    require(vectors.size() == views.size(), "vectors that do not fit their views");
    for (std::size_t j = 0; j < views.size(); ++j) {
      column.vectors.push_back(vectors[j] ? WordVectors{vectors[j]->data(), vectors[j]->shape(1)} : WordVectors{});
      require(!vectors[j] || (views[j] && vectors[j]->shape(0) == column.views[j].size() && vectors[j]->shape(1) > 0),
              "vectors of other words");
    }
    require(view_ids.shape(0) == column.values.size() && view_ids.shape(1) == views.size(),
            "view ids that do not fit their column");
    std::vector<std::uint32_t> n_strings;  // [n_views]
    for (std::size_t j = 0; j < views.size(); ++j)
      n_strings.push_back(static_cast<std::uint32_t>(views[j] ? column.views[j].size() : column.values.size()));
    require(view_ids_fit({view_ids.data(), view_ids.size()}, n_strings, static_cast<std::uint32_t>(first_id)),
            "no such view id");
    if (set_of) {
      require(set_of->size() == column.values.size(), "label sets that do not fit their column");
      check_numbers(*set_of, n_sets, "no such set");
      column.set_of = set_of->data();
    }
    column.native = calls.size() == views.size();
    for (const auto& view : calls) column.native = column.native && view && add_view(column.tree, *view);
    return column;
  }
};

[[noreturn]] void refuse(nb::handle token, const std::string& wanted) {
  throw nb::type_error(("a token is " + kind_of(token) + "; this model reads " + wanted).c_str());
}

Items tokens_of(nb::handle sentence) {
  if (!is_list(sentence.ptr()) && !is_tuple(sentence.ptr()))
    throw nb::type_error(("a sentence must be a list, not " + kind_of(sentence)).c_str());
  return Items(sentence.ptr());
}

struct PyDecoder {
  // What the decoder points into stays alive with it.
  Features features;
  Weights weights;
  std::optional<FilterArrays> filter;
  std::vector<nb::object> labels;  // Python strings handed out again and again
  std::string wanted;
  RecentAttributes recent;  // under the GIL
  Decoder core;

  PyDecoder(Features features_, const Weights& weights_, std::optional<FilterArrays> filter_,
            const nb::typed<nb::list, nb::str>& labels_, std::string wanted_, std::size_t cache_bytes)
      : features(std::move(features_)), weights(weights_), filter(std::move(filter_)), wanted(std::move(wanted_)),
        core(features.model(weights, filter), cache_bytes) {
    for (nb::handle label : labels_) labels.push_back(nb::borrow(label));
    require(labels.size() == weights.labels.n_labels, "one name per label");
  }

  bool has_bag() const { return features.bag.has_value(); }

  // Whoever waits for the lock lets go of the GIL: its holder may need it.
  std::unique_lock<std::mutex> locked() {
    std::unique_lock<std::mutex> lock = core.try_lock();
    if (!lock.owns_lock()) {
      const WithoutGil released;
      lock.lock();
    }
    return lock;
  }

  void add_attribute(Batch& batch, std::int32_t string, float value) const {
    const auto [id, pair] = core.bag_attributes(string);
    if (id >= 0 && value != 0) batch.bag.add(id, value);
    if (pair >= 0 && value != 0) batch.pair_bag.add(pair, value);
  }

  // The fields of a token; a model that reads one column takes the string itself.
  Items fields_of(PyObject* const& token) const {
    if (!has_bag() && core.n_given() == 1 && is_string(token)) return Items::only(token);
    if (!is_list(token) && !is_tuple(token)) refuse(token, wanted);
    const Items fields(token);
    if (fields.size() != core.n_given() + has_bag())
      throw nb::value_error(
          ("a token has " + std::to_string(fields.size()) + " values; this model reads " + wanted).c_str());
    return fields;
  }

  // Sentences as a batch. Attributes are read before the lock is taken, for reading them may run Python code; strings
  // under it, where none runs. Of a model that reads both, sentences are copied first: they must not change between.
  Batch encode_all(std::span<const nb::object> sentences, std::size_t n_threads) {
    Batch bags;
    TokenAttributes attributes(core.bag(), recent);
    for (std::size_t s = 0; has_bag() && s < sentences.size(); ++s) {
      for (std::size_t t = 0; t < tokens_of(sentences[s]).size(); ++t) {  // asked anew: Python code may change the list
        PyObject* const item = tokens_of(sentences[s])[t];
        const nb::object token = nb::borrow(core.n_given() == 0 ? item : fields_of(item)[core.n_given()]);
        each_attribute(token, [&](const AttributeName& name, float value) { attributes.add(name, value); });
        attributes.end_token([&](std::int32_t id, float value) { add_attribute(bags, id, value); });
        bags.bag.end_token(), bags.pair_bag.end_token();
      }
      bags.starts.push_back(static_cast<std::int64_t>(bags.bag.starts.size()) - 1);
    }
    auto lock = locked();
    Batch batch = core.begin();
    batch.bag = std::move(bags.bag);
    batch.pair_bag = std::move(bags.pair_bag);
    if (has_bag() && core.n_given() == 0) batch.starts = std::move(bags.starts), sentences = {};
    for (const nb::object& sentence : sentences) {
      const Items tokens = tokens_of(sentence);
      for (std::size_t t = 0; t < tokens.size() && core.n_given() > 0; ++t) {
        PyObject* const token = tokens[t];
        const Items fields = fields_of(token);
        for (std::size_t c = 0; c < core.n_given(); ++c) {
          PyObject* const field = fields[c];
          if (!is_string(field)) refuse(field, wanted);
          batch.codes[c].push_back(core.type_of(batch, c, utf8(field)));
        }
      }
      batch.starts.push_back(batch.starts.back() + static_cast<std::int64_t>(tokens.size()));
    }
    finish(batch, n_threads);
    return batch;
  }

  nb::object kept(nb::handle sentence) const {
    return has_bag() && core.n_given() > 0 && PyList_Check(sentence.ptr()) ? nb::object(nb::tuple(sentence)) : nb::borrow(sentence);
  }

  // Under the lock. Many new words are worth letting other Python threads run meanwhile.
  void finish(Batch& batch, std::size_t n_threads) {
    constexpr std::size_t kMany = 256;
    if (core.n_new(batch) < kMany) return core.finish(batch, 1);
    const WithoutGil released;
    core.finish(batch, n_threads);
  }

  Batch encode(const nb::list& sentences, std::size_t n_threads) {
    std::vector<nb::object> all;
    for (nb::handle sentence : sentences) all.push_back(kept(sentence));
    return encode_all(all, n_threads);
  }

  // Labels of one sentence; its batch if views of a word must be defined first, or if it has no path.
  std::variant<nb::list, Batch> tag_one(nb::handle sentence) {
    const nb::object one = kept(sentence);
    Batch batch = encode_all({&one, 1}, 1);
    if (!batch.undefined.empty()) return batch;
    const std::size_t n = batch.starts.back();
    std::vector<std::int32_t> path(n);
    if (!core.decode(batch, 1, path.data())) return batch;
    return strings_of(path.data(), n);
  }

  nb::list strings_of(const std::int32_t* path, std::size_t n) const {
    PyObject* out = PyList_New(static_cast<Py_ssize_t>(n));
    if (!out) throw nb::python_error();
    for (std::size_t t = 0; t < n; ++t) set_item(out, t, Py_NewRef(labels[path[t]].ptr()));
    return nb::steal<nb::list>(out);
  }

  struct CorpusColumn {
    Ints codes;
    PackedStrings values;
    FIELDS(codes, values)
  };
  struct CorpusBag {
    Longs starts;
    Ints ids;
    Floats values;
    PackedStrings names;
    FIELDS(starts, ids, values, names)
  };
  Batch encode_corpus(const std::vector<CorpusColumn>& given, const std::optional<CorpusBag>& given_bag,
                      const Longs& starts, std::size_t n_threads) {
    require(given.size() == core.n_given() && given_bag.has_value() == has_bag(), "other columns than the model reads");
    const std::size_t n_tokens = check_sentences(starts);
    const auto checked = [](const Ints& codes, const PackedStrings& strings) {
      const auto& [data, ends] = strings;
      check_strings(data, ends);
      check_numbers(codes, ends.size() - 1, "a code without a value");
      return [text = reinterpret_cast<const char*>(data.data()), ends = ends.data()](std::int32_t code) {
        return std::string_view(text + ends[code], static_cast<std::size_t>(ends[code + 1] - ends[code]));
      };
    };
    auto lock = locked();
    Batch batch = core.begin();
    batch.starts.assign(starts.data(), starts.data() + starts.size());
    for (std::size_t c = 0; c < given.size(); ++c) {
      const auto& [codes, values] = given[c];
      require(codes.size() == n_tokens, "a column of another length than the corpus");
      const auto string_at = checked(codes, values);
      std::vector<std::int32_t> type_of(values.starts.size(), -1);  // each distinct value is looked up once
      batch.codes[c].resize(n_tokens);
      for (std::size_t t = 0; t < n_tokens; ++t) {
        std::int32_t& type = type_of[codes(t)];
        if (type < 0) type = core.type_of(batch, c, string_at(codes(t)));
        batch.codes[c][t] = type;
      }
    }
    if (given_bag) {
      const auto& [first, codes, values, names] = *given_bag;
      require(first.size() == n_tokens + 1 && codes.size() == values.size(), "attributes that do not fit the corpus");
      check_starts(first, codes.size());
      check_finite(values, "a value that is not a finite number");
      const auto string_at = checked(codes, names);
      std::vector<std::int32_t> id_of;  // each distinct name is looked up once
      for (std::size_t c = 0; c + 1 < names.starts.size(); ++c) id_of.push_back(core.bag().lookup(string_at(static_cast<std::int32_t>(c))));
      for (std::size_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t i = first(t); i < first(t + 1); ++i) add_attribute(batch, id_of[static_cast<std::size_t>(codes(i))], values(i));
        batch.bag.end_token(), batch.pair_bag.end_token();
      }
    }
    finish(batch, n_threads);
    return batch;
  }

  // What the views say of the undefined words of a batch, in their order.
  void define(Batch& batch, const nb::list& said) {
    check_own(batch);
    require(said.size() == batch.undefined.size(), "one list of strings per undefined word");
    std::vector<std::vector<std::string>> texts;  // Python's strings could go away while the lock is waited for
    std::vector<std::vector<std::string_view>> views;
    for (std::size_t i = 0; i < batch.undefined.size(); ++i) {
      const auto row = nb::cast<nb::list>(said[i]);
      require(row.size() == (*batch.lexicons)[batch.undefined[i].first]->n_views(), "one string or None per view");
      auto& held = texts.emplace_back();
      held.reserve(row.size());  // views point into it
      auto& seen = views.emplace_back();
      for (nb::handle text : row) {
        if (text.is_none()) seen.emplace_back();
        else seen.push_back(held.emplace_back(utf8(text)));
      }
    }
    auto lock = locked();
    for (std::size_t i = 0; i < views.size(); ++i)
      core.define(batch, batch.undefined[i].first, batch.undefined[i].second, views[i]);
  }

  void check_own(const Batch& batch) const { require(batch.decoder == core.number(), "a batch of another decoder"); }
  void check_defined(const Batch& batch) const {
    check_own(batch);
    for (auto [column, type] : batch.undefined)
      require((*batch.lexicons)[column]->defined(type), "a type whose views were not defined");
  }

  std::optional<std::vector<std::int32_t>> paths(const Batch& batch, std::size_t n_threads) const {
    check_defined(batch);
    std::vector<std::int32_t> out(batch.starts.back());
    const WithoutGil released;
    if (!core.decode(batch, n_threads, out.data())) return std::nullopt;
    return out;
  }

  std::optional<nb::list> label_lists(const Batch& batch, std::size_t n_threads) const {
    const auto all = paths(batch, n_threads);
    if (!all) return std::nullopt;
    nb::list out;
    for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s)
      out.append(strings_of(all->data() + batch.starts[s], batch.starts[s + 1] - batch.starts[s]));
    return out;
  }

  using TokenNgramsOut = TokenNgramsOf<Out, float>;
  std::tuple<Numpy<float>, std::optional<Numpy<float>>, std::optional<TokenNgramsOut>> potentials(
      const Batch& batch, bool open, std::size_t n_threads) const {
    check_defined(batch);
    const std::size_t n = batch.starts.back(), rows = core.labels().n_labels + 1, stride = core.labels().stride;
    std::vector<float> emit(n * stride), edges(core.edges_by_token() ? n * rows * stride : 0);
    TokenNgrams<float> ngrams;
    without_gil([&] {
      core.potentials(batch, open, n_threads, emit.data(), core.edges_by_token() ? edges.data() : nullptr, ngrams);
    });
    if (!are_scores(emit.data(), n, rows - 1, stride) || !are_scores(edges.data(), edges.size() / stride, rows - 1, stride) ||
        !are_scores(ngrams.scores.data(), 1, ngrams.scores.size(), 0))
      throw std::overflow_error("the weights of the model give scores that are not finite; train it again");
    std::optional<Numpy<float>> edge_array;
    if (core.edges_by_token()) edge_array = to_numpy(std::move(edges), {n, rows, stride});
    std::optional<TokenNgramsOut> token_ngrams;
    if (core.ngrams_by_token())
      token_ngrams = {{ngrams.starts.begin(), ngrams.starts.end()}, std::move(ngrams.nodes), std::move(ngrams.scores)};
    return {to_numpy(std::move(emit), {n, stride}), edge_array, token_ngrams};
  }
};

}  // namespace

void bind_decoder(nb::module_& module) {
  nb::class_<Batch>(module, "Batch", "Sentences as codes of word types.")
      .def_prop_ro("starts", [](const Batch& batch) { return to_numpy(batch.starts); }, nb::rv_policy::move)
      .def_prop_ro("same_words", [](const Batch& batch) {
        return to_numpy(batch.codes.empty() ? std::vector<std::int32_t>(static_cast<std::size_t>(batch.starts.back()), -1)
                                            : same_words(batch.codes[0], batch.starts));
      }, nb::rv_policy::move, "The last token before each with the same string in the first column, or -1.")
      .def_prop_ro("undefined", [](const Batch& batch) {
        std::vector<std::pair<std::int32_t, std::string>> out;
        for (auto [column, type] : batch.undefined)
          out.emplace_back(column, std::string((*batch.lexicons)[column]->name(type)));
        return out;
      }, "(column, string) of words whose views must be defined before decoding.");
  nb::class_<PyDecoder>(module, "Decoder", "A model ready to tag.")
      .def(nb::init<Features, const Weights&, std::optional<FilterArrays>, nb::typed<nb::list, nb::str>, std::string, std::size_t>(),
           "features"_a, "weights"_a, "filter"_a.none(), nb::kw_only(), "labels"_a, "wanted"_a, "cache_bytes"_a)
      .def("tag_one", &PyDecoder::tag_one, "sentence"_a.none(), nb::sig("def tag_one(self, sentence: object) -> list[str] | Batch"),
           "The labels of one sentence; its batch if it has words whose views must be defined first, or no path.")
      .def("encode", &PyDecoder::encode, "sentences"_a, "n_threads"_a,
           nb::sig("def encode(self, sentences: list[object], n_threads: int) -> Batch"))
      .def("encode_corpus", &PyDecoder::encode_corpus, "columns"_array, "bag"_array.none(), "starts"_array, "n_threads"_a)
      .def("define", &PyDecoder::define, "batch"_a, "said"_a,
           nb::sig("def define(self, batch: Batch, said: list[list[str | None]]) -> None"),
           "What the views say of each word of batch.undefined: strings, or None.")
      .def("decode", [](const PyDecoder& self, const Batch& batch, std::size_t n_threads) {
        auto paths = self.paths(batch, n_threads);
        return paths ? std::optional(to_numpy(std::move(*paths))) : std::nullopt;
      }, "batch"_a, "n_threads"_a, "The best path of every sentence, one label per token; None if a sentence has none.")
      .def("labels", &PyDecoder::label_lists, "batch"_a, "n_threads"_a,
           nb::sig("def labels(self, batch: Batch, n_threads: int) -> list[list[str]] | None"),
           "The best path of every sentence as lists of strings; None if a sentence has none.")
      .def("potentials", &PyDecoder::potentials, "batch"_a, "open"_a, "n_threads"_a,
           "(emit [n_tokens, stride], edge [n_tokens, n_labels + 1, stride] or None, what n-grams have at single tokens or\n"
           "None). open: a local model normalises over all labels, not over those of the tag dictionary.")
      .def("attribute_lists", [](const PyDecoder& self, const Batch& batch, bool on_edge) {
        self.check_defined(batch);
        TokenLists lists = self.core.attribute_lists(batch, on_edge);
        return ListsOut{std::move(lists.starts), std::move(lists.ids), std::move(lists.values)};
      }, "batch"_a, "on_edge"_a, "What stands at each token, as Encoded takes it.")
      .def("set_of", [](const PyDecoder& self, const Batch& batch) {
        self.check_defined(batch);
        std::vector<std::int32_t> out(batch.starts.back());
        for (std::size_t t = 0; t < out.size(); ++t) out[t] = self.core.set_of(batch, t);
        return to_numpy(std::move(out));
      }, "batch"_a, "The label set of every token by the tag dictionary, -1 without one.")
      .def("candidates", [](const PyDecoder& self, const Batch& batch, std::size_t n_threads) {
        self.check_defined(batch);
        require(self.core.has_filter(), "a model without a filter");
        TokenSets out;
        without_gil([&] { out = self.core.candidates(batch, n_threads); });
        return sets_out(std::move(out));
      }, "batch"_a, "n_threads"_a, "The labels that the filter leaves each token.");
}
