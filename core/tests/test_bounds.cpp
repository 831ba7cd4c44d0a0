// Checks of whole arrays: every place of a bad number must be noticed, whatever the vectors' length.
#include "text/bounds.hpp"

#include <vector>

#include "check.hpp"

namespace {
using namespace trellis;
}

TEST(checks_notice_one_bad_number_anywhere) {
  for (std::size_t n = 1; n <= 70; ++n) {
    std::vector<std::int64_t> longs(n);
    std::vector<std::uint32_t> words(n);
    std::vector<std::uint16_t> shorts(n);
    std::vector<std::int32_t> ints(n, 3);
    for (std::size_t i = 0; i < n; ++i) longs[i] = static_cast<std::int64_t>(i) / 2, words[i] = shorts[i] = i / 2;
    CHECK(ascending(longs) && ascending(words) && all_below(words, n) && all_below(shorts, n));
    for (std::size_t i = 0; i < n; ++i) {
      auto bad_longs = longs;
      auto bad_words = words;
      auto bad_shorts = shorts;
      auto bad_ints = ints;
      if (i + 1 < n) {
        bad_longs[i] = n;
        CHECK(!ascending(bad_longs));
      }
      bad_words[i] = bad_shorts[i] = static_cast<std::uint16_t>(n);
      CHECK(ascending(bad_words) == (i + 1 == n));
      CHECK(!all_below(bad_words, n) && !all_below(bad_shorts, n) && all_below(bad_shorts, n + 1));
      bad_ints[i] = -7;
      CHECK(bounds_of(bad_ints).least == -7 && bounds_of(bad_ints).greatest == (n == 1 ? -7 : 3));
      bad_ints[i] = 9;
      CHECK(bounds_of(bad_ints).greatest == 9);
    }
  }
  CHECK(ascending(std::span<const std::uint32_t>{}) && all_below(std::span<const std::uint16_t>{}, 0));
  CHECK(bounds_of({}).greatest < bounds_of({}).least);
}

TEST(view_ids_are_silence_or_within_their_views) {
  const std::vector<std::uint32_t> limits{3, 1, 2};
  const std::vector<std::int32_t> good{4, 4, 4, 6, -1, 5, -1, 4, -1};
  CHECK(view_ids_fit(good, limits, 4));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (std::int32_t wrong : {-2, 0, 3, static_cast<std::int32_t>(4 + limits[i % 3]), 1 << 30, INT32_MIN}) {
      auto bad = good;
      bad[i] = wrong;
      CHECK(!view_ids_fit(bad, limits, 4));
    }
}

TEST(each_number_once) {
  const std::vector<std::int32_t> some{2, -1, 0}, others{1, -1, 3}, again{1, 1}, low{-2};
  auto once = [](std::vector<std::span<const std::int32_t>> lists, std::uint64_t n) { return each_once(lists, n); };
  CHECK(once({}, 0) && once({some, others}, 4) && once({others, {}, some}, 4));
  CHECK(!once({some}, 2) && !once({some, others}, 5) && !once({some, others}, 3));
  CHECK(!once({some, again}, 4) && !once({some, others, low}, 4) && !once({some, others, low}, 5));
  std::vector<std::int32_t> many(1000);
  for (int i = 0; i < 1000; ++i) many[i] = 999 - i;
  CHECK(once({many}, 1000));
  many[3] += 7, many[500] -= 7;  // the sum is the same
  CHECK(!once({many}, 1000));
}
