// Binarised grammars over the words of a sentence, as in constituency parsers.
//
// A phrase over a span has two layers. Its *bottom* is a tag of one word or two phrases joined by a binary rule; its *top*
// follows from the bottom by one unary rule, which stands for a whole chain of labels (S over VP) or an empty one (VP itself). So
// derivations have no cycles, and every tree whose unary chains are in the grammar has one derivation.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "groups.hpp"

namespace trellis {

struct BinaryRule {
  std::int32_t parent, left, right;  // bottom of the parent, tops of the children
};
struct UnaryRule {
  std::int32_t top, bottom;
};

// Rules are numbered: binary rules, unary rules, then one rule per tag (a word has this tag).
class PhraseGrammar {
 public:
  // Symbols below n_phrases are phrases, the others tags; the top of `root` over all words is the goal.
  PhraseGrammar(std::size_t n_phrases, std::size_t n_symbols, std::size_t root, std::vector<BinaryRule> binary,
              std::vector<UnaryRule> unary)
      : n_phrases_(n_phrases), n_symbols_(n_symbols), root_(root), binary_(std::move(binary)), unary_(std::move(unary)) {
    by_bottom_.sort(n_symbols, [&](auto visit) {
      std::int32_t number = 0;
      for (const UnaryRule& rule : unary_) visit(static_cast<std::size_t>(rule.bottom), number++);
    });
    std::vector<std::int32_t> order(binary_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto children = [&](std::int32_t r) { return std::pair(binary_[static_cast<std::size_t>(r)].left, binary_[static_cast<std::size_t>(r)].right); };
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return children(a) < children(b); });
    // For each left child, the rules with a phrase as right child, then those with each tag.
    by_children_.sort(n_symbols * (1 + n_tags()), [&](auto visit) {
      for (const std::int32_t r : order) {
        const BinaryRule& rule = binary_[static_cast<std::size_t>(r)];
        const auto left = static_cast<std::size_t>(rule.left), right = static_cast<std::size_t>(rule.right);
        visit(left * (1 + n_tags()) + (right < n_phrases_ ? 0 : 1 + right - n_phrases_), WithLeft{rule.parent, rule.right, r});
      }
    });
  }

  std::size_t n_phrases() const { return n_phrases_; }
  std::size_t n_symbols() const { return n_symbols_; }
  std::size_t n_tags() const { return n_symbols_ - n_phrases_; }
  std::size_t root() const { return root_; }
  std::size_t n_binary() const { return binary_.size(); }
  std::size_t n_unary() const { return unary_.size(); }
  std::size_t n_rules() const { return binary_.size() + unary_.size() + n_tags(); }
  const BinaryRule& binary(std::size_t r) const { return binary_[r]; }
  const UnaryRule& unary(std::size_t r) const { return unary_[r]; }  // r from 0, without the binary ones
  std::size_t unary_number(std::size_t r) const { return binary_.size() + r; }
  std::size_t tag_number(std::size_t tag) const { return binary_.size() + unary_.size() + tag - n_phrases_; }

  // Unary rules, indexed by bottom.
  std::span<const std::int32_t> with_bottom(std::size_t symbol) const { return by_bottom_[symbol]; }

  // A binary rule in a list for its left child.
  struct WithLeft {
    std::int32_t parent, right, rule;
  };
  // Rules whose right child is a phrase, and rules whose right child is a tag; right children ascend.
  std::span<const WithLeft> before_phrases(std::size_t left) const { return by_children_[left * (1 + n_tags())]; }
  std::span<const WithLeft> before_tag(std::size_t left, std::size_t tag) const {
    return by_children_[left * (1 + n_tags()) + 1 + tag - n_phrases_];
  }
  bool is_left(std::size_t symbol) const {
    return by_children_.starts[symbol * (1 + n_tags())] < by_children_.starts[(symbol + 1) * (1 + n_tags())];
  }
  // All lists, concatenated.
  std::span<const WithLeft> by_children() const { return by_children_.items; }

 private:
  std::size_t n_phrases_, n_symbols_, root_;
  std::vector<BinaryRule> binary_;
  std::vector<UnaryRule> unary_;
  Groups<std::int32_t> by_bottom_;  // [n_symbols]
  Groups<WithLeft> by_children_;    // [n_symbols · (1 + n_tags)]
};

// A possible tag of a word with its score.
struct WordTag {
  std::int32_t tag;
  float score;
};
// The tags of the words of a sentence: word t has tags[starts[t] .. starts[t + 1]).
struct WordTags {
  std::span<const std::int64_t> starts;  // [n + 1]
  std::span<const WordTag> tags;

  std::size_t n_words() const { return starts.size() - 1; }
  std::span<const WordTag> of(std::size_t t) const {
    return tags.subspan(static_cast<std::size_t>(starts[t] - starts[0]), static_cast<std::size_t>(starts[t + 1] - starts[t]));
  }
};

// Spans i .. j of a sentence, 0 <= i < j <= n, are numbered by end (all that end at 1, all that end at 2, ...), then by length.
// So a span comes after all of its parts.
inline std::size_t cell_of(std::size_t i, std::size_t j) { return j * (j - 1) / 2 + (j - 1 - i); }
inline std::size_t n_cells(std::size_t n) { return n * (n + 1) / 2; }

}  // namespace trellis
