#include "engine/forward_backward.hpp"

#include "engine/history_sums.hpp"

namespace trellis {

struct HistoryTables {
  NgramTables tables;
  HistorySumsWorkspace work;
  TokenNgrams<double> ngrams;  // of the sentence, if n-grams have scores at single tokens
  bool by_token = false;
};

namespace {

// Rows [n, stride] divided by the temperature; zero in the padding.
void load_rows(const double* rows, std::size_t n, const SumWorkspace& w, std::vector<double>& out) {
  const std::size_t L = w.tables.n_labels, stride = w.tables.stride;
  const double temperature = w.temperature;
  out.resize(n * stride);
  double* to = out.data();
  for (std::size_t i = 0; i < n * stride; ++i) to[i] = rows[i] / temperature;
  for (std::size_t r = 0; r < n * stride && L < stride; r += stride) std::fill(to + r + L, to + r + stride, 0.0);
}

// A chain without label n-grams, for state_sums.hpp: a state of a token is a label z, at order 2 from the second token on a
// pair y, z. It corresponds to the n-gram of z alone (ngrams.hpp).
struct ChainStates {
  static constexpr bool kListed = false;
  const ChainView<double>& chain;
  StateTable<double>& table;

  ChainStates(const ChainView<double>& chain, StateTable<double>& table) : chain(chain), table(table) {
    const std::size_t L = chain.n_labels;
    table.states.assign(1, static_cast<std::uint32_t>(1 + L)), table.state_starts.assign(1, 1);
    for (std::size_t t = 0; t < chain.n_tokens; ++t) {
      for (std::size_t i = 0; i < (chain.tri && t ? L * L : L); ++i) table.states.push_back(static_cast<std::uint32_t>(1 + i % L));
      table.state_starts.push_back(table.states.size());
    }
  }
  // The labels at t - 2 and t - 1 before a step into token t; NULL before the sentence; at order 1 the first one is NULL.
  std::pair<std::size_t, std::size_t> before(std::size_t t, std::size_t from) const {
    const std::size_t L = chain.n_labels, i = from - table.first_before(t);
    return {chain.tri && t > 1 ? i / L : L, t ? i % L : L};
  }
  std::span<const StateStep<double>> steps_at(std::size_t t) {
    table.steps.clear();
    for (auto from = static_cast<std::uint32_t>(table.first_before(t)); from < table.state_starts[t]; ++from) {
      const auto [x, y] = before(t, from);
      const double *tri = chain.tri ? chain.tri_at(x, y) : nullptr, *edge = chain.edge_at(t, y), *emit = chain.emit_at(t);
      const std::size_t first = table.state_starts[t] + (chain.tri && t ? y * chain.n_labels : 0);
      for (std::size_t z = 0; z < chain.n_labels; ++z)
        table.steps.push_back({from, static_cast<std::uint32_t>(first + z), static_cast<std::uint32_t>(1 + z), 0, tri ? tri[z] : 0, edge[z], emit[z]});
    }
    return table.steps;
  }
};

}  // namespace

double exact_sums(const ChainView<double>& chain, StateTable<double>& work, const HistoryExpectations& wanted) {
  ChainStates states(chain, work);
  return sum_steps(states, wanted.any(), [&](std::size_t t, const auto& steps, const double* p) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto [x, y] = states.before(t, steps[i].from);
      const std::size_t z = steps[i].ngram - 1;
      expect_pair(wanted, chain, t, y, z, p[i]);
      if (wanted.ngrams && chain.tri) wanted.ngrams[(x * (chain.n_labels + 1) + y) * chain.stride + z] += wanted.weight * p[i];
    }
  });
}

namespace {

// log Z of the sentence in `w` over the labels in `allowed`, and the marginals if requested; these must be initialised to zero.
double sum_loaded(SumWorkspace& w, std::size_t n, const LabelSets* allowed, const HistoryExpectations& wanted) {
  if (HistoryTables* with = w.histories.get())
    return with->tables.sum(n, w.emit.data(), w.token_edge(), with->by_token ? &with->ngrams : nullptr, allowed, with->work,
                            wanted);
  Expectations<double> x;
  x.node = wanted.node, x.token_pairs = wanted.token_pairs;
  const double log_z = sum_product(w.factors, w.emit.data(), n, w.token_edge(), 1.0, w.passes, wanted.any() ? &x : nullptr);
  if (log_z > kForbidden<double>) return log_z;
  return exact_sums(w.tables.view(n, w.emit.data(), w.token_edge()), w.states, wanted);
}

}  // namespace

void load_sentence(const ChainView<double>& chain, SumWorkspace& w) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  load_rows(chain.emit, T, w, w.emit);
  for (std::size_t t = 0; chain.allowed && t < T; ++t)
    forbid_others(labels_of(*chain.allowed, t), L, w.emit.data() + t * stride);
  w.edge_per_token = chain.edge_per_token;
  if (chain.edge_per_token) load_rows(chain.edge, T * (L + 1), w, w.edge);
  if (!chain.ngrams) return;
  w.histories->by_token = chain.ngrams->by_token;
  if (!w.histories->by_token) return;
  w.histories->ngrams = *chain.ngrams->by_token;
  for (double& score : w.histories->ngrams.scores) score /= w.temperature;
}

void prepare_sums(const ChainView<double>& chain, SumWorkspace& w, double temperature) {
  const std::size_t L = chain.n_labels, stride = chain.stride;
  w.tables = {};
  w.tables.n_labels = L;
  w.tables.stride = stride;
  w.temperature = temperature;
  if (chain.edge && !chain.edge_per_token) load_rows(chain.edge, L + 1, w, w.tables.edge);
  if (chain.tri) load_rows(chain.tri, (L + 1) * (L + 1), w, w.tables.tri);
  if (chain.end) load_rows(chain.end, 1, w, w.tables.end);
  w.histories = nullptr;
  if (!chain.ngrams) return make_factors(w.tables.edge, w.tables.tri, w.tables.end, L, w.factors);
  w.histories = std::make_shared<HistoryTables>();
  std::vector<double> scores(chain.ngrams->scores, chain.ngrams->scores + chain.ngrams->ngrams->size());
  for (double& score : scores) score /= temperature;
  w.histories->tables.set(*chain.ngrams->ngrams, w.tables.edge, scores, w.tables.end);
}

double marginals(const ChainView<double>& chain, SumWorkspace& w, double* node, double* edge) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride, cells = (L + 1) * stride;
  if (T == 0) return 0;
  load_sentence(chain, w);
  if (node) w.node.assign(T * stride, 0);
  if (edge) w.pairs.assign(T * cells, 0);
  const double log_z = sum_loaded(w, T, chain.allowed, {node ? w.node.data() : nullptr, edge ? w.pairs.data() : nullptr});
  for (std::size_t t = 0; node && t < T; ++t) std::copy_n(w.node.data() + t * stride, L, node + t * L);
  for (std::size_t row = 0; edge && row < T * (L + 1); ++row) std::copy_n(w.pairs.data() + row * stride, L, edge + row * L);
  return log_z;
}

}  // namespace trellis
