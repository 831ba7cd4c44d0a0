// Kernels: products of observations, chains learnt in the dual, and what they become.
#include <algorithm>
#include <cmath>

#include "data.hpp"
#include "papers/dual_chain.hpp"
#include "parallel.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

Kernel kernel_from(const std::string& name, int degree, double gamma, double coef0) {
  static const std::pair<const char*, Kernel::Kind> kinds[] = {{"linear", Kernel::kLinear},
                                                               {"poly", Kernel::kPolynomial},
                                                               {"rbf", Kernel::kRbf},
                                                               {"given", Kernel::kGiven}};
  if (degree < 1 || !std::isfinite(gamma) || !std::isfinite(coef0)) throw nb::value_error("no such kernel");
  for (const auto& [known, kind] : kinds)
    if (name == known) return {kind, degree, gamma, coef0};
  throw nb::value_error("no such kernel");
}

// Attribute lists of some tokens, checked.
struct CheckedLists {
  Sites lists;
  std::size_t n;
  CheckedLists(const ListArrays& given, std::size_t n_attributes)
      : n(std::max<std::size_t>(1, given.starts.size()) - 1) {
    lists = lists_from(given, n_attributes, n);
  }
};

// [n_a, n_b]
Numpy<double> sparse_products(const ListArrays& a, const ListArrays& b, std::size_t n_attributes,
                              std::size_t n_threads) {
  const CheckedLists left(a, n_attributes), right(b, n_attributes);
  std::vector<double> out(left.n * right.n);
  without_gil([&] {
    const Observations columns(right.lists, right.n, n_attributes);
    parallel_blocks(left.n, 16, n_threads, [] { return std::vector<Item>(); },
                    [&](std::vector<Item>& items, std::size_t first, std::size_t last) {
      for (std::size_t t = first; t < last; ++t) {
        items_of(left.lists, t, items);
        columns.products(items, out.data() + t * right.n);
      }
    });
  });
  return to_numpy(std::move(out), {left.n, right.n});
}

// ------------------------------------------------------------ a kernel model at work

// The coefficients of each support observation.
struct CoefArrays {
  Longs starts;  // [n_support + 1]
  Shorts labels;
  Doubles coefs;
  FIELDS(starts, labels, coefs)
};

struct PyExpansion {
  Kernel kernel;
  std::size_t n_attributes, n_labels;
  Observations support;
  std::vector<Coefficient> coefficients;

  PyExpansion(const Kernel& kernel, const ListArrays& observations, const CoefArrays& given, std::size_t n_attributes,
              std::size_t n_labels)
      : kernel(kernel), n_attributes(n_attributes), n_labels(n_labels) {
    const auto& [starts, labels, coefs] = given;
    const CheckedLists checked(observations, n_attributes);
    require(starts.size() == checked.n + 1 && labels.size() == coefs.size(), "coefficients that do not fit the support");
    check_starts(starts, labels.size());
    check_finite(coefs, "a coefficient that is not a finite number");
    require(all_below(span(labels), n_labels), "a coefficient of a label out of range");
    for (std::size_t o = 0; o < checked.n; ++o)
      for (std::int64_t i = starts(o); i < starts(o + 1); ++i)
        coefficients.push_back({static_cast<std::uint32_t>(o), labels(i), coefs(i)});
    support = Observations(checked.lists, checked.n, n_attributes);
  }

  // [n_tokens, n_labels]
  Numpy<double> emit(const ListArrays& lists, std::size_t n_threads) const {
    if (kernel.kind == Kernel::kGiven) throw nb::value_error("a kernel that must be given");
    const CheckedLists checked(lists, n_attributes);
    std::vector<double> out(checked.n * n_labels);
    without_gil([&] {
      expand_tokens(kernel, support, coefficients, checked.lists, checked.n, n_labels, n_threads, out.data());
    });
    return to_numpy(std::move(out), {checked.n, n_labels});
  }

  // From kernel values [n_support, n_tokens].
  Numpy<double> emit_given(const Array<double, 2>& k) const {
    if (k.shape(0) != support.size()) throw nb::value_error("kernel values need one row a support observation");
    const std::size_t n = k.shape(1);
    std::vector<double> sums(n_labels * n, 0.0), out(n * n_labels);
    expand(coefficients, k.data(), n, n, sums.data());
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t z = 0; z < n_labels; ++z) out[t * n_labels + z] = sums[z * n + t];
    return to_numpy(std::move(out), {n, n_labels});
  }
};

// ------------------------------------------------------------ training

constexpr double kMostAlpha = 1e30;  // scores are kernels, of up to 1e100, times this

// Keeps the arrays it points into.
struct PyDual {
  const Encoded& corpus;
  Ints gold;
  std::optional<Doubles> weights;
  std::optional<Array<float, 2>> costs;
  std::optional<Array<float, 2>> edge;
  std::optional<Floats> end;
  std::optional<Array<double, 2>> given;
  std::unique_ptr<DualChain> core;

