// Shared by all binding files: the GIL, and objects in use.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "parallel.hpp"

using namespace nb::literals;

// The result of work(), which waits for the GIL or runs Python code. If the interpreter ends meanwhile, Python before 3.14
// ends every thread but the main one by unwinding its stack (pthread_exit), through destructors that need the GIL and
// functions that must not throw. Such a thread sleeps here until the process exits, as in Python 3.14.
template <class Work>
auto in_python(Work work) {
  try {
    return work();
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

// Releases the GIL, and acquires it again at the end.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    in_python([this] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// The result of work(), called with the GIL, which this thread has released.
template <class Work>
auto with_gil(Work work) {
  const PyGILState_STATE state = in_python([] { return PyGILState_Ensure(); });
  const auto let_go = [](const PyGILState_STATE* held) { PyGILState_Release(*held); };
  const std::unique_ptr<const PyGILState_STATE, decltype(let_go)> held(&state, let_go);
  return in_python(work);
}

// The result of work(), called without the GIL.
template <class Work>
auto without_gil(Work work) {
  const WithoutGil released;
  return work();
}

// n numbers, which work(out) sets without the GIL.
template <class T, class Work>
std::vector<T> filled(std::size_t n, Work work) {
  std::vector<T> out(n);
  without_gil([&] { work(out.data()); });
  return out;
}

// Calls work(state, i) for the items 0 .. n - 1 in blocks on threads, without the GIL; make_state() returns a thread's state.
template <class MakeState, class Work>
void each_item(std::size_t n, std::size_t block, std::size_t n_threads, MakeState make_state, Work work) {
  const WithoutGil released;
  trellis::parallel_blocks(n, block, n_threads, make_state, [&](auto& state, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) work(state, i);
  });
}

// Calls work(go_on) without the GIL; go_on() handles Ctrl-C.
template <class Work>
auto interruptible(Work work) {
  bool interrupted = false;
  const auto go_on = [&] {
    interrupted = with_gil([] { return PyErr_CheckSignals() != 0; });
    return !interrupted;
  };
  const auto result = without_gil([&] { return work(go_on); });
  if (interrupted) throw nb::python_error();
  return result;
}

// Use of an object by one call, which may release the GIL: either any number of readers, or one writer.
// A conflicting call raises an error. Created and destroyed under the GIL, which protects the list.
inline std::vector<std::pair<const void*, bool>>& uses() {  // objects, and whether they are written
  static auto* const all = new std::vector<std::pair<const void*, bool>>;  // outlives all threads
  return *all;
}
template <class Object>
class Use {
 public:
  explicit Use(Object& object) : object_(&object) {
    for (const auto& [other, changes] : uses())
      if (other == object_ && (changes || kChanges))
        throw std::runtime_error("this object is in use by another thread; use one object per thread");
    uses().emplace_back(object_, kChanges);
  }
  ~Use() { uses().erase(std::find(uses().begin(), uses().end(), std::pair(object_, kChanges))); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  static constexpr bool kChanges = !std::is_const_v<Object>;
  const void* object_;
};

// For methods of objects that are changed without the GIL: a second thread gets an error instead of a race.
template <class Self, class Result, class... Args>
auto guard(auto function) {
  return [function](Self& self, Args... args) -> Result {
    const Use<Self> use(self);
    return std::invoke(function, self, std::forward<Args>(args)...);
  };
}
template <class Result, class Self, class... Args>
auto guarded(Result (*function)(Self&, Args...)) { return guard<Self, Result, Args...>(function); }
template <class Result, class Self, class... Args>
auto guarded(Result (Self::*method)(Args...)) { return guard<Self, Result, Args...>(method); }
template <class Result, class Self, class... Args>
auto guarded(Result (Self::*method)(Args...) const) { return guard<const Self, Result, Args...>(method); }
