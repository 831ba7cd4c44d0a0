#include "papers/kernel.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace trellis {

void items_of(const Sites& lists, std::size_t t, std::vector<Item>& out) {
  out.clear();
  lists.each(t, [&](std::int32_t attribute, float value) { out.push_back({attribute, value}); });
  merge(out);
}

Observations::Observations(const Sites& lists, std::size_t n, std::size_t n_attributes) : norms_(n, 0.0) {
  std::vector<Item> items;
  for (std::size_t o = 0; o < n; ++o) {
    items_of(lists, o, items);
    for (const Item& item : items) norms_[o] += static_cast<double>(item.by) * item.by;
    items_.add(items);
  }
  postings_.sort(n_attributes, [&](auto visit) {
    for (std::size_t o = 0; o < n; ++o)
      for (const auto& [number, by] : items_[o]) visit(static_cast<std::size_t>(number), Item{static_cast<std::int32_t>(o), by});
  });
}

// <x, o> = sum over attributes a of x of x_a · o_a
void Observations::products(std::span<const Item> x, double* out) const {
  std::fill_n(out, size(), 0.0);
  for (const Item& item : x) {
    const auto a = static_cast<std::size_t>(item.number);
    if (a >= postings_.size()) continue;
    for (const Item& posting : postings_[a]) out[posting.number] += static_cast<double>(item.by) * posting.by;
  }
}

void Observations::column(const Kernel& kernel, std::span<const Item> x, std::size_t stride, std::size_t column,
                          double* out, std::vector<double>& row) const {
  row.resize(size());
  products(x, row.data());
  double norm = 0;
  for (const Item& item : x) norm += static_cast<double>(item.by) * item.by;
  for (std::size_t o = 0; o < size(); ++o) out[o * stride + column] = kernel.value(row[o], norm, norms_[o]);
}

TRELLIS_CLONES void expand(const std::vector<Coefficient>& coefficients, const double* k, std::size_t k_stride,
                           std::size_t n_columns, double* out) {
  for (const Coefficient& one : coefficients) {
    const double* from = k + one.observation * k_stride;
    double* to = out + one.label * n_columns;
    for (std::size_t s = 0; s < n_columns; ++s) to[s] += one.coef * from[s];
  }
}

void expand_tokens(const Kernel& kernel, const Observations& support, const std::vector<Coefficient>& coefficients,
                   const Sites& lists, std::size_t n_tokens, std::size_t n_labels, std::size_t n_threads,
                   double* emit) {
  constexpr std::size_t kBlock = 16;  // tokens side by side, so that each coefficient is loaded once for all
  struct State {
    std::vector<Item> items;
    std::vector<double> row, k, sums;
  };
  parallel_blocks(n_tokens, kBlock, n_threads, [] { return State{}; },
                  [&](State& state, std::size_t first, std::size_t last) {
    state.k.resize(support.size() * kBlock);
    state.sums.assign(n_labels * kBlock, 0.0);
    for (std::size_t t = first; t < last; ++t) {
      items_of(lists, t, state.items);
      support.column(kernel, state.items, kBlock, t - first, state.k.data(), state.row);
    }
    expand(coefficients, state.k.data(), kBlock, kBlock, state.sums.data());
    for (std::size_t t = first; t < last; ++t)
      for (std::size_t z = 0; z < n_labels; ++z) emit[t * n_labels + z] = state.sums[z * kBlock + (t - first)];
  });
}

Gram::Gram(const Kernel& kernel, const Examples& examples, std::size_t n_attributes, const double* given, std::size_t memory)
    : kernel_(kernel), starts_(examples.starts), n_tokens_(examples.n_tokens()), given_(given) {
  if (given_) return;
  observations_ = Observations(examples.data.attributes, n_tokens_, n_attributes);
  if (kernel.kind == Kernel::kLinear) return;  // its scores come from weights: only a sentence's own block is needed
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
  parallel_blocks(kept_.size(), 4, n_threads, [] { return std::vector<double>(); },
                  [&](std::vector<double>& row, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (!kept_[i].empty()) continue;
      kept_[i].resize(n_tokens_ * static_cast<std::size_t>(starts_[i + 1] - starts_[i]));
      compute(i, kept_[i].data(), row);
    }
  });
}

GramBlock Gram::block(std::size_t i, std::vector<double>& scratch) const {
  const std::size_t begin = starts_[i], n = starts_[i + 1] - begin;
  if (given_) return {given_ + begin, n_tokens_};
  if (i < kept_.size()) return {kept_[i].data(), n};
  std::vector<double> row;
  scratch.resize(n_tokens_ * n);
  compute(i, scratch.data(), row);
  return {scratch.data(), n};
}

const double* Gram::own(std::size_t i, std::vector<double>& scratch) const {
  const std::size_t begin = starts_[i], n = starts_[i + 1] - begin;
  if (!given_ && i < kept_.size()) return kept_[i].data() + begin * n;
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
