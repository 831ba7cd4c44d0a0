// The gradient of an objective in double.
#pragma once
#include <cmath>

#include "learn/objective.hpp"

namespace trellis::testing {

// As many losses and entries of the gradient as the vectors are long.
inline void gradient_of(Objective& objective, const double* parameters, const double* weights, std::size_t n_threads,
                        std::vector<double>& losses, std::vector<double>& gradient) {
  double bound = 1;
  for (std::size_t i = 0; i < objective.masses.size(); ++i) bound += objective.masses[i] * (weights ? weights[i] : 1);
  const int exponent = 61 - std::ilogb(bound);
  std::vector<std::int64_t> sums(gradient.size());
  objective.evaluate(parameters, weights, n_threads, losses.data(), FixedPoint(exponent), sums.data());
  for (std::size_t k = 0; k < sums.size(); ++k) gradient[k] = std::ldexp(static_cast<double>(sums[k]), -exponent);
}

}  // namespace trellis::testing
