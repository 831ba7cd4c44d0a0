// Scores of rules over spans (engine/phrase_forest.hpp). Attributes belong to a span or a split point; their rows have columns
// for rules and for properties shared by rules, such as the parent:
//
//   score(A -> B C over i, k, j) = base[A -> B C] + sum over attributes a of the span i .. j and of the split point k of
//                                  w[a, A -> B C] + w[a, A]
//
// The score of a split point does not depend on the span, so it is summed once.
#pragma once
#include "engine/phrase_forest.hpp"
#include "text/span_attributes.hpp"
#include "weights/growing_rows.hpp"

namespace trellis {

// The columns of each rule.
struct RuleColumns {
  static constexpr std::size_t kMost = 2;
  std::size_t n_columns = 0;
  const std::int32_t* columns = nullptr;  // [n_rules, kMost], -1: none

  template <class Visit>
  TRELLIS_INLINE void each(std::int32_t rule, Visit visit) const {
    for (std::size_t c = 0; c < kMost; ++c)
      if (const std::int32_t column = columns[static_cast<std::size_t>(rule) * kMost + c]; column >= 0) visit(column);
  }
};

// Attributes of one sentence: those of the spans of its forest, in its order, and of the points before its words.
struct PhraseSites {
  Sites sites;
  std::size_t first_span = 0;
  std::size_t first_split = 0;  // point k is site first_split + k
};

// Calls visit(site) for the span of an edge, and for its split point if it has one.
template <class Visit>
void each_site(const PhraseForest& forest, const PhraseSites& at, std::size_t edge, Visit visit) {
  visit(at.first_span + forest.span_of(edge));
  if (const std::int32_t split = forest.edges()[edge].split) visit(at.first_split + static_cast<std::size_t>(split));
}

// The attributes of a forest's spans and of the points before its words, one list after the other. `first`: offsets of the
// numbers of each template; null: the numbers already cover all templates.
template <class Table>
void find_attributes(const Vocabulary<Table>& vocabulary, const std::int32_t* first, const PhraseForest& forest, SpanPlaces& x,
                     TokenLists& to) {
  const auto add = [&](std::size_t t, std::int32_t id) { to.ids.push_back(first ? first[t] + id : id); };
  for (const PhraseForest::Span& span : forest.spans()) x.find(vocabulary, span.begin, span.end, add), to.end_token();
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(forest.n_words()); ++k) {
    if (k) x.find(vocabulary, k, 0, add);
    to.end_token();
  }
}

// Adds the tag scores of words to the scores of edges.
inline void add_tag_scores(const PhraseForest& forest, const WordTags& words, double* scores) {
  const PhraseGrammar& grammar = forest.grammar();
  const std::vector<ForestEdge>& edges = forest.edges();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (static_cast<std::size_t>(edges[e].rule) < grammar.tag_number(grammar.n_phrases())) continue;
    for (const WordTag& one : words.of(static_cast<std::size_t>(edges[e].begin)))
      if (grammar.tag_number(static_cast<std::size_t>(one.tag)) == static_cast<std::size_t>(edges[e].rule)) scores[e] += one.score;
  }
}

// Scratch of one thread; sums are of type Real.
template <class Real>
class PhraseScores {
 public:
  explicit PhraseScores(const RuleColumns& columns) : columns_(columns), seen_(columns.n_columns), sums_(padded(columns.n_columns)) {}

  // scores [n_edges]; base [n_rules]
  template <class AnyRows>
  void score(const PhraseForest& forest, const AnyRows& rows, const PhraseSites& at, const float* base, double* scores) {
    for (std::size_t e = 0; e < forest.edges().size(); ++e) scores[e] = base[forest.edges()[e].rule];
    each_site(forest, at, [&](std::size_t site, auto edges) {
      wanted_.clear(), ++number_;
      edges([&](std::size_t, std::int32_t column) { sum_of(column); });
      if (wanted_.empty()) return;
      at.sites.each(site, [&](std::int32_t a, float value) { rows.add_to(a, static_cast<Real>(value), sums_.data(), wanted_); });
      edges([&](std::size_t e, std::int32_t column) { scores[e] += sums_[static_cast<std::size_t>(column)]; });
    });
  }

  // The transpose: calls add(attribute, value, amount_of) at every site; amount_of(column) is the sum of the amounts [n_edges]
  // of its edges with the column.
  template <class Add>
  void hand_back(const PhraseForest& forest, const PhraseSites& at, const double* amounts, Add add) {
    each_site(forest, at, [&](std::size_t site, auto edges) {
      wanted_.clear(), ++number_;
      edges([&](std::size_t e, std::int32_t column) { sum_of(column) += static_cast<Real>(amounts[e]); });
      const auto amount_of = [&](std::uint32_t c) { return seen_[c] == number_ ? sums_[c] : Real(0); };
      at.sites.each(site, [&](std::int32_t a, float value) { add(a, value, amount_of); });
    });
  }

 private:
  // The sum of a column at the current site, initially zero.
  Real& sum_of(std::int32_t column) {
    const auto c = static_cast<std::size_t>(column);
    if (seen_[c] != number_) seen_[c] = number_, wanted_.push_back(column), sums_[c] = 0;
    return sums_[c];
  }
  // Calls visit(site, edges) for spans and split points; edges(each) calls each(edge, column) for the columns of its edges.
  template <class Visit>
  void each_site(const PhraseForest& forest, const PhraseSites& at, Visit visit) {
    const std::vector<ForestEdge>& edges = forest.edges();
    const std::vector<PhraseForest::Span>& spans = forest.spans();
    for (std::size_t s = 0; s < spans.size(); ++s) {
      const std::size_t first = spans[s].first_edge, last = s + 1 < spans.size() ? spans[s + 1].first_edge : edges.size();
      visit(at.first_span + s, [&](auto each) {
        for (std::size_t e = first; e < last; ++e) columns_.each(edges[e].rule, [&](std::int32_t c) { each(e, c); });
      });
    }
    by_split_.sort(forest.n_words(), [&](auto add) {
      for (std::size_t e = 0; e < edges.size(); ++e) add(static_cast<std::size_t>(edges[e].split), static_cast<std::uint32_t>(e));
    });
    for (std::size_t k = 1; k < by_split_.size(); ++k)  // edges at 0 have no split point
      if (by_split_.size_of(k))
        visit(at.first_split + k, [&](auto each) {
          for (const std::uint32_t e : by_split_[k]) columns_.each(edges[e].rule, [&](std::int32_t c) { each(e, c); });
        });
  }

  const RuleColumns& columns_;
  std::uint64_t number_ = 0;          // of sites so far
  std::vector<std::uint64_t> seen_;   // [n_columns] the last site that used a column
  std::vector<std::int32_t> wanted_;  // columns
  std::vector<Real> sums_;            // [n_columns]
  Groups<std::uint32_t> by_split_;    // [n_words] edges by split point
};

}  // namespace trellis
