// Trees against a list of them all: best, k best, sums, with crossing arcs and without.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "check.hpp"
#include "engine/spanning_sums.hpp"
#include "engine/spanning_trees.hpp"
#include "engine/tree_forest.hpp"

using namespace trellis;

namespace {

using Heads = std::vector<std::int32_t>;

TreeScores random_scores(unsigned seed, std::size_t n, bool second_order) {
  std::mt19937 random(seed);
  TreeScores scores;
  scores.resize(n, second_order);
  for (std::size_t h = 0; h <= n; ++h)
    for (std::size_t m = 1; m <= n; ++m)
      if (h != m && random() % 7) scores.arc(h, m) = seed % 3 ? static_cast<double>(random() % 1000) / 250 - 2 : static_cast<double>(random() % 3);
  for (double& one : scores.siblings) one = static_cast<double>(random() % 1000) / 250 - 2;
  return scores;
}

double score_of(const TreeScores& scores, const Heads& heads) {
  std::vector<std::int32_t> siblings;
  find_siblings(heads, siblings);
  double total = 0;
  for (std::size_t m = 1; m <= heads.size(); ++m)
    total += scores.part({static_cast<std::uint32_t>(heads[m - 1]), static_cast<std::uint32_t>(siblings[m - 1]), static_cast<std::uint32_t>(m)});
  return total;
}

// All trees that are not forbidden, best first.
std::vector<std::pair<double, Heads>> all_trees(const TreeScores& scores, bool projective) {
  std::vector<std::pair<double, Heads>> out;
  Heads heads(scores.n, 0);
  for (;;) {
    if (is_tree(heads) && (!projective || is_projective(heads)))
      if (const double score = score_of(scores, heads); score > kForbidden<double>) out.emplace_back(score, heads);
    std::size_t m = 0;
    while (m < scores.n && ++heads[m] > static_cast<std::int32_t>(scores.n)) heads[m++] = 0;
    if (m == scores.n) break;
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return out;
}

// log Z and marginals of arcs by the list.
double sums_of(const std::vector<std::pair<double, Heads>>& trees, std::size_t n, std::vector<double>& arcs) {
  double z = 0;
  arcs.assign((n + 1) * (n + 1), 0);
  for (const auto& [score, heads] : trees) z += std::exp(score - trees[0].first);
  for (const auto& [score, heads] : trees)
    for (std::size_t m = 1; m <= n; ++m) arcs[static_cast<std::size_t>(heads[m - 1]) * (n + 1) + m] += std::exp(score - trees[0].first) / z;
  return trees[0].first + std::log(z);
}

}  // namespace

TEST(projective_trees_are_counted) {
  // Projective trees with one root: 1, 2, 7, 30, 143; all trees with one root: n^(n - 1).
  const double projective[] = {1, 2, 7, 30, 143}, all[] = {1, 2, 9, 64, 625};
  for (std::size_t n = 1; n <= 5; ++n) {
    TreeScores scores;
    scores.resize(n, true);
    std::fill(scores.arcs.begin(), scores.arcs.end(), 0);
    std::vector<double> arcs(scores.arcs.size());
    for (bool second : {false, true}) {
      scores.second_order = second;
      TreeForest forest;
      CHECK(forest.build(scores));
      CHECK_NEAR(std::exp(forest.sum(scores, arcs.data(), nullptr)), projective[n - 1], 1e-9);
    }
    CHECK_NEAR(std::exp(SpanningSums().sum(scores, arcs.data())), all[n - 1], 1e-9);
    CHECK(static_cast<double>(all_trees(scores, true).size()) == projective[n - 1]);
    CHECK(static_cast<double>(all_trees(scores, false).size()) == all[n - 1]);
  }
}

TEST(projective_trees) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::size_t n = 1 + seed % 5;
    const bool second = seed % 2;
    const TreeScores scores = random_scores(seed, n, second);
    const auto trees = all_trees(scores, true);
    Heads heads(n);
    const double best = TreeChart().best(scores, heads.data());
    TreeForest forest;
    CHECK(forest.build(scores) == !trees.empty());
    if (trees.empty()) {
      CHECK(best == kForbidden<double>);
      continue;
    }
    CHECK_NEAR(best, trees[0].first, 1e-9);
    CHECK(is_tree(heads) && is_projective(heads));
    CHECK_NEAR(score_of(scores, heads), best, 1e-9);
    std::size_t n_found = 0;
    std::vector<Heads> seen;
    forest.each_best(2000, [&](std::size_t rank, double score, const std::int32_t* found) {
      CHECK(rank == n_found++);
      CHECK_NEAR(score, trees[rank].first, 1e-9);
      const Heads one(found, found + n);
      CHECK_NEAR(score_of(scores, one), score, 1e-9);
      CHECK(std::find(seen.begin(), seen.end(), one) == seen.end());
      seen.push_back(one);
    });
    CHECK(n_found == trees.size());
    std::vector<double> expected, arcs(scores.arcs.size()), siblings(scores.siblings.size());
    const double log_z = sums_of(trees, n, expected);
    CHECK_NEAR(forest.sum(scores, arcs.data(), second ? siblings.data() : nullptr), log_z, 1e-9);
    for (std::size_t i = 0; i < arcs.size(); ++i) CHECK_NEAR(arcs[i], expected[i], 1e-9);
    if (!second) continue;
    std::vector<double> of_siblings(siblings.size(), 0);
    std::vector<std::int32_t> between;
    for (const auto& [score, tree] : trees) {
      find_siblings(tree, between);
      for (std::size_t m = 1; m <= n; ++m) {
        const auto h = static_cast<std::size_t>(tree[m - 1]), s = static_cast<std::size_t>(between[m - 1]);
        of_siblings[scores.starts[h * (n + 1) + m] + TreeScores::distance(h, s)] += std::exp(score - log_z);
      }
    }
    for (std::size_t i = 0; i < siblings.size(); ++i) CHECK_NEAR(siblings[i], of_siblings[i], 1e-9);
  }
}

