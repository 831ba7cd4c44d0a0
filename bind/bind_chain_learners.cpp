// Learners of chains: online, and hidden Markov support vector machines by Frank-Wolfe.
#include "data.hpp"
#include "growing.hpp"
#include "learn/chain_learners.hpp"

using namespace trellis;

namespace {

// Sizes of a chain: attributes, edge attributes, labels; its order, sparse n-grams, parts of labels, fixed scores of last
// labels, and rows with the only labels that attributes can have weights with.
struct ChainShape {
  std::size_t n_attributes, n_edge_attributes, n_labels;
  int order;
  bool sparse;
  std::optional<PartArrays> parts;
  std::optional<Floats> end;
  std::optional<RowArrays<std::uint32_t>> seen;
  FIELDS(n_attributes, n_edge_attributes, n_labels, order, sparse, parts, end, seen)

  const ChainShape& checked() const {
    check_labels(n_labels);
    require(order >= 0 && (sparse ? order >= 2 : order <= 2), "order out of range");
    check_end(end, n_labels);
    return *this;
  }
  void begin_with(GrowingChain& chain) const {
    if (end) chain.end.assign(end->begin(), end->end());
    if (!seen) return;
    const Rows<std::uint32_t> from = rows_from(*seen, chain.rows.n_labels());
    require(seen->starts.size() == n_attributes + 1, "there must be one row per attribute");
    chain.rows.stop_growing();
    for (std::size_t a = 0; a < n_attributes; ++a)
      for (std::uint32_t s = from.starts[a]; s < from.starts[a + 1]; ++s)
        chain.rows.set(static_cast<std::int32_t>(a), from.labels[s], from.weights[s]);
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

  ChainOnline(const ChainShape& shape, const std::string& rule, std::size_t k, double c, bool log, std::size_t width,
              const std::string& name)
      : Online(shape.checked().n_attributes, shape.n_edge_attributes, shape.n_labels, shape.order, shape.sparse,
               rule_from(rule, k, c), log, parts_from(shape.parts, shape.n_labels)) {
    shape.begin_with(*this);
    beam = ngram_scores.beam = width;
    update = name == "early" ? Update::kEarly : name == "standard" ? Update::kStandard : Update::kMaxViolation;
  }
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
};

struct ChainFrankWolfe : FrankWolfe {
  using Examples = PyChainExamples;
  Pinned pinned;

  ChainFrankWolfe(const ChainShape& shape, std::size_t n_sentences, double c, bool zero_one)
      : FrankWolfe(shape.checked().n_attributes, shape.n_edge_attributes, shape.n_labels, shape.order, shape.sparse, n_sentences,
                   c, zero_one, parts_from(shape.parts, shape.n_labels)) {
    require(c > 0 && std::isfinite(c), "c must be positive");
    shape.begin_with(*this);
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

Out<double> losses(const PyChainExamples& examples, const Weights& weights, int order, bool zero_one, std::size_t n_threads) {
  examples.corpus->check_fits(weights);
  require(weights.ngrams || (order == 2) == weights.tri.has_value(), "the weights have another order");
  require(!examples.partial, "margins need known labels");
  const std::size_t n = examples.size();
  return filled<double>(n, [&](double* out) { margin_losses(weights.core, order, *examples.core, n, zero_one, n_threads, out); });
}

}  // namespace

void bind_chain_learners(nb::module_& module) {
  bind_class<PyChainExamples>(module, "ChainExamples", "Sentences with their labels, checked.");
  bind_mixed<ChainOnline>(module, "Online", "Weights of a chain while an online learner changes them.")
      .def(nb::init<const ChainShape&, const std::string&, std::size_t, double, bool, std::size_t, const std::string&>(), "shape"_a,
           "rule"_a, "k"_a, "c"_a, "log"_a, "beam"_a, "update"_a,
           "Best paths are looked for among beam states per token; 0: all.");
  bind_frank_wolfe<ChainFrankWolfe>(module, "FrankWolfe", "Weights and dual variables of a chain by Frank-Wolfe.")
      .def(nb::init<const ChainShape&, std::size_t, double, bool>(), "shape"_a, "n_sentences"_a, "c"_a, "zero_one"_a);
  module.def("margin_losses", &losses, "examples"_a, "weights"_a, nb::kw_only(), "order"_a, "zero_one"_a, "n_threads"_a,
             "The hinge loss of every sentence: max over paths of cost + score, less the score of gold.");
}
