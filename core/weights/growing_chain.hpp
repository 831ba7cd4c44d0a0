// All weights of a chain during training: of attributes, of edge attributes, of label pairs and of longer n-grams,
// which are all triples (order 2) or the n-grams created in training (any order).
#pragma once
#include <algorithm>
#include <optional>
#include <span>

#include "engine/ngram_scores.hpp"
#include "weights/growing_rows.hpp"
#include "weights/potentials.hpp"

namespace trellis {

// Rows of weights are numbered: attributes, edge attributes, then one row for label pairs and one for longer n-grams.
struct GrowingChain {
  // At order 0 label pairs have no weights. `sparse`: longer n-grams, of up to order + 1 labels, are created when
  // training first updates them; otherwise there is a table of triples at order 2, and no higher order.
  GrowingChain(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels_, int order_, bool sparse,
               const LabelParts& parts_ = {}, bool variances = false)
      : GrowingChain(n_attributes, n_edge_attributes, n_labels_, order_,
                     sparse ? std::optional(Ngrams(n_labels_, static_cast<std::size_t>(order_))) : std::nullopt, parts_,
                     variances) {}
  // The same with given n-grams.
  GrowingChain(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels_, int order_,
               std::optional<Ngrams> ngrams_, const LabelParts& parts_, bool variances = false)
      : rows(n_attributes, parts_.width(n_labels_), heavy_from<float>(padded(parts_.width(n_labels_))), variances),
        edge_rows(n_edge_attributes, (n_labels_ + 1) * padded(n_labels_), 0, variances), parts(parts_),
        n_labels(n_labels_), stride(padded(n_labels_)), order(order_), ngrams(std::move(ngrams_)),
        edge((n_labels_ + 1) * stride, variances),
        tri(order_ == 2 && !ngrams ? (n_labels_ + 1) * (n_labels_ + 1) * stride : 0, variances) {
    if (ngrams) ngrams_grown(), ngrams_given();
  }
  GrowingChain(const GrowingChain&) = delete;  // ngram_scores points into it

  std::uint32_t edge_row(std::int32_t a) const {
    return static_cast<std::uint32_t>(rows.n_attributes() + static_cast<std::size_t>(a));
  }
  std::uint32_t pair_row() const { return static_cast<std::uint32_t>(rows.n_attributes() + edge_rows.n_attributes()); }

  // A weight by row and place: find returns nulls if it does not exist, make creates it.
  TRELLIS_INLINE LearntWeight find(std::uint32_t row, std::uint32_t place) {
    const std::size_t n = rows.n_attributes();
    if (row < n) return rows.find(static_cast<std::int32_t>(row), place);
    if (row < pair_row()) return edge_rows.find(static_cast<std::int32_t>(row - n), place);
    if (ngrams && row > pair_row()) ask_ngram(place);
    return (row == pair_row() ? edge : tri).at(place);
  }
  TRELLIS_INLINE LearntWeight make(std::uint32_t row, std::uint32_t place) {
    const std::size_t n = rows.n_attributes();
    if (row < n) return rows.make(static_cast<std::int32_t>(row), place);
    if (row < pair_row()) return edge_rows.make(static_cast<std::int32_t>(row - n), place);
    return find(row, place);
  }

  // Copies the weights of a chain of the same kind, which has no n-grams.
  void set_weights(const GrowingChain& other) {
    rows = other.rows, edge_rows = other.edge_rows, edge = other.edge, tri = other.tri;
  }
  // Calls visit(row, place) for every existing weight.
  template <class Visit>
  void each_weight(Visit visit) const {
    const auto n = static_cast<std::uint32_t>(rows.n_attributes());
    rows.each([&](std::size_t a, std::uint32_t place, float, double, float) { visit(static_cast<std::uint32_t>(a), place); });
    edge_rows.each([&](std::size_t a, std::uint32_t place, float, double, float) {
      visit(n + static_cast<std::uint32_t>(a), place);
    });
    for (std::uint32_t i = 0; i < edge.weights.size(); ++i) visit(pair_row(), i);
    for (std::uint32_t i = 0; i < tri.weights.size(); ++i) visit(pair_row() + 1, i);
  }
  // A chain of the same kind, all of whose weights are zero.
  GrowingChain empty() const {
    return {rows.n_attributes(), edge_rows.n_attributes(), n_labels, order, ngrams, parts};
  }

  // The caller may change the weight of the n-gram, so its bounds are marked stale. Out of line, so that steps without
  // n-grams stay short.
  __attribute__((noinline)) void ask_ngram(std::uint32_t place) {
    ngrams_asked.push_back(place);
    ngram_scores.relaxed = {};
  }

