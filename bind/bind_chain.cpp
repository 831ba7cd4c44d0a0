// Chains of order 1 and 2 over batches of sentences. Tokens of all sentences stand in one run; sentence i is tokens
// starts[i]..starts[i + 1]. Every result has its fixed place, so the number of threads never changes a bit.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "ngrams.hpp"
#include "engine/forward_backward.hpp"
#include "engine/kbest.hpp"
#include "parallel.hpp"
#include "engine/span_sums.hpp"
#include "engine/viterbi.hpp"

namespace {
using namespace trellis;

constexpr std::size_t kSentencesPerBlock = 16;

using Starts = Array<std::int64_t, 1>;
// What n-grams have at single tokens: starts [n_tokens + 1], n-grams, scores.
template <class Real>
using TokenNgramArrays = std::tuple<Array<std::int64_t, 1>, Array<std::uint32_t, 1>, Array<Real, 1>>;
// emit [n_tokens, L], edge [1 or n_tokens, L+1, L], tri [L+1, L+1, L] or none, end [L] or none, n-grams or none, those of
// single tokens or none. Rows over labels may come padded, stride for L: then they are read where they are.
template <class Real>
using Tables = std::tuple<Array<Real, 2>, Array<Real, 3>, std::optional<Array<Real, 3>>, std::optional<Array<Real, 1>>,
                          std::optional<const PyNgrams*>, std::optional<TokenNgramArrays<Real>>>;
using Allowed = std::optional<SetArrays>;
using Paths = std::tuple<Numpy<std::int32_t>, Numpy<double>>;
using CountedPaths = std::tuple<Numpy<std::int32_t>, Numpy<double>, Numpy<std::int64_t>>;
using Sums = std::tuple<Numpy<double>, Numpy<double>, std::optional<Numpy<double>>>;

// Rows [n, stride] of rows [n, step], step L or stride; in `to` if they must be copied.
template <class Real>
const Real* pad(const Real* rows, std::size_t n, std::size_t step, std::size_t stride, Scratch<Real>& to) {
  if (step == stride) return rows;
  Real* out = to.grow(n * stride);
  for (std::size_t r = 0; r < n; ++r) {
    std::copy_n(rows + r * step, step, out + r * stride);
    std::fill(out + r * stride + step, out + (r + 1) * stride, Real(0));
  }
  return out;
}

// The potentials of a batch, checked once: afterwards nothing can be out of range.
template <class Real>
struct Batch {
  std::size_t n_tokens, n_labels, stride, n_sentences;
  const Real* emit;                  // [n_tokens, emit_step]
  const Real* token_edge = nullptr;  // [n_tokens, L+1, edge_step] where label pairs differ by token
  std::size_t emit_step, edge_step;
  const std::int64_t* starts;  // [n_sentences + 1]
  LabelTables<Real> labels;
  LabelSets sets{};
  std::optional<TokenNgramArrays<Real>> token_ngrams;
  Scratch<Real> padded_edge, padded_tri, padded_end;

  Batch(const Tables<Real>& given, const Starts& starts_, const Allowed& allowed = {})
      : n_tokens(std::get<0>(given).shape(0)), n_labels(std::get<1>(given).shape(1) - 1), stride(padded(n_labels)),
        emit(std::get<0>(given).data()), emit_step(std::get<0>(given).shape(1)), edge_step(std::get<1>(given).shape(2)),
        starts(starts_.data()) {
    const auto& [emit_, edge_, tri_, end_, given_ngrams, given_token_ngrams] = given;
    const PyNgrams* ngrams_ = given_ngrams.value_or(nullptr);
    const std::size_t L = n_labels, n = L + 1;
    require(n > 1, "edge: there must be at least one label");
    require(fits(emit_step), "emit: must have shape [tokens, labels]");
    check_starts(starts_, n_tokens);
    n_sentences = starts_.shape(0) - 1;
    require(fits(edge_step), "edge: must have shape [.., labels + 1, labels]");
    require(edge_.shape(0) == 1 || edge_.shape(0) == n_tokens, "edge: must have one table, or one per token");
    labels = {L, stride};
    if (edge_.shape(0) == 1) labels.edge = table(edge_.data(), n, edge_step, padded_edge, "edge");
    else token_edge = edge_.data();
    if (tri_) {
      require(tri_->shape(0) == n && tri_->shape(1) == n && fits(tri_->shape(2)),
              "tri: must have shape [labels + 1, labels + 1, labels]");
      labels.tri = table(tri_->data(), n * n, tri_->shape(2), padded_tri, "tri");
    }
    if (end_) {
      require(fits(end_->shape(0)), "end: must have shape [labels]");
      labels.end = table(end_->data(), 1, end_->shape(0), padded_end, "end");
    }
    require(!ngrams_ || (!tri_ && ngrams_->ngrams.n_labels() == L), "n-grams for other labels");
    if (ngrams_) labels.ngrams = ngrams_->template view<Real>();
    if (given_token_ngrams) check_token_ngrams(*given_token_ngrams, ngrams_);
    token_ngrams = given_token_ngrams;
    if (allowed) sets = sets_from(*allowed, L, n_tokens);
  }

