// Weights that grow while they are learnt, on their way from and to Python.
#pragma once
#include <nanobind/stl/tuple.h>

#include "checks.hpp"
#include "weights/growing_chain.hpp"

// Rows, and beside each weight its sum for averaging and its variance.
using RowState = std::tuple<Array<std::uint32_t, 1>, Array<std::uint32_t, 1>, Array<float, 1>, Array<double, 1>,
                            Array<float, 1>>;
inline void set_rows(trellis::GrowingRows& rows, const RowArrays<std::uint32_t>& given, bool grows) {
  const trellis::Rows<std::uint32_t> from = rows_from(given, rows.n_labels());
  require(std::get<0>(given).size() == rows.n_attributes() + 1, "one row per attribute");
  if (!grows) rows.stop_growing();
  for (std::size_t a = 0; a < rows.n_attributes(); ++a)
    for (std::uint32_t s = from.starts[a]; s < from.starts[a + 1]; ++s)
      rows.set(static_cast<std::int32_t>(a), from.labels[s], from.weights[s]);
}
inline void restore_rows(trellis::GrowingRows& rows, const RowState& given) {
  const auto& [starts, labels, weights, sums, variances] = given;
  const trellis::Rows<std::uint32_t> from = rows_from<std::uint32_t>({starts, labels, weights}, rows.n_labels());
  require(starts.size() == rows.n_attributes() + 1 && sums.size() == labels.size() && variances.size() == labels.size(),
          "rows of another training");
  for (std::size_t a = 0; a < rows.n_attributes(); ++a)
    for (std::uint32_t s = from.starts[a]; s < from.starts[a + 1]; ++s) {
      const trellis::GrowingRows::Place place = rows.make(static_cast<std::int32_t>(a), from.labels[s]);
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

// The weight itself, or its average over all moments of training.
struct Mean {
  bool average;
  double n;
  float operator()(float weight, double sum) const {
    return average && n > 0 ? static_cast<float>((n * weight - sum) / n) : weight;
  }
};

using RowsOut = std::tuple<Numpy<std::uint32_t>, Numpy<std::uint32_t>, Numpy<float>>;
inline RowsOut rows_out(const trellis::GrowingRows& rows, const Mean& mean) {
  std::vector<std::uint32_t> starts{0}, labels, order;
  std::vector<float> weights;
  for (std::size_t a = 0; a < rows.n_attributes(); ++a) {
    rows.for_each(static_cast<std::int32_t>(a), order, [&](std::uint32_t label, float weight, double sum, float) {
      const float value = mean(weight, sum);
      if (value != 0) labels.push_back(label), weights.push_back(value);
    });
    starts.push_back(static_cast<std::uint32_t>(labels.size()));
  }
  return {to_numpy(std::move(starts)), to_numpy(std::move(labels)), to_numpy(std::move(weights))};
}

// Rows, edge rows, edge [L + 1, stride], tri [L + 1, L + 1, stride] or empty; weights of zero are left out of rows.
inline std::tuple<RowsOut, RowsOut, Numpy<float>, Numpy<float>> weights_of(const trellis::GrowingChain& self,
                                                                            const Mean& mean) {
  std::vector<float> edge(self.edge.size()), tri(self.tri.size());
  for (std::size_t s = 0; s < edge.size(); ++s) edge[s] = mean(self.edge[s], self.edge_sums[s]);
  for (std::size_t s = 0; s < tri.size(); ++s) tri[s] = mean(self.tri[s], self.tri_sums[s]);
  const std::size_t n = self.n_labels + 1, depth = tri.empty() ? 0 : n;
  return {rows_out(self.rows, mean), rows_out(self.edge_rows, mean), to_numpy(std::move(edge), {n, self.stride}),
          to_numpy(std::move(tri), {depth, n, self.stride})};
}

// All that is needed to go on as if nothing had happened: weights, sums and variances that training has changed.
using RowStateOut = std::tuple<Numpy<std::uint32_t>, Numpy<std::uint32_t>, Numpy<float>, Numpy<double>, Numpy<float>>;
inline RowStateOut row_state(const trellis::GrowingRows& rows) {
  std::vector<std::uint32_t> starts{0}, labels, order;
  std::vector<float> weights, variances;
  std::vector<double> sums;
  for (std::size_t a = 0; a < rows.n_attributes(); ++a) {
    rows.for_each(static_cast<std::int32_t>(a), order, [&](std::uint32_t label, float weight, double sum, float variance) {
      if (weight == 0 && sum == 0 && variance == 1) return;
      labels.push_back(label), weights.push_back(weight), sums.push_back(sum), variances.push_back(variance);
    });
    starts.push_back(static_cast<std::uint32_t>(labels.size()));
  }
  return {to_numpy(std::move(starts)), to_numpy(std::move(labels)), to_numpy(std::move(weights)),
          to_numpy(std::move(sums)), to_numpy(std::move(variances))};
}
inline auto table_state(const std::vector<float>& weights, const std::vector<double>& sums, const std::vector<float>& variances) {
  return std::make_tuple(to_numpy(weights), to_numpy(sums), to_numpy(variances));
}
