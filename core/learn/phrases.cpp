#include "learn/phrases.hpp"

#include <limits>
#include <stdexcept>

#include "parallel.hpp"

namespace trellis {

PhraseExamples::PhraseExamples(const PhrasePruner& pruner, TaggedSentences sentences_, std::vector<std::int64_t> right_starts,
                               std::vector<ForestEdge> right, std::size_t n_threads)
    : pruner(pruner), sentences(std::move(sentences_)), right_starts_(std::move(right_starts)), right_(std::move(right)) {
  const PhraseGrammar& grammar = pruner.fine;
  const std::size_t n_coarse = pruner.coarse.n_symbols();
  std::vector<std::vector<std::uint32_t>> found(size());
  struct Worker {
    Pruning pruning;
    PhraseForest forest;
  };
  const auto make = [&] { return Worker{Pruning(pruner), PhraseForest(grammar, pruner.coarse_of)}; };
  parallel_blocks(size(), 8, n_threads, make, [&](Worker& worker, std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      Remaining& remaining = worker.pruning.remaining;
      if (!worker.pruning.run(sentences.of(s))) throw std::invalid_argument("the grammar does not generate a tree");
      for (const ForestEdge& edge : right_of(s)) {
        const std::size_t cell = cell_of(static_cast<std::size_t>(edge.begin), static_cast<std::size_t>(edge.end)) * n_coarse;
        const auto rule = static_cast<std::size_t>(edge.rule);
        const auto mark = [&](std::vector<std::uint8_t>& to, std::int32_t symbol) {
          to[cell + static_cast<std::size_t>(pruner.coarse_of[static_cast<std::size_t>(symbol)])] = 1;
        };
        if (rule < grammar.n_binary()) mark(remaining.bottoms, grammar.binary(rule).parent);
        else if (rule < grammar.n_binary() + grammar.n_unary()) {
          const UnaryRule& unary = grammar.unary(rule - grammar.n_binary());
          mark(remaining.tops, unary.top), mark(remaining.bottoms, unary.bottom);
        }
      }
      bool whole = worker.forest.build(sentences.of(s), &remaining);
      for (const ForestEdge& edge : right_of(s)) whole = whole && worker.forest.find(edge) >= 0;
      if (!whole) throw std::invalid_argument("the grammar does not generate a tree");
      if (remaining.tops.size() > std::numeric_limits<std::uint32_t>::max() / 2)
        throw std::length_error("a sentence is too long for the number of symbols of the smaller grammar");
      for (std::size_t i = 0; i < remaining.tops.size(); ++i) {
        if (remaining.bottoms[i]) found[s].push_back(static_cast<std::uint32_t>(2 * i));
        if (remaining.tops[i]) found[s].push_back(static_cast<std::uint32_t>(2 * i + 1));
      }
    }
  });
  for (const std::vector<std::uint32_t>& some : found) remaining_.add(some);
}

bool PhraseExamples::build(std::size_t s, Remaining& scratch, PhraseForest& forest) const {
  const std::size_t n = n_cells(sentences.n_words(s)) * pruner.coarse.n_symbols();
  scratch.n_symbols = pruner.coarse.n_symbols(), scratch.bottoms.assign(n, 0), scratch.tops.assign(n, 0);
  for (const std::uint32_t one : remaining_[s]) (one & 1 ? scratch.tops : scratch.bottoms)[one >> 1] = 1;
  return forest.build(sentences.of(s), &scratch);
}

void PhraseExamples::learn(const SpanPlan& plan, std::span<const ColumnCodes> columns, bool all) {
  vocabulary = empty_vocabulary(plan.plan);
  SpanPlaces x;
  PhraseForest forest(pruner.fine, pruner.coarse_of);
  Remaining remaining;
  const std::size_t first_tag = pruner.fine.n_binary() + pruner.fine.n_unary();
  for (std::size_t s = 0; s < size(); ++s) {
    x.load(plan, columns, sentences.starts[s], sentences.starts[s + 1], vocabulary.made_folds());
    if (all) {
      build(s, remaining, forest);
      for (const PhraseForest::Span& span : forest.spans()) x.learn(vocabulary, span.begin, span.end);
      for (std::int32_t k = 1; k < static_cast<std::int32_t>(sentences.n_words(s)); ++k) x.learn(vocabulary, k, 0);
      continue;
    }
    for (const ForestEdge& edge : right_of(s)) {
      if (static_cast<std::size_t>(edge.rule) >= first_tag) continue;
      x.learn(vocabulary, edge.begin, edge.end);
      if (edge.split) x.learn(vocabulary, edge.split, 0);
    }
  }
  const std::vector<std::int32_t> first = vocabulary.first_numbers();
  for (std::size_t s = 0; s < size(); ++s) {
    x.load(plan, columns, sentences.starts[s], sentences.starts[s + 1], vocabulary.known_folds());
    build(s, remaining, forest);
    n_edges += forest.edges().size(), n_spans += forest.spans().size();
    first_site_.push_back(static_cast<std::int64_t>(attributes_.starts.size() - 1));
    find_attributes(vocabulary, first.data(), forest, x, attributes_);
  }
}

}  // namespace trellis
