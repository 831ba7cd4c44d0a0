// Hidden Markov support vector machines by block-coordinate Frank-Wolfe, and the hinge losses of any weights.
#include <cmath>

#include "data.hpp"
#include "learn/frank_wolfe.hpp"
#include "growing.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

using Gold = Array<std::int32_t, 1>;
using SentenceWeights = std::optional<Array<double, 1>>;
using Costs = std::optional<Array<float, 2>>;

Examples examples_from(const FrankWolfe& self, const Encoded& corpus, const Gold& gold, const SentenceWeights& weights,
                       const Costs& costs) {
  if (self.n_labels != corpus.n_labels || self.rows.n_attributes() != corpus.n_attributes ||
      self.edge_rows.n_attributes() != corpus.n_edge_attributes || self.steps.mixtures.size() != corpus.n_sentences() ||
      (corpus.data.histories && !self.ngrams))
    throw nb::value_error("a corpus encoded for another model");
  check_gold(gold, corpus.n_tokens(), corpus.n_labels);
  check_weights(weights, corpus.n_sentences());
  check_costs(costs, corpus.n_labels);
  Examples examples{corpus.data, corpus.starts.data(), gold.data()};
  if (weights) examples.weights = weights->data();
  if (costs) examples.costs = costs->data();
  return examples;
}

std::tuple<std::int64_t, std::int64_t, double> epoch(FrankWolfe& self, const Encoded& corpus, const Gold& gold,
                                                     const Array<std::int64_t, 1>& order,
                                                     const SentenceWeights& weights, const Costs& costs) {
  const Examples examples = examples_from(self, corpus, gold, weights, costs);
  check_order(order, corpus.n_sentences());
  const MixtureResult result =
      interruptible([&](const auto& go_on) { return self.epoch(examples, order.data(), order.size(), go_on); });
  return {result.mistakes, result.updates, result.gap};
}

void renew(FrankWolfe& self, const Encoded& corpus, const Gold& gold, const SentenceWeights& weights) {
  const Examples examples = examples_from(self, corpus, gold, weights, std::nullopt);
  const WithoutGil released;
  self.renew(examples);
}

// Mixtures as arrays: starts [n_sentences + 1], tokens [n_parts], labels [n_parts, 3] (with sparse n-grams the first of
// them is one), amounts [n_parts], costs [n_sentences].
using MixturesIn = std::tuple<Array<std::int64_t, 1>, Array<std::uint32_t, 1>, Array<std::uint32_t, 2>, Array<double, 1>,
                            Array<double, 1>>;
auto mixtures_out(const std::vector<Mixture<ChainPart>>& mixtures) {
  std::vector<std::int64_t> starts{0};
  std::vector<std::uint32_t> tokens, labels;
  std::vector<double> amounts, costs;
  for (const Mixture<ChainPart>& mixture : mixtures) {
    for (const auto& [part, amount] : mixture.parts) {
      tokens.push_back(part.site), amounts.push_back(amount);
      labels.insert(labels.end(), {part.x, part.y, part.z});
    }
    starts.push_back(static_cast<std::int64_t>(tokens.size()));
    costs.push_back(mixture.cost);
  }
  const std::size_t n = tokens.size();
  return std::make_tuple(to_numpy(std::move(starts)), to_numpy(std::move(tokens)), to_numpy(std::move(labels), {n, 3}),
                         to_numpy(std::move(amounts)), to_numpy(std::move(costs)));
}
std::vector<Mixture<ChainPart>> mixtures_from(const FrankWolfe& self, const Encoded& corpus, const MixturesIn& given) {
  const auto& [starts, tokens, labels, amounts, costs] = given;
  const std::size_t n = corpus.n_sentences(), n_parts = tokens.size(), L = self.n_labels;
  require(self.steps.mixtures.size() == n && starts.size() == n + 1 && costs.size() == n && amounts.size() == n_parts &&
              labels.shape(0) == n_parts && labels.shape(1) == 3,
          "mixtures of another corpus");
  check_starts(starts, n_parts);
  std::vector<Mixture<ChainPart>> mixtures(n);
  const auto fits = [&](std::uint32_t x, std::uint32_t z) {
    if (corpus.data.segments) return x <= corpus.data.segments->rules->longest;
    return self.ngrams ? x < self.ngrams->size() && self.ngrams->label(x) == z : x <= L;
  };
  for (std::size_t s = 0; s < n; ++s) {
    const std::int64_t length = corpus.starts(s + 1) - corpus.starts(s);
    mixtures[s].cost = costs(s);
    for (std::int64_t i = starts(s); i < starts(s + 1); ++i) {
      if (tokens(i) >= length || (corpus.data.segments && tokens(i) + labels(i, 0) > length) || (i > starts(s) && tokens(i) < tokens(i - 1))) throw nb::value_error("tokens must rise");
      if (!fits(labels(i, 0), labels(i, 2)) || labels(i, 1) > L || labels(i, 2) >= L) throw nb::value_error("no such label");
      mixtures[s].parts.push_back({{tokens(i), labels(i, 0), static_cast<std::uint16_t>(labels(i, 1)),
                                    static_cast<std::uint16_t>(labels(i, 2))}, amounts(i)});
    }
  }
  return mixtures;
}

