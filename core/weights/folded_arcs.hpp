// Weights of arcs and siblings for parsing. Templates often differ in measures alone: the same words and tags with
// the direction of the arc, and again with its distance. Such templates are folded into a group: a key without measures has a row
// with the sum of their weights at every distance, so that one look-up serves all. Features of the head alone, or of
// the dependent alone, are summed once per word.
#pragma once
#include <optional>

#include "large_pages.hpp"
#include "weights/arcs.hpp"

namespace trellis {

class FoldedArcs {
 public:
  FoldedArcs(const ArcPlan& plan, const FrozenPlaces& weights);

  // Groups replace the templates of arcs and of siblings.
  ArcPlan arc_plan;
  // Interface for scoring; rows of groups are indexed by distance.
  auto known_folds() const { return weights_.known_folds(); }
  void prefetch(std::size_t t, std::uint64_t key) const {
    groups_[t].single ? weights_.prefetch(*groups_[t].single, key) : groups_[t].table.prefetch(key);
  }
  const float* row(std::size_t t, std::uint64_t key) const {
    return groups_[t].single ? weights_.row(*groups_[t].single, key) : groups_[t].find(key);
  }
  // Scores of words as heads and as dependents, independent of the other word: [n + 1] by distance.
  void sum_words(PlacedSentence& x, std::vector<DistanceRow<double>>& heads, std::vector<DistanceRow<double>>& dependents) const;

 private:
  using Row = DistanceRow<float>;
  struct Group {
    Template shape;                     // without measures
    std::optional<std::size_t> single;  // a template that was not folded; it has no rows here
    GrowingTable table{};               // of keys, by the number of their rows
    std::vector<Row, LargePages<Row>> rows{};
    const float* find(std::uint64_t key) const {
      const std::int32_t id = table.find(key);
      return id < 0 ? nullptr : rows[static_cast<std::size_t>(id)].data();
    }
  };
  using Groups = std::vector<Group>;

  Groups folded(const ArcPlan& plan, std::size_t first, std::size_t last) const;
  void add_entries(const ArcPlan& plan, std::size_t t, Group& group) const;

  const FrozenPlaces& weights_;
  Groups heads_, dependents_;  // of arcs, by the head alone or the dependent alone
  Groups groups_;              // by templates of the plan above
};

}  // namespace trellis
