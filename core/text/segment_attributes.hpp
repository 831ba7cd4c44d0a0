// Attributes of whole segments: templates over a segment's text, its first and last words and its length.
//
// A template is a list of looks, and each look yields one symbol, a text look one per word. The symbols of a segment form a path
// from the root of the template through a tree, whose end node has the attribute. The tree grows over the segments of training,
// so unseen combinations have no attribute, and most texts of a sentence end after a word or two.
#pragma once
#include <span>
#include <vector>

#include "text/lists.hpp"
#include "text/table.hpp"

namespace trellis {

struct SegmentLook {
  enum Kind : std::int32_t { kLength, kFirst, kLast, kText, kListed };
  Kind kind;
  std::int32_t view;    // of its symbols; unused for kLength
  std::int32_t offset;  // from the first or the last word
};

// The symbols of a corpus: views[v][t] of token t, -1 if undefined.
struct SegmentSymbols {
  std::vector<const std::int32_t*> views;
  const std::int64_t* starts = nullptr;  // [n_sentences + 1]
  std::size_t n_sentences = 0;
};

class SegmentVocabulary {
 public:
  // Template k has looks[starts[k] .. starts[k + 1]); only the first of them may be a text, free (kText) or from a list
  // (kListed).
  SegmentVocabulary(std::vector<SegmentLook> looks, std::vector<std::int64_t> starts);

  // Adds a text to the list of look `look`, by its symbols.
  void add_entry(std::size_t look, std::span<const std::int32_t> text);
  // The attributes of some segments, with numbers for new ones: a list per segment.
  TokenLists learn(const SegmentSymbols& symbols, std::span<const std::int64_t> begins, std::span<const std::int64_t> lengths);
  // The attributes of all segments: site t * longest + length - 1.
  TokenLists extract(const SegmentSymbols& symbols, std::size_t longest, std::size_t n_threads) const;

  std::int32_t n_attributes() const { return n_attributes_; }
  // The nodes on paths to attributes, those of templates or lists first; rank renumbers attributes, -1 drops one.
  struct Nodes {
    std::vector<std::int32_t> parents, symbols, attributes;
  };
  Nodes nodes(std::span<const std::int32_t> rank) const;
  // Nodes as returned by nodes(), with the number of symbols of each view; false unless attributes
  // 0, 1, 2 ... are at one node each, whose path has a symbol for every look of its template.
  bool set_nodes(std::span<const std::int32_t> parents, std::span<const std::int32_t> symbols,
                 std::span<const std::int32_t> attributes, std::span<const std::int32_t> n_symbols);

 private:
  static constexpr std::int32_t kOutside = -2;  // the symbol of a place outside the sentence

  std::size_t n_templates() const { return starts_.size() - 1; }
  std::int32_t make(std::int32_t node, std::int32_t symbol);
  // From the node of a segment's text over the other looks of template k; step(node, symbol) returns the next node, -1: none.
  template <class Step>
  std::int32_t walk(const SegmentSymbols& symbols, std::size_t k, std::int32_t text, std::int64_t first, std::int64_t last,
                    std::int64_t begin, std::int64_t length, Step step) const;
  const SegmentLook* text_of(std::size_t k) const;  // null if a template has none
  std::int32_t text_root(std::size_t k) const;      // root of texts: in the list, or of the template itself
  static bool known_symbol(const SegmentLook& look, std::int32_t symbol, std::span<const std::int32_t> n_symbols);
  // Whether the symbols from the root of template k to a node match its looks.
  bool is_path(std::size_t node, std::size_t k, std::span<const std::int32_t> n_symbols) const;

  std::vector<SegmentLook> looks_;
  std::vector<std::int64_t> starts_;       // [n_templates + 1]
  std::vector<std::int32_t> list_roots_;   // [n_looks] of lists, or -1
  SymbolTree tree_{0};
  std::vector<std::int32_t> attributes_;   // [n_nodes]; of a list 0 where an entry ends; -1: none
  std::int32_t n_attributes_ = 0;
};

}  // namespace trellis
