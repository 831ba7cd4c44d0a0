// Max-margin training by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013), for any structure whose outputs have parts:
//
//   primal   min_w  ½ |w|² + sum_i C_i H_i(w)                            H_i: most_violated() in structure.hpp
//   dual     max_a  sum_i C_i cost(a_i) - ½ |w(a)|²,   w(a) = sum_i w_i,  w_i = C_i sum_y a_i(y) (Phi(right) - Phi(y))
//
// a_i is a mixture of the outputs of example i, including the gold output: initially the gold output alone, w = 0. A step
// moves one mixture towards the output s that violates its margin most, by line search on the dual:
//
//   gap_i = C_i (H_i(w) - (cost(a_i) - w · v_i)),   w_i = C_i v_i,   w_s = C_i (Phi(right) - Phi(s))
//   step  = min(1, gap_i / |w_s - w_i|²),           w += step (w_s - w_i)
//
// The gaps of all examples at one w sum to the duality gap.
#pragma once
#include <cmath>

#include "learn/structure.hpp"
#include "weights/growing_rows.hpp"

namespace trellis {

// A mixture is stored by parts, not by features: w_i is the feature vector of its parts.
template <class Part>
struct Mixture {
  std::vector<Amount<Part>> parts;  // how much more often the gold output has them; sites ascending, no zeros
  double cost = 0;                  // cost(a_i)
};

struct MixtureResult {
  std::int64_t mistakes = 0;  // wrong places in the most violating outputs
  std::int64_t updates = 0;   // examples that made a step
  double gap = 0;             // sum of gap_i, each at the time of its step: an estimate of the duality gap
};

// Weights have find and make as in Steps, each_weight(visit), which calls visit(row, place) for all existing weights, and
// empty(), which returns zero weights of the same kind.
template <class Part>
class MixtureSteps {
 public:
  MixtureSteps(std::size_t n_examples, double c, bool zero_one) : c(c), zero_one(zero_one), mixtures(n_examples) {}

  // One pass over examples in the given order; an example whose gold output is forbidden is skipped. `scales`
  // [n_examples] multiply C (null: all one). If go_on returns false, the pass stops.
  template <PartStructure S, class Weights>
  MixtureResult pass(S& structure, Weights& weights, const std::int64_t* order, std::size_t n, const double* scales,
                     const Patience::GoOn& go_on) {
    Patience patience(go_on);
    MixtureResult result;
    for (std::size_t i = 0; i < n; ++i) {
      if (patience.ended()) break;
      ++clock;
      const auto example = static_cast<std::size_t>(order[i]);
      const double c_i = scales ? c * scales[example] : c;
      if (c_i > 0 && structure.load(example) && structure.possible())
        result.updates += step(structure, weights, mixtures[example], c_i, result);
    }
    return result;
  }

  // Recomputes w and the dual from all mixtures, in double, so that rounding errors of many steps do not accumulate.
  template <PartStructure S, class Weights>
  void renew(S& structure, Weights& weights, const double* scales) {
    Weights exact = weights.empty();  // its sums are double
    double costs = 0, norm = 0;
    for (std::size_t i = 0; i < mixtures.size(); ++i) {
      const double c_i = scales ? c * scales[i] : c;
      const std::span<const Amount<Part>> parts = mixtures[i].parts;
      costs += c_i * mixtures[i].cost;
      structure.enter(i);
      for (std::size_t first = 0, last = 0; first < parts.size(); first = last) {
        while (last < parts.size() && parts[last].part.site == parts[first].part.site) ++last;
        structure.each_feature(parts.subspan(first, last - first), [&](const Change& change) {
          *exact.make(change.row, change.place).sum += c_i * change.by;
        });
      }
    }
    const double now = moments();
    weights.each_weight([&](std::uint32_t row, std::uint32_t place) {
      const LearntWeight to = weights.find(row, place);
      if (std::isinf(*to.weight)) return;  // forbidden
      const double* sum = exact.find(row, place).sum;
      const double value = sum ? *sum : 0;
      const float old = *to.weight;
      *to.weight = static_cast<float>(value);
      *to.sum += now * (static_cast<double>(*to.weight) - old);
      norm += value * value;
    });
    dual = costs - 0.5 * norm;
  }

  // The average of w over all steps, step k with weight k: (K (K + 1) / 2 · w - sum) / (K (K + 1) / 2) after K of them.
  double moments() const { return 0.5 * static_cast<double>(clock) * (static_cast<double>(clock) + 1); }

  double c;
  bool zero_one;  // every wrong output costs 1
  std::vector<Mixture<Part>> mixtures;  // [n_examples]
  std::int64_t clock = 0;               // steps so far, including those of length 0
  double dual = 0;

 private:
  // Relative rounding error of amounts that should cancel; below the precision of w.
  static constexpr double kNothing = 1e-12;
  // Scores are sums of floats: a gap that is a smaller share of the cost may be their rounding error.
  static constexpr double kRounding = 1e-7;

