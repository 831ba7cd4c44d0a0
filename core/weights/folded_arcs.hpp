// Weights of arcs and siblings as a parser reads them. Templates often differ in measures alone: the same words and tags with
// the direction of the arc, and again with its distance. Here such templates are one group: a key without measures has a row
// of what they give together at every distance, so that one look-up answers for all. What depends on the head alone, or on
// the dependent alone, is summed once per word.
#pragma once
#include <array>

#include "engine/trees.hpp"
#include "large_pages.hpp"
#include "weights/placed_weights.hpp"

namespace trellis {

struct ArcPlan;

class FoldedArcs {
 public:
  FoldedArcs(const ArcPlan& plan, const FrozenPlaces& weights);

  // Scores of arcs that are not forbidden are added to, and of their siblings.
  void add_arcs(PlacedSentence& x, TreeScores& scores) const;
  void add_siblings(PlacedSentence& x, TreeScores& scores) const;

 private:
  static constexpr std::size_t kColumns = 16;  // distances to the left and to the right, padded to a cache line
  using Row = std::array<float, kColumns>;
  struct Group {
    Template shape;
    std::vector<Atom> atoms;  // without measures
    GrowingTable table;       // of keys, by the number of their rows
    std::vector<Row, LargePages<Row>> rows;
    const Row* find(std::uint64_t key) const {
      const std::int32_t id = table.find(key);
      return id < 0 ? nullptr : &rows[static_cast<std::size_t>(id)];
    }
  };
  struct Asked {
    const Group* group;
    std::uint64_t key;
    std::uint32_t site, column;
  };
  using Groups = std::vector<Group>;

  void build(const ArcPlan& plan, std::size_t first, std::size_t last, Groups& groups);
  void add_entries(const ArcPlan& plan, std::size_t t, std::size_t n_measures, Group& group);
  void ask(const Group& group, PlacedSentence& x, const Anchor& anchor, std::size_t site, std::vector<Asked>& asked) const;
  static void answer(std::vector<Asked>& asked, std::vector<double>& out);

  const FrozenPlaces& weights_;
  Plan plan_;                    // atoms of all groups
  Groups heads_, dependents_, pairs_;  // of arcs: by the head alone, the dependent alone, others
  Groups siblings_;
};

}  // namespace trellis
