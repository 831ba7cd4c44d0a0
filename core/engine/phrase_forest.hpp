// The packed forest of a sentence: a hypergraph whose nodes are the bottom or top of a symbol over a span and whose
// edges are rules, with the split point of binary rules. CKY builds it bottom-up from the symbols that coarse pruning left
// (cky.hpp); then it is reduced to the parts of complete trees.
#pragma once
#include "engine/cky.hpp"
#include "engine/hypergraph.hpp"

namespace trellis {

// A rule over a span.
struct ForestEdge {
  std::int32_t rule;
  std::int32_t begin, split, end;  // split: of binary rules, else 0

  bool operator==(const ForestEdge&) const = default;
};

// One sentence at a time; scratch of one thread. Edges into a node are sorted by split point, then left child, then right
// child.
class PhraseForest {
 public:
  // coarse_of [n_symbols]: the coarse symbol of each symbol; empty without a coarse grammar.
  PhraseForest(const PhraseGrammar& grammar, std::span<const std::int32_t> coarse_of)
      : grammar_(grammar), coarse_of_(coarse_of.begin(), coarse_of.end()), counts_(grammar.n_symbols()) {}

  // All trees, or those that pruning left (null: everything). False if there is none.
  bool build(const WordTags& words, const Remaining* remaining);

  HypergraphView view() const {
    return {in_starts_.size() - 1, edges_.size(), in_starts_.size() - 2, in_starts_.data(), tail_starts_.data(), tails_.data()};
  }
  const PhraseGrammar& grammar() const { return grammar_; }
  std::size_t n_words() const { return n_; }
  const std::vector<ForestEdge>& edges() const { return edges_; }
  // Spans with edges, in order: the edges of span s are spans()[s].first_edge up to the next span's.
  struct Span {
    std::int32_t begin, end;
    std::size_t first_edge;
  };
  const std::vector<Span>& spans() const { return spans_; }
  // The span of an edge, given its number.
  std::size_t span_of(std::size_t e) const {
    const auto after = std::upper_bound(spans_.begin(), spans_.end(), e, [](std::size_t edge, const Span& span) { return edge < span.first_edge; });
    return static_cast<std::size_t>(after - spans_.begin()) - 1;
  }
  // The edge of a rule, -1 if there is none.
  std::int64_t find(const ForestEdge& wanted) const;

 private:
  struct Candidate {
    std::int32_t parent, rule, split;
    std::int32_t left, right;  // nodes
  };
  bool may_be(const Remaining* remaining, bool top, std::size_t cell, std::size_t symbol) const {
    if (!remaining) return true;
    const auto coarse = static_cast<std::size_t>(coarse_of_[symbol]);
    return top ? remaining->top(cell, coarse) : remaining->bottom(cell, coarse);
  }
  void add_cell(std::size_t i, std::size_t j);
  void cut();

  const PhraseGrammar& grammar_;
  std::vector<std::int32_t> coarse_of_;
  std::size_t n_ = 0;
  // During construction: all derivable items.
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> counts_;      // [n_symbols] zero between spans
  std::vector<std::int32_t> symbols_;    // of the current span
  struct Item {
    std::int32_t symbol, node;
  };
  Groups<Item> tops_;                    // [n_cells]
  std::vector<std::int32_t> node_at_;    // [n, n_symbols] tops of spans that end at the same word, -1 otherwise
  std::vector<ForestEdge> all_edges_;
  std::vector<std::int64_t> all_starts_;  // [n_nodes + 1]
  std::vector<std::int32_t> all_tails_;   // [n_edges, 2], -1 for none
  std::vector<std::int32_t> number_;      // new numbers of the remaining nodes
  // The result.
  std::vector<ForestEdge> edges_;
  std::vector<std::int64_t> in_starts_{0}, tail_starts_{0};
  std::vector<std::int32_t> tails_;
  std::vector<Span> spans_;
};

}  // namespace trellis
