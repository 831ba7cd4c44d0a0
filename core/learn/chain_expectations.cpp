#include "learn/chain_expectations.hpp"

#include <algorithm>
#include <limits>

#include "engine/sum_product.hpp"

namespace trellis {
namespace {

TRELLIS_CLONES double both_passes(const Factors<double>& factors, const double* emit, std::size_t n,
                                  const double* token_edge, SumProductScratch<double>& w,
                                  const Expectations<double>& x) {
  return factors.tri.empty() ? sum_product_1(factors, emit, n, token_edge, 1.0, w, &x)
                             : sum_product_2(factors, emit, n, 1.0, w, &x);
}

}  // namespace

ChainExpectations::ChainExpectations(const Layout& layout, const ChainData& data, const std::int64_t* starts,
                           const std::int32_t* gold)
    : layout_(layout), data_(data), starts_(starts), gold_(gold), L_(layout.n_labels), stride_(padded(layout.n_labels)),
      pair_cells_((L_ + 1) * stride_), triple_cells_(layout.order == 2 ? (L_ + 1) * pair_cells_ : 0),
      first_edge_slot_(layout.row_labels.size()), first_pair_(first_edge_slot_ + layout.edge_row_labels.size()),
      first_triple_(first_pair_ + layout.edge_places.size()), row_has_weight_(layout.n_attributes) {}

void ChainExpectations::set(std::span<const double> parameters) {
  parameters_.assign(parameters.begin(), parameters.end());
  for (std::size_t a = 0; a < layout_.n_attributes; ++a) {
    row_has_weight_[a] = 0;
    for (std::uint32_t s = layout_.row_starts[a]; s < layout_.row_starts[a + 1]; ++s)
      row_has_weight_[a] |= parameters_[s] != 0;
  }
  edge_.assign(layout_.edge_base.begin(), layout_.edge_base.end());
  for (std::size_t i = 0; i < layout_.edge_places.size(); ++i)
    edge_[layout_.edge_places[i]] += parameters_[first_pair_ + i];
  tri_.assign(triple_cells_, 0);
  for (std::size_t i = 0; i < layout_.tri_places.size(); ++i)
    tri_[layout_.tri_places[i]] = parameters_[first_triple_ + i];
  set_factors();
}

void ChainExpectations::change(std::size_t k, double value) {
  parameters_[k] = value;
  if (k < first_edge_slot_) {
    const auto row = std::upper_bound(layout_.row_starts.begin(), layout_.row_starts.end(), k) - 1;
    row_has_weight_[row - layout_.row_starts.begin()] = 1;
  } else if (k >= first_triple_) {
    tri_[layout_.tri_places[k - first_triple_]] = value;
    set_factors();
  } else if (k >= first_pair_) {
    const std::int32_t place = layout_.edge_places[k - first_pair_];
    edge_[place] = layout_.edge_base[place] + value;
    set_factors();
  }
}

void ChainExpectations::set_factors() {
  exp_table(edge_, exponentials_.edge);
  if (triple_cells_) exp_table(tri_, exponentials_.tri);
  if (!layout_.end_base.empty()) exp_table({layout_.end_base.begin(), layout_.end_base.end()}, exponentials_.end);
  trellis::set_factors(edge_, tri_, layout_.end_base, L_, factors_);
}

void ChainExpectations::exp_table(const std::vector<double>& table, std::vector<double>& out) const {
  double top = kForbidden<double>;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (i % stride_ < L_) top = std::max(top, table[i]);
  if (top == kForbidden<double>) top = 0;
  out.assign(table.size(), 0);
  for (std::size_t i = 0; i < table.size(); ++i)
    if (i % stride_ < L_) out[i] = std::exp(table[i] - top);
}

// emit[t, z] = sum over attributes a at t of value(a) · w[a, z], minus infinity for labels the dictionary forbids
// edge[t, y, z] = edge[y, z] + sum over edge attributes a at t of value(a) · w[a, (y, z)]
void ChainExpectations::fill_potentials(std::size_t s, Scratch& w) const {
  const std::size_t begin = starts_[s], n = starts_[s + 1] - begin;
  const Sites &at = data_.attributes, &edge_at = data_.edge_attributes;
  w.emit.assign(n * stride_, 0);
  for (std::size_t t = 0; t < n; ++t) {
    double* emit = w.emit.data() + t * stride_;
    for (std::int64_t i = at.starts[begin + t]; i < at.starts[begin + t + 1]; ++i) {
      const std::int32_t a = at.ids[i];
      if (!row_has_weight_[a]) continue;
      const double value = at.values ? at.values[i] : 1;
      for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
        emit[layout_.row_labels[k]] += value * parameters_[k];
    }
    if (!data_.sets.starts) continue;
    const ListedLabels allowed = labels_of(data_.sets, begin + t);
    for (std::size_t z = 0, next = 0; z < L_; ++z) {
      if (next < allowed.size() && allowed[next] == z) ++next;
      else emit[z] = kForbidden<double>;
    }
  }
  if (!edges_by_token()) return;
  w.token_edge.resize(n * pair_cells_);
  for (std::size_t t = 0; t < n; ++t) {
    double* edge = w.token_edge.data() + t * pair_cells_;
    std::copy(edge_.begin(), edge_.end(), edge);
    for (std::int64_t i = edge_at.starts[begin + t]; i < edge_at.starts[begin + t + 1]; ++i)
      for (std::uint32_t k = layout_.edge_row_starts[edge_at.ids[i]]; k < layout_.edge_row_starts[edge_at.ids[i] + 1]; ++k)
        edge[layout_.edge_row_labels[k]] += edge_at.value(i) * parameters_[first_edge_slot_ + k];
  }
}

double ChainExpectations::run(std::size_t s, Scratch& w) const {
  const std::size_t begin = starts_[s], n = starts_[s + 1] - begin;
  if (n == 0) return 0;
  fill_potentials(s, w);
  const bool by_token = edges_by_token();
  w.node.resize(n * stride_);
  w.pairs.assign((stride_ + 1) * stride_, 0);
  w.pair_sums.assign(pair_cells_, 0);
  w.triples.assign(triple_cells_, 0);
  if (by_token) w.token_pairs.assign(n * pair_cells_, 0);
  const Expectations<double> x{w.node.data(), w.pairs.data(), w.pair_sums.data(), w.triples.data(),
                               w.token_pairs.data()};
  double log_z = kForbidden<double>;
  if (!(by_token && triple_cells_))
    log_z = both_passes(factors_, w.emit.data(), n, by_token ? w.token_edge.data() : nullptr, w.sums, x);
  if (std::isfinite(log_z)) {
    // P(y, z) = product · E[y][z]; the same for triples
    for (std::size_t i = 0; i < pair_cells_; ++i) w.pairs[i] = w.pairs[i] * factors_.edge[i] + w.pair_sums[i];
    for (std::size_t i = 0; i < triple_cells_; ++i) w.triples[i] *= factors_.tri[i];
  } else {
    log_z = exact_run(n, w);
  }
  if (by_token) {
    std::fill(w.pairs.begin(), w.pairs.end(), 0.0);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t i = t ? 0 : L_ * stride_; i < (t ? L_ * stride_ : pair_cells_); ++i)
        w.pairs[i] += w.token_pairs[t * pair_cells_ + i];
  }
  const double loss = log_z - gold_score(begin, n, w);
  return std::isnan(loss) ? std::numeric_limits<double>::infinity() : std::max(0.0, loss);
}

