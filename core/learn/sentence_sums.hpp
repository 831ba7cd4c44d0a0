// The sums over one sentence that losses and gradients are made of: over all its paths (fast by scaled products, by
// logarithms where those underflow), over the gold path, and over local decisions.
#pragma once
#include "engine/forward_backward.hpp"
#include "weights/layout.hpp"
#include "engine/sum_product.hpp"
#include "weights/site_rows.hpp"

namespace trellis {

// Gradient sums of one piece of sentences.
struct Piece {
  std::vector<double> pairs, triples, edge_slots;
};

template <class Real>
class SentenceSums {
 public:
  struct Scratch {
    std::vector<Real> emit, token_edge, node, token_pairs, pairs, pair_sums, triples;
    std::vector<double> exact_emit, exact_edge, exact_node, exact_pairs;
    SumProductScratch<Real> sums;
    SumWorkspace exact;
  };

  SentenceSums(const Layout& layout, const ChainData& data, const std::int64_t* starts, std::size_t n_sentences,
               const Gold& gold, bool local)
      : rows(layout, data.attributes, n_sentences ? starts[n_sentences] : 0), layout_(layout), data_(data),
        starts_(starts), gold_(gold), local_(local), L_(layout.n_labels), stride_(padded(layout.n_labels)),
        pair_cells_((L_ + 1) * stride_), triple_cells_(layout.order == 2 ? (L_ + 1) * pair_cells_ : 0),
        edge_(pair_cells_), tri_(triple_cells_, 0) {}

  std::size_t n_edge_slots() const { return layout_.edge_row_labels.size(); }
  std::size_t cells() const { return pair_cells_ + triple_cells_ + n_edge_slots(); }

  void set(const double* parameters) {
    rows.set(parameters);
    const double* edge_slots = parameters + layout_.row_labels.size();
    const double* pairs = edge_slots + n_edge_slots();
    const double* triples = pairs + layout_.edge_places.size();
    edge_weights.assign(edge_slots, pairs);
    for (std::size_t i = 0; i < pair_cells_; ++i) edge_[i] = layout_.edge_base[i];
    for (std::size_t i = 0; i < layout_.edge_places.size(); ++i) set_pair(i, pairs[i]);
    for (std::size_t i = 0; i < layout_.tri_places.size(); ++i) set_triple(i, triples[i]);
    set_factors();
  }
  void set_pair(std::size_t i, double weight) {
    const std::int32_t place = layout_.edge_places[i];
    edge_[place] = static_cast<Real>(layout_.edge_base[place] + weight);
  }
  void set_triple(std::size_t i, double weight) { tri_[layout_.tri_places[i]] = static_cast<Real>(weight); }

  // After pairs or triples were set.
  TRELLIS_INLINE void set_factors() { trellis::set_factors(edge_, tri_, layout_.end_base, L_, factors_); }

  void begin_piece(Scratch& w, Piece& piece) const {
    piece.pairs.assign(pair_cells_, 0);
    piece.triples.assign(triple_cells_, 0);
    w.pairs.assign((stride_ + 1) * stride_, 0);
    w.pair_sums.assign(pair_cells_, 0);
    w.triples.assign(triple_cells_, 0);
  }

  // P(y, z) = product · E[y][z]; the same for triples
  void end_piece(const Scratch& w, Piece& piece) const {
    if (local_) return;
    for (std::size_t i = 0; i < pair_cells_; ++i)
      piece.pairs[i] += static_cast<double>(w.pairs[i]) * factors_.edge[i] + w.pair_sums[i];
    for (std::size_t i = 0; i < triple_cells_; ++i)
      piece.triples[i] += static_cast<double>(w.triples[i]) * factors_.tri[i];
  }

  // loss of sentence s; with a gradient also residual[t, z] = weight · (P(z at t) - [z is gold]) of its tokens, and its
  // part in the sums of the piece.
  double run(std::size_t s, double weight, Scratch& w, Piece& piece, Real* residual, bool with_gradient) {
    if (starts_[s] == starts_[s + 1]) return 0;
    return local_ ? local_sentence(s, weight, w, piece, residual, with_gradient)
                  : sentence(s, weight, w, piece, residual, with_gradient);
  }

