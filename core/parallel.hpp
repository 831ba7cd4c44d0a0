// Threads over independent items (sentences): items are assigned in blocks, results have fixed places, so the
// result depends neither on the assignment nor on the number of threads. There are at most as many threads as
// work items, and if the system cannot start more, the running ones do the work. An exception in any thread
// is rethrown to the caller after all threads have finished.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace trellis {

// The first exception in any thread.
class FirstError {
 public:
  bool seen() const { return seen_.load(std::memory_order_relaxed); }
  void keep() noexcept {
    if (!seen_.exchange(true)) error_ = std::current_exception();
  }
  void rethrow() const {  // after all threads have finished
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> seen_ = false;
  std::exception_ptr error_;
};

// Admits threads to a piece of work until it is closed. A thread that starts late finds it closed and exits:
// the caller does not wait for it.
class Gate {
 public:
  bool enter() {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    ++inside_;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--inside_ == 0) empty_.notify_one();
  }
  // Returns when all admitted threads have left.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    empty_.wait(lock, [&] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  std::size_t inside_ = 0;
  bool closed_ = false;
};

// Calls run(), which must not throw and returns when no work is left, on this thread and on up to n - 1 others.
template <class Run>
void run_on_threads(std::size_t n, Run run) {
  if (n < 2) return run();
  const auto gate = std::make_shared<Gate>();
  try {
    for (std::size_t i = 1; i < n; ++i)
      std::thread([gate, &run] {  // `run` is valid for admitted threads
        if (!gate->enter()) return;
        run();
        gate->leave();
      }).detach();
  } catch (...) {  // no thread, or no memory for one: the others do the work
  }
  run();
  gate->close();
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
  run_on_threads(n_threads, run);
  error.rethrow();
}

// Work on consecutive blocks, each in two phases: first(state, b, k) for all k below n_first, and when they are
// done second(state, b, k) for all k below n_second(b), which is at least 1. The second phase of a block begins when that of
// the previous block is done. An idle thread continues with the first phase of the next block, up to `ahead`
// blocks in all, so that a descheduled thread does not block the others.
template <class MakeState, class Count, class First, class Second>
void parallel_steps(std::size_t n_blocks, std::size_t ahead, std::size_t n_threads, MakeState make_state,
                    std::size_t n_first, Count n_second, First first, Second second) {
  struct Progress {
    std::atomic<std::size_t> first_taken{0}, first_done{0}, second_taken{0}, second_done{0};
  };
  std::vector<Progress> blocks(n_blocks);
  std::atomic<std::size_t> oldest{0};  // the first block whose second phase is not done
  std::atomic<std::uint32_t> news{0};  // changes whenever there may be more work
  FirstError error;
  const auto tell = [&] {
    ++news;
    news.notify_all();
  };
  // One unit of work; false if there is none at the moment.
  const auto work = [&](auto& state, std::size_t b) {
    if (Progress& at = blocks[b]; at.first_done == n_first && at.second_taken < n_second(b))
      if (const std::size_t k = at.second_taken++; k < n_second(b)) {
        second(state, b, k);
        if (++at.second_done == n_second(b)) ++oldest, tell();
        return true;
      }
    for (std::size_t c = b; c < std::min(n_blocks, b + ahead); ++c)
      if (Progress& at = blocks[c]; at.first_taken < n_first)
        if (const std::size_t k = at.first_taken++; k < n_first) {
          first(state, c, k);
          if (++at.first_done == n_first) tell();
          return true;
        }
    return false;
  };
  run_on_threads(std::min(n_threads, n_first), [&] {
    try {
      auto state = make_state();
      for (;;) {
        const std::uint32_t seen = news;
        const std::size_t b = oldest;
        if (error.seen() || b == n_blocks) return;
        if (!work(state, b)) news.wait(seen);
      }
    } catch (...) {
      error.keep();
      tell();
    }
  });
  error.rethrow();
}

// Threads that persist over many short rounds. each(n) calls work(i) for all i below n, on the calling thread and
// on the awake threads, and returns when all are done. Between rounds, threads spin for some time.
class Rounds {
 public:
  // Calls lead(each) on this thread while up to n_threads - 1 others help.
  template <class Work, class Lead>
  static void run(std::size_t n_threads, Work work, Lead lead) {
    Rounds rounds;
    const auto each = [&](std::size_t n) {
      rounds.begin(n);
      while (rounds.take(work)) {
      }
      rounds.wait_for(n);
      rounds.error_.rethrow();
    };
    run_on_threads(n_threads, [&, first = std::this_thread::get_id()] {
      if (std::this_thread::get_id() != first) return rounds.help(work);
      try {
        lead(each);
      } catch (...) {
        rounds.error_.keep();
      }
      rounds.end();
    });
    rounds.error_.rethrow();
  }

 private:
  static constexpr int kSpins = 4000;  // some tens of microseconds
  static constexpr std::uint64_t kEnded = ~std::uint64_t{0};

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  // The number of the round, its number of items and the next item, in one word: a delayed thread can never
  // take an item of one round with the size of another.
  static constexpr int kBits = 24;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  void begin(std::size_t n) {
    if (n > kMask) throw std::length_error("too many items for a round");
    done_ = 0;
    next_ = (++round_ & 0x7fff) << 2 * kBits | n << kBits;
    next_.notify_all();
  }
  // One item of the round; false if none is left.
  template <class Work>
  bool take(Work& work) {
    std::uint64_t next = next_;
    do
      if (next == kEnded || (next & kMask) >= (next >> kBits & kMask)) return false;
    while (!next_.compare_exchange_weak(next, next + 1));
    try {
      work(static_cast<std::size_t>(next & kMask));
    } catch (...) {
      error_.keep();
    }
    ++done_;
    return true;
  }
  template <class Work>
  void help(Work& work) {
    for (int spins = 0;;) {
      const std::uint64_t next = next_;
      if (next == kEnded) return;
      if (take(work)) spins = 0;
      else if (++spins < kSpins) pause();
      else next_.wait(next), spins = 0;
    }
  }
  void wait_for(std::size_t n) const {
    for (int spins = 0; done_ != n;)
      if (++spins < kSpins) pause();
      else std::this_thread::yield();
  }
  void end() {
    next_ = kEnded;
    next_.notify_all();
  }

  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::size_t> done_{0};
  std::uint64_t round_ = 0;
  FirstError error_;
};

// Asks a callback, every tenth of a second of a long pass, whether to continue.
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
