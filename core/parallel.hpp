// Threads over independent items (sentences): items are handed out in blocks, results land at fixed places, so the
// answer does not depend on who computed what.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace trellis {

// Calls work(state, begin, end) over blocks of [0, n); make_state() gives each thread its own scratch.
template <class MakeState, class Work>
void parallel_blocks(std::size_t n, std::size_t block, std::size_t n_threads, MakeState make_state, Work work) {
  std::size_t n_blocks = (n + block - 1) / block;
  n_threads = std::max<std::size_t>(1, std::min(n_threads, n_blocks));
  std::atomic<std::size_t> next{0};
  auto run = [&] {
    auto state = make_state();
    for (std::size_t b = next++; b < n_blocks; b = next++) work(state, b * block, std::min(n, (b + 1) * block));
  };
  std::vector<std::thread> others;
  others.reserve(n_threads - 1);
  for (std::size_t i = 1; i < n_threads; ++i) others.emplace_back(run);
  run();
  for (auto& thread : others) thread.join();
}

}  // namespace trellis
