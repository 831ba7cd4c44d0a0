// Attributes of spans and of split points by templates over places (places.hpp): `first` and `last` word of a span, `split`,
// the first word after a split point, and as measures its length and its outline, what its words look like one by one.
#pragma once
#include "text/places.hpp"

namespace trellis {

struct SpanPlan {
  enum Place : std::int32_t { kFirst, kLast, kSplit };
  enum Measure : std::int32_t { kLength, kOutline };

  Plan plan;
  std::vector<bool> of_split;        // [n_templates] whether a template is of split points; else of spans
  std::int32_t outline = -1;         // the slot whose ids make an outline; -1: none
  static constexpr std::int32_t kLongestOutline = 12;  // words; longer spans have none

  // Lengths up to 5, then by ranges that grow.
  static std::int32_t length_id(std::int32_t n) { return n <= 5 ? n : n <= 7 ? 6 : n <= 10 ? 7 : n <= 15 ? 8 : n <= 20 ? 9 : n <= 30 ? 10 : 11; }
  static constexpr std::int32_t kLengthIds = 12;
};

// The places of one sentence, and the outlines of its spans; scratch of one thread. step(outline, id) is the number of an
// outline with one word more, -1 where it has none; 0 is the empty one.
class SpanPlaces {
 public:
  template <class Step>
  void load(const SpanPlan& plan, std::span<const ColumnCodes> columns, std::int64_t begin, std::int64_t end, Step step) {
    plan_ = &plan;
    words_.load(plan.plan, columns, begin, end);
    if (plan.outline < 0) return;
    const std::int32_t n = words_.size(), longest = SpanPlan::kLongestOutline;
    outlines_.assign(static_cast<std::size_t>(n * longest), -1);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t length = 1, node = 0; length <= longest && i + length <= n; ++length) {
        const std::int32_t id = words_.id(plan.outline, i + length - 1);
        node = id < 0 ? -1 : step(node, id);
        if (node < 0) break;
        outlines_[static_cast<std::size_t>(i * longest + length - 1)] = node;
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

 private:
  std::int32_t outline(std::int32_t i, std::int32_t length) const {
    const std::int32_t longest = SpanPlan::kLongestOutline;
    return plan_->outline < 0 || length > longest ? -1 : outlines_[static_cast<std::size_t>(i * longest + length - 1)];
  }
  const SpanPlan* plan_ = nullptr;
  PlacedSentence words_;
  std::vector<std::int32_t> outlines_;  // [n, kLongestOutline] by first word and length
};

inline std::uint64_t outline_key(std::int32_t outline, std::int32_t id) {
  return static_cast<std::uint64_t>(outline) << 32 | static_cast<std::uint32_t>(id);
}

// Tables that grow: attributes are numbered within their templates.
class GrowingSpans : public GrowingTables {
 public:
  explicit GrowingSpans(const SpanPlan& plan) : GrowingTables(plan.plan) {}

  void load(const SpanPlan& plan, std::span<const ColumnCodes> columns, std::int64_t begin, std::int64_t end, SpanPlaces& x) {
    x.load(plan, columns, begin, end, [&](std::int32_t outline, std::int32_t id) { return 1 + outlines_.find_or_add(outline_key(outline, id)); });
  }
  void learn(SpanPlaces& x, std::int32_t i, std::int32_t j) {
    x.each(i, j, [&](std::int32_t f, std::uint64_t key) { return make_fold(f, key); },
           [&](std::size_t t, std::uint64_t key) { tables_[t].find_or_add(key); });
  }
  // Once all is learnt: attributes are numbered over all templates.
  void number() { first_ = first_numbers(); }
  void find(SpanPlaces& x, std::int32_t i, std::int32_t j, std::vector<std::int32_t>& ids) const {
    x.each(i, j, [&](std::int32_t f, std::uint64_t key) { return fold(f, key); },
           [&](std::size_t t, std::uint64_t key) {
             if (const std::int32_t id = tables_[t].find(key); id >= 0) ids.push_back(first_[t] + id);
           });
  }
  std::span<const GrowingTable> outlines() const { return {&outlines_, 1}; }

 private:
  GrowingTable outlines_;
  std::vector<std::int32_t> first_;  // [n_templates + 1]
};

// Tables as a model has them, with the numbers of attributes over all templates.
struct FrozenSpans : FrozenVocabulary {
  FrozenTable outlines;

  void load(const SpanPlan& plan, std::span<const ColumnCodes> columns, std::int64_t begin, std::int64_t end, SpanPlaces& x) const {
    x.load(plan, columns, begin, end, [&](std::int32_t outline, std::int32_t id) {
      const std::int32_t found = outlines.find(outline_key(outline, id));
      return found < 0 ? -1 : 1 + found;
    });
  }
  // Calls visit(template, attribute).
  template <class Visit>
  void each(SpanPlaces& x, std::int32_t i, std::int32_t j, Visit visit) const {
    x.each(i, j, [&](std::int32_t f, std::uint64_t key) { return fold(f, key); },
           [&](std::size_t t, std::uint64_t key) {
             if (const std::int32_t id = tables[t].find(key); id >= 0) visit(t, id);
           });
  }
  void find(SpanPlaces& x, std::int32_t i, std::int32_t j, std::vector<std::int32_t>& ids) const {
    each(x, i, j, [&](std::size_t, std::int32_t id) { ids.push_back(id); });
  }
};

}  // namespace trellis
