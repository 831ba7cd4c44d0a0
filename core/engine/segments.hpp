// Semi-Markov chains: a path is a sequence of segments, each with a type and at most the maximum length of the type.
// A segment is encoded as the labels of its tokens (B-NP I-NP I-NP), so that the potentials of a chain still apply:
//
//   score(path) = score of its labels in the chain + sum over segments of score(begin, length, type)
//
// The segmentations of a sentence are the paths of a lattice. Node before(t, z): a segment whose first label is z begins at
// token t; after(t, z): one whose last label is z ends there; done(t): the sentence ends there. An edge is a segment, from
// before to after, or the step from one segment to the next.
#pragma once
#include "engine/chain.hpp"
#include "engine/hypergraph_passes.hpp"

namespace trellis {

// Encodings of the segments of a type: labels by position in the segment. A label of -1 does not exist, nor then do
// lengths that need it. In most schemes a type has one shape; IOB1 and IOE1 have another one for adjacent segments.
struct SegmentShape {
  std::int32_t column;   // in rows of weights
  std::int32_t longest;  // tokens
  std::int32_t single, first, middle, last;

  bool has(std::size_t length) const {
    if (length > static_cast<std::size_t>(longest)) return false;
    return length == 1 ? single >= 0 : first >= 0 && last >= 0 && (length == 2 || middle >= 0);
  }
  std::size_t first_label(std::size_t length) const { return static_cast<std::size_t>(length == 1 ? single : first); }
  std::size_t label(std::size_t i, std::size_t length) const {
    return static_cast<std::size_t>(length == 1 ? single : i == 0 ? first : i + 1 == length ? last : middle);
  }
};

struct SegmentRules {
  std::size_t n_labels = 0;
  std::size_t longest = 0;  // tokens, of any segment
  std::vector<SegmentShape> shapes;
  std::vector<std::int32_t> columns;  // [L] type of each label
  std::vector<std::uint8_t> follows;  // [L+1, L+1] whether z may begin a segment after one that ends in y; y = L: none

  bool may_follow(std::size_t y, std::size_t z) const { return follows[y * (n_labels + 1) + z]; }
};

// Calls visit(begin, length) for the segments encoded by the labels of n tokens.
template <class Visit>
void each_segment(const SegmentRules& rules, const std::int32_t* path, std::size_t n, Visit visit) {
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
    for (++end; end < n && !rules.may_follow(static_cast<std::size_t>(path[end - 1]), static_cast<std::size_t>(path[end]));) ++end;
    visit(begin, end - begin);
  }
}

// The segmentations of one sentence at a time; scratch of one thread. Ties: the lowest last label wins, then the shorter
// last segment, then its lowest first label, and so on towards the first token.
class SegmentLattice {
 public:
  explicit SegmentLattice(const SegmentRules& rules);

  // Potentials of a sentence, and scores of segments: of[begin * longest + length - 1, column], rows of the
  // chain's stride, or null. All scores are divided by the temperature.
  template <class Real>
  void load(const ChainView<Real>& chain, const Real* of, double temperature = 1);

  // Writes the labels [n] of the best segmentation and returns its score. If all are forbidden: minus infinity and labels 0.
  double best(std::int32_t* path);
  // The k best segmentations, [k, n], best first; returns the number that are not forbidden.
  std::size_t k_best(std::size_t k, std::int32_t* paths, double* scores);
  // log Z, and afterwards, if it is finite, the marginals.
  double sum();
  void find_marginals();
  // After find_marginals: calls of_pair(t, y, z, p) for every step from label y to z at token t (y = L: the sentence begins)
  // and of_segment(begin, length, shape, p) for every segment with nonzero probability p. Unless `by_token`,
  // pairs shared by all tokens are visited once, with summed probabilities.
  template <class OfPair, class OfSegment>
  void each_marginal(bool by_token, OfPair of_pair, OfSegment of_segment);

 private:
  struct Edge {
    std::int32_t token;   // the last of a segment, or the first of the segment that begins
    std::int32_t length;  // 0: a step between segments
    std::int32_t a, b;    // the shape of a segment; labels y, z
  };
  struct Ending {  // shapes that can end in a label
    std::size_t label;
    std::vector<std::size_t> singles, longer;  // shapes of one token, of more
  };

  void grow(std::size_t n);
  std::size_t size() const { return begins_.size() + ends_.size() + 1; }  // nodes of a token
  // Steps between segments at token t.
  std::size_t first_step(std::size_t t) const { return static_cast<std::size_t>(in_starts_[1 + t * size()]); }
  std::size_t n_steps(std::size_t t) const {
    return static_cast<std::size_t>(in_starts_[1 + t * size() + begins_.size()]) - first_step(t);
  }
  void read(const std::vector<std::int64_t>& edges, std::int32_t* path) const;

  const SegmentRules& rules_;
  std::vector<std::size_t> begins_;        // labels that can begin a segment, ascending
  std::vector<Ending> ends_;               // by label, ascending
  std::size_t longest_ = 1;                // tokens
  bool every_step_ = false;                // whether every label that can begin a segment may follow every one that can end one
  bool steps_are_shared_ = false;          // of the sentence: all tokens have the same edges between segments
  std::size_t n_grown_ = 0, n_ = 0;        // tokens the lattice has room for; of the sentence
  std::vector<Edge> edges_;                // sorted by head, token by token: a shorter sentence uses a prefix
  std::vector<std::int64_t> in_starts_{0, 0};
  std::vector<std::int32_t> tails_;
  std::vector<double> scores_, marginals_;  // [n_edges]
  std::vector<double> factors_, x_;         // exp of the scores of steps, of their tails
  std::vector<double> rests_;               // by shapes with the same ending
  std::vector<double> emit_;                // [n, L] with minus infinity for labels that are not allowed
  HypergraphView view_{};
  HypergraphWorkspace work_;
  std::vector<std::int64_t> derivation_;
};

template <class OfPair, class OfSegment>
void SegmentLattice::each_marginal(bool by_token, OfPair of_pair, OfSegment of_segment) {
  const bool once = !by_token && steps_are_shared_;
  for (std::size_t t = 2; once && t < n_; ++t) {
    double *to = marginals_.data() + first_step(1), *from = marginals_.data() + first_step(t);
    for (std::size_t i = 0; i < n_steps(t); ++i) to[i] += from[i];
  }
  for (std::size_t e = 0, t = 2; e < view_.n_edges; ++e) {
    if (once && t < n_ && e == first_step(t)) {
      e += n_steps(t++) - 1;
      continue;
    }
    const double p = marginals_[e];
    if (p == 0) continue;
    const auto& [token, length, a, b] = edges_[e];
    if (length) of_segment(static_cast<std::size_t>(token - length + 1), static_cast<std::size_t>(length), rules_.shapes[static_cast<std::size_t>(a)], p);
    else if (b < static_cast<std::int32_t>(rules_.n_labels)) of_pair(static_cast<std::size_t>(token), static_cast<std::size_t>(a), static_cast<std::size_t>(b), p);
  }
}

// Calls of_label(t, z) for the labels of a segment, of_pair(t, y, z) for the pairs within it.
template <class OfLabel, class OfPair>
void each_label(const SegmentShape& shape, std::size_t begin, std::size_t length, OfLabel of_label, OfPair of_pair) {
  for (std::size_t i = 0; i < length; ++i) {
    of_label(begin + i, shape.label(i, length));
    if (i) of_pair(begin + i, shape.label(i - 1, length), shape.label(i, length));
  }
}

}  // namespace trellis
