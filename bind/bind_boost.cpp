// Sequence AdaBoost over an encoded corpus.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "learn/boost.hpp"
#include "data.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

Bound bound_named(const std::string& name) {
  if (name == "loose") return Bound::loose;
  if (name == "tight") return Bound::tight;
  if (name == "exact") return Bound::exact;
  throw nb::value_error("the bounds are loose, tight and exact");
}

// Keeps what the booster points into.
struct PyBooster {
  nb::object corpus;
  Array<std::int32_t, 1> gold;
  std::optional<Array<double, 1>> weights;
  Array<std::uint32_t, 1> row_starts, edge_row_starts;
  Array<std::uint16_t, 1> row_labels;
  Array<std::uint32_t, 1> edge_row_labels;
  Array<std::int32_t, 1> edge_places, tri_places;
  Array<float, 2> edge_base;
  Array<float, 1> end_base;
  std::size_t n_parameters;
  std::unique_ptr<Booster> core;

  PyBooster(nb::object corpus_, Array<std::int32_t, 1> gold_, std::optional<Array<double, 1>> weights_, int order,
            Array<std::uint32_t, 1> row_starts_, Array<std::uint16_t, 1> row_labels_,
            Array<std::uint32_t, 1> edge_row_starts_, Array<std::uint32_t, 1> edge_row_labels_,
            Array<std::int32_t, 1> edge_places_, Array<std::int32_t, 1> tri_places_, Array<float, 2> edge_base_,
            Array<float, 1> end_base_, const std::string& bound, double max_step)
      : corpus(std::move(corpus_)), gold(std::move(gold_)), weights(std::move(weights_)),
        row_starts(std::move(row_starts_)), edge_row_starts(std::move(edge_row_starts_)),
        row_labels(std::move(row_labels_)), edge_row_labels(std::move(edge_row_labels_)),
        edge_places(std::move(edge_places_)), tri_places(std::move(tri_places_)), edge_base(std::move(edge_base_)),
        end_base(std::move(end_base_)) {
    const Encoded& encoded = nb::cast<const Encoded&>(corpus);
    const std::size_t L = encoded.n_labels, stride = padded(L), pairs = (L + 1) * stride;
    check_gold(gold, encoded.n_tokens(), L);
    check_weights(weights, encoded.n_sentences());
    if (edge_base.shape(0) != L + 1 || edge_base.shape(1) != stride) throw nb::value_error("edge_base is [L + 1, stride]");
    if (end_base.size() && end_base.size() != stride) throw nb::value_error("end_base is [stride]");
    if (!(max_step > 0)) throw nb::value_error("max_step must be above 0");
    require(row_starts.size() == encoded.n_attributes + 1 && edge_row_starts.size() == encoded.n_edge_attributes + 1,
            "one row per attribute");
    check_rows(row_starts, row_labels, L);
    check_rows(edge_row_starts, edge_row_labels, pairs);
    check_cells(edge_places, pairs, L);
    check_cells(tri_places, order == 2 ? (L + 1) * pairs : 0, L);
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
    n_parameters = layout.n_parameters();
    core = std::make_unique<Booster>(layout, encoded.data, encoded.starts.data(), encoded.n_sentences(), gold.data(),
                                     weights ? weights->data() : nullptr, bound_named(bound), max_step);
  }

  void begin(const Array<double, 1>& parameters, std::optional<double> scale, std::size_t n_threads) {
    if (parameters.size() != n_parameters) throw nb::value_error("one number a parameter");
    nb::gil_scoped_release release;
    core->begin(span(parameters), scale.value_or(std::numeric_limits<double>::quiet_NaN()), n_threads);
  }

  std::tuple<std::int64_t, double, double> choose(std::size_t n_threads) {
    nb::gil_scoped_release release;
    const Chosen chosen = core->choose(n_threads);
    return {chosen.feature, chosen.step, chosen.log_bound};
  }

