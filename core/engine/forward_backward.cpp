#include "engine/forward_backward.hpp"

#include "engine/history_sums.hpp"

namespace trellis {

struct HistoryTables {
  NgramTables tables;
  HistorySumsWorkspace work;
  TokenNgrams<double> ngrams;  // of the sentence, where they have scores at single tokens
  bool by_token = false;
};

namespace {

template <class Real>
void prepare_histories(const NgramScores<Real>& given, SumWorkspace& w) {
  w.histories = std::make_shared<HistoryTables>();
  std::vector<double> scores(given.scores, given.scores + given.ngrams->size());
  for (double& score : scores) score /= w.temperature;
  w.histories->tables.set(*given.ngrams, w.tables.edge, scores, w.tables.end);
}

// log Z of the sentence in `w`, over the labels that `allowed` lists.
double sum_loaded(SumWorkspace& w, std::size_t n, const LabelSets* allowed, const HistoryExpectations& wanted) {
  return w.histories->tables.sum(n, w.emit.data(), w.token_edge(), w.histories->by_token ? &w.histories->ngrams : nullptr,
                                 allowed, w.histories->work, wanted);
}

double scaled(SumWorkspace& w, std::size_t n, const Expectations<double>* x) {
  return sum_product(w.factors, w.emit.data(), n, w.token_edge(), 1.0, w.passes, x);
}

// Rows [n, stride] in double, divided by the temperature; zero in the padding.
template <class Real>
void load_rows(const Real* rows, std::size_t n, const SumWorkspace& w, std::vector<double>& out) {
  const std::size_t L = w.tables.n_labels, stride = w.tables.stride;
  out.resize(n * stride);
  for (std::size_t r = 0; r < n * stride; r += stride) {
    for (std::size_t z = 0; z < L; ++z) out[r + z] = static_cast<double>(rows[r + z]) / w.temperature;
    for (std::size_t z = L; z < stride; ++z) out[r + z] = 0;
  }
}

// Both passes over a sentence, into w.alpha and w.after; log Z. The tables' transposes must be there.
double log_passes(const Tables<double>& tables, const double* emit, std::size_t n, const double* token_edge, PassScratch<double>& w) {
  const std::size_t L = tables.n_labels, stride = tables.stride;
  const ChainView<double> chain = tables.view(n, emit, token_edge);
  w.grow(n, L, stride, chain.tri != nullptr);
  forward<LogSum>(chain, Everything{L}, w.alpha.data(), [](auto...) TRELLIS_INLINE_LAMBDA { return true; });
  const double* last = w.alpha.data() + (n - 1) * chain.token_size();
  const std::size_t n_rows = chain.tri && n > 1 ? L : 1;
  double log_z = kForbidden<double>;
  for (std::size_t z = 0; z < L; ++z) w.end[z] = chain.end ? chain.end[z] : 0;
  for (std::size_t row = 0; row < n_rows; ++row) {
    std::copy_n(w.end.data(), stride, w.beta.data() + row * stride);
    for (std::size_t z = 0; z < L; ++z) log_z = LogSum::plus(log_z, last[row * stride + z] + w.end[z]);
  }
  if (log_z == kForbidden<double>) return log_z;
  if (token_edge && !chain.tri) w.turn_edges(token_edge, n, L, stride);
  const Transposed<double> transposed{token_edge ? w.edge_transposed.data() : tables.edge_transposed.data(),
                                      tables.tri_transposed.data()};
  backward<LogSum>(chain, transposed, w.beta.data(), w.turned.data(), w.after.data(), [](auto...) TRELLIS_INLINE_LAMBDA {});
  return log_z;
}

}  // namespace

// P of a part of a path: order 1   exp(alpha_{t-1}[y] + edge[y][z] + after_t[z] - log Z)
//                        order 2   exp(alpha_{t-1}[x][y] + tri[x][y][z] + after_t[y][z] - log Z)
double exact_sums(const Tables<double>& tables, const double* emit, std::size_t n, const double* token_edge,
                  PassScratch<double>& w, const HistoryExpectations& wanted) {
  const std::size_t L = tables.n_labels, stride = tables.stride, cells = (L + 1) * stride;
  const double log_z = log_passes(tables, emit, n, token_edge, w);
  if (!wanted.any() || log_z == kForbidden<double>) return log_z;
  const ChainView<double> chain = tables.view(n, emit, token_edge);
  const Everything labels_at{L};
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t n_middles = middles_at(chain, t, labels_at).size(), n_leavers = leavers_at(chain, t, labels_at).size();
    for (std::size_t middle = 0; middle < n_middles; ++middle) {
      double* alpha = w.alpha.data() + t * chain.token_size();
      const Row<double> row = row_at<LogSum>(chain, t, middle, t ? alpha - chain.token_size() : alpha, alpha);
      const double* after = w.after.data() + t * chain.token_size() + middle * stride;
      for (std::size_t i = 0; i < n_leavers; ++i) {
        const std::size_t y = t == 0 ? L : chain.tri ? middle : i, x = t > 1 ? i : L;
        const double before = row.from[i * row.from_step] - log_z;
        for (std::size_t z = 0; z < stride; z += kLanes<double>) {
          const Vector<double> p = exp_lanes(before + lanes(row.table + i * row.table_step + z) + lanes(after + z));
          if (wanted.node) lanes(wanted.node + t * stride + z) += p;
          if (wanted.token_pairs) lanes(wanted.token_pairs + t * cells + y * stride + z) += p;
          if (wanted.pairs) lanes(wanted.pairs + y * stride + z) += wanted.weight * p;
          if (wanted.ngrams && chain.tri) lanes(wanted.ngrams + (x * (L + 1) + y) * stride + z) += wanted.weight * p;
        }
      }
    }
  }
  return log_z;
}

