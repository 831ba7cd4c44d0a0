// Sums over all segmentations of a sentence: what SentenceSums has of semi-Markov chains.
#include "learn/sentence_sums.hpp"

namespace trellis {

// As all_paths.
template <class Real, class AnyRows>
double SentenceSums<Real, AnyRows>::segment_paths(std::size_t s, double weight, int sign, Scratch& w, Piece& piece,
                                                  Real* residual, bool with_gradient) const {
  const SegmentSites& sites = *data_.segments;
  const std::size_t begin = starts_[s], n = starts_[s + 1] - begin, longest = sites.rules->longest;
  // of[begin, length, z] = sum over attributes a of the segment of value(a) · w[a, z]
  const std::size_t first = first_segment_slot();
  w.of_segments.assign(n * longest * stride_, 0);
  for (std::size_t site = 0; site < n * longest; ++site)
    sites.attributes.each(begin * longest + site, [&](std::int32_t a, float value) {
      for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
        w.of_segments[site * stride_ + layout_.row_labels[k]] += static_cast<Real>(value) * segment_weights[k - first];
    });
  if (!w.lattice) w.lattice.emplace(*sites.rules);
  const LabelTables<Real> labels{L_, stride_, edge_.data(), nullptr, end_.empty() ? nullptr : end_.data()};
  w.lattice->load(ChainView<Real>(labels, n, w.emit.data(), edges_by_token() ? w.token_edge.data() : nullptr),
                  w.of_segments.data());
  const double log_z = w.lattice->sum();
  if (!with_gradient || !std::isfinite(log_z)) return log_z;
  w.lattice->find_marginals();
  const double amount = sign * weight;
  std::fill_n(residual, sign > 0 ? n * stride_ : 0, Real(0));
  if (edges_by_token()) w.token_pairs.assign(n * pair_cells_, 0);
  const auto add_pair = [&](std::size_t t, std::size_t y, std::size_t z, double p) {
    piece.pairs[y * stride_ + z] += amount * p;
    if (edges_by_token()) w.token_pairs[t * pair_cells_ + y * stride_ + z] += static_cast<Real>(p);
  };
  w.lattice->each_marginal(add_pair, [&](std::size_t at, std::size_t length, const SegmentShape& shape, double p) {
    each_label(shape, at, length, [&](std::size_t t, std::size_t z) { residual[t * stride_ + z] += static_cast<Real>(amount * p); },
               [&](std::size_t t, std::size_t y, std::size_t z) { add_pair(t, y, z, p); });
    add_segment_slots((begin + at) * longest + length - 1, shape.column, amount * p, piece);
  });
  for (std::size_t t = 0; t < n && edges_by_token(); ++t)
    add_edge_slots(begin + t, piece, [&](std::uint32_t place) { return amount * w.token_pairs[t * pair_cells_ + place]; });
  return log_z;
}

// What the segments of the gold path give by their attributes.
template <class Real, class AnyRows>
double SentenceSums<Real, AnyRows>::gold_segments(std::size_t s, double weight, const Scratch& w, Piece& piece,
                                                  bool with_gradient) const {
  const SegmentSites& sites = *data_.segments;
  const std::size_t begin = starts_[s], n = starts_[s + 1] - begin, longest = sites.rules->longest;
  double score = 0;
  each_segment(*sites.rules, gold_.labels + begin, n, [&](std::size_t at, std::size_t length) {
    if (length > longest) return;
    const std::int32_t column = sites.rules->columns[gold_.labels[begin + at]];
    score += w.of_segments[(at * longest + length - 1) * stride_ + column];
    if (with_gradient) add_segment_slots((begin + at) * longest + length - 1, column, -weight, piece);
  });
  return score;
}

template <class Real, class AnyRows>
void SentenceSums<Real, AnyRows>::add_segment_slots(std::size_t site, std::int32_t column, double amount, Piece& piece) const {
  double* slots = piece.edge_slots.data() + n_edge_slots();
  const std::size_t first = first_segment_slot();
  data_.segments->attributes.each(site, [&](std::int32_t a, float value) {
    for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
      if (layout_.row_labels[k] == column) slots[k - first] += value * amount;
  });
}

template double SentenceSums<float>::segment_paths(std::size_t, double, int, Scratch&, Piece&, float*, bool) const;
template double SentenceSums<double>::segment_paths(std::size_t, double, int, Scratch&, Piece&, double*, bool) const;
template double SentenceSums<double, FewRows>::segment_paths(std::size_t, double, int, Scratch&, Piece&, double*, bool) const;
template double SentenceSums<float>::gold_segments(std::size_t, double, const Scratch&, Piece&, bool) const;
template double SentenceSums<double>::gold_segments(std::size_t, double, const Scratch&, Piece&, bool) const;
template double SentenceSums<double, FewRows>::gold_segments(std::size_t, double, const Scratch&, Piece&, bool) const;

}  // namespace trellis
