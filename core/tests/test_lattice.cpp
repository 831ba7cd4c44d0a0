// Levels of pruning against their definition, and chains over what they leave against all label sequences that are left.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "check.hpp"
#include "engine/history_states.hpp"
#include "engine/viterbi.hpp"
#include "engine/history_sums.hpp"
#include "random_sets.hpp"
#include "weights/filter_levels.hpp"

namespace {
using namespace trellis;

using Path = std::vector<std::int32_t>;

// Small whole scores, which make ties and exact sums; some choices are forbidden.
template <class Real>
struct Sample : testing::RandomSets {
  std::size_t T, L, stride;
  bool forbids;
  std::mt19937 random;
  Ngrams ngrams;
  std::vector<Real> emit, edge, end, scores;
  TokenNgrams<Real> by_token;
  NgramScores<Real> ngram_scores{};
  FilterLevels levels;
  std::vector<double> margins, level_emit;
  TokenSets left;
  LabelSets allowed{};
  ChainView<Real> chain{};

  Sample(std::size_t n_tokens, std::size_t n_labels, std::size_t order, std::size_t n_levels, unsigned seed)
      : T(n_tokens), L(n_labels), stride(padded(n_labels)), forbids(seed % 2), random(seed), ngrams(n_labels, order),
        levels(n_labels, n_levels) {
    for (auto [to, n] : {std::pair{&ngrams, order}, {&levels.ngrams, n_levels}})
      for (int i = 0; i < 12; ++i) {
        std::uint32_t node = random() % 3 ? Ngrams::kRoot : to->null();
        for (std::size_t length = 1 + random() % n; to->length(node) <= length;) node = to->extend(node, random() % L);
      }
    fill(emit, T * stride), fill(edge, (L + 1) * stride), fill(end, stride), fill(scores, ngrams.size());
    fill(level_emit, T * stride), fill(levels.edge, (L + 1) * stride), fill(levels.scores, levels.ngrams.size());
    if (seed % 5 == 0) fill(levels.end, stride);
    for (double& score : levels.scores) score = std::max(score, -9.0);
    for (std::size_t t = 0; t < T; ++t) {
      for (std::uint32_t g = 1; g < ngrams.size(); ++g)
        if (ngrams.length(g) >= kScored && random() % 4 == 0) by_token.nodes.push_back(g), by_token.scores.push_back(random() % 3);
      by_token.starts.push_back(by_token.nodes.size());
    }
    fill_sets(T, L, random);
    for (std::size_t k = 0; k < n_levels; ++k) margins.push_back(static_cast<double>(random() % 4));
    left.set_of_token = set_of_token, left.starts = starts, left.labels = labels;
    LevelSentence sentence;
    std::copy(level_emit.begin(), level_emit.end(), sentence.emit(T, stride));
    for (std::size_t k = 0; k < n_levels; ++k) {
      sentence.open(k + 1, left.view(), T);
      sentence.lay_out(levels);
      left.clear();
      sentence.prune(margins[k], false, left);
    }
    allowed = left.view();
    ngram_scores = {&ngrams, scores.data(), nullptr, seed % 3 ? &by_token : nullptr};
    chain = {{L, stride, edge.data(), nullptr, seed % 7 ? end.data() : nullptr, &ngram_scores}, T, emit.data(), nullptr, &allowed};
  }

  template <class Number>
  void fill(std::vector<Number>& numbers, std::size_t n) {
    numbers.clear();
    for (std::size_t i = 0; i < n; ++i)
      numbers.push_back(!forbids || random() % 15 ? static_cast<Number>(random() % 5) - 2 : kForbidden<Number>);
  }

