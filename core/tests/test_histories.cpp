// Chains of any order against all label sequences.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <vector>

#include "check.hpp"
#include "random_sets.hpp"
#include "engine/history_states.hpp"
#include "engine/history_sums.hpp"
#include "engine/viterbi.hpp"

namespace {
using namespace trellis;

// Random n-grams with small whole scores, which make ties and exact sums; some are forbidden.
template <class Real>
struct Sample : testing::RandomSets {
  Ngrams ngrams;
  std::size_t T, L, stride;
  std::vector<Real> emit, edge, scores, totals, end;
  NgramBounds<Real> bounds;
  TokenNgrams<Real> by_token;
  NgramScores<Real> ngram_scores{};
  ChainView<Real> chain{};

  Sample(std::size_t n_tokens, std::size_t n_labels, std::size_t order, unsigned variant, unsigned seed)
      : ngrams(n_labels, order), T(n_tokens), L(n_labels), stride(padded(n_labels)),
        bounds(n_labels, seed % 4 < 2 ? n_labels : 0) {
    std::mt19937 random(seed);
    const bool forbids = seed % 2;
    const auto number = [&] { return !forbids || random() % 12 ? static_cast<Real>(random() % 5) - 2 : kForbidden<Real>; };
    for (int i = 0; i < 12; ++i) {  // some n-grams, also from the beginning of the sentence
      std::uint32_t node = random() % 3 ? Ngrams::kRoot : ngrams.null();
      for (std::size_t n = 1 + random() % order; ngrams.length(node) <= n;)
        node = ngrams.extend(node, random() % L);
    }
    const auto fill = [&](std::vector<Real>& rows, std::size_t n) {  // what stands in the padding must never matter
      rows.assign(n * stride, std::numeric_limits<Real>::quiet_NaN());
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t z = 0; z < L; ++z) rows[r * stride + z] = number();
    };
    fill(emit, T);
    fill(edge, (L + 1) * (variant & 16 ? T : 1));
    scores.assign(ngrams.size(), 0);
    for (Real& score : scores) score = number();
    for (std::size_t t = 0; t < T; ++t) {
      for (std::uint32_t g = 1; g < ngrams.size(); ++g)
        if (ngrams.length(g) >= kScored && random() % 4 == 0) {
          by_token.nodes.push_back(g);
          by_token.scores.push_back(static_cast<Real>(random() % 3));
        }
      by_token.starts.push_back(by_token.nodes.size());
    }
    fill_sets(T, L, random);
    for (std::size_t z = 0; z < stride; ++z) end.push_back(number());
    join_scores<MaxPlus>(ngrams, scores.data(), totals);
    ngram_scores = {&ngrams, scores.data(), variant & 1 ? totals.data() : nullptr, variant & 8 ? &by_token : nullptr};
    bounds.grow(ngrams);  // then one score after the other, in any order, some more than once
    std::vector<Real> other(scores.size(), 1);
    for (std::size_t i = 0; i < 3 * scores.size(); ++i) {
      const auto g = static_cast<std::uint32_t>(i < 2 * scores.size() ? random() % scores.size() : i - 2 * scores.size());
      other[g] = i % 2 ? scores[g] : number();
      if (i >= 2 * scores.size()) other[g] = scores[g];
      bounds.update(ngrams, other.data(), g);
    }
    if (variant & 1) ngram_scores.relaxed = bounds.relaxed();
    const LabelTables<Real> tables{L, stride, edge.data(), nullptr, variant & 4 ? end.data() : nullptr, &ngram_scores};
    chain = {tables, T, emit.data(), variant & 16 ? edge.data() : nullptr, variant & 2 ? &sets : nullptr};
  }

  bool allows(std::size_t t, std::int32_t z) const {
    return !chain.allowed || trellis::allows(sets, t, static_cast<std::size_t>(z));
  }

