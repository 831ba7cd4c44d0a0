// The potentials of many sentences as they come from Python, checked, and a loop over them on threads. Tokens of all sentences
// stand in one run; sentence i is tokens starts[i]..starts[i + 1].
#pragma once
#include <atomic>

#include "ngrams.hpp"
#include "parallel.hpp"

namespace {
using namespace trellis;

constexpr std::size_t kSentencesPerBlock = 16;
constexpr std::size_t kMostPaths = 1'000'000;  // of a list of best ones

// Rows over labels may come padded, stride for L: then they are read where they are.
template <class Real>
struct PotentialArrays {
  Array<Real, 2> emit;                // [n_tokens, L]
  Array<Real, 3> edge;                // [1 or n_tokens, L+1, L]
  std::optional<Array<Real, 3>> tri;  // [L+1, L+1, L]
  std::optional<Array<Real, 1>> end;  // [L]
  OrNone<PyNgrams> ngrams;
  std::optional<TokenNgramsOf<In, Real>> token_ngrams;
  FIELDS(emit, edge, tri, end, ngrams, token_ngrams)
};
using AllowedSets = std::optional<SetArrays>;
using Paths = std::tuple<std::vector<std::int32_t>, std::vector<double>>;
using CountedPaths = std::tuple<std::vector<std::int32_t>, Numpy<double>, std::vector<std::int64_t>>;
using SpanRows = Array<std::int64_t, 2>;

// Rows [n, stride] of rows [n, step], step L or stride; in `to` if they must be copied.
template <class Real>
const Real* pad(const Real* rows, std::size_t n, std::size_t step, std::size_t stride, std::vector<Real>& to) {
  if (step == stride) return rows;
  Real* out = grow(to, n * stride);
  for (std::size_t r = 0; r < n; ++r) {
    std::copy_n(rows + r * step, step, out + r * stride);
    std::fill(out + r * stride + step, out + (r + 1) * stride, Real(0));
  }
  return out;
}

// The potentials of a batch, checked once: afterwards nothing can be out of range.
template <class Real>
struct ChainBatch {
  std::size_t n_tokens, n_labels, stride, n_sentences;
  const Real* emit;                  // [n_tokens, emit_step]
  const Real* token_edge = nullptr;  // [n_tokens, L+1, edge_step] where label pairs differ by token
  std::size_t emit_step, edge_step;
  const std::int64_t* starts;  // [n_sentences + 1]
  LabelTables<Real> labels;
  LabelSets sets{};
  std::optional<TokenNgramsOf<In, Real>> token_ngrams;
  std::vector<Real> padded_edge, padded_tri, padded_end;

  ChainBatch(const PotentialArrays<Real>& tables, const Longs& starts_, const AllowedSets& allowed = {})
      : n_tokens(tables.emit.shape(0)), n_labels(tables.edge.shape(1) - 1), stride(padded(n_labels)), emit(tables.emit.data()),
        emit_step(tables.emit.shape(1)), edge_step(tables.edge.shape(2)), starts(starts_.data()) {
    const auto& [emit_, edge_, tri_, end_, ngrams, token_ngrams_] = tables;
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
    require(!ngrams || (!tri_ && ngrams->ngrams.n_labels() == L), "n-grams for other labels");
    if (ngrams) labels.ngrams = ngrams->template view<Real>();
    if (token_ngrams_) check_token_ngrams(*token_ngrams_, ngrams.get());
    token_ngrams = token_ngrams_;
    if (allowed) sets = sets_from(*allowed, L, n_tokens, &starts_);
  }

  std::size_t start(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }

 private:
  void check_token_ngrams(const TokenNgramsOf<In, Real>& arrays, const PyNgrams* ngrams) const {
    const auto& [starts_, nodes, scores] = arrays;
    require(ngrams && starts_.size() == n_tokens + 1 && nodes.size() == scores.size(), "n-grams of single tokens do not fit");
    check_starts(starts_, nodes.size());
    require(all_below(nodes, ngrams->ngrams.size()), "an n-gram out of range");
    std::vector<std::uint32_t> here;  // the n-grams of a token
    for (std::size_t t = 0; t < n_tokens; ++t) {
      here.assign(nodes.data() + starts_(t), nodes.data() + starts_(t + 1));
      std::sort(here.begin(), here.end());
      require(std::adjacent_find(here.begin(), here.end()) == here.end(), "an n-gram stands twice at a token");
    }
    check_finite(scores, "the score of an n-gram must be a finite number");
  }
  bool fits(std::size_t width) const { return width == n_labels || width == stride; }
  const Real* table(const Real* rows, std::size_t n, std::size_t step, std::vector<Real>& to, const char* name) const {
    if (!are_scores(rows, n, n_labels, step))
      throw nb::value_error((std::string(name) + ": scores must be finite or minus infinity").c_str());
    return pad(rows, n, step, stride, to);
  }
};

// Up to k paths of every sentence: those of sentence i, [k, T_i], stand from k * starts[i] on; what is not filled holds -1
// and minus infinity.
struct PathLists {
  std::size_t k, n_sentences;
  std::vector<std::int32_t> paths;
  std::vector<double> scores;         // [n_sentences, k]
  std::vector<std::int64_t> counts;   // [n_sentences]
  const std::int64_t* starts;

  template <class Real>
  PathLists(const ChainBatch<Real>& batch, std::size_t k) : k(k), n_sentences(batch.n_sentences), starts(batch.starts) {
    require(k > 0 && k <= kMostPaths, "k: must be from 1 to 1000000");
    paths.resize(k * batch.n_tokens, -1), scores.resize(k * n_sentences, kForbidden<double>), counts.resize(n_sentences);
  }
  std::int32_t* paths_of(std::size_t i) { return paths.data() + k * static_cast<std::size_t>(starts[i]); }
  double* scores_of(std::size_t i) { return scores.data() + k * i; }
  CountedPaths out() && {
    return {std::move(paths), to_numpy(std::move(scores), {n_sentences, k}), std::move(counts)};
  }
};

// Where the spans of each sentence begin, [n_sentences + 1], of spans [n, 4]: sentence, begin, end, type; sentences ascend.
template <class Real>
std::vector<std::size_t> first_spans(const ChainBatch<Real>& batch, const SpanRows& spans) {
  require(spans.shape(1) == 4, "spans: must be rows of sentence, begin, end, type");
  std::vector<std::size_t> first(batch.n_sentences + 1);
  std::int64_t before = 0;
  for (std::size_t s = 0; s < spans.shape(0); before = spans(s++, 0)) {
    const std::int64_t i = spans(s, 0);
    require(i >= before && static_cast<std::size_t>(i) < batch.n_sentences, "spans: must go by sentences");
    require(spans(s, 1) >= 0 && spans(s, 1) < spans(s, 2) && spans(s, 2) <= batch.starts[i + 1] - batch.starts[i],
            "spans: a span leaves its sentence");
    ++first[static_cast<std::size_t>(i) + 1];
  }
  for (std::size_t i = 0; i < batch.n_sentences; ++i) first[i + 1] += first[i];
  return first;
}

// One sentence, padded where the batch is not.
template <class Real>
struct Sentence {
  std::vector<Real> emit, edge;
  LabelSets sets{};
  TokenNgrams<Real> token_ngrams;
  NgramScores<Real> ngrams{};
  ChainView<Real> view{};

  // False if some score is NaN or plus infinity.
  bool load(const ChainBatch<Real>& batch, std::size_t i) {
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
  void load_ngrams(const TokenNgramsOf<In, Real>& arrays, std::size_t first, std::size_t T) {
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

}  // namespace
