// Learners by epochs and voting over random problems: voting against decoding with the weights of every moment.
#include <map>
#include <random>

#include "check.hpp"
#include "engine/viterbi.hpp"
#include "learn/chain_learners.hpp"
#include "papers/voting.hpp"

using namespace trellis;

namespace {

struct Lists {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> ids;
  std::vector<float> values;
  Sites view(bool valued) const { return {starts.data(), ids.data(), valued ? values.data() : nullptr}; }
};

struct Toy {
  static constexpr std::size_t kAttributes = 6, kEdges = 3;
  std::size_t n_labels;
  std::vector<std::int64_t> starts{0};
  Lists lists, edge_lists;
  std::vector<std::int32_t> gold, all, set_of;
  std::vector<std::int64_t> set_starts;
  ChainData data;
  LabelSets partial{};

  Toy(unsigned seed, std::size_t L, bool edges, bool valued, bool unknown) : n_labels(L) {
    std::mt19937 random(seed);
    auto below = [&](std::size_t n) { return static_cast<std::int32_t>(random() % n); };
    for (int s = 0; s < 12; ++s) {
      for (int t = below(6); t > 0; --t) {
        for (Lists* some : {&lists, &edge_lists}) {
          for (int i = below(3) + 1; i > 0; --i) {
            some->ids.push_back(below(some == &lists ? kAttributes : kEdges));
            some->values.push_back(static_cast<float>(below(9) - 4) / 4);
          }
          some->starts.push_back(static_cast<std::int64_t>(some->ids.size()));
        }
        gold.push_back(unknown && below(3) == 0 ? -1 : (lists.ids.back() + (below(4) == 0)) % static_cast<int>(L));
      }
      starts.push_back(static_cast<std::int64_t>(gold.size()));
    }
    data.attributes = lists.view(valued);
    if (edges) data.edge_attributes = edge_lists.view(false);
    if (unknown) {
      for (std::size_t z = 0; z < L; ++z) all.push_back(static_cast<std::int32_t>(z));
      set_of.assign(gold.size(), 0);
      set_starts = {0, static_cast<std::int64_t>(L)};
      partial = {set_of.data(), set_starts.data(), all.data()};
    }
  }
  std::size_t n_sentences() const { return starts.size() - 1; }
};

// The potentials of one sentence by weights[row, place] and its best path.
std::vector<std::int32_t> best_by(const Toy& toy, std::size_t s, int order,
                                  const std::map<std::pair<std::uint32_t, std::uint32_t>, double>& weights) {
  const std::size_t L = toy.n_labels, stride = padded(L), n = toy.starts[s + 1] - toy.starts[s];
  const std::size_t pairs = (L + 1) * stride, n_edges = toy.data.edge_attributes.starts ? Toy::kEdges : 0;
  std::vector<double> emit(n * stride), edge(n * pairs), tri(order == 2 ? (L + 1) * pairs : 0);
  for (const auto& [at, weight] : weights) {
    const auto [row, place] = at;
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t token = toy.starts[s] + t;
      if (row < Toy::kAttributes) {
        for (std::int64_t i = toy.lists.starts[token]; i < toy.lists.starts[token + 1]; ++i)
          if (toy.lists.ids[i] == static_cast<std::int32_t>(row))
            emit[t * stride + place] += weight * (toy.data.attributes.values ? toy.lists.values[i] : 1);
      } else if (row < Toy::kAttributes + n_edges) {
        for (std::int64_t i = toy.edge_lists.starts[token]; i < toy.edge_lists.starts[token + 1]; ++i)
          if (toy.edge_lists.ids[i] + Toy::kAttributes == row) edge[t * pairs + place] += weight;
      } else if (row == Toy::kAttributes + n_edges) {
        edge[t * pairs + place] += weight;
      }
    }
    if (row == Toy::kAttributes + n_edges + 1) tri[place] += weight;
  }
  const ChainView<double> chain({L, stride, nullptr, tri.empty() ? nullptr : tri.data()}, n, emit.data(), edge.data());
  Workspace<double> work;
  std::vector<std::int32_t> path(n);
  best_path(chain, work, path.data());
  return path;
}

}  // namespace

namespace {

// Voting against its definition: each moment's weights decode, the most votes win, among equals the first voted for.
void check_votes(const Toy& toy, int order, const UpdateLog& log, const std::vector<std::int64_t>& counts) {
  const std::size_t L = toy.n_labels, n_edges = toy.data.edge_attributes.starts ? Toy::kEdges : 0;
  const Votes votes{counts.size() - 1,  counts.data(),    log.starts.data(), log.rows.data(), log.places.data(),
                    log.changes.data(), Toy::kAttributes, n_edges,           order};
  const std::vector<float> zero((L + 1) * padded(L));
  const LabelWeights labels{L, padded(L), zero.data()};
  std::vector<std::int32_t> paths(toy.gold.size());
  vote_all(votes, labels, toy.data, toy.starts.data(), toy.n_sentences(), 2, paths.data());
  for (std::size_t s = 0; s < toy.n_sentences(); ++s) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> weights;
    std::map<std::vector<std::int32_t>, std::pair<std::int64_t, std::int64_t>> share;  // votes, minus first moment
    for (std::size_t m = 0; m < counts.size(); ++m) {
      if (m > 0)
        for (std::int64_t i = log.starts[m - 1]; i < log.starts[m]; ++i)
          weights[{log.rows[i], log.places[i]}] += log.changes[i];
      if (counts[m] == 0) continue;
      auto [at, is_new] = share.try_emplace(best_by(toy, s, order, weights), 0, -static_cast<std::int64_t>(m));
      at->second.first += counts[m];
    }
    const auto most = std::max_element(share.begin(), share.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    CHECK(std::equal(most->first.begin(), most->first.end(), paths.begin() + toy.starts[s]));
  }
}

}  // namespace

