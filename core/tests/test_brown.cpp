// Brown clusters against the same greedy algorithm with every loss computed from the counts.
#include "papers/brown.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "check.hpp"

namespace {
using namespace trellis;

double h(double x) { return x > 0 ? x * std::log(x) : 0; }

// Average mutual information times the number of pairs, of words by class.
double information(const std::vector<std::vector<std::int32_t>>& sentences, const std::vector<std::int32_t>& class_of) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> pairs;
  std::map<std::int32_t, double> left, right;
  double n = 0;
  for (const auto& sentence : sentences)
    for (std::size_t t = 1; t < sentence.size(); ++t) {
      const std::int32_t a = class_of[sentence[t - 1]], b = class_of[sentence[t]];
      if (a < 0 || b < 0) continue;
      ++pairs[{a, b}], ++left[a], ++right[b], ++n;
    }
  double sum = h(n);
  for (const auto& [pair, count] : pairs) sum += h(count);
  for (const auto& [a, count] : left) sum -= h(count);
  for (const auto& [a, count] : right) sum -= h(count);
  return sum;
}

std::set<std::set<std::int32_t>> groups(const std::vector<std::int32_t>& class_of) {
  std::map<std::int32_t, std::set<std::int32_t>> found;
  for (std::size_t w = 0; w < class_of.size(); ++w) found[class_of[w]].insert(static_cast<std::int32_t>(w));
  std::set<std::set<std::int32_t>> out;
  for (const auto& [number, words] : found) out.insert(words);
  return out;
}

}  // namespace

TEST(brown_clusters_lose_no_more_than_the_best_merge) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    const std::int32_t n_words = 4 + static_cast<std::int32_t>(random() % 8);
    const std::size_t n_classes = 2 + random() % 3;
    std::vector<std::vector<std::int32_t>> sentences(20);
    std::vector<std::int32_t> tokens;
    std::vector<std::int64_t> starts{0};
    for (auto& sentence : sentences) {
      for (std::size_t i = random() % 9; i > 0; --i) sentence.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(n_words)));
      tokens.insert(tokens.end(), sentence.begin(), sentence.end());
      starts.push_back(static_cast<std::int64_t>(tokens.size()));
    }
    const auto told = [](std::size_t) {};
    const BrownClusters found = brown_clusters(tokens, starts, static_cast<std::size_t>(n_words), n_classes, 1, told);
    const BrownClusters again = brown_clusters(tokens, starts, static_cast<std::size_t>(n_words), n_classes, 3, told);
    CHECK(found.class_of == again.class_of && found.merges == again.merges);
    CHECK(found.merges.size() + 1 == groups(found.class_of).size());

    // Each step of the reference takes a merge that loses least; where there is a tie, any of them may be meant.
    std::vector<std::int32_t> class_of(static_cast<std::size_t>(n_words), -1);
    bool tie = false;
    std::set<std::int32_t> classes;
    for (std::int32_t w = 0; w < n_words; ++w) {
      class_of[w] = w;
      classes.insert(w);
      if (classes.size() <= n_classes) continue;
      std::vector<std::pair<double, std::pair<std::int32_t, std::int32_t>>> all;
      for (std::int32_t a : classes)
        for (std::int32_t b : classes)
          if (a < b) {
            std::vector<std::int32_t> merged = class_of;
            std::replace(merged.begin(), merged.end(), b, a);
            all.push_back({information(sentences, class_of) - information(sentences, merged), {a, b}});
          }
      std::sort(all.begin(), all.end());
      tie = tie || (all.size() > 1 && all[1].first - all[0].first < 1e-9);
      std::replace(class_of.begin(), class_of.end(), all[0].second.second, all[0].second.first);
      classes.erase(all[0].second.second);
    }
    if (!tie) CHECK(groups(found.class_of) == groups(class_of));
  }
}
