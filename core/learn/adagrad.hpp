// One pass of AdaGrad: stochastic gradient steps with a learning rate per parameter.
//
//   g = gradient + 2 c2 share w;  squares += g²;  w -= rate / sqrt(squares) · g, then c1 · share of that rate nearer to 0
//
// for every sentence and each of its attribute parameters, and once per batch for those of label pairs and triples.
// Gradients of a batch use the weights before the batch. `share` is one over the number of updates of the parameter
// in a pass, so that a pass applies the penalty once. Each step depends only on the history of its own parameter, so
// parts of the attributes can be updated in parallel, with the same bits. Heavy rows are updated as vectors over all
// labels: their squares are copied in before the pass, and weights and squares out after it.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "learn/sentence_sums.hpp"

namespace trellis {

struct AdaGrad {
  double rate = 0.1, c1 = 0, c2 = 0;
  std::size_t batch = 1;  // sentences

  // The update of one parameter.
  TRELLIS_INLINE void step(double& w, double& squares, double g, double share) const {
    g += 2 * c2 * share * w;
    squares += g * g;
    const double own = squares > 0 ? rate / std::sqrt(squares) : 0, nearer = own * c1 * share;
    w -= own * g;
    if (c1 > 0) w = w > nearer ? w - nearer : w < -nearer ? w + nearer : 0;
  }
};

// One over the number of sites of each attribute.
struct Shares {
  std::vector<double> attributes, edge_attributes, segment_attributes;

  Shares(const Layout& layout, const ChainData& data, std::size_t n_tokens)
      : attributes(of(data.attributes, layout.n_attributes, n_tokens)),
        edge_attributes(of(data.edge_attributes, layout.n_edge_attributes, n_tokens)) {
    if (data.segments)
      segment_attributes = of(data.segments->attributes, layout.n_attributes, n_tokens * data.segments->rules->longest);
  }

 private:
  static std::vector<double> of(const Sites& at, std::size_t n_attributes, std::size_t n_sites) {
    std::vector<double> shares(n_attributes, 0);
    if (at.starts && n_sites)
      for (std::int64_t i = 0; i < at.starts[n_sites]; ++i) ++shares[at.ids[i]];
    for (double& share : shares) share = share > 0 ? 1 / share : 0;
    return shares;
  }
};

template <class Real>
class AdaGradPass {
 public:
  AdaGradPass(const AdaGrad& rule, const Layout& layout, const ChainData& data, const std::int64_t* starts,
              std::size_t n_batches, const Shares& shares, SentenceSums<Real>& sums, double* parameters,
              double* squares)
      : rule_(rule), layout_(layout), data_(data), starts_(starts), sums_(sums), parameters_(parameters),
        squares_(squares), stride_(padded(layout.n_columns())), batch_share_(n_batches ? 1.0 / n_batches : 0),
        shares_(shares), heavy_squares_(sums.rows.heavy.size() * stride_, 1), has_(heavy_squares_.size(), 0) {
    each_heavy_slot([&](std::size_t cell, std::uint32_t slot) {
      heavy_squares_[cell] = static_cast<Real>(squares_[slot]);
      has_[cell] = 1;
    });
  }
  // Copies vectors of heavy rows back to the parameters.
  void finish() {
    each_heavy_slot([&](std::size_t cell, std::uint32_t slot) {
      if (slot >= sums_.first_of_segments()) return;
      parameters_[slot] = sums_.rows.heavy.vector(0)[cell];
      squares_[slot] = heavy_squares_[cell];
    });
  }

  // Updates the attributes of one part with the residuals of sentence s.
  TRELLIS_INLINE void step(std::size_t s, const Real* residual, std::size_t part, std::size_t n_parts) {
    const Sites& at = data_.attributes;
    for (std::size_t t = starts_[s]; t < static_cast<std::size_t>(starts_[s + 1]); ++t, residual += stride_)
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i) {
        const std::int32_t a = at.ids[i];
        if (i + kAhead < at.starts[starts_[s + 1]]) ask_for(at.ids[i + kAhead]);
        if (n_parts > 1 && part_of(a, n_parts) != part) continue;
        const double value = at.values ? at.values[i] : 1;
        if (sums_.rows.heavy.number(a) >= 0) {
          step_vector(sums_.rows.heavy.number(a), value, shares_.attributes[a], residual);
          continue;
        }
        for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
          sums_.rows.weight(k) = static_cast<Real>(step_one(k, value * residual[layout_.row_labels[k]], shares_.attributes[a]));
      }
  }

