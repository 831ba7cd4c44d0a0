// Sum-product over the states of a chain with label n-grams: one number per n-gram instead of a row per state. A *context* is
// a label alone or an n-gram with a child; the states of a token are contexts. Forbidden labels have a factor of 0.
//
//   mass[c] = sum of alpha over states that end in context c
//   flow[(c, z)] = mass[c] - sum over n-grams (d, z), d one label longer than c, of mass[d]
//
// is the mass that continues with label z by n-gram (c, z) and no longer one. If it is a small part of mass[c], the difference
// is mostly rounding error, so it is recomputed without subtraction: alpha[c] + sum over contexts d without (d, z) of mass[d].
#pragma once
#include "engine/ngram_scores.hpp"
#include "engine/row.hpp"

namespace trellis {

// The n-grams of a chain as arrays, longest contexts first. Label pair (y, z) has the index y · stride + z; longer
// n-grams, grouped by context, have the indices from (L + 1) · stride on.
class NgramPlan {
 public:
  static constexpr std::uint32_t kNoPlace = ~0u;

  NgramPlan() = default;
  explicit NgramPlan(const Ngrams& ngrams)
      : n_nodes(ngrams.size()), n_labels(ngrams.n_labels()), stride(padded(n_labels)), pair_size((n_labels + 1) * stride),
        n_words((n_labels + 63) / 64) {
    std::vector<std::vector<std::uint32_t>> by_length(ngrams.order() + 2);
    for (std::uint32_t g = 1; g < ngrams.size(); ++g)
      if (ngrams.length(g) == 1 || ngrams.n_children(g)) by_length[ngrams.length(g)].push_back(g);
    for (std::size_t length = by_length.size(); length-- > 1;) {
      if (length == 1) n_long = contexts.size();
      contexts.insert(contexts.end(), by_length[length].begin(), by_length[length].end());
    }
    number.assign(ngrams.size(), kNoPlace), place.assign(ngrams.size(), kNoPlace);
    for (std::uint32_t i = 0; i < contexts.size(); ++i) number[contexts[i]] = i;
    starts.assign(1, 0), masks.assign(contexts.size() * n_words, 0);
    for (std::uint32_t i = 0; i < contexts.size(); ++i) {
      const std::uint32_t c = contexts[i];
      last.push_back(ngrams.label(c));
      shorter.push_back(i < n_long ? number[ngrams.shorter(c)] : kNoPlace);
      ngrams.each_child(c, [&](std::uint32_t g) {
        masks[i * n_words + ngrams.label(g) / 64] |= std::uint64_t{1} << ngrams.label(g) % 64;
        if (i >= n_long) return;
        place[g] = static_cast<std::uint32_t>(pair_size + nodes.size());
        nodes.push_back(g), labels.push_back(ngrams.label(g));
      });
      starts.push_back(nodes.size());
    }
    for (std::uint32_t g : nodes) {
      targets.push_back(number[ngrams.state(g)]);
      const std::uint32_t less = ngrams.shorter(g);
      shorter_grams.push_back(ngrams.length(less) == 2 ? pair_place(ngrams, less) : place[less]);
    }
    longer.assign(contexts.size(), {});
    for (std::uint32_t i = 0; i < n_long; ++i) longer[shorter[i]].push_back(i);
    for (std::uint32_t i = 0; i < n_long; ++i)
      if (ngrams.length(contexts[i]) == 2) pair_states.push_back({pair_place(ngrams, contexts[i]), i});
  }

  std::uint32_t single(std::size_t z) const { return static_cast<std::uint32_t>(n_long + z); }  // its context; NULL is L
  std::size_t n_grams() const { return nodes.size(); }
  bool has(std::size_t context, std::size_t z) const { return masks[context * n_words + z / 64] >> z % 64 & 1; }

  std::size_t n_nodes = 0, n_labels = 0, stride = 0, pair_size = 0;
  std::size_t n_long = 0;                     // contexts of two labels and more, which come first
  std::vector<std::uint32_t> contexts;        // [n_contexts] nodes; last the single labels, then NULL
  std::vector<std::uint32_t> number, place;   // [n_nodes] context number of a node; index of an n-gram of three labels and more
  std::vector<std::uint16_t> last;            // [n_contexts] the last label of each
  std::vector<std::uint32_t> shorter;         // [n_contexts] the context without its first label; kNoPlace of one label
  std::vector<std::vector<std::uint32_t>> longer;  // [n_contexts] the contexts one label longer
  std::vector<std::size_t> starts;            // [n_contexts + 1] the n-grams of three labels and more, by context:
  std::vector<std::uint32_t> nodes;           // [n_grams]
  std::vector<std::uint16_t> labels;          // [n_grams] the last label of each
  std::vector<std::uint32_t> targets;         // [n_grams] the context that is the next state
  std::vector<std::uint32_t> shorter_grams;   // [n_grams] the index of the n-gram without its first label
  struct PairState {
    std::uint32_t place, context;
  };
  std::vector<PairState> pair_states;         // label pairs that are states: their indices, their contexts