  // Calls visit(row, place, value) for the features that a part of the sentence from `begin` on has for its last label
  // (reach 0), its last two (1), all three (2). Parts of labels are visited only if label
  // `unlike` does not have them (NULL: all of them).
  template <class Visit>
  TRELLIS_INLINE void each_feature(const ChainData& data, std::size_t begin, const Part& part, int reach,
                                   std::size_t unlike, Visit visit) {
    const std::size_t t = begin + part.token;
    const auto place = static_cast<std::uint32_t>(part.cell(reach, n_labels, stride));
    if (reach == 0) {
      const bool grows = rows.grows();
      data.attributes.each(t, [&](std::int32_t a, float value) TRELLIS_INLINE_LAMBDA {
        if (grows || rows.may_have(a, place)) visit(static_cast<std::uint32_t>(a), place, value);
      });
      if (!parts.any()) return;
      std::uint32_t few[kFewParts];  // on the stack: many threads may call
      std::vector<std::uint32_t> many(parts.of(part.z).size() > kFewParts ? parts.of(part.z).size() : 0);
      std::uint32_t* const first = many.empty() ? few : many.data();
      const std::span columns(first, std::ranges::set_difference(parts.of(part.z), parts.of(unlike), first).out);
      data.attributes.each(t, [&](std::int32_t a, float value) TRELLIS_INLINE_LAMBDA {
        for (std::uint32_t column : columns)
          if (grows || rows.may_have(a, column)) visit(static_cast<std::uint32_t>(a), column, value);
      });
      return;
    }
    visit(pair_row() + static_cast<std::uint32_t>(reach - 1), place, 1.0f);
    if (reach == 1 && data.edge_attributes.starts)
      data.edge_attributes.each(t, [&](std::int32_t a, float value) {
        if (!data.histories || data.histories[a] == 1) visit(edge_row(a), place, value);
      });
  }

  // Calls visit(row, place, value) for the n-grams of three labels and more, at least `shortest` labels long, that end at
  // token t in the path of a sentence from `begin` on, and for the edge attributes with them; missing ones are
  // created.
  template <class Visit>
  void each_ngram_feature(const ChainData& data, std::size_t begin, const std::int32_t* path, std::size_t t,
                          std::size_t shortest, Visit visit) {
    const auto reach = std::min(static_cast<std::size_t>(order), t + 1);
    std::uint32_t node = reach > t ? ngrams->null() : static_cast<std::uint32_t>(1 + path[t - reach]);
    for (std::size_t i = t + 1 - reach; i <= t; ++i) node = ngrams->extend(node, static_cast<std::size_t>(path[i]));
    ngrams_grown();
    each_run(data, begin, t, node, shortest, visit);
  }
  // The same for all suffixes of an n-gram.
  template <class Visit>
  void each_run(const ChainData& data, std::size_t begin, std::size_t t, std::uint32_t node, std::size_t shortest,
                Visit visit) const {
    for (std::uint32_t g = node; ngrams->length(g) >= std::max(kScored, shortest); g = ngrams->shorter(g))
      visit(pair_row() + 1, g, 1.0f);
    if (!data.histories) return;
    data.edge_attributes.each(begin + t, [&](std::int32_t a, float value) {
      const std::size_t length = std::min<std::size_t>(data.histories[a], t + 1) + 1;
      if (data.histories[a] == 1 || length < shortest) return;
      std::uint32_t run = node;
      while (ngrams->length(run) > length) run = ngrams->shorter(run);
      if (ngrams->length(run) < length) return;
      const std::size_t n_pairs = edge.weights.size(), after_null = n_labels * stride + ngrams->label(run);
      visit(edge_row(a), static_cast<std::uint32_t>(length < kScored ? after_null : n_pairs + run), value);
    });
  }

  // Call after new n-grams: adds their weights.
  void ngrams_grown() {
    tri.resize(ngrams->size());
    ngram_scores.ngrams = &*ngrams;
    ngram_scores.scores = tri.weights.data();
  }
  // Call after all n-grams got their weights.
  void ngrams_given() {
    ngram_bounds.emplace(n_labels);
    ngram_bounds->set(*ngrams, tri.weights.data());
    ngram_scores.relaxed = ngram_bounds->relaxed();
    ngrams_asked.clear();
  }
  // Bounds on the scores of n-grams by the current weights.
  void bound_ngrams() {
    if (ngrams_asked.empty()) return;  // concurrent calls are then safe
    ngram_bounds->grow(*ngrams);
    for (std::uint32_t g : ngrams_asked) ngram_bounds->update(*ngrams, tri.weights.data(), g);
    ngram_scores.relaxed = ngram_bounds->relaxed();
    ngrams_asked.clear();
  }
  LabelWeights labels() const {
    return {n_labels, stride, edge.weights.data(), order == 2 && !ngrams ? tri.weights.data() : nullptr,
            end.empty() ? nullptr : end.data(), ngrams ? &ngram_scores : nullptr};
  }
  // The potentials of the sentence [begin, end), which live in `to`.
  ChainView<float> chain(const ChainData& data, std::size_t begin, std::size_t end, Potentials<float>& to) const;

  static constexpr std::size_t kFewParts = 32;  // labels rarely have more
  GrowingRows rows, edge_rows;
  const LabelParts parts;
  std::size_t n_labels, stride;
  int order;
  std::optional<Ngrams> ngrams;
  NgramScores<float> ngram_scores{};
  std::optional<NgramBounds<float>> ngram_bounds;
  std::vector<std::uint32_t> ngrams_asked;  // n-grams whose weights may have changed since the bounds were updated
  LearntTable edge, tri;  // as LabelTables has them; tri [n_nodes] with n-grams, else empty below order 2
  std::vector<float> end;  // as LabelTables has it, or empty; never changes
};

}  // namespace trellis
