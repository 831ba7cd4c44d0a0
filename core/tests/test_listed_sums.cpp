// Sums over lists of few labels against all paths one by one, with forbidden choices and scores far apart.
#include "engine/listed_sums.hpp"

#include <cmath>
#include <random>

#include "check.hpp"

namespace {
using namespace trellis;

struct Lists {
  std::vector<std::int32_t> set_of_token;
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> labels;

  Lists(std::size_t n, std::size_t n_labels, std::mt19937& random) {
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t z = random() % 4; z < n_labels; z += 1 + random() % n_labels) labels.push_back(static_cast<std::int32_t>(z));
      set_of_token.push_back(static_cast<std::int32_t>(t));
      starts.push_back(static_cast<std::int64_t>(labels.size()));
    }
  }
  LabelSets view() const { return {set_of_token.data(), starts.data(), labels.data()}; }
};

template <class Real>
void check_sums(std::size_t n, std::size_t order, bool ends, double spread, double forbidden, unsigned seed) {
  std::mt19937 random(seed);
  const std::size_t L = 9, stride = padded(L), cells = (L + 1) * stride;
  const auto table = [&](std::size_t size) {
    std::vector<Real> out(size);
    for (Real& one : out) {
      one = static_cast<Real>((static_cast<double>(random() % 2001) / 1000 - 1) * spread);
      if (static_cast<double>(random() % 1000) < 1000 * forbidden) one = kForbidden<Real>;
    }
    return out;
  };
  const Lists lists(n, L, random);
  const LabelSets sets = lists.view();
  const std::vector<Real> emit = table(n * stride), edge = table(cells), tri = table((L + 1) * cells), end = table(stride);
  const ChainView<Real> chain({L, stride, edge.data(), order == 2 ? tri.data() : nullptr, ends ? end.data() : nullptr}, n, emit.data(), nullptr, &sets);

  // All paths, one by one: their scores less the greatest.
  std::vector<std::vector<std::int32_t>> paths{{}};
  for (std::size_t t = 0; t < n; ++t) {
    std::vector<std::vector<std::int32_t>> longer;
    for (const auto& path : paths)
      for (std::size_t k = 0; k < labels_of(sets, t).n; ++k) longer.push_back(path), longer.back().push_back(labels_of(sets, t).labels[k]);
    paths.swap(longer);
  }
  std::vector<double> scores;
  double top = kForbidden<double>, total = 0;
  for (const auto& path : paths) {
    double score = 0;
    each_part(path.data(), n, L, [&](const Part& part) {
      score += static_cast<double>(chain.edge_at(0, part.y)[part.z]) + chain.emit_at(part.token)[part.z];
      if (order == 2) score += chain.tri_at(part.x, part.y)[part.z];
    });
    scores.push_back(ends ? score + end[static_cast<std::size_t>(path.back())] : score);
    top = std::max(top, scores.back());
  }
  ListedSums<Real> sums;
  const double log_z = sums.sum(chain);
  if (top == kForbidden<double>) {
    CHECK(log_z == kForbidden<double>);
    return;
  }
  for (double score : scores) total += std::exp(score - top);
  if (log_z == kForbidden<double>) {  // products may vanish only where scores are far apart
    CHECK(spread > 50);
    return;
  }
  CHECK_NEAR(log_z, top + std::log(total), 1e-9 * (1 + std::fabs(top)));
  sums.each_step([&](std::size_t t, std::size_t x, std::size_t y, std::size_t z, double p) {
    double expected = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const Part part = part_at(paths[i].data(), t, L);
      if (part.z == z && part.y == y && (order == 1 || part.x == x)) expected += std::exp(scores[i] - top) / total;
    }
    CHECK_NEAR(p, expected, 1e-9);
  });
}

}  // namespace

TEST(sums_over_lists) {
  unsigned seed = 0;
  for (std::size_t n = 1; n <= 5; ++n)
    for (std::size_t order : {1, 2})
      for (bool ends : {false, true})
        for (double spread : {0.0, 2.0, 40.0, 700.0})
          for (double forbidden : {0.0, 0.3, 0.9}) {
            check_sums<float>(n, order, ends, spread, forbidden, ++seed);
            check_sums<double>(n, order, ends, spread, forbidden, ++seed);
          }
}
