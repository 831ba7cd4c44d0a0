// Both passes over a chain with label n-grams, for every order and every semiring.
//
// The states at a token and all their shorter n-grams are trees, one per last label y. With a label z a state goes where
// its longest n-gram (c, z) says. All states below a node c that have no longer one with z go the same way, so they are
// pooled, from the longest n-grams to the shortest:
//
//   pool[c][z] = alpha[c] + sum over nodes d one label longer than c, without (d, z), of pool[d][z]
//   alpha'[state of (c, z)] += pool[c][z] · total[(c, z)] · edge[y][z] · emit[z]     for every n-gram (c, z) that exists
//
// in a semiring; at last for c = y alone and all z. That costs a vector over labels per state, not one step per state and
// label. Where each token has its own few labels (LabelSets), a row has those labels only: pruned and full chains are one
// recursion. The way back goes from the shortest to the longest: a state has the row of its shorter one, but for its own
// n-grams.
#pragma once
#include "engine/ngram_scores.hpp"
#include "engine/row.hpp"

namespace trellis {

// States with a number each, in the order in which they were first met.
template <class Real>
struct StateList {
  std::vector<std::uint32_t> states;
  std::vector<Real> values;
  std::size_t size() const { return states.size(); }
};

// The labels of one token: where each stands in a row, and what it gives.
template <class Real>
struct TokenLabels {
  std::size_t n, width;        // labels; lanes of a row, padded
  const std::int32_t* labels;  // [n], or null: all labels, each at its own place
  const std::int32_t* place;   // [n_labels] -1: not allowed; null as well
  const Real* emit;            // [width]

  std::size_t label(std::size_t j) const { return labels ? static_cast<std::size_t>(labels[j]) : j; }
  std::ptrdiff_t at(std::size_t label) const { return place ? place[label] : static_cast<std::ptrdiff_t>(label); }
};

// The scratch and the single steps of passes over one chain at a time; used by one thread.
template <class Real>
class HistoryPasses {
 public:
  // Ready for another chain: its n-grams may be other ones or have grown.
  void begin(const ChainView<Real>& chain) {
    for (const Pooled& pooled : pool_) place_[pooled.node] = -1;
    pool_.clear();
    chain_ = &chain;
    ngrams_ = chain.ngrams->ngrams;
    if (place_.size() < ngrams_->size()) place_.resize(ngrams_->size(), -1), met_.resize(ngrams_->size(), -1);
    if (position_.size() < chain.n_labels) position_.resize(chain.n_labels, -1);
  }

  // Calls work(labels, score) with what stands at token t: its labels, and the totals of n-grams there.
  template <class S, class Work>
  TRELLIS_INLINE void at_token(std::size_t t, Work work) {
    token_ = t;
    TokenLabels<Real> labels{chain_->n_labels, chain_->stride, nullptr, nullptr, chain_->emit_at(t)};
    if (chain_->allowed) {
      const ListedLabels listed = labels_of(*chain_->allowed, t);
      labels = {listed.n, padded(listed.n), listed.labels, position_.data(), nullptr};
      emit_.resize(std::max(emit_.size(), labels.width));
      for (std::size_t j = 0; j < listed.n; ++j) {
        position_[listed[j]] = static_cast<std::int32_t>(j);
        emit_[j] = chain_->emit_at(t)[listed[j]];
      }
      labels.emit = emit_.data();
    }
    scores_at_.template visit<S>(*chain_->ngrams, t,
                                 [&](const auto& score) TRELLIS_INLINE_LAMBDA { work(labels, score); });
    if (chain_->allowed)
      for (std::size_t j = 0; j < labels.n; ++j) position_[labels.label(j)] = -1;
  }

