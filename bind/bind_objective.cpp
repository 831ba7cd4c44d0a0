// Losses and gradients over an encoded corpus, for learners that go by gradients.
#include "layout.hpp"
#include "learn/lbfgs.hpp"
#include "learn/proximal.hpp"
#include "objective.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// Of a chain; keeps what the objective points into.
struct ChainObjective : PyObjective {
  const PyLayout& layout;
  Ints gold;
  std::optional<SetArrays> partial;

  ChainObjective(const PyLayout& layout, Ints gold_, std::optional<SetArrays> partial_, bool local, bool single)
      : layout(layout), gold(std::move(gold_)), partial(std::move(partial_)) {
    n_parameters = layout.core.n_parameters();
    const Encoded& corpus = layout.corpus;
    check_gold(gold, corpus.n_tokens(), corpus.n_labels, partial.has_value());
    Examples examples{.data = corpus.data, .starts = corpus.starts.data(), .gold = gold.data(), .n_sentences = corpus.n_sentences()};
    if (partial) examples.partial = sets_from(*partial, corpus.n_labels, corpus.n_tokens());
    require(!partial || !local, "local decisions need every label");
    require(!corpus.data.histories || !local, "local decisions have no weights of longer label runs with attributes");
    make_read_only(std::tie(gold, partial));
    n_sentences = corpus.n_sentences();
    core = make_objective(layout.core, examples, local, single);
  }
};

double dot_checked(const Doubles& a, const Doubles& b) {
  if (a.size() != b.size()) throw nb::value_error("vectors of different lengths");
  return dot(a.data(), b.data(), a.size());
}

void add_checked(const MutableArray<double, 1>& x, double factor, const Doubles& v) {
  if (x.size() != v.size()) throw nb::value_error("vectors of different lengths");
  add_scaled(x.data(), factor, v.data(), x.size());
}

PastSteps history_of(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes, std::size_t n_pairs,
                   const Doubles& g) {
  if (steps.shape(0) != changes.shape(0) || steps.shape(1) != g.size() || changes.shape(1) != g.size())
    throw nb::value_error("steps and changes are [pairs, size of g]");
  if (n_pairs > steps.shape(0)) throw nb::index_error("no such pair");
  return {steps.data(), changes.data(), n_pairs, g.size()};
}

std::pair<double, double> remember_pair(const Doubles& x, const Doubles& old_x, const Doubles& g, const Doubles& old_g,
                                        const MutableArray<std::uint16_t, 1>& step,
                                        const MutableArray<std::uint16_t, 1>& change) {
  for (std::size_t size : {old_x.size(), g.size(), old_g.size(), step.size(), change.size()})
    if (size != x.size()) throw nb::value_error("vectors of different lengths");
  const WithoutGil released;
  const Curvature seen = remember(x.data(), old_x.data(), g.data(), old_g.data(), x.size(), step.data(), change.data());
  return {seen.product, seen.square};
}

Numpy<double> dots_with_history(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes,
                                std::size_t n_pairs, std::size_t newest, const Doubles& g, std::size_t n_threads) {
  const PastSteps history = history_of(steps, changes, n_pairs, g);
  if (newest >= n_pairs) throw nb::index_error("no such pair");
  std::vector<double> dots(n_pairs * kHistoryDots);
  without_gil([&] { history_dots(history, newest, g.data(), n_threads, dots.data()); });
  return to_numpy(std::move(dots));
}

Numpy<double> sum_of_history(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes,
                             double factor, const Doubles& g, const Doubles& step_factors,
                             const Doubles& change_factors, std::size_t n_threads) {
  const PastSteps history = history_of(steps, changes, step_factors.size(), g);
  if (change_factors.size() != step_factors.size()) throw nb::value_error("one factor a pair");
  std::vector<double> out(g.size());
  without_gil([&] {
    history_sum(history, factor, g.data(), step_factors.data(), change_factors.data(), n_threads, out.data());
  });
  return to_numpy(std::move(out));
}

