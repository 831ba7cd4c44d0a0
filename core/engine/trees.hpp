// Projective dependency trees, by scores of their parts. Words are numbered 1 to n, and 0 is the root; every word has one head,
// and exactly one word has the root as its head. A tree is projective if no two of its arcs cross.
//
// A tree's parts are its arcs and, at order 2, its siblings: word m of head h with its sibling s, the next word of h on
// the same side, between h and m; none if m is the first on its side. The recursion is Eisner's (1996), with siblings as in
// McDonald & Pereira (2006). Its items:
//
//   complete(h, e)   h with all of its words on one side and their subtrees, up to e
//   open(h, m)       h with words on one side up to m, which still lacks its words on the other side
//   pair(i, j)       complete(i, k) and complete(j, k + 1), side by side
//
// Every tree has exactly one derivation, so that the same recursion finds best trees, lists the k best and sums (tree_forest.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/chain.hpp"

namespace trellis {

struct TreePart {
  std::uint32_t head = 0, sibling = 0, word = 0;  // word 0: none
};

// Scores of the parts of one sentence's trees; minus infinity forbids an arc.
struct TreeScores {
  std::size_t n = 0;             // words
  std::vector<double> arcs;      // [n + 1, n + 1] of head and word
  bool second_order = false;     // whether siblings have scores
  std::vector<double> siblings;  // of arc (h, m) from at_siblings(h, m) on: no sibling, then by distance from h
  std::vector<std::size_t> starts;  // [n + 1, n + 1]

  void resize(std::size_t n_words, bool with_siblings);
  double& arc(std::size_t h, std::size_t m) { return arcs[h * (n + 1) + m]; }
  double arc(std::size_t h, std::size_t m) const { return arcs[h * (n + 1) + m]; }
  // s: the sibling between h and m, or h itself if there is none.
  static std::size_t distance(std::size_t h, std::size_t s) { return s > h ? s - h : h - s; }
  double sibling(std::size_t h, std::size_t s, std::size_t m) const { return siblings[starts[h * (n + 1) + m] + distance(h, s)]; }
  // The score of the arc, plus its sibling at order 2.
  double part(const TreePart& part) const {
    return arc(part.head, part.word) + (second_order ? sibling(part.head, part.sibling, part.word) : 0);
  }
};

// Calls visit(h, s, m, place in TreeScores::siblings) for all siblings of arcs that are not forbidden; s = h: none.
template <class Visit>
inline void each_sibling(const TreeScores& scores, Visit visit) {
  const std::size_t n = scores.n;
  for (std::size_t h = 0; h <= n; ++h)
    for (std::size_t m = 1; m <= n; ++m) {
      if (scores.arc(h, m) == kForbidden<double>) continue;
      const std::size_t first = scores.starts[h * (n + 1) + m];
      visit(h, h, m, first);
      if (h == 0) continue;
      for (std::size_t s = std::min(h, m) + 1; s < std::max(h, m); ++s)
        if (scores.arc(h, s) != kForbidden<double>) visit(h, s, m, first + TreeScores::distance(h, s));
    }
}

struct TreeItem {
  enum Kind : std::uint8_t { kComplete, kOpen, kPair, kGoal } kind;
  std::uint32_t from, to;  // of kComplete and kOpen: head and last word; of kPair: left and right

  // Its index in a table [kinds, n + 1, n + 1].
  std::size_t place(std::size_t n) const { return ((static_cast<std::size_t>(kind) * (n + 1)) + from) * (n + 1) + to; }
};

// One way to build an item: from two other items, with one part or none.
struct TreeWay {
  TreeItem first, second;
  TreePart part{};
};

// Calls visit(way) for all ways to build an item, always in the same order. A complete item of a single word has none.
template <class Visit>
inline void each_way(const TreeItem& item, std::size_t n, bool second_order, Visit visit) {
  const std::uint32_t from = item.from, to = item.to;
  const std::int32_t step = to > from ? 1 : -1;  // from the head outwards
  const auto next = [step](std::uint32_t at) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(at) + step); };
  switch (item.kind) {
    case TreeItem::kComplete:
      for (std::uint32_t m = from; m != to;) {
        m = next(m);
        visit(TreeWay{{TreeItem::kOpen, from, m}, {TreeItem::kComplete, m, to}});
      }
      break;
    case TreeItem::kPair:
      for (std::uint32_t k = from; k < to; ++k)
        visit(TreeWay{{TreeItem::kComplete, from, k}, {TreeItem::kComplete, to, k + 1}});
      break;
    case TreeItem::kOpen:
      if (!second_order) {
        const TreeItem pair{TreeItem::kPair, std::min(from, to), std::max(from, to)};
        visit(TreeWay{pair, {TreeItem::kComplete, from, from}, {from, from, to}});
        break;
      }
      visit(TreeWay{{TreeItem::kComplete, to, next(from)}, {TreeItem::kComplete, from, from}, {from, from, to}});
      for (std::uint32_t s = next(from); s != to; s = next(s))
        visit(TreeWay{{TreeItem::kOpen, from, s}, {TreeItem::kPair, std::min(s, to), std::max(s, to)}, {from, s, to}});
      break;
    case TreeItem::kGoal:
      for (std::uint32_t r = 1; r <= n; ++r)
        visit(TreeWay{{TreeItem::kComplete, r, 1}, {TreeItem::kComplete, r, static_cast<std::uint32_t>(n)}, {0, 0, r}});
      break;
  }
}

// Calls visit(item) for all items except complete single words, each after the items it is built from.
template <class Visit>
inline void each_item(std::size_t n_words, Visit visit) {
  const auto n = static_cast<std::uint32_t>(n_words);
  for (std::uint32_t width = 1; width < n; ++width)
    for (std::uint32_t i = 1, j = 1 + width; j <= n; ++i, ++j) {
      visit(TreeItem{TreeItem::kPair, i, j});
      visit(TreeItem{TreeItem::kOpen, i, j});
      visit(TreeItem{TreeItem::kOpen, j, i});
      visit(TreeItem{TreeItem::kComplete, i, j});
      visit(TreeItem{TreeItem::kComplete, j, i});
    }
  visit(TreeItem{TreeItem::kGoal, 0, 0});
}

// Scratch of one thread.
class TreeChart {
 public:
  // Writes the heads [n] of the best tree; returns its score, minus infinity if all trees are forbidden. Ties: the first way.
  double best(const TreeScores& scores, std::int32_t* heads);

 private:
  double& at(const TreeItem& item) { return values_[item.place(n_)]; }
  double value(const TreeWay& way, const TreeScores& scores) {
    const double value = at(way.first) + at(way.second);
    return way.part.word ? value + scores.part(way.part) : value;
  }
  std::size_t n_ = 0;
  std::vector<double> values_;  // [kinds, n + 1, n + 1]
  std::vector<TreeItem> open_;
};

// The sibling of each word of a tree [n]: among words of the same head on the same side, the next one towards the head; the head
// itself if there is none.
void find_siblings(std::span<const std::int32_t> heads, std::vector<std::int32_t>& siblings);

// Whether heads [n] are a tree with one root word; whether it is projective.
bool is_tree(std::span<const std::int32_t> heads);
bool is_projective(std::span<const std::int32_t> heads);

// Makes a tree projective: while arcs cross, the shortest arc that spans a word outside its head's subtree is lifted to
// the head of its head (Nivre & Nilsson 2005).
void make_projective(std::span<std::int32_t> heads);

}  // namespace trellis
