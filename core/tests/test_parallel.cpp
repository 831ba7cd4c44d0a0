// Threads: every item once, exceptions reach the caller, fewer threads are as good as many.
#include "parallel.hpp"

#include <stdexcept>

#include "check.hpp"

using namespace trellis;

TEST(every_block_is_worked_on_once) {
  for (std::size_t n_threads : {0, 1, 3, 100}) {
    std::vector<int> count(37);
    parallel_blocks(count.size(), 5, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++count[i];
    });
    for (int c : count) CHECK(c == 1);
  }
}

TEST(an_exception_of_any_thread_reaches_the_caller) {
  for (std::size_t n_threads : {1, 4})
    for (std::size_t bad : {0, 7, 19}) {
      bool caught = false;
      try {
        parallel_blocks(20, 1, n_threads, [] { return 0; }, [&](int, std::size_t i, std::size_t) {
          if (i == bad) throw std::runtime_error("block");
        });
      } catch (const std::runtime_error&) {
        caught = true;
      }
      CHECK(caught);
    }
}

TEST(scratch_that_cannot_be_made_reaches_the_caller) {
  bool caught = false;
  try {
    parallel_blocks(8, 1, 3, []() -> int { throw std::bad_alloc(); }, [](int, std::size_t, std::size_t) {});
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  CHECK(caught);
}

TEST(steps_of_blocks_follow_one_another) {
  constexpr std::size_t kBlocks = 7, kFirst = 5, kSecond = 3;
  for (std::size_t n_threads : {1, 2, 5})
    for (std::size_t ahead : {1, 2, 3}) {
      std::atomic<std::size_t> first[kBlocks] = {}, second[kBlocks] = {}, early = 0;
      parallel_steps(
          kBlocks, ahead, n_threads, [] { return 0; }, kFirst, [](std::size_t) { return kSecond; },
          [&](int, std::size_t b, std::size_t) {
            if (b >= ahead && second[b - ahead] != kSecond) ++early;  // its buffer is still in use
            ++first[b];
          },
          [&](int, std::size_t b, std::size_t) {
            if (first[b] != kFirst || (b > 0 && second[b - 1] != kSecond)) ++early;
            ++second[b];
          });
      CHECK(early == 0);
      for (std::size_t b = 0; b < kBlocks; ++b) CHECK(first[b] == kFirst && second[b] == kSecond);
    }
}

TEST(a_thread_that_waits_does_not_hold_up_the_others) {
  std::atomic<int> others = 0;
  bool enough = false;
  parallel_steps(
      2, 2, 2, [] { return 0; }, 8, [](std::size_t) { return std::size_t{1}; },
      [&](int, std::size_t b, std::size_t k) {
        if (b || k) return void(++others);
        // The first piece of all ends when the other thread has done the rest of both blocks.
        for (int i = 0; i < 2000 && others < 15; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        enough = others == 15;
      },
      [](int, std::size_t, std::size_t) {});
  CHECK(enough);
}

TEST(nobody_waits_for_a_thread_that_starts_late) {
  Gate gate;
  CHECK(gate.enter());
  std::thread inside([&] { gate.leave(); });
  gate.close();
  CHECK(!gate.enter());
  inside.join();
}

TEST(steps_end_when_one_fails) {
  for (bool in_second : {false, true}) {
    bool caught = false;
    try {
      parallel_steps(
          3, 2, 4, [] { return 0; }, 6, [](std::size_t) { return std::size_t{4}; },
          [&](int, std::size_t b, std::size_t k) {
            if (!in_second && b == 1 && k == 2) throw std::runtime_error("first");
          },
          [&](int, std::size_t b, std::size_t k) {
            if (in_second && b == 1 && k == 3) throw std::runtime_error("second");
          });
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
  }
}

TEST(patience_asks_now_and_then) {
  int asked = 0;
  const Patience::GoOn go_on = [&] { return ++asked < 2; };
  Patience patience(go_on);
  CHECK(!patience.ended());
  CHECK(asked == 0);
  for (int i = 0; i < 1000 && !patience.ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(asked == 2);
  const Patience::GoOn nobody;
  CHECK(!Patience(nobody).ended());
}

// Many short rounds of changing sizes: every item of every round once, none of another round.
TEST(rounds_do_not_run_into_each_other) {
  constexpr std::size_t kMost = 7;
  std::atomic<int> counts[kMost] = {};
  bool ok = true;
  Rounds::run(4, [&](std::size_t i) { ++counts[i]; }, [&](auto each) {
    for (std::size_t round = 0; round < 20000; ++round) {
      const std::size_t n = round % (kMost + 1);
      each(n);
      for (std::size_t i = 0; i < kMost; ++i) ok &= counts[i].exchange(0) == (i < n);
    }
  });
  CHECK(ok);
}
