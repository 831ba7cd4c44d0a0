// Weight changes of online learning passes over parts of the examples, all from the same initial weights, for parameter mixing
// (McDonald, Hall and Mann 2010).
#pragma once
#include "weights/growing_rows.hpp"

namespace trellis {

// For each changed weight, by key (row, then place). With N examples in the pass and sums u for averaging,
//   end = w_N - w_0,   mean = gamma - w_0 = end - (u_N - u_0 - c · end) / N,   c the clock at its start.
struct WeightChanges {
  std::vector<std::uint64_t> keys;   // ascending
  std::vector<double> ends, means;
  std::vector<double> precisions;  // changes of 1 / V; empty if weights have no variances
};

template <class Weights>
WeightChanges changes_between(Weights& start, std::int64_t start_clock, Weights& now, std::int64_t clock) {
  WeightChanges out;
  now.each_weight([&](std::uint32_t row, std::uint32_t place) {
    const LearntWeight at = now.find(row, place), before = start.find(row, place);
    const float old = before.weight ? *before.weight : 0, old_variance = before.variance ? *before.variance : 1;
    const double old_sum = before.sum ? *before.sum : 0;
    if (*at.weight == old && *at.sum == old_sum && (!at.variance || *at.variance == old_variance)) return;
    const double end = static_cast<double>(*at.weight) - old;
    out.keys.push_back(std::uint64_t{row} << 32 | place);
    out.ends.push_back(end);
    out.means.push_back(end - (*at.sum - old_sum - static_cast<double>(start_clock) * end) / static_cast<double>(clock - start_clock));
    if (at.variance) out.precisions.push_back(1 / static_cast<double>(*at.variance) - 1 / static_cast<double>(old_variance));
  });
  return out;
}

// The weights and their averages after another round with these mixed changes; the clock counts rounds.
// The average over rounds is w - u / n with
//   u_n = n · w_n - sum over rounds of (w before it + mean),   so that   u_n - u_(n-1) = n · (w_n - w_(n-1)) - mean.
template <class Weights>
void add_round(Weights& weights, std::int64_t& clock, const WeightChanges& changes) {
  ++clock;
  for (std::size_t i = 0; i < changes.keys.size(); ++i) {
    const std::uint64_t key = changes.keys[i];
    const LearntWeight at = weights.make(static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key));
    const float old = *at.weight;
    *at.weight += static_cast<float>(changes.ends[i]);
    *at.sum += static_cast<double>(clock) * (static_cast<double>(*at.weight) - old) - changes.means[i];
    if (at.variance) *at.variance = static_cast<float>(1 / (1 / static_cast<double>(*at.variance) + changes.precisions[i]));
  }
}

}  // namespace trellis
