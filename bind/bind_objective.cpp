// Losses and gradients over an encoded corpus, for batch learners.
#include "engine/elementary.hpp"
#include "layout.hpp"
#include "learn/lbfgs.hpp"
#include "learn/proximal.hpp"
#include "objective.hpp"

using namespace trellis;

namespace {

// Of a chain; keeps the arrays of the objective alive.
struct ChainObjective : PyObjective {
  std::shared_ptr<PyLayout> layout;
  std::shared_ptr<PyChainExamples> examples;
  bool local, single;
  std::size_t first_token, block;
  ARGUMENTS(layout, examples, local, single, first_token, block)

  void begin() {
    require(examples->corpus == layout->corpus, "the examples have another layout");
    require(block > 0, "block must be positive");
    require(!examples->partial || !local, "local models need all labels");
    require(!layout->corpus->data.histories || !local, "local models do not support attributes of longer label sequences");
    // Reads the whole corpus; a thread releases its pages, which needs the GIL.
    const auto make = [&] { return make_objective(layout->core, *examples->core, local, single, first_token, block); };
    set(without_gil(make), examples->size(), layout->core.n_parameters());
  }
};

template <double (*function)(double)>
std::vector<double> each(std::vector<double> numbers) {
  for (double& x : numbers) x = function(x);
  return numbers;
}

void require_same(std::size_t size, std::initializer_list<std::size_t> others) {
  for (std::size_t other : others) require(size == other, "vectors of different lengths");
}

// The two words of a wide integer, the high one first.
using WideWords = std::pair<std::int64_t, std::uint64_t>;
WideWords exact_sum(const Doubles& numbers) {
  Wide sum = 0;
  for (const double x : numbers) {
    require(std::abs(x) < 0x1p62, "numbers must be below 2^62");
    sum += exactly(x);
  }
  return {static_cast<std::int64_t>(sum >> 64), static_cast<std::uint64_t>(sum)};
}

double dot_checked(const Doubles& a, const Doubles& b) {
  require_same(a.size(), {b.size()});
  return dot(a.data(), b.data(), a.size());
}

PastSteps history_of(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes, std::size_t n_pairs,
                   const Doubles& g) {
  require(steps.shape(0) == changes.shape(0) && steps.shape(1) == g.size() && changes.shape(1) == g.size(),
          "steps and changes are [pairs, size of g]");
  if (n_pairs > steps.shape(0)) throw nb::index_error("pair out of range");
  return {steps.data(), changes.data(), n_pairs, g.size()};
}

std::pair<double, double> remember_pair(const Doubles& x, const Doubles& old_x, const Doubles& g, const Doubles& old_g,
                                        const MutableArray<std::uint16_t, 1>& step,
                                        const MutableArray<std::uint16_t, 1>& change) {
  require_same(x.size(), {old_x.size(), g.size(), old_g.size(), step.size(), change.size()});
  const WithoutGil released;
  const Curvature seen = remember(x.data(), old_x.data(), g.data(), old_g.data(), x.size(), step.data(), change.data());
  return {seen.product, seen.square};
}

std::vector<double> dots_with_history(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes,
                                std::size_t n_pairs, std::size_t newest, const Doubles& g, std::size_t n_threads) {
  const PastSteps history = history_of(steps, changes, n_pairs, g);
  if (newest >= n_pairs) throw nb::index_error("pair out of range");
  return filled<double>(n_pairs * kHistoryDots, [&](double* out) { history_dots(history, newest, g.data(), n_threads, out); });
}

std::vector<double> sum_of_history(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes,
                             double factor, const Doubles& g, const Doubles& step_factors,
                             const Doubles& change_factors, std::size_t n_threads) {
  const PastSteps history = history_of(steps, changes, step_factors.size(), g);
  require(change_factors.size() == step_factors.size(), "there must be one factor per pair");
  return filled<double>(g.size(), [&](double* out) {
    history_sum(history, factor, g.data(), step_factors.data(), change_factors.data(), n_threads, out);
  });
}

std::vector<double> proximal_step(const Doubles& x, const Doubles& slope, const Doubles& diagonal,
                            const Array<double, 2>& steps, const Array<double, 2>& changes,
                            const Array<double, 2>& middle, double c1, std::size_t max_sweeps, double tolerance,
                            std::size_t n_threads) {
  const std::size_t n = steps.shape(0);
  require_same(x.size(), {slope.size(), diagonal.size(), steps.shape(1), changes.shape(1)});
  require(changes.shape(0) == n && middle.shape(0) == 2 * n && middle.shape(1) == 2 * n, "middle must be [2 pairs, 2 pairs]");
  const QuadraticModel model{x.data(), slope.data(), diagonal.data(), steps.data(), changes.data(), middle.data(), n, x.size()};
  return filled<double>(x.size(), [&](double* out) { minimize_model(model, c1, max_sweeps, tolerance, n_threads, out); });
}

}  // namespace

