// Rows that grow with training against a plain map of pairs.
#include <map>
#include <random>
#include <utility>

#include "check.hpp"
#include "weights/growing_rows.hpp"

namespace {
using namespace trellis;

using Expected = std::map<std::pair<std::int32_t, std::uint32_t>, std::pair<float, double>>;  // weight, sum

void check_same(const GrowingRows& rows, std::size_t n_labels, const Expected& expected) {
  std::size_t found = 0;
  std::vector<std::vector<float>> all(rows.n_attributes(), std::vector<float>(padded(n_labels), 1));
  std::vector<std::int64_t> last(rows.n_attributes(), -1);
  rows.each([&](std::size_t a, std::uint32_t z, float weight, double sum, float) {
    CHECK(static_cast<std::int64_t>(z) > last[a]);
    last[a] = z;
    const auto one = expected.find({static_cast<std::int32_t>(a), z});
    CHECK(weight == (one == expected.end() ? 0 : one->second.first));
    CHECK(sum == (one == expected.end() ? 0 : one->second.second));
    found += one != expected.end();
    all[a][z] += 2 * weight;
  });
  for (std::size_t a = 0; a < rows.n_attributes(); ++a) {
    std::vector<float> emit(padded(n_labels), 1);
    rows.prefetch_row(static_cast<std::int32_t>(a));
    rows.prefetch_slots(static_cast<std::int32_t>(a));
    rows.add_to(static_cast<std::int32_t>(a), 2, emit.data());
    CHECK(emit == all[a]);
  }
  CHECK(found == expected.size());
}

// What a step of training does: w[attribute, label] += change, and its sum with it, if there is such a feature.
void update(GrowingRows& rows, std::int32_t a, std::uint32_t z, float change, double clock) {
  if (!rows.may_have(a, z)) return;
  const auto place = rows.make(a, z);
  *place.weight += change;
  *place.sum += clock * change;
}

}  // namespace

TEST(rows_grow_and_become_heavy) {
  for (std::size_t n_labels : {1u, 4u, 5u, 8u, 9u, 23u, 100u})
    for (std::size_t least : {std::size_t{0}, std::size_t{1}, std::size_t{3}, heavy_from<float>(padded(n_labels))}) {
      std::mt19937 random(static_cast<unsigned>(n_labels * 10 + least));
      GrowingRows rows(7, n_labels, least);
      Expected expected;
      for (int step = 0; step < 400; ++step) {
        const auto a = static_cast<std::int32_t>(random() % 7);
        const auto z = static_cast<std::uint32_t>(random() % n_labels);
        const float change = static_cast<float>(random() % 9) - 4;
        update(rows, a, z, change, step);
        auto& [weight, sum] = expected[{a, z}];
        weight += change;
        sum += double(step) * change;
        if (step % 37 == 0) check_same(rows, n_labels, expected);
      }
      check_same(rows, n_labels, expected);
    }
}

TEST(rows_that_stopped_growing_keep_their_labels) {
  GrowingRows rows(2, 40, heavy_from<float>(padded(40)));
  rows.stop_growing();
  Expected expected;
  for (std::uint32_t z = 0; z < 40; z += 2) rows.set(1, z, float(z)), expected[{1, z}] = {float(z), 0};
  rows.set(1, 4, 5);  // again: no second slot
  expected[{1, 4}] = {5, 0};
  for (std::uint32_t z = 0; z < 40; ++z) update(rows, 1, z, 1, 3), update(rows, 0, z, 1, 3);
  for (auto& [where, what] : expected) what.first += 1, what.second += 3;
  check_same(rows, 40, expected);
}

TEST(rows_of_nothing) {
  GrowingRows none(0, 3, 5), empty(2, 3, 5);
  CHECK(none.n_attributes() == 0);
  check_same(empty, 3, {});
}
