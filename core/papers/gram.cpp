#include "papers/gram.hpp"

#include "parallel.hpp"

namespace trellis {

Gram::Gram(const Kernel& kernel, const Examples& examples, std::size_t n_attributes, const double* given, std::size_t memory)
    : kernel_(kernel), starts_(examples.starts), n_tokens_(examples.n_tokens()), given_(given) {
  if (given_) return;
  observations_ = Observations(examples.data.attributes, n_tokens_, n_attributes);
  if (kernel.kind == Kernel::kLinear) return;  // its scores come from weights: only a sentence's own block is asked for
  std::size_t n = 0, bytes = 0;
  for (; n < examples.n_sentences; ++n) {
    bytes += n_tokens_ * static_cast<std::size_t>(starts_[n + 1] - starts_[n]) * sizeof(double);
    if (bytes > memory) break;
  }
  kept_.resize(n);
}

void Gram::compute(std::size_t i, double* out, std::vector<double>& row) const {
  const std::size_t begin = starts_[i], n = starts_[i + 1] - begin;
  for (std::size_t s = 0; s < n; ++s) observations_.column(kernel_, observations_[begin + s], n, s, out, row);
}

void Gram::fill(std::size_t n_threads) {
  if (filled_) return;
  filled_ = true;
  parallel_blocks(kept_.size(), 4, n_threads, [] { return std::vector<double>(); },
                  [&](std::vector<double>& row, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      kept_[i].resize(n_tokens_ * static_cast<std::size_t>(starts_[i + 1] - starts_[i]));
      compute(i, kept_[i].data(), row);
    }
  });
}

GramBlock Gram::block(std::size_t i, std::vector<double>& scratch) const {
  const std::size_t begin = starts_[i], n = starts_[i + 1] - begin;
  if (given_) return {given_ + begin, n_tokens_};
  if (i < kept_.size() && filled_) return {kept_[i].data(), n};
  std::vector<double> row;
  scratch.resize(n_tokens_ * n);
  compute(i, scratch.data(), row);
  return {scratch.data(), n};
}

const double* Gram::own(std::size_t i, std::vector<double>& scratch) const {
  const std::size_t begin = starts_[i], n = starts_[i + 1] - begin;
  if (!given_ && i < kept_.size() && filled_) return kept_[i].data() + begin * n;
  scratch.resize(n * n);
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t t = 0; t <= s; ++t) {
      const std::size_t a = begin + s, b = begin + t;
      const double k = given_ ? given_[a * n_tokens_ + b]
                              : kernel_.value(dot(observations_[a], observations_[b]), observations_.norm(a), observations_.norm(b));
      scratch[s * n + t] = scratch[t * n + s] = k;
    }
  return scratch.data();
}

}  // namespace trellis