  PyDual(const Encoded& corpus, Ints gold_, const Kernel& kernel, int order,
         std::optional<Array<double, 2>> given_, std::size_t memory,
         std::optional<Doubles> weights_, std::optional<Array<float, 2>> costs_,
         std::optional<Array<float, 2>> edge_, std::optional<Floats> end_)
      : corpus(corpus), gold(std::move(gold_)), weights(std::move(weights_)), costs(std::move(costs_)),
        edge(std::move(edge_)), end(std::move(end_)), given(std::move(given_)) {
    const std::size_t n = corpus.n_tokens(), L = corpus.n_labels, stride = padded(L);
    check_gold(gold, n, L);
    check_weights(weights, corpus.n_sentences());
    check_costs(costs, L);
    make_read_only(gold);
    if (order < 0 || order > 2) throw nb::value_error("order must be 0, 1 or 2");
    if (corpus.edge_lists) throw nb::value_error("attributes of label pairs have no kernel");
    if (edge && (edge->shape(0) != L + 1 || edge->shape(1) != stride)) throw nb::value_error("edge does not fit");
    if (end && end->size() != stride) throw nb::value_error("end does not fit");
    if (given.has_value() != (kernel.kind == Kernel::kGiven) || (given && (given->shape(0) != n || given->shape(1) != n)))
      throw nb::value_error("a kernel that is given is a matrix [n_tokens, n_tokens]");
    DualProblem problem{{corpus.data, corpus.starts.data(), gold.data(), {}, weights ? weights->data() : nullptr,
                         costs ? costs->data() : nullptr, corpus.n_sentences()}, corpus.n_attributes, L, order};
    problem.edge = edge ? edge->data() : nullptr;
    problem.end = end ? end->data() : nullptr;
    core = std::make_unique<DualChain>(problem, kernel, given ? given->data() : nullptr, memory);
  }

  template <class Pass>
  auto run(const Longs& order, Pass pass) {
    check_order(order, corpus.n_sentences());
    const PassResult result = interruptible(pass);
    return std::make_tuple(result.mistakes, result.updates, result.violation, result.gap);
  }
  auto margin_pass(const Longs& order, double c, double epsilon, bool hamming, std::size_t n_threads) {
    return run(order, [&](const Patience::GoOn& go_on) {
      return core->margin_pass(order.data(), order.size(), c, epsilon, hamming, n_threads, go_on);
    });
  }
  auto perceptron_pass(const Longs& order, std::size_t n_threads) {
    return run(order, [&](const Patience::GoOn& go_on) {
      return core->perceptron_pass(order.data(), order.size(), n_threads, go_on);
    });
  }

  // Label sequences of the working sets: of which sentence, how much they count, and their labels one after another.
  struct Sequences {
    std::vector<std::int64_t> sentence;
    std::vector<double> alpha, past;
    std::vector<std::int32_t> paths;
    FIELDS(sentence, alpha, past, paths)
  };
  Sequences sequences() const {
    Sequences out;
    for (std::size_t i = 0; i < core->sets.size(); ++i)
      for (const Sequence& one : core->sets[i]) {
        out.sentence.push_back(static_cast<std::int64_t>(i));
        out.alpha.push_back(one.alpha), out.past.push_back(one.past);
        out.paths.insert(out.paths.end(), one.path.begin(), one.path.end());
      }
    return out;
  }
  NamedArrays state() const {
    OutArchive archive;
    archive("clock", core->clock), archive("dual", core->dual);
    archive("sequences", sequences());
    return archive.dict;
  }
  void restore(const NamedArrays& state) {
    InArchive archive(state);
    Sequences sequences;
    std::int64_t clock = 0;
    double dual = 0;
    archive("clock", clock), archive("dual", dual), archive("sequences", sequences);
    const auto& [sentence, alpha, past, paths] = sequences;
    require(alpha.size() == sentence.size() && past.size() == sentence.size(), "sequences that do not fit");
    const auto fits = [](double value) { return std::fabs(value) <= kMostAlpha; };
    require(std::ranges::all_of(alpha, fits) && std::ranges::all_of(past, fits), "weights of sequences that no training gives");
    check_numbers(paths, corpus.n_labels, "no such label");
    check_order(sentence, corpus.n_sentences());
    std::size_t at = 0;
    core->clear();
    for (std::size_t k = 0; k < sentence.size(); ++k) {
      const auto i = static_cast<std::size_t>(sentence[k]);
      const auto n = static_cast<std::size_t>(corpus.starts(i + 1) - corpus.starts(i));
      require(at + n <= paths.size(), "sequences that do not fit");
      core->restore(i, {paths.data() + at, paths.data() + at + n}, alpha[k], past[k]);
      at += n;
    }
    require(at == paths.size(), "sequences that do not fit");
    core->clock = clock, core->dual = dual;
  }