void bind_objective(nb::module_& module) {
  module.def("exp", each<trellis::exp>, "numbers"_a);
  module.def("log", each<trellis::log>, "numbers"_a);
  module.def("exact_sum", &exact_sum, "numbers"_a, "(a, b): their sum is a + b / 2^64, in any order.");
  module.def("dot", &dot_checked, "a"_a, "b"_a, "The inner product, the same bits on every machine.");
  module.def("remember", &remember_pair, "x"_a, "old_x"_a, "g"_a, "old_g"_a, "step"_a, "change"_a,
             "Writes x - old_x and g - old_g; gives their product and the square of the second.");
  module.def("history_dots", &dots_with_history, "steps"_a, "changes"_a, "n_pairs"_a, "newest"_a, "g"_a, "n_threads"_a,
             "For each pair j five inner products, one after the other: s·g, y·g, s·y_r, y·y_r, s_r·y.");
  module.def("history_sum", &sum_of_history, "steps"_a, "changes"_a, "factor"_a, "g"_a, "step_factors"_a,
             "change_factors"_a, "n_threads"_a, "factor * g + the steps and changes, each times its factor.");
  module.def("proximal_step", &proximal_step, "x"_a, "slope"_a, "diagonal"_a, "steps"_a, "changes"_a,
             "middle"_a, "c1"_a, "max_sweeps"_a, "tolerance"_a, "n_threads"_a,
             "The d that minimises slope . d + d . B d / 2 + c1 |x + d|_1, by coordinate descent.");
  bind_class<PyLayout>(module, "Layout", "Which weights a chain has: rows, edge rows, cells of label pairs and triples.");
  nb::class_<PyObjective>(module, "Objective", "Losses over examples, and their gradients.")
      .def_ro("n_parameters", &PyObjective::n_parameters)
      .def("losses", guarded(&PyObjective::losses), "parameters"_a, "n_threads"_a, "loss_i of every sentence.")
      .def_prop_ro("masses", [](const PyObjective& self) { return self.core->masses; },
                   "No entry of the gradient of a weighted sum exceeds the weighted sum of these, one per sentence.")
      .def("sums", guarded(&PyObjective::sums), "parameters"_a, "weights"_a.none(), "exponent"_a, "n_threads"_a,
           "(losses, gradient of their weighted sum in units of 2^-exponent).")
      .def("one_pass", guarded(&PyObjective::pass), "parameters"_a, "squares"_a, "order"_a, "weights"_a.none(), "rate"_a, "c1"_a,
           "c2"_a, "batch"_a = 1, "n_threads"_a = 1, "head"_a = nb::none(),
           "One pass of AdaGrad over some of the first sentences in that order, in place; gives the losses as they were met.");
  bind_class<ChainObjective, PyObjective>(module, "ChainObjective", "Losses of a chain over an encoded corpus.");
}
