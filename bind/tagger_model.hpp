// What turns strings into scores of labels, as it comes from Python, checked.
#pragma once
#include "data.hpp"
#include "features.hpp"
#include "tag/decoder.hpp"

// What is known of the values of a column.
struct ColumnArrays {
  StringArrays values;
  Array<std::int32_t, 2> view_ids;                      // [n_values, n_views]
  std::vector<std::optional<StringArrays>> strings;     // [n_views] of each view; none: the values themselves
  std::optional<Ints> set_of;                           // [n_values] the label set of each
  std::vector<std::optional<Calls>> calls;              // [n_views] what each calls; none: native code cannot
  std::vector<std::optional<Array<float, 2>>> vectors;  // [n_views] what each gives; none: it gives strings
  FIELDS(values, view_ids, strings, set_of, calls, vectors)
};
// A dictionary, and the column and the view that it looks at.
using MatcherArguments = std::tuple<std::shared_ptr<PyDictionary>, std::int32_t, std::int32_t>;
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
  StringArrays strings;  // what unknown words end in
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
// The filter that prunes labels: it leaves those within a margin of the best, at most so many.
struct FilterArrays {
  RowArrays<std::uint16_t> rows;
  float margin;
  std::size_t most;
  std::optional<LevelArrays> levels;
  FIELDS(rows, margin, most, levels)
};

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
  trellis::TaggerModel model(const Weights& weights, const std::optional<FilterArrays>& filter) const;

 private:
  void add_templates(trellis::TaggerModel& model, const Weights& weights) const;
  std::size_t add_sets(trellis::TaggerModel& model, std::size_t n_labels) const;
  void check_looks(const trellis::TaggerModel& model) const;
  void add_bag(trellis::TaggerModel& model, const Weights& weights) const;
  void add_matchers(trellis::TaggerModel& model) const;
};
