// Beam search over labels further back against all label sequences, and narrow beams against the rules.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "random_sets.hpp"
#include "engine/beam.hpp"

namespace {
using namespace trellis;

// Whole scores, which make ties and exact sums; some are forbidden.
struct Sample : testing::RandomSets {
  std::size_t T, L, stride;
  std::vector<float> emit, edge, tri, end;
  std::vector<std::uint8_t> kinds;
  std::vector<std::int32_t> same;
  FarScores far;
  ChainView<float> chain{};

  Sample(std::size_t n_tokens, std::size_t n_labels, unsigned variant, unsigned seed)
      : T(n_tokens), L(n_labels), stride(padded(n_labels)) {
    std::mt19937 random(seed);
    const auto fill = [&](std::vector<float>& rows, std::size_t n, bool forbids) {
      rows.assign(n * stride, std::numeric_limits<float>::quiet_NaN());
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t z = 0; z < L; ++z)
          rows[r * stride + z] = forbids && random() % 5 == 0 ? kForbidden<float> : static_cast<float>(random() % 5) - 2;
    };
    fill(emit, T, false);
    fill(edge, L + 1, variant & 1);
    fill(tri, (L + 1) * (L + 1), false);
    fill(end, 1, variant & 1);
    for (std::uint8_t kind : {kFar + 1, kFar + 2, kFar + 3, int{kAny}, int{kSame}})
      if (random() % 2) kinds.push_back(kind);
    for (std::size_t t = 0, word = 0; t < T; ++t) {  // words are 0 or 1
      std::int32_t last = -1;
      word = word * 2 + random() % 2;
      for (std::size_t u = 0; u < t; ++u)
        if ((word >> (t - u) & 1) == (word & 1)) last = static_cast<std::int32_t>(u);
      same.push_back(last);
      for (std::uint32_t cell = 0; cell < kinds.size() * (L + 1) * stride; ++cell)
        if (cell % stride < L && random() % 2) {
          far.cells.push_back(cell);
          far.scores.push_back(static_cast<float>(random() % 5) - 2);
        }
      far.starts.push_back(far.cells.size());
    }
    far.kinds = kinds, far.same = same.data();
    fill_sets(T, L, random);
    LabelTables<float> labels{L, stride, edge.data(), variant & 2 ? tri.data() : nullptr, variant & 1 ? end.data() : nullptr};
    chain = ChainView<float>(labels, T, emit.data(), nullptr, variant & 4 ? &sets : nullptr);
  }

  double score(const std::vector<std::int32_t>& path) const {
    for (std::size_t t = 0; t < T; ++t)
      if (chain.allowed && !allows(*chain.allowed, t, static_cast<std::size_t>(path[t]))) return -INFINITY;
    double total = path_score(chain, path.data());
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t i = far.starts[t]; i < far.starts[t + 1]; ++i) {
        const std::size_t z = far.cells[i] % stride, y = far.cells[i] / stride % (L + 1);
        const std::uint8_t kind = kinds[far.cells[i] / stride / (L + 1)];
        if (z != static_cast<std::size_t>(path[t])) continue;
        const auto at = kind == kSame ? same[t] : static_cast<std::int32_t>(t) - (kind - kFar);
        const auto here = path.begin() + static_cast<int>(t);
        const bool sees = kind == kAny ? std::find(path.begin(), here, static_cast<int>(y)) != here
                                       : y == (at < 0 ? L : static_cast<std::size_t>(path[static_cast<std::size_t>(at)]));
        if (sees) total += far.scores[i];
      }
    return total;
  }
};

TEST(beams_over_labels_further_back) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Sample sample(1 + seed % 4, 1 + seed / 4 % 4, seed / 16 % 8, seed);
    const std::size_t T = sample.T, L = sample.L;
    std::vector<std::pair<double, std::vector<std::int32_t>>> all;
    std::vector<std::int32_t> path(T, 0);
    for (bool more = true; more;) {
      all.emplace_back(sample.score(path), path);
      more = false;
      for (std::size_t t = 0; t < T && !more; ++t) {
        if (++path[t] < static_cast<std::int32_t>(L)) more = true;
        else path[t] = 0;
      }
    }
    std::erase_if(all, [](const auto& one) { return one.first == -INFINITY; });
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first > b.first;
      return std::lexicographical_compare(a.second.rbegin(), a.second.rend(), b.second.rbegin(), b.second.rend());
    });
    BeamSearch beam;
    for (std::size_t width : {1, 2, 100000})
      for (std::size_t k : {1, 3}) {
        const bool possible = beam.run(sample.chain, sample.far, width, k);
        CHECK(possible == !all.empty());
        if (!possible) continue;
        const std::vector<std::uint32_t> best = beam.best(T - 1, k);
        if (width > 2) CHECK(best.size() == std::min(k, all.size()));
        for (std::size_t i = 0; i < best.size(); ++i) {
          beam.path(T - 1, best[i], path.data());
          const double score = beam.level(T - 1).hypotheses[best[i]].score;
          CHECK(score == sample.score(path));
          CHECK(score != -INFINITY);
          if (width > 2) CHECK(score == all[i].first);
          if (width > 2 && i == 0) CHECK(path == all[0].second);
        }
        if (k == 1) continue;
        beam.path(T - 1, best[0], path.data());
        beam.run(sample.chain, sample.far, width, 1);
        std::vector<std::int32_t> first(T);
        beam.path(T - 1, beam.best(T - 1, 1)[0], first.data());
        CHECK(path == first);
      }
    if (all.empty()) continue;
    const auto& last = all.back().second;  // by its labels alone
    CHECK(beam.run(sample.chain, sample.far, 1, 1, last.data()));
    CHECK(beam.level(T - 1).hypotheses[0].score == all.back().first);
  }
}

}  // namespace
