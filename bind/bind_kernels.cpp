// Kernels: products of observations, chains learnt in the dual, and what they become.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>

#include "data.hpp"
#include "learn/dual_chain.hpp"
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

void check_finite(const Array<double, 1>& values, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values(i))) throw nb::value_error(what);
}

// Attribute lists of some tokens, checked.
struct CheckedLists {
  TokenAttributes lists;
  std::size_t n;
  CheckedLists(const ListArrays& given, std::size_t n_attributes) {
    const auto& [starts, ids, values] = given;
    if (starts.size() == 0 || starts(0) != 0 || (values.size() && values.size() != ids.size()) ||
        starts(starts.size() - 1) != static_cast<std::int64_t>(ids.size()))
      throw nb::value_error("attribute lists that do not fit together");
    n = starts.size() - 1;
    for (std::size_t t = 0; t < n; ++t)
      if (starts(t + 1) < starts(t)) throw nb::value_error("starts must not fall");
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids(i) < 0 || static_cast<std::size_t>(ids(i)) >= n_attributes) throw nb::index_error("no such attribute");
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values(i))) throw nb::value_error("a value that is not a number");
    lists = {starts.data(), ids.data(), values.size() ? values.data() : nullptr};
  }
};

// [n_a, n_b]
Numpy<double> sparse_products(const ListArrays& a, const ListArrays& b, std::size_t n_attributes,
                              std::size_t n_threads) {
  const CheckedLists left(a, n_attributes), right(b, n_attributes);
  std::vector<double> out(left.n * right.n);
  {
    nb::gil_scoped_release release;
    const Observations columns(right.lists, right.n, n_attributes);
    parallel_blocks(left.n, 16, n_threads, [] { return std::vector<Item>(); },
                    [&](std::vector<Item>& items, std::size_t first, std::size_t last) {
      for (std::size_t t = first; t < last; ++t) {
        items_of(left.lists, t, items);
        columns.products(items, out.data() + t * right.n);
      }
    });
  }
  return to_numpy(std::move(out), {left.n, right.n});
}

// ------------------------------------------------------------ a kernel model at work

struct PyExpansion {
  Kernel kernel;
  std::size_t n_attributes, n_labels;
  Observations support;
  std::vector<Coefficient> coefficients;

  PyExpansion(const std::string& name, int degree, double gamma, double coef0, const ListArrays& observations,
              const Array<std::int64_t, 1>& starts, const Array<std::uint16_t, 1>& labels,
              const Array<double, 1>& coefs, std::size_t n_attributes, std::size_t n_labels)
      : kernel(kernel_from(name, degree, gamma, coef0)), n_attributes(n_attributes), n_labels(n_labels) {
    const CheckedLists checked(observations, n_attributes);
    if (starts.size() != checked.n + 1 || starts(0) != 0 || labels.size() != coefs.size() ||
        starts(checked.n) != static_cast<std::int64_t>(labels.size()))
      throw nb::value_error("coefficients that do not fit the support");
    check_finite(coefs, "a coefficient that is not a number");
    for (std::size_t o = 0; o < checked.n; ++o) {
      if (starts(o + 1) < starts(o)) throw nb::value_error("starts must not fall");
      for (std::int64_t i = starts(o); i < starts(o + 1); ++i) {
        if (labels(i) >= n_labels) throw nb::value_error("a coefficient of a label out of range");
        coefficients.push_back({static_cast<std::uint32_t>(o), labels(i), coefs(i)});
      }
    }
    support = Observations(checked.lists, checked.n, n_attributes);
  }

