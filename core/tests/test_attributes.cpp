// The two directions between attributes and sites, rows to emissions and residuals to gradients, against plain sums.
#include <random>

#include "check.hpp"
#include "weights/attribute_sums.hpp"
#include "weights/site_rows.hpp"

namespace {
using namespace trellis;

// Sites with up to four attributes each, which have weights for few labels, for many, or for all.
struct Sample {
  std::size_t L, n_attributes = 3000;
  std::vector<std::int64_t> starts{0}, examples{0};
  std::vector<std::int32_t> ids;
  std::vector<float> values;
  std::vector<std::uint32_t> row_starts{0};
  std::vector<std::uint16_t> row_labels;
  Layout layout;

  Sample(std::size_t n_labels, std::size_t n_sites, std::size_t most_labels, unsigned seed) : L(n_labels) {
    std::mt19937 random(seed);
    for (std::size_t s = 0; s < n_sites; ++s) {
      for (std::size_t i = random() % 5; i > 0; --i) {
        ids.push_back(static_cast<std::int32_t>(random() % (random() % 2 ? n_attributes : 1)));
        values.push_back(static_cast<float>(random() % 7) - 3);
      }
      starts.push_back(static_cast<std::int64_t>(ids.size()));
      if (random() % 30 == 0 || s + 1 == n_sites) examples.push_back(static_cast<std::int64_t>(s + 1));
    }
    for (std::size_t a = 0; a < n_attributes; ++a) {
      const std::size_t n = a % 100 == 0 ? L : 1 + random() % most_labels, first = random() % (L - n + 1);
      for (std::size_t z = first; z < first + n; ++z) row_labels.push_back(static_cast<std::uint16_t>(z));
      row_starts.push_back(static_cast<std::uint32_t>(row_labels.size()));
    }
    layout.n_labels = L;
    layout.n_attributes = n_attributes;
    layout.row_starts = row_starts;
    layout.row_labels = row_labels;
  }
  Sites at(bool valued) const { return {starts.data(), ids.data(), valued ? values.data() : nullptr}; }
};

// Lists of slots by site where rows are short, a walk over the corpus where they are long.
TEST(emissions_are_sums_of_rows) {
  for (const std::size_t most_labels : {2, 9}) {
    const Sample sample(40, 500, most_labels, 1);
    for (const bool valued : {false, true}) {
      const Sites at = sample.at(valued);
      const std::size_t n_sites = sample.starts.size() - 1, stride = padded(sample.L);
      SiteRows<double> rows(sample.layout, at, n_sites);
      std::vector<double> parameters(sample.row_labels.size()), emit(n_sites * stride, 7), expected(emit.size(), 0);
      for (std::size_t k = 0; k < parameters.size(); ++k) parameters[k] = std::sin(static_cast<double>(k));
      rows.set(parameters.data());
      rows.emissions(0, 100, emit.data());
      rows.emissions(100, n_sites, emit.data() + 100 * stride);
      for (std::size_t s = 0; s < n_sites; ++s)
        at.each(s, [&](std::int32_t a, float value) {
          for (std::uint32_t k = sample.row_starts[a]; k < sample.row_starts[a + 1]; ++k)
            expected[s * stride + sample.row_labels[k]] += value * parameters[k];
        });
      for (std::size_t i = 0; i < emit.size(); ++i) CHECK_NEAR(emit[i], expected[i], 1e-12);
    }
  }
}

// A block of more sites than 16 bits count, with an attribute at more of them, and many small blocks.
TEST(gradients_are_sums_over_sites) {
  const Sample sample(6, 75000, 3, 2);
  const std::size_t n_sites = sample.starts.size() - 1, stride = padded(sample.L), n = sample.row_labels.size();
  std::vector<double> residual(n_sites * stride);
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = std::sin(static_cast<double>(i));
  for (const bool valued : {false, true}) {
    const Sites at = sample.at(valued);
    std::vector<double> expected(n, 0);
    for (std::size_t s = 0; s < n_sites; ++s)
      at.each(s, [&](std::int32_t a, float value) {
        for (std::uint32_t k = sample.row_starts[a]; k < sample.row_starts[a + 1]; ++k)
          expected[k] += value * residual[s * stride + sample.row_labels[k]];
      });
    for (const std::size_t block_sites : {std::size_t{1000}, std::size_t{1} << 20}) {
      const AttributeSums<double> sums(sample.layout, at, sample.examples.data(), sample.examples.size() - 1, 0, block_sites);
      CHECK((sums.n_blocks() == 1) == (block_sites > n_sites));
      std::vector<double> row(stride);
      std::vector<std::int64_t> gradient(n, 0);
      const FixedPoint fixed(40);
      for (std::size_t b = 0; b < sums.n_blocks(); ++b)
        for (std::size_t piece = 0; piece < sums.n_pieces(b); ++piece)
          sums.sum(b, piece, residual.data() + sample.examples[sums.first_example(b)] * stride, row.data(), fixed, gradient.data());
      for (std::size_t k = 0; k < n; ++k) CHECK_NEAR(std::ldexp(gradient[k], -40), expected[k], 1e-9);
    }
  }
}

}  // namespace
