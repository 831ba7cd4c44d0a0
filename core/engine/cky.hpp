// CKY inside-outside sums over a small grammar whose rule factors do not depend on the span: the posterior of each symbol over
// each span. A larger grammar then ignores symbols that are improbable under this one (phrase_forest.hpp).
//
//   bottom[i,j,A] = sum over k, A -> B C of p · top[i,k,B] · top[k,j,C],   top[i,j,A] = sum over A => Z of p · bottom[i,j,Z]
//
// Only products of children are summed per split, as vectors over C; rules are applied once per span. Every span has a
// scale of its own against underflow; symbols below 1e-100 of the greatest one of their span are dropped. That is part
// of the pruning: these sums only select symbols and are no model's log Z.
#pragma once
#include <cmath>

#include "engine/simd.hpp"
#include "engine/phrase_grammar.hpp"

namespace trellis {

// The symbols that survive pruning over each span, one byte each: [n_cells, n_symbols] of a small grammar.
struct Remaining {
  std::size_t n_symbols = 0;
  std::vector<std::uint8_t> bottoms, tops;

  bool bottom(std::size_t cell, std::size_t symbol) const { return bottoms[cell * n_symbols + symbol]; }
  bool top(std::size_t cell, std::size_t symbol) const { return tops[cell * n_symbols + symbol]; }
};

// Scratch of one thread.
class CkySums {
 public:
  // factors [n_rules]: probabilities or other nonnegative numbers; the factors of tags are not read.
  CkySums(const PhraseGrammar& grammar, std::span<const double> factors);

  // log Z of the sentence, which must outlive the queries; minus infinity if it has no derivation.
  double sum(const WordTags& words);
  // Afterwards, if log Z is finite: posteriors of symbols over spans. Symbols less probable than `least` propagate nothing.
  void find_posteriors(double least);
  // [n_cells, n_symbols], of tops and bottoms.
  double top(std::size_t i, std::size_t j, std::size_t symbol) const { return at(tops_, i, j, symbol) * at(out_tops_, i, j, symbol); }
  double bottom(std::size_t i, std::size_t j, std::size_t symbol) const {
    return at(bottoms_, i, j, symbol) * at(out_bottoms_, i, j, symbol);
  }
  // The symbols with a posterior of at least `least`.
  void keep(double least, Remaining& out) const;

 private:
  using Numbers = std::vector<double>;  // [n_cells, stride]

  double at(const Numbers& numbers, std::size_t i, std::size_t j, std::size_t symbol) const {
    return numbers[cell_of(i, j) * stride_ + symbol];
  }
  void combine(std::size_t i, std::size_t j);
  void hand_down(std::size_t i, std::size_t j);
  void add_unaries(std::size_t cell, bool word);
  void find_lefts(std::size_t i, std::size_t j);
  template <class Visit>
  void each_split(std::size_t i, std::size_t j, Visit visit) const;
  template <class Visit>
  void each_rule(std::size_t left, std::size_t j, Visit visit) const;

  const PhraseGrammar& grammar_;
  std::vector<double> factors_;        // [n_rules]
  std::vector<double> child_factors_;  // [n_binary] in the order of PhraseGrammar::by_children
  WordTags words_;
  std::size_t stride_, phrase_stride_;
  std::size_t n_ = 0;
  Numbers tops_, bottoms_, out_tops_, out_bottoms_;
  std::vector<double> scales_;                     // [n_cells] logarithms
  Groups<std::int32_t> alive_;                     // [n_cells] symbols with a top that can be a left child
  std::vector<std::uint8_t> has_top_;              // [n_cells]
  std::vector<double> pairs_;                      // [n_symbols, stride] sums of products of children
  std::vector<std::uint8_t> has_left_;             // [n_symbols]
  std::vector<std::int32_t> lefts_;                // symbols that some left child of a span has
};

// A grammar and a coarser one onto whose symbols its symbols map; tags are the same in both, in the same order.
struct PhrasePruner {
  const PhraseGrammar &fine, &coarse;
  std::vector<double> factors;         // [coarse rules]
  std::vector<std::int32_t> coarse_of;  // [fine symbols]
  double least;                        // minimum posterior under the coarse grammar
};

// Scratch of one thread.
class Pruning {
 public:
  explicit Pruning(const PhrasePruner& pruner) : pruner_(pruner), sums_(pruner.coarse, pruner.factors) {}

  // False if the coarse grammar has no tree for the sentence.
  bool run(const WordTags& words) {
    tags_.clear();
    for (const WordTag& one : words.tags) tags_.push_back({pruner_.coarse_of[static_cast<std::size_t>(one.tag)], one.score});
    if (!std::isfinite(sums_.sum({words.starts, tags_}))) return false;
    sums_.find_posteriors(0.01 * pruner_.least);  // far smaller posteriors do not change the result
    sums_.keep(pruner_.least, remaining);
    return true;
  }
  Remaining remaining;

 private:
  const PhrasePruner& pruner_;
  CkySums sums_;
  std::vector<WordTag> tags_;
};

}  // namespace trellis
