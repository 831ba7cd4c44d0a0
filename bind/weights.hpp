// The weights of a chain from Python, validated, and edge attributes about labels further back than directly before a token.
#pragma once
#include <set>

#include "ngrams.hpp"
#include "weights/far_labels.hpp"

// The attributes of lists that are about labels further back, or the others.
inline trellis::TokenLists some_of(const ListArrays& lists, span<const std::uint8_t> about, bool far) {
  std::vector<std::int32_t> rank(about.size());
  for (std::size_t a = 0; a < rank.size(); ++a)
    rank[a] = (about[a] >= trellis::kFar) == far ? static_cast<std::int32_t>(a) : -1;
  return trellis::renumber(lists.starts, lists.ids, lists.values, rank);
}
inline trellis::Sites sites_of(const trellis::TokenLists& lists) {
  return {lists.starts.data(), lists.ids.data(), lists.values.empty() ? nullptr : lists.values.data()};
}

// The kinds of attributes about labels further back, without duplicates.
inline std::vector<std::uint8_t> far_kinds(span<const std::uint8_t> about) {
  const std::set<std::uint8_t> all(about.begin(), about.end());
  require(!all.contains(trellis::kFar), "attribute without a label");
  return {all.upper_bound(trellis::kFar), all.end()};
}

// The last earlier token with the same word, relative to the sentence, or -1.
inline void check_same(const Ints& same, const Longs& starts) {
  require(same.size() == static_cast<std::size_t>(starts(starts.size() - 1)), "same must have one number per token");
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::int64_t t = starts(s); t < starts(s + 1); ++t)
      require(same(t) >= -1 && same(t) < t - starts(s), "same must be an earlier token of the sentence");
}

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
  std::size_t n_attributes = 0, n_edge_attributes = 0;
  bool has_runs = false;  // whether some row has a run of more than two labels
  std::vector<std::uint8_t> kinds;  // of labels further back

  std::size_t n_labels() const { return core.labels.n_labels; }
  void begin() {
    core.labels = label_tables_from(edge, tri, end);
    const std::size_t L = n_labels(), n_pairs = (L + 1) * core.labels.stride;
    require(!ngrams || (!tri && ngrams->ngrams.n_labels() == L), "the n-grams belong to other labels");
    if (ngrams) core.labels.ngrams = &ngrams->floats;
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
