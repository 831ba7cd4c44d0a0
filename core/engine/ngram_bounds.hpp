// Upper bounds on the scores of label n-grams of three labels and more, updated as their scores change:
//
//   most[g] = score[g] + max(0, max over n-grams h one label longer at their front of most[h])
//
// bounds the total of g and all longer n-grams that end in g. This gives chains of order 1 and, with not too many labels, of
// order 2 that score every path at least as high as the chain itself: the relaxed chains.
#pragma once
#include <algorithm>
#include <limits>

#include "engine/ngrams.hpp"
#include "engine/simd.hpp"

namespace trellis {

// Upper bounds on the score of z after y, and after x, y; minus infinity in the padding. In rows of triples, x is
// a label, NULL (L), or n_labels + 1 for histories that end in no n-gram with x, y; the rest is padding. With many labels
// (n_before = 1) the rows are those of pairs, for any x.
template <class Real>
struct RelaxedChain {
  const Real* pairs = nullptr;  // [n_labels of y, stride of z]; null: unknown
  const Real* rows = nullptr;   // [n_labels of y, n_before of x, stride of z]
  std::size_t n_before = 1;

  // The row index x of the label before the last one of a state; of a label y.
  std::size_t before(const Ngrams& ngrams, std::uint32_t state) const {
    if (ngrams.length(state) == 1) return after_none(ngrams.n_labels());
    return n_before == 1 ? 0 : ngrams.label(ngrams.parent(state));
  }
  std::size_t after_none(std::size_t n_labels) const { return n_before == 1 ? 0 : n_labels + 1; }
  std::size_t before(std::size_t y) const { return n_before == 1 ? 0 : y; }
  const Real* row(std::size_t x, std::size_t y, std::size_t stride) const { return rows + (y * n_before + x) * stride; }
};

template <class Real>
class NgramBounds {
 public:
  // Up to so many labels, all triples are stored.
  explicit NgramBounds(std::size_t n_labels, std::size_t most_triples = 60)
      : n_before_(n_labels <= most_triples ? padded(n_labels + 2) : 1), stride_(padded(n_labels)), pairs_(n_labels * stride_),
        triples_(n_before_ > 1 ? n_before_ * pairs_.size() : 0) {
    for (std::vector<Real>* rows : {&pairs_, &triples_})
      for (std::size_t row = 0; row < rows->size(); row += stride_)
        for (std::size_t z = n_labels; z < stride_; ++z) (*rows)[row + z] = -std::numeric_limits<Real>::infinity();
  }

  // After new n-grams: their scores are 0 until update is called.
  void grow(const Ngrams& ngrams) {
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(ngrams.size());
    for (std::uint32_t g = first; g < ngrams.size(); ++g)
      if (ngrams.length(g) >= kScored) {
        Node& shorter = nodes_[ngrams.shorter(g)];
        nodes_[g].next = shorter.longer;
        shorter.longer = g;
      }
  }
  // After the score of an n-gram has changed.
  void update(const Ngrams& ngrams, const Real* scores, std::uint32_t g) {
    for (; ngrams.length(g) >= kScored; g = ngrams.shorter(g)) {
      Node& node = nodes_[g];
      const Real old = node.most;
      node.most = scores[g] + node.gain;
      if (node.most == old) return;
      const bool last = ngrams.length(g) == kScored;
      const std::size_t y = ngrams.label(ngrams.parent(g)), z = ngrams.label(g);
      if (last && n_before_ > 1) triples_[(y * n_before_ + ngrams.label(ngrams.parent(ngrams.parent(g)))) * stride_ + z] = node.most;
      Node& shorter = nodes_[ngrams.shorter(g)];
      const Real gain = shorter.gain;
      if (node.most > gain) {
        shorter.gain = node.most;
      } else if (old == gain) {
        shorter.gain = 0;
        for (std::uint32_t h = shorter.longer; h != Ngrams::kNone; h = nodes_[h].next)
          shorter.gain = std::max(shorter.gain, nodes_[h].most);
      }
      if (shorter.gain == gain) return;
      if (last) pairs_[y * stride_ + z] = shorter.gain;
    }
  }
  void set(const Ngrams& ngrams, const Real* scores) {
    grow(ngrams);
    for (auto g = static_cast<std::uint32_t>(ngrams.size()); g-- > 0;) update(ngrams, scores, g);
  }
  void stop_growing() { nodes_ = {}; }  // scores are final
  RelaxedChain<Real> relaxed() const { return {pairs_.data(), n_before_ > 1 ? triples_.data() : pairs_.data(), n_before_}; }

 private:
  struct Node {
    Real most = 0, gain = 0;                                 // gain: maximum over longer n-grams
    std::uint32_t longer = Ngrams::kNone, next = Ngrams::kNone;  // a linked list of the n-grams one label longer at the front
  };

  std::size_t n_before_, stride_;
  std::vector<Node> nodes_;            // [n_nodes]
  std::vector<Real> pairs_, triples_;  // as RelaxedChain has them
};

}  // namespace trellis
