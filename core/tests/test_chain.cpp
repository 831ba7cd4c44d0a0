// Every chain kernel against all label sequences, for short sentences and few labels.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "random_sets.hpp"
#include "engine/chain_passes.hpp"
#include "engine/exponential.hpp"
#include "engine/forward_backward.hpp"
#include "engine/viterbi.hpp"

namespace {
using namespace trellis;

// Random potentials; lanes beyond the labels hold NaN, which must never matter.
template <class Real>
struct Sample : testing::RandomSets {
  std::vector<Real> emit, edge, tri, end;
  ChainView<Real> view{};

  Sample(std::size_t T, std::size_t L, int order, bool per_token, bool with_end, bool pruned, unsigned seed,
         Real spread = 1) {
    std::mt19937 random(seed);
    const std::size_t stride = padded(L);
    // Small whole numbers make ties and exact sums; one in eight is forbidden.
    const auto fill = [&](std::vector<Real>& rows, std::size_t n) {
      rows.assign(n * stride, std::numeric_limits<Real>::quiet_NaN());
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t z = 0; z < L; ++z)
          rows[r * stride + z] = random() % 8 ? spread * (static_cast<Real>(random() % 5) - 2) : kForbidden<Real>;
    };
    fill(emit, T);
    fill(edge, (per_token ? T : 1) * (L + 1));
    if (order == 2) fill(tri, (L + 1) * (L + 1));
    if (with_end) fill(end, 1);
    fill_sets(T, L, random);
    view = {{L, stride, edge.data(), order == 2 ? tri.data() : nullptr, with_end ? end.data() : nullptr}, T, emit.data(),
            per_token ? edge.data() : nullptr, pruned ? &sets : nullptr};
  }

  bool allows(std::size_t t, std::int32_t z) const {
    if (!view.allowed) return true;
    const auto begin = labels.begin() + starts[t], end_of_set = labels.begin() + starts[t + 1];
    return std::find(begin, end_of_set, z) != end_of_set;
  }
};

using Scored = std::pair<double, std::vector<std::int32_t>>;

// All paths of allowed labels: the highest score first, equals by the reversed path.
template <class Real>
std::vector<Scored> all_paths(const Sample<Real>& sample) {
  const std::size_t T = sample.view.n_tokens;
  std::vector<Scored> paths{{0.0, {}}};
  for (std::size_t t = 0; t < T; ++t) {
    std::vector<Scored> longer;
    for (const Scored& one : paths)
      for (std::int32_t z = 0; z < static_cast<std::int32_t>(sample.view.n_labels); ++z)
        if (sample.allows(t, z)) {
          longer.push_back(one);
          longer.back().second.push_back(z);
        }
    paths = longer;
  }
  for (Scored& one : paths) one.first = static_cast<double>(path_score(sample.view, one.second.data()));
  std::sort(paths.begin(), paths.end(), [](const Scored& a, const Scored& b) {
    if (a.first != b.first) return a.first > b.first;
    return std::lexicographical_compare(a.second.rbegin(), a.second.rend(), b.second.rbegin(), b.second.rend());
  });
  return paths;
}

// Calls test(sample) over the grid of sizes, orders and kinds.
template <class Real, class Work>
void for_each_sample(Work test, Real spread = 1) {
  unsigned seed = 0;
  for (std::size_t T = 0; T <= 4; ++T)
    for (std::size_t L = 1; L <= 4; ++L)
      for (unsigned kind = 0; kind < 16; ++kind)
        test(Sample<Real>(T, L, kind & 1 ? 2 : 1, kind & 2, kind & 4, kind & 8, ++seed, spread));
}

// Every semiring against enumeration: what it adds up over all paths, and how a potential becomes one of its numbers.
struct BestOf : MaxPlus {
  static double of(double score) { return score; }
};
struct SumOf : SumProduct {
  static double of(double score) { return std::exp(score); }
};
struct CountOf : SumProduct {
  static double of(double score) { return score > kForbidden<double> ? 1 : 0; }
};

