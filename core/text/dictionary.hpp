// A dictionary of entries that are runs of tokens, and what it says of a token: the length of the longest entry that begins
// there, that ends there, and that has it inside; and which part it is of the entry found by going through the sentence and
// taking the longest one at each place.
//
// Tokens are symbols, the ids of a view of their column; entries lie in a tree of symbols. Training asks a dictionary that was
// learned from the training corpus itself: it would know every word there, and no word of another text that is new. So the
// corpus is cut into folds, and an entry that only one fold has is hidden from the sentences of that fold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/table.hpp"

namespace trellis {

class Dictionary {
 public:
  static constexpr std::int32_t kMost = 6;            // a longer entry counts as one of six tokens
  static constexpr std::int32_t kSilent = kMost + 1;  // what is said to a sentence that sees no dictionary
  static constexpr std::int32_t kFirst = kMost + 2, kInner = kMost + 3, kLast = kMost + 4, kOnly = kMost + 5;  // of an entry
  static constexpr std::size_t kValues = kMost + 6, kWhere = 4;
  // Who asks, where it is no fold.
  static constexpr std::int32_t kAnyone = -1, kNobody = -2;

  explicit Dictionary(std::size_t n_symbols) : tree_(n_symbols), nodes_(n_symbols) {}

  // An entry, of symbols below n_symbols and not empty, that fold `fold` has (kAnyone: no fold of training).
  void add(std::span<const std::int32_t> entry, std::int32_t fold);
  std::size_t n_symbols() const { return tree_.n_roots(); }

  // values[w, t], w = 0: begins, 1: ends, 2: inside; 0 where there is no entry; 3: which part, silent where there is none. A
  // symbol below 0 is in no entry.
  void match(std::span<const std::int32_t> symbols, std::int32_t asks, std::int32_t* values) const;

  // All entries: entry i is symbols[starts[i] .. starts[i + 1]).
  struct Entries {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> symbols;
  };
  Entries entries() const;

 private:
  static constexpr std::int32_t kNoEntry = -3;
  struct Node {
    std::int32_t fold = kNoEntry;  // the only one that has the entry which ends here; kAnyone: there are several
    bool has_children = false;
  };
  SymbolTree tree_;  // of entries; the first symbol of an entry is the number of its root
  std::vector<Node> nodes_;
};

}  // namespace trellis
