// Weights that grow while they are learnt, on their way from and to Python.
#pragma once
#include <numeric>

#include "ngrams.hpp"
#include "weights/growing_chain.hpp"

// Rows, and beside each weight its sum for averaging and its variance.
using RowState = std::tuple<Array<std::uint32_t, 1>, Array<std::uint32_t, 1>, Array<float, 1>, Array<double, 1>,
                            Array<float, 1>>;
// Both with n-grams for rows of edge attributes.
inline void set_rows(trellis::GrowingRows& rows, const RowArrays<std::uint32_t>& given, bool grows,
                     const trellis::Ngrams* ngrams = nullptr) {
  const trellis::Rows<std::uint32_t> from = run_rows_from(given, rows.n_labels(), ngrams);
  require(std::get<0>(given).size() == rows.n_attributes() + 1, "one row per attribute");
  if (!grows) rows.stop_growing();
  for (std::size_t a = 0; a < rows.n_attributes(); ++a)
    for (std::uint32_t s = from.starts[a]; s < from.starts[a + 1]; ++s)
      rows.set(static_cast<std::int32_t>(a), from.labels[s], from.weights[s]);
}
inline void restore_rows(trellis::GrowingRows& rows, const RowState& given, const trellis::Ngrams* ngrams = nullptr) {
  const auto& [starts, labels, weights, sums, variances] = given;
  const trellis::Rows<std::uint32_t> from = run_rows_from({starts, labels, weights}, rows.n_labels(), ngrams);
  require(starts.size() == rows.n_attributes() + 1 && sums.size() == labels.size() && variances.size() == labels.size(),
          "rows of another training");
  for (std::size_t a = 0; a < rows.n_attributes(); ++a)
    for (std::uint32_t s = from.starts[a]; s < from.starts[a + 1]; ++s) {
      const trellis::LearntWeight place = rows.make(static_cast<std::int32_t>(a), from.labels[s]);
      *place.weight = from.weights[s];
      *place.sum = sums(s);
      if (place.variance) *place.variance = variances(s);
    }
}

template <class T>
void copy_to(std::vector<T>& to, const Array<T, 1>& from) {
  require(from.size() == to.size(), "an array of another length");
  std::copy_n(from.data(), from.size(), to.data());
}

using TableState = std::tuple<Array<float, 1>, Array<double, 1>, Array<float, 1>>;  // weights, sums, variances
inline void restore_table(trellis::LearntTable& table, const TableState& given) {
  copy_to(table.weights, std::get<0>(given));
  copy_to(table.sums, std::get<1>(given));
  copy_to(table.variances, std::get<2>(given));
}

// The weight itself, or its average over all moments of training.
struct Mean {
  bool average;
  double n;
  float operator()(float weight, double sum) const {
    return average && n > 0 ? static_cast<float>((n * weight - sum) / n) : weight;
  }
};

using RowsOut = std::tuple<Numpy<std::uint32_t>, Numpy<std::uint32_t>, Numpy<float>>;
struct PlainRows {
  std::vector<std::uint32_t> starts, labels;
  std::vector<float> weights;
  RowsOut out() && { return {to_numpy(std::move(starts)), to_numpy(std::move(labels)), to_numpy(std::move(weights))}; }
};
inline PlainRows plain_rows(const trellis::GrowingRows& rows, const Mean& mean) {
  PlainRows to{std::vector<std::uint32_t>(rows.n_attributes() + 1), {}, {}};
  rows.each([&](std::size_t a, std::uint32_t label, float weight, double sum, float) {
    const float value = mean(weight, sum);
    if (value != 0) ++to.starts[a + 1], to.labels.push_back(label), to.weights.push_back(value);
  });
  std::partial_sum(to.starts.begin(), to.starts.end(), to.starts.begin());
  return to;
}
inline RowsOut rows_out(const trellis::GrowingRows& rows, const Mean& mean) { return plain_rows(rows, mean).out(); }

// Parents, last labels, weights. Those with a weight, of their own or with an attribute (`columns` of rows, from n_pairs
// on), all that are part of one, and no others; or `all`. Columns get their new numbers.
using NgramsOut = std::tuple<Numpy<std::uint32_t>, Numpy<std::uint16_t>, Numpy<float>>;
inline NgramsOut ngrams_out(const trellis::Ngrams& ngrams, const std::vector<float>& weights, std::size_t n_pairs,
                            std::span<std::uint32_t> columns, bool all = false) {
  std::vector<std::uint8_t> kept(ngrams.size(), all);
  std::vector<float> out;
  for (std::uint32_t column : columns)
    if (column >= n_pairs) kept[column - n_pairs] = 1;
  for (auto g = static_cast<std::uint32_t>(ngrams.size()); g-- > 0;) {
    kept[g] |= ngrams.length(g) <= 1 || (ngrams.length(g) >= trellis::kScored && weights[g] != 0);
    if (kept[g]) kept[ngrams.parent(g)] = kept[ngrams.shorter(g)] = 1;
  }
  for (std::uint32_t g = 0; g < ngrams.size(); ++g)
    if (kept[g] && ngrams.length(g) > 1) out.push_back(ngrams.length(g) < trellis::kScored ? 0 : weights[g]);
  auto [parents, labels] = ngram_arrays(ngrams, &kept);
  std::vector<std::uint32_t> number(ngrams.size());
  std::exclusive_scan(kept.begin(), kept.end(), number.begin(), 0u);
  for (std::uint32_t& column : columns)
    if (column >= n_pairs) column = static_cast<std::uint32_t>(n_pairs + number[column - n_pairs]);
  return {parents, labels, to_numpy(std::move(out))};
}