  // The n-grams with a score that a path ends in after token t: compared label by label, as the definition says.
  template <class Visit>
  void each_ending(const std::vector<std::int32_t>& path, std::size_t t, Visit visit) const {
    for (std::uint32_t g = 1; g < ngrams.size(); ++g) {
      bool ends = ngrams.length(g) >= kScored;
      std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t);
      for (std::uint32_t node = g; ends && node != Ngrams::kRoot; node = ngrams.parent(node), --at) {
        const std::size_t label = at >= 0 ? static_cast<std::size_t>(path[static_cast<std::size_t>(at)]) : L;
        ends = at >= -1 && ngrams.label(node) == label;
      }
      if (ends) visit(g);
    }
  }
  Real score(const std::vector<std::int32_t>& path) const {
    Real total = 0;
    for (std::size_t t = 0; t < T; ++t) {
      if (!allows(t, path[t])) return kForbidden<Real>;
      each_ending(path, t, [&](std::uint32_t g) {
        total += scores[g];
        for (std::size_t i = by_token.starts[t]; ngram_scores.by_token && i < by_token.starts[t + 1]; ++i)
          if (by_token.nodes[i] == g) total += by_token.scores[i];
      });
      const auto z = static_cast<std::size_t>(path[t]), y = t ? static_cast<std::size_t>(path[t - 1]) : L;
      total = total + chain.edge_at(t, y)[z] + emit[t * stride + z];
    }
    return chain.end && T ? total + end[static_cast<std::size_t>(path[T - 1])] : total;
  }
  // All possible paths with their scores, best first; ties by labels from the last on.
  std::vector<std::pair<Real, std::vector<std::int32_t>>> all() const {
    std::vector<std::pair<Real, std::vector<std::int32_t>>> out;
    std::vector<std::int32_t> path(T, 0);
    for (;;) {
      if (const Real s = score(path); s != kForbidden<Real>) out.emplace_back(s, path);
      std::size_t t = 0;
      while (t < T && static_cast<std::size_t>(++path[t]) == L) path[t++] = 0;
      if (t == T) break;
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first
                                : std::lexicographical_compare(a.second.rbegin(), a.second.rend(), b.second.rbegin(), b.second.rend());
    });
    return out;
  }
};

template <class Visit>
void each_sample(Visit visit) {
  for (unsigned variant = 0; variant < 32; ++variant)
    for (std::size_t order : {2, 3, 5})
      for (std::size_t L : {1, 2, 3})
        for (std::size_t T : {1, 2, 4, 6})
          if (T * L < 18) visit(T, L, order, variant, static_cast<unsigned>(1000 * order + 100 * L + 10 * T + variant));
}

TEST(history_best_paths_are_those_of_enumeration) {
  Workspace<float> work;
  BestListsScratch<float> lists;
  work.histories.few = 1;  // so that more than those must be looked at
  each_sample([&](std::size_t T, std::size_t L, std::size_t order, unsigned variant, unsigned seed) {
    const Sample<float> sample(T, L, order, variant, seed);
    const auto all = sample.all();
    std::vector<std::int32_t> path(T, -1);
    const float best = best_path(sample.chain, work, path.data());
    CHECK(best == (all.empty() ? kForbidden<float> : all[0].first));
    if (all.empty()) {
      for (std::size_t t = 0; t < T; ++t) CHECK(sample.allows(t, path[t]));
      return;
    }
    CHECK(path == all[0].second);
    CHECK(path_score(sample.chain, path.data()) == best);
    for (std::size_t k : {std::size_t{1}, std::size_t{7}, all.size() + 1}) {
      std::vector<std::int32_t> paths(k * T);
      std::vector<float> scores(k);
      const std::size_t n = k_best_histories(sample.chain, k, work.histories, lists, paths.data(), scores.data());
      CHECK(n == std::min(k, all.size()));
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(scores[i] == all[i].first);
        CHECK(std::equal(all[i].second.begin(), all[i].second.end(), paths.begin() + static_cast<std::ptrdiff_t>(i * T)));
      }
    }
  });
}