  TRELLIS_INLINE void emissions_body(std::size_t begin, std::size_t end, Real* emit) const {
    rows.emissions(begin, end, emit);
  }
  TRELLIS_INLINE double sums_body(const Real* emit, std::size_t n, const Real* token_edge, Real weight,
                                  SumProductScratch<Real>& w, const Expectations<Real>* x) const {
    return triple_cells_ ? sum_product_2(factors_, emit, n, weight, w, x)
                         : sum_product_1(factors_, emit, n, token_edge, weight, w, x);
  }

  SiteRows<Real> rows;
  std::vector<Real> edge_weights;  // [n_edge_slots]

 private:
  void forbid_others(const LabelSets& sets, std::size_t t, Real* emit) const {
    const ListedLabels allowed = labels_of(sets, t);
    std::size_t next = 0;
    for (std::size_t z = 0; z < L_; ++z) {
      if (next < allowed.size() && allowed[next] == z) ++next;
      else emit[z] = kForbidden<Real>;
    }
  }

  void token_edges(std::size_t begin, std::size_t end, Scratch& w) const {
    const Sites& at = data_.edge_attributes;
    w.token_edge.resize((end - begin) * pair_cells_);
    for (std::size_t t = begin; t < end; ++t) {
      Real* edge = w.token_edge.data() + (t - begin) * pair_cells_;
      std::copy(edge_.begin(), edge_.end(), edge);
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
        for (std::uint32_t s = layout_.edge_row_starts[at.ids[i]]; s < layout_.edge_row_starts[at.ids[i] + 1]; ++s)
          edge[layout_.edge_row_labels[s]] += at.value(i) * edge_weights[s];
    }
  }

  void potentials(std::size_t begin, std::size_t end, Scratch& w) const {
    w.emit.resize((end - begin) * stride_);
    emissions_entry(begin, end, w.emit.data());
    if (data_.sets.starts)
      for (std::size_t t = begin; t < end; ++t) forbid_others(data_.sets, t, w.emit.data() + (t - begin) * stride_);
    if (data_.edge_attributes.starts) token_edges(begin, end, w);
  }

  // loss_i = log Z - score(gold)
  double sentence(std::size_t s, double weight, Scratch& w, Piece& piece, Real* residual, bool with_gradient) {
    const std::size_t begin = starts_[s], end = starts_[s + 1], n = end - begin;
    potentials(begin, end, w);
    const double log_z = all_paths(begin, n, weight, 1, w, piece, residual, with_gradient);
    bool known = true;
    for (std::size_t t = 0; t < n; ++t) known = known && gold_.labels[begin + t] >= 0;
    if (!known) {
      // The paths that agree with the partial labels: the same sums over fewer labels, taken away.
      for (std::size_t t = 0; t < n; ++t) {
        Real* emit = w.emit.data() + t * stride_;
        const std::int32_t label = gold_.labels[begin + t];
        if (label < 0) forbid_others(gold_.partial, begin + t, emit);
        else
          for (std::size_t z = 0; z < L_; ++z)
            if (z != static_cast<std::size_t>(label)) emit[z] = kForbidden<Real>;
      }
      return log_z - all_paths(begin, n, weight, -1, w, piece, residual, with_gradient);
    }
    return log_z - gold_path(begin, n, weight, w, piece, residual, with_gradient);
  }

  double gold_path(std::size_t begin, std::size_t n, double weight, Scratch& w, Piece& piece, Real* residual,
                   bool with_gradient) const {
    double score = 0;
    std::size_t x = L_, y = L_;
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t z = gold_.labels[begin + t], pair = y * stride_ + z;
      const std::size_t triple = (x * (L_ + 1) + y) * stride_ + z;
      const Real edge = data_.edge_attributes.starts ? w.token_edge[t * pair_cells_ + pair] : edge_[pair];
      score += static_cast<double>(w.emit[t * stride_ + z]) + edge + (triple_cells_ ? tri_[triple] : 0);
      if (with_gradient) {
        residual[t * stride_ + z] -= static_cast<Real>(weight);
        piece.pairs[pair] -= weight;
        if (triple_cells_) piece.triples[triple] -= weight;
        add_edge_slots(begin + t, piece, [&](std::uint32_t place) { return place == pair ? -weight : 0.0; });
      }
      x = y;
      y = z;
    }
    if (!layout_.end_base.empty()) score += layout_.end_base[y];
    return score;
  }

