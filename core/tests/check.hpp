// A test harness of one page. A test registers itself:
//
//   TEST(counts_paths) { CHECK(count == 8); CHECK_NEAR(log_z, 2.0794, 1e-4); }
#pragma once
#include <cmath>
#include <cstdio>
#include <vector>

namespace trellis::testing {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}
inline int& failures() {  // failed checks of the running test
  static int count = 0;
  return count;
}

struct Register {
  Register(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

inline void check(bool ok, const char* what, const char* file, int line) {
  if (ok) return;
  ++failures();
  std::printf("%s:%d: %s\n", file, line, what);
}

// Equal infinities are near, NaN is near nothing.
inline bool near(double a, double b, double tolerance) { return a == b || std::fabs(a - b) <= tolerance; }

}  // namespace trellis::testing

#define TEST(name)                                                                \
  static void test_##name();                                                      \
  static const ::trellis::testing::Register register_##name(#name, test_##name);  \
  static void test_##name()
#define CHECK(condition) ::trellis::testing::check((condition), #condition, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) \
  ::trellis::testing::check(::trellis::testing::near((a), (b), (tolerance)), #a " near " #b, __FILE__, __LINE__)
