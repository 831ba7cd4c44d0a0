// Sums over parts of labels and their transpose, against the definition.
#include <random>

#include "check.hpp"
#include "weights/label_parts.hpp"

using namespace trellis;

TEST(parts_of_labels_fold_and_spread) {
  constexpr std::size_t kTokens = 5;
  for (std::size_t L : {1u, 3u, 8u, 9u, 30u})
    for (std::size_t P : {1u, 2u, 7u, 20u}) {
      std::mt19937 random(static_cast<unsigned>(100 * L + P));
      std::vector<std::int64_t> starts{0};
      std::vector<std::int32_t> columns;
      std::vector<std::vector<bool>> has(L, std::vector<bool>(P));
      for (std::size_t z = 0; z < L; ++z) {
        for (std::size_t p = 0; p < P; ++p)
          if ((has[z][p] = random() % 3 == 0 || (z == 0 && p + 1 == P))) columns.push_back(static_cast<std::int32_t>(L + p));
        starts.push_back(static_cast<std::int64_t>(columns.size()));
      }
      const LabelParts parts(starts, columns);
      CHECK(parts.any() && parts.width(L) == L + P && parts.of(L).empty());
      const std::size_t wide = parts.stride(), narrow = padded(L);
      CHECK(wide == padded(L + P));
      std::vector<double> rows(kTokens * wide), residual(kTokens * wide);  // [n, wide]; the second holds [n, narrow] at first
      for (double& value : rows) value = static_cast<double>(random() % 17) - 8;
      for (std::size_t t = 0; t < kTokens; ++t)
        for (std::size_t z = 0; z < L; ++z) residual[t * narrow + z] = static_cast<double>(random() % 17) - 8;
      const auto before = rows, of_labels = residual;
      parts.fold(kTokens, rows.data());
      parts.spread(kTokens, residual.data());
      for (std::size_t t = 0; t < kTokens; ++t) {
        for (std::size_t z = 0; z < narrow; ++z) {
          double sum = z < L ? before[t * wide + z] : 0;
          for (std::size_t p = 0; z < L && p < P; ++p) sum += has[z][p] ? before[t * wide + L + p] : 0;
          CHECK(rows[t * narrow + z] == sum);
        }
        for (std::size_t c = 0; c < wide; ++c) {
          double sum = c < L ? of_labels[t * narrow + c] : 0;
          for (std::size_t z = 0; c >= L && c < L + P && z < L; ++z) sum += has[z][c - L] ? of_labels[t * narrow + z] : 0;
          CHECK(residual[t * wide + c] == sum);
        }
      }
    }
}

TEST(labels_without_parts_stay_as_they_are) {
  const LabelParts parts;
  CHECK(!parts.any() && parts.width(7) == 7);
  std::vector<float> rows{1, 2, 3};
  parts.fold(1, rows.data());
  parts.spread(1, rows.data());
  CHECK((rows == std::vector<float>{1, 2, 3}));
}
