// The order of the parameters of a chain in a vector, for batch learners.
#pragma once
#include <span>

#include "engine/ngrams.hpp"
#include "weights/label_parts.hpp"
#include "weights/sites.hpp"

namespace trellis {

struct Layout {
  std::size_t n_labels = 0, n_attributes = 0, n_edge_attributes = 0;
  int order = 1;
  // Parameters: slots of rows, slots of edge rows, then label pairs, then label triples or n-grams.
  std::span<const std::uint32_t> row_starts;       // [n_attributes + 1]
  std::span<const std::uint16_t> row_labels;       // [n_slots]
  std::span<const std::uint32_t> edge_row_starts;  // [n_edge_attributes + 1]
  std::span<const std::uint32_t> edge_row_labels;  // [n_edge_slots] previous * stride + label
  std::span<const std::int32_t> edge_places;       // which cells of [L+1, stride] have a weight
  std::span<const std::int32_t> tri_places;        // which cells of [L+1, L+1, stride]; which n-grams if they are sparse
  std::span<const float> edge_base;                // [L+1, stride] fixed: 0, or minus infinity if forbidden
  std::span<const float> end_base;                 // [stride], or empty
  LabelParts parts{};                              // if set, row_labels are columns, of labels and of parts
  const Ngrams* ngrams = nullptr;                  // sparse label n-grams, instead of triples

  std::size_t n_columns() const { return parts.width(n_labels); }  // of rows
  std::size_t n_parameters() const {
    return row_labels.size() + edge_row_labels.size() + edge_places.size() + tri_places.size();
  }
};

}  // namespace trellis
