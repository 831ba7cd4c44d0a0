// exp, log and kin against those of long double, and against bits that every machine must give.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>

#include "check.hpp"
#include "engine/elementary.hpp"

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How many units of the last place of the answer lie between it and the truth.
double units(double answer, long double truth) {
  const double next = std::nextafter(std::fabs(static_cast<double>(truth)), kInfinity);
  return static_cast<double>(std::fabs(answer - truth) / (next - std::fabs(static_cast<double>(truth))));
}

// The greatest error over random numbers from low to high.
template <class Ours, class Truth>
double worst(Ours ours, Truth truth, double low, double high) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> number(low, high);
  double most = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = number(random);
    most = std::max(most, units(ours(x), truth(static_cast<long double>(x))));
  }
  return most;
}

}  // namespace

TEST(elementary_functions_are_within_a_few_units) {
  const auto exp = [](double x) { return trellis::exp(x); };
  const auto log = [](double x) { return trellis::log(x); };
  const auto exp_truth = [](long double x) { return std::exp(x); };
  const auto log_truth = [](long double x) { return std::log(x); };
  for (double reach : {1e-9, 0.1, 1.0, 50.0, 745.0}) CHECK(worst(exp, exp_truth, -reach, std::min(reach, 709.0)) <= 1);
  for (double high : {1e-310, 1e-5, 0.9, 1.0, 1.5, 20.0, 1e300}) CHECK(worst(log, log_truth, high / 2, high) <= 1.3);
  for (double reach : {1e-12, 0.3, 2.0, 30.0})
    CHECK(worst(trellis::expm1, [](long double x) { return std::expm1(x); }, -reach, reach) <= 4);
  for (double high : {1e-12, 0.3, 2.0, 1e9})
    CHECK(worst(trellis::log1p, [](long double x) { return std::log1p(x); }, -std::min(high, 0.999), high) <= 4);
}

TEST(elementary_functions_at_the_ends) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), tiny = std::numeric_limits<double>::denorm_min();
  CHECK(trellis::exp(-kInfinity) == 0 && trellis::exp(-746.0) == 0 && trellis::exp(-745.0) == tiny);
  CHECK(trellis::exp(0.0) == 1 && trellis::exp(-0.0) == 1 && trellis::exp(710.0) == kInfinity && trellis::exp(kInfinity) == kInfinity);
  CHECK(trellis::exp(709.78) < kInfinity && std::isnan(trellis::exp(nan)));
  CHECK(trellis::log(0.0) == -kInfinity && trellis::log(1.0) == 0 && trellis::log(kInfinity) == kInfinity);
  CHECK(std::isnan(trellis::log(-1.0)) && std::isnan(trellis::log(nan)));
  CHECK_NEAR(trellis::log(tiny), -744.4400719213812, 1e-12);
  CHECK(trellis::expm1(-kInfinity) == -1 && trellis::expm1(0.0) == 0 && trellis::expm1(1e-300) == 1e-300);
  CHECK(trellis::log1p(-1.0) == -kInfinity && trellis::log1p(0.0) == 0 && trellis::log1p(1e-300) == 1e-300);
  CHECK(trellis::exp(1.0f) == 2.71828175f && trellis::log(10.0f) == 2.30258512f);
}

TEST(elementary_functions_have_the_same_bits_everywhere) {
  std::mt19937_64 random(11);
  std::uint64_t digest = 14695981039346656037u;
  const auto add = [&](double x) { digest = (digest ^ std::bit_cast<std::uint64_t>(x)) * 1099511628211u; };
  for (int i = 0; i < 10000; ++i) {
    const double x = static_cast<double>(static_cast<std::int64_t>(random() >> 11)) * 0x1p-53;  // from 0 to 1
    add(trellis::exp(1400 * x - 700)), add(trellis::log(x)), add(trellis::expm1(x - 0.5)), add(trellis::log1p(x - 0.5));
  }
  CHECK(digest == 0xd02ae85ebcfaff27u);
}
