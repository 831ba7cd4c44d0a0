// Losses of examples whose gradients are sparse: summed over all of them, or stepped along example by example.
//
// make() gives the scratch of one thread; loss_of(i, *scratch, add) gives the loss of example i and calls add(parameter,
// amount) for its gradient.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "learn/adagrad.hpp"
#include "learn/sparse.hpp"
#include "parallel.hpp"

namespace trellis {

// losses [n], and unless it is null gradient [n_parameters] of the sum of weights[i] · losses[i]. Each piece of the examples
// has a gradient of its own; they are summed in order, whatever the number of threads.
template <class Make, class LossOf>
void sum_examples(std::size_t n, std::size_t n_parameters, const double* weights, std::size_t n_threads, Make make, LossOf loss_of,
                  double* losses, double* gradient) {
  constexpr std::size_t kPieces = 4;
  const std::size_t piece = std::max<std::size_t>(1, (n + kPieces - 1) / kPieces);
  std::vector<std::vector<double>> parts(gradient ? kPieces : 0);
  parallel_blocks(n, piece, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    const auto scratch = make();
    double* own = nullptr;
    if (gradient) parts[begin / piece].assign(n_parameters, 0), own = parts[begin / piece].data();
    for (std::size_t i = begin; i < end; ++i) {
      const double weight = weights ? weights[i] : 1;
      losses[i] = loss_of(i, *scratch, [&](std::size_t p, double amount) {
        if (own) own[p] += weight * amount;
      });
    }
  });
  if (!gradient) return;
  std::fill_n(gradient, n_parameters, 0.0);
  for (const std::vector<double>& part : parts)
    for (std::size_t p = 0; p < part.size(); ++p) gradient[p] += part[p];
}

// One pass of steps over n examples in the given order; shares [n_parameters] as AdaGrad takes them.
template <class Make, class LossOf>
void pass_examples(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, std::size_t n_threads, Make make,
                   LossOf loss_of, const std::vector<double>& shares, double* x, double* squares, double* losses) {
  struct Example {
    decltype(make()) scratch;
    std::vector<std::pair<std::uint32_t, double>> gradient;
  };
  std::vector<Example> batch(std::min(rule.batch, std::max<std::size_t>(1, n)));
  for (Example& one : batch) one.scratch = make();
  std::size_t first = 0;
  const auto work = [&](std::size_t k) {
    const auto i = static_cast<std::size_t>(order[first + k]);
    Example& one = batch[k];
    one.gradient.clear();
    const double weight = weights ? weights[i] : 1;
    losses[i] = loss_of(i, *one.scratch, [&](std::size_t p, double amount) {
      one.gradient.emplace_back(static_cast<std::uint32_t>(p), weight * amount);
    });
  };
  Rounds::run(std::min(n_threads, batch.size()), work, [&](auto each) {
    SparseSum sum;
    for (; first < n; first += batch.size()) {
      const std::size_t size = std::min(batch.size(), n - first);
      each(size);
      for (std::size_t k = 0; k < size; ++k) {
        sum.clear();
        for (const auto& [p, amount] : batch[k].gradient) sum.add({p, 0, amount});
        for (const Change& change : sum.entries()) rule.step(x[change.row], squares[change.row], change.by, shares[change.row]);
      }
    }
  });
}

}  // namespace trellis