  // alpha of the token after `from`. What is forbidden comes to no state.
  template <class S, class Score>
  TRELLIS_INLINE void forward(const TokenLabels<Real>& labels, const Score& score, const StateList<Real>& from,
                              StateList<Real>& to) {
    constexpr Real zero = S::template zero<Real>;
    gather(from, labels.width, zero);
    for (std::size_t i = 0; i < pool_.size(); ++i)
      if (pool_[i].inner) std::fill_n(row_at(i), width_, masses_[i]);
    arrived_.assign(width_, zero);
    to.states.clear(), to.values.clear();
    const auto arrive = [&](std::uint32_t state, Real value) TRELLIS_INLINE_LAMBDA {
      if (value == zero) return;
      std::int32_t& met = met_[state];
      if (met < 0) {
        met = static_cast<std::int32_t>(to.size());
        to.states.push_back(state), to.values.push_back(value);
      } else {
        to.values[static_cast<std::size_t>(met)] = S::plus(to.values[static_cast<std::size_t>(met)], value);
      }
    };
    for (std::size_t i = 0; i < n_long_; ++i) {
      Real* above = row_at(pool_[i].shorter);
      const Real* edge = edge_of(pool_[i].node);
      const auto grown = [&](Real mass, std::uint32_t node, std::size_t j) TRELLIS_INLINE_LAMBDA {
        return S::times(S::times(S::times(mass, score(node)), edge[labels.label(j)]), labels.emit[j]);
      };
      if (pool_[i].inner) {
        Real* row = row_at(i);
        each_explicit(labels, pool_[i].node, [&](std::uint32_t node, std::size_t j) TRELLIS_INLINE_LAMBDA {
          arrive(ngrams_->state(node), grown(row[j], node, j));
          row[j] = zero;
        });
        add_row<S>(row, above, width_);
        continue;
      }
      // Nothing is pooled here: one number for all labels. Those that it has n-grams with do not go up.
      kept_.clear();
      each_explicit(labels, pool_[i].node, [&](std::uint32_t node, std::size_t j) TRELLIS_INLINE_LAMBDA {
        arrive(ngrams_->state(node), grown(masses_[i], node, j));
        kept_.emplace_back(j, above[j]);
      });
      add_row<S>(masses_[i], above, width_);
      for (const auto& [j, value] : kept_) above[j] = value;
    }
    for (std::size_t i = n_long_; i < pool_.size(); ++i) {
      Real* row = row_at(i);
      times_edges<S>(labels, pool_[i].node, row);
      for (std::size_t z = 0; z < width_; z += kLanes<Real>)
        lanes_at(row + z) = S::times(lanes(row + z), lanes(labels.emit + z));
      each_state(labels, pool_[i].node, [&](std::uint32_t state, std::size_t j) TRELLIS_INLINE_LAMBDA {
        arrive(state, row[j]);
        row[j] = zero;
      });
      add_row<S>(row, arrived_.data(), width_);
    }
    for (std::size_t j = 0; j < labels.n; ++j) arrive(static_cast<std::uint32_t>(1 + labels.label(j)), arrived_[j]);
    for (std::uint32_t state : to.states) met_[state] = -1;
  }

