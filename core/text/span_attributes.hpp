// Attributes of spans and of split points by templates over places (places.hpp): `first` and `last` word of a span, `split`,
// the first word after a split point, and as measures its length and its outline, the sequence of its word shapes.
#pragma once
#include "text/places.hpp"

namespace trellis {

struct SpanPlan {
  enum Place : std::int32_t { kFirst, kLast, kSplit };

  Plan plan;                         // its last fold has outlines: pairs of a shorter outline and the id of the next word
  std::vector<bool> of_split;        // [n_templates] whether a template is for split points; else for spans
  std::int32_t outline = -1;         // the slot whose ids make an outline; -1: none
  static constexpr std::int32_t kLongestOutline = 12;  // words; longer spans have none

  // Lengths up to 5, then by ranges that grow.
  static std::int32_t length_id(std::int32_t n) { return n <= 5 ? n : n <= 7 ? 6 : n <= 10 ? 7 : n <= 15 ? 8 : n <= 20 ? 9 : n <= 30 ? 10 : 11; }
};

// The places of one sentence, and the outlines of its spans; scratch of one thread. fold: as vocabularies have it.
class SpanPlaces {
 public:
  template <class Fold>
  void load(const SpanPlan& plan, std::span<const ColumnCodes> columns, std::int64_t begin, std::int64_t end, Fold fold) {
    plan_ = &plan;
    words_.load(plan.plan, columns, begin, end);
    if (plan.outline < 0) return;
    const std::int32_t n = words_.size(), longest = SpanPlan::kLongestOutline;
    outlines_.assign(static_cast<std::size_t>(n * longest), -1);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t length = 1, outline = 0; length <= longest && i + length <= n; ++length) {  // 0 is the empty one
        const std::int32_t id = words_.id(plan.outline, i + length - 1);
        const std::uint64_t key = static_cast<std::uint64_t>(outline) << 32 | static_cast<std::uint32_t>(id);
        outline = id < 0 ? 0 : 1 + fold(plan.plan.n_folds - 1, key);
        if (outline == 0) break;
        outlines_[static_cast<std::size_t>(i * longest + length - 1)] = outline;
      }
  }

  // Calls emit(template, key) for the span i .. j, or with j = 0 for the split point i.
  template <class Fold, class Emit>
  void each(std::int32_t i, std::int32_t j, Fold fold, Emit emit) {
    const bool of_split = j == 0;
    Anchor anchor{};
    if (of_split) anchor.at = {0, 0, i, 0};
    else anchor.at = {i, j - 1, 0, 0}, anchor.measures = {SpanPlan::length_id(j - i), outline(i, j - i), 0, 0};
    for (std::size_t t = 0; t < plan_->plan.templates.size(); ++t)
      if (plan_->of_split[t] == of_split)
        each_key(plan_->plan, plan_->plan.templates[t], words_, anchor, fold, [&](std::uint64_t key, std::int32_t) { emit(t, key); });
  }
  // Calls visit(template, id) for the known attributes of a vocabulary.
  template <class Table, class Visit>
  void find(const Vocabulary<Table>& vocabulary, std::int32_t i, std::int32_t j, Visit visit) {
    each(i, j, vocabulary.known_folds(), [&](std::size_t t, std::uint64_t key) {
      if (const std::int32_t id = vocabulary.tables[t].find(key); id >= 0) visit(t, id);
    });
  }
  void learn(GrowingVocabulary& vocabulary, std::int32_t i, std::int32_t j) {
    each(i, j, vocabulary.made_folds(), [&](std::size_t t, std::uint64_t key) { vocabulary.tables[t].find_or_add(key); });
  }

 private:
  std::int32_t outline(std::int32_t i, std::int32_t length) const {
    const std::int32_t longest = SpanPlan::kLongestOutline;
    return plan_->outline < 0 || length > longest ? -1 : outlines_[static_cast<std::size_t>(i * longest + length - 1)];
  }
  const SpanPlan* plan_ = nullptr;
  PlacedSentence words_;
  std::vector<std::int32_t> outlines_;  // [n, kLongestOutline] by first word and length
};

}  // namespace trellis
