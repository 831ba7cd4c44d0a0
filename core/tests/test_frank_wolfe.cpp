// Block-coordinate Frank-Wolfe over random problems: hinge losses by enumeration, the laws of its steps, sparse sums.
#include <map>
#include <numeric>
#include <random>

#include "check.hpp"
#include "learn/chain_learners.hpp"

using namespace trellis;

namespace {

struct Toy {
  static constexpr std::size_t kAttributes = 6, kEdges = 3;
  std::size_t n_labels;
  std::vector<std::int64_t> starts{0}, item_starts{0}, edge_starts{0};
  std::vector<std::int32_t> gold, ids, edge_ids;
  std::vector<float> values;
  ChainData data;

  Toy(unsigned seed, std::size_t L, bool edges) : n_labels(L) {
    std::mt19937 random(seed);
    auto below = [&](std::size_t n) { return static_cast<std::int32_t>(random() % n); };
    for (int s = 0; s < 10; ++s) {
      for (int t = below(5); t > 0; --t) {
        for (int i = below(3) + 1; i > 0; --i) ids.push_back(below(kAttributes)), values.push_back(0.25f * below(9) - 1);
        for (int i = below(3); i > 0; --i) edge_ids.push_back(below(kEdges));
        item_starts.push_back(static_cast<std::int64_t>(ids.size()));
        edge_starts.push_back(static_cast<std::int64_t>(edge_ids.size()));
        gold.push_back((ids.back() + (below(4) == 0)) % static_cast<int>(L));
      }
      starts.push_back(static_cast<std::int64_t>(gold.size()));
    }
    data.attributes = {item_starts.data(), ids.data(), values.data()};
    if (edges) data.edge_attributes = {edge_starts.data(), edge_ids.data(), nullptr};
  }
  std::size_t n_sentences() const { return starts.size() - 1; }
};

// max(0, max_y cost(y) + score(y)) - score(gold), all paths tried.
double loss_by_enumeration(const ChainView<float>& chain, const Margin& margin, const std::int32_t* gold) {
  const std::size_t n = chain.n_tokens;
  std::vector<std::int32_t> path(n);
  const double right = path_score(chain, gold);
  double most = 0;
  for (bool more = true; more;) {
    most = std::max(most, margin.cost(gold, path.data(), n, chain.n_labels) + path_score(chain, path.data()) - right);
    more = false;
    for (std::size_t t = 0; t < n && !more; ++t) {
      more = ++path[t] < static_cast<std::int32_t>(chain.n_labels);
      if (!more) path[t] = 0;
    }
  }
  return most;
}

// Rows as decoding reads them.
struct FrozenRows {
  std::vector<std::uint32_t> starts{0}, places;
  std::vector<std::uint16_t> labels;
  std::vector<float> weights;

  explicit FrozenRows(const GrowingRows& rows) {
    starts.resize(rows.n_attributes() + 1);
    rows.each([&](std::size_t a, std::uint32_t label, float weight, double, float) {
      places.push_back(label), labels.push_back(static_cast<std::uint16_t>(label)), weights.push_back(weight);
      ++starts[a + 1];
    });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
  }
};

}  // namespace

