// Locally normalised potentials: the probabilities of all paths sum to one, and each is the product of its decisions.
#include "weights/local_chain.hpp"

#include <numeric>
#include <random>

#include "check.hpp"
#include "engine/forward_backward.hpp"
#include "random_sets.hpp"

using namespace trellis;

namespace {

void check(std::size_t n, std::size_t L, bool second, bool by_token, bool with_sets, float scale, unsigned seed) {
  std::mt19937 random(seed);
  const std::size_t stride = padded(L), size = (L + 1) * stride;
  const auto fill = [&](std::size_t count) {
    std::vector<float> out(count);
    for (float& x : out) x = scale * (static_cast<float>(random() % 2001) / 1000 - 1);
    return out;
  };
  const std::vector<float> raw_emit = fill(n * stride), edge = fill(size), tri = fill(second ? (L + 1) * size : 0);
  std::vector<float> raw_edges;
  for (std::size_t t = 0; t < n; ++t) {
    const std::vector<float> here = by_token ? fill(size) : edge;
    raw_edges.insert(raw_edges.end(), here.begin(), here.end());
  }
  std::vector<std::int32_t> set_of, labels;
  std::vector<std::int64_t> starts{0};
  for (std::size_t t = 0; t < n; ++t) {
    set_of.push_back(static_cast<std::int32_t>(t));
    for (std::size_t z = 0; z < L; ++z)
      if (z == t % L || random() % 2) labels.push_back(static_cast<std::int32_t>(z));
    starts.push_back(static_cast<std::int64_t>(labels.size()));
  }
  const LabelSets sets{set_of.data(), starts.data(), labels.data()};
  std::vector<double> losses;
  std::vector<float> emit = raw_emit, edges = raw_edges;
  LocalScratch scratch;
  TokenNgrams<float> none;
  const bool own_edges = second || by_token;
  const ChainView<float> chain({L, stride, edge.data(), second ? tri.data() : nullptr}, n, emit.data(),
                               own_edges ? edges.data() : nullptr, with_sets ? &sets : nullptr);
  std::vector<float> p(stride);
  for (std::size_t t = 0; t < n; ++t) {
    const auto back = [&](std::size_t k) { return t < k ? L : (t - k) % L; };
    losses.push_back(decide(chain, {t, back(2), back(1), t % L}, chain.tri ? chain.tri_at(back(2), back(1)) : nullptr, p.data()));
    CHECK_NEAR(std::exp(-losses.back()), static_cast<double>(p[t % L]), 1e-5);
    CHECK_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1.0, 1e-5);
  }
  LocalNormalizer({L, stride, edge.data(), chain.tri}).normalize(chain, emit.data(), edges.data(), none, scratch);
  SumWorkspace work;
  const auto wide = [](const std::vector<float>& table) { return std::vector<double>(table.begin(), table.end()); };
  const std::vector<double> of_emit = wide(emit), of_edges = wide(edges), of_edge = wide(edge), of_tri = wide(tri);
  const ChainView<double> sums({L, stride, of_edge.data(), second ? of_tri.data() : nullptr}, n, of_emit.data(),
                               own_edges ? of_edges.data() : nullptr, chain.allowed);
  prepare_sums(sums, work);
  CHECK_NEAR(log_partition(sums, work), 0.0, 1e-4 * scale * static_cast<double>(n));

  std::vector<std::int32_t> path;
  double expected = 0;
  std::size_t x = L, y = L;
  for (std::size_t t = 0; t < n; ++t) {
    double sum = 0;
    const auto score = [&](std::size_t z) {
      return static_cast<double>(raw_emit[t * stride + z]) + raw_edges[t * size + y * stride + z] +
             (second ? tri[(x * (L + 1) + y) * stride + z] : 0);
    };
    const std::size_t z = t % L;  // in every set
    for (std::size_t other = 0; other < L; ++other) {
      bool allowed = !with_sets;
      for (std::int64_t i = starts[t]; i < starts[t + 1]; ++i) allowed |= labels[i] == static_cast<std::int32_t>(other);
      if (allowed) sum += std::exp(score(other) - score(z));
    }
    expected -= std::log(sum);
    CHECK_NEAR(losses[t], std::log(sum), 1e-4 * scale);
    path.push_back(static_cast<std::int32_t>(z));
    x = y;
    y = z;
  }
  CHECK_NEAR(static_cast<double>(path_score(chain, path.data())), expected, 1e-4 * scale * static_cast<double>(n));
}

