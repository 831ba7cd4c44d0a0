// Losses and gradients over an encoded corpus, for learners that go by gradients.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "data.hpp"
#include "learn/lbfgs.hpp"
#include "learn/objective.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// Keeps what the objective points into.
struct PyObjective {
  nb::object corpus;
  Array<std::int32_t, 1> gold;
  std::optional<SetArrays> partial;
  Array<std::uint32_t, 1> row_starts, edge_row_starts;
  Array<std::uint16_t, 1> row_labels;
  Array<std::uint32_t, 1> edge_row_labels;
  Array<std::int32_t, 1> edge_places, tri_places;
  Array<float, 2> edge_base;
  Array<float, 1> end_base;
  std::size_t n_sentences, n_parameters;
  std::unique_ptr<Objective> core;

  PyObjective(nb::object corpus_, Array<std::int32_t, 1> gold_, std::optional<SetArrays> partial_, int order,
              Array<std::uint32_t, 1> row_starts_, Array<std::uint16_t, 1> row_labels_,
              Array<std::uint32_t, 1> edge_row_starts_, Array<std::uint32_t, 1> edge_row_labels_,
              Array<std::int32_t, 1> edge_places_, Array<std::int32_t, 1> tri_places_, Array<float, 2> edge_base_,
              Array<float, 1> end_base_, bool local, bool single)
      : corpus(std::move(corpus_)), gold(std::move(gold_)), partial(std::move(partial_)),
        row_starts(std::move(row_starts_)), edge_row_starts(std::move(edge_row_starts_)),
        row_labels(std::move(row_labels_)), edge_row_labels(std::move(edge_row_labels_)),
        edge_places(std::move(edge_places_)), tri_places(std::move(tri_places_)), edge_base(std::move(edge_base_)),
        end_base(std::move(end_base_)) {
    const Encoded& encoded = nb::cast<const Encoded&>(corpus);
    const std::size_t L = encoded.n_labels, stride = padded(L), pairs = (L + 1) * stride;
    check_gold(gold, encoded.n_tokens(), L, partial.has_value());
    if (edge_base.shape(0) != L + 1 || edge_base.shape(1) != stride) throw nb::value_error("edge_base is [L + 1, stride]");
    if (end_base.size() && end_base.size() != stride) throw nb::value_error("end_base is [stride]");
    require(row_starts.size() == encoded.n_attributes + 1 && edge_row_starts.size() == encoded.n_edge_attributes + 1,
            "one row per attribute");
    check_rows(row_starts, row_labels, L);
    check_rows(edge_row_starts, edge_row_labels, pairs);
    check_cells(edge_places, pairs, L);
    check_cells(tri_places, order == 2 ? (L + 1) * pairs : 0, L);
    Gold known{gold.data(), {}};
    if (partial) {
      known.partial = sets_from(*partial, L, encoded.n_tokens());
      if (local) throw nb::value_error("local decisions need every label");
    }
    Layout layout;
    layout.n_labels = L;
    layout.n_attributes = encoded.n_attributes;
    layout.n_edge_attributes = encoded.n_edge_attributes;
    layout.order = order;
    layout.row_starts = span(row_starts);
    layout.row_labels = span(row_labels);
    layout.edge_row_starts = span(edge_row_starts);
    layout.edge_row_labels = span(edge_row_labels);
    layout.edge_places = span(edge_places);
    layout.tri_places = span(tri_places);
    layout.edge_base = {edge_base.data(), edge_base.size()};
    layout.end_base = span(end_base);
    n_sentences = encoded.n_sentences();
    n_parameters = layout.n_parameters();
    core = make_objective(layout, encoded.data, encoded.starts.data(), n_sentences, known, local, single);
  }

  Numpy<double> losses(const Array<double, 1>& parameters, std::size_t n_threads) {
    if (parameters.size() != n_parameters) throw nb::value_error("one number a parameter");
    std::vector<double> out(n_sentences);
    {
      nb::gil_scoped_release release;
      core->losses(parameters.data(), n_threads, out.data());
    }
    return to_numpy(std::move(out));
  }

  std::pair<Numpy<double>, Numpy<double>> gradient(const Array<double, 1>& parameters,
                                                   const std::optional<Array<double, 1>>& weights,
                                                   std::size_t n_threads) {
    if (parameters.size() != n_parameters) throw nb::value_error("one number a parameter");
    check_weights(weights, n_sentences);
    std::vector<double> out(n_sentences), slope(n_parameters);
    {
      nb::gil_scoped_release release;
      core->gradient(parameters.data(), weights ? weights->data() : nullptr, n_threads, out.data(), slope.data());
    }
    return {to_numpy(std::move(out)), to_numpy(std::move(slope))};
  }