  std::size_t start(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }

 private:
  void check_token_ngrams(const TokenNgramArrays<Real>& given, const PyNgrams* ngrams) const {
    const auto& [starts_, nodes, scores] = given;
    require(ngrams && starts_.size() == n_tokens + 1 && nodes.size() == scores.size(), "n-grams of single tokens do not fit");
    check_starts(starts_, nodes.size());
    require(all_below(span(nodes), ngrams->ngrams.size()), "an n-gram out of range");
    check_finite(scores, "the score of an n-gram must be a finite number");
  }
  bool fits(std::size_t width) const { return width == n_labels || width == stride; }
  const Real* table(const Real* rows, std::size_t n, std::size_t step, Scratch<Real>& to, const char* name) const {
    if (!are_scores(rows, n, n_labels, step))
      throw nb::value_error((std::string(name) + ": scores must be finite or minus infinity").c_str());
    return pad(rows, n, step, stride, to);
  }
};

// One sentence, padded where the batch is not.
template <class Real>
struct Sentence {
  Scratch<Real> emit, edge;
  LabelSets sets{};
  TokenNgrams<Real> token_ngrams;
  NgramScores<Real> ngrams{};
  ChainView<Real> view{};

  // False if some score is NaN or plus infinity.
  bool load(const Batch<Real>& batch, std::size_t i) {
    const std::size_t L = batch.n_labels, first = batch.start(i), T = batch.start(i + 1) - first;
    const Real* rows = batch.emit + first * batch.emit_step;
    bool ok = are_scores(rows, T, L, batch.emit_step);
    const Real* tables = nullptr;
    if (batch.token_edge) {
      tables = batch.token_edge + first * (L + 1) * batch.edge_step;
      ok &= are_scores(tables, T * (L + 1), L, batch.edge_step);
      tables = pad(tables, T * (L + 1), batch.edge_step, batch.stride, edge);
    }
    sets = batch.sets;
    if (sets.starts) sets.set_of_token += first;
    view = {batch.labels, T, pad(rows, T, batch.emit_step, batch.stride, emit), tables, sets.starts ? &sets : nullptr};
    if (batch.token_ngrams) load_ngrams(*batch.token_ngrams, first, T);
    return ok;
  }