// Rows, edge rows, edge [L + 1, stride], tri [L + 1, L + 1, stride] or empty, n-grams or none; weights of zero are left
// out of rows.
inline std::tuple<RowsOut, RowsOut, Numpy<float>, Numpy<float>, std::optional<NgramsOut>> weights_of(
    const trellis::GrowingChain& self, const Mean& mean, bool all_ngrams = false) {
  if (self.ngrams) {
    std::vector<float> long_ones(self.tri.weights.size()), pairs(self.edge.weights.size());
    for (std::size_t s = 0; s < long_ones.size(); ++s) long_ones[s] = mean(self.tri.weights[s], self.tri.sums[s]);
    for (std::size_t s = 0; s < pairs.size(); ++s) pairs[s] = mean(self.edge.weights[s], self.edge.sums[s]);
    PlainRows edge_rows = plain_rows(self.edge_rows, mean);
    auto ngrams = ngrams_out(*self.ngrams, long_ones, pairs.size(), edge_rows.labels, all_ngrams);
    return {rows_out(self.rows, mean), std::move(edge_rows).out(), to_numpy(std::move(pairs), {self.n_labels + 1, self.stride}),
            to_numpy(std::vector<float>{}, {0, self.n_labels + 1, self.stride}), std::move(ngrams)};
  }
  const auto means = [&](const trellis::LearntTable& table, std::vector<std::size_t> shape) {
    std::vector<float> out(table.weights.size());
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = mean(table.weights[s], table.sums[s]);
    return to_numpy(std::move(out), std::move(shape));
  };
  const std::size_t n = self.n_labels + 1, depth = self.order == 2 ? n : 0;
  return {rows_out(self.rows, mean), rows_out(self.edge_rows, mean), means(self.edge, {n, self.stride}),
          means(self.tri, {depth, n, self.stride}), std::nullopt};
}

// All that is needed to go on as if nothing had happened: weights, sums and variances that training has changed.
using RowStateOut = std::tuple<Numpy<std::uint32_t>, Numpy<std::uint32_t>, Numpy<float>, Numpy<double>, Numpy<float>>;
inline RowStateOut row_state(const trellis::GrowingRows& rows) {
  std::vector<std::uint32_t> starts(rows.n_attributes() + 1), labels;
  std::vector<float> weights, variances;
  std::vector<double> sums;
  rows.each([&](std::size_t a, std::uint32_t label, float weight, double sum, float variance) {
    if (weight == 0 && sum == 0 && variance == 1) return;
    ++starts[a + 1], labels.push_back(label), weights.push_back(weight), sums.push_back(sum), variances.push_back(variance);
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return {to_numpy(std::move(starts)), to_numpy(std::move(labels)), to_numpy(std::move(weights)),
          to_numpy(std::move(sums)), to_numpy(std::move(variances))};
}
inline auto ngram_state(const trellis::GrowingChain& self) {
  return ngram_arrays(self.ngrams ? *self.ngrams : trellis::Ngrams(self.n_labels, 1));
}
// N-grams, or no n-grams and triples.
inline void restore_ngrams(trellis::GrowingChain& self, const NgramArrays& given, const TableState& weights) {
  require(self.ngrams || std::get<0>(given).size() == 0, "n-grams of another training");
  if (!self.ngrams) return restore_table(self.tri, weights);
  self.ngrams.emplace(self.n_labels, static_cast<std::size_t>(self.order));
  make_ngrams(given, *self.ngrams);
  self.ngrams_grown();
  restore_table(self.tri, weights);
  self.ngrams_given();
}
inline void check_chain_order(int order, bool sparse) {
  require(order >= 0 && (sparse ? order >= 2 : order <= 2), "no such order");
}
inline auto table_state(const trellis::LearntTable& table) {
  return std::make_tuple(to_numpy(table.weights), to_numpy(table.sums), to_numpy(table.variances));
}

// Begin with weights of label pairs, and of last labels or none.
inline void set_labels(trellis::GrowingChain& self, const Array<float, 1>& edge, const Array<float, 1>& end) {
  copy_to(self.edge.weights, edge);
  if (end.size() != 0 && end.size() != self.stride) throw nb::value_error("end does not fit");
  self.end.assign(end.data(), end.data() + end.size());
}
