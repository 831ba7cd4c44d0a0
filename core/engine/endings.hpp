// The k best paths over states whose best beginnings are known. Endings grow backwards, the most promising first: alpha says
// exactly what the best beginning gives, so the first k endings that reach the front are the k best paths.
#pragma once
#include <queue>
#include <vector>

#include "engine/chain.hpp"

namespace trellis {

// The end of a path from token t on; what comes before it is known to score alpha of the state before.
template <class Real>
struct Ending {
  Real estimate;         // the best score of a path that ends so
  std::uint32_t t;       // its first token
  std::uint32_t before;  // the state before it
  std::int32_t rest;     // the ending from t + 1 on, -1: none
  std::int32_t label;
  Real after;            // what its labels from t on give
};

// `states` has
//   each_last(visit)          calls visit(state, what a path gives that ends in it)
//   each_way(t, state, visit) calls visit(before, alpha of it, what the step gives) for the ways into a state of token t
//   label(state)              its last label
// with states as numbers. Writes paths [k, T], best first, and gives how many there are. Ties: the lowest label wins,
// decided from the last label backwards; forbidden paths are left out.
template <class Real, class States>
std::size_t collect_endings(std::size_t T, std::size_t k, States& states, std::int32_t* paths) {
  std::vector<Ending<Real>> endings;
  const auto label_at = [&](std::int32_t e, std::size_t t) {
    while (endings[static_cast<std::size_t>(e)].t < t) e = endings[static_cast<std::size_t>(e)].rest;
    return endings[static_cast<std::size_t>(e)].label;
  };
  const auto worse = [&](std::int32_t a, std::int32_t b) {
    const Ending<Real>&x = endings[static_cast<std::size_t>(a)], &y = endings[static_cast<std::size_t>(b)];
    if (x.estimate != y.estimate) return x.estimate < y.estimate;
    for (std::size_t t = T; t-- > std::max(x.t, y.t);)
      if (label_at(a, t) != label_at(b, t)) return label_at(a, t) > label_at(b, t);
    return x.t != y.t ? x.t < y.t : a > b;  // of equally good ones the shorter: what it grows into may come first
  };
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, decltype(worse)> open(worse);
  // All ways into a state of token t.
  const auto grow = [&](std::size_t t, std::uint32_t state, Real after, std::int32_t rest) {
    states.each_way(t, state, [&](std::uint32_t before, Real alpha, Real step) {
      const Real whole = step + after, estimate = alpha + whole;
      if (estimate == kForbidden<Real>) return;
      endings.push_back({estimate, static_cast<std::uint32_t>(t), before, rest, states.label(state), whole});
      open.push(static_cast<std::int32_t>(endings.size() - 1));
    });
  };
  states.each_last([&](std::uint32_t state, Real end) { grow(T - 1, state, end, -1); });
  std::size_t n = 0;
  while (!open.empty() && n < k) {
    const std::int32_t e = open.top();
    open.pop();
    const Ending<Real> found = endings[static_cast<std::size_t>(e)];
    if (found.t > 0) {
      grow(found.t - 1, found.before, found.after, e);
      continue;
    }
    for (std::size_t t = 0; t < T; ++t) paths[n * T + t] = label_at(e, t);
    ++n;
  }
  return n;
}

}  // namespace trellis