  // [n_tokens, n_labels]
  Numpy<double> emit(const ListArrays& lists, std::size_t n_threads) const {
    if (kernel.kind == Kernel::kGiven) throw nb::value_error("a kernel that must be given");
    const CheckedLists checked(lists, n_attributes);
    std::vector<double> out(checked.n * n_labels);
    {
      nb::gil_scoped_release release;
      expand_tokens(kernel, support, coefficients, checked.lists, checked.n, n_labels, n_threads, out.data());
    }
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

// Keeps the arrays it points into.
struct PyDual {
  const Encoded& corpus;
  Array<std::int32_t, 1> gold;
  std::optional<Array<double, 1>> weights;
  std::optional<Array<float, 2>> costs;
  std::optional<Array<float, 2>> edge;
  std::optional<Array<float, 1>> end;
  std::optional<Array<double, 2>> given;
  std::unique_ptr<DualChain> core;

  PyDual(const Encoded& corpus, Array<std::int32_t, 1> gold_, int order, const std::string& name, int degree,
         double gamma, double coef0, std::optional<Array<double, 2>> given_, std::size_t memory,
         std::optional<Array<double, 1>> weights_, std::optional<Array<float, 2>> costs_,
         std::optional<Array<float, 2>> edge_, std::optional<Array<float, 1>> end_)
      : corpus(corpus), gold(std::move(gold_)), weights(std::move(weights_)), costs(std::move(costs_)),
        edge(std::move(edge_)), end(std::move(end_)), given(std::move(given_)) {
    const std::size_t n = corpus.n_tokens(), L = corpus.n_labels, stride = padded(L);
    const Kernel kernel = kernel_from(name, degree, gamma, coef0);
    if (gold.size() != n) throw nb::value_error("gold needs one label a token");
    for (std::size_t t = 0; t < n; ++t)
      if (gold(t) < 0 || static_cast<std::size_t>(gold(t)) >= L) throw nb::index_error("no such label");
    if (order < 0 || order > 2) throw nb::value_error("order must be 0, 1 or 2");
    if (corpus.edge_lists) throw nb::value_error("attributes of label pairs have no kernel");
    if (weights && weights->size() != corpus.n_sentences()) throw nb::value_error("one weight a sentence");
    if (costs && (costs->shape(0) != L || costs->shape(1) != L)) throw nb::value_error("costs must be [n_labels, n_labels]");
    if (edge && (edge->shape(0) != L + 1 || edge->shape(1) != stride)) throw nb::value_error("edge does not fit");
    if (end && end->size() != stride) throw nb::value_error("end does not fit");
    if (given.has_value() != (kernel.kind == Kernel::kGiven) || (given && (given->shape(0) != n || given->shape(1) != n)))
      throw nb::value_error("a kernel that is given is a matrix [n_tokens, n_tokens]");
    DualProblem problem{corpus.data, corpus.starts.data(), gold.data(), corpus.n_sentences(), corpus.n_attributes, L, order};
    problem.weights = weights ? weights->data() : nullptr;
    problem.costs = costs ? costs->data() : nullptr;
    problem.edge = edge ? edge->data() : nullptr;
    problem.end = end ? end->data() : nullptr;
    core = std::make_unique<DualChain>(problem, kernel, given ? given->data() : nullptr, memory);
  }

  template <class Pass>
  auto run(const Array<std::int64_t, 1>& order, Pass pass) {
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order(i) < 0 || static_cast<std::size_t>(order(i)) >= corpus.n_sentences())
        throw nb::index_error("no such sentence");
    const PassResult result = interruptible(pass);
    return std::make_tuple(result.mistakes, result.updates, result.violation, result.gap);
  }
  auto margin_pass(const Array<std::int64_t, 1>& order, double c, double epsilon, bool hamming, std::size_t n_threads) {
    return run(order, [&](const Patience::GoOn& go_on) {
      return core->margin_pass(order.data(), order.size(), c, epsilon, hamming, n_threads, go_on);
    });
  }
  auto perceptron_pass(const Array<std::int64_t, 1>& order, std::size_t n_threads) {
    return run(order, [&](const Patience::GoOn& go_on) {
      return core->perceptron_pass(order.data(), order.size(), n_threads, go_on);
    });
  }

  // sentence [n], alpha [n], past [n], paths one after another
  auto sequences() const {
    std::vector<std::int64_t> sentence;
    std::vector<double> alpha, past;
    std::vector<std::int32_t> paths;
    for (std::size_t i = 0; i < core->sets.size(); ++i)
      for (const Sequence& one : core->sets[i]) {
        sentence.push_back(static_cast<std::int64_t>(i));
        alpha.push_back(one.alpha);
        past.push_back(one.past);
        paths.insert(paths.end(), one.path.begin(), one.path.end());
      }
    return std::make_tuple(to_numpy(std::move(sentence)), to_numpy(std::move(alpha)), to_numpy(std::move(past)),
                           to_numpy(std::move(paths)));
  }

  void restore(const Array<std::int64_t, 1>& sentence, const Array<double, 1>& alpha, const Array<double, 1>& past,
               const Array<std::int32_t, 1>& paths, std::int64_t clock, double dual) {
    if (alpha.size() != sentence.size() || past.size() != sentence.size()) throw nb::value_error("sequences that do not fit");
    check_finite(alpha, "an alpha that is not a number");
    check_finite(past, "a moment that is not a number");
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (paths(i) < 0 || static_cast<std::size_t>(paths(i)) >= corpus.n_labels) throw nb::index_error("no such label");
    std::size_t at = 0;
    core->clear();
    for (std::size_t k = 0; k < sentence.size(); ++k) {
      if (sentence(k) < 0 || static_cast<std::size_t>(sentence(k)) >= corpus.n_sentences())
        throw nb::index_error("no such sentence");
      const auto i = static_cast<std::size_t>(sentence(k));
      const std::size_t n = corpus.starts(i + 1) - corpus.starts(i);
      if (at + n > paths.size()) throw nb::value_error("sequences that do not fit");
      core->restore(i, {paths.data() + at, paths.data() + at + n}, alpha(k), past(k));
      at += n;
    }
    if (at != paths.size()) throw nb::value_error("sequences that do not fit");
    core->clock = clock;
    core->dual = dual;
  }

  // edge [L + 1, stride], tri or empty, rows (starts, labels, weights) of the linear kernel, and coefficients of others:
  // tokens, starts, labels, coefs.
  auto result(bool average) const {
    const DualWeights w = core->weights(average);
    const std::size_t L = corpus.n_labels, stride = padded(L);
    std::vector<std::uint32_t> row_starts{0};
    std::vector<std::uint16_t> row_labels, labels;
    std::vector<float> row_weights;
    for (std::size_t a = 0; a < w.rows.n_attributes(); ++a) {
      if (const double* row = w.rows.find(static_cast<std::int32_t>(a)))
        for (std::size_t z = 0; z < L; ++z)
          if (const auto weight = static_cast<float>(row[z]); weight != 0) {
            row_labels.push_back(static_cast<std::uint16_t>(z));
            row_weights.push_back(weight);
          }
      row_starts.push_back(static_cast<std::uint32_t>(row_labels.size()));
    }
    std::vector<std::int64_t> tokens, starts{0};
    std::vector<double> coefs;
    for (const auto& expansion : w.expansions)
      for (const Coefficient& one : expansion) {
        if (tokens.empty() || tokens.back() != one.observation) {
          tokens.push_back(one.observation);
          starts.push_back(starts.back());
        }
        labels.push_back(static_cast<std::uint16_t>(one.label));
        coefs.push_back(one.coef);
        ++starts.back();
      }
    const std::size_t depth = w.tri.empty() ? 0 : L + 1;
    return std::make_tuple(to_numpy(std::vector<double>(w.edge), {L + 1, stride}),
                           to_numpy(std::vector<double>(w.tri), {depth, L + 1, stride}),
                           std::make_tuple(to_numpy(std::move(row_starts)), to_numpy(std::move(row_labels)),
                                           to_numpy(std::move(row_weights))),
                           std::make_tuple(to_numpy(std::move(tokens)), to_numpy(std::move(starts)),
                                           to_numpy(std::move(labels)), to_numpy(std::move(coefs))));
  }
};

}  // namespace

