// Encoded corpora as they come from Python, checked.
#pragma once
#include "far.hpp"
#include "segments.hpp"
#include "weights.hpp"
#include "weights/label_filter.hpp"

// What segments may be, their attributes, and the first number of these.
struct SegmentArrays {
  std::shared_ptr<PySegmentRules> rules;
  ListArrays lists;
  std::size_t first;
  FIELDS(rules, lists, first)
};

inline SetsOf<Out> sets_out(trellis::TokenSets sets) {
  SetsOf<Out> out{std::move(sets.set_of_token), std::move(sets.labels), std::move(sets.starts), std::nullopt};
  if (sets.has_lattice())
    out.lattice = {std::move(sets.node_starts), std::move(sets.in_starts), std::move(sets.node_labels), std::move(sets.from)};
  return out;
}

// An encoded corpus; keeps the arrays it points into.
struct Encoded {
  Longs starts;
  Kept<ListArrays> lists;
  std::optional<Kept<ListArrays>> edge_lists;
  std::optional<Kept<SetArrays>> sets;
  std::size_t n_attributes, n_edge_attributes, n_labels;
  std::optional<Bytes> histories;
  std::optional<Kept<SegmentArrays>> segments;
  std::optional<Ints> same;
  ARGUMENTS(starts, lists, edge_lists, sets, n_attributes, n_edge_attributes, n_labels, histories, segments, same)

  trellis::SegmentSites segment_sites;
  SplitLists near_lists, far_lists;  // of edge_lists, where some are about labels further back
  std::vector<std::uint8_t> kinds;   // of those
  trellis::ChainData data;

  void begin();
  void check_fits(const Weights& weights) const;
  std::size_t n_sentences() const { return starts.size() - 1; }
  std::size_t n_tokens() const { return starts(starts.size() - 1); }
};
