#include "learn/proximal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/simd.hpp"
#include "parallel.hpp"

namespace trellis {
namespace {

// The data of one weight for coordinate descent, contiguous: its row of Q, and the same row times M.
struct Coordinates {
  std::vector<std::uint32_t> places;  // [n]
  std::vector<double> rows, products;  // [n, width] both
  std::vector<double> curvatures;      // [n] B[k, k]
  std::size_t width = 0;               // 2 · n_pairs, padded with zeros
};

TRELLIS_INLINE double dot_rows(const double* a, const double* b, std::size_t width) {
  Vector<double> sum = {};
  for (std::size_t i = 0; i < width; i += kLanes<double>) sum += lanes(a + i) * lanes(b + i);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// products[k] = M rows[k];  B[k, k] = diagonal[k] - rows[k] · products[k]
TRELLIS_CLONES void fill(const QuadraticModel& model, const double* middle, std::size_t begin, std::size_t end,
                         Coordinates& out) {
  constexpr double kLeast = 1e-8;  // of the diagonal: B is positive definite except for rounding
  const std::size_t n_pairs = model.n_pairs, width = out.width;
  for (std::size_t k = begin; k < end; ++k) {
    const std::size_t place = out.places[k];
    double *row = out.rows.data() + k * width, *product = out.products.data() + k * width;
    for (std::size_t j = 0; j < n_pairs; ++j) {
      row[j] = model.diagonal[place] * model.steps[j * model.size + place];
      row[n_pairs + j] = model.changes[j * model.size + place];
    }
    for (std::size_t j = 0; j < 2 * n_pairs; ++j)
      for (std::size_t i = 0; i < width; i += kLanes<double>) lanes_at(product + i) += row[j] * lanes(middle + j * width + i);
    const double curvature = model.diagonal[place] - dot_rows(row, product, width);
    out.curvatures[k] = std::max(curvature, kLeast * model.diagonal[place]);
  }
}

// One sweep: each coordinate to its minimum given the others. `sums` is Q' d times M. Returns sum curvature · change².
TRELLIS_CLONES double sweep(const QuadraticModel& model, const Coordinates& at, double c1, double* sums, double* step) {
  double changed = 0;
  for (std::size_t k = 0; k < at.places.size(); ++k) {
    const std::size_t place = at.places[k], width = at.width;
    const double x = model.x[place], curvature = at.curvatures[k];
    // slope of the model here: g + (B d)[k]
    const double slope = model.slope[place] + model.diagonal[place] * step[place] -
                         dot_rows(at.rows.data() + k * width, sums, width);
    const double target = x + step[place] - slope / curvature, nearer = c1 / curvature;
    const double value = target > nearer ? target - nearer : target < -nearer ? target + nearer : 0;
    const double change = value - x - step[place];
    if (change == 0) continue;
    step[place] = value - x;
    const double* product = at.products.data() + k * width;
    for (std::size_t i = 0; i < width; i += kLanes<double>) lanes_at(sums + i) += change * lanes(product + i);
    changed += curvature * change * change;
  }
  return changed;
}

}  // namespace

void minimize_model(const QuadraticModel& model, double c1, std::size_t max_sweeps, double tolerance,
                    std::size_t n_threads, double* step) {
  constexpr std::size_t kBlock = 512;
  Coordinates at;
  for (std::size_t k = 0; k < model.size; ++k)
    if (model.x[k] != 0 || std::abs(model.slope[k]) > c1) at.places.push_back(static_cast<std::uint32_t>(k));
  at.width = padded(2 * model.n_pairs);
  at.rows.assign(at.places.size() * at.width, 0);
  at.products.assign(at.places.size() * at.width, 0);
  at.curvatures.resize(at.places.size());
  std::vector<double> middle(2 * model.n_pairs * at.width, 0), sums(at.width, 0);
  for (std::size_t j = 0; j < 2 * model.n_pairs; ++j)
    std::copy_n(model.middle + j * 2 * model.n_pairs, 2 * model.n_pairs, middle.data() + j * at.width);
  parallel_blocks(at.places.size(), kBlock, n_threads, [] { return 0; },
                  [&](int, std::size_t begin, std::size_t end) { fill(model, middle.data(), begin, end, at); });
  std::fill_n(step, model.size, 0.0);
  double first = 0;
  for (std::size_t s = 0; s < max_sweeps; ++s) {
    const double changed = sweep(model, at, c1, sums.data(), step);
    if (s == 0) first = changed;
    if (changed <= tolerance * first) break;
  }
}

}  // namespace trellis
