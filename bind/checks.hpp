// Validation of Python arguments, one place for each kind. Kernels rely on it: validated data never leads
// them out of bounds; data kept beyond a call is made read-only too, so that it stays valid.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "record.hpp"
#include "text/bounds.hpp"
#include "text/lists.hpp"
#include "weights/potentials.hpp"

// A lattice over the label sets of tokens: offsets of each set's nodes, their labels, offsets of their arcs, and the
// node of the previous token that each arc comes from.
struct LatticeArrays {
  Longs starts, in_starts;
  Ints labels, before;
  FIELDS(starts, labels, in_starts, before)
};
struct SetArrays {
  Ints set_of, labels;  // [n_tokens], labels of sets
  Longs starts;         // [n_sets + 1]
  std::optional<LatticeArrays> lattice;
  FIELDS(set_of, starts, labels, lattice)
};
struct ListArrays {
  Longs starts;  // [n_tokens + 1]
  Ints ids;
  Floats values;  // empty: all one
  FIELDS(starts, ids, values)
};
template <template <class> class Hold, class Label>
struct RowsOf {
  Hold<std::uint32_t> starts;  // [n_attributes + 1]
  Hold<Label> labels;          // [n_slots]
  Hold<float> weights;         // [n_slots]
  FIELDS(starts, labels, weights)
};
RECORD(trellis::TokenLists, starts, ids, values)
template <class Label>
using RowArrays = RowsOf<In, Label>;
using RowsOut = RowsOf<Out, std::uint32_t>;

inline void require(bool ok, const char* why) {
  if (!ok) throw nb::value_error(why);
}

using std::span;

// Looks up a value by name.
template <class Value>
Value named(const std::string& name, std::initializer_list<std::pair<const char*, Value>> values, const char* why) {
  for (const auto& [known, value] : values)
    if (name == known) return value;
  throw nb::value_error(why);
}

// Runs of n_items items: run i is items starts[i] .. starts[i + 1].
template <class Starts>
void check_starts(const Starts& starts, std::size_t n_items) {
  require(std::size(starts) > 0 && starts.data()[0] == 0 && trellis::ascending(span(starts)) &&
              static_cast<std::size_t>(span(starts).back()) == n_items,
          "starts must begin with 0, never fall and end with the number of items");
}

// Offsets of sentences; returns the number of tokens.
inline std::size_t check_sentences(const Longs& starts) {
  const auto n_tokens = starts.size() ? static_cast<std::size_t>(starts(starts.size() - 1)) : 0;
  check_starts(starts, n_tokens);
  return n_tokens;
}

// Numbers from `least` to below n.
inline void check_numbers(span<const std::int32_t> numbers, std::size_t n, const char* why, std::int32_t least = 0) {
  const trellis::Bounds found = trellis::bounds_of(numbers);
  require(numbers.empty() || (found.least >= least && found.greatest < static_cast<std::int64_t>(n)), why);
}

template <class Values>
void check_finite(const Values& values, const char* why) {
  bool ok = true;
  for (const auto value : values) ok &= std::isfinite(value);
  require(ok, why);
}

// Whether n rows of L scores, `step` apart, are finite or minus infinity (forbidden).
template <class Real>
bool are_scores(const Real* rows, std::size_t n, std::size_t L, std::size_t step) {
  bool ok = true;
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t z = 0; z < L; ++z) ok &= rows[r * step + z] < std::numeric_limits<Real>::infinity();  // NaN: false
  return ok;
}

inline void check_order(span<const std::int64_t> order, std::size_t n_sentences) {
  for (std::int64_t s : order) require(s >= 0 && static_cast<std::size_t>(s) < n_sentences, "order: sentence out of range");
}

// One label per token, -1 only if partial labels list its possible labels.
inline void check_gold(const Ints& gold, std::size_t n_tokens, std::size_t n_labels, bool partial = false) {
  require(gold.size() == n_tokens, "gold must have one label per token");
  check_numbers(gold, n_labels, "gold: label out of range", partial ? -1 : 0);
}
inline void check_weights(const std::optional<Doubles>& weights, std::size_t n_sentences) {
  require(!weights || weights->size() == n_sentences, "there must be one weight per sentence");
}

