// Forests of phrases against a list of all trees, and sums over spans against both.
#include <cmath>
#include <random>

#include "check.hpp"
#include "engine/cky.hpp"
#include "engine/hypergraph_passes.hpp"
#include "engine/phrase_forest.hpp"

using namespace trellis;

namespace {

// Phrases 0 .. 2, of which 0 is the root, and tags 3, 4; unary rules have chains of different symbols and of none.
struct RandomGrammar {
  PhraseGrammar grammar;
  std::vector<double> scores;   // [n_rules]
  std::vector<double> factors;  // exp

  static PhraseGrammar make(std::mt19937& random) {
    std::vector<BinaryRule> binary;
    std::vector<UnaryRule> unary;
    for (int parent = 0; parent < 3; ++parent)
      for (int left = 0; left < 5; ++left)
        for (int right = 0; right < 5; ++right)
          if (random() % 3 == 0) binary.push_back({parent, left, right});
    for (int top = 0; top < 5; ++top)
      for (int bottom = 0; bottom < 5; ++bottom)
        if (top == bottom || (top < 3 && random() % 3 == 0)) unary.push_back({top, bottom});
    unary.push_back({1, 1});  // a chain with the symbol of another
    return {3, 5, 0, binary, unary};
  }
  explicit RandomGrammar(std::mt19937& random) : grammar(make(random)), scores(grammar.n_rules()), factors(grammar.n_rules()) {
    for (std::size_t r = 0; r < scores.size(); ++r) {
      scores[r] = r < grammar.n_binary() + grammar.n_unary() ? static_cast<double>(random() % 7) - 3 : 0;
      factors[r] = std::exp(scores[r]);
    }
  }
};

struct Listed {
  double score;
  std::vector<ForestEdge> edges;  // from the top down
};

// All trees of a symbol over a span, by recursion over rules: no chart.
std::vector<Listed> list_trees(const RandomGrammar& given, const WordTags& words, bool top, std::int32_t symbol, std::int32_t i, std::int32_t j) {
  const PhraseGrammar& grammar = given.grammar;
  std::vector<Listed> out;
  const auto add = [&](std::size_t rule, double score, std::int32_t split, const Listed* left, const Listed* right) {
    Listed one{score, {{static_cast<std::int32_t>(rule), i, split, j}}};
    for (const Listed* below : {left, right})
      if (below) one.score += below->score, one.edges.insert(one.edges.end(), below->edges.begin(), below->edges.end());
    out.push_back(one);
  };
  if (top) {
    for (std::size_t r = 0; r < grammar.n_unary(); ++r)
      if (grammar.unary(r).top == symbol)
        for (const Listed& below : list_trees(given, words, false, grammar.unary(r).bottom, i, j))
          add(grammar.unary_number(r), given.scores[grammar.unary_number(r)], 0, &below, nullptr);
    return out;
  }
  if (j - i == 1) {
    for (const WordTag& one : words.of(static_cast<std::size_t>(i)))
      if (one.tag == symbol) add(grammar.tag_number(static_cast<std::size_t>(symbol)), one.score, 0, nullptr, nullptr);
    return out;
  }
  for (std::size_t r = 0; r < grammar.n_binary(); ++r)
    if (grammar.binary(r).parent == symbol)
      for (std::int32_t k = i + 1; k < j; ++k)
        for (const Listed& left : list_trees(given, words, true, grammar.binary(r).left, i, k))
          for (const Listed& right : list_trees(given, words, true, grammar.binary(r).right, k, j)) add(r, given.scores[r], k, &left, &right);
  return out;
}

struct Sentence {
  std::vector<std::int64_t> starts{0};
  std::vector<WordTag> tags;
  Sentence(std::mt19937& random, std::size_t n) {
    for (std::size_t t = 0; t < n; ++t) {
      for (std::int32_t tag = 3; tag < 5; ++tag)
        if (tags.size() == static_cast<std::size_t>(starts.back()) || random() % 2)
          if (tag == 4 || random() % 2) tags.push_back({tag, static_cast<float>(random() % 3)});
      if (tags.size() == static_cast<std::size_t>(starts.back())) tags.push_back({3, 1});
      starts.push_back(static_cast<std::int64_t>(tags.size()));
    }
  }
  WordTags words() const { return {starts, tags}; }
};

std::vector<double> edge_scores(const PhraseForest& forest, const RandomGrammar& given, const WordTags& words) {
  std::vector<double> scores;
  for (const ForestEdge& edge : forest.edges()) {
    scores.push_back(given.scores[static_cast<std::size_t>(edge.rule)]);
    for (const WordTag& one : words.of(static_cast<std::size_t>(edge.begin)))
      if (static_cast<std::int32_t>(given.grammar.tag_number(static_cast<std::size_t>(one.tag))) == edge.rule) scores.back() += one.score;
  }
  return scores;
}

}  // namespace