// sum(wanted) gives log Z and what is wanted, of a sample with all its paths.
template <class Sum>
void check_sums(const Sample<double>& sample, Sum sum) {
  const std::size_t T = sample.T, L = sample.L;
  const auto all = sample.all();
  double total = 0;  // best first
  for (const auto& [score, path] : all) total += std::exp(score - all[0].first);
  const double log_z = all.empty() ? kForbidden<double> : all[0].first + std::log(total);
  std::vector<double> node(T * sample.stride, -1), pairs(T * (L + 1) * sample.stride, -1), ngrams(sample.scores.size()),
      token_ngrams(sample.by_token.nodes.size()), pair_sums((L + 1) * sample.stride);
  const bool by_token = sample.ngram_scores.by_token;
  const HistoryExpectations wanted{node.data(), pairs.data(), pair_sums.data(), ngrams.data(),
                                   by_token ? token_ngrams.data() : nullptr, 2};
  CHECK_NEAR(sum(wanted), log_z, 1e-9 * (1 + std::fabs(log_z)));
  if (all.empty()) return;
  std::vector<double> node_(node.size()), pairs_(pairs.size()), ngrams_(ngrams.size()), token_(token_ngrams.size()),
      sums_(pair_sums.size());
  for (const auto& [score, path] : all) {
    const double p = std::exp(score - log_z);
    for (std::size_t t = 0; t < T; ++t) {
      const auto z = static_cast<std::size_t>(path[t]), y = t ? static_cast<std::size_t>(path[t - 1]) : L;
      node_[t * sample.stride + z] += p;
      pairs_[(t * (L + 1) + y) * sample.stride + z] += p;
      sums_[y * sample.stride + z] += 2 * p;
      sample.each_ending(path, t, [&](std::uint32_t g) {
        ngrams_[g] += 2 * p;
        for (std::size_t i = sample.by_token.starts[t]; i < sample.by_token.starts[t + 1]; ++i)
          if (sample.by_token.nodes[i] == g) token_[i] += 2 * p;
      });
    }
  }
  for (std::size_t i = 0; i < node.size(); ++i) CHECK_NEAR(node[i], node_[i], 1e-9);
  for (std::size_t i = 0; i < pairs.size(); ++i) CHECK_NEAR(pairs[i], pairs_[i], 1e-9);
  for (std::size_t g = 0; g < ngrams.size(); ++g) CHECK_NEAR(ngrams[g], ngrams_[g], 1e-9);
  for (std::size_t i = 0; i < sums_.size(); ++i) CHECK_NEAR(pair_sums[i], sums_[i], 1e-9);
  if (by_token)
    for (std::size_t i = 0; i < token_.size(); ++i) CHECK_NEAR(token_ngrams[i], token_[i], 1e-9);
}

double sum_by_tables(const Sample<double>& sample, HistorySumsWorkspace& work, const HistoryExpectations& wanted) {
  NgramTables tables;
  const ChainView<double>& chain = sample.chain;
  const std::vector<double> edge(sample.edge.begin(), sample.edge.begin() + static_cast<std::ptrdiff_t>((sample.L + 1) * sample.stride));
  tables.set(sample.ngrams, chain.edge_per_token ? std::vector<double>() : edge, sample.scores, chain.end ? sample.end : std::vector<double>());
  return tables.sum(sample.T, sample.emit.data(), chain.edge_per_token ? sample.edge.data() : nullptr, chain.ngrams->by_token, chain.allowed,
                    work, wanted);
}

// With more labels than whose pairs are all looked at: by bounds and without.
TEST(bounds_drop_no_best_path_of_many_labels) {
  for (unsigned seed = 0; seed < 24; ++seed)
    for (const unsigned variant : {1u, 1u | 4u, 1u | 8u, 1u | 16u, 1u | 8u | 16u}) {
      Sample<float> sample(7, 70, 3, variant, seed);
      HistoryWorkspace<float> bounded, all;
      BestListsScratch<float> lists;
      constexpr std::size_t k = 9;
      std::vector<std::int32_t> path(sample.T), other(sample.T), paths(k * sample.T), others(k * sample.T);
      std::vector<float> scores(k), other_scores(k);
      const float score = best_history(sample.chain, bounded, path.data());
      const std::size_t n = k_best_histories(sample.chain, k, bounded, lists, paths.data(), scores.data());
      sample.ngram_scores.relaxed = {};
      CHECK(score == best_history(sample.chain, all, other.data()));
      CHECK(path == other);
      CHECK(n == k_best_histories(sample.chain, k, all, lists, others.data(), other_scores.data()));
      CHECK(scores == other_scores);
      CHECK(paths == others);
    }
}

