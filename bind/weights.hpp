// The weights of a chain from Python, validated.
#pragma once
#include "far.hpp"
#include "ngrams.hpp"

// Keeps its arrays alive.
struct Weights {
  RowArrays<std::uint16_t> rows;
  std::optional<RowArrays<std::uint32_t>> edge_rows;
  Array<float, 2> edge;
  std::optional<Array<float, 3>> tri;
  std::optional<Floats> end;
  std::optional<PartArrays> parts;
  OrNone<PyNgrams> ngrams;
  std::optional<bool> local;   // labels are normalised locally
  std::optional<Bytes> about;  // of edge attributes, if some are about labels further back
  ARGUMENTS(rows, edge_rows, edge, tri, end, parts, ngrams, local, about)

  trellis::LinearChain core;
  trellis::NgramScores<float> scores;  // of the n-grams, with bounds
  std::size_t n_attributes = 0, n_edge_attributes = 0;
  bool has_runs = false;  // whether some row has a run of more than two labels
  std::vector<std::uint8_t> kinds;  // of labels further back

  std::size_t n_labels() const { return core.labels.n_labels; }
  void begin() {
    core.labels = label_tables_from(edge, tri, end);
    const std::size_t L = n_labels(), n_pairs = (L + 1) * core.labels.stride;
    require(!ngrams || (!tri && ngrams->ngrams.n_labels() == L), "the n-grams belong to other labels");
    if (ngrams) {
      scores = ngrams->floats;
      scores.relaxed = ngrams->bounds.relaxed();
      core.labels.ngrams = &scores;
    }
    core.parts = parts_from(parts, L);
    core.rows = rows_from(rows, core.parts.width(L));
    n_attributes = rows.starts.size() - 1;
    if (!edge_rows) return;
    core.edge_rows = rows_from(*edge_rows, n_pairs, ngrams ? &ngrams->ngrams : nullptr);
    n_edge_attributes = edge_rows->starts.size() - 1;
    has_runs = !trellis::all_below(edge_rows->labels, n_pairs);
    if (!about) return;
    require(n_edge_attributes == about->size(), "there must be one kind per edge attribute");
    kinds = far_kinds(*about);
    check_finite(edge_rows->weights, "the weight of an edge attribute must be a finite number");
  }
};