TEST(hinge_losses_by_enumeration) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    const std::size_t L = 1 + random() % 3, n = 1 + random() % 4, stride = padded(L);
    const int order = static_cast<int>(random() % 3);
    auto fill = [&](std::vector<float>& some, unsigned forbidden) {
      for (float& x : some) x = forbidden && random() % forbidden == 0 ? kForbidden<float> : 0.5f * (random() % 9) - 2;
    };
    std::vector<float> emit(n * stride), edge((L + 1) * stride), tri((L + 1) * (L + 1) * stride), costs(L * L);
    fill(emit, 0);
    if (order > 0) fill(edge, 9);
    fill(tri, 0);
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = i % (L + 1) ? 0.5f * (1 + random() % 4) : 0;
    const ChainView<float> chain({L, stride, edge.data(), order == 2 ? tri.data() : nullptr}, n, emit.data());
    std::vector<std::int32_t> gold(n);
    for (auto& z : gold) z = static_cast<std::int32_t>(random() % L);
    // Token t has attribute t, whose weights are its emissions.
    std::vector<std::uint32_t> row_starts{0};
    std::vector<std::uint16_t> labels;
    std::vector<float> weights;
    std::vector<std::int64_t> item_starts{0};
    std::vector<std::int32_t> ids;
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t z = 0; z < L; ++z) labels.push_back(static_cast<std::uint16_t>(z)), weights.push_back(emit[t * stride + z]);
      row_starts.push_back(static_cast<std::uint32_t>(labels.size()));
      ids.push_back(static_cast<std::int32_t>(t));
      item_starts.push_back(static_cast<std::int64_t>(t + 1));
    }
    const LinearChain model{{row_starts.data(), labels.data(), weights.data()}, {}, {L, stride, edge.data(), chain.tri, nullptr}};
    const ChainData data{{item_starts.data(), ids.data(), nullptr}, {}, {}};
    const std::int64_t starts[] = {0, static_cast<std::int64_t>(n)};
    for (const Margin& margin : {Margin{true}, Margin{false}, Margin{false, costs.data()}}) {
      const Examples examples{.data = data, .starts = starts, .gold = gold.data(), .costs = margin.costs};
      Chains chains(model, model.labels, order, examples, margin.zero_one);
      CHECK(chains.load(0));
      CHECK(chains.possible() == (path_score(chain, gold.data()) != kForbidden<float>));
      if (!chains.possible()) continue;
      const Violation worst = most_violated(chains, margin.zero_one);
      CHECK_NEAR(worst.loss, loss_by_enumeration(chain, margin, gold.data()), 1e-5);
      CHECK((worst.output == nullptr) == (worst.loss == 0));
      if (worst.output) CHECK_NEAR(worst.cost, margin.cost(gold.data(), worst.output, n, L), 0);
    }
  }
}

TEST(frank_wolfe_keeps_its_laws) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const int order = static_cast<int>(seed % 5);
    const bool edges = order > 0 && seed % 4 == 1, zero_one = seed % 7 < 3;
    const std::size_t L = seed % 2 ? 3 : 9;
    const Toy toy(seed, L, edges);
    FrankWolfe run(Toy::kAttributes, edges ? Toy::kEdges : 0, L, order, order > 2, toy.n_sentences(), seed % 7 ? 0.1 : 2, zero_one);
    const Examples examples{toy.data, toy.starts.data(), toy.gold.data()};
    std::vector<std::int64_t> everyone;
    for (std::size_t s = 0; s < toy.n_sentences(); ++s) everyone.push_back(static_cast<std::int64_t>(s));
    double before = 0;
    for (int pass = 0; pass < 20; ++pass) {
      const MixtureResult steps = run.epoch(examples, everyone.data(), everyone.size());
      CHECK(run.steps.dual >= before);
      CHECK(pass > 0 || steps.updates > 0);
      before = run.steps.dual;
    }
    run.renew(examples);
    CHECK_NEAR(run.steps.dual, before, 1e-5 * before);

    // ½ |w|² + C sum_i H_i(w) is above the dual, whoever computes it.
    const FrozenRows rows(run.rows), on_edges(run.edge_rows);
    const LinearChain model{{rows.starts.data(), rows.labels.data(), rows.weights.data()},
                            {on_edges.starts.data(), on_edges.places.data(), on_edges.weights.data()},
                            run.labels()};
    std::vector<double> losses(toy.n_sentences()), same(toy.n_sentences());
    for (auto [out, n_threads] : {std::pair{&losses, 1}, std::pair{&same, 3}})
      margin_losses(model, order, examples, toy.n_sentences(), zero_one, static_cast<std::size_t>(n_threads), out->data());
    CHECK(losses == same);
    double primal = 0;
    for (double loss : losses) primal += run.steps.c * loss;
    const std::vector<float>* all[] = {&rows.weights, &on_edges.weights, &run.edge.weights, &run.tri.weights};
    for (const auto* some : all)
      for (float w : *some) primal += 0.5 * w * w;
    CHECK(primal >= run.steps.dual - 1e-5);
    CHECK(primal < run.steps.dual * 3);
    const MixtureResult next = run.epoch(examples, everyone.data(), everyone.size());
    CHECK(next.gap >= 0);
  }
}

TEST(a_pass_can_be_stopped) {
  const Toy toy(1, 3, false);
  FrankWolfe run(Toy::kAttributes, 0, 3, 1, false, toy.n_sentences(), 1, true);
  const Examples examples{toy.data, toy.starts.data(), toy.gold.data()};
  std::vector<std::int64_t> often(2'000'000);
  for (std::size_t i = 0; i < often.size(); ++i) often[i] = static_cast<std::int64_t>(i % toy.n_sentences());
  run.epoch(examples, often.data(), often.size(), [] { return false; });
  CHECK(run.steps.clock < static_cast<std::int64_t>(often.size()));
}