 private:
  void load_ngrams(const TokenNgramArrays<Real>& given, std::size_t first, std::size_t T) {
    const auto& [starts, nodes, scores] = given;
    const std::int64_t begin = starts(first), end = starts(first + T);
    token_ngrams.starts.clear();
    for (std::size_t t = first; t <= first + T; ++t) token_ngrams.starts.push_back(static_cast<std::size_t>(starts(t) - begin));
    token_ngrams.nodes.assign(nodes.data() + begin, nodes.data() + end);
    token_ngrams.scores.assign(scores.data() + begin, scores.data() + end);
    ngrams = *view.ngrams;
    ngrams.by_token = &token_ngrams;
    view.ngrams = &ngrams;
  }
};

// Calls work(state, sentence, i) for every sentence, in parallel and without the GIL.
template <class Real, class MakeState, class Work>
void for_each_sentence(const Batch<Real>& batch, std::size_t n_threads, MakeState make_state, Work work) {
  std::atomic<bool> ok{true};
  without_gil([&] {
    const auto make = [&] { return std::pair(Sentence<Real>{}, make_state()); };
    parallel_blocks(batch.n_sentences, kSentencesPerBlock, n_threads, make,
                    [&](auto& state, std::size_t begin, std::size_t end) {
                      for (std::size_t i = begin; i < end; ++i) {
                        if (state.first.load(batch, i)) work(state.second, state.first.view, i);
                        else ok = false;
                      }
                    });
  });
  require(ok, "emit, edge: scores must be finite or minus infinity");
}

template <class Real>
Paths best_paths(const Tables<Real>& tables, const Starts& starts, const Allowed& allowed, std::size_t n_threads) {
  const Batch<Real> batch(tables, starts, allowed);
  std::vector<std::int32_t> paths(batch.n_tokens);
  std::vector<double> scores(batch.n_sentences);
  for_each_sentence(batch, n_threads, [] { return Workspace<Real>{}; },
                    [&](Workspace<Real>& work, const ChainView<Real>& chain, std::size_t i) {
                      scores[i] = static_cast<double>(best_path(chain, work, paths.data() + batch.start(i)));
                    });
  return {to_numpy(std::move(paths)), to_numpy(std::move(scores))};
}

// Sentence i's paths, [k, T_i], stand from k * starts[i] on; what is not filled holds -1 and minus infinity.
template <class Real>
CountedPaths k_best_paths(const Tables<Real>& tables, const Starts& starts, const Allowed& allowed, std::size_t k,
                          std::size_t n_threads) {
  const Batch<Real> batch(tables, starts, allowed);
  require(k > 0 && k <= 1'000'000, "k: must be from 1 to 1000000");
  struct State {
    KBestWorkspace<Real> work;
    std::vector<Real> scores;
  };
  std::vector<std::int32_t> paths(k * batch.n_tokens, -1);
  std::vector<double> scores(k * batch.n_sentences, kForbidden<double>);
  std::vector<std::int64_t> counts(batch.n_sentences);
  for_each_sentence(batch, n_threads, [k] { return State{{}, std::vector<Real>(k)}; },
                    [&](State& state, const ChainView<Real>& chain, std::size_t i) {
                      const std::size_t n = k_best(chain, k, state.work, paths.data() + k * batch.start(i),
                                                   state.scores.data());
                      counts[i] = static_cast<std::int64_t>(n);
                      std::copy_n(state.scores.begin(), n, scores.begin() + static_cast<std::ptrdiff_t>(k * i));
                    });
  return {to_numpy(std::move(paths)), to_numpy(std::move(scores), {batch.n_sentences, k}),
          to_numpy(std::move(counts))};
}

template <class Real>
SumWorkspace prepared(const Batch<Real>& batch, double temperature) {
  SumWorkspace work;
  prepare_sums(ChainView<Real>(batch.labels, 0, nullptr, batch.token_edge), work, temperature);
  return work;
}

template <class Real>
Numpy<double> log_partitions(const Tables<Real>& tables, const Starts& starts, const Allowed& allowed,
                             double temperature, std::size_t n_threads) {
  const Batch<Real> batch(tables, starts, allowed);
  std::vector<double> log_z(batch.n_sentences);
  for_each_sentence(batch, n_threads, [&] { return prepared(batch, temperature); },
                    [&](SumWorkspace& work, const ChainView<Real>& chain, std::size_t i) {
                      log_z[i] = log_partition(chain, work);
                    });
  return to_numpy(std::move(log_z));
}

template <class Real>
Sums all_marginals(const Tables<Real>& tables, const Starts& starts, const Allowed& allowed, double temperature,
                   std::size_t n_threads, bool pairs) {
  const Batch<Real> batch(tables, starts, allowed);
  const std::size_t L = batch.n_labels, N = batch.n_tokens, table = pairs ? (L + 1) * L : 0;
  std::vector<double> log_z(batch.n_sentences), node(N * L), edges(N * table);
  for_each_sentence(batch, n_threads, [&] { return prepared(batch, temperature); },
                    [&](SumWorkspace& work, const ChainView<Real>& chain, std::size_t i) {
                      const std::size_t first = batch.start(i);
                      log_z[i] = marginals(chain, work, node.data() + first * L,
                                           pairs ? edges.data() + first * table : nullptr);
                    });
  std::optional<Numpy<double>> edge_array;
  if (pairs) edge_array = to_numpy(std::move(edges), {N, L + 1, L});
  return {to_numpy(std::move(log_z)), to_numpy(std::move(node), {N, L}), edge_array};
}

// Spans [n, 4]: sentence, begin, end, type; in the order of their sentences.
template <class Real>
Numpy<double> span_probabilities(const Tables<Real>& tables, const Starts& starts, const Allowed& allowed,
                                 double temperature, const Array<std::int32_t, 1>& type_of,
                                 const Array<std::uint8_t, 2>& cut, const Array<std::int64_t, 2>& spans,
                                 std::size_t n_threads) {
  const Batch<Real> batch(tables, starts, allowed);
  const std::size_t L = batch.n_labels, n = spans.shape(0);
  require(type_of.shape(0) == L && cut.shape(0) == L && cut.shape(1) == L, "spans: one type per label, one cut per pair");
  require(spans.shape(1) == 4, "spans: must be rows of sentence, begin, end, type");
  std::vector<SpanQuery> queries;
  std::vector<std::size_t> first_of(batch.n_sentences + 1);  // the spans of sentence i begin there
  std::int64_t before = 0;
  for (std::size_t s = 0; s < n; ++s) {
    const std::int64_t i = spans(s, 0), type = spans(s, 3);
    require(i >= before && static_cast<std::size_t>(i) < batch.n_sentences, "spans: must go by sentences");
    require(spans(s, 1) >= 0 && spans(s, 1) < spans(s, 2) && spans(s, 2) <= batch.starts[i + 1] - batch.starts[i],
            "spans: a span leaves its sentence");
    queries.push_back({spans(s, 1), spans(s, 2), static_cast<std::int32_t>(type)});
    ++first_of[static_cast<std::size_t>(i) + 1];
    before = i;
  }
  for (std::size_t i = 0; i < batch.n_sentences; ++i) first_of[i + 1] += first_of[i];
  std::vector<double> probabilities(n);
  const SpanLabels labels{type_of.data(), cut.data()};
  for_each_sentence(batch, n_threads, [&] { return prepared(batch, temperature); },
                    [&](SumWorkspace& work, const ChainView<Real>& chain, std::size_t i) {
                      const std::size_t first = first_of[i], count = first_of[i + 1] - first;
                      if (count)
                        span_sums(chain, work, labels, queries.data() + first, count, probabilities.data() + first);
                    });
  return to_numpy(std::move(probabilities));
}

template <class Real>
Numpy<double> path_scores(const Tables<Real>& tables, const Starts& starts, const Array<std::int32_t, 1>& paths,
                          std::size_t n_threads) {
  const Batch<Real> batch(tables, starts);
  require(paths.shape(0) == batch.n_tokens, "path: must have one label per token");
  check_numbers(paths, batch.n_labels, "path: no such label");
  std::vector<double> scores(batch.n_sentences);
  const std::int32_t* labels = paths.data();
  for_each_sentence(batch, n_threads, [] { return 0; },
                    [&](int, const ChainView<Real>& chain, std::size_t i) {
                      scores[i] = static_cast<double>(path_score(chain, labels + batch.start(i)));
                    });
  return to_numpy(std::move(scores));
}

// The same names for float32 and float64. Arrays are never converted here: a copy should be seen where it is made.
template <class Real>
void bind_for(nb::module_& module) {
  using nb::arg;
  const auto tables = "potentials"_array, starts = "starts"_array;
  const auto allowed = "allowed"_array.none();
  const arg temperature("temperature"), n_threads("n_threads");
  module.def("best_paths", best_paths<Real>, tables, starts, allowed, n_threads,
             "Best path of every sentence: labels [n_tokens], scores [n_sentences].");
  module.def("k_best_paths", k_best_paths<Real>, tables, starts, allowed, arg("k"), n_threads,
             "k best paths: labels, sentence i's [k, T_i] from k * starts[i]; scores [n_sentences, k]; counts.");
  module.def("log_partitions", log_partitions<Real>, tables, starts, allowed, temperature, n_threads,
             "log Z of every sentence; all scores are divided by the temperature, as for all sums.");
  module.def("marginals", all_marginals<Real>, tables, starts, allowed, temperature, n_threads, arg("pairs"),
             "log Z [n_sentences], node [n_tokens, L] and, if asked for, edge marginals [n_tokens, L+1, L].");
  module.def("span_probabilities", span_probabilities<Real>, tables, starts, allowed, temperature, "type_of"_array,
             "cut"_array, "spans"_array, n_threads,
             "Probability of each span [n, 4] (sentence, begin, end, type), in the order of their sentences.");
  module.def("path_scores", path_scores<Real>, tables, starts, "paths"_array, n_threads,
             "Score of one given path per sentence.");
}

}  // namespace

void bind_chain(nb::module_& module) {
  bind_for<float>(module);
  bind_for<double>(module);
}