TEST(votes_of_training) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    const int order = static_cast<int>(seed % 3);
    const bool edges = seed % 4 == 1 && order > 0;
    const Toy toy(seed, seed % 2 ? 3 : 9, edges, seed % 5 == 2, seed % 7 == 3);
    Online online(Toy::kAttributes, edges ? Toy::kEdges : 0, toy.n_labels, order, false, Rule{}, true);
    const Examples examples{toy.data, toy.starts.data(), toy.gold.data(), toy.partial};
    std::vector<std::int64_t> sentences;
    for (std::size_t s = 0; s < toy.n_sentences(); ++s) sentences.push_back(static_cast<std::int64_t>(s));
    for (int epoch = 0; epoch < 3; ++epoch) online.epoch(examples, sentences.data(), sentences.size());
    std::vector<std::int64_t> counts, moments = online.steps.log.clocks;
    moments.insert(moments.begin(), 0);
    moments.push_back(online.clock);
    for (std::size_t m = 0; m + 1 < moments.size(); ++m) counts.push_back(moments[m + 1] - moments[m]);
    check_votes(toy, order, online.steps.log, counts);
  }
}

// Few moments and wild changes: every vote matters.
TEST(votes_of_random_updates) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    std::mt19937 random(seed);
    const int order = static_cast<int>(seed % 3);
    const bool edges = seed % 5 == 1 && order > 0;
    const Toy toy(seed, 2 + seed % 2, edges, false, false);
    const auto pair_row = static_cast<std::uint32_t>(Toy::kAttributes + (edges ? Toy::kEdges : 0));
    const auto L = static_cast<std::uint32_t>(toy.n_labels), stride = static_cast<std::uint32_t>(padded(L));
    UpdateLog log;
    std::vector<std::int64_t> counts{static_cast<std::int64_t>(random() % 3)};
    for (unsigned u = 3 + random() % 12; u > 0; --u) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, float> changes;
      for (unsigned i = 1 + random() % 4; i > 0; --i) {
        const std::uint32_t last = pair_row + static_cast<std::uint32_t>(order) - 1;  // triples, pairs or attributes
        const std::uint32_t row = random() % 2 ? static_cast<std::uint32_t>(random() % (last + 1)) : last;
        const std::uint32_t x = random() % (L + 1), y = random() % (L + 1), z = random() % L;
        const std::uint32_t place = row < Toy::kAttributes ? z : (row > pair_row ? x * (L + 1) + y : y) * stride + z;
        changes[{row, place}] = static_cast<float>(static_cast<int>(random() % 5) - 2);
      }
      for (const auto& [at, by] : changes)
        log.rows.push_back(at.first), log.places.push_back(at.second), log.changes.push_back(by);
      log.starts.push_back(static_cast<std::int64_t>(log.rows.size()));
      counts.push_back(static_cast<std::int64_t>(1 + random() % 2));
    }
    check_votes(toy, order, log, counts);
  }
}

TEST(every_rule_keeps_its_weights_finite) {
  for (unsigned seed = 0; seed < 36; ++seed) {
    const Rule::Kind kinds[] = {Rule::kPerceptron, Rule::kPa, Rule::kPa1, Rule::kPa2, Rule::kMira, Rule::kArow};
    const Rule rule{kinds[seed % 6], seed % 6 == 4 ? 3u : 1u, 0.5};
    const int order = static_cast<int>(seed / 6 % 3);
    const Toy toy(seed, 5, order > 0 && seed % 2, seed % 5 == 2, seed % 7 == 3);
    Online online(Toy::kAttributes, order > 0 && seed % 2 ? Toy::kEdges : 0, 5, order, false, rule, false);
    const Examples examples{toy.data, toy.starts.data(), toy.gold.data(), toy.partial};
    std::vector<std::int64_t> sentences;
    for (std::size_t s = 0; s < toy.n_sentences(); ++s) sentences.push_back(static_cast<std::int64_t>(s));
    EpochResult first = online.epoch(examples, sentences.data(), sentences.size());
    CHECK(first.updates > 0);
    for (int epoch = 0; epoch < 4; ++epoch) online.epoch(examples, sentences.data(), sentences.size());
    online.rows.each([&](std::size_t, std::uint32_t, float weight, double sum, float v) {
      CHECK(std::isfinite(weight) && std::isfinite(sum) && v > 0 && v <= 1);
    });
  }
}

TEST(the_quadratic_programme_meets_its_conditions) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + random() % 6, width = 1 + random() % 6;
    const double c = round % 2 ? 0.1 : 5;
    std::vector<double> d(n * width), losses(n), gram(n * n);
    for (double& x : d) x = normal(random);
    for (double& x : losses) x = 2 * normal(random);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < width; ++k) gram[i * n + j] += d[i * width + k] * d[j * width + k];
    MarginQp qp;
    const std::vector<double>& a = qp.solve(losses, gram, c);
    double sum = 0, slack = 0;
    std::vector<double> left = losses;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) left[i] -= gram[i * n + j] * a[j];
      sum += a[i];
      slack = std::max(slack, left[i]);
      CHECK(a[i] >= 0);
    }
    CHECK(sum <= c * (1 + 1e-9));
    CHECK(slack < 1e-6 || sum > c * (1 - 1e-6));
    for (std::size_t i = 0; i < n; ++i) CHECK(a[i] == 0 || left[i] > slack - 1e-6);
  }
}
