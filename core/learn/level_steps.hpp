// Training of a pruning level above order 0 (filter_levels.hpp): log-linear steps on the weights of its longest label n-grams.
#pragma once
#include <span>

#include "learn/filter.hpp"
#include "weights/filter_levels.hpp"

namespace trellis {

// Sentences with the candidates of the filter of order 0, their scores, and what the levels below left of them.
struct LevelTokens {
  LabelSets candidates;
  const float* scores;         // in the order of candidates.labels
  LabelSets sets;              // the candidates, or those that remain, with a lattice
  const std::int64_t* starts;  // [n_sentences + 1]
  const std::int32_t* gold;    // [n_tokens], all known and among the sets
};

class LevelLearner {
 public:
  explicit LevelLearner(FilterLevels& levels) : levels_(levels), squares_(levels.edge.size()) {}

  // The n-grams of a level, from 1 on; then any number of passes over some sentences in the given order.
  void begin(std::size_t level, const LevelTokens& tokens, std::size_t n_sentences);
  void pass(const LevelTokens& tokens, std::span<const std::int64_t> sentences, const FilterSteps& steps,
            const Patience::GoOn& go_on);
  // The score gap between the best path and the best path through the gold labels at each token.
  std::vector<float> gold_margins(const LevelTokens& tokens, std::span<const std::int64_t> sentences,
                                  std::size_t n_threads) const;
  // The candidates within the margin; always including the gold path.
  TokenSets pruned(const LevelTokens& tokens, std::span<const std::int64_t> sentences, double margin,
                   std::size_t n_threads) const;

 private:
  void open(const LevelTokens& tokens, std::size_t s, LevelSentence& sentence) const;
  template <class Visit>
  void each_sentence(const LevelTokens& tokens, std::span<const std::int64_t> sentences, std::size_t n_threads,
                     Visit visit) const;

  static constexpr std::size_t kBlock = 64;  // sentences
  FilterLevels& levels_;
  std::vector<double> squares_;  // of steps, by cells of edge or n-grams
  std::size_t level_ = 0;
};

}  // namespace trellis
