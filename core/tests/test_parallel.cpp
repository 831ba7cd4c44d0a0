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

TEST(a_team_meets_after_every_step) {
  for (std::size_t n_threads : {1, 2, 5}) {
    std::atomic<int> steps[3] = {};
    std::atomic<int> early = 0;
    run_team(n_threads, [&](auto meet) {
      for (auto& step : steps) {
        ++step;
        meet();
        if (step != static_cast<int>(n_threads)) ++early;
      }
    });
    CHECK(early == 0);
  }
}

TEST(a_team_ends_when_one_of_it_fails) {
  for (int step : {0, 1, 2}) {  // before, between and after the meetings
    std::atomic<int> number = 0;
    bool caught = false;
    try {
      run_team(4, [&](auto meet) {
        const int me = number++;
        for (int s = 0; s < 3; ++s) {
          if (me == 2 && s == step) throw std::runtime_error("step");
          if (s < 2) meet();
        }
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