namespace {

// Another structure than chains: an output is one of some classes, and is its own only part. Phi(class) is a row of
// weights, the example's attributes at places of their own.
struct Choices {
  struct Part {
    std::uint32_t site;  // the class
    bool operator==(const Part&) const = default;
  };
  struct Weights {
    std::vector<float> values;
    std::vector<double> sums;
    std::size_t n_attributes;
    LearntWeight find(std::uint32_t row, std::uint32_t place) {
      return {&values[row * n_attributes + place], &sums[row * n_attributes + place], nullptr};
    }
    LearntWeight make(std::uint32_t row, std::uint32_t place) { return find(row, place); }
    void changed() {}
    Weights empty() const { return {std::vector<float>(values.size()), std::vector<double>(sums.size()), n_attributes}; }
    template <class Visit>
    void each_weight(Visit visit) const {
      for (std::uint32_t i = 0; i < values.size(); ++i)
        visit(i / static_cast<std::uint32_t>(n_attributes), i % static_cast<std::uint32_t>(n_attributes));
    }
  };

  Weights& weights;
  const std::vector<std::vector<float>>& attributes;  // [n_examples, n_attributes]
  const std::vector<std::int32_t>& right;             // [n_examples]
  std::size_t n_classes;
  bool zero_one = false;
  std::size_t now = 0;
  std::vector<std::int32_t> ranked{};

  void enter(std::size_t i) { now = i; }
  bool load(std::size_t i) { return enter(i), true; }
  bool possible() const { return true; }
  void get_ready() {}
  bool grows() const { return false; }
  void grow(const std::int32_t*) {}
  double score(const Part& part) const {
    double total = 0;
    for (std::size_t a = 0; a < weights.n_attributes; ++a)
      total += weights.values[part.site * weights.n_attributes + a] * attributes[now][a];
    return total;
  }
  double cost(const std::int32_t* output) const {
    return zero_one ? static_cast<double>(n_wrong(output)) : std::abs(*output - right[now]);
  }
  std::size_t best(std::size_t k, bool augmented) {
    ranked.resize(n_classes);
    std::iota(ranked.begin(), ranked.end(), 0);
    const auto value = [&](std::int32_t y) { return score({static_cast<std::uint32_t>(y)}) + (augmented ? cost(&y) : 0); };
    std::stable_sort(ranked.begin(), ranked.end(), [&](auto y, auto z) { return value(y) > value(z); });
    return std::min(k, n_classes);
  }
  const std::int32_t* output(std::size_t i) const { return ranked.data() + i; }
  std::size_t n_wrong(const std::int32_t* output) const { return *output != right[now]; }
  template <class Visit>
  void each_difference(const std::int32_t* output, Visit visit) const {
    const auto gold = static_cast<std::uint32_t>(right[now]), other = static_cast<std::uint32_t>(*output);
    if (gold < other) visit(Part{gold}, 1.0), visit(Part{other}, -1.0);
    if (gold > other) visit(Part{other}, -1.0), visit(Part{gold}, 1.0);
  }
  template <class Visit>
  void each_feature(std::span<const Amount<Part>> parts, Visit visit) const {
    for (const auto& [part, amount] : parts)
      for (std::uint32_t a = 0; a < weights.n_attributes; ++a) visit(Change{part.site, a, amount * attributes[now][a]});
  }
  void collect(const std::int32_t* output, Changes& d) const {
    each_difference(output, [&](const Part& part, double sign) {
      const Amount<Part> one{part, sign};
      each_feature({&one, 1}, [&](const Change& change) { d.push_back(change); });
    });
  }
};
static_assert(PartStructure<Choices> && PartStructure<Chains<GrowingChain>>);

}  // namespace