 private:
  std::uint32_t pair_place(const Ngrams& ngrams, std::uint32_t g) const {
    return static_cast<std::uint32_t>(ngrams.label(ngrams.parent(g)) * stride + ngrams.label(g));
  }

  std::size_t n_words = 0;
  std::vector<std::uint64_t> masks;  // [n_contexts, n_words] bit set of the labels that extend each to an n-gram
};

// The scratch and the single steps of one thread.
class FlowPasses {
 public:
  // totals [n_grams]: factors of the total score of each n-gram, in the order of the plan.
  void begin(const NgramPlan& plan, const double* totals) {
    plan_ = &plan, totals_ = totals;
    const std::size_t n_places = plan.pair_size + plan.n_grams();
    pairs_.resize(plan.pair_size), flows_.resize(n_places), values_.resize(n_places), mass_.resize(plan.contexts.size());
    arrived_.resize(plan.stride);
  }

  // alpha [n_contexts] of the previous token, `to` of this one.
  TRELLIS_INLINE void forward(const ChainView<double>& chain, std::size_t t, const double* alpha, double* to) {
    const NgramPlan& p = *plan_;
    set_flows(alpha);
    set_factors(chain, t);
    std::fill_n(to, p.contexts.size(), 0.0);
    each_gram([&](std::size_t i, std::size_t k) TRELLIS_INLINE_LAMBDA {
      to[p.targets[k]] += flows_[p.pair_size + k] * factors_[k] * pairs_[p.last[i] * p.stride + p.labels[k]];
    });
    std::fill(arrived_.begin(), arrived_.end(), 0.0);
    double* products = values_.data();
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      for (std::size_t z = 0; z < p.stride; z += kLanes<double>)
        lanes_at(products + y * p.stride + z) = lanes(flows_.data() + y * p.stride + z) * lanes(pairs_.data() + y * p.stride + z);
    });
    for (const auto& [place, context] : p.pair_states)
      if (mass_[p.n_long + place / p.stride] != 0) {
        to[context] += products[place];
        products[place] = 0;
      }
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      for (std::size_t z = 0; z < p.stride; z += kLanes<double>)
        lanes_at(arrived_.data() + z) += lanes(products + y * p.stride + z);
    });
    for (std::size_t z = 0; z < p.n_labels; ++z) to[p.single(z)] += arrived_[z];
  }

  // One step of the backward pass: alpha of the previous token, beta [n_contexts] of this one; writes to `betas` the previous
  // token's beta for contexts with mass. Afterwards expectation(index) is P(the labels up to t end in the n-gram of that index).
  TRELLIS_INLINE void backward(const ChainView<double>& chain, std::size_t t, const double* alpha, const double* beta,
                               double* betas) {
    const NgramPlan& p = *plan_;
    set_flows(alpha);
    set_factors(chain, t);
    std::fill_n(betas, p.contexts.size(), 0.0);
    // values: total · edge · emit · beta of the next state
    for (std::size_t z = 0; z < p.n_labels; ++z) arrived_[z] = beta[p.single(z)];
    std::fill(arrived_.begin() + static_cast<std::ptrdiff_t>(p.n_labels), arrived_.end(), 0.0);
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      for (std::size_t z = 0; z < p.stride; z += kLanes<double>)
        lanes_at(values_.data() + y * p.stride + z) = lanes(pairs_.data() + y * p.stride + z) * lanes(arrived_.data() + z);
    });
    for (const auto& [place, context] : p.pair_states)
      if (mass_[p.n_long + place / p.stride] != 0) values_[place] = pairs_[place] * beta[context];
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      betas[p.single(y)] = sum_lanes(values_.data() + y * p.stride, p.stride);
    });
    for (std::size_t i = p.n_long; i-- > 0;) {
      if (mass_[i] == 0) continue;
      const double* pairs = pairs_.data() + p.last[i] * p.stride;
      double more = 0;
      for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) {
        const double value = factors_[k] * pairs[p.labels[k]] * beta[p.targets[k]];
        values_[p.pair_size + k] = value;
        more += value - values_[p.shorter_grams[k]];
      }
      const double least = kCancelled * betas[p.shorter[i]];
      betas[i] = betas[p.shorter[i]] + more;
      if (!(betas[i] > least)) betas[i] = sum_after(i);
    }
    // expectation[g] = flow[g] · value[g] + sum over h one label longer of expectation[h]
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      for (std::size_t z = 0; z < p.stride; z += kLanes<double>)
        lanes_at(flows_.data() + y * p.stride + z) *= lanes(values_.data() + y * p.stride + z);
    });
    each_gram([&](std::size_t, std::size_t k) TRELLIS_INLINE_LAMBDA { flows_[p.pair_size + k] *= values_[p.pair_size + k]; });
    each_gram([&](std::size_t, std::size_t k) TRELLIS_INLINE_LAMBDA { flows_[p.shorter_grams[k]] += flows_[p.pair_size + k]; });
  }
  // After a backward step, for contexts with mass.
  bool has_mass(std::size_t context) const { return mass_[context] != 0; }
  const double* expectations() const { return flows_.data(); }  // [pair_size + n_grams]

 private:
  // A difference below this share of its minuend is not trusted: the rounding error is about 1e-16 of the minuend.
  static constexpr double kCancelled = 1e-5;

  template <class Visit>
  TRELLIS_INLINE void each_last(Visit visit) const {
    for (std::size_t y = 0; y <= plan_->n_labels; ++y)
      if (mass_[plan_->n_long + y] != 0) visit(y);
  }
  // Calls visit(i, k) for the n-grams k of every longer context i with mass, longest first.
  template <class Visit>
  TRELLIS_INLINE void each_gram(Visit visit) const {
    for (std::size_t i = 0; i < plan_->n_long; ++i)
      for (std::size_t k = plan_->starts[i]; mass_[i] != 0 && k < plan_->starts[i + 1]; ++k) visit(i, k);
  }

  // pairs[y][z] = edge[y][z] · emit[z] for the y with mass; zero in the padding. Totals include the scores of n-grams and their
  // suffixes at this token alone.
  TRELLIS_INLINE void set_factors(const ChainView<double>& chain, std::size_t t) {
    const NgramPlan& p = *plan_;
    const double* emit = chain.emit_at(t);
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      const double* edge = chain.edge_at(t, y);
      double* to = pairs_.data() + y * p.stride;
      for (std::size_t z = 0; z < p.stride; z += kLanes<double>) lanes_at(to + z) = lanes(edge + z) * lanes(emit + z);
      std::fill(to + p.n_labels, to + p.stride, 0.0);
    });
    factors_ = totals_;
    const TokenNgrams<double>* by_token = chain.ngrams->by_token;
    if (!by_token || by_token->starts[t] == by_token->starts[t + 1]) return;
    token_totals_.assign(p.n_grams(), 1);
    for (std::size_t i = by_token->starts[t]; i < by_token->starts[t + 1]; ++i)
      token_totals_[p.place[by_token->nodes[i]] - p.pair_size] = by_token->scores[i];
    for (std::size_t k = p.n_grams(); k-- > 0;)
      if (p.shorter_grams[k] >= p.pair_size) token_totals_[k] *= token_totals_[p.shorter_grams[k] - p.pair_size];
    for (std::size_t k = 0; k < p.n_grams(); ++k) token_totals_[k] *= totals_[k];
    factors_ = token_totals_.data();
  }

  TRELLIS_INLINE void set_flows(const double* alpha) {
    const NgramPlan& p = *plan_;
    std::copy_n(alpha, p.contexts.size(), mass_.data());
    for (std::size_t i = 0; i < p.n_long; ++i) mass_[p.shorter[i]] += mass_[i];
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      std::fill_n(flows_.data() + y * p.stride, p.stride, mass_[p.n_long + y]);
    });
    each_gram([&](std::size_t i, std::size_t k) TRELLIS_INLINE_LAMBDA { flows_[p.pair_size + k] = mass_[i]; });
    each_gram([&](std::size_t i, std::size_t k) TRELLIS_INLINE_LAMBDA { flows_[p.shorter_grams[k]] -= mass_[i]; });
    each_gram([&](std::size_t i, std::size_t k) TRELLIS_INLINE_LAMBDA {
      if (double& flow = flows_[p.pair_size + k]; flow < kCancelled * mass_[i]) flow = sum_before(alpha, i, p.labels[k]);
    });
    each_last([&](std::size_t y) TRELLIS_INLINE_LAMBDA {
      const double least = kCancelled * mass_[p.n_long + y];
      double* row = flows_.data() + y * p.stride;
      for (std::size_t z = 0; z < p.n_labels; ++z)
        if (row[z] < least) row[z] = sum_before(alpha, p.n_long + y, z);
    });
  }
  double sum_before(const double* alpha, std::size_t context, std::size_t z) const {
    const NgramPlan& p = *plan_;
    double sum = alpha[context];
    for (const std::uint32_t d : p.longer[context])
      if (!p.has(d, z)) sum += mass_[d];
    return sum;
  }
  // sum_z of the value of the longest n-gram of a context with z; values of the context and its suffixes are already set.
  double sum_after(std::size_t context) {
    const NgramPlan& p = *plan_;
    double* row = arrived_.data();
    fill_after(context, row);
    return sum_lanes(row, p.stride);
  }
  void fill_after(std::size_t context, double* row) const {
    const NgramPlan& p = *plan_;
    if (context >= p.n_long) {
      std::copy_n(values_.data() + (context - p.n_long) * p.stride, p.stride, row);
      return;
    }
    fill_after(p.shorter[context], row);
    for (std::size_t k = p.starts[context]; k < p.starts[context + 1]; ++k) row[p.labels[k]] = values_[p.pair_size + k];
  }

  const NgramPlan* plan_ = nullptr;
  const double *totals_ = nullptr, *factors_ = nullptr;  // [n_grams]; those of the token
  std::vector<double> token_totals_;     // [n_grams]
  std::vector<double> pairs_;            // [L + 1, stride]
  std::vector<double> flows_, values_;   // [pair_size + n_grams]
  std::vector<double> mass_, arrived_;   // [n_contexts], [stride]
};

}  // namespace trellis