// Where label n-grams are sparse: every path has the product of its decisions, and all of them sum to one.
void check_histories(std::size_t n, std::size_t L, std::size_t order, bool with_sets, float scale, unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&] { return scale * (static_cast<float>(random() % 2001) / 1000 - 1); };
  Ngrams ngrams(L, order);
  for (int i = 0; i < 12; ++i) {
    std::uint32_t node = random() % 3 ? Ngrams::kRoot : ngrams.null();
    for (std::size_t length = 1 + random() % order; ngrams.length(node) <= length;) node = ngrams.extend(node, random() % L);
  }
  const std::size_t stride = padded(L), size = (L + 1) * stride;
  std::vector<float> scores(ngrams.size()), emit(n * stride), edges(n * size);
  for (auto* some : {&scores, &emit, &edges})
    for (float& x : *some) x = number();
  const std::size_t silent = random() % L;  // after it all is forbidden but at the end
  for (std::size_t t = 0; seed % 5 == 0 && t < n; ++t)
    std::fill_n(edges.data() + t * size + silent * stride, stride, kForbidden<float>);
  testing::RandomSets sets;
  sets.fill_sets(n, L, random);
  NgramScores<float> scored{&ngrams, scores.data()};
  const ChainView<float> chain({L, stride, nullptr, nullptr, nullptr, &scored}, n, emit.data(), edges.data(),
                               with_sets ? &sets.sets : nullptr);
  std::vector<std::vector<std::int32_t>> paths{{}};
  for (std::size_t t = 0; t < n; ++t) {
    std::vector<std::vector<std::int32_t>> longer;
    for (const auto& path : paths)
      for (std::size_t z = 0; z < L; ++z)
        if (!with_sets || allows(sets.sets, t, z)) longer.push_back(path), longer.back().push_back(static_cast<std::int32_t>(z));
    paths.swap(longer);
  }
  // log P of a path, decision by decision; minus infinity where it comes to a label that nothing may follow.
  std::vector<double> expected;
  for (const auto& path : paths) {
    double total = 0;
    std::uint32_t state = ngrams.null();
    each_part(path.data(), n, L, [&](const Part& part) {
      double sum = 0, own = 0;
      for (std::size_t z = 0; z < L; ++z) {
        if (with_sets && !allows(sets.sets, part.token, z)) continue;
        const std::uint32_t node = ngrams.longest(state, z);
        const double score = static_cast<double>(chain.emit_at(part.token)[z]) + chain.edge_at(part.token, part.y)[z] +
                             ngram_total(scored, part.token, node);
        sum += std::exp(score);
        if (z == part.z) own = score;
      }
      total += sum == 0 ? kForbidden<double> : own - std::log(sum);
      state = ngrams.state(ngrams.longest(state, part.z));
    });
    expected.push_back(total);
  }
  LocalScratch scratch;
  TokenNgrams<float> by_token;
  LocalNormalizer({L, stride, nullptr, nullptr, nullptr, &scored}).normalize(chain, emit.data(), edges.data(), by_token, scratch);
  scored.by_token = &by_token;
  CHECK(by_token.starts.size() == n + 1 && by_token.starts.back() == by_token.nodes.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const double found = static_cast<double>(path_score(chain, paths[i].data()));
    if (expected[i] == kForbidden<double>) CHECK(found == kForbidden<double>);
    else CHECK_NEAR(found, expected[i], 1e-4 * scale * static_cast<double>(n));
  }
}

}  // namespace

TEST(local_histories_are_products_of_decisions) {
  unsigned seed = 0;
  for (std::size_t n : {1, 2, 3, 5})
    for (std::size_t L : {1, 2, 3})
      for (std::size_t order : {2, 3, 4})
        for (float scale : {1.0f, 10.0f, 60.0f})
          for (bool with_sets : {false, true}) check_histories(n, L, order, with_sets, scale, ++seed);
}

TEST(local_chain_is_a_product_of_decisions) {
  unsigned seed = 0;
  for (std::size_t n : {1, 2, 3, 6})
    for (std::size_t L : {1, 2, 9})
      for (unsigned kind = 0; kind < 8; ++kind)
        for (float scale : {1.0f, 100.0f}) check(n, L, kind & 1, kind & 2, kind & 4, scale, ++seed);
}