  std::tuple<std::size_t, std::size_t, std::size_t> step(std::size_t feature, double size, std::size_t n_threads) {
    check_feature(feature);
    nb::gil_scoped_release release;
    const Touched touched = core->step(feature, size, n_threads);
    return {touched.sentences, touched.tokens, touched.features};
  }

  std::vector<std::tuple<std::size_t, double, double, double>> meetings(std::size_t feature) const {
    check_feature(feature);
    std::vector<std::tuple<std::size_t, double, double, double>> out;
    for (const auto& m : core->meetings(feature)) out.emplace_back(m.sentence, m.low, m.high, m.s);
    return out;
  }

  std::tuple<double, double, double> range(std::size_t feature) const {
    check_feature(feature);
    const Booster::Range r = core->range(feature);
    return {r.low, r.high, r.s};
  }

  // (loose, tight, exact) of a step: what it multiplies the risk by, or at most.
  std::tuple<double, double, double> bounds(std::size_t feature, double step) const {
    check_feature(feature);
    return {core->loose_bound(feature, step), core->tight_bound(feature, step), core->exact(feature, step, 1)};
  }

  double exact_step(std::size_t feature) const {
    check_feature(feature);
    return core->exact_step(feature, 1).size;
  }

  Numpy<double> losses() {
    core->refresh(1);
    return to_numpy(std::vector<double>(core->losses()));
  }

  void check_feature(std::size_t feature) const {
    if (feature >= n_parameters) throw nb::index_error("no such feature");
  }
};

}  // namespace

void bind_boost(nb::module_& module) {
  nb::class_<PyBooster>(module, "Booster", "Sequence AdaBoost over an encoded corpus, one feature a round.")
      .def(nb::init<nb::object, Array<std::int32_t, 1>, std::optional<Array<double, 1>>, int, Array<std::uint32_t, 1>,
                    Array<std::uint16_t, 1>, Array<std::uint32_t, 1>, Array<std::uint32_t, 1>, Array<std::int32_t, 1>,
                    Array<std::int32_t, 1>, Array<float, 2>, Array<float, 1>, const std::string&, double>(),
           "corpus"_a, "gold"_array, "weights"_array.none(), "order"_array, "row_starts"_array, "row_labels"_array, "edge_row_starts"_array,
           "edge_row_labels"_array, "edge_places"_array, "tri_places"_array, "edge_base"_array, "end_base"_array, "bound"_a, "max_step"_a)
      .def_ro("n_parameters", &PyBooster::n_parameters)
      .def_prop_ro("log_risk", [](const PyBooster& b) { return b.core->log_risk(); }, "log of sum_i weight_i (1 / p_i - 1).")
      .def_prop_ro("scale", [](const PyBooster& b) { return b.core->scale(); }, "What begin() needs to go on with the same bits.")
      .def_prop_ro("parameters", [](const PyBooster& b) { return to_numpy(std::vector<double>(b.core->parameters())); },
                   nb::rv_policy::move, "The weights as one vector.")
      .def_prop_ro("losses", [](PyBooster& b) { return b.losses(); },
                   nb::rv_policy::move, "-log p_i of every sentence.")
      .def("begin", &PyBooster::begin, "parameters"_array, "scale"_a.none(), "n_threads"_a, "A full pass from these parameters.")
      .def("choose", &PyBooster::choose, "n_threads"_a,
           "(feature, step, log of what the risk is multiplied by at most); feature -1 if none lowers it.")
      .def("step", &PyBooster::step, "feature"_a, "size"_a, "n_threads"_a,
           "Take a step: (sentences run again, their tokens, features summed again).")
      .def("meetings", &PyBooster::meetings, "feature"_a, "(sentence, L_i, U_i, s_i) of all sentences it can occur in.")
      .def("range", &PyBooster::range, "feature"_a, "(L, U, s) over all sentences.")
      .def("bounds", &PyBooster::bounds, "feature"_a, "step"_a,
           "(loose, tight, exact): what a step multiplies the risk by at most, and truly.")
      .def("exact_step", &PyBooster::exact_step, "feature"_a, "The step at which the true risk is least.");
}
