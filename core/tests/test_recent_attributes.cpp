// Attributes by name and value against looking up the joined string.
#include <random>

#include "check.hpp"
#include "text/recent_attributes.hpp"

namespace {
using namespace trellis;

TEST(recent_attributes_are_those_of_the_joined_strings) {
  std::mt19937 random(5);
  const auto text = [&](std::size_t longest) {
    std::string s(random() % (longest + 1), 'a');
    for (char& c : s) c = "ab:\xC3"[random() % 4];
    return s;
  };
  Interner known;
  for (int i = 0; i < 30000; ++i) known.intern(text(i % 3 ? 6 : 40));
  std::vector<std::uint8_t> data = known.take_data();
  std::vector<std::int64_t> starts = known.take_starts();
  const std::vector<std::int32_t> slots = build_slots(data, starts);
  const FrozenStrings strings{data, starts, slots};
  RecentAttributes recent;  // of two readers: each begins where the other left off
  TokenAttributes readers[2] = {{strings, recent}, {strings, recent}};
  std::size_t n_wrong = 0, n_known = 0, n = 0;
  for (int token = 0; token < 40000; ++token) {
    std::vector<std::pair<std::int32_t, float>> expected;
    const std::string before = random() % 50 ? "" : text(3) + ":";
    for (std::size_t i = random() % 12; i > 0; --i) {
      const std::string name = text(random() % 20 ? 3 : 30), value = text(random() % 4 ? 4 : 30);
      const bool valued = random() % 2;
      std::string joined;
      const AttributeName attribute{before, valued ? std::string_view(name) : std::string_view{}, value, valued};
      attribute.append_to(joined);
      CHECK(joined == before + (valued ? name + ":" : "") + value);
      const auto number = static_cast<float>(i);
      expected.emplace_back(strings.lookup(joined), number);
      readers[token % 2].add(attribute, number);
    }
    std::size_t at = 0;
    readers[token % 2].end_token([&](std::int32_t id, float number) {
      n_wrong += at >= expected.size() || expected[at] != std::pair{id, number};
      n_known += id >= 0, ++at, ++n;
    });
    n_wrong += at != expected.size();
  }
  CHECK(n_wrong == 0);
  CHECK(n_known > n / 10 && n_known < n - n / 10);
}

}  // namespace
