// Losses and gradients of small random problems: finite differences, and the same bits from any number of threads.
#include "learn/objective.hpp"

#include <random>

#include "check.hpp"
#include "weights/seen_ngrams.hpp"

namespace {
using namespace trellis;

// Every part a problem can have, of random numbers.
struct Sample {
  std::size_t L;
  std::vector<std::int64_t> starts{0, 3, 3, 4, 9}, item_starts{0}, edge_item_starts{0}, set_starts{0};
  std::vector<std::int32_t> ids, edge_ids, gold, sets, set_labels, edge_places, tri_places;
  std::vector<float> values, edge_values, edge_base, end_base;
  std::vector<std::uint32_t> row_starts{0}, edge_row_starts{0}, edge_row_labels;
  std::vector<std::uint16_t> row_labels;
  std::vector<double> parameters, weights;
  Layout layout;
  ChainData data;
  std::shared_ptr<Ngrams> ngrams;  // above order 2: those of gold

  Sample(std::size_t n_labels, int order, bool edges, bool with_sets, bool with_values, bool with_base, unsigned seed)
      : L(n_labels) {
    std::mt19937 random(seed);
    const auto number = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
    const std::size_t stride = padded(L), n = 9, n_attributes = 5, n_edge_attributes = edges ? 3 : 0;
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t a = 0; a < n_attributes; ++a)
        if (random() % 2) ids.push_back(static_cast<std::int32_t>(a));
      item_starts.push_back(static_cast<std::int64_t>(ids.size()));
      for (std::size_t a = 0; a < n_edge_attributes; ++a)
        if (random() % 2) edge_ids.push_back(static_cast<std::int32_t>(a));
      edge_item_starts.push_back(static_cast<std::int64_t>(edge_ids.size()));
      gold.push_back(static_cast<std::int32_t>(random() % L));
      sets.push_back(static_cast<std::int32_t>(t));
      for (std::size_t z = 0; z < L; ++z)
        if (z == static_cast<std::size_t>(gold[t]) || random() % 2) set_labels.push_back(static_cast<std::int32_t>(z));
      set_starts.push_back(static_cast<std::int64_t>(set_labels.size()));
    }
    for (std::size_t i = 0; with_values && i < ids.size(); ++i) values.push_back(static_cast<float>(number()));
    for (std::size_t i = 0; with_values && i < edge_ids.size(); ++i) edge_values.push_back(static_cast<float>(number()));
    for (std::size_t a = 0; a < n_attributes; ++a) {
      for (std::size_t z = 0; z < L; ++z)
        if (a == 0 || random() % 2) row_labels.push_back(static_cast<std::uint16_t>(z));
      row_starts.push_back(static_cast<std::uint32_t>(row_labels.size()));
    }
    for (std::size_t a = 0; a < n_edge_attributes; ++a) {
      for (std::size_t y = 0; y <= L; ++y) edge_row_labels.push_back(static_cast<std::uint32_t>(y * stride + random() % L));
      edge_row_starts.push_back(static_cast<std::uint32_t>(edge_row_labels.size()));
    }
    for (std::size_t y = 0; y <= L; ++y)
      for (std::size_t z = 0; z < L; ++z) {
        edge_places.push_back(static_cast<std::int32_t>(y * stride + z));
        for (std::size_t x = 0; order == 2 && x <= L; ++x)
          tri_places.push_back(static_cast<std::int32_t>((x * (L + 1) + y) * stride + z));
      }
    if (order > 2) {
      ngrams = std::make_shared<Ngrams>(L, static_cast<std::size_t>(order));
      add_seen(*ngrams, gold.data(), starts.data(), starts.size() - 1, true, nullptr);
      for (std::uint32_t g = 0; g < ngrams->size(); ++g)
        if (ngrams->length(g) > 2) tri_places.push_back(static_cast<std::int32_t>(g));
      layout.ngrams = ngrams.get();
    }
    edge_base.assign((L + 1) * stride, 0);
    if (with_base) {
      for (float& score : edge_base) score = static_cast<float>(number());
      for (std::size_t z = 0; z < stride; ++z) end_base.push_back(static_cast<float>(number()));
    }
    layout.n_labels = L;
    layout.n_attributes = n_attributes;
    layout.n_edge_attributes = n_edge_attributes;
    layout.order = order;
    layout.row_starts = row_starts;
    layout.row_labels = row_labels;
    layout.edge_row_starts = edge_row_starts;
    layout.edge_row_labels = edge_row_labels;
    layout.edge_places = edge_places;
    layout.tri_places = tri_places;
    layout.edge_base = edge_base;
    layout.end_base = end_base;
    data.attributes = {item_starts.data(), ids.data(), with_values ? values.data() : nullptr};
    if (edges) data.edge_attributes = {edge_item_starts.data(), edge_ids.data(), with_values ? edge_values.data() : nullptr};
    if (with_sets) data.sets = {sets.data(), set_starts.data(), set_labels.data()};
    for (std::size_t i = 0; i < layout.n_parameters(); ++i) parameters.push_back(number());
    for (std::size_t s = 0; s + 1 < starts.size(); ++s) weights.push_back(1.5 + number());
  }

  std::unique_ptr<Objective> objective(bool local, bool single, const Gold& known) const {
    return make_objective(layout, data, starts.data(), starts.size() - 1, known, local, single);
  }
  double total(Objective& objective, const std::vector<double>& at) const {
    std::vector<double> losses(weights.size());
    objective.losses(at.data(), 1, losses.data());
    double sum = 0;
    for (std::size_t s = 0; s < losses.size(); ++s) sum += weights[s] * losses[s];
    return sum;
  }
};

void check_gradient(const Sample& sample, bool local, const Gold& known) {
  const std::size_t n = sample.parameters.size(), n_sentences = sample.weights.size();
  const auto objective = sample.objective(local, false, known);
  std::vector<double> losses(n_sentences), slope(n), again(n_sentences), again_slope(n);
  objective->gradient(sample.parameters.data(), sample.weights.data(), 1, losses.data(), slope.data());
  for (double loss : losses) CHECK(loss >= -1e-9);
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> up = sample.parameters, down = sample.parameters;
    up[i] += h;
    down[i] -= h;
    CHECK_NEAR(slope[i], (sample.total(*objective, up) - sample.total(*objective, down)) / (2 * h), 1e-6);
  }
  objective->gradient(sample.parameters.data(), sample.weights.data(), 3, again.data(), again_slope.data());
  CHECK(losses == again);
  CHECK(slope == again_slope);
  const auto single = sample.objective(local, true, known);
  single->gradient(sample.parameters.data(), sample.weights.data(), 1, again.data(), again_slope.data());
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
        make_objective(valued.layout, data, valued.starts.data(), n_sentences, {valued.gold.data(), {}}, local, false)
            ->gradient(valued.parameters.data(), nullptr, 1, losses[i].data(), slopes[i].data());
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
      objective->pass({0.1, 0.01, 0.01}, order.data(), order.size(), sample.weights.data(), 1, at.data(), squares.data(),
                      losses.data());
    CHECK(sample.total(*objective, at) < before);
  }
}