  // One step back: `before` are the states of the token before with their alpha, `here` those of this token with their
  // beta; gives the betas of `before`. With
  //
  //   after[d][z] = total[g] · edge[y][z] · emit[z] · beta[state of g],   g the longest n-gram of d with z
  //   beta'[d] = sum_z after[d][z],   P(history in d, z) = alpha[d] · after[d][z]
  //
  // row_of(c)[j] is then the sum over states d that end in c of alpha[d] · after[d][label j].
  template <class S, class Score>
  TRELLIS_INLINE void backward(const TokenLabels<Real>& labels, const Score& score, const StateList<Real>& before,
                               const StateList<Real>& here, std::vector<Real>& betas) {
    constexpr Real zero = S::template zero<Real>;
    gather(before, labels.width, zero);
    for (std::size_t i = 0; i < here.size(); ++i) met_[here.states[i]] = static_cast<std::int32_t>(i);
    const auto after = [&](std::uint32_t state, std::size_t j) TRELLIS_INLINE_LAMBDA {
      const std::int32_t met = met_[state];
      return met < 0 ? zero : S::times(labels.emit[j], here.values[static_cast<std::size_t>(met)]);
    };
    arrived_.assign(width_, zero);
    for (std::size_t j = 0; j < labels.n; ++j) arrived_[j] = after(static_cast<std::uint32_t>(1 + labels.label(j)), j);
    betas_.resize(pool_.size());
    for (std::size_t i = pool_.size(); i-- > 0;) {
      Real* row = row_at(i);
      if (i >= n_long_) {
        std::copy_n(arrived_.data(), width_, row);
        each_state(labels, pool_[i].node, [&](std::uint32_t state, std::size_t j) TRELLIS_INLINE_LAMBDA {
          row[j] = after(state, j);
        });
        times_edges<S>(labels, pool_[i].node, row);
        std::fill(row + labels.n, row + width_, zero);
      } else {
        const Real* edge = edge_of(pool_[i].node);
        std::copy_n(row_at(pool_[i].shorter), width_, row);
        each_explicit(labels, pool_[i].node, [&](std::uint32_t node, std::size_t j) TRELLIS_INLINE_LAMBDA {
          row[j] = S::times(S::times(score(node), edge[labels.label(j)]), after(ngrams_->state(node), j));
        });
      }
      betas_[i] = sum_row<S>(row, width_);
    }
    betas.resize(before.size());
    for (std::size_t i = 0; i < before.size(); ++i) betas[i] = betas_[static_cast<std::size_t>(place_[before.states[i]])];
    for (std::uint32_t state : here.states) met_[state] = -1;
    for (std::size_t i = 0; i < pool_.size(); ++i)
      for (std::size_t z = 0; z < width_; z += kLanes<Real>)
        lanes_at(row_at(i) + z) = S::times(masses_[i], lanes(row_at(i) + z));
    for (std::size_t i = 0; i < n_long_; ++i) add_row<S>(row_at(i), row_at(pool_[i].shorter), width_);
  }

  // After a step back: the row of a node, null where no state ends in it.
  const Real* row_of(std::uint32_t node) const {
    return place_[node] < 0 ? nullptr : rows_.data() + static_cast<std::size_t>(place_[node]) * width_;
  }
  // Calls visit(node, row) for all nodes that have a row, the longest first.
  template <class Visit>
  TRELLIS_INLINE void each_row(Visit visit) const {
    for (std::size_t i = 0; i < pool_.size(); ++i) visit(pool_[i].node, rows_.data() + i * width_);
  }

  // Calls visit(node, j) for the n-grams (c, z) that exist with the labels z of a token.
  template <class Visit>
  TRELLIS_INLINE void each_explicit(const TokenLabels<Real>& labels, std::uint32_t c, Visit visit) const {
    if (ngrams_->n_children(c) <= 2 * labels.n) {
      ngrams_->each_child(c, [&](std::uint32_t child) TRELLIS_INLINE_LAMBDA {
        if (const std::ptrdiff_t j = labels.at(ngrams_->label(child)); j >= 0) visit(child, static_cast<std::size_t>(j));
      });
      return;
    }
    for (std::size_t j = 0; j < labels.n; ++j)
      if (const std::uint32_t child = ngrams_->find(c, labels.label(j)); child != Ngrams::kNone) visit(child, j);
  }

 private:
  struct Pooled {
    std::uint32_t node;
    std::uint32_t shorter;  // where its shorter n-gram stands in the pool
    bool inner;             // whether it gets a row: some node of the pool is longer, or it has one label
  };

  const Real* edge_of(std::uint32_t node) const { return chain_->edge_at(token_, ngrams_->label(node)); }
  Real* row_at(std::size_t i) { return rows_.data() + i * width_; }

  // Calls visit(state, j) for the labels with which a last label alone goes to a state of two labels.
  template <class Visit>
  TRELLIS_INLINE void each_state(const TokenLabels<Real>& labels, std::uint32_t last, Visit visit) const {
    each_explicit(labels, last, [&](std::uint32_t node, std::size_t j) TRELLIS_INLINE_LAMBDA {
      if (ngrams_->n_children(node)) visit(node, j);
    });
  }

  // row[j] · edge[y][label j] for the last label y of a node
  template <class S>
  TRELLIS_INLINE void times_edges(const TokenLabels<Real>& labels, std::uint32_t node, Real* row) const {
    const Real* edge = edge_of(node);
    if (labels.labels)
      for (std::size_t j = 0; j < labels.n; ++j) row[j] = S::times(row[j], edge[labels.labels[j]]);
    else
      for (std::size_t z = 0; z < width_; z += kLanes<Real>) lanes_at(row + z) = S::times(lanes(row + z), lanes(edge + z));
  }

