// The potentials of a batch of sentences from Python, validated, and a parallel loop over them. Tokens of all sentences
// are concatenated; sentence i is tokens starts[i]..starts[i + 1].
#pragma once
#include <atomic>

#include "ngrams.hpp"

namespace {
using namespace trellis;

constexpr std::size_t kSentencesPerBlock = 16;
constexpr std::size_t kMostPaths = 1'000'000;  // limit on k best paths

// Rows over labels are padded to the kernels' stride.
template <class Real>
struct PotentialArrays {
  Array<Real, 2> emit;                // [n_tokens, stride]
  Array<Real, 3> edge;                // [1 or n_tokens, L+1, stride]
  std::optional<Array<Real, 3>> tri;  // [L+1, L+1, stride]
  std::optional<Array<Real, 1>> end;  // [stride]
  OrNone<PyNgrams> ngrams;
  std::optional<TokenNgramArrays<Real>> token_ngrams;
  FIELDS(emit, edge, tri, end, ngrams, token_ngrams)
};
using CountedPaths = std::tuple<std::vector<std::int32_t>, Numpy<double>, std::vector<std::int64_t>>;
using SpanRows = Array<std::int64_t, 2>;

// The potentials of a batch, validated once: afterwards only the scores of tokens can be out of range.
template <class Real>
struct ChainBatch {
  PotentialArrays<Real> tables;
  Longs starts;  // [n_sentences + 1]
  std::optional<SetArrays> allowed;
  FIELDS(tables, starts, allowed)

  std::size_t n_tokens, n_labels, n_sentences;
  const Real* token_edge = nullptr;  // [n_tokens, L+1, stride] if label pairs differ by token
  LabelTables<Real> labels;
  LabelSets sets{};

  void begin() {
    const auto& [emit, edge, tri, end, ngrams, token_ngrams] = tables;
    labels = label_tables_from(edge, tri, end);
    const std::size_t L = labels.n_labels, n = L + 1;
    n_tokens = emit.shape(0), n_labels = L;
    require(emit.shape(1) == labels.stride, "emit must have shape [tokens, stride]");
    check_starts(starts, n_tokens);
    n_sentences = starts.size() - 1;
    require(edge.shape(0) == 1 || edge.shape(0) == n_tokens, "edge must have one table, or one per token");
    const auto check = [&](const Real* rows, std::size_t n_rows) {
      require(are_scores(rows, n_rows, L, labels.stride), "edge, tri, end: scores must be finite or minus infinity");
    };
    if (edge.shape(0) == 1) check(edge.data(), n);
    else token_edge = std::exchange(labels.edge, nullptr);
    if (tri) check(tri->data(), n * n);
    if (end) check(end->data(), 1);
    require(!ngrams || (!tri && ngrams->ngrams.n_labels() == L), "the n-grams belong to other labels");
    if (ngrams) labels.ngrams = ngrams->template view<Real>();
    if (token_ngrams) check_token_ngrams();
    if (allowed) sets = sets_from(*allowed, L, n_tokens, &starts);
  }

  std::size_t start(std::size_t i) const { return static_cast<std::size_t>(starts(i)); }

 private:
  void check_token_ngrams() const {
    const auto& [first, nodes, scores] = *tables.token_ngrams;
    require(tables.ngrams && first.size() == n_tokens + 1 && nodes.size() == scores.size(), "n-grams of tokens do not match the tokens");
    check_starts(first, nodes.size());
    require(all_below(nodes, tables.ngrams->ngrams.size()), "n-gram out of range");
    std::vector<std::uint32_t> here;  // the n-grams of a token
    for (std::size_t t = 0; t < n_tokens; ++t) {
      here.assign(nodes.data() + first(t), nodes.data() + first(t + 1));
      std::sort(here.begin(), here.end());
      require(std::adjacent_find(here.begin(), here.end()) == here.end(), "duplicate n-gram at a token");
    }
    check_finite(scores, "the score of an n-gram must be a finite number");
  }
};

// log Z [n_sentences], P(z at t) [n_tokens, L] and P(y, z at t) [n_tokens, L+1, L]; the last two for all tokens or not at all.
using Sums = std::tuple<std::vector<double>, Numpy<double>, Numpy<double>>;
inline Sums sums_out(std::size_t L, std::vector<double> log_z, std::vector<double> node, std::vector<double> edge) {
  const std::size_t n = node.size() / L, n_edge = edge.size() / ((L + 1) * L);
  return {std::move(log_z), to_numpy(std::move(node), {n, L}), to_numpy(std::move(edge), {n_edge, L + 1, L})};
}

// Up to k paths of every sentence: those of sentence i, [k, T_i], begin at k * starts[i]; missing paths are -1
// and minus infinity.
struct PathLists {
  std::size_t k, n_sentences;
  std::vector<std::int32_t> paths;
  std::vector<double> scores;         // [n_sentences, k]
  std::vector<std::int64_t> counts;   // [n_sentences]
  const std::int64_t* starts;

