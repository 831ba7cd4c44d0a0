// Learners of chains: online, and hidden Markov support vector machines by Frank-Wolfe.
#include "data.hpp"
#include "growing.hpp"
#include "learn/frank_wolfe.hpp"
#include "learn/online.hpp"

using namespace trellis;

namespace {

// Sizes of a chain: attributes, edge attributes, labels; its order, sparse n-grams, parts of labels.
struct ChainShape {
  std::size_t n_attributes, n_edge_attributes, n_labels;
  int order;
  bool sparse;
  std::optional<PartArrays> parts;
  FIELDS(n_attributes, n_edge_attributes, n_labels, order, sparse, parts)

  const ChainShape& checked() const {
    check_labels(n_labels);
    require(order >= 0 && (sparse ? order >= 2 : order <= 2), "order out of range");
    return *this;
  }
};

void check_fits(const GrowingChain& weights, const PyChainExamples& examples) {
  const Encoded& corpus = *examples.corpus;
  require(weights.n_labels == corpus.n_labels && weights.rows.n_attributes() == corpus.n_attributes &&
              weights.edge_rows.n_attributes() == corpus.n_edge_attributes && (!corpus.data.histories || weights.ngrams),
          "the corpus was encoded for another model");
}

struct ChainOnline : Online {
  using Examples = PyChainExamples;
  Pinned pinned;

  ChainOnline(const ChainShape& shape, const std::string& rule, std::size_t k, double c, bool log)
      : Online(shape.checked().n_attributes, shape.n_edge_attributes, shape.n_labels, shape.order, shape.sparse,
               rule_from(rule, k, c), log, parts_from(shape.parts, shape.n_labels)) {}
  void check(const Examples& examples) const {
    check_fits(*this, examples);
    require(examples.corpus->kinds.empty() || (beam >= 1 && !examples.partial),
            "labels further back need a beam and known labels");
  }
  EpochResult pass(const Examples& examples, const Pass& pass) {
    return epoch(examples.weighted(pass.scales), pass.order.data(), pass.order.size(), pass.batch, pass.n_threads, pass.go_on);
  }
  ChainOut learnt(bool average) const { return weights_of(*this, {average, static_cast<double>(clock)}, steps.logs()); }
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    chain_fields(archive, *this);
    log_fields(archive, steps.log, [&](std::uint32_t row, std::uint32_t place) { return has_weight(row, place); });
  }
  bool has_weight(std::uint32_t row, std::uint32_t place) const {
    return place < (row < rows.n_attributes() ? rows.n_labels()
                    : row <= pair_row()       ? edge.weights.size()
                    : row == pair_row() + 1   ? tri.weights.size()
                                              : 0);
  }
  GrowingChain& mixed() { return *this; }
  void take_weights(const ChainOnline& other) {
    require(!ngrams && !other.ngrams && rows.n_attributes() == other.rows.n_attributes() &&
                edge_rows.n_attributes() == other.edge_rows.n_attributes() && rows.n_labels() == other.rows.n_labels() &&
                tri.weights.size() == other.tri.weights.size(), "the weights are of another kind, or have sparse n-grams");
    set_weights(other);
  }

  // Every nonzero weight becomes part of the first update, for voting after a warm start.
  void log_initial() {
    each_weight([&](std::uint32_t row, std::uint32_t place) {
      const float weight = *find(row, place).weight;
      if (weight != 0 && !std::isinf(weight)) steps.log.add(row, place, weight);
    });
    steps.log.end_update(0);
  }
  void set_edge_rows(const RowArrays<std::uint32_t>& arrays) { set_rows(edge_rows, arrays, true, ngrams ? &*ngrams : nullptr); }
  void set_beam(std::size_t width, const std::string& name) {
    beam = ngram_scores.beam = width;
    update = name == "early" ? Update::kEarly : name == "standard" ? Update::kStandard : Update::kMaxViolation;
  }
  void set_ngrams(const NgramArrays& arrays, const Floats& weights) {
    require(ngrams && ngrams->size() == n_labels + 2, "the n-grams belong to another training run");
    make_ngrams(arrays.parents, arrays.labels, *ngrams);
    ngrams_grown();
    require(weights.size() == arrays.parents.size(), "there must be one weight per n-gram");
    std::copy_n(weights.data(), weights.size(), tri.weights.data() + n_labels + 2);
    ngrams_given();
  }
};

struct ChainFrankWolfe : FrankWolfe {
  using Examples = PyChainExamples;
  Pinned pinned;

