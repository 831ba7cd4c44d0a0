// The interface between learners and structures to predict. An output is an array of numbers, defined by the structure:
// for a chain the labels of a sentence (chains.hpp). A learner goes from example to example, requests the best
// outputs by the current weights, and receives updates as sparse vectors of features, costs and scores of parts.
#pragma once
#include <concepts>
#include <span>

#include "learn/steps.hpp"
#include "parallel.hpp"

namespace trellis {

template <class S>
concept Structure = requires(S structure, std::size_t i, const std::int32_t* output, Changes& d) {
  // Loads example i with the current weights: its scores and its gold output. False: nothing can be learnt from it.
  { structure.load(i) } -> std::same_as<bool>;
  // Whether the gold output is not forbidden.
  { structure.possible() } -> std::same_as<bool>;
  // The k best outputs by score, or by score + cost; returns their number.
  { structure.best(i, true) } -> std::same_as<std::size_t>;
  { structure.output(i) } -> std::same_as<const std::int32_t*>;
  // The number of wrong places in an output; 0: it is the gold output.
  { structure.n_wrong(output) } -> std::same_as<std::size_t>;
  { structure.cost(output) } -> std::same_as<double>;
  // d = Phi(gold) - Phi(output), part by part; appended, may contain duplicates.
  { structure.collect(output, d) };
  // Call before examples are loaded in parallel; whether collect() changes the weights, so that it must be called
  // sequentially.
  { structure.get_ready() };
  { structure.grows() } -> std::same_as<bool>;
};

// A part of an output, times an amount. Parts are comparable, and sorted by their `site`.
template <class Part>
struct Amount {
  Part part;
  double amount;
};

// Outputs that are sums of parts: Phi and the score of an output are sums over them.
template <class S>
concept PartStructure = Structure<S> && requires(S structure, std::size_t i, const std::int32_t* output, typename S::Part part,
                                                 std::span<const Amount<typename S::Part>> parts,
                                                 void (*of_part)(const typename S::Part&, double),
                                                 void (*of_feature)(const Change&)) {
  // Selects example i without computing scores.
  { structure.enter(i) };
  { structure.score(part) } -> std::same_as<double>;
  // Call before storing parts of an output: creates their weights. Missing parts are scored by the existing shorter ones.
  { structure.grow(output) };
  // Calls of_part(part, 1) for parts of only the gold output, of_part(part, -1) for parts of only this one; sites ascend.
  { structure.each_difference(output, of_part) };
  // Calls of_feature(change) for the features of parts of one site, times the amounts.
  { structure.each_feature(parts, of_feature) };
};

struct EpochResult {
  std::int64_t mistakes = 0;  // wrong places in the best outputs
  std::int64_t updates = 0;   // number of examples with an update
};

// Find the best outputs of an example, update the weights on errors, continue: one pass over n examples in the given order.
// The examples of a batch are decoded in parallel with the weights before it; then their steps are taken in order, each
// with the current weights. The bits depend on the batch size, not on the number of threads. make() returns the structure of
// one thread; `scales` [n_examples] multiply the steps (null: all one). If go_on returns false, the pass stops.
template <class MakeStructure, class Weights>
EpochResult online_pass(MakeStructure make, Weights& weights, Steps& steps, std::int64_t& clock, const std::int64_t* order,
                        std::size_t n, const double* scales, std::size_t batch, std::size_t n_threads, const Patience::GoOn& go_on) {
  static_assert(Structure<decltype(make())>);
  struct Wrong {
    double cost;
    Changes changes;
  };
  struct Decoded {
    decltype(make()) structure;
    std::size_t n_wrong = 0;                // places
    std::size_t n_best = 0, n_outputs = 0;  // number of outputs; of those to update on
    std::vector<Wrong> outputs{};
  };
  std::vector<Decoded> examples;
  examples.reserve(std::min(batch, n));
  for (std::size_t i = 0; i < std::min(batch, n); ++i) examples.push_back({make()});
  std::size_t first = 0;  // first index of the batch in `order`
  const auto scale = [&](std::size_t i) { return scales ? scales[order[first + i]] : 1; };
  const auto collect = [&](Decoded& example) {
    for (std::size_t k = 0; k < example.n_best; ++k)
      if (const std::int32_t* output = example.structure.output(k); example.structure.n_wrong(output)) {
        if (example.outputs.size() == example.n_outputs) example.outputs.emplace_back();
        Wrong& wrong = example.outputs[example.n_outputs++];
        wrong.changes.clear();
        wrong.cost = steps.rule().reads_costs() ? example.structure.cost(output) : 0;
        example.structure.collect(output, wrong.changes);
        if (steps.merges()) merge(wrong.changes);
      }
  };
  const auto decode = [&](std::size_t i) {
    Decoded& example = examples[i];
    auto& structure = example.structure;
    example.n_wrong = example.n_best = example.n_outputs = 0;
    if (scale(i) == 0 || !structure.load(static_cast<std::size_t>(order[first + i]))) return;
    example.n_best = structure.best(steps.rule().k, steps.rule().augmented());
    example.n_wrong = structure.n_wrong(structure.output(0));
    if (!structure.possible()) example.n_best = 0;
    if (!structure.grows()) collect(example);
  };
  EpochResult result;
  Rounds::run(std::min(n_threads, batch), decode, [&](auto each) {
    Patience patience(go_on);
    for (; first < n && !patience.ended(); first += batch) {
      const std::size_t size = std::min(batch, n - first);
      examples[0].structure.get_ready();
      each(size);
      for (std::size_t i = 0; i < size; ++i, ++clock) {
        Decoded& example = examples[i];
        if (example.structure.grows()) collect(example);
        result.mistakes += static_cast<std::int64_t>(example.n_wrong);
        steps.clear();
        for (std::size_t k = 0; k < example.n_outputs; ++k)
          steps.add(example.outputs[k].cost).swap(example.outputs[k].changes);
        result.updates += steps.take(weights, scale(i), clock, true);
      }
    }
  });
  return result;
}

// The hinge loss of the loaded example, and the output that attains it (Altun 2003, section 4.1):
//   H(w) = max(0, max_y cost(y) - w · (Phi(right) - Phi(y)))
struct Violation {
  double loss = 0, cost = 0;             // H(w), and cost(y) of that output
  const std::int32_t* output = nullptr;  // that output, or null: the gold output; owned by the structure
};

// `zero_one`: every wrong output costs 1, so that y is the best wrong one; else it is the best by score + cost.
template <PartStructure S>
Violation most_violated(S& structure, bool zero_one) {
  std::size_t n_outputs = structure.best(1, !zero_one), first = 0;
  if (zero_one && structure.n_wrong(structure.output(0)) == 0) n_outputs = structure.best(2, false), first = 1;
  if (first >= n_outputs) return {};
  const std::int32_t* output = structure.output(first);
  const double cost = structure.cost(output);
  double loss = cost;
  structure.each_difference(output, [&](const auto& part, double sign) { loss -= sign * structure.score(part); });
  return loss > 0 ? Violation{loss, cost, output} : Violation{};
}

}  // namespace trellis