auto state_of(const FrankWolfe& self) {
  return std::make_tuple(self.steps.clock, self.steps.dual, row_state(self.rows), row_state(self.edge_rows),
                         table_state(self.edge), table_state(self.tri), ngram_state(self), mixtures_out(self.steps.mixtures));
}
void restore(FrankWolfe& self, const Encoded& corpus, std::int64_t clock, double dual, const RowState& rows,
             const RowState& edge_rows, const TableState& edge, const TableState& tri, const NgramArrays& ngrams,
             const MixturesIn& mixtures) {
  restore_ngrams(self, ngrams, tri);
  self.steps.mixtures = mixtures_from(self, corpus, mixtures);
  restore_rows(self.rows, rows);
  restore_rows(self.edge_rows, edge_rows, self.ngrams ? &*self.ngrams : nullptr);
  restore_table(self.edge, edge);
  self.steps.clock = clock, self.steps.dual = dual;
}

Numpy<double> losses(const Encoded& corpus, const Weights& weights, int order, const Gold& gold, bool zero_one,
                     const Costs& costs, std::size_t n_threads) {
  corpus.check_fits(weights);
  require(weights.ngrams || (order == 2) == weights.tri.has_value(), "weights of another order");
  check_gold(gold, corpus.n_tokens(), corpus.n_labels);
  check_costs(costs, corpus.n_labels);
  std::vector<double> out(corpus.n_sentences());
  without_gil([&] {
    Examples examples{corpus.data, corpus.starts.data(), gold.data()};
    if (costs) examples.costs = costs->data();
    margin_losses(weights, order, examples, corpus.n_sentences(), zero_one, n_threads, out.data());
  });
  return to_numpy(std::move(out));
}

}  // namespace

void bind_frank_wolfe(nb::module_& module) {
  module.def("margin_losses", &losses, "corpus"_a, "weights"_a, nb::kw_only(), "order"_a, "gold"_array, "zero_one"_a,
             "costs"_array.none(), "n_threads"_a,
             "The hinge loss of every sentence: max over paths of cost + score, less the score of gold.");
  nb::class_<FrankWolfe>(module, "FrankWolfe", "A chain's weights and dual variables by block-coordinate Frank-Wolfe.")
      .def("__init__", [](FrankWolfe* self, std::size_t n_attributes, std::size_t n_edge_attributes,
                          std::size_t n_labels, int order, bool sparse, std::size_t n_sentences, double c,
                          bool zero_one, const std::optional<PartArrays>& parts) {
        if (!(c > 0) || !std::isfinite(c)) throw nb::value_error("c must be positive");
        check_labels(n_labels);
        check_chain_order(order, sparse);
        new (self) FrankWolfe(n_attributes, n_edge_attributes, n_labels, order, sparse, n_sentences, c, zero_one,
                              parts_from(parts, n_labels));
      }, "n_attributes"_a, "n_edge_attributes"_a, "n_labels"_a, "order"_array, "sparse"_a, "n_sentences"_a, "c"_a, "zero_one"_a,
           "parts"_array.none() = nb::none())
      .def("set_rows", guarded(+[](FrankWolfe& self, const RowArrays<std::uint32_t>& rows) { set_rows(self.rows, rows, false); }),
           "rows"_array, "Attributes get no other labels than these.")
      .def("set_labels", guarded(+[](FrankWolfe& self, const Array<float, 1>& edge, const Array<float, 1>& end) {
        set_labels(self, edge, end);
      }), "edge"_array, "end"_array, "What is forbidden: minus infinity among label pairs and last labels (or none), else 0.")
      .def("epoch", guarded(&epoch), "corpus"_a, "gold"_array, "order"_array, "weights"_array.none(), "costs"_array.none(),
           "One pass over the sentences in that order: (tokens mistaken, sentences that made a step, gaps as met).")
      .def("renew", guarded(&renew), "corpus"_a, "gold"_array, "weights"_array.none(), "Weights and dual anew from all blocks.")
      .def("weights", guarded(+[](const FrankWolfe& self, bool average) {
        return weights_of(self, {average, self.steps.moments()});
      }), "average"_a, "(rows, edge rows, edge, tri, n-grams): the last weights, or their average with step k weighted by k.")
      .def_prop_ro("dual", [](const FrankWolfe& self) { return self.steps.dual; }, "The dual objective.")
      .def("state", guarded(&state_of), "(clock, dual, rows, edge rows, edge, tri, n-grams, blocks).")
      .def("restore", guarded(&restore), "corpus"_a, "clock"_a, "dual"_a, "rows"_array, "edge_rows"_array, "edge"_array, "tri"_array, "ngrams"_array, "blocks"_array,
           "Go on from that state; self must be as it was made.");
}
