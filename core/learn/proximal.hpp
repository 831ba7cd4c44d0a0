// The step of a proximal quasi-Newton method: a quadratic model with an L1 penalty, minimised by coordinate descent.
//
//   d = argmin over d of  g · d + d · B d / 2 + c1 · |x + d|_1,   B = diagonal - Q M Q'
//
// B is the Hessian of L-BFGS in compact form (Byrd, Nocedal and Schnabel 1994): row k of Q is diagonal[k] · s_j[k] for
// every stored step s_j, then y_j[k] for every gradient change. Only weights that are not zero, or whose slope
// exceeds the penalty, are included.
#pragma once
#include <cstddef>

namespace trellis {

struct QuadraticModel {
  const double *x = nullptr, *slope = nullptr;        // [size]
  const double* diagonal = nullptr;                   // [size]
  const double *steps = nullptr, *changes = nullptr;  // [n_pairs, size]
  const double* middle = nullptr;                     // [2 · n_pairs, 2 · n_pairs] M, symmetric
  std::size_t n_pairs = 0, size = 0;
};

// Sweeps over the coordinates until one changes the model by less than `tolerance` of the first sweep's change, or
// `max_sweeps` times. `step` [size] is written. The bits do not depend on the number of threads.
void minimize_model(const QuadraticModel& model, double c1, std::size_t max_sweeps, double tolerance,
                    std::size_t n_threads, double* step);

}  // namespace trellis