  // to[z] += from[z] (or one number for all z), and the sum over z, in a semiring.
  template <class S>
  TRELLIS_INLINE static void add_row(const Real* from, Real* to, std::size_t width) {
    if constexpr (std::is_same_v<S, LogSum>)
      for (std::size_t z = 0; z < width; ++z) to[z] = S::plus(to[z], from[z]);
    else
      for (std::size_t z = 0; z < width; z += kLanes<Real>) lanes_at(to + z) = S::plus(lanes(to + z), lanes(from + z));
  }
  template <class S>
  TRELLIS_INLINE static void add_row(Real from, Real* to, std::size_t width) {
    if constexpr (std::is_same_v<S, LogSum>)
      for (std::size_t z = 0; z < width; ++z) to[z] = S::plus(to[z], from);
    else
      for (std::size_t z = 0; z < width; z += kLanes<Real>)
        lanes_at(to + z) = S::plus(lanes(to + z), Vector<Real>{} + from);
  }
  template <class S>
  TRELLIS_INLINE static Real sum_row(const Real* row, std::size_t width) {
    if constexpr (std::is_same_v<S, SumProduct>) return sum_lanes(row, width);
    Real total = S::template zero<Real>;
    for (std::size_t z = 0; z < width; ++z) total = S::plus(total, row[z]);
    return total;
  }

  // The states and all their shorter n-grams, the longest first; often those of the token before.
  void gather(const StateList<Real>& from, std::size_t width, Real zero) {
    if (pool_.empty() || from.states != pooled_) gather_nodes(from.states);
    width_ = width;
    if (rows_.size() < pool_.size() * width) rows_.resize(pool_.size() * width);
    masses_.assign(pool_.size(), zero);
    for (std::size_t i = 0; i < from.size(); ++i) masses_[static_cast<std::size_t>(place_[from.states[i]])] = from.values[i];
  }
  void gather_nodes(const std::vector<std::uint32_t>& states) {
    for (const Pooled& pooled : pool_) place_[pooled.node] = -1;
    pooled_ = states;
    by_length_.resize(ngrams_->order() + 1);
    for (auto& nodes : by_length_) nodes.clear();
    for (std::uint32_t state : states)
      for (std::uint32_t node = state; node != Ngrams::kRoot && place_[node] < 0; node = ngrams_->shorter(node)) {
        place_[node] = 0;
        by_length_[ngrams_->length(node)].push_back(node);
      }
    pool_.clear();
    for (std::size_t length = by_length_.size(); length-- > 1;) {
      if (length == 1) n_long_ = pool_.size();
      for (std::uint32_t node : by_length_[length]) {
        place_[node] = static_cast<std::int32_t>(pool_.size());
        pool_.push_back({node, 0, length == 1});
      }
    }
    for (std::size_t i = 0; i < n_long_; ++i) {
      pool_[i].shorter = static_cast<std::uint32_t>(place_[ngrams_->shorter(pool_[i].node)]);
      pool_[pool_[i].shorter].inner = true;
    }
  }

  const ChainView<Real>* chain_ = nullptr;
  const Ngrams* ngrams_ = nullptr;
  std::size_t token_ = 0, width_ = 0;
  std::vector<Pooled> pool_;
  std::size_t n_long_ = 0;               // nodes of two labels and more, which stand first
  std::vector<std::uint32_t> pooled_;    // the states that the pool is of
  std::vector<std::vector<std::uint32_t>> by_length_;
  std::vector<std::int32_t> place_, met_;     // [n_nodes] in the pool; among the states arrived at; -1: not there
  std::vector<std::int32_t> position_;        // [n_labels] in a row, -1: not allowed
  std::vector<std::pair<std::size_t, Real>> kept_;
  std::vector<Real> rows_, masses_, betas_;   // [n_pool, width], [n_pool], [n_pool]
  std::vector<Real> emit_, arrived_;          // [width]
  ScoresAt<Real> scores_at_;
};

}  // namespace trellis