// Nonempty sets of labels, each ascending.
inline void check_sets(const Longs& starts, const Ints& labels, std::size_t n_labels) {
  check_starts(starts, labels.size());
  check_numbers(labels, n_labels, "allowed: label out of range");
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    require(starts(s) < starts(s + 1), "allowed: every token needs at least one label");
    for (std::int64_t i = starts(s) + 1; i < starts(s + 1); ++i)
      require(labels(i - 1) < labels(i), "allowed: the labels of a set must be in ascending order");
  }
}
// Arcs come from nodes of the previous token, if it has any; the first token of a sentence has NULL before it.
inline trellis::Lattice lattice_from(const LatticeArrays& arrays, const Ints& set_of, std::size_t n_sets,
                                     std::size_t n_labels, const Longs& sentences) {
  const auto& [starts, in_starts, labels, from] = arrays;
  require(starts.size() == n_sets + 1 && in_starts.size() == labels.size() + 1, "the lattice does not match its sets");
  check_starts(starts, labels.size());
  check_starts(in_starts, from.size());
  check_numbers(labels, n_labels, "label out of range in a lattice");
  for (std::size_t s = 0; s + 1 < sentences.size(); ++s) {
    std::int64_t n_before = 1;
    for (std::int64_t t = sentences(s); t < sentences(s + 1); ++t) {
      const std::int64_t first = starts(set_of(t)), last = starts(set_of(t) + 1);
      for (std::int64_t arc = in_starts(first); n_before && arc < in_starts(last); ++arc)
        require(from(arc) >= 0 && from(arc) < n_before, "an arc of a lattice has no source");
      n_before = last - first;
    }
  }
  return {starts.data(), labels.data(), in_starts.data(), from.data()};
}
// `sentences` if lattices are supported.
inline trellis::LabelSets sets_from(const SetArrays& arrays, std::size_t n_labels, std::size_t n_tokens,
                                    const Longs* sentences = nullptr) {
  const auto& [set_of, labels, starts, lattice] = arrays;
  require(set_of.size() == n_tokens, "allowed must have one set of labels per token");
  check_sets(starts, labels, n_labels);
  check_numbers(set_of, starts.size() - 1, "allowed: label set out of range");
  require(!lattice || sentences, "allowed: lattices are not supported here");
  return {set_of.data(), starts.data(), labels.data(),
          lattice ? lattice_from(*lattice, set_of, starts.size() - 1, n_labels, *sentences) : trellis::Lattice{}};
}

inline std::size_t n_tokens_of(const ListArrays& lists) { return std::max<std::size_t>(1, lists.starts.size()) - 1; }
// Calls between() from time to time.
template <class Between = void (*)()>
trellis::Sites lists_from(const ListArrays& arrays, std::size_t n_attributes, std::size_t n_tokens, Between between = [] {}) {
  const auto& [starts, ids, values] = arrays;
  require(starts.size() == n_tokens + 1, "there must be one attribute list per token");
  require(values.size() == 0 || values.size() == ids.size(), "there must be one value per attribute");
  check_starts(starts, ids.size());
  constexpr std::size_t kPiece = 16 << 20;
  for (std::size_t first = 0; first < ids.size(); first += kPiece) {
    const std::size_t n = std::min(kPiece, ids.size() - first);
    check_numbers({ids.data() + first, n}, n_attributes, "attribute out of range");
    if (values.size()) check_finite(span<const float>(values.data() + first, n), "the value of an attribute must be a finite number");
    between();
  }
  return {starts.data(), ids.data(), values.size() ? values.data() : nullptr};
}

// Rows whose columns are n_columns labels, or cells of label pairs followed by n-grams of three labels and more.
template <class Label>
void check_rows(span<const std::uint32_t> starts, span<const Label> columns, std::size_t n_columns,
                const trellis::Ngrams* ngrams = nullptr) {
  check_starts(starts, columns.size());
  require(trellis::all_below(columns, n_columns + (ngrams ? ngrams->size() : 0)), "label out of range in a row");
  for (std::size_t i = 0; ngrams && i < columns.size(); ++i)
    require(columns[i] < n_columns || ngrams->length(static_cast<std::uint32_t>(columns[i] - n_columns)) >= trellis::kScored,
            "a row has an n-gram of fewer than three labels");
}
template <class Label>
trellis::Rows<Label> rows_from(const RowArrays<Label>& arrays, std::size_t n_columns, const trellis::Ngrams* ngrams = nullptr) {
  const auto& [starts, labels, weights] = arrays;
  require(labels.size() == weights.size(), "rows must have one weight per label");
  check_rows<Label>(starts, labels, n_columns, ngrams);
  return {starts.data(), labels.data(), weights.data()};
}

