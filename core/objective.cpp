#include "objective.hpp"

#include <algorithm>
#include <numeric>

#include "forward_backward.hpp"
#include "parallel.hpp"

namespace trellis {
namespace {

// Rows whose weights stand one after the other; heavy ones once more as vectors over all labels.
template <class Real>
struct DenseRows {
  std::vector<std::int32_t> number;  // [n_attributes] which vector, -1 for a light row
  std::vector<Real> vectors;         // [n_heavy, stride]
};

template <class Real>
class ChainObjective final : public Objective {
 public:
  ChainObjective(const Layout& layout, const ChainData& data, const std::int64_t* starts, std::size_t n_sentences,
                 const Gold& gold, bool local)
      : layout_(layout), data_(data), starts_(starts), n_sentences_(n_sentences), gold_(gold), local_(local),
        L_(layout.n_labels), stride_(padded(layout.n_labels)), n_tokens_(n_sentences ? starts[n_sentences] : 0) {
    // A row of many labels is added faster as a vector.
    heavy_.number.assign(layout.n_attributes, -1);
    std::int32_t n_heavy = 0;
    for (std::size_t a = 0; a < layout.n_attributes; ++a)
      if (layout.row_starts[a + 1] - layout.row_starts[a] >= 4 + stride_ / kLanes) heavy_.number[a] = n_heavy++;
    heavy_.vectors.assign(n_heavy * stride_, 0);
    transpose();
    const std::size_t pairs = (L_ + 1) * stride_, triples = layout.order == 2 ? (L_ + 1) * pairs : 0;
    pair_cells_ = pairs;
    triple_cells_ = triples;
    // Pieces of sentences, each with sums of its own: as many as memory allows, never depending on threads.
    const std::size_t room = (std::size_t{256} << 20) / (sizeof(double) * (2 * pairs + triples + edge_slots() + 1));
    n_pieces_ = std::clamp<std::size_t>(room, 2, 64);
    residual_.resize(n_tokens_ * stride_);
  }

  void losses(const double* parameters, std::size_t n_threads, double* losses) override {
    set(parameters);
    run(nullptr, n_threads, losses, false);
  }

  void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, double* parameters,
            double* squares, double* losses) override {
    set(parameters);
    Scratch w;
    Piece piece;
    piece.edge_slots.assign(edge_slots(), 0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t s = order[i];
      begin_piece(w, piece);
      losses[s] = one_sentence(s, weights ? weights[s] : 1.0, w, piece, true);
      end_piece(w, piece);
      step(Rule{rule, parameters, squares}, s, piece);
    }
  }

  void gradient(const double* parameters, const double* weights, std::size_t n_threads, double* losses,
                double* gradient) override {
    set(parameters);
    run(weights, n_threads, losses, true);
    sum_attributes(n_threads, gradient);
    // Sums of pieces, always in the same order.
    double* edge_slots_out = gradient + layout_.row_labels.size();
    double* edge_out = edge_slots_out + edge_slots();
    double* tri_out = edge_out + layout_.edge_places.size();
    std::fill(edge_slots_out, tri_out + layout_.tri_places.size(), 0.0);
    for (const Piece& piece : pieces_) {
      for (std::size_t s = 0; s < edge_slots(); ++s) edge_slots_out[s] += piece.edge_slots[s];
      for (std::size_t i = 0; i < layout_.edge_places.size(); ++i) edge_out[i] += piece.pairs[layout_.edge_places[i]];
      for (std::size_t i = 0; i < layout_.tri_places.size(); ++i) tri_out[i] += piece.triples[layout_.tri_places[i]];
    }
  }

 private:
  std::size_t edge_slots() const { return layout_.edge_row_labels.size(); }

  // Gradient sums of one piece of sentences.
  struct Piece {
    std::vector<double> pairs, triples, edge_slots;
  };
  struct Scratch {
    std::vector<Real> emit, token_edge, node, token_pairs, pairs, pair_sums, triples;
    std::vector<double> exact_emit, exact_edge, exact_node, exact_pairs;
    SumProductScratch<Real> sums;
    SumWorkspace exact;
    ChainView<double> exact_view{};
  };

