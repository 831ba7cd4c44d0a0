// Sums of exponentials, and rounds of boosting over small random problems: bounds that hold, and the same bits from any number
// of threads and from a full pass.
#include "papers/boost.hpp"

#include <algorithm>
#include <random>

#include "check.hpp"
#include "random_problem.hpp"

namespace {
using namespace trellis;

struct Sample : testing::RandomProblem {
  Sample(std::size_t n_labels, int order, bool edges, bool with_sets, bool with_values, bool with_base, unsigned seed,
         std::vector<std::int64_t> starts_ = {0, 3, 3, 4, 9, 14})
      : RandomProblem(n_labels, order, edges, with_sets, with_values, with_base, seed, std::move(starts_)) {}

  Booster booster(Bound bound) const {
    return Booster(layout, {.data = data, .starts = starts.data(), .gold = gold.data(), .n_sentences = starts.size() - 1}, bound, 2.0);
  }
};

void check_rounds(const Sample& sample, Bound bound, int rounds) {
  Booster one = sample.booster(bound), three = sample.booster(bound), anew = sample.booster(bound);
  const std::vector<double> zeros(sample.layout.n_parameters(), 0.0);
  const double scale = std::numeric_limits<double>::quiet_NaN();
  one.begin(zeros, scale, 1);
  three.begin(zeros, scale, 3);
  for (int round = 0; round < rounds; ++round) {
    const Chosen chosen = one.choose(1), same = three.choose(3);
    CHECK(chosen.feature == same.feature);
    CHECK(chosen.step == same.step);
    if (chosen.feature < 0) return;
    const double before = one.log_risk();
    one.step(chosen.feature, chosen.step, 1);
    three.step(chosen.feature, chosen.step, 3);
    // A risk of next to nothing is a difference of numbers that are nearly the same.
    if (one.log_risk() > -12) {
      CHECK(one.log_risk() <= before + chosen.log_bound + 1e-8);
      if (bound == Bound::exact) CHECK_NEAR(one.log_risk(), before + chosen.log_bound, 1e-8);
    }
    CHECK(one.log_risk() == three.log_risk());
    anew.begin(one.parameters(), one.scale(), 2);
    CHECK(one.log_risk() == anew.log_risk());
    const Chosen next = one.choose(1), full = anew.choose(1);
    CHECK(next.feature == full.feature);
    CHECK(next.step == full.step);
  }
}

}  // namespace

TEST(exponential_sums) {
  // c (e^-w - 1) + d (e^w - 1) is least at log(c / d) / 2, where it is -(sqrt c - sqrt d)².
  const std::vector<double> near{-1, 0, 1};
  const auto least_of = [&](const std::vector<double>& c, std::size_t first, double limit) {
    return least(c, std::span(near).subspan(first, c.size()), limit);
  };
  const std::vector<double> two{2.0, 5.0, 0.5};
  CHECK_NEAR(least_of(two, 0, 10).size, std::log(4.0) / 2, 1e-12);
  CHECK_NEAR(least_of(two, 0, 10).gain, -0.5, 1e-12);
  CHECK(least_of(two, 0, 0.1).size == 0.1);
  const std::vector<double> never_wrong{2.0, 5.0}, never_right{5.0, 2.0}, nothing{0.0, 5.0, 0.0};
  CHECK(least_of(never_wrong, 0, 3).size == 3);
  CHECK_NEAR(least_of(never_wrong, 0, 3).gain, 2 * std::expm1(-3.0), 1e-12);
  CHECK(least_of(never_right, 1, 3).size == -3);
  CHECK(least_of(nothing, 0, 3).size == 0);
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> c(300), x(300);
    const std::size_t zero = random() % 300;
    for (std::size_t j = 0; j < c.size(); ++j) {
      c[j] = random() % 3 ? 0 : static_cast<double>(random() % 1000);
      x[j] = static_cast<double>(j) - static_cast<double>(zero);
    }
    const auto value_at = [&](double w) {
      double sum = 0;
      for (std::size_t j = 0; j < c.size(); ++j) sum += c[j] * std::expm1(x[j] * w);
      return sum;
    };
    const LineStep step = least(c, x, 4);
    CHECK(step.gain <= 0);
    CHECK_NEAR(step.gain, value_at(step.size), 1e-9 * (1 - step.gain));
    for (double aside : {-1e-4, 1e-4}) CHECK(step.gain <= value_at(std::clamp(step.size + aside, -4.0, 4.0)));
  }
}

