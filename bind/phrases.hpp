// Grammars, sentences and plans of constituency parsing from Python, validated.
#pragma once
#include "checks.hpp"
#include "features.hpp"
#include "learn/phrases.hpp"

struct WordArrays {
  Longs starts;      // [n_sentences + 1]
  Longs tag_starts;  // [n_words + 1]
  Ints tags;
  Floats scores;
  FIELDS(starts, tag_starts, tags, scores)
};
// Templates of spans and split points, and the slot whose ids form an outline, or -1.
struct SpanPlanArrays {
  PlanArrays plan;
  std::int32_t outline;
  FIELDS(plan, outline)
};
using CodedColumns = std::vector<CodedColumn>;

constexpr std::int64_t kLongestSentence = 400;  // words: a chart has a row of symbols per span

struct PyPhraseGrammar {
  std::size_t n_phrases, n_symbols, root;
  Array<std::int32_t, 2> binary, unary;  // [n, 3], [n, 2]: symbols of rules
  ARGUMENTS(n_phrases, n_symbols, root, binary, unary)
  std::optional<trellis::PhraseGrammar> core;

  void begin() {
    require(root < n_phrases && n_phrases <= n_symbols && n_symbols < (1u << 24), "symbols out of range");
    require(binary.shape(1) == 3 && unary.shape(1) == 2 && binary.shape(0) + unary.shape(0) < (1u << 30),
            "rules are [n, 3] and [n, 2]");
    check_numbers(binary, n_symbols, "symbol of a rule out of range");
    check_numbers(unary, n_symbols, "symbol of a rule out of range");
    std::vector<trellis::BinaryRule> binaries;
    std::vector<trellis::UnaryRule> unaries;
    for (std::size_t r = 0; r < binary.shape(0); ++r) {
      require(static_cast<std::size_t>(binary(r, 0)) < n_phrases, "symbol of a rule out of range");
      binaries.push_back({binary(r, 0), binary(r, 1), binary(r, 2)});
    }
    for (std::size_t r = 0; r < unary.shape(0); ++r) unaries.push_back({unary(r, 0), unary(r, 1)});
    core.emplace(n_phrases, n_symbols, root, std::move(binaries), std::move(unaries));
  }
};

struct PyPhrasePruner {
  std::shared_ptr<PyPhraseGrammar> fine, coarse;
  std::vector<double> factors;
  std::vector<std::int32_t> coarse_of;
  double least;
  ARGUMENTS(fine, coarse, factors, coarse_of, least)
  std::optional<trellis::PhrasePruner> core;

  const trellis::PhraseGrammar& grammar() const { return *fine->core; }
  void begin() {
    const trellis::PhraseGrammar& small = *coarse->core;
    const std::size_t n_phrases = grammar().n_phrases();
    require(factors.size() == small.n_rules(), "there must be one factor per rule");
    for (double factor : factors) require(factor >= 0 && std::isfinite(factor), "factors must be finite numbers of at least 0");
    require(coarse_of.size() == grammar().n_symbols() && small.n_tags() == grammar().n_tags(), "the grammars have different symbols");
    check_numbers(coarse_of, small.n_symbols(), "symbol out of range");
    for (std::size_t a = n_phrases; a < coarse_of.size(); ++a)
      require(static_cast<std::size_t>(coarse_of[a]) == small.n_phrases() + a - n_phrases, "the tags have another order");
    require(least >= 0 && least <= 1, "a probability must be from 0 to 1");
    core.emplace(trellis::PhrasePruner{grammar(), small, factors, coarse_of, least});
  }
};

inline trellis::TaggedSentences sentences_from(const WordArrays& words, const trellis::PhraseGrammar& grammar) {
  const auto& [starts, tag_starts, numbers, scores] = words;
  const std::size_t n_words = check_sentences(starts);
  require(tag_starts.size() == n_words + 1 && scores.size() == numbers.size(), "there must be one list of tags with scores per word");
  check_starts(tag_starts, numbers.size());
  check_numbers(numbers, grammar.n_symbols(), "tag out of range", static_cast<std::int32_t>(grammar.n_phrases()));
  check_finite(scores, "scores of tags must be finite numbers");
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    require(starts(s + 1) - starts(s) <= kLongestSentence, "a sentence is too long");
  trellis::TaggedSentences out{{starts.begin(), starts.end()}, {tag_starts.begin(), tag_starts.end()}, {}};
  for (std::size_t i = 0; i < numbers.size(); ++i) out.tags.push_back({numbers(i), scores(i)});
  return out;
}

// The columns of each rule, [n_rules, 2], and its fixed score, [n_rules].
struct RuleArrays {
  Array<std::int32_t, 2> columns;
  std::size_t n_columns;
  Floats base;
  FIELDS(columns, n_columns, base)

  trellis::RuleColumns checked(const trellis::PhraseGrammar& grammar) const {
    require(columns.shape(0) == grammar.n_rules() && columns.shape(1) == trellis::RuleColumns::kMost,
            "columns must be [n_rules, 2]");
    require(n_columns < (1u << 30), "too many columns");
    check_numbers(columns, n_columns, "column out of range", -1);
    require(base.size() == grammar.n_rules(), "there must be one score per rule");
    check_finite(base, "scores of rules must be finite numbers");
    columns.make_read_only(), base.make_read_only();
    return {n_columns, columns.data()};
  }
};

inline trellis::SpanPlan span_plan_from(const SpanPlanArrays& arrays) {
  trellis::SpanPlan plan;
  plan.plan = plan_from(arrays.plan, trellis::kMeasure, trellis::SpanPlan::kSplit), plan.outline = arrays.outline;
  require(plan.outline >= -1 && plan.outline < static_cast<std::int32_t>(plan.plan.slots.size()), "number out of range in a plan");
  ++plan.plan.n_folds;  // for outlines
  for (const trellis::Template& shape : plan.plan.templates) {
    bool of_split = false;
    for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a)
      of_split |= plan.plan.atoms[static_cast<std::size_t>(a)].place == trellis::SpanPlan::kSplit;
    plan.of_split.push_back(of_split);
  }
  return plan;
}