TEST(spanning_trees) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    const std::size_t n = 1 + seed % 5;
    const TreeScores scores = random_scores(seed, n, false);
    const auto trees = all_trees(scores, false);
    SpanningTrees spanning;
    Heads heads(n);
    const double best = spanning.best(scores, heads.data());
    std::vector<double> expected, arcs(scores.arcs.size());
    if (trees.empty()) {
      CHECK(best == kForbidden<double>);
      CHECK(spanning.kbest(scores, 3) == 0);
      continue;
    }
    CHECK_NEAR(best, trees[0].first, 1e-9);
    CHECK(is_tree(heads));
    CHECK(spanning.kbest(scores, 700) == trees.size());
    for (std::size_t rank = 0; rank < trees.size(); ++rank) {
      CHECK_NEAR(spanning.score(rank), trees[rank].first, 1e-9);
      const Heads one(spanning.heads(rank), spanning.heads(rank) + n);
      CHECK_NEAR(score_of(scores, one), spanning.score(rank), 1e-9);
      for (std::size_t other = 0; other < rank; ++other) CHECK(!std::equal(one.begin(), one.end(), spanning.heads(other)));
    }
    const double log_z = sums_of(trees, n, expected);
    CHECK_NEAR(SpanningSums().sum(scores, arcs.data()), log_z, 1e-9);
    for (std::size_t i = 0; i < arcs.size(); ++i) CHECK_NEAR(arcs[i], expected[i], 1e-9);
  }
}

