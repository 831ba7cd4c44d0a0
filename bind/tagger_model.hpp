// The data that map strings to scores of labels, from Python, validated.
#pragma once
#include "data.hpp"
#include "features.hpp"
#include "tag/decoder.hpp"
#include "text/crfsuite_file.hpp"

// The known values of a column.
struct ColumnArrays {
  StringArrays values;
  Array<std::int32_t, 2> view_ids;                      // [n_values, n_views]
  std::vector<std::optional<StringArrays>> strings;     // [n_views] of each view; none: the values themselves
  std::optional<Ints> set_of;                           // [n_values] the label set of each
  std::vector<std::optional<Calls>> calls;              // [n_views] calls of each; none: not native
  std::vector<std::optional<Array<float, 2>>> vectors;  // [n_views] vectors of each; none: a view of strings
  FIELDS(values, view_ids, strings, set_of, calls, vectors)
};
// A dictionary, and the column and view that it is matched against.
using MatcherArguments = std::tuple<std::shared_ptr<PyDictionary>, std::int32_t, std::int32_t>;
// The matcher of a derived column, and the index of its value.
using DerivedColumn = std::pair<std::int32_t, std::int32_t>;
struct PyCrfsuiteFile {
  nb::bytes data;
  trellis::CrfsuiteFile core;
  explicit PyCrfsuiteFile(const nb::bytes& bytes) : data(bytes), core({bytes.c_str(), bytes.size()}) {}
};
// Free-form attributes.
struct BagArrays {
  std::optional<StringArrays> strings;
  OrNone<PyCrfsuiteFile> file;  // has the strings, if those are none
  Ints attributes;            // [n_strings] with labels, or -1
  std::optional<Ints> pairs;  // [n_strings] with label pairs, or -1
  FIELDS(strings, file, attributes, pairs)
};
// A tag dictionary: sets of labels, that of unknown words first.
struct DictionaryArrays {
  Longs starts;
  Ints labels;
  FIELDS(starts, labels)
};
struct EndingArrays {
  StringArrays strings;  // endings of unknown words
  Ints set_of;           // [n_strings]
  FIELDS(strings, set_of)
};

// Levels of pruning above order 0.
struct LevelArrays {
  Array<float, 2> edge;              // [L + 1, stride] weights of label pairs
  std::shared_ptr<PyNgrams> ngrams;  // longer ones
  Doubles margins;                   // of each level
  FIELDS(edge, ngrams, margins)
};
// The pruning filter: candidates are the labels within a margin of the best, up to a maximum number.
struct FilterArrays {
  RowArrays<std::uint16_t> rows;
  float margin;
  std::size_t most;
  std::optional<LevelArrays> levels;
  FIELDS(rows, margin, most, levels)
};

// The map from strings to attributes, and the tag dictionary: validated when a decoder is created.
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

  // All data with the weights, validated; points into the arrays here.
  trellis::TaggerModel model(const Weights& weights, const std::optional<FilterArrays>& filter) const;

 private:
  void add_templates(trellis::TaggerModel& model, const Weights& weights) const;
  std::size_t add_sets(trellis::TaggerModel& model, std::size_t n_labels) const;
  void check_looks(const trellis::TaggerModel& model) const;
  void add_bag(trellis::TaggerModel& model, const Weights& weights) const;
  void add_matchers(trellis::TaggerModel& model) const;
};
