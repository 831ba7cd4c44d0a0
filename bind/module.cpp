// Table of contents of trellis._core.
#include <atomic>
#include <exception>
#include <system_error>

#include "bind.hpp"

namespace {

// in_python() in bind.hpp blocks threads in our code that an ending interpreter unwinds. In nanobind's own code, as in
// argument conversion, unwinding meets functions that must not throw, and they call std::terminate.
std::atomic<bool> ending = false;
std::thread::id ending_thread;
std::terminate_handler usual_handler;

[[noreturn]] void sleep_where_interpreter_ends() {
  while (ending && !std::current_exception() && std::this_thread::get_id() != ending_thread)
    std::this_thread::sleep_for(std::chrono::hours(1));
  usual_handler();
  std::abort();
}

void notice_end_of_interpreter() {
  usual_handler = std::set_terminate(sleep_where_interpreter_ends);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    ending_thread = std::this_thread::get_id();
    ending = true;
  }));
}

}  // namespace

// System errors become an OSError with their number.
void translate_system_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& refused) {
    const nb::object given = nb::make_tuple(refused.code().value(), refused.what());
    PyErr_SetObject(PyExc_OSError, given.ptr());
  }
}

// A part of the module, in the file bind_<part>.cpp.
#define BIND(part)                 \
  void bind_##part(nb::module_&);  \
  bind_##part(module);

NB_MODULE(_core, module) {
  nb::register_exception_translator(translate_system_error);
  notice_end_of_interpreter();
  // A tagger still alive when the interpreter ends is not a leak.
  nb::set_leak_warnings(false);
  module.doc() = "The native core of trellis: arrays in, arrays out.";
  BIND(chain)       // best path, k best, log Z, marginals of chains of order 1 and 2
  BIND(segments)    // the same of semi-Markov chains, and attributes of segments
  BIND(text)        // strings and files of columns to codes
  BIND(features)    // codes to attribute lists; dictionaries and clusters of words
  BIND(corpora)     // encoded corpora, weights and n-grams of chains, votes
  BIND(objective)   // training: losses and gradients
  BIND(chain_learners)  // training: online learners and Frank-Wolfe
  BIND(hypergraphs)  // hypergraphs: the same, and training, one weight per feature
  BIND(trees)       // dependency trees: training and parsing
  BIND(phrases)     // trees of grammars: training and parsing
  BIND(boost)       // training: Sequence AdaBoost
  BIND(kernels)     // training in the dual, kernel models
  BIND(filter)      // training: the filter that prunes labels
  BIND(decoder)     // the tagger's runtime
}
