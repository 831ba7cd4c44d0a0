#include "learn/example_sums.hpp"

#include <algorithm>
#include <mutex>

#include "learn/sparse.hpp"
#include "parallel.hpp"

namespace trellis {

void ExampleObjective::find_shares() {
  const std::vector<double> zeros(n_parameters_);
  const LossOf loss_of = make_loss_();
  GradientSink::Entries entries;
  shares_.assign(n_parameters_, 0);
  for (std::size_t i = 0; i < head_; ++i) {
    entries.clear();
    loss_of(i, zeros.data(), {&entries, 1});
    for (const auto& [p, amount] : entries) ++shares_[p];
  }
  for (double& share : shares_) share = share > 0 ? 1 / share : 0;
}

// Every thread has its own gradient; integers can be added in any order.
void ExampleObjective::evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses,
                                const FixedPoint& fixed, std::int64_t* gradient) {
  constexpr std::size_t kBlock = 8;  // examples
  struct Thread {
    LossOf loss_of;
    std::vector<std::int64_t> sums;
  };
  std::vector<std::unique_ptr<Thread>> threads;
  std::mutex mutex;
  const auto make = [&] {
    const std::lock_guard lock(mutex);
    return threads.emplace_back(new Thread{make_loss_(), std::vector<std::int64_t>(gradient ? n_parameters_ : 0)}).get();
  };
  parallel_blocks(n_examples_, kBlock, n_threads, make, [&](Thread* thread, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      losses[i] = thread->loss_of(i, x, gradient ? GradientSink(thread->sums.data(), fixed, weights ? weights[i] : 1) : GradientSink());
  });
  if (!gradient) return;
  std::fill_n(gradient, n_parameters_, 0);
  for (const auto& thread : threads)
    for (std::size_t p = 0; p < n_parameters_; ++p) gradient[p] += thread->sums[p];
}

void ExampleObjective::pass(const AdaGrad& rule, std::size_t head, const std::int64_t* order, std::size_t n, const double* weights,
                            std::size_t n_threads, double* x, double* squares, double* losses) {
  if (shares_.empty() || head_ != head) head_ = head, find_shares();
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
        // A parameter with several entries takes one step, by their sum.
        sum.clear();
        for (const auto& [p, amount] : batch[k].gradient) sum.add({p, 0, amount});
        for (const Change& change : sum.entries()) rule.step(x[change.row], squares[change.row], change.by, shares_[change.row]);
      }
    }
  });
}

}  // namespace trellis
