// Label n-grams with their weights from Python, validated.
#pragma once
#include "checks.hpp"
#include "engine/ngram_scores.hpp"

// N-grams of two labels and more, each after its parent (without the last label) and its suffixes (without
// the first): the first n-gram in the arrays has number n_labels + 2.
template <template <class> class Hold>
struct NgramsOf {
  Hold<std::uint32_t> parents;
  Hold<std::uint16_t> labels;  // the last label of each
  FIELDS(parents, labels)
};
using NgramArrays = NgramsOf<In>;
using NgramState = NgramsOf<Out>;

// Scores of n-grams at single tokens.
template <class Real>
struct TokenNgramArrays {
  Longs starts;   // [n_tokens + 1]
  UInts numbers;  // of n-grams
  Array<Real, 1> scores;
  FIELDS(starts, numbers, scores)
};

inline void make_ngrams(span<const std::uint32_t> parents, span<const std::uint16_t> labels, trellis::Ngrams& ngrams) {
  require(parents.size() == labels.size(), "n-grams must have one label per parent");
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const std::size_t node = ngrams.size();
    require(parents[i] > 0 && parents[i] < node && ngrams.length(parents[i]) <= ngrams.order() && labels[i] < ngrams.n_labels(),
            "n-gram out of range");
    require(ngrams.extend(parents[i], labels[i]) == node && ngrams.size() == node + 1,
            "an n-gram stands twice, or before its shorter one");
  }
}
inline NgramState ngram_state(const trellis::Ngrams& ngrams, const std::vector<std::uint8_t>* kept = nullptr) {
  NgramState out;
  auto& [parents, labels] = out;
  std::vector<std::uint32_t> number(ngrams.size());
  for (std::uint32_t g = 0, next = 0; g < ngrams.size(); ++g) {
    if (kept && !(*kept)[g]) continue;
    number[g] = next++;
    if (ngrams.length(g) > 1) parents.push_back(number[ngrams.parent(g)]), labels.push_back(ngrams.label(g));
  }
  return out;
}

struct PyNgrams {
  trellis::Ngrams ngrams;
  std::vector<float> scores, totals;  // [n_nodes]
  std::vector<double> double_scores, double_totals;
  trellis::NgramBounds<float> bounds;
  trellis::NgramScores<float> floats;
  trellis::NgramScores<double> doubles;
  Pinned pinned;

  PyNgrams(std::size_t n_labels, std::size_t order, const NgramArrays& arrays, const Floats& weights, std::size_t beam = 0)
      : ngrams((check_labels(n_labels), n_labels), order), bounds(n_labels) {
    make_ngrams(arrays.parents, arrays.labels, ngrams);
    require(weights.size() == arrays.parents.size(), "there must be one weight per n-gram");
    check_finite(weights, "the weight of an n-gram must be a finite number");
    scores.resize(n_labels + 2);
    scores.insert(scores.end(), weights.begin(), weights.end());
    double_scores.assign(scores.begin(), scores.end());
    trellis::join_scores<trellis::MaxPlus>(ngrams, scores.data(), totals);
    trellis::join_scores<trellis::MaxPlus>(ngrams, double_scores.data(), double_totals);
    floats = {&ngrams, scores.data(), totals.data()};
    doubles = {&ngrams, double_scores.data(), double_totals.data()};
    bounds.set(ngrams, scores.data());
    bounds.stop_growing();
    floats.beam = beam;
    floats.relaxed = bounds.relaxed();  // bounds for pruning states
  }
  template <class Real>
  const trellis::NgramScores<Real>* view() const {
    if constexpr (std::is_same_v<Real, float>) return &floats;
    else return &doubles;
  }
};
