// Losses and gradients of small random problems: finite differences, and the same bits from any number of threads.
#include "learn/objective.hpp"

#include <random>

#include "check.hpp"
#include "gradients.hpp"
#include "random_problem.hpp"

namespace {
using namespace trellis;

struct Known {
  const std::int32_t* labels;
  LabelSets partial;
};

struct Sample : testing::RandomProblem {
  std::vector<double> parameters, weights;

  Sample(std::size_t n_labels, int order, bool edges, bool with_sets, bool with_values, bool with_base, unsigned seed)
      : RandomProblem(n_labels, order, edges, with_sets, with_values, with_base, seed, {0, 3, 3, 4, 9}) {
    const auto number = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
    for (std::size_t i = 0; i < layout.n_parameters(); ++i) parameters.push_back(number());
    for (std::size_t s = 0; s + 1 < starts.size(); ++s) weights.push_back(1.5 + number());
  }

  std::unique_ptr<Objective> objective(bool local, bool single, const Known& known) const {
    return make_objective(layout, {data, starts.data(), known.labels, known.partial, nullptr, nullptr, starts.size() - 1}, local, single);
  }
  double total(Objective& objective, const std::vector<double>& at) const {
    std::vector<double> losses(weights.size());
    objective.evaluate(at.data(), nullptr, 1, losses.data(), FixedPoint(0), nullptr);
    double sum = 0;
    for (std::size_t s = 0; s < losses.size(); ++s) sum += weights[s] * losses[s];
    return sum;
  }
};

// By finite differences, of every `step`-th parameter.
void check_gradient(const Sample& sample, bool local, const Known& known, std::size_t step = 1) {
  const std::size_t n = sample.parameters.size(), n_sentences = sample.weights.size();
  const auto objective = sample.objective(local, false, known);
  std::vector<double> losses(n_sentences), slope(n), again(n_sentences), again_slope(n);
  testing::gradient_of(*objective, sample.parameters.data(), sample.weights.data(), 1, losses, slope);
  for (double loss : losses) CHECK(loss >= -1e-9);
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < n; i += step) {
    std::vector<double> up = sample.parameters, down = sample.parameters;
    up[i] += h;
    down[i] -= h;
    CHECK_NEAR(slope[i], (sample.total(*objective, up) - sample.total(*objective, down)) / (2 * h), 1e-6);
  }
  testing::gradient_of(*objective, sample.parameters.data(), sample.weights.data(), 3, again, again_slope);
  CHECK(losses == again);
  CHECK(slope == again_slope);
  const auto single = sample.objective(local, true, known);
  testing::gradient_of(*single, sample.parameters.data(), sample.weights.data(), 1, again, again_slope);
  for (std::size_t i = 0; i < n; ++i) CHECK_NEAR(slope[i], again_slope[i], 1e-4);
}

}  // namespace

TEST(objective_gradients) {
  unsigned seed = 0;
  for (std::size_t L : {1, 3, 9})
    for (unsigned kind = 0; kind < 32; ++kind) {
      if (L == 9 && kind % 2) continue;  // a thousand triples take too long
      const Sample sample(L, kind & 1 ? 2 : 1, kind & 2, kind & 4, kind & 8, kind & 16, ++seed);
      for (bool local : {false, true}) check_gradient(sample, local, {sample.gold.data(), {}});
    }
}

// Many labels, of which tokens may have a few.
TEST(objective_gradients_of_short_lists) {
  for (unsigned kind = 0; kind < 8; ++kind) {
    const Sample sample(26, kind & 1 ? 2 : 1, false, true, kind & 2, kind & 4, kind);
    check_gradient(sample, false, {sample.gold.data(), {}}, kind & 1 ? 199 : 7);
    std::vector<std::int32_t> gold = sample.gold;
    for (std::size_t t = 0; t < gold.size(); t += 2) gold[t] = -1;
    check_gradient(sample, false, {gold.data(), {sample.sets.data(), sample.set_starts.data(), sample.set_labels.data()}}, kind & 1 ? 199 : 7);
  }
}

TEST(objective_gradients_of_label_ngrams) {
  for (int order : {3, 5})
    for (unsigned kind = 0; kind < 16; ++kind) {
      const Sample sample(3, order, kind & 1, kind & 2, kind & 4, kind & 8, kind);
      for (bool local : {false, true}) check_gradient(sample, local, {sample.gold.data(), {}});
      std::vector<std::int32_t> gold = sample.gold;
      for (std::size_t t = 0; t < gold.size(); t += 2) gold[t] = -1;
      check_gradient(sample, false, {gold.data(), {sample.sets.data(), sample.set_starts.data(), sample.set_labels.data()}});
    }
}

// An edge attribute of value 2 counts as much as one that stands there twice.
TEST(objective_values_of_edge_attributes) {
  for (unsigned kind = 0; kind < 8; ++kind) {
    Sample valued(3, kind & 1 ? 2 : 1, true, kind & 2, false, kind & 4, kind), twice = valued;
    twice.edge_ids.clear();
    for (std::int32_t a : valued.edge_ids) twice.edge_ids.insert(twice.edge_ids.end(), 2, a);
    for (std::int64_t& start : twice.edge_item_starts) start *= 2;
    valued.edge_values.assign(valued.edge_ids.size(), 2.0f);
    const std::size_t n = valued.parameters.size(), n_sentences = valued.weights.size();
    for (bool local : {false, true}) {
      std::vector<double> losses[2], slopes[2];
      for (int i = 0; i < 2; ++i) {
        ChainData data = valued.data;
        if (i == 0) data.edge_attributes.values = valued.edge_values.data();
        else data.edge_attributes = {twice.edge_item_starts.data(), twice.edge_ids.data()};
        losses[i].resize(n_sentences), slopes[i].resize(n);
        const auto objective =
            make_objective(valued.layout, {data, valued.starts.data(), valued.gold.data(), {}, nullptr, nullptr, n_sentences}, local, false);
        testing::gradient_of(*objective, valued.parameters.data(), nullptr, 1, losses[i], slopes[i]);
      }
      for (std::size_t s = 0; s < n_sentences; ++s) CHECK_NEAR(losses[0][s], losses[1][s], 1e-9);
      for (std::size_t k = 0; k < n; ++k) CHECK_NEAR(slopes[0][k], slopes[1][k], 1e-9);
    }
  }
}

TEST(objective_partial_labels) {
  for (unsigned kind = 0; kind < 8; ++kind) {
    const Sample sample(3, kind & 1 ? 2 : 1, kind & 2, false, false, kind & 4, kind);
    std::vector<std::int32_t> gold = sample.gold;
    for (std::size_t t = 0; t < gold.size(); t += 2) gold[t] = -1;
    check_gradient(sample, false,
                   {gold.data(), {sample.sets.data(), sample.set_starts.data(), sample.set_labels.data()}});
  }
}

TEST(objective_passes_go_down) {
  for (unsigned kind = 0; kind < 8; ++kind) {
    const Sample sample(3, kind & 1 ? 2 : 1, kind & 2, false, false, kind & 4, kind);
    const auto objective = sample.objective(false, false, {sample.gold.data(), {}});
    std::vector<double> at = sample.parameters, squares(at.size(), 1.0), losses(4);
    const std::vector<std::int64_t> order{2, 0, 3, 1};
    const double before = sample.total(*objective, at);
    for (int pass = 0; pass < 10; ++pass)
      objective->pass({0.1, 0.01, 0.01}, 4, order.data(), order.size(), sample.weights.data(), 1, at.data(), squares.data(),
                      losses.data());
    CHECK(sample.total(*objective, at) < before);
  }
}
