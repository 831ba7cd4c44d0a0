#include "check.hpp"

int main() {
  using namespace trellis::testing;
  int passed = 0, failed = 0;
  for (const Test& test : tests()) {
    failures() = 0;
    test.run();
    ++(failures() ? failed : passed);
    if (failures()) std::printf("FAILED %s\n", test.name);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed || !passed;
}
