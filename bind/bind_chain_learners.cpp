// Learners of chains: online, and hidden Markov support vector machines by Frank-Wolfe.
#include <cmath>

#include "data.hpp"
#include "growing.hpp"
#include "learn/frank_wolfe.hpp"
#include "learn/online.hpp"
#include "rule.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// Sentences with their labels, checked; keeps the arrays it points into.
struct PyChainExamples {
  std::shared_ptr<Encoded> corpus;
  Ints gold;
  std::optional<SetArrays> partial;
  std::optional<Array<float, 2>> costs;
  trellis::Examples core;

  PyChainExamples(std::shared_ptr<Encoded> corpus_, Ints gold_, std::optional<SetArrays> partial_,
                  std::optional<Array<float, 2>> costs_)
      : corpus(std::move(corpus_)), gold(std::move(gold_)), partial(std::move(partial_)), costs(std::move(costs_)),
        core{corpus->data, corpus->starts.data(), gold.data()} {
    check_gold(gold, corpus->n_tokens(), corpus->n_labels, partial.has_value());
    check_costs(costs, corpus->n_labels);
    if (partial) core.partial = sets_from(*partial, corpus->n_labels, corpus->n_tokens());
    if (costs) core.costs = costs->data();
    make_read_only(std::tie(gold, partial));
  }
  std::size_t size() const { return corpus->n_sentences(); }
  trellis::Examples weighted(const double* weights) const {
    trellis::Examples out = core;
    out.weights = weights;
    return out;
  }
  void check_fits(const GrowingChain& weights) const {
    require(weights.n_labels == corpus->n_labels && weights.rows.n_attributes() == corpus->n_attributes &&
                weights.edge_rows.n_attributes() == corpus->n_edge_attributes && (!corpus->data.histories || weights.ngrams),
            "a corpus encoded for another model");
  }
};

// How many attributes, edge attributes and labels a chain has, its order, whether n-grams are sparse, parts of labels.
struct ChainShape {
  std::size_t n_attributes, n_edge_attributes, n_labels;
  int order;
  bool sparse;
  std::optional<PartArrays> parts;
  FIELDS(n_attributes, n_edge_attributes, n_labels, order, sparse, parts)

  const ChainShape& checked() const {
    check_labels(n_labels);
    require(order >= 0 && (sparse ? order >= 2 : order <= 2), "no such order");
    return *this;
  }
};

struct ChainOnline : Online {
  using Examples = PyChainExamples;

  ChainOnline(const ChainShape& shape, const std::string& rule, std::size_t k, double c, bool log)
      : Online(shape.checked().n_attributes, shape.n_edge_attributes, shape.n_labels, shape.order, shape.sparse,
               rule_from(rule, k, c), log, parts_from(shape.parts, shape.n_labels)) {}
  void check(const Examples& examples) const {
    examples.check_fits(*this);
    require(examples.corpus->kinds.empty() || (beam >= 1 && !examples.partial), "labels further back need a beam and known labels");
  }
  EpochResult pass(const Examples& examples, const Pass& pass) {
    const auto [order, scales, batch, n_threads, go_on] = pass;
    const trellis::Examples sentences = examples.weighted(scales);
    return epoch(sentences, order.data(), order.size(), batch, n_threads, go_on);
  }
  ChainOut learnt(bool average) const { return weights_of(*this, {average, static_cast<double>(clock)}, steps.logs()); }
  template <class Archive>
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    chain_fields(archive, *this);
    log_fields(archive, steps.log, [&](std::uint32_t row, std::uint32_t place) {
      return place < (row < rows.n_attributes() ? n_labels
                      : row <= pair_row()       ? edge.weights.size()
                      : row == pair_row() + 1   ? tri.weights.size()
                                                : 0);
    });
  }

  // Every weight that is not zero becomes the first update, for voting after a warm start.
  void log_initial() {
    each_weight([&](std::uint32_t row, std::uint32_t place) {
      const float weight = *find(row, place).weight;
      if (weight != 0 && !std::isinf(weight)) steps.log.add(row, place, weight);
    });
    steps.log.end_update(0);
  }
  void set_beam(std::size_t width, const std::string& name) {
    beam = ngram_scores.beam = width;
    update = name == "early" ? Update::kEarly : name == "standard" ? Update::kStandard : Update::kMaxViolation;
  }
  void set_ngrams(const NgramArrays& given, const Floats& weights) {
    require(ngrams && ngrams->size() == n_labels + 2, "n-grams for another training");
    make_ngrams(given, *ngrams);
    ngrams_grown();
    require(weights.size() == given.parents.size(), "n-grams need one weight each");
    std::copy_n(weights.data(), weights.size(), tri.weights.data() + n_labels + 2);
    ngrams_given();
  }
};

struct ChainFrankWolfe : FrankWolfe {
  using Examples = PyChainExamples;

