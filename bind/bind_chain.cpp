// Chains of order 1 and 2 over batches of sentences. Tokens of all sentences are concatenated; sentence i is tokens
// starts[i]..starts[i + 1]. Every result has a fixed place, so results do not depend on the number of threads.
#include "batch.hpp"
#include "engine/forward_backward.hpp"
#include "engine/viterbi.hpp"
#include "weights.hpp"

namespace {
using namespace trellis;

template <class Real>
CountedPaths best_paths(const ChainBatch<Real>& batch, std::size_t k, std::size_t n_threads) {
  struct State {
    Workspace<Real> work;
    std::vector<Real> scores;
  };
  PathLists lists(batch, k);
  for_each_sentence(batch, n_threads, [k] { return State{{}, std::vector<Real>(k)}; },
                    [&](State& state, const ChainView<Real>& chain, std::size_t i) {
    const std::size_t n = k_best(chain, k, state.work, lists.paths_of(i), state.scores.data());
    lists.counts[i] = static_cast<std::int64_t>(n);
    std::copy_n(state.scores.begin(), n, lists.scores_of(i));
  });
  return std::move(lists).out();
}

// Calls work(workspace, chain, i) for every sentence.
template <class Work>
void each_sum(const ChainBatch<double>& batch, double temperature, std::size_t n_threads, Work work) {
  const auto prepared = [&] {
    SumWorkspace out;
    prepare_sums(ChainView<double>(batch.labels, 0, nullptr, batch.token_edge), out, temperature);
    return out;
  };
  for_each_sentence(batch, n_threads, prepared, work);
}

Sums all_marginals(const ChainBatch<double>& batch, double temperature, int reach, std::size_t n_threads) {
  const std::size_t L = batch.n_labels, N = batch.n_tokens, table = (L + 1) * L;
  std::vector<double> log_z(batch.n_sentences), node(reach > 0 ? N * L : 0), edge(reach > 1 ? N * table : 0);
  each_sum(batch, temperature, n_threads, [&](SumWorkspace& work, const ChainView<double>& chain, std::size_t i) {
    const std::size_t first = batch.start(i);
    log_z[i] = reach > 0 ? marginals(chain, work, node.data() + first * L, reach > 1 ? edge.data() + first * table : nullptr)
                         : log_partition(chain, work);
  });
  return sums_out(L, std::move(log_z), std::move(node), std::move(edge));
}

// Spans [n, 4]: sentence, begin, end, type; sorted by sentence.
std::vector<double> span_probabilities(const ChainBatch<double>& batch, double temperature, const Ints& type_of,
                                       const Array<std::uint8_t, 2>& cut, const SpanRows& spans, std::size_t n_threads) {
  const std::size_t L = batch.n_labels, n = spans.shape(0);
  require(type_of.shape(0) == L && cut.shape(0) == L && cut.shape(1) == L, "spans: there must be one type per label, one cut per pair");
  const std::vector<std::size_t> first_of = first_spans(batch, spans);
  std::vector<SpanQuery> queries;
  for (std::size_t s = 0; s < n; ++s) queries.push_back({spans(s, 1), spans(s, 2), static_cast<std::int32_t>(spans(s, 3))});
  std::vector<double> probabilities(n);
  const SpanLabels labels{type_of.data(), cut.data()};
  each_sum(batch, temperature, n_threads, [&](SumWorkspace& work, const ChainView<double>& chain, std::size_t i) {
    const std::size_t first = first_of[i], count = first_of[i + 1] - first;
    if (count) span_sums(chain, work, labels, queries.data() + first, count, probabilities.data() + first);
  });
  return probabilities;
}

// With edge attributes of all tokens, their weights, and the last earlier token with the same word.
struct BeamBatch : ChainBatch<float> {
  std::size_t width;
  ListArrays lists;
  std::shared_ptr<Weights> weights;
  Ints same;
  FIELDS(tables, starts, allowed, width, lists, weights, same)

  void begin() {
    ChainBatch::begin();
    require(width > 0, "the beam width must be positive");
    require(weights->about && weights->n_labels() == n_labels, "the weights belong to other labels");
    lists_from(lists, weights->n_edge_attributes, n_tokens);
    check_same(same, starts);
  }
};

// As best_paths, with a beam.
CountedPaths beam_paths(const BeamBatch& batch, std::size_t k, std::size_t n_threads) {
  PathLists lists(batch, k);
  const Weights& weights = *batch.weights;
  const TokenLists far_lists = some_of(batch.lists, *weights.about, true);
  const FarLabels far{sites_of(far_lists), weights.about->data(), weights.kinds, batch.same.data()};
  for_each_sentence(batch, n_threads, [] { return std::pair<BeamSearch, FarScores>{}; },
                    [&](auto& state, const ChainView<float>& chain, std::size_t i) {
    auto& [beam, far_scores] = state;
    const std::size_t T = chain.n_tokens;
    fill_far(weights.core.edge_rows, far, batch.start(i), batch.start(i + 1), (batch.n_labels + 1) * chain.stride, far_scores);
    lists.counts[i] = 1;
    if (T == 0) lists.scores_of(i)[0] = 0;
    else if (beam.run(chain, far_scores, batch.width, k)) {
      const std::vector<std::uint32_t>& ranked = beam.best(T - 1, k);
      lists.counts[i] = static_cast<std::int64_t>(ranked.size());
      for (std::size_t r = 0; r < ranked.size(); ++r) {
        lists.scores_of(i)[r] = beam.level(T - 1).hypotheses[ranked[r]].score;
        beam.path(T - 1, ranked[r], lists.paths_of(i) + r * T);
      }
    }
  });
  return std::move(lists).out();
}

// For potentials of either precision, that of emit.
CountedPaths best_of_either(const nb::object& chains, std::size_t k, std::size_t n_threads) {
  const Source source{chains};
  const auto best = [&](auto batch) {
    read_record(source, batch);
    return best_paths(batch, k, n_threads);
  };
  return Array<float, 2>().read(Source{source["tables"]}["emit"]) ? best(ChainBatch<float>{}) : best(ChainBatch<double>{});
}

}  // namespace

void bind_chain(nb::module_& module) {
  const auto chains = "chains"_a, k = "k"_a, temperature = "temperature"_a, n_threads = "n_threads"_a;
  module.def("best_paths", &best_of_either, chains, k, n_threads,
             "k best paths: labels, sentence i's [k, T_i] from k * starts[i]; scores [n_sentences, k]; counts.");
  module.def("marginals", all_marginals, chains, temperature, "reach"_a, n_threads,
             "log Z [n_sentences] of scores divided by the temperature; with reach 1 or 2 node marginals [n_tokens, L], with\n"
             "reach 2 edge marginals [n_tokens, L+1, L].");
  module.def("span_probabilities", span_probabilities, chains, temperature,
             "type_of"_a, "cut"_a, "spans"_a, n_threads,
             "Probability of each span [n, 4] (sentence, begin, end, type), in the order of their sentences.");
  module.def("beam_paths", beam_paths, chains, k, n_threads,
             "best_paths where labels see labels further back, by a beam of so many states per token.");
}
