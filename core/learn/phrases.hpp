// PhraseTrees of a grammar as outputs to learn, for online learners (structure.hpp). An output is a list of
// rules over spans, edges of the forest of its sentence.
#pragma once
#include <memory>
#include <optional>

#include "engine/cky.hpp"
#include "learn/edge_outputs.hpp"
#include "text/span_attributes.hpp"
#include "weights/phrase_scores.hpp"

namespace trellis {

// Sentences as words with their tags.
struct TaggedSentences {
  std::vector<std::int64_t> starts;      // [n + 1] of words
  std::vector<std::int64_t> tag_starts;  // [n_words + 1]
  std::vector<WordTag> tags;

  std::size_t size() const { return starts.size() - 1; }
  std::size_t n_words(std::size_t s) const { return static_cast<std::size_t>(starts[s + 1] - starts[s]); }
  WordTags of(std::size_t s) const {
    const std::span<const std::int64_t> own(tag_starts.data() + starts[s], n_words(s) + 1);
    return {own, std::span(tags).subspan(static_cast<std::size_t>(own[0]), static_cast<std::size_t>(own.back() - own[0]))};
  }
};

// Sentences with their trees, and the symbols left by coarse pruning over their spans, including those of the gold trees.
class PhraseExamples {
 public:
  // right: the rules right_starts[s] .. right_starts[s + 1] of the gold tree of sentence s.
  PhraseExamples(const PhrasePruner& pruner, TaggedSentences sentences, std::vector<std::int64_t> right_starts,
                 std::vector<ForestEdge> right, std::size_t n_threads);

  // Numbers the attributes of gold trees, or of all remaining spans, and looks up those of all spans.
  void learn(const SpanPlan& plan, std::span<const ColumnCodes> columns, bool all);

  std::size_t size() const { return sentences.size(); }
  std::span<const ForestEdge> right_of(std::size_t s) const {
    return std::span(right_).subspan(static_cast<std::size_t>(right_starts_[s]), static_cast<std::size_t>(right_starts_[s + 1] - right_starts_[s]));
  }
  // The forest of a sentence; false if it has none.
  bool build(std::size_t s, Remaining& scratch, PhraseForest& forest) const;
  PhraseSites sites_of(std::size_t s, const PhraseForest& forest) const {
    const auto first = static_cast<std::size_t>(first_site_[s]);
    return {{attributes_.starts.data(), attributes_.ids.data(), nullptr}, first, first + forest.spans().size()};
  }

  const PhrasePruner& pruner;
  TaggedSentences sentences;
  GrowingVocabulary vocabulary;
  std::size_t n_edges = 0, n_spans = 0;  // summed over all forests

 private:
  std::vector<std::int64_t> right_starts_;  // [n + 1]
  std::vector<ForestEdge> right_;
  Groups<std::uint32_t> remaining_;  // [n] (cell · coarse symbols + symbol) · 2, and 1 for tops
  // Attributes: per sentence those of its spans, then those of its points.
  std::vector<std::int64_t> first_site_;  // [n]
  TokenLists attributes_;                 // [n_sites]
};

class PhraseTrees : public EdgeOutputs<PhraseTrees> {
 public:
  // base [n_rules] fixed scores. Weights null: nothing is loaded, and score_by() gets other weights.
  PhraseTrees(const GrowingRows* weights, const PhraseExamples& examples, const RuleColumns& columns, const float* base)
      : weights_(weights), examples_(examples), columns_(columns), base_(base), forest_(examples.pruner.fine, examples.pruner.coarse_of),
        sums_(columns) {}

  bool load(std::size_t s) {
    enter(s);
    if (graph_.n_edges) score_by(*weights_, sums_);
    return graph_.n_edges > 0;
  }
  template <class Real, class AnyRows>
  void score_by(const AnyRows& rows, PhraseScores<Real>& sums) { sums.score(forest_, rows, sites_, base_, scores_.data()); }
  template <class Real, class Add>
  void hand_back(const std::vector<double>& amounts, PhraseScores<Real>& sums, Add add) {
    sums.hand_back(forest_, sites_, amounts.data(), add);
  }
  void enter(std::size_t s) {
    found_.clear();
    if (!examples_.build(s, remaining_, forest_)) return set({}, found_, nullptr);
    for (const ForestEdge& edge : examples_.right_of(s)) found_.push_back(forest_.find(edge));
    set(forest_.view(), found_, nullptr);
    sites_ = examples_.sites_of(s, forest_);
  }
  template <class Visit>
  void features_of(const Part& part, double amount, Visit visit) const {
    each_site(forest_, sites_, part.site, [&](std::size_t site) {
      sites_.sites.each(site, [&](std::int32_t a, float value) {
        columns_.each(forest_.edges()[part.site].rule, [&](std::int32_t c) {
          visit(Change{static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(c), amount * value});
        });
      });
    });
  }

 private:
  const GrowingRows* weights_;
  const PhraseExamples& examples_;
  const RuleColumns& columns_;
  const float* base_;
  PhraseForest forest_;
  PhraseScores<float> sums_;
  Remaining remaining_;
  PhraseSites sites_;
  std::vector<std::int64_t> found_;  // the gold derivation
};

static_assert(PartStructure<PhraseTrees>);

// The parameters of log losses: pairs of an attribute and a column in the gold trees. Those of attribute a are
// starts[a] .. starts[a + 1], each with its column.
struct PhraseParameters {
  std::vector<std::uint32_t> starts{0}, columns;  // [n_attributes + 1], [n_parameters]

  PhraseParameters(const PhraseExamples& examples, const RuleColumns& columns);
};

// Log losses of the gold trees, over the remaining trees of each sentence; all arguments must outlive it.
class Objective;
std::unique_ptr<Objective> phrase_objective(const PhraseExamples& examples, const RuleColumns& columns, const float* base,
                                            const PhraseParameters& parameters);

}  // namespace trellis
