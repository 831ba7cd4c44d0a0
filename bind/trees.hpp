// Plans of arcs and sentences as parsers take them, on their way from Python.
#pragma once
#include "checks.hpp"
#include "features.hpp"
#include "weights/arcs.hpp"

// Templates of arcs, checked.
struct PyArcPlan {
  trellis::ArcPlan core;

  // atoms [n, 5]: slot, place, offset, bits, fold; templates [n, 2]: first and last atom; slots [n, 2]: column, view; how many
  // templates there are of arcs, of labels, of siblings, of the filter.
  PyArcPlan(const Array<std::int32_t, 2>& atoms, const Array<std::int32_t, 2>& templates, const Array<std::int32_t, 2>& slots,
            std::int32_t n_folds, std::int32_t reach, const std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>& counts,
            std::size_t n_labels) {
    require(atoms.shape(1) == 5 && templates.shape(1) == 2 && slots.shape(1) == 2, "atoms are [n, 5], templates and slots [n, 2]");
    require(reach >= 1 && reach <= 1 << 16 && n_folds >= 0, "a plan out of range");
    check_labels(n_labels);
    trellis::PlacedPlan& plan = core.places;
    plan.n_folds = n_folds, plan.reach = reach;
    for (std::size_t i = 0; i < slots.shape(0); ++i) {
      require(slots(i, 0) >= 0 && slots(i, 1) >= 0, "a slot out of range");
      plan.slots.emplace_back(slots(i, 0), slots(i, 1));
    }
    for (std::size_t i = 0; i < atoms.shape(0); ++i) {
      const trellis::PlacedAtom atom{atoms(i, 0), atoms(i, 1), atoms(i, 2), atoms(i, 3), atoms(i, 4)};
      const bool measure = atom.place == trellis::kMeasure;
      require(atom.slot >= 0 && static_cast<std::size_t>(atom.slot) < (measure ? 2 : plan.slots.size()) && atom.place >= trellis::kBetween &&
                  atom.place <= static_cast<std::int32_t>(trellis::kSibling) && std::abs(atom.offset) < reach && atom.bits >= 1 &&
                  atom.bits <= 63 && atom.fold < n_folds && (atom.place != trellis::kBetween || atom.offset == 0),
              "an atom out of range");
      plan.atoms.push_back(atom);
    }
    for (std::size_t i = 0; i < templates.shape(0); ++i) {
      trellis::PlacedTemplate shape{templates(i, 0), templates(i, 1), false};
      require(shape.first_atom >= 0 && shape.first_atom <= shape.last_atom && static_cast<std::size_t>(shape.last_atom) <= plan.atoms.size(),
              "a template out of range");
      std::int32_t n_between = 0;
      for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a) n_between += plan.atoms[static_cast<std::size_t>(a)].place == trellis::kBetween;
      require(n_between <= 1, "a template has one look at what stands between");
      shape.ranges = n_between > 0;
      plan.templates.push_back(shape);
    }
    const auto& [n_arcs, n_labelled, n_siblings, n_filters] = counts;
    core.n_arcs = n_arcs, core.n_labelled = n_labelled, core.n_siblings = n_siblings, core.has_filter = n_filters > 0;
    require(n_filters <= 1 && n_arcs <= plan.templates.size() && n_labelled <= plan.templates.size() && n_siblings <= plan.templates.size() &&
                core.n_templates() + n_filters == plan.templates.size(),
            "templates of arcs, labels, siblings and the filter, together all of them");
    core.n_labels = n_labels;
  }

  // How many weights an attribute of each template has.
  std::vector<std::uint32_t> columns() const {
    std::vector<std::uint32_t> out(core.places.templates.size(), 1);
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(core.n_arcs), core.n_labelled, static_cast<std::uint32_t>(core.n_labels));
    return out;
  }
};

// Sentences as codes of columns with the views of their values; keeps the arrays it points into.
struct PyArcData {
  std::shared_ptr<PyArcPlan> plan;
  std::vector<CodedColumn> arrays;
  Array<std::int64_t, 1> starts;
  std::vector<trellis::ColumnCodes> columns;

  PyArcData(std::shared_ptr<PyArcPlan> plan_, std::vector<CodedColumn> given, Array<std::int64_t, 1> starts_)
      : plan(std::move(plan_)), arrays(std::move(given)), starts(std::move(starts_)) {
    const std::size_t n_tokens = check_sentences(starts);
    std::int64_t longest = 0;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) longest = std::max(longest, starts(i + 1) - starts(i));
    require(longest <= kLongest, "a sentence of more than 1,000 words");
    require(longest <= kLongestSummed || !plan->core.second_order(), "a sentence of more than 400 words, the limit of a parser of order 2");
    columns = columns_from(arrays, n_tokens);
    for (const auto& [column, view] : plan->core.places.slots)
      require(static_cast<std::size_t>(column) < columns.size() && static_cast<std::size_t>(view) < columns[static_cast<std::size_t>(column)].views.n_views,
              "a slot without a view");
    // Ids must fit into the bits that atoms have for them.
    for (const trellis::PlacedAtom& atom : plan->core.places.atoms) {
      if (atom.place == trellis::kMeasure) continue;
      const auto [column, view] = plan->core.places.slots[static_cast<std::size_t>(atom.slot)];
      const auto& views = arrays[static_cast<std::size_t>(column)].view_ids;
      for (std::size_t v = 0; v < views.shape(0); ++v)
        require(views(v, static_cast<std::size_t>(view)) < std::int64_t{1} << std::min(atom.bits, 32), "a view id that is too large for its key");
    }
    make_read_only(arrays), make_read_only(starts);
  }
  static constexpr std::int64_t kLongest = 1000;
  // Scores of siblings are n^3 / 3 numbers (170 MB), a forest of all projective trees has n^3 / 2 edges.
  static constexpr std::int64_t kLongestSummed = 400;
  std::size_t size() const { return starts.size() - 1; }
  std::size_t n_tokens() const { return static_cast<std::size_t>(starts(starts.size() - 1)); }
};
