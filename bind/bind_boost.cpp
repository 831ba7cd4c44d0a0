// Sequence AdaBoost over an encoded corpus.
#include "papers/boost.hpp"
#include "layout.hpp"

using namespace trellis;

namespace {

// Keeps the objects alive that the booster refers to.
struct PyBooster {
  std::shared_ptr<PyLayout> layout;
  std::shared_ptr<PyChainExamples> examples;
  std::optional<Doubles> weights;
  std::string bound;
  double max_step;
  ARGUMENTS(layout, examples, weights, bound, max_step)
  std::unique_ptr<Booster> core;

  void begin() {
    require(examples->corpus == layout->corpus, "the examples have another layout");
    require(max_step > 0, "max_step must be above 0");
    const auto kind = named<Bound>(bound, {{"loose", Bound::loose}, {"tight", Bound::tight}, {"exact", Bound::exact}},
                                   "the bounds are loose, tight and exact");
    core = std::make_unique<Booster>(layout->core, examples->known(weights), kind, max_step);
  }

  void start(const Doubles& parameters, std::optional<double> scale, std::size_t n_threads) {
    require(parameters.size() == layout->core.n_parameters(), "there must be one number per parameter");
    const WithoutGil released;
    core->begin(parameters, scale.value_or(std::numeric_limits<double>::quiet_NaN()), n_threads);
  }

  std::tuple<std::int64_t, double, double> choose(std::size_t n_threads) {
    const WithoutGil released;
    const Chosen chosen = core->choose(n_threads);
    return {chosen.feature, chosen.step, chosen.log_bound};
  }

  std::pair<std::size_t, std::size_t> step(std::size_t feature, double size, std::size_t n_threads) {
    if (feature >= layout->core.n_parameters()) throw nb::index_error("feature out of range");
    require(std::isfinite(size), "a step must be a finite number");
    const WithoutGil released;
    const Touched touched = core->step(feature, size, n_threads);
    return {touched.sentences, touched.tokens};
  }
};

}  // namespace

void bind_boost(nb::module_& module) {
  bind_class<PyBooster>(module, "Booster", "Sequence AdaBoost over an encoded corpus, one feature a round.")
      .def_prop_ro("log_risk", [](const PyBooster& b) { return b.core->log_risk(); }, "log of sum_i weight_i (1 / p_i - 1).")
      .def_prop_ro("scale", [](const PyBooster& b) { return b.core->scale(); }, "What begin() needs to go on with the same bits.")
      .def_prop_ro("parameters", guarded(+[](const PyBooster& b) { return b.core->parameters(); }), "The weights as one vector.")
      .def("begin", guarded(&PyBooster::start), "parameters"_a, "scale"_a.none(), "n_threads"_a,
           "A full pass from these parameters.")
      .def("choose", guarded(&PyBooster::choose), "n_threads"_a,
           "(feature, step, log of what the risk is multiplied by at most); feature -1 if none lowers it.")
      .def("step", guarded(&PyBooster::step), "feature"_a, "size"_a, "n_threads"_a,
           "Take a step: (sentences run again, their tokens).");
}