Numpy<double> proximal_step(const Doubles& x, const Doubles& slope, const Doubles& diagonal,
                            const Array<double, 2>& steps, const Array<double, 2>& changes,
                            const Array<double, 2>& middle, double c1, std::size_t max_sweeps, double tolerance,
                            std::size_t n_threads) {
  const std::size_t n = steps.shape(0);
  for (std::size_t size : {slope.size(), diagonal.size(), steps.shape(1), changes.shape(1)})
    if (size != x.size()) throw nb::value_error("vectors of different lengths");
  if (changes.shape(0) != n || middle.shape(0) != 2 * n || middle.shape(1) != 2 * n)
    throw nb::value_error("middle must be [2 pairs, 2 pairs]");
  const QuadraticModel model{x.data(),       slope.data(),  diagonal.data(), steps.data(),
                             changes.data(), middle.data(), n,               x.size()};
  std::vector<double> out(x.size());
  without_gil([&] { minimize_model(model, c1, max_sweeps, tolerance, n_threads, out.data()); });
  return to_numpy(std::move(out));
}

}  // namespace

void bind_objective(nb::module_& module) {
  module.def("dot", &dot_checked, "a"_array, "b"_array, "The inner product, the same bits on every machine.");
  module.def("add_scaled", &add_checked, "x"_array, "factor"_a, "v"_array, "x += factor * v, in place.");
  module.def("remember", &remember_pair, "x"_array, "old_x"_array, "g"_array, "old_g"_array, "step"_array, "change"_array,
             "Writes x - old_x and g - old_g; gives their product and the square of the second.");
  module.def("history_dots", &dots_with_history, "steps"_array, "changes"_array, "n_pairs"_a, "newest"_a, "g"_array, "n_threads"_a,
             "For each pair j five inner products, one after the other: s·g, y·g, s·y_r, y·y_r, s_r·y.");
  module.def("history_sum", &sum_of_history, "steps"_array, "changes"_array, "factor"_a, "g"_array, "step_factors"_array,
             "change_factors"_array, "n_threads"_a, "factor * g + the steps and changes, each times its factor.");
  module.def("proximal_step", &proximal_step, "x"_array, "slope"_array, "diagonal"_array, "steps"_array, "changes"_array,
             "middle"_array, "c1"_a, "max_sweeps"_a, "tolerance"_a, "n_threads"_a,
             "The d that minimises slope . d + d . B d / 2 + c1 |x + d|_1, by coordinate descent.");
  nb::class_<PyLayout>(module, "Layout", "Which weights a chain has: rows, edge rows, cells of label pairs and triples.")
      .def(nb::init<const Encoded&, int, PyLayout::RowsArrays<std::uint16_t>, PyLayout::RowsArrays<std::uint32_t>,
                    Ints, Ints, Array<float, 2>, Floats,
                    const std::optional<PartArrays>&, const std::optional<NgramArrays>&>(),
           nb::keep_alive<1, 2>(), "corpus"_a, nb::kw_only(), "order"_a, "rows"_array, "edge_rows"_array,
           "edge_places"_array, "tri_places"_array, "edge_base"_array, "end_base"_array,
           "parts"_array.none() = nb::none(), "ngrams"_array.none() = nb::none());
  nb::class_<PyObjective>(module, "Objective", "Losses over examples, and their gradients.")
      .def_ro("n_parameters", &PyObjective::n_parameters)
      .def("losses", guarded(&PyObjective::losses), "parameters"_array, "n_threads"_a, "loss_i of every sentence.")
      .def("gradient", guarded(&PyObjective::gradient), "parameters"_array, "weights"_array.none(), "n_threads"_a,
           "(losses, gradient of their weighted sum).")
      .def("one_pass", guarded(&PyObjective::pass), "parameters"_array, "squares"_array, "order"_array, "weights"_array.none(), "rate"_a, "c1"_a,
           "c2"_a, "batch"_a = 1, "n_threads"_a = 1,
           "One pass of AdaGrad over the sentences in that order, in place; gives the losses as they were met.");
  nb::class_<ChainObjective, PyObjective>(module, "ChainObjective", "Losses of a chain over an encoded corpus.")
      .def(nb::init<const PyLayout&, Ints, std::optional<SetArrays>, bool, bool>(),
           nb::keep_alive<1, 2>(), "layout"_a, "gold"_array, "partial"_array.none(), nb::kw_only(), "local"_a, "single"_a);
}
