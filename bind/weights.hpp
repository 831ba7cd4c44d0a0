// The weights of a chain as they come from Python, checked.
#pragma once
#include "ngrams.hpp"

// Keeps the arrays it points into.
struct Weights : trellis::LinearChain {
  RowArrays<std::uint16_t> row_arrays;
  std::optional<RowArrays<std::uint32_t>> edge_row_arrays;
  Array<float, 2> edge;
  std::optional<Array<float, 3>> tri;
  std::optional<Floats> end;
  std::shared_ptr<PyNgrams> ngrams;                     // or null
  std::shared_ptr<trellis::NgramScores<float>> scores;  // of them, with bounds
  std::size_t n_attributes, n_edge_attributes = 0;
  bool local;  // labels are normalised one by one
  bool has_runs = false;  // whether some row has a run of more than two labels

  Weights(RowArrays<std::uint16_t> rows_, std::optional<RowArrays<std::uint32_t>> edge_rows_, Array<float, 2> edge_,
          std::optional<Array<float, 3>> tri_, std::optional<Floats> end_, const std::optional<PartArrays>& parts_,
          std::shared_ptr<PyNgrams> ngrams_, bool local_)
      : row_arrays(std::move(rows_)), edge_row_arrays(std::move(edge_rows_)), edge(std::move(edge_)), tri(std::move(tri_)),
        end(std::move(end_)), ngrams(std::move(ngrams_)), n_attributes(row_arrays.starts.size() - 1), local(local_) {
    labels = label_weights_from(edge, tri, end);
    require(!ngrams || (!tri && ngrams->ngrams.n_labels() == labels.n_labels), "n-grams for other labels");
    if (ngrams) {
      scores = std::make_shared<trellis::NgramScores<float>>(ngrams->floats);
      scores->relaxed = ngrams->bounds.relaxed();
      labels.ngrams = scores.get();
    }
    parts = parts_from(parts_, labels.n_labels);
    rows = rows_from(row_arrays, parts.width(labels.n_labels));
    if (!edge_row_arrays) return;
    edge_rows = run_rows_from(*edge_row_arrays, (labels.n_labels + 1) * labels.stride, ngrams ? &ngrams->ngrams : nullptr);
    n_edge_attributes = edge_row_arrays->starts.size() - 1;
    has_runs = !trellis::all_below(span(edge_row_arrays->labels), (labels.n_labels + 1) * labels.stride);
  }
};
