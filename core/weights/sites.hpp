// Where features hold. A site is a place that attributes stand at: a token, the step from one token to the next, or a
// segment of tokens.
#pragma once
#include <span>

#include "engine/chain.hpp"
#include "spill.hpp"

namespace trellis {

struct SegmentRules;  // engine/segments.hpp

// What stands at each site: attributes ids[starts[s] .. starts[s + 1]) with values (null: all one).
struct Sites {
  const std::int64_t* starts = nullptr;  // [n_sites + 1]; null: there are none
  const std::int32_t* ids = nullptr;     // [n_items]
  const float* values = nullptr;         // [n_items] or null

  float value(std::int64_t i) const { return values ? values[i] : 1.0f; }
  // Calls visit(attribute, value) for all that stands at a site.
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

// Segments of all tokens: site t * longest + length - 1 is the one of that length that begins at token t. Their attributes
// are the last ones of the rows of weights.
struct SegmentSites {
  const SegmentRules* rules = nullptr;
  Sites attributes;
  std::size_t first_attribute = 0;  // of segments
};

// Edge attributes about labels further back than those directly before a token (far_labels.hpp).
struct FarLabels {
  Sites at;                               // starts null: none
  const std::uint8_t* about = nullptr;    // [n_edge_attributes] which label, as engine/beam.hpp says
  std::span<const std::uint8_t> kinds{};  // those that there are, each once
  const std::int32_t* same = nullptr;     // [n_tokens] the last token with the same word, within its sentence; -1: none
};

// The tokens of a corpus as a model sees them. Edge attributes are about a token's label and those before it.
struct ChainData {
  Sites attributes;
  Sites edge_attributes;  // starts null: none
  LabelSets sets{};       // tag dictionary over all tokens; starts null: every label everywhere
  // [n_edge_attributes] about how many labels before; null: one, all of them. With more than one the weights have n-grams.
  const std::uint8_t* histories = nullptr;
  bool has_pairs = true;  // whether some are about one
  const SegmentSites* segments = nullptr;  // null: a path is one of labels, not of segments
  FarLabels far{};        // other edge attributes, not among those above
  Spill* spill = nullptr;  // for what is as large as the corpus, where that is not in memory; else null

  bool pairs_by_token() const { return edge_attributes.starts && has_pairs; }
};

}  // namespace trellis
