#include "learn/lbfgs.hpp"

#include <bit>
#include <cstring>
#include <vector>

#include "parallel.hpp"
#include "engine/simd.hpp"

namespace trellis {
namespace {

constexpr std::size_t kNumbersAtOnce = 2048;

typedef std::uint16_t Short __attribute__((vector_size(kLanes<float> * 2), aligned(2), may_alias));
using Long = Vector<std::uint32_t>;

TRELLIS_INLINE Vector<float> wide(const std::uint16_t* values) {
  const Long bits = __builtin_convertvector(*reinterpret_cast<const Short*>(values), Long) << 16;
  Vector<float> floats;
  std::memcpy(&floats, &bits, sizeof floats);
  return floats;
}
TRELLIS_INLINE float wide_one(std::uint16_t value) { return std::bit_cast<float>(std::uint32_t{value} << 16); }

// Rounds to nearest; stored numbers are finite and far below the largest float.
TRELLIS_INLINE void store(std::uint16_t* to, const Vector<double>& values) {
  typedef float Floats __attribute__((vector_size(kLanes<double> * 4)));
  typedef std::uint32_t Bits __attribute__((vector_size(kLanes<double> * 4)));
  typedef std::uint16_t Kept __attribute__((vector_size(kLanes<double> * 2), aligned(2), may_alias));
  const Floats floats = __builtin_convertvector(values, Floats);
  Bits bits;
  std::memcpy(&bits, &floats, sizeof bits);
  *reinterpret_cast<Kept*>(to) = __builtin_convertvector((bits + 0x8000) >> 16, Kept);
}
TRELLIS_INLINE std::uint16_t rounded(double value) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(static_cast<float>(value)) + 0x8000) >> 16);
}

// Sums within a block are in float: the factors have only 8 bits.
TRELLIS_CLONES void dots_of_block(const PastSteps& h, std::size_t r, const double* g, std::size_t begin, std::size_t end,
                                  double* dots) {
  const std::size_t n = end - begin;
  float given[kNumbersAtOnce] = {}, s_r[kNumbersAtOnce] = {}, y_r[kNumbersAtOnce] = {};
  for (std::size_t i = 0; i < n; ++i) {
    given[i] = static_cast<float>(g[begin + i]);
    s_r[i] = wide_one(h.steps[r * h.size + begin + i]);
    y_r[i] = wide_one(h.changes[r * h.size + begin + i]);
  }
  const auto add = [](auto* sums, auto s, auto y, auto given, auto s_r, auto y_r) TRELLIS_INLINE_LAMBDA {
    sums[0] += s * given;
    sums[1] += y * given;
    sums[2] += s * y_r;
    sums[3] += y * y_r;
    sums[4] += y * s_r;
  };
  for (std::size_t j = 0; j < h.n_pairs; ++j) {
    const std::uint16_t *s = h.steps + j * h.size + begin, *y = h.changes + j * h.size + begin;
    Vector<float> sums[kHistoryDots] = {};
    std::size_t i = 0;
    for (; i + kLanes<float> <= n; i += kLanes<float>)
      add(sums, wide(s + i), wide(y + i), lanes(given + i), lanes(s_r + i), lanes(y_r + i));
    double* out = dots + j * kHistoryDots;
    for (std::size_t k = 0; k < kHistoryDots; ++k) {
      out[k] = 0;
      for (std::size_t lane = 0; lane < kLanes<float>; ++lane) out[k] += sums[k][lane];
    }
    for (; i < n; ++i) add(out, double{wide_one(s[i])}, double{wide_one(y[i])}, given[i], s_r[i], y_r[i]);
  }
}

TRELLIS_CLONES void sum_of_block(const PastSteps& h, double factor, const double* g, const double* step_factors,
                                 const double* change_factors, std::size_t begin, std::size_t end, double* out) {
  const std::size_t n = end - begin;
  float sums[kNumbersAtOnce] = {};
  for (std::size_t j = 0; j < h.n_pairs; ++j) {
    const std::uint16_t *s = h.steps + j * h.size + begin, *y = h.changes + j * h.size + begin;
    const auto a = static_cast<float>(step_factors[j]), b = static_cast<float>(change_factors[j]);
    std::size_t i = 0;
    for (; i + kLanes<float> <= n; i += kLanes<float>) lanes_at(sums + i) += a * wide(s + i) + b * wide(y + i);
    for (; i < n; ++i) sums[i] += a * wide_one(s[i]) + b * wide_one(y[i]);
  }
  for (std::size_t i = 0; i < n; ++i) out[begin + i] = factor * g[begin + i] + sums[i];
}

}  // namespace

TRELLIS_CLONES double dot(const double* a, const double* b, std::size_t n) {
  double sums[8] = {}, sum = 0;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  for (double part : sums) sum += part;
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

TRELLIS_CLONES Curvature remember(const double* x, const double* old_x, const double* g, const double* old_g,
                                  std::size_t size, std::uint16_t* step, std::uint16_t* change) {
  Vector<double> products = {}, squares = {};
  std::size_t i = 0;
  for (; i + kLanes<double> <= size; i += kLanes<double>) {
    const Vector<double> s = lanes(x + i) - lanes(old_x + i), y = lanes(g + i) - lanes(old_g + i);
    products += s * y;
    squares += y * y;
    store(step + i, s);
    store(change + i, y);
  }
  Curvature sums{0, 0};
  for (std::size_t lane = 0; lane < kLanes<double>; ++lane) sums.product += products[lane], sums.square += squares[lane];
  for (; i < size; ++i) {
    const double s = x[i] - old_x[i], y = g[i] - old_g[i];
    sums.product += s * y;
    sums.square += y * y;
    step[i] = rounded(s);
    change[i] = rounded(y);
  }
  return sums;
}

void history_dots(const PastSteps& history, std::size_t r, const double* g, std::size_t n_threads, double* dots) {
  const std::size_t n_blocks = (history.size + kNumbersAtOnce - 1) / kNumbersAtOnce, n_dots = history.n_pairs * kHistoryDots;
  std::vector<double> parts(n_blocks * n_dots);
  parallel_blocks(history.size, kNumbersAtOnce, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    dots_of_block(history, r, g, begin, end, parts.data() + begin / kNumbersAtOnce * n_dots);
  });
  for (std::size_t k = 0; k < n_dots; ++k) {
    dots[k] = 0;
    for (std::size_t b = 0; b < n_blocks; ++b) dots[k] += parts[b * n_dots + k];
  }
}

void history_sum(const PastSteps& history, double factor, const double* g, const double* step_factors,
                 const double* change_factors, std::size_t n_threads, double* out) {
  parallel_blocks(history.size, kNumbersAtOnce, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    sum_of_block(history, factor, g, step_factors, change_factors, begin, end, out);
  });
}

}  // namespace trellis
