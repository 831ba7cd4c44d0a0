#include "learn/example_sums.hpp"

#include <algorithm>

#include "learn/sparse.hpp"
#include "parallel.hpp"

namespace trellis {

ExampleObjective::ExampleObjective(std::size_t n_examples, std::size_t n_parameters, std::function<LossOf()> make_loss)
    : n_examples_(n_examples), make_loss_(std::move(make_loss)), shares_(n_parameters) {
  const std::vector<double> zeros(n_parameters);
  const LossOf loss_of = make_loss_();
  GradientSink::Entries entries;
  for (std::size_t i = 0; i < n_examples; ++i) {
    entries.clear();
    loss_of(i, zeros.data(), {&entries, 1});
    for (const auto& [p, amount] : entries) ++shares_[p];
  }
  for (double& share : shares_) share = share > 0 ? 1 / share : 0;
}

// Each piece of the examples has a gradient of its own; they are summed in order, whatever the number of threads.
void ExampleObjective::evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses, double* gradient) {
  constexpr std::size_t kLeastPieces = 4, kMostPieces = 32, kRoom = 64 << 20;  // pieces; bytes of all their gradients
  const std::size_t n = n_examples_, bytes = n_parameters() * sizeof(double);
  const std::size_t n_pieces = std::clamp(kRoom / (bytes + 1), kLeastPieces, kMostPieces);
  const std::size_t piece = std::max<std::size_t>(1, (n + n_pieces - 1) / n_pieces);
  std::vector<std::vector<double>> parts(gradient ? (n + piece - 1) / piece : 0);
  parallel_blocks(n, piece, n_threads, make_loss_, [&](const LossOf& loss_of, std::size_t begin, std::size_t end) {
    if (gradient) parts[begin / piece].assign(n_parameters(), 0);
    for (std::size_t i = begin; i < end; ++i)
      losses[i] = loss_of(i, x, gradient ? GradientSink(parts[begin / piece].data(), weights ? weights[i] : 1) : GradientSink());
  });
  if (!gradient) return;
  parallel_blocks(n_parameters(), 4096, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    std::fill(gradient + begin, gradient + end, 0.0);
    for (const std::vector<double>& part : parts)
      for (std::size_t p = begin; p < end; ++p) gradient[p] += part[p];
  });
}

void ExampleObjective::pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, std::size_t n_threads,
                            double* x, double* squares, double* losses) {
  struct Example {
    LossOf loss_of;
    GradientSink::Entries gradient;
  };
  std::vector<Example> batch(std::min(rule.batch, std::max<std::size_t>(1, n)));
  for (Example& one : batch) one.loss_of = make_loss_();
  std::size_t first = 0;
  const auto work = [&](std::size_t k) {
    const auto i = static_cast<std::size_t>(order[first + k]);
    batch[k].gradient.clear();
    losses[i] = batch[k].loss_of(i, x, {&batch[k].gradient, weights ? weights[i] : 1});
  };
  Rounds::run(std::min(n_threads, batch.size()), work, [&](auto each) {
    SparseSum sum;
    for (; first < n; first += batch.size()) {
      const std::size_t size = std::min(batch.size(), n - first);
      each(size);
      for (std::size_t k = 0; k < size; ++k) {
        // A parameter that came several times takes one step, along the sum.
        sum.clear();
        for (const auto& [p, amount] : batch[k].gradient) sum.add({p, 0, amount});
        for (const Change& change : sum.entries()) rule.step(x[change.row], squares[change.row], change.by, shares_[change.row]);
      }
    }
  });
}

}  // namespace trellis
