// Kernels: inner products of observations, chains learnt in the dual, and kernel models.
#include "data.hpp"
#include "papers/dual_chain.hpp"

using namespace trellis;

namespace {

struct KernelFields {
  std::string name;
  int degree;
  double gamma, coef0;
  FIELDS(name, degree, gamma, coef0)

  Kernel checked() const {
    require(degree >= 1 && std::isfinite(gamma) && std::isfinite(coef0), "unknown kernel");
    return {named<Kernel::Kind>(name, {{"linear", Kernel::kLinear}, {"poly", Kernel::kPolynomial}, {"rbf", Kernel::kRbf},
                                       {"callable", Kernel::kGiven}}, "unknown kernel"), degree, gamma, coef0};
  }
};

// [n_a, n_b]
Numpy<double> sparse_products(const ListArrays& a, const ListArrays& b, std::size_t n_attributes,
                              std::size_t n_threads) {
  const std::size_t n = n_tokens_of(a), n_columns = n_tokens_of(b);
  const Sites left = lists_from(a, n_attributes, n), right = lists_from(b, n_attributes, n_columns);
  std::vector<double> out(n * n_columns);
  const Observations columns = without_gil([&] { return Observations(right, n_columns, n_attributes); });
  each_item(n, 16, n_threads, [] { return std::vector<Item>(); }, [&](std::vector<Item>& items, std::size_t t) {
    items_of(left, t, items);
    columns.products(items, out.data() + t * n_columns);
  });
  return to_numpy(std::move(out), {n, n_columns});
}

// ------------------------------------------------------------ kernel models

struct PyExpansion {
  KernelFields kernel;
  ListArrays observations;
  Longs starts;  // [n_support + 1] coefficients of each support observation
  Shorts labels;
  Doubles coefs;
  std::size_t n_attributes, n_labels;
  ARGUMENTS(kernel, observations, starts, labels, coefs, n_attributes, n_labels)
  Kernel function;
  Observations support;
  std::vector<Coefficient> coefficients;

  void begin() {
    function = kernel.checked();
    const std::size_t n = n_tokens_of(observations);
    support = Observations(lists_from(observations, n_attributes, n), n, n_attributes);
    require(starts.size() == n + 1 && labels.size() == coefs.size(), "coefficients do not match the support");
    check_starts(starts, labels.size());
    check_finite(coefs, "coefficients must be finite numbers");
    require(all_below(labels, n_labels), "label of a coefficient out of range");
    for (std::size_t o = 0; o < n; ++o)
      for (std::int64_t i = starts(o); i < starts(o + 1); ++i)
        coefficients.push_back({static_cast<std::uint32_t>(o), labels(i), coefs(i)});
  }

  // [n_tokens, n_labels]
  Numpy<double> emit(const ListArrays& lists, std::size_t n_threads) const {
    require(function.kind != Kernel::kGiven, "the kernel function is missing");
    const std::size_t n = n_tokens_of(lists);
    const Sites checked = lists_from(lists, n_attributes, n);
    std::vector<double> out(n * n_labels);
    without_gil([&] { expand_tokens(function, support, coefficients, checked, n, n_labels, n_threads, out.data()); });
    return to_numpy(std::move(out), {n, n_labels});
  }

  // From kernel values [n_support, n_tokens].
  Numpy<double> emit_given(const Array<double, 2>& k) const {
    require(k.shape(0) == support.size(), "kernel values must have one row per support observation");
    const std::size_t n = k.shape(1);
    std::vector<double> sums(n_labels * n, 0.0), out(n * n_labels);
    expand(coefficients, k.data(), n, n, sums.data());
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t z = 0; z < n_labels; ++z) out[t * n_labels + z] = sums[z * n + t];
    return to_numpy(std::move(out), {n, n_labels});
  }
};

// ------------------------------------------------------------ training

constexpr double kMostAlpha = 1e30;  // scores are kernel values, up to 1e100, times this

// Keeps its arrays alive.
struct PyDual {
  std::shared_ptr<PyChainExamples> examples;
  KernelFields kernel;
  int order;
  std::optional<Array<double, 2>> matrix;  // [n_tokens, n_tokens] of a precomputed kernel
  std::size_t memory;
  std::optional<Doubles> weights;
  std::optional<Array<float, 2>> edge;
  std::optional<Floats> end;
  ARGUMENTS(examples, kernel, order, matrix, memory, weights, edge, end)
  const Encoded* corpus;
  std::unique_ptr<DualChain> core;