  // The score of a path, of n-grams of up to `longest` labels: compared label by label, as the definition says.
  template <class Number, class Visit>
  Number score(const Path& path, const ChainView<Number>& by, std::size_t longest, Visit visit) const {
    const Ngrams& known = *by.ngrams->ngrams;
    Number total = 0;
    for (std::size_t t = 0; t < T; ++t) {
      const auto z = static_cast<std::size_t>(path[t]), y = t ? static_cast<std::size_t>(path[t - 1]) : L;
      for (std::uint32_t g = 1; g < known.size(); ++g) {
        bool ends = known.length(g) >= kScored && known.length(g) <= longest;
        auto at = static_cast<std::ptrdiff_t>(t);
        for (std::uint32_t node = g; ends && node != Ngrams::kRoot; node = known.parent(node), --at)
          ends = at >= -1 && known.label(node) == (at < 0 ? L : static_cast<std::size_t>(path[static_cast<std::size_t>(at)]));
        if (ends) total += by.ngrams->scores[g], visit(t, g);
        for (std::size_t i = by_token.starts[t]; ends && by.ngrams->by_token && i < by_token.starts[t + 1]; ++i)
          if (by_token.nodes[i] == g) total += static_cast<Number>(by_token.scores[i]);
      }
      total = (total + by.edge_at(t, y)[z]) + by.emit_at(t)[z];
    }
    return by.end ? total + by.end[path[T - 1]] : total;
  }

  // The paths that all levels leave: level by level, those whose runs of labels all have a path by them within the margin.
  std::vector<Path> paths() const {
    std::vector<Path> out;
    Path path(T);
    const std::function<void(std::size_t)> grow = [&](std::size_t t) {
      if (t == T) return out.push_back(path);
      for (std::size_t j = 0; j < labels_of(sets, t).n; ++j) path[t] = labels_of(sets, t).labels[j], grow(t + 1);
    };
    grow(0);
    const NgramScores<double> level_scores{&levels.ngrams, levels.scores.data()};
    const ChainView<double> by({L, stride, levels.edge.data(), nullptr, levels.end.empty() ? nullptr : levels.end.data(), &level_scores},
                               T, level_emit.data());
    for (std::size_t level = 1; level <= margins.size(); ++level) {
      std::map<Path, double> most;
      double best = kForbidden<double>;
      const auto run = [&](const Path& of, std::size_t t) {
        Path labels_{static_cast<std::int32_t>(t)};
        for (std::size_t i = t < level ? 0 : t - level; i <= t; ++i) labels_.push_back(of[i]);
        return labels_;
      };
      for (const Path& one : out) {
        const double s = score(one, by, level + 1, [](auto...) {});
        best = std::max(best, s);
        for (std::size_t t = 0; t < T; ++t) {
          double& top = most.try_emplace(run(one, t), s).first->second;
          top = std::max(top, s);
        }
      }
      if (best == kForbidden<double>) continue;
      std::erase_if(out, [&](const Path& one) {
        for (std::size_t t = 0; t < T; ++t)
          if (most[run(one, t)] < best - margins[level - 1]) return true;
        return false;
      });
    }
    return out;
  }

  // Those of them that the chain allows, best first; ties by labels from the last on.
  std::vector<std::pair<Real, Path>> ranked() const {
    std::vector<std::pair<Real, Path>> out;
    for (const Path& path : paths())
      if (const Real s = score(path, chain, 99, [](auto...) {}); s != kForbidden<Real>) out.emplace_back(s, path);
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first
                                : std::lexicographical_compare(a.second.rbegin(), a.second.rend(), b.second.rbegin(), b.second.rend());
    });
    return out;
  }
};

template <class Visit>
void each_sample(Visit visit) {
  for (unsigned seed = 0; seed < 60; ++seed)
    for (std::size_t order : {2, 3, 4})
      for (std::size_t n_levels = 1; n_levels <= order; ++n_levels)
        for (std::size_t L : {1, 3, 4})
          for (std::size_t T : {1, 2, 3, 5})
            if (T * L < 16) visit(T, L, order, n_levels, seed);
}