double ChainExpectations::gold_score(std::size_t begin, std::size_t n, const Scratch& w) const {
  double score = 0;
  std::size_t x = L_, y = L_;
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t z = gold_[begin + t], pair = y * stride_ + z;
    score += w.emit[t * stride_ + z] + (edges_by_token() ? w.token_edge[t * pair_cells_ + pair] : edge_[pair]);
    if (triple_cells_) score += tri_[(x * (L_ + 1) + y) * stride_ + z];
    x = y;
    y = z;
  }
  return layout_.end_base.empty() ? score : score + layout_.end_base[y];
}

// The same by logarithms, where factors underflow, and for edges that differ by token at order 2.
double ChainExpectations::exact_run(std::size_t n, Scratch& w) const {
  const bool by_token = edges_by_token();
  w.exact_end.clear();
  if (!layout_.end_base.empty())
    for (std::size_t y = 0; y < (triple_cells_ ? L_ + 1 : 1); ++y)
      w.exact_end.insert(w.exact_end.end(), layout_.end_base.begin(), layout_.end_base.end());
  ChainView<double> chain{};
  chain.n_tokens = n;
  chain.n_labels = L_;
  chain.stride = stride_;
  chain.emit = w.emit.data();
  chain.edge = by_token ? w.token_edge.data() : edge_.data();
  chain.edge_per_token = by_token;
  chain.tri = triple_cells_ ? tri_.data() : nullptr;
  chain.end = w.exact_end.empty() ? nullptr : w.exact_end.data();
  prepare_sums(chain, w.exact);
  w.exact_node.resize(n * L_);
  w.exact_pairs.resize(n * (L_ + 1) * L_);
  const double log_z = marginals(chain, w.exact, w.exact_node.data(), w.exact_pairs.data());
  std::fill(w.node.begin(), w.node.end(), 0.0);
  std::fill(w.pairs.begin(), w.pairs.end(), 0.0);
  std::fill(w.triples.begin(), w.triples.end(), 0.0);
  for (std::size_t t = 0; t < n; ++t) {
    std::copy_n(w.exact_node.data() + t * L_, L_, w.node.data() + t * stride_);
    for (std::size_t y = 0; y <= L_; ++y)
      for (std::size_t z = 0; z < L_; ++z) {
        const double p = w.exact_pairs[(t * (L_ + 1) + y) * L_ + z];
        w.pairs[y * stride_ + z] += p;
        if (by_token) w.token_pairs[t * pair_cells_ + y * stride_ + z] = p;
      }
  }
  if (!triple_cells_ || !std::isfinite(log_z)) return log_z;
  // P(x, y, z) = exp(alpha[t-1][x][y] + tri[x][y][z] + edge[y][z] + emit[t][z] + beta[t][y][z] - log Z)
  const std::size_t token = L_ * stride_;
  const double *alpha = w.exact.alpha.grow(0), *beta = w.exact.beta.grow(0);
  for (std::size_t z = 0; z < L_; ++z)
    w.triples[(L_ * (L_ + 1) + L_) * stride_ + z] += std::exp(alpha[z] + beta[z] - log_z);
  for (std::size_t t = 1; t < n; ++t)
    for (std::size_t x = t > 1 ? 0 : L_; x < (t > 1 ? L_ : L_ + 1); ++x)
      for (std::size_t y = 0; y < L_; ++y)
        for (std::size_t z = 0; z < L_; ++z)
          w.triples[(x * (L_ + 1) + y) * stride_ + z] +=
              std::exp(alpha[(t - 1) * token + (t > 1 ? x * stride_ : 0) + y] + chain.tri_at(x, y)[z] +
                       chain.edge_at(t, y)[z] + chain.emit_at(t)[z] + beta[t * token + y * stride_ + z] - log_z);
  return log_z;
}

}  // namespace trellis
