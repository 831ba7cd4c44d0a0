// Grammars, sentences and plans of constituency parsing as they come from Python, checked.
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
// Templates of spans and split points, and the slot whose ids make an outline, or -1.
struct SpanPlanArrays {
  PlanArrays plan;
  std::int32_t outline;
  FIELDS(plan, outline)
};
using CodedColumns = std::vector<CodedColumn>;

constexpr std::int64_t kLongestSentence = 400;  // words: a chart has a row of symbols per span

inline trellis::PhraseGrammar grammar_from(std::size_t n_phrases, std::size_t n_symbols, std::size_t root,
                                         const Array<std::int32_t, 2>& binary, const Array<std::int32_t, 2>& unary) {
  require(root < n_phrases && n_phrases <= n_symbols && n_symbols < (1u << 24), "symbols out of range");
  require(binary.shape(1) == 3 && unary.shape(1) == 2 && binary.shape(0) + unary.shape(0) < (1u << 30), "rules are [n, 3] and [n, 2]");
  const auto symbol = [&](std::int32_t a, std::size_t n) { require(a >= 0 && static_cast<std::size_t>(a) < n, "a rule with no such symbol"); };
  std::vector<trellis::BinaryRule> binaries;
  std::vector<trellis::UnaryRule> unaries;
  for (std::size_t r = 0; r < binary.shape(0); ++r) {
    const std::int32_t* at = binary.data() + 3 * r;
    symbol(at[0], n_phrases), symbol(at[1], n_symbols), symbol(at[2], n_symbols);
    binaries.push_back({at[0], at[1], at[2]});
  }
  for (std::size_t r = 0; r < unary.shape(0); ++r) {
    const std::int32_t* at = unary.data() + 2 * r;
    symbol(at[0], n_symbols), symbol(at[1], n_symbols);
    unaries.push_back({at[0], at[1]});
  }
  return {n_phrases, n_symbols, root, std::move(binaries), std::move(unaries)};
}

struct PyPhraseGrammar {
  trellis::PhraseGrammar core;
};

struct PyPhrasePruner {
  std::shared_ptr<PyPhraseGrammar> fine, coarse;
  trellis::PhrasePruner core;

  PyPhrasePruner(std::shared_ptr<PyPhraseGrammar> fine_, std::shared_ptr<PyPhraseGrammar> coarse_, const Doubles& factors,
                 const Ints& coarse_of, double least)
      : fine(std::move(fine_)), coarse(std::move(coarse_)),
        core{fine->core, coarse->core, {factors.data(), factors.data() + factors.size()}, {coarse_of.data(), coarse_of.data() + coarse_of.size()}, least} {
    const std::size_t n_phrases = fine->core.n_phrases();
    require(factors.size() == coarse->core.n_rules(), "one factor per rule");
    check_finite(factors, "factors must be finite numbers");
    for (double factor : core.factors) require(factor >= 0, "factors must not be negative");
    require(coarse_of.size() == fine->core.n_symbols() && coarse->core.n_tags() == fine->core.n_tags(), "grammars of other symbols");
    check_numbers(coarse_of, coarse->core.n_symbols(), "no such symbol");
    for (std::size_t a = n_phrases; a < coarse_of.size(); ++a)
      require(static_cast<std::size_t>(coarse_of(a)) == coarse->core.n_phrases() + a - n_phrases, "tags in another order");
    require(least >= 0 && least <= 1, "a probability must be from 0 to 1");
  }
};

inline trellis::TaggedSentences sentences_from(const WordArrays& given, const trellis::PhraseGrammar& grammar) {
  const auto& [starts, tag_starts, numbers, scores] = given;
  const std::size_t n_words = check_sentences(starts);
  require(tag_starts.size() == n_words + 1 && scores.size() == numbers.size(), "one list of tags per word, with scores");
  check_starts(tag_starts, numbers.size());
  check_numbers(numbers, grammar.n_symbols(), "no such tag", static_cast<std::int32_t>(grammar.n_phrases()));
  check_finite(scores, "scores of tags must be finite numbers");
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) require(starts(s + 1) - starts(s) <= kLongestSentence, "a sentence that is too long");
  trellis::TaggedSentences out{{starts.data(), starts.data() + starts.size()}, {tag_starts.data(), tag_starts.data() + tag_starts.size()}, {}};
  for (std::size_t i = 0; i < numbers.size(); ++i) out.tags.push_back({numbers(i), scores(i)});
  return out;
}

// Which columns of rows a rule has, [n_rules, 2].
struct RuleColumnArray {
  std::vector<std::int32_t> numbers;
  trellis::RuleColumns core;

  RuleColumnArray(const Array<std::int32_t, 2>& given, std::size_t n_columns, const trellis::PhraseGrammar& grammar)
      : numbers(given.data(), given.data() + given.size()), core{n_columns, numbers.data()} {
    require(given.shape(0) == grammar.n_rules() && given.shape(1) == trellis::RuleColumns::kMost, "columns must be [n_rules, 2]");
    require(n_columns < (1u << 30), "too many columns");
    for (std::int32_t c : numbers) require(c >= -1 && c < static_cast<std::int32_t>(n_columns), "a column out of range");
  }
};

inline std::vector<float> base_from(const Floats& given, const trellis::PhraseGrammar& grammar) {
  require(given.size() == grammar.n_rules(), "one score per rule");
  check_finite(given, "scores of rules must be finite numbers");
  return {given.data(), given.data() + given.size()};
}

inline trellis::SpanPlan span_plan_from(const SpanPlanArrays& given) {
  trellis::SpanPlan plan;
  plan.plan = placed_plan_from(given.plan, trellis::kMeasure, trellis::SpanPlan::kSplit), plan.outline = given.outline;
  require(plan.outline >= -1 && plan.outline < static_cast<std::int32_t>(plan.plan.slots.size()), "a plan out of range");
  for (const trellis::Template& shape : plan.plan.templates) {
    bool of_split = false;
    for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a)
      of_split |= plan.plan.atoms[static_cast<std::size_t>(a)].place == trellis::SpanPlan::kSplit;
    plan.of_split.push_back(of_split);
  }
  return plan;
}

inline std::vector<trellis::ColumnCodes> span_columns_from(const trellis::SpanPlan& plan, const CodedColumns& given, std::size_t n_words) {
  std::vector<trellis::ColumnCodes> columns = columns_from(given, n_words);
  check_views(plan.plan, columns, given);
  return columns;
}