TEST(best_paths_over_what_levels_leave_are_those_of_enumeration) {
  Workspace<float> work;
  each_sample([&](std::size_t T, std::size_t L, std::size_t order, std::size_t n_levels, unsigned seed) {
    const Sample<float> sample(T, L, order, n_levels, seed);
    CHECK(on_lattice(sample.chain));
    const auto all = sample.ranked();
    Path path(T, -1);
    const float best = best_path(sample.chain, work, path.data());
    CHECK(best == (all.empty() ? kForbidden<float> : all[0].first));
    if (all.empty()) {
      for (std::size_t t = 0; t < T; ++t) CHECK(allows(sample.allowed, t, static_cast<std::size_t>(path[t])));
      return;
    }
    CHECK(path == all[0].second);
    CHECK(path_score(sample.chain, path.data()) == best);
    for (std::size_t k : {std::size_t{1}, std::size_t{5}, all.size() + 1}) {
      Path paths(k * T);
      std::vector<float> scores(k);
      const std::size_t n = k_best(sample.chain, k, work, paths.data(), scores.data());
      CHECK(n == std::min(k, all.size()));
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(scores[i] == all[i].first);
        CHECK(std::equal(all[i].second.begin(), all[i].second.end(), paths.begin() + static_cast<std::ptrdiff_t>(i * T)));
      }
    }
  });
}

TEST(sums_over_what_levels_leave_are_those_of_enumeration) {
  HistorySumsWorkspace work;
  each_sample([&](std::size_t T, std::size_t L, std::size_t order, std::size_t n_levels, unsigned seed) {
    Sample<double> sample(T, L, order, n_levels, seed);
    // Too large for products of factors: by logarithms. Or some so far apart that paths vanish which others may fall behind.
    const double size = seed % 4 == 0 ? 400 : 1, some = seed % 4 == 1 ? 90 : 1;
    std::mt19937 random(seed);
    for (auto* numbers : {&sample.emit, &sample.edge, &sample.scores, &sample.end, &sample.by_token.scores})
      for (double& x : *numbers) x *= random() % 2 ? size : size * some;
    const auto all = sample.ranked();
    double total = 0;  // best first
    for (const auto& [score, path] : all) total += std::exp(score - all[0].first);
    const double log_z = all.empty() ? kForbidden<double> : all[0].first + std::log(total);
    const bool by_token = sample.ngram_scores.by_token;
    std::vector<double> node(T * sample.stride, -1), pairs(T * (L + 1) * sample.stride, -1), ngrams(sample.scores.size()),
        token_ngrams(sample.by_token.nodes.size()), pair_sums((L + 1) * sample.stride);
    HistoryExpectations wanted{node.data(), pairs.data(), pair_sums.data(), ngrams.data(),
                               by_token ? token_ngrams.data() : nullptr, 2};
    NgramTables tables;
    tables.set(sample.ngrams, sample.edge, sample.scores, sample.chain.end ? sample.end : std::vector<double>());
    const double sum = tables.sum(T, sample.emit.data(), nullptr, sample.ngram_scores.by_token, sample.chain.allowed, work, wanted);
    CHECK_NEAR(sum, log_z, 1e-9 * (1 + std::fabs(log_z)));
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
      }
      sample.score(path, sample.chain, 99, [&, p = p](std::size_t t, std::uint32_t g) {
        ngrams_[g] += 2 * p;
        for (std::size_t i = sample.by_token.starts[t]; i < sample.by_token.starts[t + 1]; ++i)
          if (sample.by_token.nodes[i] == g) token_[i] += 2 * p;
      });
    }
    for (std::size_t i = 0; i < node.size(); ++i) CHECK_NEAR(node[i], node_[i], 1e-9);
    for (std::size_t i = 0; i < pairs.size(); ++i) CHECK_NEAR(pairs[i], pairs_[i], 1e-9);
    for (std::size_t g = 0; g < ngrams.size(); ++g) CHECK_NEAR(ngrams[g], ngrams_[g], 1e-9);
    for (std::size_t i = 0; i < sums_.size(); ++i) CHECK_NEAR(pair_sums[i], sums_[i], 1e-9);
    for (std::size_t i = 0; by_token && i < token_.size(); ++i) CHECK_NEAR(token_ngrams[i], token_[i], 1e-9);
  });
}

}  // namespace
