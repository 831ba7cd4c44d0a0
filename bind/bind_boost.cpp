// Sequence AdaBoost over an encoded corpus.
#include <algorithm>

#include "papers/boost.hpp"
#include "layout.hpp"

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
  const PyLayout& layout;
  Ints gold;
  std::optional<Doubles> weights;
  std::size_t n_parameters;
  std::unique_ptr<Booster> core;

  PyBooster(const PyLayout& layout, Ints gold_, std::optional<Doubles> weights_,
            const std::string& bound, double max_step)
      : layout(layout), gold(std::move(gold_)), weights(std::move(weights_)), n_parameters(layout.core.n_parameters()) {
    const Encoded& corpus = layout.corpus;
    check_gold(gold, corpus.n_tokens(), corpus.n_labels);
    check_weights(weights, corpus.n_sentences());
    require(max_step > 0, "max_step must be above 0");
    make_read_only(gold);
    const Examples examples{.data = corpus.data, .starts = corpus.starts.data(), .gold = gold.data(),
                            .weights = weights ? weights->data() : nullptr, .n_sentences = corpus.n_sentences()};
    core = std::make_unique<Booster>(layout.core, examples, bound_named(bound), max_step);
  }

  void begin(const Doubles& parameters, std::optional<double> scale, std::size_t n_threads) {
    if (parameters.size() != n_parameters) throw nb::value_error("one number a parameter");
    const WithoutGil released;
    core->begin(span(parameters), scale.value_or(std::numeric_limits<double>::quiet_NaN()), n_threads);
  }

  std::tuple<std::int64_t, double, double> choose(std::size_t n_threads) {
    const WithoutGil released;
    const Chosen chosen = core->choose(n_threads);
    return {chosen.feature, chosen.step, chosen.log_bound};
  }

  std::tuple<std::size_t, std::size_t, std::size_t> step(std::size_t feature, double size, std::size_t n_threads) {
    check_feature(feature);
    require(std::isfinite(size), "a step must be a finite number");
    const WithoutGil released;
    const Touched touched = core->step(feature, size, n_threads);
    return {touched.sentences, touched.tokens, touched.features};
  }

  std::vector<std::tuple<std::size_t, double, double, double>> meetings(std::size_t feature) const {
    check_feature(feature);
    std::vector<std::tuple<std::size_t, double, double, double>> out;
    for (const auto& m : core->meetings(feature)) out.emplace_back(m.sentence, m.low, m.high, m.s);
    return out;
  }

  double exact(std::size_t feature, double step) const {
    check_feature(feature);
    require(std::isfinite(step), "a step must be a finite number");
    return core->exact(feature, step, 1);
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
      .def(nb::init<const PyLayout&, Ints, std::optional<Doubles>, const std::string&, double>(),
           nb::keep_alive<1, 2>(), "layout"_a, "gold"_array, "weights"_array.none(), nb::kw_only(), "bound"_a, "max_step"_a)
      .def_ro("n_parameters", &PyBooster::n_parameters)
      .def_prop_ro("log_risk", [](const PyBooster& b) { return b.core->log_risk(); }, "log of sum_i weight_i (1 / p_i - 1).")
      .def_prop_ro("scale", [](const PyBooster& b) { return b.core->scale(); }, "What begin() needs to go on with the same bits.")
      .def_prop_ro("parameters", guarded(+[](const PyBooster& b) { return to_numpy(std::vector<double>(b.core->parameters())); }),
                   nb::rv_policy::move, "The weights as one vector.")
      .def_prop_ro("losses", guarded(+[](PyBooster& b) { return b.losses(); }),
                   nb::rv_policy::move, "-log p_i of every sentence.")
      .def("begin", guarded(&PyBooster::begin), "parameters"_array, "scale"_a.none(), "n_threads"_a, "A full pass from these parameters.")
      .def("choose", guarded(&PyBooster::choose), "n_threads"_a,
           "(feature, step, log of what the risk is multiplied by at most); feature -1 if none lowers it.")
      .def("step", guarded(&PyBooster::step), "feature"_a, "size"_a, "n_threads"_a,
           "Take a step: (sentences run again, their tokens, features summed again).")
      .def("meetings", guarded(&PyBooster::meetings), "feature"_a, "(sentence, L_i, U_i, s_i) of all sentences it can occur in.")
      .def("exact", guarded(&PyBooster::exact), "feature"_a, "step"_a, "What a step multiplies the risk by.")
      .def("exact_step", guarded(&PyBooster::exact_step), "feature"_a, "The step at which the true risk is least.");
}
