// Encoded corpora from Python, validated.
#pragma once
#include "engine/segments.hpp"
#include "learn/examples.hpp"
#include "weights.hpp"
#include "weights/label_filter.hpp"

// Segment types, as in Python, validated.
struct PySegmentRules {
  std::size_t n_labels, longest;
  Array<std::int32_t, 2> shapes;  // [n, 6]: column, longest, labels of single, first, middle and last tokens
  Ints columns;                   // [n_labels]
  Array<std::uint8_t, 2> follows;  // [n_labels + 1, n_labels + 1]
  ARGUMENTS(n_labels, longest, shapes, columns, follows)
  trellis::SegmentRules core;

  void begin();
};
// Segment types, the attributes of segments, and the first number of these.
struct SegmentArrays {
  std::shared_ptr<PySegmentRules> rules;
  ListArrays lists;
  std::size_t first;
  FIELDS(rules, lists, first)
};

RECORD(trellis::TokenSets, set_of, starts, labels, node_starts, in_starts, node_labels, before)

// An encoded corpus; keeps its arrays alive.
struct Encoded {
  Longs starts;
  Kept<ListArrays> lists;
  std::optional<Kept<ListArrays>> edge_lists;
  std::optional<Kept<SetArrays>> sets;
  std::size_t n_attributes, n_edge_attributes, n_labels;
  std::optional<Bytes> histories;
  std::optional<Kept<SegmentArrays>> segments;
  std::optional<Ints> same;
  std::optional<nb::object> disk;  // trellis._support.disk.Disk, if the corpus is not in memory
  ARGUMENTS(starts, lists, edge_lists, sets, n_attributes, n_edge_attributes, n_labels, histories, segments, same, disk)

  std::unique_ptr<trellis::Spill> spill;

  trellis::SegmentSites segment_sites;
  trellis::TokenLists near_lists, far_lists;  // of edge_lists, if some are about labels further back
  std::vector<std::uint8_t> kinds;   // of these
  trellis::ChainData data;

  void begin();
  void check_fits(const Weights& weights) const;
  std::size_t n_sentences() const { return starts.size() - 1; }
  std::size_t n_tokens() const { return starts(starts.size() - 1); }
};

// Sentences with their labels, validated; keeps its arrays alive.
struct PyChainExamples {
  std::shared_ptr<Encoded> corpus;
  Ints gold;
  std::optional<SetArrays> partial;
  std::optional<Array<float, 2>> costs;  // [n_labels, n_labels]
  ARGUMENTS(corpus, gold, partial, costs)
  std::optional<trellis::Examples> core;

  void begin() {
    const std::size_t L = corpus->n_labels;
    check_gold(gold, corpus->n_tokens(), L, partial.has_value());
    require(!costs || (costs->shape(0) == L && costs->shape(1) == L), "costs must be [n_labels, n_labels]");
    core.emplace(trellis::Examples{.data = corpus->data, .starts = corpus->starts.data(), .gold = gold.data(),
                                   .costs = data_of(costs), .n_sentences = size()});
    if (partial) core->partial = sets_from(*partial, L, corpus->n_tokens());
  }
  std::size_t size() const { return corpus->n_sentences(); }
  trellis::Examples weighted(const double* weights) const {
    trellis::Examples out = *core;
    out.weights = weights;
    return out;
  }
  // The examples, if every label is known.
  trellis::Examples known(const std::optional<Doubles>& weights) const {
    check_weights(weights, size());
    check_gold(gold, corpus->n_tokens(), corpus->n_labels);
    trellis::Examples out = weighted(data_of(weights));
    out.partial = {};
    return out;
  }
};
