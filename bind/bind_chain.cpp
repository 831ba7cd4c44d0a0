// Chains of order 1 and 2 over batches of sentences. Tokens of all sentences stand in one run; sentence i is tokens
// starts[i]..starts[i + 1]. Every result has its fixed place, so the number of threads never changes a bit.
#include "batch.hpp"
#include "far.hpp"
#include "engine/forward_backward.hpp"
#include "engine/viterbi.hpp"

namespace {
using namespace trellis;

using Sums = std::tuple<std::vector<double>, Numpy<double>, std::optional<Numpy<double>>>;

template <class Real>
Paths best_paths(const PotentialArrays<Real>& tables, const Longs& starts, const AllowedSets& allowed, std::size_t n_threads) {
  const ChainBatch<Real> batch(tables, starts, allowed);
  std::vector<std::int32_t> paths(batch.n_tokens);
  std::vector<double> scores(batch.n_sentences);
  for_each_sentence(batch, n_threads, [] { return Workspace<Real>{}; },
                    [&](Workspace<Real>& work, const ChainView<Real>& chain, std::size_t i) {
                      scores[i] = static_cast<double>(best_path(chain, work, paths.data() + batch.start(i)));
                    });
  return {std::move(paths), std::move(scores)};
}

template <class Real>
CountedPaths k_best_paths(const PotentialArrays<Real>& tables, const Longs& starts, const AllowedSets& allowed, std::size_t k,
                          std::size_t n_threads) {
  const ChainBatch<Real> batch(tables, starts, allowed);
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

SumWorkspace prepared(const ChainBatch<double>& batch, double temperature) {
  SumWorkspace work;
  prepare_sums(ChainView<double>(batch.labels, 0, nullptr, batch.token_edge), work, temperature);
  return work;
}

std::vector<double> log_partitions(const PotentialArrays<double>& tables, const Longs& starts, const AllowedSets& allowed,
                             double temperature, std::size_t n_threads) {
  const ChainBatch<double> batch(tables, starts, allowed);
  std::vector<double> log_z(batch.n_sentences);
  for_each_sentence(batch, n_threads, [&] { return prepared(batch, temperature); },
                    [&](SumWorkspace& work, const ChainView<double>& chain, std::size_t i) {
                      log_z[i] = log_partition(chain, work);
                    });
  return log_z;
}

Sums all_marginals(const PotentialArrays<double>& tables, const Longs& starts, const AllowedSets& allowed, double temperature,
                   std::size_t n_threads, bool pairs) {
  const ChainBatch<double> batch(tables, starts, allowed);
  const std::size_t L = batch.n_labels, N = batch.n_tokens, table = pairs ? (L + 1) * L : 0;
  std::vector<double> log_z(batch.n_sentences), node(N * L), edges(N * table);
  for_each_sentence(batch, n_threads, [&] { return prepared(batch, temperature); },
                    [&](SumWorkspace& work, const ChainView<double>& chain, std::size_t i) {
                      const std::size_t first = batch.start(i);
                      log_z[i] = marginals(chain, work, node.data() + first * L,
                                           pairs ? edges.data() + first * table : nullptr);
                    });
  std::optional<Numpy<double>> edge_array;
  if (pairs) edge_array = to_numpy(std::move(edges), {N, L + 1, L});
  return {std::move(log_z), to_numpy(std::move(node), {N, L}), edge_array};
}

// Spans [n, 4]: sentence, begin, end, type; in the order of their sentences.
std::vector<double> span_probabilities(const PotentialArrays<double>& tables, const Longs& starts, const AllowedSets& allowed,
                                 double temperature, const Ints& type_of,
                                 const Array<std::uint8_t, 2>& cut, const SpanRows& spans,
                                 std::size_t n_threads) {
  const ChainBatch<double> batch(tables, starts, allowed);
  const std::size_t L = batch.n_labels, n = spans.shape(0);
  require(type_of.shape(0) == L && cut.shape(0) == L && cut.shape(1) == L, "spans: one type per label, one cut per pair");
  const std::vector<std::size_t> first_of = first_spans(batch, spans);
  std::vector<SpanQuery> queries;
  for (std::size_t s = 0; s < n; ++s) queries.push_back({spans(s, 1), spans(s, 2), static_cast<std::int32_t>(spans(s, 3))});
  std::vector<double> probabilities(n);
  const SpanLabels labels{type_of.data(), cut.data()};
  for_each_sentence(batch, n_threads, [&] { return prepared(batch, temperature); },
                    [&](SumWorkspace& work, const ChainView<double>& chain, std::size_t i) {
                      const std::size_t first = first_of[i], count = first_of[i + 1] - first;
                      if (count)
                        span_sums(chain, work, labels, queries.data() + first, count, probabilities.data() + first);
                    });
  return probabilities;
}

// Rows of edge attributes and what each is about, checked once; keeps the arrays it points into.
struct PyFarRows {
  RowArrays<std::uint32_t> rows;
  Bytes about;
  std::size_t n_labels;
  OrNone<PyNgrams> ngrams;
  ARGUMENTS(rows, about, n_labels, ngrams)
  Rows<std::uint32_t> core;
  std::vector<std::uint8_t> kinds;

  void begin() {
    kinds = far_kinds(about);
    check_labels(n_labels);
    require(rows.starts.size() == about.size() + 1, "one kind per edge attribute");
    core = run_rows_from(rows, (n_labels + 1) * padded(n_labels), ngrams ? &ngrams->ngrams : nullptr);
    check_finite(rows.weights, "the weight of an edge attribute must be a finite number");
  }
};
// Edge attributes of all tokens, their rows, and the last tokens with the same words.
struct FarArrays {
  ListArrays lists;
  std::shared_ptr<PyFarRows> rows;
  Ints same;
  FIELDS(lists, rows, same)
};

// As k_best_paths, by a beam.
CountedPaths beam_paths(const PotentialArrays<float>& tables, const Longs& starts, const AllowedSets& allowed,
                        const FarArrays& far, std::size_t width, std::size_t k, std::size_t n_threads) {
  const ChainBatch<float> batch(tables, starts, allowed);
  const auto& [lists, weights, same] = far;
  PathLists found(batch, k);
  require(width > 0, "the width of a beam must be positive");
  require(weights->n_labels == batch.n_labels, "rows of other labels");
  lists_from(lists, weights->about.size(), batch.n_tokens);
  check_same(same, starts);
  const SplitLists far_lists(lists, weights->about.data(), true);
  const FarLabels labels{far_lists.sites(), weights->about.data(), weights->kinds, same.data()};
  for_each_sentence(batch, n_threads, [] { return std::pair<BeamSearch, FarScores>{}; },
                    [&, rows = weights->core](auto& state, const ChainView<float>& chain, std::size_t i) {
    auto& [beam, scores] = state;
    const std::size_t T = chain.n_tokens;
    fill_far(rows, labels, batch.start(i), batch.start(i + 1), (batch.n_labels + 1) * batch.stride, scores);
    found.counts[i] = 1;
    if (T == 0) found.scores_of(i)[0] = 0;
    else if (beam.run(chain, scores, width, k)) {
      const std::vector<std::uint32_t>& ranked = beam.best(T - 1, k);
      found.counts[i] = static_cast<std::int64_t>(ranked.size());
      for (std::size_t r = 0; r < ranked.size(); ++r) {
        found.scores_of(i)[r] = beam.level(T - 1).hypotheses[ranked[r]].score;
        beam.path(T - 1, ranked[r], found.paths_of(i) + r * T);
      }
    }
  });
  return std::move(found).out();
}

// A function of potentials of either precision, of which emit has one.
template <class Result, class... Args>
auto either(Result (*single)(const PotentialArrays<float>&, Args...), Result (*twice)(const PotentialArrays<double>&, Args...)) {
  return [=](const nb::object& potentials, Args... args) -> Result {
    const Source source{potentials};
    const auto read = [&](auto tables) {
      read_fields(source, tables.fields());
      return tables;
    };
    if (Array<float, 2>().read(source["emit"])) return single(read(PotentialArrays<float>{}), std::forward<Args>(args)...);
    return twice(read(PotentialArrays<double>{}), std::forward<Args>(args)...);
  };
}

}  // namespace

void bind_chain(nb::module_& module) {
  using nb::arg;
  const auto starts = "starts"_a, far = "far"_a;
  const auto allowed = "allowed"_a.none();
  const arg tables("potentials"), temperature("temperature"), n_threads("n_threads");
  module.def("best_paths", either(best_paths<float>, best_paths<double>), tables, starts, allowed, n_threads,
             "Best path of every sentence: labels [n_tokens], scores [n_sentences].");
  module.def("k_best_paths", either(k_best_paths<float>, k_best_paths<double>), tables, starts, allowed, arg("k"), n_threads,
             "k best paths: labels, sentence i's [k, T_i] from k * starts[i]; scores [n_sentences, k]; counts.");
  module.def("log_partitions", log_partitions, tables, starts, allowed, temperature,
             n_threads, "log Z of every sentence; all scores are divided by the temperature, as for all sums.");
  module.def("marginals", all_marginals, tables, starts, allowed, temperature, n_threads,
             arg("pairs"), "log Z [n_sentences], node [n_tokens, L] and, if asked for, edge marginals [n_tokens, L+1, L].");
  module.def("span_probabilities", span_probabilities, tables, starts, allowed,
             temperature, "type_of"_a, "cut"_a, "spans"_a, n_threads,
             "Probability of each span [n, 4] (sentence, begin, end, type), in the order of their sentences.");
  nb::class_<PyFarRows>(module, "FarRows", "Weights of edge attributes, some about labels further back, checked.").def(by_name());
  module.def("beam_paths", beam_paths, tables, starts, allowed, far, arg("width"), arg("k"), n_threads,
             "k_best_paths where labels see labels further back, by a beam of so many states per token.");
  module.def("same_words", [](const Ints& words, const Longs& sentences) {
    require(check_sentences(sentences) == words.size(), "one word per token");
    return same_words(words, sentences);
  }, "words"_a, "starts"_a, "The last token before each with the same word, within its sentence, or -1.");
}