  // Which tokens each attribute stands at.
  void transpose() {
    const TokenAttributes& at = data_.attributes;
    const std::int64_t n = n_tokens_ ? at.starts[n_tokens_] : 0;
    token_starts_.assign(layout_.n_attributes + 1, 0);
    for (std::int64_t i = 0; i < n; ++i) ++token_starts_[at.ids[i] + 1];
    std::partial_sum(token_starts_.begin(), token_starts_.end(), token_starts_.begin());
    std::vector<std::int64_t> next(token_starts_.begin(), token_starts_.end() - 1);
    tokens_.resize(n);
    if (at.values) values_.resize(n);
    for (std::size_t t = 0; t < n_tokens_; ++t)
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i) {
        const std::int64_t place = next[at.ids[i]]++;
        tokens_[place] = static_cast<std::int32_t>(t);
        if (at.values) values_[place] = at.values[i];
      }
    const TokenAttributes& edge_at = data_.edge_attributes;
    edge_shares_.assign(layout_.n_edge_attributes, 0);
    if (edge_at.starts && n_tokens_)
      for (std::int64_t i = 0; i < edge_at.starts[n_tokens_]; ++i) ++edge_shares_[edge_at.ids[i]];
    for (double& share : edge_shares_) share = share > 0 ? 1 / share : 0;
  }

  void set(const double* parameters) {
    const std::size_t n_slots = layout_.row_labels.size();
    weights_.assign(parameters, parameters + n_slots);
    for (std::size_t a = 0; a < layout_.n_attributes; ++a)
      if (heavy_.number[a] >= 0)
        for (std::uint32_t s = layout_.row_starts[a]; s < layout_.row_starts[a + 1]; ++s)
          heavy_.vectors[heavy_.number[a] * stride_ + layout_.row_labels[s]] = weights_[s];
    edge_weights_.assign(parameters + n_slots, parameters + n_slots + edge_slots());
    const double* pairs = parameters + n_slots + edge_slots();
    edge_.assign(layout_.edge_base.begin(), layout_.edge_base.end());
    for (std::size_t i = 0; i < layout_.edge_places.size(); ++i)
      edge_[layout_.edge_places[i]] += static_cast<Real>(pairs[i]);
    tri_.assign(triple_cells_, 0);
    for (std::size_t i = 0; i < layout_.tri_places.size(); ++i)
      tri_[layout_.tri_places[i]] = static_cast<Real>(pairs[layout_.edge_places.size() + i]);
    set_factors();
  }

  void set_factors() {
    factors_.n_labels = L_;
    factors_.stride = stride_;
    factors_.edge_top = exp_table(edge_, factors_.edge);
    factors_.edge_t.assign(L_ * stride_, 0);
    for (std::size_t y = 0; y < L_; ++y)
      for (std::size_t z = 0; z < L_; ++z) factors_.edge_t[z * stride_ + y] = factors_.edge[y * stride_ + z];
    if (triple_cells_) factors_.tri_top = exp_table(tri_, factors_.tri);
    if (!layout_.end_base.empty()) {
      const std::vector<Real> end(layout_.end_base.begin(), layout_.end_base.end());
      factors_.end_top = exp_table(end, factors_.end);
    }
  }

  double exp_table(const std::vector<Real>& table, std::vector<Real>& out) const {
    Real top = kForbidden<Real>;
    for (std::size_t i = 0; i < table.size(); ++i)
      if (i % stride_ < L_) top = std::max(top, table[i]);
    if (top == kForbidden<Real>) top = 0;
    out.resize(table.size());
    for (std::size_t row = 0; row < table.size(); row += stride_) {
      for (std::size_t z = 0; z < stride_; z += kLanes)
        lanes(out.data() + row + z) = exp_lanes(lanes(table.data() + row + z) - top);
      for (std::size_t z = L_; z < stride_; ++z) out[row + z] = 0;
    }
    return top;
  }