  ChainFrankWolfe(const ChainShape& shape, std::size_t n_sentences, double c, bool zero_one)
      : FrankWolfe(shape.checked().n_attributes, shape.n_edge_attributes, shape.n_labels, shape.order, shape.sparse, n_sentences,
                   c, zero_one, parts_from(shape.parts, shape.n_labels)) {
    require(c > 0 && std::isfinite(c), "c must be positive");
  }
  void check(const Examples& examples) const {
    examples.check_fits(*this);
    require(steps.mixtures.size() == examples.size() && !examples.partial, "examples of another training");
  }
  MixtureResult pass(const Examples& examples, const Pass& pass) {
    return epoch(examples.weighted(pass.scales), pass.order.data(), pass.order.size(), pass.go_on);
  }
  void renew(const Examples& examples, const double* scales) { FrankWolfe::renew(examples.weighted(scales)); }
  ChainOut learnt(bool average) const { return weights_of(*this, {average, steps.moments()}); }
  template <class Archive>
  void fields(Archive& archive, const Examples* examples) {
    chain_fields(archive, *this);
    // A part is a token and three labels; with sparse n-grams the first of them is one, of segments it is a length.
    const auto to_numbers = [](const ChainPart& part) { return std::array<std::uint32_t, 4>{part.site, part.x, part.y, part.z}; };
    mixture_fields(archive, steps, to_numbers, [&](std::size_t s, const std::uint32_t* numbers) {
      const Encoded& corpus = *examples->corpus;
      const std::int64_t length = corpus.starts(s + 1) - corpus.starts(s);
      const std::uint32_t token = numbers[0], x = numbers[1], y = numbers[2], z = numbers[3];
      const SegmentSites* segments = corpus.data.segments;
      require(token < length && (!segments || std::int64_t{token} + x <= length), "a part out of its sentence");
      const bool fits = segments ? x <= segments->rules->longest
                        : ngrams ? x < ngrams->size() && ngrams->label(x) == z
                                 : x <= n_labels;
      require(fits && y <= n_labels && z < n_labels, "a part with no such label");
      return ChainPart{token, x, static_cast<std::uint16_t>(y), static_cast<std::uint16_t>(z)};
    });
  }
};

// The weights that a chain begins with: rows, and weights of label pairs, of triples and of last labels where they are given.
template <class Self>
void set_first_rows(Self& self, const RowArrays<std::uint32_t>& rows, bool grows) {
  set_rows(self.rows, rows, grows);
}
template <class Self>
void set_labels(Self& self, const Array<float, 2>& edge, const std::optional<Array<float, 3>>& tri,
                const std::optional<Floats>& end) {
  const auto copy = [](std::vector<float>& to, const auto& from) {
    require(from.size() == to.size(), "weights of labels that do not fit");
    std::copy_n(from.data(), from.size(), to.data());
  };
  copy(self.edge.weights, edge);
  if (tri) copy(self.tri.weights, *tri);
  check_end(end, self.n_labels);
  if (end) self.end.assign(end->data(), end->data() + end->size());
}
template <class Class>
auto& bind_first_weights(Class& bound) {
  using Self = typename Class::Type;
  return bound.def("set_rows", guarded(&set_first_rows<Self>), "rows"_a, "grows"_a,
                   "Begin with these rows; unless they grow, attributes get no other labels.")
      .def("set_labels", guarded(&set_labels<Self>), "edge"_array, "tri"_array.none(), "end"_array.none(),
           "Begin with these weights of label pairs, triples and last labels; minus infinity forbids.");
}

Numpy<double> losses(const PyChainExamples& examples, const Weights& weights, int order, bool zero_one, std::size_t n_threads) {
  examples.corpus->check_fits(weights);
  require(weights.ngrams || (order == 2) == weights.tri.has_value(), "weights of another order");
  require(!examples.partial, "margins need known labels");
  std::vector<double> out(examples.size());
  without_gil([&] { margin_losses(weights, order, examples.core, out.size(), zero_one, n_threads, out.data()); });
  return to_numpy(std::move(out));
}

}  // namespace

void bind_chain_learners(nb::module_& module) {
  nb::class_<PyChainExamples>(module, "ChainExamples", "Sentences with their labels, checked.")
      .def(nb::init<std::shared_ptr<Encoded>, Ints, std::optional<SetArrays>, std::optional<Array<float, 2>>>(),
           "corpus"_a, "gold"_array, "partial"_a.none() = nb::none(), "costs"_array.none() = nb::none());
  auto online = bind_online<ChainOnline>(module, "Online", "Weights of a chain while an online learner changes them.");
  using Online = PyLearner<ChainOnline>;
  bind_first_weights(online)
      .def(nb::init<const ChainShape&, const std::string&, std::size_t, double, bool>(), "shape"_a, "rule"_a, "k"_array, "c"_a, "log"_a)
      .def("set_edge_rows", guarded(+[](Online& self, const RowArrays<std::uint32_t>& rows) {
        set_rows(self.edge_rows, rows, true, self.ngrams ? &*self.ngrams : nullptr);
      }), "rows"_a)
      .def("set_beam", guarded<Online>(&ChainOnline::set_beam), "beam"_a, "update"_a, "Best paths are looked for among so many states per token; 0: all.")
      .def("set_ngrams", guarded<Online>(&ChainOnline::set_ngrams), "ngrams"_a, "weights"_array, "Begin with these n-grams of two labels and more.")
      .def("log_initial", guarded<Online>(&ChainOnline::log_initial), "The weights it begins with are the first update in the log.");
  auto frank_wolfe = bind_frank_wolfe<ChainFrankWolfe>(module, "FrankWolfe", "Weights and dual variables of a chain by Frank-Wolfe.");
  bind_first_weights(frank_wolfe)
      .def(nb::init<const ChainShape&, std::size_t, double, bool>(), "shape"_a, "n_sentences"_a, "c"_a, "zero_one"_a);
  module.def("margin_losses", &losses, "examples"_a, "weights"_a, nb::kw_only(), "order"_a, "zero_one"_a, "n_threads"_a,
             "The hinge loss of every sentence: max over paths of cost + score, less the score of gold.");
}