template <class Real>
void load_sentence(const ChainView<Real>& chain, SumWorkspace& w) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  load_rows(chain.emit, T, w, w.emit);
  for (std::size_t t = 0; chain.allowed && t < T; ++t)
    forbid_others(labels_of(*chain.allowed, t), L, w.emit.data() + t * stride);
  w.edge_per_token = chain.edge_per_token;
  if (chain.edge_per_token) load_rows(chain.edge, T * (L + 1), w, w.edge);
  if (!chain.ngrams) return;
  const TokenNgrams<Real>* from = chain.ngrams->by_token;
  w.histories->by_token = from;
  if (!from) return;
  TokenNgrams<double>& to = w.histories->ngrams;
  to.starts = from->starts, to.nodes = from->nodes;
  to.scores.assign(from->scores.begin(), from->scores.end());
  for (double& score : to.scores) score /= w.temperature;
}

template <class Real>
void prepare_sums(const ChainView<Real>& chain, SumWorkspace& w, double temperature) {
  const std::size_t L = chain.n_labels, stride = chain.stride;
  w.tables = {};
  w.tables.n_labels = L;
  w.tables.stride = stride;
  w.temperature = temperature;
  if (chain.edge && !chain.edge_per_token) load_rows(chain.edge, L + 1, w, w.tables.edge);
  if (chain.tri) load_rows(chain.tri, (L + 1) * (L + 1), w, w.tables.tri);
  if (chain.end) load_rows(chain.end, 1, w, w.tables.end);
  if (chain.ngrams) return prepare_histories(*chain.ngrams, w);
  w.histories = nullptr;
  make_factors(w.tables.edge, w.tables.tri, w.tables.end, L, w.factors);
}

template <class Real>
double log_partition(const ChainView<Real>& chain, SumWorkspace& w) {
  if (chain.n_tokens == 0) return 0;
  load_sentence(chain, w);
  if (chain.ngrams) return sum_loaded(w, chain.n_tokens, chain.allowed, {});
  const double log_z = scaled(w, chain.n_tokens, nullptr);
  if (log_z > kForbidden<double>) return log_z;
  w.tables.turn();
  return exact_sums(w.tables, w.emit.data(), chain.n_tokens, w.token_edge(), w.passes, {});
}

template <class Real>
double marginals(const ChainView<Real>& chain, SumWorkspace& w, double* node, double* edge) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride, cells = (L + 1) * stride;
  if (T == 0) return 0;
  load_sentence(chain, w);
  w.node.assign(T * stride, 0);
  if (edge) w.pairs.assign(T * cells, 0);
  double* pairs = edge ? w.pairs.data() : nullptr;
  Expectations<double> x;
  x.node = w.node.data();
  x.token_pairs = pairs;
  const HistoryExpectations wanted{x.node, pairs};
  double log_z = chain.ngrams ? sum_loaded(w, T, chain.allowed, wanted)
                              : scaled(w, T, &x);
  if (log_z == kForbidden<double> && !chain.ngrams) {
    w.tables.turn();
    log_z = exact_sums(w.tables, w.emit.data(), T, w.token_edge(), w.passes, wanted);
  }
  for (std::size_t t = 0; t < T; ++t) std::copy_n(w.node.data() + t * stride, L, node + t * L);
  for (std::size_t row = 0; edge && row < T * (L + 1); ++row) std::copy_n(pairs + row * stride, L, edge + row * L);
  return log_z;
}

#define TRELLIS_INSTANCES(Real)                                                \
  template void prepare_sums(const ChainView<Real>&, SumWorkspace&, double);   \
  template void load_sentence(const ChainView<Real>&, SumWorkspace&);          \
  template double log_partition(const ChainView<Real>&, SumWorkspace&);        \
  template double marginals(const ChainView<Real>&, SumWorkspace&, double*, double*);
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)

}  // namespace trellis
