// The filter that prunes labels, in training.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "data.hpp"
#include "growing.hpp"
#include "learn/filter.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// Keeps what it points into: the corpus, its gold labels.
struct PyFilter {
  Filter core;
  const Encoded& corpus;
  Array<std::int32_t, 1> gold;

  PyFilter(const Encoded& corpus, Array<std::int32_t, 1> gold_, std::size_t n_used)
      : core(corpus.n_attributes, n_used, corpus.n_labels), corpus(corpus), gold(std::move(gold_)) {
    check_gold(gold, corpus.n_tokens(), corpus.n_labels, true);
    make_read_only(std::tie(gold));
  }
  FilterTokens tokens() const { return {corpus.data, corpus.starts.data(), gold.data()}; }

  void pass(const Array<std::int64_t, 1>& sentences, float rate, float least) {
    check_order(sentences, corpus.n_sentences());
    interruptible([&](const auto& go_on) {
      core.pass(tokens(), span(sentences), {rate, least}, go_on);
      return true;
    });
  }
  Numpy<float> gold_margins(const Array<std::int64_t, 1>& sentences, std::size_t n_threads) const {
    check_order(sentences, corpus.n_sentences());
    std::vector<float> out;
    without_gil([&] { out = core.gold_margins(tokens(), span(sentences), n_threads); });
    return to_numpy(std::move(out));
  }
  auto candidates(const Array<std::int64_t, 1>& sentences, float margin, std::size_t most,
                  std::size_t n_threads) const {
    check_order(sentences, corpus.n_sentences());
    TokenSets out;
    without_gil([&] { out = core.candidates(tokens(), span(sentences), {margin, most}, n_threads); });
    return std::make_tuple(to_numpy(std::move(out.set_of_token)), to_numpy(std::move(out.starts)),
                           to_numpy(std::move(out.labels)));
  }
};

}  // namespace

void bind_filter(nb::module_& module) {
  nb::class_<PyFilter>(module, "Filter", "A log-linear model of single labels in training.")
      .def(nb::init<const Encoded&, Array<std::int32_t, 1>, std::size_t>(), nb::keep_alive<1, 2>(), "corpus"_a,
           "gold"_array, nb::kw_only(), "n_used"_a, "Only the first n_used attributes get weights.")
      .def("one_pass", &PyFilter::pass, "sentences"_array, nb::kw_only(), "rate"_a, "least"_a,
           "Stochastic steps over the sentences in that order.")
      .def("gold_margins", &PyFilter::gold_margins, "sentences"_array, "n_threads"_a,
           "By how much the best label outscores the gold one, for the tokens of these sentences.")
      .def("candidates", &PyFilter::candidates, "sentences"_array, "margin"_a, "most"_a, "n_threads"_a,
           "At most so many labels within the margin of the best one, and the gold one, for the tokens of these sentences:\n"
           "(set_of, starts, labels).")
      .def_prop_ro("rows", [](const PyFilter& self) { return rows_out(self.core.rows, Mean{false, 0}); },
                   nb::rv_policy::move);
}