// The sum of all paths from both sides: by the forward pass at its end, by the backward pass at its beginning.
template <class Number, class S>
void check_semiring() {
  for_each_sample<double>([](Sample<double> sample) {
    const std::size_t T = sample.view.n_tokens, L = sample.view.n_labels, stride = sample.view.stride;
    if (T == 0) return;
    double expected = S::template zero<double>;
    for (const auto& [score, path] : all_paths(sample)) expected = S::plus(expected, Number::of(score));
    for (auto* table : {&sample.emit, &sample.edge, &sample.tri, &sample.end})
      for (double& score : *table) score = Number::of(score);
    ChainView<double> chain = sample.view;
    std::vector<double> alpha(T * chain.token_size()), after(alpha), beta(stride * stride), turned(beta), ends(stride, Number::of(0));
    const auto always = [](auto...) { return true; };
    const double* end = chain.end ? chain.end : ends.data();
    const std::size_t n_rows = chain.tri && T > 1 ? L : 1;
    const auto finished = [&](auto rows, auto labels) {
      double total = S::template zero<double>;
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < labels.size(); ++j)
          total = S::plus(total, S::times(alpha[(T - 1) * chain.token_size() + rows[i] * stride + labels[j]], end[labels[j]]));
      return total;
    };
    if (chain.allowed) {
      const Allowed allowed{*chain.allowed};
      forward<S>(chain, allowed, alpha.data(), always);
      CHECK_NEAR(finished(middles_at(chain, T - 1, allowed), allowed(T - 1)), expected, 1e-9 * (1 + std::fabs(expected)));
      for (std::size_t t = 0; t < T; ++t)  // what follows goes over all labels
        for (std::size_t z = 0; z < L; ++z)
          if (!sample.allows(t, static_cast<std::int32_t>(z))) sample.emit[t * stride + z] = S::template zero<double>;
    }
    const Everything all{L};
    forward<S>(chain, all, alpha.data(), always);
    CHECK_NEAR(finished(middles_at(chain, T - 1, all), all(T - 1)), expected, 1e-9 * (1 + std::fabs(expected)));
    std::vector<double> edges(sample.edge.size()), tris(L * L * stride);
    for (std::size_t t = 0; t < (chain.edge_per_token ? T : 1); ++t)
      transpose(chain.edge_at(t, 0), stride, L, L, edges.data() + t * (L + 1) * stride, stride);
    for (std::size_t y = 0; y < L && chain.tri; ++y)
      transpose(chain.tri_at(0, y), (L + 1) * stride, L, L, tris.data() + y * L * stride, stride);
    for (std::size_t row = 0; row < n_rows; ++row) std::copy_n(end, stride, beta.data() + row * stride);
    backward<S>(chain, edges.data(), tris.data(), beta.data(), turned.data(), after.data(), [](auto...) {});
    double total = S::template zero<double>;
    const double* first = chain.tri ? chain.tri_at(L, L) : chain.edge_at(0, L);
    for (std::size_t z = 0; z < L; ++z) total = S::plus(total, S::times(first[z], after[z]));
    CHECK_NEAR(total, expected, 1e-9 * (1 + std::fabs(expected)));
  });
}

template <class Real>
void check_paths() {
  Workspace<Real> work;
  for_each_sample<Real>([&](const Sample<Real>& sample) {
    const std::size_t T = sample.view.n_tokens;
    const std::vector<Scored> expected = all_paths(sample);
    std::vector<std::int32_t> path(T);
    const double score = static_cast<double>(best_path(sample.view, work, path.data()));
    CHECK(score == expected[0].first);
    // If all paths are forbidden, enumeration cannot say which one the recursion meets: k_best must meet the same.
    const bool possible = score > kForbidden<double>;
    if (possible) CHECK(path == expected[0].second);
    for (std::size_t k : {1, 3, 50}) {
      std::vector<std::int32_t> paths(k * T);
      std::vector<Real> scores(k);
      const std::size_t n = k_best(sample.view, k, work, paths.data(), scores.data());
      std::size_t finite = 0;
      for (const Scored& one : expected) finite += one.first > kForbidden<double>;
      CHECK(n == std::max<std::size_t>(1, std::min(k, finite)));
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(static_cast<double>(scores[i]) == expected[i].first);
        const std::vector<std::int32_t>& same = possible ? expected[i].second : path;
        CHECK(std::equal(same.begin(), same.end(), paths.begin() + static_cast<std::ptrdiff_t>(i * T)));
      }
    }
  });
}

// Probabilities against enumeration. Where potentials are spread far, sums by products give way to logarithms.
void check_sums(double spread = 1) {
  SumWorkspace work;
  for_each_sample<double>([&](const Sample<double>& sample) {
    const std::size_t T = sample.view.n_tokens, L = sample.view.n_labels;
    double z_sum = 0;
    std::vector<double> node(T * L), edge(T * (L + 1) * L), got_node(T * L, -1), got_edge(edge.size(), -1);
    const std::vector<Scored> paths = all_paths(sample);
    const double top = paths[0].first > kForbidden<double> ? paths[0].first : 0;
    for (const auto& [score, path] : paths) {
      const double weight = std::exp(score - top);
      z_sum += weight;
      for (std::size_t t = 0; t < T; ++t) {
        const std::size_t y = t ? static_cast<std::size_t>(path[t - 1]) : L, z = static_cast<std::size_t>(path[t]);
        node[t * L + z] += weight;
        edge[(t * (L + 1) + y) * L + z] += weight;
      }
    }
    const double log_z = top + std::log(z_sum), tolerance = 1e-10 * (1 + std::fabs(top));
    prepare_sums(sample.view, work);
    CHECK_NEAR(log_partition(sample.view, work), log_z, tolerance);
    CHECK_NEAR(marginals(sample.view, work, got_node.data(), got_edge.data()), log_z, tolerance);
    const double norm = z_sum > 0 ? z_sum : 1;
    for (std::size_t i = 0; i < node.size(); ++i) CHECK_NEAR(got_node[i], node[i] / norm, tolerance);
    for (std::size_t i = 0; i < edge.size(); ++i) CHECK_NEAR(got_edge[i], edge[i] / norm, tolerance);
  }, spread);
}

