#include "weights/folded_arcs.hpp"

namespace trellis {

namespace {

// The measures of an arc by column: what arc_anchor returns for its distance, with its direction.
std::int32_t measure_at(std::size_t measure, std::size_t column) {
  const auto at = static_cast<std::int32_t>(column);
  return measure == kDirection ? at / kDistances : at;
}
constexpr std::size_t kUsed = 2 * kDistances;

std::span<const Atom> atoms_of(const ArcPlan& plan, const Template& shape) {
  return {plan.places.atoms.data() + shape.first_atom, plan.places.atoms.data() + shape.last_atom};
}

}  // namespace

FoldedArcs::FoldedArcs(const ArcPlan& plan, const FrozenPlaces& weights) : arc_plan(plan), weights_(weights) {
  const std::size_t labelled = plan.n_arcs + plan.n_labelled;
  for (Group& group : folded(plan, 0, plan.n_arcs)) {
    bool head = false, dependent = false, other = false;
    for (const Atom& atom : atoms_of(plan, group.shape)) {
      head |= atom.place == static_cast<std::int32_t>(kHead);
      dependent |= atom.place == static_cast<std::int32_t>(kDependent);
      other |= atom.place < 0;
    }
    (other || head == dependent ? groups_ : head ? heads_ : dependents_).push_back(std::move(group));
  }
  const auto add_singles = [&](std::size_t first, std::size_t last) {
    for (std::size_t t = first; t < last; ++t) groups_.push_back({plan.places.templates[t], t});
  };
  arc_plan.n_arcs = groups_.size();
  add_singles(plan.n_arcs, labelled);
  for (Group& group : folded(plan, labelled, plan.n_templates())) groups_.push_back(std::move(group));
  arc_plan.n_siblings = groups_.size() - arc_plan.n_arcs - arc_plan.n_labelled;
  add_singles(plan.n_templates(), plan.places.templates.size());
  arc_plan.places.templates.clear();
  for (const Group& group : groups_) arc_plan.places.templates.push_back(group.shape);
}

// Templates with the same atoms before their measures form a group. Templates with measures first, or with a later fold, remain.
FoldedArcs::Groups FoldedArcs::folded(const ArcPlan& plan, std::size_t first, std::size_t last) const {
  Groups groups;
  for (std::size_t t = first; t < last; ++t) {
    Template shape = plan.places.templates[t];
    const auto is_measure = [](const Atom& atom) { return atom.place == kMeasure && atom.fold < 0; };
    while (shape.last_atom > shape.first_atom && is_measure(atoms_of(plan, shape).back())) --shape.last_atom;
    auto group = std::ranges::find_if(groups, [&](const Group& other) {
      return std::ranges::equal(atoms_of(plan, other.shape), atoms_of(plan, shape));
    });
    if (group == groups.end()) group = groups.insert(group, Group{shape, std::nullopt});
    add_entries(plan, t, *group);
  }
  return groups;
}

void FoldedArcs::add_entries(const ArcPlan& plan, std::size_t t, Group& group) const {
  const FrozenTable& table = weights_.keys.tables[t];
  const auto n_atoms = static_cast<std::size_t>(group.shape.last_atom - group.shape.first_atom);
  const std::span<const Atom> measures = atoms_of(plan, plan.places.templates[t]).subspan(n_atoms);
  for (std::uint64_t i = 0; i < table.n_slots; ++i) {
    if (table.ids[i] < 0) continue;
    std::uint64_t key = table.keys[i];
    std::array<std::int32_t, 2> values{-1, -1};  // of direction and distance; -1: not in the template
    for (std::size_t a = measures.size(); a-- > 0; key >>= measures[a].bits)
      values[static_cast<std::size_t>(measures[a].slot)] =
          static_cast<std::int32_t>(key & ((std::uint64_t{1} << measures[a].bits) - 1));
    const auto id = static_cast<std::size_t>(group.table.find_or_add(key));
    if (id == group.rows.size()) group.rows.push_back(Row{});
    const float weight = weights_.values[weights_.first[t] + static_cast<std::size_t>(table.ids[i])];
    for (std::size_t c = 0; c < kUsed; ++c) {
      const auto fits = [c](std::size_t m, std::int32_t value) { return value < 0 || value == measure_at(m, c); };
      if (fits(kDirection, values[kDirection]) && fits(kDistance, values[kDistance])) group.rows[id][c] += weight;
    }
  }
}

void FoldedArcs::sum_words(PlacedSentence& x, std::vector<DistanceRow<double>>& heads,
                           std::vector<DistanceRow<double>>& dependents) const {
  const auto n = static_cast<std::size_t>(x.size());
  heads.assign(n + 1, {}), dependents.assign(n + 1, {});
  const auto add = [&](const Groups& groups, std::size_t word, DistanceRow<double>& to) {
    const Anchor anchor = arc_anchor(word, word, word, x.size());
    for (const Group& group : groups)
      each_key(arc_plan.places, group.shape, x, anchor, known_folds(), [&](std::uint64_t key, std::int32_t) {
        if (const float* row = group.find(key))
          for (std::size_t c = 0; c < kUsed; ++c) to[c] += row[c];
      });
  };
  for (std::size_t word = 0; word <= n; ++word) {
    add(heads_, word, heads[word]);
    if (word > 0) add(dependents_, word, dependents[word]);
  }
}

}  // namespace trellis
