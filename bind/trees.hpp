// Plans of arcs and the input of parsers, from Python.
#pragma once
#include "checks.hpp"
#include "features.hpp"
#include "weights/arcs.hpp"

// Templates of arcs, validated.
struct PyArcPlan {
  PlanArrays plan;                                     // of groups of templates
  Array<std::int32_t, 2> templates;                    // [n, 3]: group, measure, whether it has labels
  std::tuple<std::size_t, std::size_t, std::size_t> counts;  // of groups: of arcs, of siblings, the filter
  std::size_t n_labels;
  ARGUMENTS(plan, templates, counts, n_labels)
  trellis::ArcPlan core;

  void begin() {
    check_labels(n_labels);
    core.places = plan_from(plan, trellis::kBetween, static_cast<std::int32_t>(trellis::kSibling));
    const std::size_t n = core.places.templates.size();
    const auto& [n_arcs, n_siblings, n_filters] = counts;
    core.n_arcs = n_arcs, core.n_siblings = n_siblings, core.has_filter = n_filters > 0, core.n_labels = n_labels;
    require(n_filters <= 1 && n_arcs <= n && n_siblings <= n && core.filter() + n_filters == n && n < trellis::PlacedWeights::kMostGroups,
            "groups of arcs, siblings and the filter, together all of them");
    require(templates.shape(1) == 3, "templates are [n, 3]");
    core.groups.resize(n);
    for (std::size_t t = 0; t < templates.shape(0); ++t) {
      const std::int32_t group = templates(t, 0), measure = templates(t, 1), labelled = templates(t, 2);
      require(group >= 0 && static_cast<std::size_t>(group) < n && measure >= 0 && measure <= 2 && labelled >= 0 &&
                  labelled <= (static_cast<std::size_t>(group) < n_arcs), "template out of range");
      require(core.add(static_cast<std::size_t>(group), static_cast<trellis::ArcMeasure>(measure), labelled),
              "too many labels for templates with distances; use direction, or fewer labels");
    }
    for (std::size_t g = 0; g < n; ++g)
      require(g == core.filter() ? core.groups[g].templates.size() == 1 : !core.groups[g].templates.empty(), "a group without templates");
  }
};

// Sentences as codes of columns with the views of their values; keeps its arrays alive.
struct PyArcData {
  std::shared_ptr<PyArcPlan> plan;
  std::vector<CodedColumn> columns;
  Longs starts;
  ARGUMENTS(plan, columns, starts)
  std::vector<trellis::ColumnCodes> codes;

  static constexpr std::size_t kLongest = 1000;
  // Scores of siblings are n^3 / 3 numbers (170 MB), a forest of all projective trees has n^3 / 2 edges.
  static constexpr std::size_t kLongestSummed = 400;
  void begin() {
    const std::size_t n_tokens = check_sentences(starts);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < size(); ++i) longest = std::max(longest, length(i));
    require(longest <= kLongest, "a sentence has more than 1,000 words");
    require(longest <= kLongestSummed || !plan->core.second_order(),
            "a sentence has more than 400 words, the limit of a parser of order 2");
    codes = columns_from(plan->core.places, columns, n_tokens);
  }
  std::size_t size() const { return starts.size() - 1; }
  std::size_t length(std::size_t i) const { return static_cast<std::size_t>(starts(i + 1) - starts(i)); }
  std::size_t n_tokens() const { return static_cast<std::size_t>(starts(size())); }
};
