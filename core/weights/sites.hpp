// Sites of features. A site is a position with attributes: a token, the step from one to the next, or a
// segment of tokens.
#pragma once
#include <span>

#include "engine/chain.hpp"
#include "spill.hpp"

namespace trellis {

struct SegmentRules;  // engine/segments.hpp

// The attributes of each site: ids[starts[s] .. starts[s + 1]) with values (null: all one).
struct Sites {
  const std::int64_t* starts = nullptr;  // [n_sites + 1]; null: there are none
  const std::int32_t* ids = nullptr;     // [n_items]
  const float* values = nullptr;         // [n_items] or null

  float value(std::int64_t i) const { return values ? values[i] : 1.0f; }
  // Calls visit(attribute, value) for the attributes of a site.
  template <class Visit>
  TRELLIS_INLINE void each(std::size_t site, Visit visit) const {
    const std::int32_t* const at = ids;
    const std::int64_t end = starts[site + 1];
    if (const float* const numbers = values)
      for (std::int64_t i = starts[site]; i < end; ++i) visit(at[i], numbers[i]);
    else
      for (std::int64_t i = starts[site]; i < end; ++i) visit(at[i], 1.0f);
  }
};

// Segments of all tokens: site t * longest + length - 1 is the segment of that length starting at token t. Their attributes
// are the last rows of weights.
struct SegmentSites {
  const SegmentRules* rules = nullptr;
  Sites attributes;
  std::size_t first_attribute = 0;  // of segments
};

// Edge attributes about labels further back than those directly before a token (far_labels.hpp).
struct FarLabels {
  Sites at;                               // starts null: none
  const std::uint8_t* about = nullptr;    // [n_edge_attributes] kind, see engine/beam.hpp
  std::span<const std::uint8_t> kinds{};  // those that occur, without duplicates
  const std::int32_t* same = nullptr;     // [n_tokens] the last earlier token with the same word in its sentence; -1: none
};

// The tokens of a corpus for a model. Edge attributes are about a token's label and previous labels.
struct ChainData {
  Sites attributes;
  Sites edge_attributes;  // starts null: none
  LabelSets sets{};       // tag dictionary over all tokens; starts null: every label everywhere
  // [n_edge_attributes] number of previous labels; null: one for all. With more than one the weights have n-grams.
  const std::uint8_t* histories = nullptr;
  bool has_pairs = true;  // whether some edge attributes are about one previous label
  const SegmentSites* segments = nullptr;  // null: paths of labels, not of segments
  FarLabels far{};        // other edge attributes, not among those above
  Spill* spill = nullptr;  // for data as large as the corpus, if the corpus is not in memory; else null

  bool pairs_by_token() const { return edge_attributes.starts && has_pairs; }
};

}  // namespace trellis