// Every span of every type: label 0 is outside, 1 and 3 are of type 0, 2 is of type 1; whether two labels of one type
// are cut apart is by chance.
void check_spans(double spread = 1) {
  SumWorkspace work;
  std::mt19937 random(7);
  for_each_sample<double>([&](const Sample<double>& sample) {
    const std::size_t T = sample.view.n_tokens, L = sample.view.n_labels;
    const std::vector<std::int32_t> type_of{-1, 0, 1, 0};
    std::vector<std::uint8_t> cut(L * L);
    for (std::size_t y = 0; y < L; ++y)
      for (std::size_t z = 0; z < L; ++z) cut[y * L + z] = y == 0 || z == 0 || type_of[y] != type_of[z] || random() % 2;
    std::vector<SpanQuery> queries;
    for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(T); ++begin)
      for (std::int64_t end = begin + 1; end <= static_cast<std::int64_t>(T); ++end)
        for (std::int32_t type : {0, 1, 2}) queries.push_back({begin, end, type});
    double z_sum = 0;
    std::vector<double> expected(queries.size()), got(queries.size(), -1);
    const std::vector<Scored> paths = all_paths(sample);
    const double top = paths[0].first > kForbidden<double> ? paths[0].first : 0, tolerance = 1e-10 * (1 + std::fabs(top));
    for (const auto& [score, path] : paths) {
      z_sum += std::exp(score - top);
      const auto cut_before = [&, &path = path](std::int64_t t) {
        return t == 0 || t == static_cast<std::int64_t>(T) || cut[path[t - 1] * L + path[t]];
      };
      for (std::size_t i = 0; i < queries.size(); ++i) {
        const auto [begin, end, type] = queries[i];
        bool has = type_of[path[begin]] == type && cut_before(begin) && cut_before(end);
        for (std::int64_t t = begin + 1; t < end; ++t) has = has && !cut_before(t);
        if (has) expected[i] += std::exp(score - top);
      }
    }
    prepare_sums(sample.view, work);
    const SpanLabels labels{type_of.data(), cut.data()};
    const double log_z = span_sums(sample.view, work, labels, queries.data(), queries.size(), got.data());
    CHECK_NEAR(log_z, top + std::log(z_sum), tolerance);
    for (std::size_t i = 0; i < queries.size(); ++i) CHECK_NEAR(got[i], expected[i] / (z_sum > 0 ? z_sum : 1), tolerance);
  }, spread);
}

}  // namespace

TEST(chain_spans) { check_spans(); }

TEST(exp_over_lanes) {
  for (double x : {1e-300, 1e-200, 1e-9, 0.1, 0.5, 0.7071067811865475, 0.7071067811865476, 0.9999999, 1.0})
    CHECK_NEAR(exp_lanes(Vector<double>{} + std::log(x))[0] / x, 1.0, 1e-13);
}

TEST(chain_paths_double) { check_paths<double>(); }
TEST(chain_paths_float) { check_paths<float>(); }
TEST(chain_semirings) {
  check_semiring<BestOf, MaxPlus>();
  check_semiring<SumOf, SumProduct>();
  check_semiring<CountOf, SumProduct>();
}
TEST(chain_sums_spread) { check_sums(100), check_sums(500); }
TEST(chain_spans_spread) { check_spans(500); }
TEST(chain_sums) { check_sums(); }

// More labels than one block of vectors, where the remaining blocks are of every size.
TEST(chain_many_labels) {
  Workspace<float> work;
  for (std::size_t L : {7, 8, 9, 17, 25, 33, 41, 50})
    for (unsigned kind = 0; kind < 16; ++kind) {
      const Sample<float> sample(6, L, kind & 1 ? 2 : 1, kind & 2, kind & 4, kind & 8, kind);
      std::vector<std::int32_t> path(6), first(6);
      float score;
      CHECK(k_best(sample.view, 1, work, first.data(), &score) == 1);
      CHECK(best_path(sample.view, work, path.data()) == score);
      CHECK(path == first);
      CHECK(path_score(sample.view, path.data()) == score);
    }
}