TEST(history_sums_are_those_of_enumeration) {
  HistorySumsWorkspace work;
  each_sample([&](std::size_t T, std::size_t L, std::size_t order, unsigned variant, unsigned seed) {
    Sample<double> sample(T, L, order, variant, seed);
    // Too large for products of factors: by logarithms. Or so large that differences of masses cancel.
    const double size = seed % 3 == 0 ? 400 : seed % 3 == 1 ? 6 : 1;
    for (auto* numbers : {&sample.emit, &sample.edge, &sample.scores, &sample.end, &sample.by_token.scores})
      for (double& x : *numbers) x *= size;
    check_sums(sample, [&](const HistoryExpectations& wanted) { return sum_by_tables(sample, work, wanted); });
  });
}

// A path that is far behind at one token and catches up at others: flows, states, lists and logarithms.
TEST(history_sums_of_scores_far_apart) {
  HistorySumsWorkspace work;
  for (unsigned seed = 0; seed < 640; ++seed) {
    const std::size_t L = seed % 3 ? 2 : 3, T = L == 2 ? 10 : 6, order = 2 + seed / 3 % 2;
    Sample<double> sample(T, L, order, seed % 32, seed);
    std::mt19937 random(seed);
    const double size = std::array{30.0, 90.0, 400.0}[random() % 3];
    for (auto* numbers : {&sample.emit, &sample.edge, &sample.scores, &sample.end, &sample.by_token.scores})
      for (double& x : *numbers) x *= random() % 3 ? 0.5 : random() % 3 ? size : 2;
    if (seed % 2)  // one token against all others, with nothing that is large
      for (auto* numbers : {&sample.emit, &sample.edge, &sample.scores, &sample.end, &sample.by_token.scores})
        for (double& x : *numbers) x = x > 0 ? -0.1 * x : x;
    check_sums(sample, [&](const HistoryExpectations& wanted) { return sum_by_tables(sample, work, wanted); });
  }
}

TEST(a_path_that_vanished_may_win) {
  // A falls behind by 750 at the first token, B by 85 at each of the others.
  for (unsigned variant : {0, 2, 4, 6})
    for (std::size_t order : {2, 3}) {
      Sample<double> sample(10, 2, order, variant, 4);
      std::fill(sample.scores.begin(), sample.scores.end(), 0.0), std::fill(sample.totals.begin(), sample.totals.end(), 0.0);
      std::fill(sample.emit.begin(), sample.emit.end(), 0.0), std::fill(sample.end.begin(), sample.end.end(), 0.0);
      std::fill(sample.edge.begin(), sample.edge.end(), kForbidden<double>);
      sample.emit[0] = -750;
      const std::size_t stride = sample.stride;
      sample.edge[0] = sample.edge[2 * stride] = sample.edge[2 * stride + 1] = 0, sample.edge[stride + 1] = -85;
      sample.set_of_token.assign(sample.T, 0), sample.labels = {0, 1}, sample.starts = {0, 2};  // every label may be everywhere
      sample.sets = {sample.set_of_token.data(), sample.starts.data(), sample.labels.data()};
      HistorySumsWorkspace work;
      std::vector<double> node(sample.T * stride);
      CHECK_NEAR(sum_by_tables(sample, work, {node.data(), nullptr, nullptr, nullptr, nullptr, 1}), -750 + std::log1p(std::exp(-15)), 1e-9);
      for (std::size_t t = 0; t < sample.T; ++t) CHECK_NEAR(node[t * stride], 1, 1e-6);
    }
}

TEST(a_history_matters_no_longer_than_an_ngram_with_a_child) {
  Ngrams ngrams(3, 3);
  const std::uint32_t ab = ngrams.extend(1, 1), abc = ngrams.extend(ab, 2);
  CHECK(ngrams.size() == 5 + 3);  // a b, then b c and a b c
  CHECK(ngrams.length(abc) == 3 && ngrams.shorter(abc) == ngrams.find(2, 2));
  CHECK(ngrams.state(ab) == ab && ngrams.state(abc) == 3);
  CHECK(ngrams.longest(ab, 2) == abc && ngrams.longest(ab, 0) == 1);
}

}  // namespace
