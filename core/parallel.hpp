// Threads over independent items (sentences): items are handed out in blocks, results land at fixed places, so the
// answer does not depend on who computed what.
#pragma once
#include <algorithm>
#include <atomic>
#include <barrier>
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

// Calls work(meet) on every one of n_threads; meet() returns when all have called it. For work in steps, where each step
// needs all of the one before.
template <class Work>
void run_team(std::size_t n_threads, Work work) {
  n_threads = std::max<std::size_t>(1, n_threads);
  std::barrier barrier(static_cast<std::ptrdiff_t>(n_threads));
  const auto meet = [&] { barrier.arrive_and_wait(); };
  std::vector<std::thread> others;
  others.reserve(n_threads - 1);
  for (std::size_t i = 1; i < n_threads; ++i) others.emplace_back([&] { work(meet); });
  work(meet);
  for (auto& thread : others) thread.join();
}

}  // namespace trellis