  template <class Real>
  PathLists(const ChainBatch<Real>& batch, std::size_t k) : k(k), n_sentences(batch.n_sentences), starts(batch.starts.data()) {
    require(k > 0 && k <= kMostPaths, "k must be from 1 to 1000000");
    paths.resize(k * batch.n_tokens, -1), scores.resize(k * n_sentences, kForbidden<double>), counts.resize(n_sentences);
  }
  std::int32_t* paths_of(std::size_t i) { return paths.data() + k * static_cast<std::size_t>(starts[i]); }
  double* scores_of(std::size_t i) { return scores.data() + k * i; }
  CountedPaths out() && {
    return {std::move(paths), to_numpy(std::move(scores), {n_sentences, k}), std::move(counts)};
  }
};

// Offsets of the spans of each sentence, [n_sentences + 1], for spans [n, 4]: sentence, begin, end, type; sentences ascend.
template <class Real>
std::vector<std::size_t> first_spans(const ChainBatch<Real>& batch, const SpanRows& spans) {
  require(spans.shape(1) == 4, "spans must be rows of sentence, begin, end, type");
  std::vector<std::size_t> first(batch.n_sentences + 1);
  std::int64_t before = 0;
  for (std::size_t s = 0; s < spans.shape(0); before = spans(s++, 0)) {
    const std::int64_t i = spans(s, 0);
    require(i >= before && static_cast<std::size_t>(i) < batch.n_sentences, "spans must be sorted by sentence");
    require(spans(s, 1) >= 0 && spans(s, 1) < spans(s, 2) && spans(s, 2) <= batch.starts(i + 1) - batch.starts(i),
            "spans: a span leaves its sentence");
    ++first[static_cast<std::size_t>(i) + 1];
  }
  for (std::size_t i = 0; i < batch.n_sentences; ++i) first[i + 1] += first[i];
  return first;
}

// One sentence of a batch.
template <class Real>
struct Sentence {
  LabelSets sets{};
  TokenNgrams<Real> token_ngrams;
  NgramScores<Real> ngrams{};
  ChainView<Real> view{};

  // False if some score is NaN or plus infinity.
  bool load(const ChainBatch<Real>& batch, std::size_t i) {
    const std::size_t L = batch.n_labels, stride = batch.labels.stride, first = batch.start(i), T = batch.start(i + 1) - first;
    const Real* const rows = batch.tables.emit.data() + first * stride;
    const Real* const tables = batch.token_edge ? batch.token_edge + first * (L + 1) * stride : nullptr;
    sets = batch.sets;
    if (sets.starts) sets.set_of_token += first;
    view = {batch.labels, T, rows, tables, sets.starts ? &sets : nullptr};
    if (batch.tables.token_ngrams) load_ngrams(*batch.tables.token_ngrams, first, T);
    return are_scores(rows, T, L, stride) && (!tables || are_scores(tables, T * (L + 1), L, stride));
  }

 private:
  void load_ngrams(const TokenNgramArrays<Real>& arrays, std::size_t first, std::size_t T) {
    const auto& [starts, nodes, scores] = arrays;
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
void for_each_sentence(const ChainBatch<Real>& batch, std::size_t n_threads, MakeState make_state, Work work) {
  std::atomic<bool> ok{true};
  const auto make = [&] { return std::pair(Sentence<Real>{}, make_state()); };
  each_item(batch.n_sentences, kSentencesPerBlock, n_threads, make, [&](auto& state, std::size_t i) {
    if (state.first.load(batch, i)) work(state.second, state.first.view, i);
    else ok = false;
  });
  require(ok, "emit, edge: scores must be finite or minus infinity");
}

}  // namespace
