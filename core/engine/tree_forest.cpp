#include "engine/tree_forest.hpp"

#include <algorithm>

namespace trellis {

bool TreeForest::build(const TreeScores& scores) {
  n_ = scores.n;
  nodes_.assign(4 * (n_ + 1) * (n_ + 1), -1);
  in_starts_.assign(1, 0), tail_starts_.assign(1, 0);
  tails_.clear(), parts_.clear(), edge_scores_.clear();
  std::int32_t n_nodes = 0;
  for (std::uint32_t m = 1; m <= n_; ++m) {
    nodes_[TreeItem{TreeItem::kComplete, m, m}.place(n_)] = n_nodes++;
    in_starts_.push_back(0);
  }
  each_item(n_, [&](const TreeItem& item) {
    const std::size_t before = parts_.size();
    each_way(item, n_, scores.second_order, [&](const TreeWay& way) {
      const std::int32_t first = nodes_[way.first.place(n_)], second = nodes_[way.second.place(n_)];
      if (first < 0 || second < 0) return;
      const double score = way.part.word ? scores.part(way.part) : 0;
      if (score == kForbidden<double>) return;
      tails_.push_back(first), tails_.push_back(second);
      tail_starts_.push_back(static_cast<std::int64_t>(tails_.size()));
      parts_.push_back(way.part), edge_scores_.push_back(score);
    });
    if (parts_.size() == before) return;  // the item cannot be built
    nodes_[item.place(n_)] = n_nodes++;
    in_starts_.push_back(static_cast<std::int64_t>(parts_.size()));
  });
  const std::int32_t goal = nodes_[TreeItem{TreeItem::kGoal, 0, 0}.place(n_)];
  view_ = {static_cast<std::size_t>(n_nodes), parts_.size(), static_cast<std::size_t>(std::max(goal, 0)),
           in_starts_.data(), tail_starts_.data(), tails_.data()};
  return goal >= 0;
}

double TreeForest::sum(const TreeScores& scores, double* arcs, double* siblings) {
  const double log_z = sum_derivations(view_, edge_scores_.data(), work_);
  shares_.resize(parts_.size());
  derivation_marginals(view_, work_, shares_.data(), nullptr);
  std::fill_n(arcs, scores.arcs.size(), 0.0);
  if (siblings) std::fill_n(siblings, scores.siblings.size(), 0.0);
  for (std::size_t e = 0; e < parts_.size(); ++e) {
    const TreePart& part = parts_[e];
    if (!part.word) continue;
    arcs[part.head * (n_ + 1) + part.word] += shares_[e];
    if (siblings)
      siblings[scores.starts[part.head * (n_ + 1) + part.word] + TreeScores::distance(part.head, part.sibling)] += shares_[e];
  }
  return log_z;
}

}  // namespace trellis