  void begin() {
    corpus = examples->corpus.get();
    const std::size_t n = corpus->n_tokens(), L = corpus->n_labels;
    require(order >= 0 && order <= 2, "order must be 0, 1 or 2");
    require(!corpus->edge_lists, "attributes of label pairs cannot have a kernel");
    require(!edge || (edge->shape(0) == L + 1 && edge->shape(1) == padded(L)), "edge does not match the model");
    check_end(end, L);
    const Kernel function = kernel.checked();
    require(matrix.has_value() == (function.kind == Kernel::kGiven) &&
            (!matrix || (matrix->shape(0) == n && matrix->shape(1) == n)),
            "a kernel that is given is a matrix [n_tokens, n_tokens]");
    DualProblem problem{examples->known(weights), corpus->n_attributes, L, order};
    problem.edge = data_of(edge), problem.end = data_of(end);
    core = std::make_unique<DualChain>(problem, function, data_of(matrix), memory);
  }

  template <class Pass>
  auto run(const Longs& sentences, Pass pass) {
    check_order(sentences, corpus->n_sentences());
    const PassResult result = interruptible(pass);
    return std::make_tuple(result.mistakes, result.updates, result.violation, result.gap);
  }
  auto margin_pass(const Longs& sentences, double c, double epsilon, bool hamming, std::size_t n_threads) {
    return run(sentences, [&](const Patience::GoOn& go_on) {
      return core->margin_pass(sentences.data(), sentences.size(), c, epsilon, hamming, n_threads, go_on);
    });
  }
  auto perceptron_pass(const Longs& sentences, std::size_t n_threads) {
    return run(sentences, [&](const Patience::GoOn& go_on) {
      return core->perceptron_pass(sentences.data(), sentences.size(), n_threads, go_on);
    });
  }

  // Label sequences of the working sets: their sentences, coefficients, and concatenated labels.
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
  NamedArrays state() {
    Archive archive;
    fields(archive);
    return archive.dict;
  }
  void restore(const NamedArrays& state) {
    Archive archive(state);
    fields(archive);
  }
  void fields(Archive& archive) {
    Sequences all = sequences();
    archive("clock", core->clock), archive("dual", core->dual), archive("sequences", all);
    if (!archive.reads) return;
    const auto& [sentence, alpha, past, paths] = all;
    require(alpha.size() == sentence.size() && past.size() == sentence.size(), "sequences have inconsistent sizes");
    const auto fits = [](double value) { return std::fabs(value) <= kMostAlpha; };
    require(std::ranges::all_of(alpha, fits) && std::ranges::all_of(past, fits), "invalid weights of sequences");
    check_numbers(paths, corpus->n_labels, "label out of range");
    check_order(sentence, corpus->n_sentences());
    std::size_t at = 0;
    for (std::vector<Sequence>& set : core->sets) set.clear();
    for (std::size_t k = 0; k < sentence.size(); ++k) {
      const auto i = static_cast<std::size_t>(sentence[k]);
      const auto n = static_cast<std::size_t>(corpus->starts(i + 1) - corpus->starts(i));
      require(at + n <= paths.size(), "sequences have inconsistent sizes");
      core->restore(i, {paths.data() + at, paths.data() + at + n}, alpha[k], past[k]);
      at += n;
    }
    require(at == paths.size(), "sequences have inconsistent sizes");
  }
};

}  // namespace

void bind_kernels(nb::module_& module) {
  module.def("sparse_products", &sparse_products, "a"_a, "b"_a, "n_attributes"_a, "n_threads"_a,
             "The inner product of every token of a with every token of b.");
  bind_class<PyExpansion>(module, "Expansion", "Scores of labels as sums of kernel values, checked.")
      .def("emit", &PyExpansion::emit, "lists"_a, "n_threads"_a, "Scores [n_tokens, n_labels].")
      .def("emit_given", &PyExpansion::emit_given, "k"_a, "The same from kernel values [n_support, n_tokens].");
  bind_class<PyDual>(module, "DualChain", "Working sets of label sequences while they are learnt.")
      .def("margin_pass", guarded(&PyDual::margin_pass), "order"_a, "c"_a, "epsilon"_a, "hamming"_a, "n_threads"_a,
           "One pass of algorithm 3: (tokens mistaken, sentences changed, largest violation, gap).")
      .def("perceptron_pass", guarded(&PyDual::perceptron_pass), "order"_a, "n_threads"_a, "One pass of algorithm 1, the same.")
      .def_prop_ro("clock", [](const PyDual& self) { return self.core->clock; }, "Sentences visited.")
      .def_prop_ro("dual", [](const PyDual& self) { return self.core->dual; }, "The value of the margin's dual.")
      .def("sequences", guarded(&PyDual::sequences), "Label sequences of the working sets.")
      .def("state", guarded(&PyDual::state), "All that later passes depend on, as named arrays.")
      .def("restore", guarded(&PyDual::restore), "state"_a, "Go on from that state.");
}
