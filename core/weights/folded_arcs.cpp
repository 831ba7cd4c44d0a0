#include "weights/folded_arcs.hpp"

#include <map>

#include "weights/arcs.hpp"

namespace trellis {

namespace {

// The measures of an arc by its column: what arc_anchor gives for its distance, with its direction.
std::int32_t measure_at(std::int32_t measure, std::size_t column) {
  const auto at = static_cast<std::int32_t>(column);
  return measure == static_cast<std::int32_t>(kDirection) ? at / kDistances : at;
}
constexpr std::size_t kUsed = 2 * kDistances;

}  // namespace

FoldedArcs::FoldedArcs(const ArcPlan& plan, const FrozenPlaces& weights) : weights_(weights) {
  Groups arcs;
  build(plan, 0, plan.n_arcs, arcs);
  build(plan, plan.n_arcs + plan.n_labelled, plan.n_templates(), siblings_);
  for (Group& group : arcs) {
    bool head = false, dependent = false, other = false;
    for (const Atom& atom : group.atoms) {
      head |= atom.place == static_cast<std::int32_t>(kHead);
      dependent |= atom.place == static_cast<std::int32_t>(kDependent);
      other |= atom.place < 0;
    }
    Groups& to = other || head == dependent ? pairs_ : head ? heads_ : dependents_;
    to.push_back(std::move(group));
  }
  for (Groups* groups : {&heads_, &dependents_, &pairs_, &siblings_})
    for (Group& group : *groups) {
      group.shape.first_atom = static_cast<std::int32_t>(plan_.atoms.size());
      plan_.atoms.insert(plan_.atoms.end(), group.atoms.begin(), group.atoms.end());
      group.shape.last_atom = static_cast<std::int32_t>(plan_.atoms.size());
    }
}

// Templates with the same atoms before their measures are a group. Where measures come first, or a fold follows, they stay.
void FoldedArcs::build(const ArcPlan& plan, std::size_t first, std::size_t last, Groups& groups) {
  std::map<std::vector<std::array<std::int32_t, 5>>, std::size_t> known;
  for (std::size_t t = first; t < last; ++t) {
    const Template& shape = plan.places.templates[t];
    std::int32_t end = shape.last_atom;
    while (end > shape.first_atom && plan.places.atoms[static_cast<std::size_t>(end - 1)].place == kMeasure &&
           plan.places.atoms[static_cast<std::size_t>(end - 1)].fold < 0)
      --end;
    std::vector<std::array<std::int32_t, 5>> key;
    std::vector<Atom> atoms;
    for (std::int32_t a = shape.first_atom; a < end; ++a) {
      const Atom& atom = plan.places.atoms[static_cast<std::size_t>(a)];
      atoms.push_back(atom);
      key.push_back({atom.slot, atom.place, atom.offset, atom.bits, atom.fold});
    }
    const auto [at, is_new] = known.try_emplace(key, groups.size());
    if (is_new) groups.push_back({shape, std::move(atoms), {}, {}});
    add_entries(plan, t, static_cast<std::size_t>(shape.last_atom - end), groups[at->second]);
  }
}

void FoldedArcs::add_entries(const ArcPlan& plan, std::size_t t, std::size_t n_measures, Group& group) {
  const FrozenTable& table = weights_.tables[t];
  const std::vector<Atom>& atoms = plan.places.atoms;
  const auto end = static_cast<std::size_t>(plan.places.templates[t].last_atom);
  for (std::uint64_t i = 0; i < table.n_slots; ++i) {
    if (table.ids[i] < 0) continue;
    std::uint64_t key = table.keys[i];
    std::array<std::int32_t, 2> given{-1, -1};  // of direction and distance; -1: the template does not say
    for (std::size_t a = end; a > end - n_measures; --a) {
      const Atom& atom = atoms[a - 1];
      given[static_cast<std::size_t>(atom.slot)] = static_cast<std::int32_t>(key & ((std::uint64_t{1} << atom.bits) - 1));
      key >>= atom.bits;
    }
    const auto id = static_cast<std::size_t>(group.table.find_or_add(key));
    if (id == group.rows.size()) group.rows.push_back(Row{});
    Row& row = group.rows[id];
    const float weight = weights_.values[weights_.first[t] + static_cast<std::size_t>(table.ids[i])];
    for (std::size_t c = 0; c < kUsed; ++c) {
      bool fits = true;
      for (std::int32_t m = 0; m < 2; ++m) fits &= given[static_cast<std::size_t>(m)] < 0 || given[static_cast<std::size_t>(m)] == measure_at(m, c);
      if (fits) row[c] += weight;
    }
  }
}

void FoldedArcs::ask(const Group& group, PlacedSentence& x, const Anchor& anchor, std::size_t site, std::vector<Asked>& asked) const {
  const auto fold = [this](std::int32_t f, std::uint64_t key) { return weights_.fold(f, key); };
  each_key(plan_, group.shape, x, anchor, fold, [&](std::uint64_t key, std::int32_t) {
    group.table.prefetch(key);
    asked.push_back({&group, key, static_cast<std::uint32_t>(site), static_cast<std::uint32_t>(anchor.measures[kDistance])});
  });
}

void FoldedArcs::answer(std::vector<Asked>& asked, std::vector<double>& out) {
  trellis::answer(asked, out, [](const Asked& one) {
    const Row* row = one.group->find(one.key);
    return row ? row->data() + one.column : nullptr;
  });
}

void FoldedArcs::add_arcs(PlacedSentence& x, TreeScores& scores) const {
  const std::size_t n = scores.n;
  constexpr std::size_t kMany = 256;
  std::vector<Asked> asked;
  // What the head alone and the dependent alone give, at every distance: [n + 1, kUsed]
  std::vector<double> by_head((n + 1) * kUsed), by_dependent((n + 1) * kUsed);
  for (std::size_t word = 0; word <= n; ++word)
    for (const bool is_head : {true, false}) {
      if (word == 0 && !is_head) continue;
      Anchor anchor = arc_anchor(word, word, word, x.size());
      std::vector<double>& to = is_head ? by_head : by_dependent;
      for (const Group& group : is_head ? heads_ : dependents_) {
        const auto fold = [this](std::int32_t f, std::uint64_t key) { return weights_.fold(f, key); };
        each_key(plan_, group.shape, x, anchor, fold, [&](std::uint64_t key, std::int32_t) {
          if (const Row* row = group.find(key))
            for (std::size_t c = 0; c < kUsed; ++c) to[word * kUsed + c] += (*row)[c];
        });
      }
    }
  for (std::size_t h = 0; h <= n; ++h)
    for (std::size_t m = 1; m <= n; ++m) {
      if (scores.arc(h, m) == kForbidden<double>) continue;
      const Anchor anchor = arc_anchor(h, h, m, x.size());
      const auto column = static_cast<std::size_t>(anchor.measures[kDistance]);
      scores.arc(h, m) += by_head[h * kUsed + column] + by_dependent[m * kUsed + column];
      if (asked.size() >= kMany) answer(asked, scores.arcs);
      for (const Group& group : pairs_) ask(group, x, anchor, h * (n + 1) + m, asked);
    }
  answer(asked, scores.arcs);
}

void FoldedArcs::add_siblings(PlacedSentence& x, TreeScores& scores) const {
  constexpr std::size_t kMany = 256;
  std::vector<Asked> asked;
  each_sibling(scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
    if (asked.size() >= kMany) answer(asked, scores.siblings);
    const Anchor anchor = arc_anchor(h, s, m, x.size());
    for (const Group& group : siblings_) ask(group, x, anchor, site, asked);
  });
  answer(asked, scores.siblings);
}

}  // namespace trellis
