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

NB_MODULE(_core, module) {
  nb::register_exception_translator(translate_system_error);
  notice_end_of_interpreter();
  // A tagger still alive when the interpreter ends is not a leak.
  nb::set_leak_warnings(false);
  module.doc() = "The native core of trellis: arrays in, arrays out.";
  bind_chain(module);       // best path, k best, log Z, marginals of chains of order 1 and 2
  bind_segments(module);    // the same of semi-Markov chains, and attributes of segments
  bind_text(module);        // strings and files of columns to codes
  bind_features(module);    // codes to attribute lists; dictionaries and clusters of words
  bind_corpora(module);     // encoded corpora, weights and n-grams of chains, votes
  bind_objective(module);   // training: losses and gradients
  bind_chain_learners(module);  // training: online learners and Frank-Wolfe
  bind_hypergraphs(module);  // hypergraphs: the same, and training, one weight per feature
  bind_trees(module);       // dependency trees: training and parsing
  bind_phrases(module);     // trees of grammars: training and parsing
  bind_boost(module);       // training: Sequence AdaBoost
  bind_kernels(module);     // training in the dual, kernel models
  bind_filter(module);      // training: the filter that prunes labels
  bind_decoder(module);     // the tagger's runtime
}
