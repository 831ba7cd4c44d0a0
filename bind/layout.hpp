// The parameters of a batch learner, validated against its corpus.
#pragma once
#include "data.hpp"
#include "ngrams.hpp"
#include "weights/layout.hpp"

// Keeps its arrays alive.
struct PyLayout {
  template <class Label>
  struct Columns {
    UInts starts;            // [n + 1]
    Array<Label, 1> labels;  // [n_slots]
    FIELDS(starts, labels)
  };
  std::shared_ptr<Encoded> corpus;
  int order;
  Columns<std::uint16_t> rows;
  Columns<std::uint32_t> edge_rows;
  Ints edge_places, tri_places;
  Array<float, 2> edge_base;
  Floats end_base;
  std::optional<PartArrays> parts;
  std::optional<NgramArrays> ngrams;
  ARGUMENTS(corpus, order, rows, edge_rows, edge_places, tri_places, edge_base, end_base, parts, ngrams)
  std::optional<trellis::Ngrams> label_ngrams;
  trellis::Layout core;

  void begin() {
    const std::size_t L = corpus->n_labels, stride = trellis::padded(L), pairs = (L + 1) * stride;
    require(order >= 1 && (ngrams || order <= 2), "order must be 1 or 2");
    require(edge_base.shape(0) == L + 1 && edge_base.shape(1) == stride, "edge_base must be [n_labels + 1, stride]");
    require(end_base.size() == 0 || end_base.size() == stride, "end_base must be [stride], or empty");
    require(rows.starts.size() == corpus->n_attributes + 1 && edge_rows.starts.size() == corpus->n_edge_attributes + 1,
            "there must be one row per attribute");
    const trellis::LabelParts label_parts = parts_from(parts, L);
    check_rows<std::uint16_t>(rows.starts, rows.labels, label_parts.width(L));
    check_cells(edge_places, pairs, L);
    if (ngrams) {
      label_ngrams.emplace(L, static_cast<std::size_t>(order));
      make_ngrams(ngrams->parents, ngrams->labels, *label_ngrams);
      check_numbers(tri_places, label_ngrams->size(), "n-gram out of range");
    } else {
      check_cells(tri_places, order == 2 ? (L + 1) * pairs : 0, L);
    }
    const trellis::Ngrams* const longer = label_ngrams ? &*label_ngrams : nullptr;
    check_rows<std::uint32_t>(edge_rows.starts, edge_rows.labels, pairs, longer);
    require(ngrams || !corpus->data.histories, "attributes of longer label sequences need n-grams");
    core = {L, corpus->n_attributes, corpus->n_edge_attributes, order, rows.starts, rows.labels, edge_rows.starts,
            edge_rows.labels, edge_places, tri_places, edge_base, end_base, label_parts, longer};
  }
};