  template <class S, class Weights>
  bool step(S& structure, Weights& weights, Mixture<Part>& mixture, double c_i, MixtureResult& result) {
    const Violation worst = most_violated(structure, zero_one);
    if (worst.output) result.mistakes += static_cast<std::int64_t>(structure.n_wrong(worst.output));

    // gap_i / C_i = H_i(w) - (cost(a_i) - w · v_i)
    double score = 0;
    for (const auto& [part, amount] : mixture.parts) score += amount * structure.score(part);
    const double gap = worst.loss - (mixture.cost - score);
    if (!(gap > kRounding * (1 + worst.cost))) return false;
    result.gap += c_i * gap;

    direct(structure, mixture, worst.output);
    const double norm = look_up(weights);  // |w_s - w_i|² / C_i²
    const double size = gap < c_i * norm ? gap / (c_i * norm) : 1;
    apply(weights, size * c_i);
    // Not relative to 1: with large attribute values all steps are small.
    double most = 0;
    for (std::size_t i = 0; i < direction_.size(); ++i) {
      direction_[i].amount = held_[i] + size * direction_[i].amount;
      most = std::max({most, std::fabs(held_[i]), std::fabs(direction_[i].amount)});
    }
    mixture.parts.clear();
    for (const Amount<Part>& one : direction_)
      if (std::fabs(one.amount) > kNothing * most) mixture.parts.push_back(one);
    mixture.cost += size * (worst.cost - mixture.cost);
    dual += c_i * size * (gap - 0.5 * size * c_i * norm);
    return true;
  }

  // (w_s - w_i) / C_i: by parts into direction_, by features into change_. Output null: s is the gold output.
  template <class S>
  void direct(S& structure, const Mixture<Part>& mixture, const std::int32_t* output) {
    direction_.clear(), held_.clear(), change_.clear(), difference_.clear();
    if (output) {
      structure.grow(output);
      structure.each_difference(output, [&](const Part& part, double sign) { difference_.push_back({part, sign}); });
    }
    const std::vector<Amount<Part>>& parts = mixture.parts;
    for (std::size_t p = 0, d = 0; p < parts.size() || d < difference_.size();) {
      const std::size_t first = direction_.size();
      const bool held_first = d == difference_.size() || (p < parts.size() && parts[p].part.site <= difference_[d].part.site);
      const auto site = held_first ? parts[p].part.site : difference_[d].part.site;
      for (; p < parts.size() && parts[p].part.site == site; ++p) {
        direction_.push_back({parts[p].part, -parts[p].amount});
        held_.push_back(parts[p].amount);
      }
      for (; d < difference_.size() && difference_[d].part.site == site; ++d) {
        std::size_t i = first;
        while (i < direction_.size() && !(direction_[i].part == difference_[d].part)) ++i;
        if (i < direction_.size()) direction_[i].amount += difference_[d].amount;
        else direction_.push_back(difference_[d]), held_.push_back(0);
      }
      structure.each_feature(std::span<const Amount<Part>>(direction_).subspan(first),
                             [&](Change change) { change_.add(change); });
    }
  }

  // |change_|². Also prefetches all weights that it changes: the weights and their sums lie scattered.
  // Flat (inlined), so that the loop does not wait for results returned through memory.
  template <class Weights>
  [[gnu::flatten]] double look_up(Weights& weights) {
    double norm = 0;
    places_.clear();
    for (const Change& change : change_.entries()) {
      norm += change.by * change.by;
      places_.push_back(weights.find(change.row, change.place));
      __builtin_prefetch(places_.back().weight, 1);
      __builtin_prefetch(places_.back().sum, 1);
    }
    return norm;
  }

  // w += scale · change_. Existing weights come first: creating new ones may move the others.
  template <class Weights>
  void apply(Weights& weights, double scale) {
    const double now = moments() - static_cast<double>(clock);  // over all earlier steps
    const auto add = [&](const LearntWeight& place, double by) {
      const float old = *place.weight;
      *place.weight += static_cast<float>(scale * by);
      *place.sum += now * (static_cast<double>(*place.weight) - old);
    };
    const Changes& changes = change_.entries();
    for (const bool made : {false, true})
      for (std::size_t i = 0; i < changes.size(); ++i)
        if (made == !places_[i].weight && std::fabs(changes[i].by) >= kNothing)
          add(made ? weights.make(changes[i].row, changes[i].place) : places_[i], changes[i].by);
  }

  // Scratch.
  std::vector<Amount<Part>> direction_, difference_;  // amounts of w_s - w_i; of w_s
  std::vector<double> held_;                          // parallel to direction_: amounts of w_i
  SparseSum change_;                                  // direction_ by features
  std::vector<LearntWeight> places_;                  // parallel to its entries
};

}  // namespace trellis
