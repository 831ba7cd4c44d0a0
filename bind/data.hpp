// Encoded corpora as they come from Python, checked.
#pragma once
#include "far.hpp"
#include "segments.hpp"
#include "weights.hpp"

// What segments may be, their attributes, and the first number of these.
using SegmentArrays = std::tuple<std::shared_ptr<PySegmentRules>, ListArrays, std::size_t>;

// An encoded corpus; keeps the arrays it points into.
struct Encoded {
  Array<std::int64_t, 1> starts;
  ListArrays lists;
  std::optional<ListArrays> edge_lists;
  std::optional<SetArrays> sets;
  std::optional<Array<std::uint8_t, 1>> histories;
  std::optional<SegmentArrays> segments;
  trellis::SegmentSites segment_sites;
  std::optional<Array<std::int32_t, 1>> same;
  SplitLists near_lists, far_lists;  // of edge_lists, where some are about labels further back
  std::vector<std::uint8_t> kinds;   // of those
  std::size_t n_attributes, n_edge_attributes, n_labels;
  trellis::ChainData data;

  Encoded(Array<std::int64_t, 1> starts, ListArrays lists, std::optional<ListArrays> edge_lists,
          std::optional<SetArrays> sets, std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels,
          std::optional<Array<std::uint8_t, 1>> histories, std::optional<SegmentArrays> segments,
          std::optional<Array<std::int32_t, 1>> same);
  Encoded(const Encoded&) = delete;  // data points into it
  void check_fits(const Weights& weights) const;
  std::size_t n_sentences() const { return starts.size() - 1; }
  std::size_t n_tokens() const { return starts(starts.size() - 1); }
};