void bind_kernels(nb::module_& module) {
  module.def("sparse_products", &sparse_products, "a"_a, "b"_a, "n_attributes"_a, "n_threads"_a,
             "The inner product of every token of a with every token of b.");
  nb::class_<PyExpansion>(module, "Expansion", "Scores of labels as sums of kernel values, checked.")
      .def(nb::init<const std::string&, int, double, double, const ListArrays&, const Array<std::int64_t, 1>&,
                    const Array<std::uint16_t, 1>&, const Array<double, 1>&, std::size_t, std::size_t>(),
           "kernel"_a, "degree"_a, "gamma"_a, "coef0"_a, "observations"_a, "starts"_a, "labels"_a, "coefs"_a,
           "n_attributes"_a, "n_labels"_a)
      .def("emit", &PyExpansion::emit, "lists"_a, "n_threads"_a, "Scores [n_tokens, n_labels].")
      .def("emit_given", &PyExpansion::emit_given, "k"_a, "The same from kernel values [n_support, n_tokens].");
  nb::class_<PyDual>(module, "DualChain", "Working sets of label sequences while they are learnt.")
      .def(nb::init<const Encoded&, Array<std::int32_t, 1>, int, const std::string&, int, double, double,
                    std::optional<Array<double, 2>>, std::size_t, std::optional<Array<double, 1>>,
                    std::optional<Array<float, 2>>, std::optional<Array<float, 2>>, std::optional<Array<float, 1>>>(),
           nb::keep_alive<1, 2>(), "corpus"_a, "gold"_a, "order"_a, "kernel"_a, "degree"_a, "gamma"_a, "coef0"_a,
           "given"_a.none(), "memory"_a, "weights"_a.none(), "costs"_a.none(), "edge"_a.none(), "end"_a.none())
      .def("margin_pass", &PyDual::margin_pass, "order"_a, "c"_a, "epsilon"_a, "hamming"_a, "n_threads"_a,
           "One pass of algorithm 3: (tokens mistaken, sentences changed, largest violation, gap).")
      .def("perceptron_pass", &PyDual::perceptron_pass, "order"_a, "n_threads"_a, "One pass of algorithm 1, the same.")
      .def_prop_ro("clock", [](const PyDual& self) { return self.core->clock; }, "Sentences visited.")
      .def_prop_ro("dual", [](const PyDual& self) { return self.core->dual; }, "The value of the margin's dual.")
      .def("sequences", &PyDual::sequences, "(sentence, alpha, past, paths) of the working sets.")
      .def("restore", &PyDual::restore, "sentence"_a, "alpha"_a, "past"_a, "paths"_a, "clock"_a, "dual"_a)
      .def("result", &PyDual::result, "average"_a,
           "(edge, tri, rows of the linear kernel, (tokens, starts, labels, coefs) of the others).");
}
