// Chains with label triples (order 2 with sparse n-grams) whose tokens have lists of few labels: small tables over the listed
// labels of two tokens are faster than states then. Of the triples those that exist are looked up.
#pragma once
#include <utility>

#include "engine/expectations.hpp"
#include "engine/ngram_scores.hpp"
#include "engine/scale.hpp"

namespace trellis {

// Whether a chain has such lists, with at most so many triples per token on average.
inline bool has_few_triples(const ChainView<double>& chain, std::size_t most) {
  if (!chain.allowed || !chain.ngrams || chain.ngrams->ngrams->order() != 2 || chain.ngrams->by_token) return false;
  std::size_t total = 0, x = 1, y = 1;
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    const std::size_t z = labels_of(*chain.allowed, t).n;
    total += x * y * z;
    x = y, y = z;
  }
  return total <= most * chain.n_tokens;
}

// Sums of products over one chain at a time, of at least one token; scratch of one thread.
class ListedPasses {
 public:
  // `chain` has factors, whose ranges stand in sums. Gives log Z; minus infinity where sums vanish.
  double sum(const ChainView<double>& chain, ForwardSums& sums) {
    begin(chain);
    const ListedLabels last = listed(chain.n_tokens - 1, 0);
    return sum_forward(
        chain.n_tokens, sums, [&](std::size_t t) { return forward(chain, t); },
        [&](std::size_t i) { return chain.end ? chain.end[last[i % last.n]] : 1; });
  }
  // After it: what is wanted.
  //   after[y][z] = edge[y][z] · emit_t[z] · beta_t[y][z]
  //   beta_{t-1}[x][y] = sum_z tri[x, y, z] · after[y][z],   P(x, y, z) = alpha_{t-1}[x][y] · tri[x, y, z] · after[y][z]
  void expect(const ChainView<double>& chain, ForwardSums& sums, const HistoryExpectations& wanted) {
    std::vector<double>& beta = sums.beta;
    const double* scores = chain.ngrams->scores;
    for (std::size_t t = chain.n_tokens; t-- > 0;) {
      const ListedLabels xs = listed(t, 2), ys = listed(t, 1), zs = listed(t, 0);
      for (std::size_t j = 0; j < ys.n; ++j)
        for (std::size_t k = 0; k < zs.n; ++k)
          expect_pair(wanted, chain, t, ys[j], zs[k], alpha_[at_[t] + j * zs.n + k] * beta[j * zs.n + k]);
      if (t == 0) break;
      const double *emit = chain.emit_at(t), *before = alpha_.data() + at_[t - 1];
      before_.resize(xs.n * ys.n), row_.resize(zs.n);
      auto triple = triples_.begin() + static_cast<std::ptrdiff_t>(ends_[t - 1]);
      const auto end = triples_.begin() + static_cast<std::ptrdiff_t>(ends_[t]);
      for (std::size_t j = 0; j < ys.n; ++j) {
        const double* edge = chain.edge_at(t, ys[j]);
        double all = 0;
        for (std::size_t k = 0; k < zs.n; ++k)
          all += row_[k] = edge[zs[k]] * emit[zs[k]] * beta[j * zs.n + k] * sums.scales[t];
        for (std::size_t i = 0; i < xs.n; ++i) {
          const std::size_t pair = i * ys.n + j;
          before_[pair] = all;
          const auto first = triple;
          for (; triple != end && triple->pair == pair; ++triple) {
            const double follows = scores[triple->node] * row_[triple->k];
            if (wanted.ngrams) wanted.ngrams[triple->node] += wanted.weight * (before[pair] * follows);
            triple->without = std::exchange(row_[triple->k], follows);
          }
          if (triple == first) continue;
          before_[pair] = 0;
          for (const double follows : row_) before_[pair] += follows;
          for (auto one = first; one != triple; ++one) row_[one->k] = one->without;
        }
      }
      for (std::size_t pair = 0; pair < before_.size(); ++pair)  // of what is never met beta may be too large for a number
        if (before[pair] == 0) before_[pair] = 0;
      beta.swap(before_);
    }
  }

 private:
  // A triple that exists, with a pair of labels by its place in the table before and label number k of a token.
  struct Triple {
    std::uint32_t pair, k, node;
    double without;  // what its place in a row has without it
  };

