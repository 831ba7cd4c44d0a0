#include "growing.hpp"

#include <numeric>

using namespace trellis;

Rule rule_from(const std::string& name, std::size_t k, double c) {
  require(k >= 1 && c > 0, "k and c must be positive");
  return {named<Rule::Kind>(name, {{"perceptron", Rule::kPerceptron}, {"PA", Rule::kPa}, {"PA-I", Rule::kPa1},
                                   {"PA-II", Rule::kPa2}, {"MIRA", Rule::kMira}, {"AROW", Rule::kArow}}, "no such rule"), k, c};
}

std::vector<float> means(const LearntTable& table, const Mean& mean) {
  std::vector<float> out(table.weights.size());
  for (std::size_t s = 0; s < out.size(); ++s) out[s] = mean(table.weights[s], table.sums[s]);
  return out;
}

RowsOut rows_out(const GrowingRows& rows, const Mean& mean) {
  RowsOut to{std::vector<std::uint32_t>(rows.n_attributes() + 1), {}, {}};
  rows.each([&](std::size_t a, std::uint32_t label, float weight, double sum, float) {
    const float value = mean(weight, sum);
    if (value != 0) ++to.starts[a + 1], to.labels.push_back(label), to.weights.push_back(value);
  });
  std::partial_sum(to.starts.begin(), to.starts.end(), to.starts.begin());
  return to;
}

NgramsOut ngrams_out(const Ngrams& ngrams, const std::vector<float>& weights, std::size_t n_pairs, span<std::uint32_t> columns,
                     bool all) {
  std::vector<std::uint8_t> kept(ngrams.size(), all);
  std::vector<float> out;
  for (std::uint32_t column : columns)
    if (column >= n_pairs) kept[column - n_pairs] = 1;
  for (auto g = static_cast<std::uint32_t>(ngrams.size()); g-- > 0;) {
    kept[g] |= ngrams.length(g) <= 1 || (ngrams.length(g) >= kScored && weights[g] != 0);
    if (kept[g]) kept[ngrams.parent(g)] = kept[ngrams.shorter(g)] = 1;
  }
  for (std::uint32_t g = 0; g < ngrams.size(); ++g)
    if (kept[g] && ngrams.length(g) > 1) out.push_back(ngrams.length(g) < kScored ? 0 : weights[g]);
  auto [parents, labels] = ngram_state(ngrams, &kept);
  std::vector<std::uint32_t> number(ngrams.size());
  std::exclusive_scan(kept.begin(), kept.end(), number.begin(), 0u);
  for (std::uint32_t& column : columns)
    if (column >= n_pairs) column = static_cast<std::uint32_t>(n_pairs + number[column - n_pairs]);
  return {std::move(parents), std::move(labels), std::move(out)};
}

ChainOut weights_of(const GrowingChain& chain, const Mean& mean, bool all_ngrams) {
  const std::size_t n = chain.n_labels + 1;
  std::vector<float> pairs = means(chain.edge, mean), longer = means(chain.tri, mean);
  ChainOut out{rows_out(chain.rows, mean), rows_out(chain.edge_rows, mean), {}, {}, std::nullopt};
  if (chain.ngrams) {
    out.ngrams = ngrams_out(*chain.ngrams, longer, pairs.size(), out.edge_rows.labels, all_ngrams);
    longer.clear();
  }
  out.edge = to_numpy(std::move(pairs), {n, chain.stride});
  out.tri = to_numpy(std::move(longer), {chain.order == 2 && !chain.ngrams ? n : 0, n, chain.stride});
  return out;
}

void table_fields(Archive& archive, const std::string& name, LearntTable& table) {
  const std::size_t n = table.weights.size(), n_variances = table.variances.size();
  archive(name + ".weights", table.weights), archive(name + ".sums", table.sums), archive(name + ".variances", table.variances);
  if (table.variances.empty()) table.variances.assign(n_variances, 1);
  require(table.weights.size() == n && table.sums.size() == n && table.variances.size() == n_variances,
          "weights of another training");
}

// Rows, with the sum for averaging and the variance of each weight.
struct RowState {
  std::vector<std::uint32_t> starts, labels;
  std::vector<float> weights;
  std::vector<double> sums;
  std::vector<float> variances;
  FIELDS(starts, labels, weights, sums, variances)
};
void row_fields(Archive& archive, GrowingRows& rows, const std::string& name, const Ngrams* ngrams) {
  RowState state{std::vector<std::uint32_t>(rows.n_attributes() + 1), {}, {}, {}, {}};
  if (!archive.reads) {
    rows.each([&](std::size_t a, std::uint32_t label, float weight, double sum, float variance) {
      if (weight == 0 && sum == 0 && variance == 1) return;
      ++state.starts[a + 1], state.labels.push_back(label);
      state.weights.push_back(weight), state.sums.push_back(sum), state.variances.push_back(variance);
    });
    std::partial_sum(state.starts.begin(), state.starts.end(), state.starts.begin());
  }
  archive(name, state);
  if (!archive.reads) return;
  const auto& [starts, labels, weights, sums, variances] = state;
  check_rows<std::uint32_t>(starts, labels, rows.n_labels(), ngrams);
  const std::size_t n = labels.size();
  require(starts.size() == rows.n_attributes() + 1 && weights.size() == n && sums.size() == n && variances.size() == n,
          "rows of another training");
  for (std::size_t a = 0; a < rows.n_attributes(); ++a)
    for (std::uint32_t s = starts[a]; s < starts[a + 1]; ++s) {
      const LearntWeight place = rows.make(static_cast<std::int32_t>(a), labels[s]);
      *place.weight = weights[s];
      *place.sum = sums[s];
      if (place.variance) *place.variance = variances[s];
    }
}

void chain_fields(Archive& archive, GrowingChain& chain) {
  NgramState ngrams;
  if (!archive.reads && chain.ngrams) ngrams = ngram_state(*chain.ngrams);
  archive("ngrams", ngrams);
  require(chain.ngrams || ngrams.parents.empty(), "the n-grams belong to another training run");
  if (archive.reads && chain.ngrams) {
    chain.ngrams.emplace(chain.n_labels, static_cast<std::size_t>(chain.order));
    make_ngrams(ngrams.parents, ngrams.labels, *chain.ngrams);
    chain.ngrams_grown();
  }
  table_fields(archive, "edge", chain.edge), table_fields(archive, "tri", chain.tri);
  if (archive.reads && chain.ngrams) chain.ngrams_given();
  row_fields(archive, chain.rows);
  row_fields(archive, chain.edge_rows, "edge_rows", chain.ngrams ? &*chain.ngrams : nullptr);
}
