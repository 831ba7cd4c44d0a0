// Threads over independent items (sentences): items are handed out in blocks, results land at fixed places, so the
// answer does not depend on who computed what, nor on how many threads there were. There are never more threads than
// work for them, and where the system gives no more the work is done by those that started. An exception of any thread
// reaches the caller once all threads have ended.
#pragma once
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace trellis {

// The first exception that any thread met.
class FirstError {
 public:
  bool seen() const { return seen_.load(std::memory_order_relaxed); }
  void keep() noexcept {
    if (!seen_.exchange(true)) error_ = std::current_exception();
  }
  void rethrow() const {  // after all threads have been joined
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> seen_ = false;
  std::exception_ptr error_;
};

// Calls run(), which must not throw, on this thread and on up to n - 1 others; missing() stands for each thread that
// could not be started.
template <class Run, class Missing>
void run_on_threads(std::size_t n, Run run, Missing missing) {
  std::vector<std::thread> others;
  try {
    others.reserve(n - 1);
    while (others.size() < n - 1) others.emplace_back(run);
  } catch (...) {  // no thread or no memory left for one
    for (std::size_t i = others.size(); i < n - 1; ++i) missing();
  }
  run();
  for (auto& thread : others) thread.join();
}

// Calls work(state, begin, end) over blocks of [0, n); make_state() gives each thread its own scratch.
template <class MakeState, class Work>
void parallel_blocks(std::size_t n, std::size_t block, std::size_t n_threads, MakeState make_state, Work work) {
  const std::size_t n_blocks = (n + block - 1) / block;
  n_threads = std::max<std::size_t>(1, std::min(n_threads, n_blocks));
  std::atomic<std::size_t> next{0};
  FirstError error;
  const auto run = [&] {
    try {
      auto state = make_state();
      for (std::size_t b; !error.seen() && (b = next++) < n_blocks;) work(state, b * block, std::min(n, (b + 1) * block));
    } catch (...) {
      error.keep();
    }
  };
  run_on_threads(n_threads, run, [] {});
  error.rethrow();
}

// Calls work(meet) on up to n_threads; meet() returns when all have called it. For work in steps, where each step needs
// all of the one before. After an exception of one thread meet() throws in the others.
template <class Work>
void run_team(std::size_t n_threads, Work work) {
  struct Abandoned {};
  n_threads = std::max<std::size_t>(1, n_threads);
  std::barrier barrier(static_cast<std::ptrdiff_t>(n_threads));
  FirstError error;
  const auto meet = [&] {
    barrier.arrive_and_wait();
    if (error.seen()) throw Abandoned{};
  };
  const auto run = [&] {
    try {
      work(meet);
    } catch (const Abandoned&) {
    } catch (...) {
      error.keep();
    }
    barrier.arrive_and_drop();  // nobody waits for who has left
  };
  run_on_threads(n_threads, run, [&] { barrier.arrive_and_drop(); });
  error.rethrow();
}

// Asks, every tenth of a second of a long pass, whether it shall go on.
class Patience {
 public:
  using GoOn = std::function<bool()>;
  explicit Patience(const GoOn& go_on) : go_on_(go_on) {}
  bool ended() {
    if (!go_on_ || Clock::now() - asked_ < std::chrono::milliseconds(100)) return false;
    const bool ended = !go_on_();
    asked_ = Clock::now();
    return ended;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const GoOn& go_on_;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace trellis
