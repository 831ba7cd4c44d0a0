// Plans of arcs and the input of parsers, from Python.
#pragma once
#include "checks.hpp"
#include "features.hpp"
#include "weights/arcs.hpp"

// Templates of arcs, validated.
struct PyArcPlan {
  PlanArrays plan;
  std::tuple<std::size_t, std::size_t, std::size_t, std::size_t> counts;  // of templates: of arcs, labels, siblings, the filter
  std::size_t n_labels;
  ARGUMENTS(plan, counts, n_labels)
  trellis::ArcPlan core;

  void begin() {
    check_labels(n_labels);
    core.places = plan_from(plan, trellis::kBetween, static_cast<std::int32_t>(trellis::kSibling));
    const std::size_t n = core.places.templates.size();
    const auto& [n_arcs, n_labelled, n_siblings, n_filters] = counts;
    core.n_arcs = n_arcs, core.n_labelled = n_labelled, core.n_siblings = n_siblings, core.has_filter = n_filters > 0;
    require(n_filters <= 1 && n_arcs <= n && n_labelled <= n && n_siblings <= n && core.n_templates() + n_filters == n,
            "templates of arcs, labels, siblings and the filter must be all templates");
    core.n_labels = n_labels;
  }

  // Number of weights per attribute of each template.
  std::vector<std::uint32_t> columns() const {
    std::vector<std::uint32_t> out(core.places.templates.size(), 1);
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(core.n_arcs), core.n_labelled, static_cast<std::uint32_t>(n_labels));
    return out;
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