TEST(trees_of_a_forest_are_those_that_can_be_listed) {
  std::mt19937 random(3);
  std::size_t n_found = 0;
  for (int round = 0; round < 60; ++round) {
    const RandomGrammar given(random);
    const std::size_t n = 1 + random() % 4;
    const Sentence sentence(random, n);
    const WordTags words = sentence.words();
    const std::vector<Listed> trees = list_trees(given, words, true, 0, 0, static_cast<std::int32_t>(n));
    PhraseForest forest(given.grammar, {});
    const bool found = forest.build(words, nullptr);
    CHECK(found == !trees.empty());
    CkySums sums(given.grammar, given.factors);
    const double log_z = sums.sum(words);
    if (!found) {
      CHECK(log_z == kForbidden<double>);
      continue;
    }
    ++n_found;
    double top = kForbidden<double>, total = 0;
    for (const Listed& tree : trees) top = std::max(top, tree.score), total += std::exp(tree.score);
    const std::vector<double> scores = edge_scores(forest, given, words);
    HypergraphWorkspace work;
    CHECK(count_derivations(forest.view(), scores.data(), work) == static_cast<double>(trees.size()));
    CHECK_NEAR(sum_derivations(forest.view(), scores.data(), work), std::log(total), 1e-9);
    CHECK_NEAR(log_z, std::log(total), 1e-9);
    std::vector<std::int64_t> edges;
    CHECK_NEAR(best_derivation(forest.view(), scores.data(), work, edges), top, 1e-9);
    // The k best are the greatest of all scores.
    std::vector<double> sorted;
    for (const Listed& tree : trees) sorted.push_back(tree.score);
    std::sort(sorted.rbegin(), sorted.rend());
    KBestDerivations k_best(forest.view(), scores.data(), work);
    for (std::size_t k = 0; k < std::min<std::size_t>(sorted.size(), 5); ++k) {
      CHECK(k_best.find(k + 1));
      CHECK_NEAR(k_best.score(k), sorted[k], 1e-9);
    }
    // How probable symbols are over spans, by listing; a span may have a symbol's top once only.
    sums.find_posteriors(0);
    std::vector<double> tops(n_cells(n) * 5), bottoms(n_cells(n) * 5);
    for (const Listed& tree : trees)
      for (const ForestEdge& edge : tree.edges) {
        const std::size_t cell = cell_of(static_cast<std::size_t>(edge.begin), static_cast<std::size_t>(edge.end)) * 5;
        const auto rule = static_cast<std::size_t>(edge.rule);
        CHECK(forest.find(edge) >= 0 && forest.edges()[static_cast<std::size_t>(forest.find(edge))] == edge);
        if (rule < given.grammar.n_binary() || rule >= given.grammar.n_binary() + given.grammar.n_unary()) continue;
        const UnaryRule& unary = given.grammar.unary(rule - given.grammar.n_binary());
        tops[cell + static_cast<std::size_t>(unary.top)] += std::exp(tree.score) / total;
        bottoms[cell + static_cast<std::size_t>(unary.bottom)] += std::exp(tree.score) / total;
      }
    Remaining remaining;
    sums.keep(0.05, remaining);
    for (std::size_t j = 1; j <= n; ++j)
      for (std::size_t i = 0; i < j; ++i)
        for (std::size_t a = 0; a < 5; ++a) {
          const std::size_t at = cell_of(i, j) * 5 + a;
          CHECK_NEAR(sums.top(i, j, a), tops[at], 1e-9);
          CHECK_NEAR(sums.bottom(i, j, a), bottoms[at], 1e-9);
          if (std::fabs(tops[at] - 0.05) > 1e-9) CHECK(remaining.top(cell_of(i, j), a) == (tops[at] > 0.05));
          if (std::fabs(bottoms[at] - 0.05) > 1e-9) CHECK(remaining.bottom(cell_of(i, j), a) == (bottoms[at] > 0.05));
        }
    // Of what remains the forest has exactly those trees whose symbols all remain.
    std::size_t n_left = 0;
    for (const Listed& tree : trees)
      n_left += std::ranges::all_of(tree.edges, [&](const ForestEdge& edge) {
        const std::size_t cell = cell_of(static_cast<std::size_t>(edge.begin), static_cast<std::size_t>(edge.end));
        const auto rule = static_cast<std::size_t>(edge.rule);
        if (rule < given.grammar.n_binary()) return remaining.bottom(cell, static_cast<std::size_t>(given.grammar.binary(rule).parent));
        if (rule >= given.grammar.n_binary() + given.grammar.n_unary())
          return remaining.bottom(cell, rule - given.grammar.n_binary() - given.grammar.n_unary() + 3);
        return remaining.top(cell, static_cast<std::size_t>(given.grammar.unary(rule - given.grammar.n_binary()).top));
      });
    const std::int32_t same[] = {0, 1, 2, 3, 4};
    PhraseForest pruned(given.grammar, same);
    CHECK(pruned.build(words, &remaining) == (n_left > 0));
    if (n_left) CHECK(count_derivations(pruned.view(), edge_scores(pruned, given, words).data(), work) == static_cast<double>(n_left));
  }
  CHECK(n_found > 30);
}

TEST(sums_over_long_sentences_do_not_underflow) {
  // A -> A A with any bracketing: Catalan(n - 1) trees, each of n - 1 rules.
  const PhraseGrammar grammar(1, 2, 0, {{0, 0, 0}}, {{0, 0}, {0, 1}});
  const std::vector<double> factors{1e-30, 1, 1e-30, 0};
  std::vector<std::int64_t> starts{0};
  std::vector<WordTag> tags;
  for (std::int64_t t = 1; t <= 60; ++t) starts.push_back(t), tags.push_back({1, -50});
  CkySums sums(grammar, factors);
  const double n = 60, catalan = std::lgamma(2 * (n - 1) + 1) - std::lgamma(n) - std::lgamma(n + 1);
  CHECK_NEAR(sums.sum({starts, tags}), catalan + (2 * n - 1) * std::log(1e-30) - 50 * n, 1e-6);
  sums.find_posteriors(0);
  CHECK_NEAR(sums.top(0, 60, 0), 1, 1e-9);
  CHECK_NEAR(sums.top(7, 8, 0), 1, 1e-9);
}
