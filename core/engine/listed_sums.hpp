// Sums over the paths of a chain of order 1 or 2 with lists of few labels per token: step by step over the listed labels. A
// state is a listed label, at order 2 a pair with a listed label of the previous token; a step leads from a state to the next.
// Label triples are a dense table or sparse n-grams, of which the existing ones are looked up.
//
//   w(step) = exp(tri[x][y][z] + edge_t[y][z] + emit_t[z] - top_t),   top_t the greatest of the token
//   alpha_t[to] = sum over steps into it of alpha_{t-1}[from] · w(step),   P(step) = alpha_{t-1}[from] · w(step) · beta_t[to]
#pragma once
#include <span>
#include <vector>

#include "engine/ngram_scores.hpp"
#include "engine/scale.hpp"

namespace trellis {

// Scratch of one thread.
template <class Real>
class ListedSums {
 public:
  // Whether a chain has lists short enough: few steps per token, or few relative to a dense table.
  static bool is_worth(const ChainView<Real>& chain) {
    constexpr std::size_t kMostTriples = 4096, kLessWork = 24;  // per token, on average; dense steps per listed step
    if (!chain.allowed || (chain.ngrams && (chain.ngrams->ngrams->order() != 2 || chain.ngrams->by_token))) return false;
    std::size_t steps = 0, dense = chain.n_tokens * chain.n_labels * chain.n_labels, x = 1, y = 1;
    for (std::size_t t = 0; t < chain.n_tokens; ++t) {
      const std::size_t z = labels_of(*chain.allowed, t).n;
      steps += chain.tri || chain.ngrams ? x * y * z : y * z;
      x = y, y = z;
    }
    if (chain.ngrams) return steps <= kMostTriples * chain.n_tokens;
    return kLessWork * steps <= (chain.tri ? dense * chain.n_labels : dense);
  }

  // log Z of at least one token; minus infinity if products underflow, or if there is no path.
  double sum(const ChainView<Real>& chain) {
    chain_ = chain, null_ = static_cast<std::int32_t>(chain.n_labels);
    const std::size_t T = chain.n_tokens;
    steps_.assign(1, 0), states_.assign(1, 0), triples_.clear();
    if (chain.ngrams && place_.size() < chain.n_labels) place_.resize(chain.n_labels, -1);
    double tops = 0, least = 0;
    for (std::size_t t = 0; t < T; ++t) {
      const TokenSteps at(*this, t);
      const std::size_t n_steps = at.xs.n * at.n_middles * at.zs.n;
      if (weights_.size() < padded(steps_[t] + n_steps)) weights_.resize(2 * padded(steps_[t] + n_steps));
      double *const first = weights_.data() + steps_[t], *weight = first;
      double top = kForbidden<double>;
      at.each_from([&](std::size_t, std::size_t, std::size_t x, std::size_t y) TRELLIS_INLINE_LAMBDA {
        const Real *edge = chain.edge_at(t, y), *emit = chain.emit_at(t), *tri = chain.tri ? chain.tri_at(x, y) : nullptr;
        for (std::size_t k = 0; k < at.zs.n; ++k) {
          double score = static_cast<double>(edge[at.zs[k]]) + emit[at.zs[k]];
          if (tri) score += tri[at.zs[k]];
          if (chain.end && t + 1 == T) score += chain.end[at.zs[k]];
          *weight++ = score;
        }
      });
      if (chain.ngrams && t) add_triples(at, t);
      for (weight = first; weight < first + n_steps; ++weight) top = std::max(top, *weight);
      if (top == kForbidden<double>) return top;
      for (weight = first; weight < first + n_steps; ++weight)
        if ((*weight -= top) < least && *weight > kForbidden<double>) least = *weight;
      tops += top;
      steps_.push_back(steps_[t] + n_steps), states_.push_back(states_[t] + at.n_middles * at.zs.n);
    }
    sums_.range = {1, least > kLow ? kLowFactor : 0};
    exp_values(weights_.data(), steps_[T]);
    alpha_.assign(states_[T], 0);
    const double log_z = sum_forward(T, sums_, [&](std::size_t t) { return forward(t); }, [](std::size_t) { return 1.0; });
    return log_z + tops;
  }