TEST(learners_know_no_chains) {
  std::mt19937 random(4);
  std::vector<std::vector<float>> attributes;
  std::vector<std::int32_t> right;
  std::vector<std::int64_t> order;
  for (int i = 0; i < 30; ++i) {
    right.push_back(i % 4);
    order.push_back(i);
    attributes.push_back({1, static_cast<float>(i % 4), static_cast<float>(i % 4 == 2) + 0.1f * static_cast<float>(random() % 9)});
  }
  // The perceptron gets them all right in the end.
  Choices::Weights weights{std::vector<float>(12), std::vector<double>(12), 3};
  Choices choices{weights, attributes, right, 4};
  Steps steps({}, false);
  std::int64_t clock = 0;
  EpochResult last{.mistakes = 1};
  for (int pass = 0; pass < 1000 && last.mistakes; ++pass)
    last = online_pass([&] { return choices; }, weights, steps, clock, order.data(), order.size(), nullptr, 1, 1, {});
  CHECK(last.mistakes == 0);
  // Frank-Wolfe closes the gap between primal and dual.
  for (const bool zero_one : {false, true}) {
    weights = weights.empty();
    choices.zero_one = zero_one;
    MixtureSteps<Choices::Part> margins(order.size(), 0.05, zero_one);
    for (int pass = 0; pass < 300; ++pass) margins.pass(choices, weights, order.data(), order.size(), nullptr, {});
    const double before = margins.dual;
    margins.renew(choices, weights, nullptr);
    CHECK_NEAR(margins.dual, before, 1e-5 * before);
    double primal = 0;
    for (float w : weights.values) primal += 0.5 * w * w;
    for (std::size_t i = 0; i < order.size(); ++i) choices.load(i), primal += margins.c * most_violated(choices, zero_one).loss;
    CHECK(primal >= margins.dual - 1e-6);
    CHECK_NEAR(primal, margins.dual, 0.02 * primal);
  }
}

TEST(sparse_vectors_merge_and_multiply) {
  std::mt19937 random(6);
  std::map<std::uint64_t, double> dense[2];
  Changes vectors[2];
  for (int v : {0, 1}) {
    for (int i = 0; i < 300; ++i) {
      const Change change{static_cast<std::uint32_t>(random() % 6), static_cast<std::uint32_t>(random() % 9),
                          static_cast<double>(random() % 5) - 2};
      vectors[v].push_back(change);
      dense[v][change.key()] += change.by;
    }
    merge(vectors[v]);
    std::erase_if(dense[v], [](const auto& one) { return one.second == 0; });
    CHECK(vectors[v].size() == dense[v].size());
    for (std::size_t i = 0; i < vectors[v].size(); ++i) {
      CHECK(i == 0 || vectors[v][i - 1].key() < vectors[v][i].key());
      CHECK(dense[v].at(vectors[v][i].key()) == vectors[v][i].by);
    }
  }
  double product = 0;
  for (const auto& [key, by] : dense[0]) product += dense[1].count(key) ? by * dense[1][key] : 0;
  CHECK(dot(vectors[0], vectors[1]) == product);
}

TEST(parts_of_a_path) {
  const std::int32_t path[] = {2, 0, 1, 1};
  const std::size_t null = 3, stride = 8, expected[4][3] = {{3, 3, 2}, {3, 2, 0}, {2, 0, 1}, {0, 1, 1}};
  std::size_t n = 0;
  each_part(path, 4, null, [&](const Part& part) {
    const auto& [x, y, z] = expected[part.token];
    CHECK(part.token == n++ && part.x == x && part.y == y && part.z == z);
    CHECK(part.cell(0, null, stride) == z && part.cell(1, null, stride) == y * stride + z);
    CHECK(part.cell(2, null, stride) == (x * (null + 1) + y) * stride + z);
    for (int reach : {0, 1, 2}) CHECK(!part.differs(part_at(path, part.token, null), reach));
  });
  CHECK(n == 4);
  CHECK(!part_at(path, 3, null).differs(part_at(path, 2, null), 0));
  CHECK(part_at(path, 3, null).differs(part_at(path, 2, null), 1));
}

TEST(sparse_sums) {
  std::mt19937 random(5);
  SparseSum sum;
  for (int round = 0; round < 50; ++round) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> expected;
    sum.clear();
    for (int i = round * 20; i > 0; --i) {
      const std::uint32_t row = random() % 40, place = random() % 30;
      const double by = static_cast<int>(random() % 9) - 4;
      sum.add({row, place, by});
      expected[{row, place}] += by;
    }
    CHECK(sum.entries().size() == expected.size());
    for (const Change& entry : sum.entries()) CHECK(expected.at({entry.row, entry.place}) == entry.by);
  }
}