  ChainFrankWolfe(const ChainShape& shape, std::size_t n_sentences, double c, bool zero_one)
      : FrankWolfe(shape.checked().n_attributes, shape.n_edge_attributes, shape.n_labels, shape.order, shape.sparse, n_sentences,
                   c, zero_one, parts_from(shape.parts, shape.n_labels)) {
    require(c > 0 && std::isfinite(c), "c must be positive");
  }
  void check(const Examples& examples) const {
    check_fits(*this, examples);
    require(steps.mixtures.size() == examples.size() && !examples.partial, "the examples belong to another training run");
  }
  MixtureResult pass(const Examples& examples, const Pass& pass) {
    return epoch(examples.weighted(pass.scales), pass.order.data(), pass.order.size(), pass.go_on);
  }
  void renew(const Examples& examples, const double* scales) { FrankWolfe::renew(examples.weighted(scales)); }
  ChainOut learnt(bool average) const { return weights_of(*this, {average, steps.moments()}); }
  void fields(Archive& archive, const Examples* examples) {
    chain_fields(archive, *this);
    // A part is a token and three labels; with sparse n-grams the first is an n-gram, for segments it is a length.
    const auto to_numbers = [](const ChainPart& part) { return std::array<std::uint32_t, 4>{part.site, part.x, part.y, part.z}; };
    mixture_fields(archive, steps, to_numbers, [&](std::size_t s, const std::uint32_t* numbers) {
      const Encoded& corpus = *examples->corpus;
      const std::int64_t length = corpus.starts(s + 1) - corpus.starts(s);
      const std::uint32_t token = numbers[0], x = numbers[1], y = numbers[2], z = numbers[3];
      const SegmentSites* segments = corpus.data.segments;
      require(token < length && (!segments || std::int64_t{token} + x <= length), "a part lies outside its sentence");
      const bool fits = segments ? x <= segments->rules->longest
                        : ngrams ? x < ngrams->size() && ngrams->label(x) == z
                                 : x <= n_labels;
      require(fits && y <= n_labels && z < n_labels, "label of a part out of range");
      return ChainPart{token, x, static_cast<std::uint16_t>(y), static_cast<std::uint16_t>(z)};
    });
  }
};

// The initial weights of a chain: rows, and weights of label pairs, of triples and of last labels.
template <class Class>
auto bind_first_weights(Class bound) {
  using Self = typename Class::Type;
  const auto rows = +[](Self& self, const RowArrays<std::uint32_t>& arrays, bool grows) { set_rows(self.rows, arrays, grows); };
  const auto labels = +[](Self& self, const Array<float, 2>& edge, const std::optional<Array<float, 3>>& tri,
                          const std::optional<Floats>& end) {
    const auto copy = [](std::vector<float>& to, const auto& from) {
      require(from.size() == to.size(), "weights of labels do not match the model");
      to.assign(from.begin(), from.end());
    };
    copy(self.edge.weights, edge);
    if (tri) copy(self.tri.weights, *tri);
    check_end(end, self.n_labels);
    if (end) self.end.assign(end->begin(), end->end());
  };
  return bound.def("set_rows", guarded(rows), "rows"_a, "grows"_a,
                   "Begin with these rows; unless they grow, attributes get no other labels.")
      .def("set_labels", guarded(labels), "edge"_a, "tri"_a.none(), "end"_a.none(),
           "Begin with these weights of label pairs, triples and last labels; minus infinity forbids.");
}

Out<double> losses(const PyChainExamples& examples, const Weights& weights, int order, bool zero_one, std::size_t n_threads) {
  examples.corpus->check_fits(weights);
  require(weights.ngrams || (order == 2) == weights.tri.has_value(), "the weights have another order");
  require(!examples.partial, "margins need known labels");
  std::vector<double> out(examples.size());
  without_gil([&] { margin_losses(weights.core, order, *examples.core, out.size(), zero_one, n_threads, out.data()); });
  return out;
}

}  // namespace

void bind_chain_learners(nb::module_& module) {
  nb::class_<PyChainExamples>(module, "ChainExamples", "Sentences with their labels, checked.").def(by_name());
  bind_first_weights(bind_mixed<ChainOnline>(module, "Online", "Weights of a chain while an online learner changes them."))
      .def(nb::init<const ChainShape&, const std::string&, std::size_t, double, bool>(), "shape"_a, "rule"_a,
           "k"_a, "c"_a, "log"_a)
      .def("set_edge_rows", guarded(&ChainOnline::set_edge_rows), "rows"_a)
      .def("set_beam", guarded(&ChainOnline::set_beam), "beam"_a, "update"_a,
           "Best paths are looked for among so many states per token; 0: all.")
      .def("set_ngrams", guarded(&ChainOnline::set_ngrams), "ngrams"_a, "weights"_a,
           "Begin with these n-grams of two labels and more.")
      .def("log_initial", guarded(&ChainOnline::log_initial), "The weights it begins with are the first update in the log.");
  bind_first_weights(bind_frank_wolfe<ChainFrankWolfe>(module, "FrankWolfe",
                                                       "Weights and dual variables of a chain by Frank-Wolfe."))
      .def(nb::init<const ChainShape&, std::size_t, double, bool>(), "shape"_a, "n_sentences"_a, "c"_a, "zero_one"_a);
  module.def("margin_losses", &losses, "examples"_a, "weights"_a, nb::kw_only(), "order"_a, "zero_one"_a, "n_threads"_a,
             "The hinge loss of every sentence: max over paths of cost + score, less the score of gold.");
}