  Numpy<double> pass(const MutableArray<double, 1>& parameters, const MutableArray<double, 1>& squares,
                     const Array<std::int64_t, 1>& order, const std::optional<Array<double, 1>>& weights, double rate,
                     double c1, double c2) {
    if (parameters.size() != n_parameters || squares.size() != n_parameters) throw nb::value_error("one number a parameter");
    check_weights(weights, n_sentences);
    check_order(order, n_sentences);
    std::vector<double> out(n_sentences);
    {
      nb::gil_scoped_release release;
      core->pass({rate, c1, c2}, order.data(), order.size(), weights ? weights->data() : nullptr, parameters.data(),
                 squares.data(), out.data());
    }
    return to_numpy(std::move(out));
  }
};

double dot_checked(const Array<double, 1>& a, const Array<double, 1>& b) {
  if (a.size() != b.size()) throw nb::value_error("vectors of different lengths");
  return dot(a.data(), b.data(), a.size());
}

void add_checked(const MutableArray<double, 1>& x, double factor, const Array<double, 1>& v) {
  if (x.size() != v.size()) throw nb::value_error("vectors of different lengths");
  add_scaled(x.data(), factor, v.data(), x.size());
}

PastSteps history_of(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes, std::size_t n_pairs,
                   const Array<double, 1>& g) {
  if (steps.shape(0) != changes.shape(0) || steps.shape(1) != g.size() || changes.shape(1) != g.size())
    throw nb::value_error("steps and changes are [pairs, size of g]");
  if (n_pairs > steps.shape(0)) throw nb::index_error("no such pair");
  return {steps.data(), changes.data(), n_pairs, g.size()};
}

std::pair<double, double> remember_pair(const Array<double, 1>& x, const Array<double, 1>& old_x,
                                        const Array<double, 1>& g, const Array<double, 1>& old_g,
                                        const MutableArray<std::uint16_t, 1>& step,
                                        const MutableArray<std::uint16_t, 1>& change) {
  for (std::size_t size : {old_x.size(), g.size(), old_g.size(), step.size(), change.size()})
    if (size != x.size()) throw nb::value_error("vectors of different lengths");
  nb::gil_scoped_release release;
  const Curvature seen = remember(x.data(), old_x.data(), g.data(), old_g.data(), x.size(), step.data(), change.data());
  return {seen.product, seen.square};
}

Numpy<double> dots_with_history(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes,
                                std::size_t n_pairs, std::size_t newest, const Array<double, 1>& g, std::size_t n_threads) {
  const PastSteps history = history_of(steps, changes, n_pairs, g);
  if (newest >= n_pairs) throw nb::index_error("no such pair");
  std::vector<double> dots(n_pairs * kHistoryDots);
  {
    nb::gil_scoped_release release;
    history_dots(history, newest, g.data(), n_threads, dots.data());
  }
  return to_numpy(std::move(dots));
}

Numpy<double> sum_of_history(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes,
                             double factor, const Array<double, 1>& g, const Array<double, 1>& step_factors,
                             const Array<double, 1>& change_factors, std::size_t n_threads) {
  const PastSteps history = history_of(steps, changes, step_factors.size(), g);
  if (change_factors.size() != step_factors.size()) throw nb::value_error("one factor a pair");
  std::vector<double> out(g.size());
  {
    nb::gil_scoped_release release;
    history_sum(history, factor, g.data(), step_factors.data(), change_factors.data(), n_threads, out.data());
  }
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
  nb::class_<PyObjective>(module, "Objective", "Losses of a chain over an encoded corpus.")
      .def(nb::init<nb::object, Array<std::int32_t, 1>, std::optional<SetArrays>, int, Array<std::uint32_t, 1>,
                    Array<std::uint16_t, 1>, Array<std::uint32_t, 1>, Array<std::uint32_t, 1>, Array<std::int32_t, 1>,
                    Array<std::int32_t, 1>, Array<float, 2>, Array<float, 1>, bool, bool>(),
           "corpus"_a, "gold"_array, "partial"_array.none(), "order"_array, "row_starts"_array, "row_labels"_array, "edge_row_starts"_array,
           "edge_row_labels"_array, "edge_places"_array, "tri_places"_array, "edge_base"_array, "end_base"_array, "local"_a, "single"_a)
      .def_ro("n_parameters", &PyObjective::n_parameters)
      .def("losses", &PyObjective::losses, "parameters"_array, "n_threads"_a, "loss_i of every sentence.")
      .def("gradient", &PyObjective::gradient, "parameters"_array, "weights"_array.none(), "n_threads"_a,
           "(losses, gradient of their weighted sum).")
      .def("one_pass", &PyObjective::pass, "parameters"_array, "squares"_array, "order"_array, "weights"_array.none(), "rate"_a, "c1"_a,
           "c2"_a, "One pass of AdaGrad over the sentences in that order, in place; gives the losses as they were met.");
}
