// Losses and gradients over an encoded corpus, for learners that go by gradients.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "data.hpp"
#include "learn/history.hpp"
#include "learn/objective.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

template <class T>
std::span<const T> span_of(const Array<T, 1>& array) { return {array.data(), array.size()}; }

template <class Label>
void check_rows(const Array<std::uint32_t, 1>& starts, const Array<Label, 1>& labels, std::size_t n_rows, std::size_t n) {
  if (starts.size() != n_rows + 1 || starts(0) != 0 || starts(n_rows) != labels.size())
    throw nb::value_error("rows that do not fit together");
  for (std::size_t a = 0; a < n_rows; ++a)
    if (starts(a + 1) < starts(a)) throw nb::value_error("row starts must not fall");
  for (std::size_t s = 0; s < labels.size(); ++s)
    if (labels(s) >= n) throw nb::value_error("a row with a label out of range");
}

void check_places(const Array<std::int32_t, 1>& places, std::size_t n_cells, std::size_t stride, std::size_t n_labels) {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places(i) < 0 || static_cast<std::size_t>(places(i)) >= n_cells || places(i) % stride >= n_labels)
      throw nb::index_error("a cell out of range");
}

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
    if (gold.size() != encoded.n_tokens()) throw nb::value_error("gold needs one label a token");
    if (edge_base.shape(0) != L + 1 || edge_base.shape(1) != stride) throw nb::value_error("edge_base is [L + 1, stride]");
    if (end_base.size() && end_base.size() != stride) throw nb::value_error("end_base is [stride]");
    check_rows(row_starts, row_labels, encoded.n_attributes, L);
    check_rows(edge_row_starts, edge_row_labels, encoded.n_edge_attributes, pairs);
    check_places(edge_places, pairs, stride, L);
    check_places(tri_places, order == 2 ? (L + 1) * pairs : 0, stride, L);
    Gold known{gold.data(), {}};
    if (partial) {
      known.partial = sets_from(*partial, L, encoded.n_tokens());
      if (local) throw nb::value_error("local decisions need every label");
    }
    for (std::size_t t = 0; t < gold.size(); ++t)
      if (gold(t) < (partial ? -1 : 0) || gold(t) >= static_cast<std::int32_t>(L)) throw nb::index_error("no such label");
    Layout layout;
    layout.n_labels = L;
    layout.n_attributes = encoded.n_attributes;
    layout.n_edge_attributes = encoded.n_edge_attributes;
    layout.order = order;
    layout.row_starts = span_of(row_starts);
    layout.row_labels = span_of(row_labels);
    layout.edge_row_starts = span_of(edge_row_starts);
    layout.edge_row_labels = span_of(edge_row_labels);
    layout.edge_places = span_of(edge_places);
    layout.tri_places = span_of(tri_places);
    layout.edge_base = {edge_base.data(), edge_base.size()};
    layout.end_base = span_of(end_base);
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
    if (weights && weights->size() != n_sentences) throw nb::value_error("one weight a sentence");
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
    if (weights && weights->size() != n_sentences) throw nb::value_error("one weight a sentence");
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order(i) < 0 || static_cast<std::size_t>(order(i)) >= n_sentences) throw nb::index_error("no such sentence");
    std::vector<double> out(n_sentences);
    {
      nb::gil_scoped_release release;
      core->pass({rate, c1, c2}, order.data(), order.size(), weights ? weights->data() : nullptr, parameters.data(),
                 squares.data(), out.data());
    }
    return to_numpy(std::move(out));
  }
};

// The inner product, summed by eight lanes in a fixed order whatever the machine.
double dot(const Array<double, 1>& a, const Array<double, 1>& b) {
  if (a.size() != b.size()) throw nb::value_error("vectors of different lengths");
  double lanes_sum[8] = {};
  const std::size_t n = a.size();
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) lanes_sum[k] += a.data()[i + k] * b.data()[i + k];
  double sum = 0;
  for (double part : lanes_sum) sum += part;
  for (; i < n; ++i) sum += a.data()[i] * b.data()[i];
  return sum;
}

// x += factor · v in place, without the array in between that NumPy needs.
void add_scaled(const MutableArray<double, 1>& x, double factor, const Array<double, 1>& v) {
  if (x.size() != v.size()) throw nb::value_error("vectors of different lengths");
  double* to = x.data();
  const double* from = v.data();
  for (std::size_t i = 0; i < x.size(); ++i) to[i] += factor * from[i];
}

History history_of(const Array<std::uint16_t, 2>& steps, const Array<std::uint16_t, 2>& changes, std::size_t n_pairs,
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
  const History history = history_of(steps, changes, n_pairs, g);
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
  const History history = history_of(steps, changes, step_factors.size(), g);
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
  module.def("dot", &dot, "a"_a, "b"_a, "The inner product, the same bits on every machine.");
  module.def("add_scaled", &add_scaled, "x"_a, "factor"_a, "v"_a, "x += factor * v, in place.");
  module.def("remember", &remember_pair, "x"_a, "old_x"_a, "g"_a, "old_g"_a, "step"_a, "change"_a,
             "Writes x - old_x and g - old_g; gives their product and the square of the second.");
  module.def("history_dots", &dots_with_history, "steps"_a, "changes"_a, "n_pairs"_a, "newest"_a, "g"_a, "n_threads"_a,
             "For each pair j five inner products, one after the other: s·g, y·g, s·y_r, y·y_r, s_r·y.");
  module.def("history_sum", &sum_of_history, "steps"_a, "changes"_a, "factor"_a, "g"_a, "step_factors"_a,
             "change_factors"_a, "n_threads"_a, "factor * g + the steps and changes, each times its factor.");
  nb::class_<PyObjective>(module, "Objective", "Losses of a chain over an encoded corpus.")
      .def(nb::init<nb::object, Array<std::int32_t, 1>, std::optional<SetArrays>, int, Array<std::uint32_t, 1>,
                    Array<std::uint16_t, 1>, Array<std::uint32_t, 1>, Array<std::uint32_t, 1>, Array<std::int32_t, 1>,
                    Array<std::int32_t, 1>, Array<float, 2>, Array<float, 1>, bool, bool>(),
           "corpus"_a, "gold"_a, "partial"_a.none(), "order"_a, "row_starts"_a, "row_labels"_a, "edge_row_starts"_a,
           "edge_row_labels"_a, "edge_places"_a, "tri_places"_a, "edge_base"_a, "end_base"_a, "local"_a, "single"_a)
      .def_ro("n_parameters", &PyObjective::n_parameters)
      .def("losses", &PyObjective::losses, "parameters"_a, "n_threads"_a, "loss_i of every sentence.")
      .def("gradient", &PyObjective::gradient, "parameters"_a, "weights"_a.none(), "n_threads"_a,
           "(losses, gradient of their weighted sum).")
      .def("one_pass", &PyObjective::pass, "parameters"_a, "squares"_a, "order"_a, "weights"_a.none(), "rate"_a, "c1"_a,
           "c2"_a, "One pass of AdaGrad over the sentences in that order, in place; gives the losses as they were met.");
}