  // The labels at t - back, or NULL before the sentence.
  ListedLabels listed(std::size_t t, std::size_t back) const {
    return t < back ? ListedLabels{&null_, 1} : labels_of(*sets_, t - back);
  }
  // The pair of labels as an n-gram if some triple begins with it, else kNone.
  std::uint32_t beginning(std::size_t y, std::size_t z) const {
    const std::uint32_t node = ngrams_->find(static_cast<std::uint32_t>(1 + y), z);
    return node != Ngrams::kNone && ngrams_->n_children(node) ? node : Ngrams::kNone;
  }
  // Calls visit(triple, k) for those that exist of a pair of labels and a third one from a list.
  template <class Visit>
  TRELLIS_INLINE void each_triple(std::uint32_t pair, const ListedLabels& labels, Visit visit) const {
    if (ngrams_->n_children(pair) <= labels.n) {
      ngrams_->each_child(pair, [&](std::uint32_t child) TRELLIS_INLINE_LAMBDA {
        if (const std::int32_t k = place_[ngrams_->label(child)]; k >= 0) visit(child, static_cast<std::size_t>(k));
      });
      return;
    }
    for (std::size_t k = 0; k < labels.n; ++k)
      if (const std::uint32_t child = ngrams_->find(pair, labels[k]); child != Ngrams::kNone) visit(child, k);
  }

  void begin(const ChainView<double>& chain) {
    ngrams_ = chain.ngrams->ngrams, sets_ = chain.allowed, null_ = static_cast<std::int32_t>(chain.n_labels);
    at_.assign(1, 0);
    for (std::size_t t = 0; t < chain.n_tokens; ++t) at_.push_back(at_[t] + listed(t, 1).n * listed(t, 0).n);
    if (alpha_.size() < at_.back()) alpha_.resize(at_.back());
    if (place_.size() < chain.n_labels) place_.resize(chain.n_labels, -1);
    triples_.clear(), ends_.clear();
  }

  //   alpha_t[y][z] = (sum_x alpha_{t-1}[x][y] · tri[x, y, z]) · edge[y][z] · emit_t[z]
  std::span<double> forward(const ChainView<double>& chain, std::size_t t) {
    const ListedLabels xs = listed(t, 2), ys = listed(t, 1), zs = listed(t, 0);
    const double *emit = chain.emit_at(t), *before = t ? alpha_.data() + at_[t - 1] : nullptr;
    double* alpha = alpha_.data() + at_[t];
    row_.resize(zs.n);
    for (std::size_t k = 0; k < zs.n; ++k) place_[zs[k]] = static_cast<std::int32_t>(k);
    for (std::size_t j = 0; j < ys.n; ++j) {
      double other = t ? 0 : 1;  // of pairs with which no triple begins
      std::fill(row_.begin(), row_.end(), 0.0);
      for (std::size_t i = 0; t && i < xs.n; ++i) {
        const double mass = before[i * ys.n + j];
        const std::uint32_t pair = beginning(xs[i], ys[j]);
        if (pair == Ngrams::kNone) {
          other += mass;
          continue;
        }
        const std::size_t first = triples_.size();
        each_triple(pair, zs, [&](std::uint32_t triple, std::size_t k) TRELLIS_INLINE_LAMBDA {
          triples_.push_back({static_cast<std::uint32_t>(i * ys.n + j), static_cast<std::uint32_t>(k), triple, row_[k]});
        });
        for (double& sum_x : row_) sum_x += mass;
        for (std::size_t n = first; n < triples_.size(); ++n)
          row_[triples_[n].k] = triples_[n].without + mass * chain.ngrams->scores[triples_[n].node];
      }
      const double* edge = chain.edge_at(t, ys[j]);
      for (std::size_t k = 0; k < zs.n; ++k)
        alpha[j * zs.n + k] = (row_[k] + other) * edge[zs[k]] * emit[zs[k]];
    }
    for (std::size_t k = 0; k < zs.n; ++k) place_[zs[k]] = -1;
    ends_.push_back(triples_.size());
    return {alpha, ys.n * zs.n};
  }

  const Ngrams* ngrams_ = nullptr;
  const LabelSets* sets_ = nullptr;
  std::int32_t null_ = 0;
  std::vector<std::size_t> at_;      // [T + 1] where the tables of a token begin
  std::vector<double> alpha_;          // [T] tables [labels of t - 1, labels of t]; each sums to one
  std::vector<double> before_;         // one such table: beta of the token before
  std::vector<double> row_;            // [labels of t]
  std::vector<Triple> triples_;      // that end at a token, token by token, those of a pair together
  std::vector<std::int32_t> place_;  // [n_labels] in the list of a token, -1: not there
  std::vector<std::size_t> ends_;    // [T] where the triples of a token end
};

}  // namespace trellis