  // Afterwards: calls visit(t, x, y, z, P) for all steps, last token first.
  template <class Visit>
  void each_step(Visit visit) {
    for (std::size_t t = chain_.n_tokens; t-- > 0;) {
      const TokenSteps at(*this, t);
      const double* alpha = t ? alpha_.data() + states_[t - 1] : &kOne;
      double* weight = weights_.data() + steps_[t];  // becomes P
      for (double& beta : sums_.beta) beta *= sums_.scales[t];
      before_.resize(at.xs.n * at.n_middles);
      at.each_from([&](std::size_t from, std::size_t to, std::size_t x, std::size_t y) TRELLIS_INLINE_LAMBDA {
        const double* beta = sums_.beta.data() + to;
        double sum = 0;
        for (std::size_t k = 0; k < at.zs.n; ++k, ++weight) {
          const double after = *weight * beta[k];
          visit(t, x, y, at.zs[k], *weight = alpha[from] * after);
          sum += after;
        }
        before_[from] = alpha[from] > 0 ? sum : 0;  // beta of unreachable states may overflow
      });
      sums_.beta.swap(before_);
    }
  }

  // Afterwards: calls visit(node, P) for the sparse triples of steps.
  template <class Visit>
  void each_triple(Visit visit) const {
    for (const Triple& triple : triples_) visit(triple.node, weights_[triple.step]);
  }

 private:
  static constexpr double kOne = 1;
  static constexpr double kLow = -300, kLowFactor = 1e-131;  // below exp(kLow), products may underflow

  // The steps of one token: from all labels x that drop out, with each middle y at order 2 and alone at order 1, to labels z.
  struct TokenSteps {
    ListedLabels xs, ys, zs;
    std::size_t n_middles;
    bool second;

    TokenSteps(const ListedSums& of, std::size_t t)
        : ys(of.listed(t, 1)), zs(of.listed(t, 0)), second(of.chain_.tri || of.chain_.ngrams) {
      xs = of.listed(t, second ? 2 : 1), n_middles = second ? ys.n : 1;
    }
    // Calls visit(previous state, first next state, x, y).
    template <class Visit>
    TRELLIS_INLINE void each_from(Visit visit) const {
      for (std::size_t from = 0, i = 0; i < xs.n; ++i)
        for (std::size_t m = 0; m < n_middles; ++m, ++from) visit(from, m * zs.n, xs[i], second ? ys[m] : xs[i]);
    }
  };

  struct Triple {
    std::size_t step;
    std::uint32_t node;
  };
  // Adds the scores of triples to those of the steps of token t.
  void add_triples(const TokenSteps& at, std::size_t t) {
    const Ngrams& ngrams = *chain_.ngrams->ngrams;
    for (std::size_t k = 0; k < at.zs.n; ++k) place_[at.zs[k]] = static_cast<std::int32_t>(k);
    at.each_from([&, first = steps_[t]](std::size_t, std::size_t, std::size_t x, std::size_t y) mutable {
      const std::uint32_t pair = ngrams.find(static_cast<std::uint32_t>(1 + x), y);
      const auto add = [&](std::uint32_t node, std::size_t k) {
        weights_[first + k] += chain_.ngrams->scores[node];
        triples_.push_back({first + k, node});
      };
      if (pair == Ngrams::kNone) {
      } else if (ngrams.n_children(pair) <= at.zs.n) {
        ngrams.each_child(pair, [&](std::uint32_t node) {
          if (const std::int32_t k = place_[ngrams.label(node)]; k >= 0) add(node, static_cast<std::size_t>(k));
        });
      } else {
        for (std::size_t k = 0; k < at.zs.n; ++k)
          if (const std::uint32_t node = ngrams.find(pair, at.zs[k]); node != Ngrams::kNone) add(node, k);
      }
      first += at.zs.n;
    });
    for (std::size_t k = 0; k < at.zs.n; ++k) place_[at.zs[k]] = -1;
  }

  // The labels at t - back, or NULL before the sentence.
  ListedLabels listed(std::size_t t, std::size_t back) const {
    return t < back ? ListedLabels{&null_, 1} : labels_of(*chain_.allowed, t - back);
  }
  std::span<double> forward(std::size_t t) {
    const TokenSteps at(*this, t);
    const double *before = t ? alpha_.data() + states_[t - 1] : &kOne, *weight = weights_.data() + steps_[t];
    double* alpha = alpha_.data() + states_[t];
    at.each_from([&](std::size_t from, std::size_t to, std::size_t, std::size_t) TRELLIS_INLINE_LAMBDA {
      for (std::size_t k = 0; k < at.zs.n; ++k) alpha[to + k] += before[from] * *weight++;
    });
    return {alpha, at.n_middles * at.zs.n};
  }

  ChainView<Real> chain_{};
  std::int32_t null_ = 0;
  std::vector<std::size_t> steps_, states_;   // [T + 1] offsets by token
  std::vector<double> weights_, alpha_;       // of all steps; of all states, scaled to sum to one per token
  std::vector<double> before_;                // beta of the previous token
  std::vector<Triple> triples_;
  std::vector<std::int32_t> place_;           // [n_labels] index in the list of a token, -1: not listed
  ForwardSums sums_;
};

}  // namespace trellis
