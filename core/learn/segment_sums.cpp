// Sums over all segmentations of a sentence: what SentenceSums has of semi-Markov chains.
#include "learn/sentence_sums.hpp"

namespace trellis {

// log Z less what the segments of the gold path give by their attributes; the gradient of all but the labels of that path.
template <class Real, class AnyRows>
double SentenceSums<Real, AnyRows>::segment_paths(std::size_t s, double weight, Scratch& w, Piece& piece, Real* residual,
                                                  bool with_gradient) const {
  const SegmentSites& sites = *data_.segments;
  const std::size_t begin = starts_[s], n = starts_[s + 1] - begin, longest = sites.rules->longest, first = first_segment_slot();
  // Calls visit(site, value, slot, column) for the features of all segments.
  const auto each_slot = [&](auto visit) TRELLIS_INLINE_LAMBDA {
    for (std::size_t site = 0; site < n * longest; ++site)
      sites.attributes.each(begin * longest + site, [&](std::int32_t a, float value) TRELLIS_INLINE_LAMBDA {
        for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
          visit(site * stride_ + layout_.row_labels[k], static_cast<Real>(value), k - first);
      });
  };
  // of[site, z] = sum over attributes a of the segment of value(a) · w[a, z]
  w.of_segments.assign(n * longest * stride_, 0);
  each_slot([&](std::size_t cell, Real value, std::size_t slot) TRELLIS_INLINE_LAMBDA { w.of_segments[cell] += value * segment_weights[slot]; });
  if (!w.lattice) w.lattice.emplace(*sites.rules);
  const LabelTables<Real> labels{L_, stride_, edge_.data(), nullptr, end_.empty() ? nullptr : end_.data()};
  w.lattice->load(ChainView<Real>(labels, n, w.emit.data(), edges_by_token() ? w.token_edge.data() : nullptr),
                  w.of_segments.data());
  double loss = w.lattice->sum();
  const auto each_gold = [&](auto visit) {
    each_segment(*sites.rules, gold_.labels + begin, n, [&](std::size_t at, std::size_t length) {
      const auto column = static_cast<std::size_t>(sites.rules->columns[gold_.labels[begin + at]]);
      if (length <= longest) visit((at * longest + length - 1) * stride_ + column);
    });
  };
  each_gold([&](std::size_t cell) { loss -= w.of_segments[cell]; });
  if (!with_gradient || !std::isfinite(loss)) return loss;
  w.lattice->find_marginals();
  std::fill_n(residual, n * stride_, Real(0));
  if (edges_by_token()) w.token_pairs.assign(n * pair_cells_, 0);
  const auto add_pair = [&](std::size_t t, std::size_t y, std::size_t z, double p) {
    piece.pairs[y * stride_ + z] += weight * p;
    if (edges_by_token()) w.token_pairs[t * pair_cells_ + y * stride_ + z] += static_cast<Real>(p);
  };
  std::fill(w.of_segments.begin(), w.of_segments.end(), Real(0));  // from here on residuals
  w.lattice->each_marginal(edges_by_token(), add_pair, [&](std::size_t at, std::size_t length, const SegmentShape& shape, double p) {
    each_label(shape, at, length, [&](std::size_t t, std::size_t z) { residual[t * stride_ + z] += static_cast<Real>(weight * p); },
               [&](std::size_t t, std::size_t y, std::size_t z) { add_pair(t, y, z, p); });
    w.of_segments[(at * longest + length - 1) * stride_ + static_cast<std::size_t>(shape.column)] += static_cast<Real>(weight * p);
  });
  each_gold([&](std::size_t cell) { w.of_segments[cell] -= static_cast<Real>(weight); });
  double* slots = piece.edge_slots.data() + n_edge_slots();
  each_slot([&](std::size_t cell, Real value, std::size_t slot) TRELLIS_INLINE_LAMBDA { slots[slot] += value * w.of_segments[cell]; });
  for (std::size_t t = 0; t < n && edges_by_token(); ++t)
    add_edge_slots(begin + t, piece, [&](std::uint32_t place) { return weight * w.token_pairs[t * pair_cells_ + place]; });
  return loss;
}

template double SentenceSums<float>::segment_paths(std::size_t, double, Scratch&, Piece&, float*, bool) const;
template double SentenceSums<double>::segment_paths(std::size_t, double, Scratch&, Piece&, double*, bool) const;
template double SentenceSums<double, FewRows>::segment_paths(std::size_t, double, Scratch&, Piece&, double*, bool) const;

}  // namespace trellis