TEST(boost_rounds) {
  unsigned seed = 0;
  for (std::size_t L : {2, 3})
    for (unsigned kind = 0; kind < 32; ++kind) {
      const Sample sample(L, kind & 1 ? 2 : 1, kind & 2, kind & 4, kind & 8, kind & 16, ++seed);
      for (Bound bound : {Bound::loose, Bound::tight, Bound::exact}) check_rounds(sample, bound, 5);
    }
}

// Sentences of very different lengths: the short ones wait until the risk of the long one has fallen to theirs.
TEST(boost_waits) {
  for (unsigned kind = 0; kind < 4; ++kind) {
    const Sample sample(3, 1, kind & 1, false, kind & 2, false, kind, {0, 70, 90, 93, 98, 138});
    for (Bound bound : {Bound::tight, Bound::exact}) check_rounds(sample, bound, 40);
    Booster kept = sample.booster(Bound::tight);
    kept.begin(std::vector<double>(sample.layout.n_parameters(), 0.0), std::numeric_limits<double>::quiet_NaN(), 1);
    const Chosen first = kept.choose(1);
    CHECK(kept.step(first.feature, first.step, 1).sentences < 5);
  }
}

// An edge attribute of value 2 counts as much as one that stands there twice.
TEST(boost_values_of_edge_attributes) {
  for (unsigned kind = 0; kind < 8; ++kind) {
    const Sample sample(3, kind & 1 ? 2 : 1, true, kind & 2, false, kind & 4, kind);
    std::vector<std::int32_t> twice;
    std::vector<std::int64_t> twice_starts;
    for (std::int32_t a : sample.edge_ids) twice.insert(twice.end(), 2, a);
    for (std::int64_t start : sample.edge_item_starts) twice_starts.push_back(2 * start);
    const std::vector<float> values(sample.edge_ids.size(), 2.0f);
    Sample valued = sample, listed = sample;
    valued.data.edge_attributes.values = values.data();
    listed.data.edge_attributes = {twice_starts.data(), twice.data()};
    std::vector<double> weights;
    std::mt19937 random(kind);
    for (std::size_t k = 0; k < sample.layout.n_parameters(); ++k)
      weights.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
    for (Bound bound : {Bound::tight, Bound::loose, Bound::exact}) {
      Booster one = valued.booster(bound), other = listed.booster(bound);
      for (Booster* booster : {&one, &other}) booster->begin(weights, 0.0, 1);
      for (int round = 0; round < 10; ++round) {
        CHECK_NEAR(one.log_risk(), other.log_risk(), 1e-9);
        const Chosen chosen = one.choose(1), same = other.choose(1);
        CHECK(chosen.feature == same.feature);
        if (chosen.feature < 0) break;
        CHECK_NEAR(chosen.step, same.step, 1e-9);
        for (Booster* booster : {&one, &other}) booster->step(chosen.feature, chosen.step, 1);
      }
    }
  }
}

TEST(boost_of_one_label) {
  const Sample sample(1, 1, false, false, false, false, 1);
  Booster booster = sample.booster(Bound::exact);
  booster.begin(std::vector<double>(sample.layout.n_parameters(), 0.0), std::numeric_limits<double>::quiet_NaN(), 1);
  CHECK(booster.choose(1).feature < 0);
}
