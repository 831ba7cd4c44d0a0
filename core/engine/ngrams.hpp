// Label n-grams as an automaton: its state is all that matters of the previous labels, for chains of any order.
//
// A node is an n-gram of labels. Its `shorter` is its suffix without the first label, so every history ends in a chain of
// nodes, longest first. The *state* of a history is the longest node that it ends in and that has a child (an
// n-gram one label longer at its end). All histories with the same state are equivalent.
#pragma once
#include <cstdint>
#include <vector>

#include "text/table.hpp"

namespace trellis {

inline constexpr std::size_t kScored = 3;  // length of the shortest n-grams with a score

class Ngrams {
 public:
  // The root is the empty n-gram; label z alone is node 1 + z; NULL, the label before the sentence, is label n_labels.
  static constexpr std::uint32_t kRoot = 0;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};  // no such n-gram

  // Nodes have at most order + 1 labels; the empty n-gram and all single labels always exist.
  Ngrams(std::size_t n_labels, std::size_t order) : n_labels_(n_labels), order_(order) {
    nodes_.push_back({});
    for (std::size_t z = 0; z < n_labels; ++z) add(kRoot, static_cast<std::uint16_t>(z), kRoot);
    nodes_.push_back({kRoot, kRoot, kNone, kNone, 0, static_cast<std::uint16_t>(n_labels), 1, 0});  // no label can be NULL
  }

  std::size_t n_labels() const { return n_labels_; }
  std::size_t order() const { return order_; }
  std::size_t size() const { return nodes_.size(); }
  std::uint32_t null() const { return static_cast<std::uint32_t>(1 + n_labels_); }
  std::uint32_t shorter(std::uint32_t node) const { return nodes_[node].shorter; }
  std::uint32_t parent(std::uint32_t node) const { return nodes_[node].parent; }
  std::uint32_t n_children(std::uint32_t node) const { return nodes_[node].n_children; }
  std::uint16_t label(std::uint32_t node) const { return nodes_[node].label; }  // its last label
  std::size_t length(std::uint32_t node) const { return nodes_[node].length; }

  // The n-gram with one more label; kNone if there is none.
  std::uint32_t find(std::uint32_t node, std::size_t label) const {
    if (node == kRoot) return static_cast<std::uint32_t>(1 + label);
    if (!(nodes_[node].children >> label % 64 & 1)) return kNone;
    const std::int32_t id = table_.find(key(node, label));
    return id < 0 ? kNone : static_cast<std::uint32_t>(id) + first();
  }
  // The same, created if missing, with all its suffixes; the node has at most `order` labels.
  std::uint32_t extend(std::uint32_t node, std::size_t label) {
    if (const std::uint32_t found = find(node, label); found != kNone) return found;
    const std::uint32_t shorter = extend(nodes_[node].shorter, label);
    return add(node, static_cast<std::uint16_t>(label), shorter);
  }
  // The longest n-gram that ends a history with this state and one more label.
  std::uint32_t longest(std::uint32_t state, std::size_t label) const {
    for (;; state = nodes_[state].shorter)
      if (const std::uint32_t found = find(state, label); found != kNone) return found;
  }
  // The state of histories whose longest n-gram is this node. It has at least one label.
  std::uint32_t state(std::uint32_t node) const {
    while (nodes_[node].n_children == 0 && nodes_[node].length > 1) node = nodes_[node].shorter;
    return node;
  }

  // Calls visit(child) for the n-grams one label longer, newest first.
  template <class Visit>
  void each_child(std::uint32_t node, Visit visit) const {
    for (std::uint32_t child = nodes_[node].first_child; child != kNone; child = nodes_[child].next) visit(child);
  }

 private:
  struct Node {
    std::uint32_t parent = kRoot, shorter = kRoot;
    std::uint32_t first_child = kNone, next = kNone;  // children are a linked list
    std::uint32_t n_children = 0;
    std::uint16_t label = 0, length = 0;
    std::uint64_t children = 0;  // a bit per label modulo 64: a zero bit saves the look-up
  };

  static std::uint64_t key(std::uint32_t node, std::size_t label) {
    return static_cast<std::uint64_t>(node) << 16 | label;
  }
  std::uint32_t first() const { return static_cast<std::uint32_t>(n_labels_ + 2); }  // index of the first node in the table
  std::uint32_t add(std::uint32_t parent, std::uint16_t label, std::uint32_t shorter) {
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    if (parent != kRoot) table_.find_or_add(key(parent, label));
    Node& p = nodes_[parent];
    const Node made{parent, shorter, kNone, p.first_child, 0, label, static_cast<std::uint16_t>(p.length + 1), 0};
    p.first_child = node;
    ++p.n_children;
    p.children |= std::uint64_t{1} << label % 64;
    nodes_.push_back(made);
    return node;
  }

  std::size_t n_labels_, order_;
  std::vector<Node> nodes_;  // suffixes and parents come before their nodes
  GrowingTable table_;       // of nodes of two labels and more
};

}  // namespace trellis
