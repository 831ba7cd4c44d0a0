// What an online learner asks of a structure whose outputs it learns to predict. An output is an array of numbers, as
// the structure likes: of a chain the labels of a sentence.
#pragma once
#include <concepts>

#include "learn/steps.hpp"
#include "parallel.hpp"

namespace trellis {

template <class S>
concept Structure = requires(S structure, std::size_t i, const std::int32_t* output, Changes& d) {
  // Example i by the weights of now: its scores and its right output. False: nothing can be learnt from it.
  { structure.load(i) } -> std::same_as<bool>;
  // Whether the right output is not forbidden.
  { structure.possible() } -> std::same_as<bool>;
  // The k best outputs by score, or by score + cost; gives how many there are.
  { structure.best(i, true) } -> std::same_as<std::size_t>;
  { structure.output(i) } -> std::same_as<const std::int32_t*>;
  // In how many places an output is wrong; none: it is the right one.
  { structure.n_wrong(output) } -> std::same_as<std::size_t>;
  { structure.cost(output) } -> std::same_as<double>;
  // d = Phi(right) - Phi(output), part by part; appended, the same weight more than once perhaps.
  { structure.collect(output, d) };
};

struct EpochResult {
  std::int64_t mistakes = 0;  // places in which the best outputs were wrong
  std::int64_t updates = 0;   // examples that made a step
};

// Find the best outputs of an example, step away from what is wrong, go on: one pass over examples in the given order.
// `scales` [n_examples] multiply the steps (null: all one). Where go_on says no the pass ends.
template <Structure S, class Weights>
EpochResult online_pass(S& structure, Weights& weights, Steps& steps, std::int64_t& clock, const std::int64_t* order,
                        std::size_t n, const double* scales, const Patience::GoOn& go_on) {
  Patience patience(go_on);
  EpochResult result;
  for (std::size_t i = 0; i < n; ++i, ++clock) {
    if (patience.ended()) break;
    const double scale = scales ? scales[order[i]] : 1;
    if (scale == 0 || !structure.load(static_cast<std::size_t>(order[i]))) continue;
    const std::size_t n_outputs = structure.best(steps.rule().k, steps.rule().augmented());
    result.mistakes += static_cast<std::int64_t>(structure.n_wrong(structure.output(0)));
    if (!structure.possible()) continue;
    steps.clear();
    for (std::size_t k = 0; k < n_outputs; ++k)
      if (const std::int32_t* output = structure.output(k); structure.n_wrong(output))
        structure.collect(output, steps.add(steps.rule().reads_costs() ? structure.cost(output) : 0));
    result.updates += steps.take(weights, scale, clock);
  }
  return result;
}

}  // namespace trellis