// Scores as far apart as a perceptron's and farther, arcs forbidden in none, few and half of the places.
TEST(sums_over_trees_of_scores_far_apart) {
  SpanningSums spanning;
  std::size_t n_without = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::mt19937 random(seed);
    const double scale = std::array{4.0, 60.0, 700.0, 3000.0}[seed % 4];
    const std::size_t n = 1 + seed / 4 % 5, n_allowed = std::array{1, 5, 2}[seed % 3];
    TreeScores scores;
    scores.resize(n, false);
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m)
        if (h != m && (n_allowed == 1 || random() % n_allowed))
          scores.arc(h, m) = random() % 2 ? scale * (static_cast<double>(random() % 1001) / 1000 - 0.5) : 0;
    const auto trees = all_trees(scores, false);
    std::vector<double> expected, arcs(scores.arcs.size(), -1);
    const double log_z = spanning.sum(scores, arcs.data());
    if (trees.empty()) {
      CHECK(log_z == kForbidden<double> && std::count(arcs.begin(), arcs.end(), 0.0) == static_cast<std::ptrdiff_t>(arcs.size()));
      ++n_without;
      continue;
    }
    CHECK_NEAR(log_z, sums_of(trees, n, expected), 1e-9);
    CHECK(log_z >= trees[0].first - 1e-9);
    for (std::size_t i = 0; i < arcs.size(); ++i) CHECK_NEAR(arcs[i], expected[i], 1e-9);
    TreeForest forest;
    const auto projective = all_trees(scores, true);
    CHECK(forest.build(scores) == !projective.empty());
    if (projective.empty()) continue;
    CHECK_NEAR(forest.sum(scores, arcs.data(), nullptr), sums_of(projective, n, expected), 1e-9);
    for (std::size_t i = 0; i < arcs.size(); ++i) CHECK_NEAR(arcs[i], expected[i], 1e-9);
  }
  CHECK(n_without > 20);
}

// Many words: each has one head at most of the times, and no head more often than always; products and logarithms agree.
TEST(sums_over_trees_of_long_sentences) {
  SpanningSums spanning;
  for (std::size_t n : {7, 33, 100}) {
    TreeScores scores;
    scores.resize(n, false);
    std::mt19937 random(static_cast<unsigned>(n));
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m)
        if (h != m) scores.arc(h, m) = static_cast<double>(random() % 4001) / 100;
    std::vector<double> arcs(scores.arcs.size()), by_logs(scores.arcs.size());
    const double log_z = spanning.sum(scores, arcs.data());
    const std::size_t far = 2 * (n + 1) + 3;  // an arc that adds nothing, and is too small for products
    scores.arcs[far] -= 600;
    const double less = spanning.sum(scores, by_logs.data());
    CHECK_NEAR(less, log_z + std::log1p(-arcs[far]), 1e-9);
    scores.arcs[far] += 600;
    std::vector<std::int32_t> heads(n);
    CHECK(log_z >= SpanningTrees().best(scores, heads.data()));
    for (std::size_t m = 1; m <= n; ++m) {
      double total = 0;
      for (std::size_t h = 0; h <= n; ++h) {
        const double p = arcs[h * (n + 1) + m];
        CHECK(p >= 0 && p <= 1);
        total += p;
      }
      CHECK_NEAR(total, 1, 1e-12);
    }
  }
}

// The root's word: the best tree takes the root for several, and the one that is left is found by one further search.
TEST(one_word_of_the_root) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::size_t n = 2 + seed % 4;
    TreeScores scores;
    scores.resize(n, false);
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m)
        if (h != m && random() % 6) scores.arc(h, m) = static_cast<double>(random() % 4) + (h == 0 ? 3 : 0);
    Heads heads(n);
    const double best = SpanningTrees().best(scores, heads.data());
    const auto trees = all_trees(scores, false);
    CHECK(trees.empty() ? best == kForbidden<double> : best == trees[0].first && is_tree(heads) && score_of(scores, heads) == best);
  }
}

TEST(trees_are_told_from_other_arrays) {
  CHECK(is_tree(Heads{}) && is_tree(Heads{0}) && is_tree(Heads{2, 0}) && is_tree(Heads{0, 1, 2}));
  CHECK(!is_tree(Heads{1}) && !is_tree(Heads{0, 0}) && !is_tree(Heads{2, 1}) && !is_tree(Heads{0, 3, 2}) && !is_tree(Heads{0, 4}));
  CHECK(is_projective(Heads{2, 0, 2}) && !is_projective(Heads{3, 0, 2, 1}) && !is_projective(Heads{3, 0, 2}));
  Heads lifted{3, 0, 2, 1};  // 1 lies under no arc of its own head 3 that 2, the root's word, is not under
  make_projective(lifted);
  CHECK(is_tree(lifted) && is_projective(lifted));
  Heads stays{2, 0, 2, 3};
  make_projective(stays);
  CHECK((stays == Heads{2, 0, 2, 3}));
}