// Updates of weights in order: update u changes places[i] of rows[i], i from starts[u] to starts[u + 1], rows ascending.
template <class HasWeight>
void check_updates(span<const std::int64_t> starts, span<const std::uint32_t> rows,
                   span<const std::uint32_t> places, std::size_t n_changes, HasWeight has_weight) {
  check_starts(starts, rows.size());
  require(places.size() == rows.size() && n_changes == rows.size(), "updates have inconsistent sizes");
  for (std::size_t i = 0; i < rows.size(); ++i)
    require(has_weight(rows[i], places[i]), "update of a weight out of range");
  for (std::size_t u = 0; u + 1 < starts.size(); ++u)
    for (auto i = static_cast<std::size_t>(starts[u]) + 1; i < static_cast<std::size_t>(starts[u + 1]); ++i)
      require(rows[i] >= rows[i - 1], "rows of an update must be in ascending order");
}

// Parts of labels: the columns of a label ascend, and come after the columns of labels.
struct PartArrays {
  Longs starts;  // [n_labels + 1]
  Ints columns;
  FIELDS(starts, columns)
};
inline trellis::LabelParts parts_from(const std::optional<PartArrays>& arrays, std::size_t n_labels) {
  if (!arrays) return {};
  const auto& [starts, columns] = *arrays;
  require(starts.size() == n_labels + 1, "parts must have one list per label");
  check_starts(starts, columns.size());
  check_numbers(columns, 0xffff, "parts: column out of range", static_cast<std::int32_t>(n_labels));
  const trellis::LabelParts parts(starts, columns);
  for (std::size_t z = 0; z < n_labels; ++z)
    require(std::ranges::adjacent_find(parts.of(z), std::greater_equal<>()) == parts.of(z).end(),
            "parts: the columns of a label must ascend");
  return parts;
}

// Cells of tables whose rows are padded to the stride, ascending.
inline void check_cells(const Ints& cells, std::size_t n_cells, std::size_t n_labels) {
  check_numbers(cells, n_cells, "cell out of range");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    require(i == 0 || cells(i - 1) < cells(i), "cells must be in ascending order");
    require(cells(i) % trellis::padded(n_labels) < n_labels, "cell out of range");
  }
}

// Weights of label pairs [L + 1, stride] and triples [L + 1, L + 1, stride], padded to the kernels' stride.
// End scores of labels are [stride].
template <class Real>
void check_end(const std::optional<Array<Real, 1>>& end, std::size_t n_labels) {
  require(!end || end->size() == trellis::padded(n_labels), "end must be [stride]");
}
template <class Real, int Rank>
trellis::LabelTables<Real> label_tables_from(const Array<Real, Rank>& edge, const std::optional<Array<Real, 3>>& tri,
                                             const std::optional<Array<Real, 1>>& end) {
  const std::size_t n = edge.shape(Rank - 2), stride = trellis::padded(n - 1);
  require(n >= 2, "a chain must have at least one label");
  require(edge.shape(Rank - 1) == stride, "edge must be [n_labels + 1, stride]");
  require(!tri || (tri->shape(0) == n && tri->shape(1) == n && tri->shape(2) == stride),
          "tri must be [n_labels + 1, n_labels + 1, stride]");
  check_end(end, n - 1);
  return {n - 1, stride, edge.data(), data_of(tri), data_of(end)};
}

// Maximum number of labels of a model; indices of labels have 16 bits.
inline void check_labels(std::size_t n_labels) { require(n_labels > 0 && n_labels <= 0xffff, "from 1 to 65535 labels are supported"); }

// Packed strings: string i is data[starts[i] .. starts[i + 1]).
struct PackedStrings {
  Bytes data;
  Longs starts;
  FIELDS(data, starts)

  void begin() const {
    require(starts.size() > 0 && starts(0) >= 0 && trellis::ascending(starts) &&
                static_cast<std::uint64_t>(starts(size())) <= data.size(),
            "starts must be in order and within data");
  }
  std::string_view operator[](std::size_t i) const {
    return {reinterpret_cast<const char*>(data.data()) + starts(i), static_cast<std::size_t>(starts(i + 1) - starts(i))};
  }
  std::size_t size() const { return starts.size() - 1; }
};
// A column of a corpus, one string per token.
struct ColumnOfStrings {
  Ints codes;
  PackedStrings values;
  FIELDS(codes, values)

  void begin() const { check_numbers(codes, values.size(), "code out of range"); }
};
// With the slots of their hash table, which are checked during look-ups.
struct StringArrays {
  Bytes data;
  Longs starts;
  Ints slots;
  FIELDS(data, starts, slots)
};
