#include "learn/kernel.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace trellis {

void items_of(const TokenAttributes& lists, std::size_t t, std::vector<Item>& out) {
  out.clear();
  for (std::int64_t i = lists.starts[t]; i < lists.starts[t + 1]; ++i)
    out.push_back({lists.ids[i], lists.values ? lists.values[i] : 1.0f});
  std::stable_sort(out.begin(), out.end(), [](const Item& a, const Item& b) { return a.attribute < b.attribute; });
  std::size_t n = 0;
  for (const Item& item : out) {
    if (n && out[n - 1].attribute == item.attribute) out[n - 1].value += item.value;
    else out[n++] = item;
  }
  out.resize(n);
}

Observations::Observations(const TokenAttributes& lists, std::size_t n, std::size_t n_attributes)
    : item_starts_(n + 1, 0), posting_starts_(n_attributes + 1, 0), norms_(n, 0.0) {
  std::vector<Item> items;
  for (std::size_t o = 0; o < n; ++o) {
    items_of(lists, o, items);
    for (const Item& item : items) {
      norms_[o] += static_cast<double>(item.value) * item.value;
      ++posting_starts_[static_cast<std::size_t>(item.attribute) + 1];
    }
    items_.insert(items_.end(), items.begin(), items.end());
    item_starts_[o + 1] = items_.size();
  }
  for (std::size_t a = 0; a < n_attributes; ++a) posting_starts_[a + 1] += posting_starts_[a];
  std::vector<std::size_t> next(posting_starts_.begin(), posting_starts_.end() - 1);
  postings_.resize(items_.size());
  for (std::size_t o = 0; o < n; ++o)
    for (const Item* item = begin(o); item != end(o); ++item)
      postings_[next[static_cast<std::size_t>(item->attribute)]++] = {static_cast<std::int32_t>(o), item->value};
}

// <x, o> = sum over attributes a of x of x_a · o_a
void Observations::products(const std::vector<Item>& x, double* out) const {
  std::fill_n(out, size(), 0.0);
  for (const Item& item : x) {
    const auto a = static_cast<std::size_t>(item.attribute);
    if (a >= n_attributes()) continue;
    for (std::size_t p = posting_starts_[a]; p < posting_starts_[a + 1]; ++p)
      out[postings_[p].observation] += static_cast<double>(item.value) * postings_[p].value;
  }
}

double Observations::product(std::size_t a, std::size_t b) const {
  double total = 0;
  const Item *i = begin(a), *j = begin(b);
  while (i != end(a) && j != end(b)) {
    if (i->attribute < j->attribute) ++i;
    else if (j->attribute < i->attribute) ++j;
    else total += static_cast<double>(i++->value) * j++->value;
  }
  return total;
}

void Observations::column(const Kernel& kernel, const std::vector<Item>& x, std::size_t stride, std::size_t column,
                          double* out, std::vector<double>& row) const {
  row.resize(size());
  products(x, row.data());
  double norm = 0;
  for (const Item& item : x) norm += static_cast<double>(item.value) * item.value;
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
                   const TokenAttributes& lists, std::size_t n_tokens, std::size_t n_labels, std::size_t n_threads,
                   double* emit) {
  constexpr std::size_t kBlock = 16;  // tokens side by side, so that one coefficient serves them all
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

}  // namespace trellis