  // Update with the sums in `piece` over the sentences of a batch. Its slots are reset to zero.
  TRELLIS_INLINE void step_edges(const std::int64_t* sentences, std::size_t n, Piece& piece) {
    const std::size_t first_pair = layout_.row_labels.size() + sums_.n_edge_slots();
    const std::size_t first_triple = first_pair + layout_.edge_places.size();
    for (std::size_t j = 0; j < n; ++j) {
      step_sites(data_.edge_attributes, 1, sentences[j], layout_.edge_row_starts, shares_.edge_attributes, 0, piece);
      if (data_.segments)
        step_sites(data_.segments->attributes, static_cast<std::int64_t>(data_.segments->rules->longest), sentences[j],
                   layout_.row_starts, shares_.segment_attributes, sums_.n_edge_slots() - sums_.first_of_segments(), piece);
    }
    for (std::size_t i = 0; i < layout_.edge_places.size(); ++i)
      sums_.set_pair(i, step_one(first_pair + i, piece.pairs[sums_.pair_place(i)], batch_share_));
    for (std::size_t i = 0; i < layout_.tri_places.size(); ++i)
      sums_.set_triple(i, step_one(first_triple + i, piece.triples[layout_.tri_places[i]], batch_share_));
    sums_.set_factors();
  }

 private:
  // Updates the rows of attributes at the sites of sentence s, n per token; `shift` from an index in rows to a slot.
  TRELLIS_INLINE void step_sites(const Sites& at, std::int64_t n, std::int64_t s, std::span<const std::uint32_t> row_starts,
                                 const std::vector<double>& shares, std::size_t shift, Piece& piece) {
    for (std::int64_t i = at.starts ? at.starts[n * starts_[s]] : 0; at.starts && i < at.starts[n * starts_[s + 1]]; ++i)
      for (std::size_t slot = row_starts[at.ids[i]] + shift; slot != row_starts[at.ids[i] + 1] + shift; ++slot) {
        const double g = std::exchange(piece.slots[slot], 0);
        sums_.slot_weights[slot] = static_cast<Real>(step_one(sums_.parameter_of(slot), g, shares[at.ids[i]]));
      }
  }

  template <class Visit>
  void each_heavy_slot(Visit visit) const {
    for (std::size_t a = 0; a < layout_.n_attributes; ++a)
      if (sums_.rows.heavy.number(a) >= 0)
        for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
          visit(sums_.rows.heavy.number(a) * stride_ + layout_.row_labels[k], k);
  }

  // Neighbouring attributes belong to one part: their parameters share cache lines.
  static std::size_t part_of(std::int32_t a, std::size_t n_parts) { return static_cast<std::size_t>(a) / 64 % n_parts; }

  static constexpr std::int64_t kAhead = 6;  // prefetch distance, in items
  TRELLIS_INLINE void ask_for(std::int32_t a) const {
    const std::uint32_t slot = layout_.row_starts[a];
    __builtin_prefetch(parameters_ + slot);
    __builtin_prefetch(squares_ + slot);
  }

  TRELLIS_INLINE double step_one(std::size_t k, double g, double share) {
    rule_.step(parameters_[k], squares_[k], g, share);
    return parameters_[k];
  }

  TRELLIS_INLINE void step_vector(std::size_t number, double value, double share, const Real* residual) {
    const auto penalty = static_cast<Real>(2 * rule_.c2 * share), times = static_cast<Real>(value);
    const auto rate_of_all = static_cast<Real>(rule_.rate);
    for (std::size_t z = 0; z < stride_; z += kLanes<Real>) {
      const std::size_t cell = number * stride_ + z;
      Real* weights = sums_.rows.heavy.vector(number) + z;
      Vector<Real> w = lanes(weights);
      const Vector<Real> g = lanes(has_.data() + cell) * (times * lanes(residual + z)) + penalty * w;
      const Vector<Real> squares = lanes_at(heavy_squares_.data() + cell) = lanes(heavy_squares_.data() + cell) + g * g;
      Vector<Real> root = squares;
      for (std::size_t lane = 0; lane < kLanes<Real>; ++lane) root[lane] = std::sqrt(root[lane]);
      const Vector<Real> rate = squares > Real(0) ? rate_of_all / root : Vector<Real>{};
      w -= rate * g;
      if (rule_.c1 > 0) {
        const Vector<Real> nearer = rate * static_cast<Real>(rule_.c1 * share);
        w = w > nearer ? w - nearer : w < -nearer ? w + nearer : Vector<Real>{};
      }
      lanes_at(weights) = w;
    }
  }

  const AdaGrad rule_;
  const Layout& layout_;
  const ChainData& data_;
  const std::int64_t* starts_;
  SentenceSums<Real>& sums_;
  double *parameters_, *squares_;
  const std::size_t stride_;
  const double batch_share_;
  const Shares& shares_;
  std::vector<Real> heavy_squares_, has_;              // [n_heavy, stride]; has: 1 where there is a parameter
};

}  // namespace trellis
