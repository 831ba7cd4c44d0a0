// The small quadratic programme of k-best MIRA, and of one sentence of the HM-SVM.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace trellis {

// The step w' = w + sum_i a_i d_i, d_i = Phi(gold) - Phi(y_i), that solves
//   min ½ |w' - w|² + C · xi   with   w' · d_i >= cost_i - xi  for every i,   xi >= 0.
// With the losses l_i = cost_i - w · d_i its dual is
//   max sum_i a_i l_i - ½ sum_ij a_i a_j G_ij,   G_ij = d_i · d_j,   a >= 0,   sum_i a_i <= C.
// The gold path is a further constraint of loss 0 that takes the rest of C, so the sum is exactly C, and
// dual ascent updates two constraints at a time (Hildreth's algorithm updates one at a time, with a slack each): from the
// one with the lowest slope to the one with the highest slope, as far as the dual rises. It ends when the slopes of any two
// constraints that could still exchange weight differ by at most 1e-9 of the largest loss. One constraint needs one step:
// a = min(C, l / |d|²).
class MarginQp {
 public:
  static constexpr double kTolerance = 1e-9;
  static constexpr std::size_t kMoves = 100'000;

  // losses [n], gram [n, n]; returns a [n]. The ascent starts at `start` [n], or at zero if that is empty, and
  // continues to the tolerance or, if that is larger, until slopes differ by at most `within`.
  const std::vector<double>& solve(const std::vector<double>& losses, const std::vector<double>& gram, double c,
                                   const std::vector<double>& start = {}, double within = 0) {
    const std::size_t n = losses.size();
    size_ = start;
    size_.resize(n, 0);
    slope_ = losses;
    double rest = c, scale = 1;
    for (double loss : losses) scale = std::max(scale, loss);
    for (std::size_t j = 0; j < n; ++j) {
      rest -= size_[j];
      if (size_[j] != 0)
        for (std::size_t i = 0; i < n; ++i) slope_[i] -= size_[j] * gram[i * n + j];
    }
    for (std::size_t move = 0; move < kMoves; ++move) {
      std::size_t up = n, down = n;  // n is the gold path
      for (std::size_t i = 0; i < n; ++i)
        if (slope_[i] > slope(up)) up = i;
      if (rest <= 0) down = up;
      for (std::size_t i = 0; i < n; ++i)
        if (size_[i] > 0 && (slope_[i] < slope(down))) down = i;
      const double rise = slope(up) - slope(down);
      if (rise <= std::max(within, kTolerance * scale)) break;
      const auto g = [&](std::size_t i, std::size_t j) { return i < n && j < n ? gram[i * n + j] : 0.0; };
      const double curve = g(up, up) + g(down, down) - 2 * g(up, down);
      double& from = down < n ? size_[down] : rest;
      const double by = curve > 0 ? std::min(from, rise / curve) : from;
      from -= by;
      (up < n ? size_[up] : rest) += by;
      for (std::size_t i = 0; i < n; ++i) slope_[i] -= by * (g(i, up) - g(i, down));
    }
    return size_;
  }

 private:
  double slope(std::size_t i) const { return i < slope_.size() ? slope_[i] : 0; }
  std::vector<double> size_, slope_;
};

}  // namespace trellis