  // Rows are of the linear kernel, the expansion of others.
  using Rows16 = RowsOf<Out, std::uint16_t>;
  struct ExpansionOut {
    std::vector<std::int64_t> tokens, starts{0};
    std::vector<std::uint16_t> labels;
    std::vector<double> coefs;
    FIELDS(tokens, starts, labels, coefs)
  };
  struct Result {
    Numpy<double> edge, tri;  // [L + 1, stride], [L + 1, L + 1, stride] or empty
    Rows16 rows;
    ExpansionOut expansion;
    FIELDS(edge, tri, rows, expansion)
  };
  Result result(bool average) const {
    const DualWeights w = core->weights(average);
    const std::size_t L = corpus.n_labels, stride = padded(L);
    Rows16 rows{{0}, {}, {}};
    for (std::size_t a = 0; a < w.rows.n_attributes(); ++a) {
      if (const double* row = w.rows.find(static_cast<std::int32_t>(a)))
        for (std::size_t z = 0; z < L; ++z)
          if (const auto weight = static_cast<float>(row[z]); weight != 0)
            rows.labels.push_back(static_cast<std::uint16_t>(z)), rows.weights.push_back(weight);
      rows.starts.push_back(static_cast<std::uint32_t>(rows.labels.size()));
    }
    ExpansionOut out;
    auto& [tokens, starts, labels, coefs] = out;
    for (const auto& expansion : w.expansions)
      for (const Coefficient& one : expansion) {
        if (tokens.empty() || tokens.back() != one.observation) tokens.push_back(one.observation), starts.push_back(starts.back());
        labels.push_back(static_cast<std::uint16_t>(one.label)), coefs.push_back(one.coef);
        ++starts.back();
      }
    return {to_numpy(std::vector<double>(w.edge), {L + 1, stride}),
            to_numpy(std::vector<double>(w.tri), {w.tri.empty() ? 0 : L + 1, L + 1, stride}), std::move(rows), std::move(out)};
  }
};

}  // namespace

void bind_kernels(nb::module_& module) {
  module.def("sparse_products", &sparse_products, "a"_array, "b"_array, "n_attributes"_a, "n_threads"_a,
             "The inner product of every token of a with every token of b.");
  nb::class_<Kernel>(module, "Kernel", "linear, poly, rbf, or given as a matrix.")
      .def("__init__", [](Kernel* self, const std::string& name, int degree, double gamma, double coef0) {
        new (self) Kernel(kernel_from(name, degree, gamma, coef0));
      }, "name"_a, "degree"_a, "gamma"_a, "coef0"_a);
  nb::class_<PyExpansion>(module, "Expansion", "Scores of labels as sums of kernel values, checked.")
      .def(nb::init<const Kernel&, const ListArrays&, const CoefArrays&, std::size_t, std::size_t>(), "kernel"_a,
           "observations"_array, "coefs"_array, nb::kw_only(), "n_attributes"_a, "n_labels"_a)
      .def("emit", &PyExpansion::emit, "lists"_array, "n_threads"_a, "Scores [n_tokens, n_labels].")
      .def("emit_given", &PyExpansion::emit_given, "k"_array, "The same from kernel values [n_support, n_tokens].");
  nb::class_<PyDual>(module, "DualChain", "Working sets of label sequences while they are learnt.")
      .def(nb::init<const Encoded&, Ints, const Kernel&, int, std::optional<Array<double, 2>>, std::size_t,
                    std::optional<Doubles>, std::optional<Array<float, 2>>, std::optional<Array<float, 2>>,
                    std::optional<Floats>>(),
           nb::keep_alive<1, 2>(), "corpus"_a, "gold"_array, "kernel"_a, nb::kw_only(), "order"_a, "given"_array.none(),
           "memory"_a, "weights"_array.none(), "costs"_array.none(), "edge"_array.none(), "end"_array.none())
      .def("margin_pass", guarded(&PyDual::margin_pass), "order"_array, "c"_a, "epsilon"_a, "hamming"_a, "n_threads"_a,
           "One pass of algorithm 3: (tokens mistaken, sentences changed, largest violation, gap).")
      .def("perceptron_pass", guarded(&PyDual::perceptron_pass), "order"_array, "n_threads"_a, "One pass of algorithm 1, the same.")
      .def_prop_ro("clock", [](const PyDual& self) { return self.core->clock; }, "Sentences visited.")
      .def_prop_ro("dual", [](const PyDual& self) { return self.core->dual; }, "The value of the margin's dual.")
      .def("sequences", guarded(&PyDual::sequences), "Label sequences of the working sets.")
      .def("state", guarded(&PyDual::state), "All that later passes depend on, as named arrays.")
      .def("restore", guarded(&PyDual::restore), "state"_a, "Go on from that state.")
      .def("result", guarded(&PyDual::result), "average"_a, "Weights of labels, rows of the linear kernel, the expansion of others.");
}
