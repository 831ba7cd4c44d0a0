#include "learn/level_steps.hpp"

#include <cmath>

#include "weights/seen_ngrams.hpp"

namespace trellis {

void LevelLearner::begin(std::size_t level, const LevelTokens& tokens, std::size_t n_sentences) {
  level_ = level;
  if (level > 1 && levels_.scores.size() <= levels_.n_labels + 2) {  // n-grams of the corpus, of all lengths at once
    add_seen(levels_.ngrams, tokens.gold, tokens.starts, n_sentences, true, nullptr);
    levels_.scores.resize(levels_.ngrams.size(), 0.0);
  }
  squares_.assign(level == 1 ? levels_.edge.size() : levels_.scores.size(), 0.0);
}

void LevelLearner::open(const LevelTokens& tokens, std::size_t s, LevelSentence& sentence) const {
  const auto begin = static_cast<std::size_t>(tokens.starts[s]), n = static_cast<std::size_t>(tokens.starts[s + 1]) - begin;
  LabelSets sets = tokens.sets;
  sets.set_of_token += begin;
  sentence.open(level_, sets, n);
  double* emit = sentence.emit(n, levels_.stride);
  for (std::size_t t = 0; t < n; ++t) {
    const ListedLabels labels = labels_of(tokens.candidates, begin + t);
    const float* scores = tokens.scores + (labels.labels - tokens.candidates.labels);
    for (std::size_t j = 0; j < labels.n; ++j) emit[t * levels_.stride + labels[j]] = static_cast<double>(scores[j]);
  }
  sentence.lay_out(levels_);
  sentence.find_arcs(tokens.gold + begin);
}

// g[run] = P(run) - [run is gold];  squares += g²;  w -= rate / sqrt(squares) · g, for runs of level + 1 labels
void LevelLearner::pass(const LevelTokens& tokens, std::span<const std::int64_t> sentences, const FilterSteps& steps,
                        const Patience::GoOn& go_on) {
  LevelSentence sentence;
  Patience patience(go_on);
  const Ngrams& ngrams = levels_.ngrams;
  std::vector<double>& weights = level_ == 1 ? levels_.edge : levels_.scores;
  for (const std::int64_t s : sentences) {
    if (patience.ended()) return;
    if (tokens.starts[s] == tokens.starts[s + 1]) continue;
    open(tokens, static_cast<std::size_t>(s), sentence);
    sentence.each_step([&](const auto& step, double p, bool is_gold) {
      const double g = is_gold ? p - 1 : p;
      if (!(std::fabs(g) >= static_cast<double>(steps.least))) return;
      if (level_ > 1 && ngrams.length(step.ngram) != level_ + 1) return;
      const std::size_t place = level_ > 1 ? step.ngram : sentence.label_before(step) * levels_.stride + ngrams.label(step.ngram);
      squares_[place] += g * g;
      weights[place] -= static_cast<double>(steps.rate) * g / std::sqrt(squares_[place]);
    });
  }
}

template <class Visit>
void LevelLearner::each_sentence(const LevelTokens& tokens, std::span<const std::int64_t> sentences, std::size_t n_threads,
                                 Visit visit) const {
  parallel_blocks(
      sentences.size(), kBlock, n_threads, [] { return LevelSentence(); },
      [&](LevelSentence& sentence, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          if (tokens.starts[sentences[i]] == tokens.starts[sentences[i] + 1]) continue;
          open(tokens, static_cast<std::size_t>(sentences[i]), sentence);
          visit(i, sentence);
        }
      });
}

std::vector<float> LevelLearner::gold_margins(const LevelTokens& tokens, std::span<const std::int64_t> sentences,
                                              std::size_t n_threads) const {
  std::vector<std::size_t> starts{0};
  for (const std::int64_t s : sentences)
    starts.push_back(starts.back() + static_cast<std::size_t>(tokens.starts[s + 1] - tokens.starts[s]));
  std::vector<float> out(starts.back(), std::numeric_limits<float>::infinity());
  each_sentence(tokens, sentences, n_threads, [&](std::size_t i, LevelSentence& sentence) {
    sentence.each_gap([&](std::size_t t, double gap) { out[starts[i] + t] = static_cast<float>(gap); });
  });
  return out;
}

TokenSets LevelLearner::pruned(const LevelTokens& tokens, std::span<const std::int64_t> sentences, double margin,
                               std::size_t n_threads) const {
  std::vector<TokenSets> blocks((sentences.size() + kBlock - 1) / kBlock);
  each_sentence(tokens, sentences, n_threads,
                [&](std::size_t i, LevelSentence& sentence) { sentence.prune(margin, true, blocks[i / kBlock]); });
  return joined(blocks);
}

}  // namespace trellis
