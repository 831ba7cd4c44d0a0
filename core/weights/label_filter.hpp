// Candidate labels of a token by the scores of a filter, an order 0 model: those within a margin of the best one.
//
//   candidates(t) = { z : score[t, z] >= max over z' of score[t, z'] - margin }
//
// That is p(z) >= exp(-margin) · max p, without computing probabilities. If more than `most` labels qualify, the best are used,
// ties: the lowest. Without this limit a few uncertain tokens would dominate the cost. If a tag dictionary lists the
// labels of a token, only those qualify; so there is always a candidate.
#pragma once
#include <vector>

#include "engine/chain.hpp"

namespace trellis {

struct FilterRule {
  float margin = 0;
  std::size_t most = 0;
};

// Sets of labels, one per token, appended token by token, with the nodes and arcs of a lattice if there is one.
struct TokenSets {
  std::vector<std::int32_t> set_of_token;  // [n_tokens] their own numbers
  std::vector<std::int64_t> starts{0};     // [n_tokens + 1]
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> node_starts{0}, in_starts{0};  // as Lattice has them
  std::vector<std::int32_t> node_labels, from;

  void clear() {
    set_of_token.clear(), starts.assign(1, 0), labels.clear();
    node_starts.assign(1, 0), in_starts.assign(1, 0), node_labels.clear(), from.clear();
  }
  void end_token() {
    set_of_token.push_back(static_cast<std::int32_t>(set_of_token.size()));
    starts.push_back(static_cast<std::int64_t>(labels.size()));
    node_starts.push_back(static_cast<std::int64_t>(node_labels.size()));
  }
  bool has_lattice() const { return !node_labels.empty(); }
  LabelSets view() const {
    const Lattice lattice{node_starts.data(), node_labels.data(), in_starts.data(), from.data()};
    return {set_of_token.data(), starts.data(), labels.data(), has_lattice() ? lattice : Lattice{}};
  }
};

// The concatenation of all pieces.
inline TokenSets joined(const std::vector<TokenSets>& pieces) {
  TokenSets out;
  const auto add = [](auto& to, const auto& items, std::size_t shift = 0, std::size_t skipped = 0) {
    using Number = std::remove_cvref_t<decltype(to[0])>;
    for (std::size_t i = skipped; i < items.size(); ++i) to.push_back(items[i] + static_cast<Number>(shift));
  };
  for (const TokenSets& piece : pieces) {
    add(out.set_of_token, piece.set_of_token, out.set_of_token.size());
    add(out.starts, piece.starts, out.labels.size(), 1), add(out.labels, piece.labels);
    add(out.node_starts, piece.node_starts, out.node_labels.size(), 1), add(out.node_labels, piece.node_labels);
    add(out.in_starts, piece.in_starts, out.from.size(), 1), add(out.from, piece.from);
  }
  return out;
}

// Appends the candidates of one token; label `keep` is always one of them (-1: none).
template <class Labels>
TRELLIS_INLINE void add_candidates(const float* scores, const Labels& labels, const FilterRule& rule, std::int32_t keep,
                                   TokenSets& to) {
  float best = kForbidden<float>;
  for (std::size_t i = 0; i < labels.size(); ++i) best = std::max(best, scores[labels[i]]);
  const float least = best - rule.margin;
  const auto first = to.labels.size();
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (!(scores[labels[i]] < least)) to.labels.push_back(static_cast<std::int32_t>(labels[i]));
  const auto begin = to.labels.begin() + static_cast<std::ptrdiff_t>(first);
  if (to.labels.size() - first > rule.most) {
    const auto end = begin + static_cast<std::ptrdiff_t>(rule.most);
    std::partial_sort(begin, end, to.labels.end(), [&](std::int32_t y, std::int32_t z) {
      return scores[y] > scores[z] || (scores[y] == scores[z] && y < z);
    });
    std::sort(begin, end);
    to.labels.erase(end, to.labels.end());
  }
  if (keep >= 0)
    if (const auto place = std::lower_bound(begin, to.labels.end(), keep); place == to.labels.end() || *place != keep)
      to.labels.insert(place, keep);
  to.end_token();
}

}  // namespace trellis
