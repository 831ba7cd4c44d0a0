// A dictionary whose entries are runs of tokens, and its values at a token: the length of the longest entry that begins
// there, that ends there, and that contains it inside; and the token's position in the entry found by greedy longest match
// from left to right.
//
// Tokens are symbols, the ids of a view of their column; entries form a tree of symbols. In training with a dictionary
// learned from the training corpus itself, every entry would match there, unlike in new text. So the
// corpus is cut into folds, and an entry that occurs in one fold only is hidden from the sentences of that fold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/table.hpp"

namespace trellis {

class Dictionary {
 public:
  static constexpr std::int32_t kMost = 6;            // longer entries have the value of six tokens
  static constexpr std::int32_t kSilent = kMost + 1;  // value for sentences without a dictionary
  static constexpr std::int32_t kFirst = kMost + 2, kInner = kMost + 3, kLast = kMost + 4, kOnly = kMost + 5;  // of an entry
  static constexpr std::size_t kValues = kMost + 6, kWhere = 4;
  // Values of `asks` other than folds: all entries; no entries.
  static constexpr std::int32_t kAnyone = -1, kNobody = -2;

  explicit Dictionary(std::size_t n_symbols) : tree_(n_symbols), nodes_(n_symbols) {}

  // Adds a nonempty entry, of symbols below n_symbols, that occurs in fold `fold` (kAnyone: no training fold).
  void add(std::span<const std::int32_t> entry, std::int32_t fold);
  std::size_t n_symbols() const { return tree_.n_roots(); }

  // values[w, t], w = 0: begins, 1: ends, 2: inside; 0 without an entry; 3: position in the entry, silent without one.
  // Negative symbols are in no entry.
  void match(std::span<const std::int32_t> symbols, std::int32_t asks, std::int32_t* values) const;

 private:
  static constexpr std::int32_t kNoEntry = -3;
  struct Node {
    std::int32_t fold = kNoEntry;  // the only fold with the entry that ends here; kAnyone: several folds
    bool has_children = false;
  };
  SymbolTree tree_;  // of entries; the first symbol of an entry is its root number
  std::vector<Node> nodes_;
};

}  // namespace trellis