  template <class ValueOf>
  void add_edge_slots(std::size_t t, Piece& piece, ValueOf value_of) const {
    const Sites& at = data_.edge_attributes;
    if (!at.starts) return;
    for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
      for (std::uint32_t s = layout_.edge_row_starts[at.ids[i]]; s < layout_.edge_row_starts[at.ids[i] + 1]; ++s)
        piece.edge_slots[s] += at.value(i) * value_of(layout_.edge_row_labels[s]);
  }

  // Sums over all paths of w.emit; sign · weight · expectations go into residual and piece. Returns log Z.
  double all_paths(std::size_t begin, std::size_t n, double weight, int sign, Scratch& w, Piece& piece, Real* residual,
                   bool with_gradient) {
    const auto signed_weight = static_cast<Real>(sign * weight);
    const bool by_token = data_.edge_attributes.starts != nullptr;
    w.node.resize(n * stride_);
    if (by_token) w.token_pairs.resize(n * pair_cells_);
    const Expectations<Real> x{w.node.data(), w.pairs.data(), w.pair_sums.data(), w.triples.data(),
                               w.token_pairs.data()};
    const bool fast = !(by_token && triple_cells_);
    const double log_z = fast ? sums_entry(w.emit.data(), n, by_token ? w.token_edge.data() : nullptr, signed_weight,
                                           w.sums, with_gradient ? &x : nullptr)
                              : kForbidden<double>;
    if (log_z == kForbidden<double> || !std::isfinite(log_z))
      return exact_paths(begin, n, sign * weight, sign, w, piece, residual, with_gradient);
    if (!with_gradient) return log_z;
    add_nodes(n, signed_weight, sign, w.node.data(), residual);
    if (by_token)
      for (std::size_t t = 0; t < n; ++t) {
        const Real* pairs = w.token_pairs.data() + t * pair_cells_;
        for (std::size_t y = t ? 0 : L_; y < (t ? L_ : L_ + 1); ++y)
          for (std::size_t z = 0; z < L_; ++z) piece.pairs[y * stride_ + z] += signed_weight * pairs[y * stride_ + z];
        add_edge_slots(begin + t, piece, [&](std::uint32_t place) {
          return (place / stride_ == L_) == (t == 0) ? static_cast<double>(signed_weight) * pairs[place] : 0.0;
        });
      }
    return log_z;
  }

  // The first sums over a sentence set its residual, the second (of partial labels) are added.
  void add_nodes(std::size_t n, Real signed_weight, int sign, const Real* node, Real* residual) const {
    for (std::size_t i = 0; i < n * stride_; ++i)
      residual[i] = sign > 0 ? signed_weight * node[i] : residual[i] + signed_weight * node[i];
  }

