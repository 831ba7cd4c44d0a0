// Encoded corpora as they come from Python, checked.
#pragma once
#include "far.hpp"
#include "segments.hpp"
#include "weights.hpp"
#include "weights/label_filter.hpp"

// What segments may be, their attributes, and the first number of these.
using SegmentArrays = std::tuple<std::shared_ptr<PySegmentRules>, ListArrays, std::size_t>;

// Sets of tokens as LabelSets has them.
using SetsOut = std::tuple<Numpy<std::int32_t>, Numpy<std::int64_t>, Numpy<std::int32_t>,
                           std::optional<std::tuple<Numpy<std::int64_t>, Numpy<std::int32_t>, Numpy<std::int64_t>, Numpy<std::int32_t>>>>;
inline SetsOut sets_out(trellis::TokenSets sets) {
  SetsOut out{to_numpy(std::move(sets.set_of_token)), to_numpy(std::move(sets.starts)), to_numpy(std::move(sets.labels)), std::nullopt};
  if (sets.has_lattice())
    std::get<3>(out) = {to_numpy(std::move(sets.node_starts)), to_numpy(std::move(sets.node_labels)),
                        to_numpy(std::move(sets.in_starts)), to_numpy(std::move(sets.from))};
  return out;
}

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