  // emit[t, z] = sum over attributes a at t of value(a) · w[a, z], minus infinity for labels the dictionary forbids
  TRELLIS_INLINE void emissions(std::size_t begin, std::size_t end, Real* emit) const {
    const TokenAttributes& at = data_.attributes;
    constexpr std::int64_t kAhead = 16;
    const std::int64_t last = at.starts[end];
    for (std::size_t t = begin; t < end; ++t, emit += stride_) {
      for (std::size_t z = 0; z < stride_; z += kLanes) lanes(emit + z) = Vector<Real>{};
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i) {
        if (i + kAhead < last) __builtin_prefetch(layout_.row_starts.data() + at.ids[i + kAhead]);
        const std::int32_t a = at.ids[i];
        const Real value = at.values ? at.values[i] : 1;
        if (heavy_.number[a] >= 0) {
          const Real* row = heavy_.vectors.data() + heavy_.number[a] * stride_;
          for (std::size_t z = 0; z < stride_; z += kLanes) lanes(emit + z) += value * lanes(row + z);
        } else {
          for (std::uint32_t s = layout_.row_starts[a]; s < layout_.row_starts[a + 1]; ++s)
            emit[layout_.row_labels[s]] += value * weights_[s];
        }
      }
      if (data_.sets.starts) forbid_others(data_.sets, t, emit);
    }
  }

  void forbid_others(const LabelSets& sets, std::size_t t, Real* emit) const {
    const ListedLabels allowed = labels_of(sets, t);
    std::size_t next = 0;
    for (std::size_t z = 0; z < L_; ++z) {
      if (next < allowed.size() && allowed[next] == z) ++next;
      else emit[z] = kForbidden<Real>;
    }
  }

  void token_edges(std::size_t begin, std::size_t end, Scratch& w) const {
    const TokenAttributes& at = data_.edge_attributes;
    w.token_edge.resize((end - begin) * pair_cells_);
    for (std::size_t t = begin; t < end; ++t) {
      Real* edge = w.token_edge.data() + (t - begin) * pair_cells_;
      std::copy(edge_.begin(), edge_.end(), edge);
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
        for (std::uint32_t s = layout_.edge_row_starts[at.ids[i]]; s < layout_.edge_row_starts[at.ids[i] + 1]; ++s)
          edge[layout_.edge_row_labels[s]] += edge_weights_[s];
    }
  }

  void run(const double* weights, std::size_t n_threads, double* losses, bool with_gradient) {
    pieces_.resize(n_pieces_);
    parallel_blocks(n_pieces_, 1, n_threads, [] { return Scratch{}; }, [&](Scratch& w, std::size_t k, std::size_t) {
      Piece& piece = pieces_[k];
      begin_piece(w, piece);
      piece.edge_slots.assign(edge_slots(), 0);
      const std::size_t first = n_sentences_ * k / n_pieces_, last = n_sentences_ * (k + 1) / n_pieces_;
      for (std::size_t s = first; s < last; ++s)
        losses[s] = one_sentence(s, weights ? weights[s] : 1.0, w, piece, with_gradient);
      if (with_gradient) end_piece(w, piece);
    });
  }

  void begin_piece(Scratch& w, Piece& piece) const {
    piece.pairs.assign(pair_cells_, 0);
    piece.triples.assign(triple_cells_, 0);
    w.pairs.assign(pair_cells_, 0);
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

  double one_sentence(std::size_t s, double weight, Scratch& w, Piece& piece, bool with_gradient) {
    return local_ ? local_sentence(s, weight, w, piece, with_gradient) : sentence(s, weight, w, piece, with_gradient);
  }

  // The step of one parameter.
  struct Rule {
    const AdaGrad& rule;
    double *parameters, *squares;
    double operator()(std::size_t s, double g, double share) const {
      double& w = parameters[s];
      g += 2 * rule.c2 * share * w;
      squares[s] += g * g;
      const double rate = squares[s] > 0 ? rule.rate / std::sqrt(squares[s]) : 0, nearer = rate * rule.c1 * share;
      w -= rate * g;
      if (rule.c1 > 0) w = w > nearer ? w - nearer : w < -nearer ? w + nearer : 0;
      return w;
    }
  };

  // Step along the gradient of sentence s: its residuals, and the sums in `piece`, whose edge slots become zero again.
  void step(const Rule& rule, std::size_t s, Piece& piece) {
    const TokenAttributes &at = data_.attributes, &edge_at = data_.edge_attributes;
    const std::size_t first_edge_slot = layout_.row_labels.size();
    for (std::size_t t = starts_[s]; t < static_cast<std::size_t>(starts_[s + 1]); ++t) {
      const Real* residual = residual_.data() + t * stride_;
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i) {
        const std::int32_t a = at.ids[i];
        const double value = at.values ? at.values[i] : 1, share = 1.0 / (token_starts_[a + 1] - token_starts_[a]);
        for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k) {
          const std::uint16_t z = layout_.row_labels[k];
          weights_[k] = static_cast<Real>(rule(k, value * residual[z], share));
          if (heavy_.number[a] >= 0) heavy_.vectors[heavy_.number[a] * stride_ + z] = weights_[k];
        }
      }
      if (!edge_at.starts) continue;
      for (std::int64_t i = edge_at.starts[t]; i < edge_at.starts[t + 1]; ++i)
        for (std::uint32_t k = layout_.edge_row_starts[edge_at.ids[i]]; k < layout_.edge_row_starts[edge_at.ids[i] + 1]; ++k) {
          edge_weights_[k] = static_cast<Real>(rule(first_edge_slot + k, piece.edge_slots[k], edge_shares_[edge_at.ids[i]]));
          piece.edge_slots[k] = 0;
        }
    }
    const std::size_t first_pair = first_edge_slot + edge_slots(), first_triple = first_pair + layout_.edge_places.size();
    const double share = 1.0 / n_sentences_;
    for (std::size_t i = 0; i < layout_.edge_places.size(); ++i) {
      const std::int32_t place = layout_.edge_places[i];
      edge_[place] = static_cast<Real>(layout_.edge_base[place] + rule(first_pair + i, piece.pairs[place], share));
    }
    for (std::size_t i = 0; i < layout_.tri_places.size(); ++i) {
      const std::int32_t place = layout_.tri_places[i];
      tri_[place] = static_cast<Real>(rule(first_triple + i, piece.triples[place], share));
    }
    set_factors();
  }

  // loss_i = log Z - score(gold); residual[t, z] = weight · (P(z at t) - [z is gold])
  double sentence(std::size_t s, double weight, Scratch& w, Piece& piece, bool with_gradient) {
    const std::size_t begin = starts_[s], end = starts_[s + 1], n = end - begin;
    if (n == 0) return 0;
    w.emit.resize(n * stride_);
    emissions_entry(begin, end, w.emit.data());
    if (data_.edge_attributes.starts) token_edges(begin, end, w);
    Real* residual = residual_.data() + begin * stride_;
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
    const TokenAttributes& at = data_.edge_attributes;
    if (!at.starts) return;
    for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
      for (std::uint32_t s = layout_.edge_row_starts[at.ids[i]]; s < layout_.edge_row_starts[at.ids[i] + 1]; ++s)
        piece.edge_slots[s] += value_of(layout_.edge_row_labels[s]);
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
  double local_sentence(std::size_t s, double weight, Scratch& w, Piece& piece, bool with_gradient) {
    const std::size_t begin = starts_[s], n = starts_[s + 1] - begin;
    if (n == 0) return 0;
    w.emit.resize(n * stride_);
    w.node.resize(stride_);
    emissions_entry(begin, begin + n, w.emit.data());
    if (data_.edge_attributes.starts) token_edges(begin, begin + n, w);
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
        Real* residual = residual_.data() + (begin + t) * stride_;
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

  // gradient[s] = sum over tokens t of attribute a of value · residual[t, label of s]
  void sum_attributes(std::size_t n_threads, double* gradient) {
    constexpr std::size_t kBlock = 512;  // attributes; the frequent ones come first, so blocks are handed out by and by
    parallel_blocks(layout_.n_attributes, kBlock, n_threads, [&] { return std::vector<double>(stride_); },
                    [&](std::vector<double>& sums, std::size_t first, std::size_t last) {
                      sum_block(first, last, sums, gradient);
                    });
  }

  void sum_block(std::size_t first, std::size_t last, std::vector<double>& sums, double* gradient) const {
    for (std::size_t a = first; a < last; ++a) {
      const std::uint32_t begin = layout_.row_starts[a], end = layout_.row_starts[a + 1];
      if (heavy_.number[a] >= 0) {
        std::fill(sums.begin(), sums.end(), 0.0);
        sum_heavy(token_starts_[a], token_starts_[a + 1], sums.data());
        for (std::uint32_t s = begin; s < end; ++s) gradient[s] = sums[layout_.row_labels[s]];
        continue;
      }
      for (std::uint32_t s = begin; s < end; ++s) {
        const Real* column = residual_.data() + layout_.row_labels[s];
        double sum = 0;
        for (std::int64_t i = token_starts_[a]; i < token_starts_[a + 1]; ++i) {
          const double r = column[static_cast<std::size_t>(tokens_[i]) * stride_];
          sum += values_.empty() ? r : r * values_[i];
        }
        gradient[s] = sum;
      }
    }
  }

  void sum_heavy(std::int64_t first, std::int64_t last, double* sums) const {
    for (std::int64_t i = first; i < last; ++i) {
      if (i + 8 < last) __builtin_prefetch(residual_.data() + static_cast<std::size_t>(tokens_[i + 8]) * stride_);
      const Real* row = residual_.data() + static_cast<std::size_t>(tokens_[i]) * stride_;
      const double value = values_.empty() ? 1.0 : values_[i];
      for (std::size_t z = 0; z < stride_; ++z) sums[z] += value * row[z];
    }
  }

  void emissions_entry(std::size_t begin, std::size_t end, Real* emit) const;
  double sums_entry(const Real* emit, std::size_t n, const Real* token_edge, Real weight, SumProductScratch<Real>& w,
                    const Expectations<Real>* x) const;

 public:
  TRELLIS_INLINE void emissions_body(std::size_t begin, std::size_t end, Real* emit) const { emissions(begin, end, emit); }
  TRELLIS_INLINE double sums_body(const Real* emit, std::size_t n, const Real* token_edge, Real weight,
                                  SumProductScratch<Real>& w, const Expectations<Real>* x) const {
    return triple_cells_ ? sum_product_2(factors_, emit, n, weight, w, x)
                         : sum_product_1(factors_, emit, n, token_edge, weight, w, x);
  }

 private:
  const Layout layout_;
  const ChainData data_;
  const std::int64_t* starts_;
  const std::size_t n_sentences_;
  const Gold gold_;
  const bool local_;
  const std::size_t L_, stride_, n_tokens_;
  std::size_t pair_cells_ = 0, triple_cells_ = 0, n_pieces_ = 0;
  DenseRows<Real> heavy_;
  std::vector<std::int64_t> token_starts_;  // [n_attributes + 1]
  std::vector<std::int32_t> tokens_;        // [n_items] the tokens of each attribute, ascending
  std::vector<float> values_;               // [n_items], or empty where all are one
  std::vector<double> edge_shares_;         // [n_edge_attributes] one over the number of tokens of each
  std::vector<Real> weights_, edge_weights_, edge_, tri_;
  Factors<Real> factors_;
  std::vector<Real> residual_;  // [n_tokens, stride]
  std::vector<Piece> pieces_;
};

TRELLIS_CLONES void emissions_float(const ChainObjective<float>& o, std::size_t begin, std::size_t end, float* emit) {
  o.emissions_body(begin, end, emit);
}
TRELLIS_CLONES void emissions_double(const ChainObjective<double>& o, std::size_t begin, std::size_t end, double* emit) {
  o.emissions_body(begin, end, emit);
}
TRELLIS_CLONES double sums_float(const ChainObjective<float>& o, const float* emit, std::size_t n,
                                 const float* token_edge, float weight, SumProductScratch<float>& w,
                                 const Expectations<float>* x) {
  return o.sums_body(emit, n, token_edge, weight, w, x);
}
TRELLIS_CLONES double sums_double(const ChainObjective<double>& o, const double* emit, std::size_t n,
                                  const double* token_edge, double weight, SumProductScratch<double>& w,
                                  const Expectations<double>* x) {
  return o.sums_body(emit, n, token_edge, weight, w, x);
}

template <>
void ChainObjective<float>::emissions_entry(std::size_t begin, std::size_t end, float* emit) const {
  emissions_float(*this, begin, end, emit);
}
template <>
void ChainObjective<double>::emissions_entry(std::size_t begin, std::size_t end, double* emit) const {
  emissions_double(*this, begin, end, emit);
}
template <>
double ChainObjective<float>::sums_entry(const float* emit, std::size_t n, const float* token_edge, float weight,
                                         SumProductScratch<float>& w, const Expectations<float>* x) const {
  return sums_float(*this, emit, n, token_edge, weight, w, x);
}
template <>
double ChainObjective<double>::sums_entry(const double* emit, std::size_t n, const double* token_edge, double weight,
                                          SumProductScratch<double>& w, const Expectations<double>* x) const {
  return sums_double(*this, emit, n, token_edge, weight, w, x);
}

}  // namespace

std::unique_ptr<Objective> make_objective(const Layout& layout, const ChainData& data, const std::int64_t* starts,
                                          std::size_t n_sentences, const Gold& gold, bool local, bool single) {
  if (single) return std::make_unique<ChainObjective<float>>(layout, data, starts, n_sentences, gold, local);
  return std::make_unique<ChainObjective<double>>(layout, data, starts, n_sentences, gold, local);
}

}  // namespace trellis