  // The same by logarithms in double, for potentials whose factors underflow: slow, and right.
  double exact_paths(std::size_t begin, std::size_t n, double signed_weight, int sign, Scratch& w, Piece& piece,
                     Real* residual, bool with_gradient) {
    const bool by_token = data_.edge_attributes.starts != nullptr;
    w.exact_emit.assign(w.emit.begin(), w.emit.begin() + n * stride_);
    const std::vector<Real>& edge = by_token ? w.token_edge : edge_;
    w.exact_edge.assign(edge.begin(), edge.begin() + (by_token ? n : 1) * pair_cells_);
    std::vector<double> tri(tri_.begin(), tri_.end()), end;
    if (!layout_.end_base.empty())
      for (std::size_t y = 0; y < (triple_cells_ ? L_ + 1 : 1); ++y)
        end.insert(end.end(), layout_.end_base.begin(), layout_.end_base.end());
    ChainView<double> chain{};
    chain.n_tokens = n;
    chain.n_labels = L_;
    chain.stride = stride_;
    chain.emit = w.exact_emit.data();
    chain.edge = w.exact_edge.data();
    chain.edge_per_token = by_token;
    chain.tri = triple_cells_ ? tri.data() : nullptr;
    chain.end = end.empty() ? nullptr : end.data();
    prepare_sums(chain, w.exact);
    if (!with_gradient) return log_partition(chain, w.exact);
    w.exact_node.resize(n * L_);
    w.exact_pairs.resize(n * (L_ + 1) * L_);
    const double log_z = marginals(chain, w.exact, w.exact_node.data(), w.exact_pairs.data());
    w.node.assign(n * stride_, 0);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t z = 0; z < L_; ++z) w.node[t * stride_ + z] = static_cast<Real>(w.exact_node[t * L_ + z]);
      const double* pairs = w.exact_pairs.data() + t * (L_ + 1) * L_;
      for (std::size_t y = 0; y <= L_; ++y)
        for (std::size_t z = 0; z < L_; ++z) piece.pairs[y * stride_ + z] += signed_weight * pairs[y * L_ + z];
      add_edge_slots(begin + t, piece, [&](std::uint32_t place) {
        return signed_weight * pairs[place / stride_ * L_ + place % stride_];
      });
    }
    add_nodes(n, static_cast<Real>(signed_weight), sign, w.node.data(), residual);
    if (triple_cells_ && std::isfinite(log_z)) exact_triples(chain, log_z, signed_weight, w, piece);
    return log_z;
  }

  // P(x, y, z) = exp(alpha[t-1][x][y] + tri[x][y][z] + edge[y][z] + emit[t][z] + beta[t][y][z] - log Z)
  void exact_triples(const ChainView<double>& chain, double log_z, double signed_weight, Scratch& w, Piece& piece) const {
    const std::size_t token = L_ * stride_;
    const double *alpha = w.exact.alpha.grow(0), *beta = w.exact.beta.grow(0);
    auto add = [&](std::size_t x, std::size_t y, std::size_t z, double log_p) {
      piece.triples[(x * (L_ + 1) + y) * stride_ + z] += signed_weight * std::exp(log_p - log_z);
    };
    for (std::size_t z = 0; z < L_; ++z) add(L_, L_, z, alpha[z] + beta[z]);
    for (std::size_t t = 1; t < chain.n_tokens; ++t)
      for (std::size_t x = t > 1 ? 0 : L_; x < (t > 1 ? L_ : L_ + 1); ++x)
        for (std::size_t y = 0; y < L_; ++y)
          for (std::size_t z = 0; z < L_; ++z)
            add(x, y, z, alpha[(t - 1) * token + (t > 1 ? x * stride_ : 0) + y] + chain.tri_at(x, y)[z] +
                             chain.edge_at(t, y)[z] + chain.emit_at(t)[z] + beta[t * token + y * stride_ + z]);
  }

  // Maximum entropy: -log P(z | gold labels before it, observations) of every token.
  double local_sentence(std::size_t s, double weight, Scratch& w, Piece& piece, Real* residual_of, bool with_gradient) {
    const std::size_t begin = starts_[s], n = starts_[s + 1] - begin;
    potentials(begin, begin + n, w);
    w.node.resize(stride_);
    double loss = 0;
    std::size_t x = L_, y = L_;
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t gold = gold_.labels[begin + t];
      Real* scores = w.emit.data() + t * stride_;
      const Real* edge =
          (data_.edge_attributes.starts ? w.token_edge.data() + t * pair_cells_ : edge_.data()) + y * stride_;
      for (std::size_t z = 0; z < L_; ++z)
        scores[z] += edge[z] + (triple_cells_ ? tri_[(x * (L_ + 1) + y) * stride_ + z] : 0);
      const double gold_score = scores[gold];
      const double top = exp_row(scores, L_, stride_, w.node.data());
      const double sum = sum_lanes(w.node.data(), stride_);
      loss += top + std::log(sum) - gold_score;
      if (with_gradient) {
        Real* residual = residual_of + t * stride_;
        for (std::size_t z = 0; z < stride_; ++z) {
          const double r = weight * (w.node[z] / sum - (z == gold ? 1.0 : 0.0));
          residual[z] = static_cast<Real>(r);
          piece.pairs[y * stride_ + z] += r;
          if (triple_cells_) piece.triples[(x * (L_ + 1) + y) * stride_ + z] += r;
        }
        add_edge_slots(begin + t, piece, [&](std::uint32_t place) {
          return place / stride_ == y ? static_cast<double>(residual[place % stride_]) : 0.0;
        });
      }
      x = y;
      y = gold;
    }
    return loss;
  }

  void emissions_entry(std::size_t begin, std::size_t end, Real* emit) const;
  double sums_entry(const Real* emit, std::size_t n, const Real* token_edge, Real weight, SumProductScratch<Real>& w,
                    const Expectations<Real>* x) const;

  const Layout layout_;
  const ChainData data_;
  const std::int64_t* starts_;
  const Gold gold_;
  const bool local_;
  const std::size_t L_, stride_, pair_cells_, triple_cells_;
  std::vector<Real> edge_, tri_;
  Factors<Real> factors_;
};

}  // namespace trellis
