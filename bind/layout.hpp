// Which weights a learner that goes by gradients has, checked against the corpus that it learns from.
#pragma once
#include "data.hpp"
#include "ngrams.hpp"
#include "weights/layout.hpp"

// Keeps the arrays it points into.
struct PyLayout {
  template <class Label>
  struct RowsArrays {
    UInts starts;  // [n + 1]
    Array<Label, 1> labels;          // [n_slots]
    FIELDS(starts, labels)
  };

  const Encoded& corpus;
  RowsArrays<std::uint16_t> rows;
  RowsArrays<std::uint32_t> edge_rows;
  Ints edge_places, tri_places;
  Array<float, 2> edge_base;
  Floats end_base;
  std::optional<trellis::Ngrams> ngrams;
  trellis::Layout core;

  PyLayout(const PyLayout&) = delete;  // core points into it
  PyLayout(const Encoded& corpus, int order, RowsArrays<std::uint16_t> rows_, RowsArrays<std::uint32_t> edge_rows_,
           Ints edge_places_, Ints tri_places_, Array<float, 2> edge_base_,
           Floats end_base_, const std::optional<PartArrays>& parts, const std::optional<NgramArrays>& ngrams_)
      : corpus(corpus), rows(std::move(rows_)), edge_rows(std::move(edge_rows_)),
        edge_places(std::move(edge_places_)), tri_places(std::move(tri_places_)), edge_base(std::move(edge_base_)),
        end_base(std::move(end_base_)) {
    const std::size_t L = corpus.n_labels, stride = trellis::padded(L), pairs = (L + 1) * stride;
    const auto& [row_starts, row_labels] = rows;
    const auto& [edge_row_starts, edge_row_labels] = edge_rows;
    require(order >= 1 && (ngrams_ || order <= 2), "order must be 1 or 2");
    require(edge_base.shape(0) == L + 1 && edge_base.shape(1) == stride, "edge_base must be [n_labels + 1, stride]");
    require(end_base.size() == 0 || end_base.size() == stride, "end_base must be [stride], or empty");
    require(row_starts.size() == corpus.n_attributes + 1 && edge_row_starts.size() == corpus.n_edge_attributes + 1,
            "one row per attribute");
    const trellis::LabelParts label_parts = parts_from(parts, L);
    check_rows(span(row_starts), span(row_labels), label_parts.width(L));
    check_cells(edge_places, pairs, L);
    if (ngrams_) {
      ngrams.emplace(L, static_cast<std::size_t>(order));
      make_ngrams(*ngrams_, *ngrams);
      check_numbers(tri_places, ngrams->size(), "an n-gram out of range");
    } else {
      check_cells(tri_places, order == 2 ? (L + 1) * pairs : 0, L);
    }
    check_run_rows(span(edge_row_starts), span(edge_row_labels), pairs, ngrams ? &*ngrams : nullptr);
    require(ngrams || !corpus.data.histories, "attributes of longer label runs need n-grams");
    make_read_only(std::tie(rows, edge_rows, edge_places, tri_places));
    core = {L, corpus.n_attributes, corpus.n_edge_attributes, order, span(row_starts), span(row_labels),
            span(edge_row_starts), span(edge_row_labels), span(edge_places), span(tri_places),
            {edge_base.data(), edge_base.size()}, span(end_base), label_parts, ngrams ? &*ngrams : nullptr};
  }
};
