// Training of the pruning filter and its levels above order 0.
#include "data.hpp"
#include "growing.hpp"
#include "learn/filter.hpp"
#include "learn/level_steps.hpp"

using namespace trellis;

namespace {

// Keeps its arrays alive: the corpus, its gold labels.
struct PyFilter {
  std::shared_ptr<Encoded> corpus;
  Ints gold;
  std::size_t n_used;
  ARGUMENTS(corpus, gold, n_used)
  std::optional<Filter> core;

  void begin() {
    check_gold(gold, corpus->n_tokens(), corpus->n_labels, true);
    core.emplace(corpus->n_attributes, n_used, corpus->n_labels);
  }
  Examples tokens() const { return {corpus->data, corpus->starts.data(), gold.data()}; }

  void pass(const Longs& sentences, float rate, float least) {
    check_order(sentences, corpus->n_sentences());
    interruptible([&](const auto& go_on) {
      core->pass(tokens(), sentences, {rate, least}, go_on);
      return true;
    });
  }
  std::vector<float> gold_margins(const Longs& sentences, std::size_t n_threads) const {
    check_order(sentences, corpus->n_sentences());
    return without_gil([&] { return core->gold_margins(tokens(), sentences, n_threads); });
  }
  auto candidates(const Longs& sentences, float margin, std::size_t most, std::size_t n_threads) const {
    check_order(sentences, corpus->n_sentences());
    std::vector<float> scores;
    TokenSets out = without_gil([&] { return core->candidates(tokens(), sentences, {margin, most}, n_threads, scores); });
    return std::make_tuple(std::move(out), std::move(scores));
  }
};

// The training data of levels, validated; keeps its arrays alive.
struct PyLevelTokens {
  SetArrays candidates;
  Floats scores;
  SetArrays sets;
  Longs starts;
  Ints gold;
  std::size_t n_labels;
  ARGUMENTS(candidates, scores, sets, starts, gold, n_labels)
  LevelTokens core;

  void begin() {
    check_labels(n_labels);
    const std::size_t n_tokens = check_sentences(starts);
    check_gold(gold, n_tokens, n_labels);
    core = {sets_from(candidates, n_labels, n_tokens, &starts), scores.data(), sets_from(sets, n_labels, n_tokens, &starts),
            starts.data(), gold.data()};
    require(scores.size() == candidates.labels.size(), "there must be one score per candidate");
    check_finite(scores, "scores of candidates must be finite");
    for (std::size_t t = 0; sets.lattice && t < n_tokens; ++t)
      require(core.sets.lattice.starts[core.sets.set_of_token[t]] < core.sets.lattice.starts[core.sets.set_of_token[t] + 1],
              "token without a node");
  }
  span<const std::int64_t> checked(const Longs& sentences) const {
    check_order(sentences, starts.size() - 1);
    return sentences;
  }
};

struct PyFilterLevels {
  FilterLevels levels;
  LevelLearner learner;
  std::size_t level = 0;
  Pinned pinned;

  PyFilterLevels(std::size_t n_labels, std::size_t n_levels, const std::optional<Array<float, 2>>& edge,
                 const std::optional<Floats>& end)
      : levels((check_labels(n_labels), n_labels), n_levels), learner(levels) {
    const auto begin_with = [](std::vector<double>& to, const float* from, std::size_t n, std::size_t size) {
      require(n == size && are_scores(from, 1, n, n), "rules do not match the labels");
      to.assign(from, from + n);
    };
    if (edge) begin_with(levels.edge, edge->data(), edge->size(), levels.edge.size());
    if (end) begin_with(levels.end, end->data(), end->size(), levels.stride);
  }

  const LevelTokens& fitting(const PyLevelTokens& tokens) const {
    require(tokens.n_labels == levels.n_labels && level > 0 && tokens.sets.lattice.has_value() == (level > 1),
            "the tokens belong to another level");
    return tokens.core;
  }
  void begin(std::size_t level_, const PyLevelTokens& tokens) {
    require(level_ == level + 1 && level_ <= levels.ngrams.order(), "level out of range");
    level = level_;
    learner.begin(level, fitting(tokens), tokens.starts.size() - 1);
  }
  void pass(const PyLevelTokens& tokens, const Longs& sentences, float rate, float least) {
    const auto order = tokens.checked(sentences);
    interruptible([&](const auto& go_on) {
      learner.pass(fitting(tokens), order, {rate, least}, go_on);
      return true;
    });
  }
  std::vector<float> gold_margins(const PyLevelTokens& tokens, const Longs& sentences, std::size_t n_threads) const {
    const auto order = tokens.checked(sentences);
    return without_gil([&] { return learner.gold_margins(fitting(tokens), order, n_threads); });
  }
  TokenSets pruned(const PyLevelTokens& tokens, const Longs& sentences, double margin, std::size_t n_threads) const {
    const auto order = tokens.checked(sentences);
    return without_gil([&] { return learner.pruned(fitting(tokens), order, margin, n_threads); });
  }
  Numpy<float> edge() const {
    return to_numpy(std::vector<float>(levels.edge.begin(), levels.edge.end()), {levels.n_labels + 1, levels.stride});
  }
  NgramsOut ngrams() const {
    const std::vector<float> weights(levels.scores.begin(), levels.scores.end());
    return ngrams_out(levels.ngrams, weights, 0, {});
  }
};

}  // namespace

void bind_filter(nb::module_& module) {
  bind_class<PyFilter>(module, "Filter", "A log-linear model of single labels; only the first n_used attributes get weights.")
      .def("one_pass", guarded(&PyFilter::pass), "sentences"_a, nb::kw_only(), "rate"_a, "least"_a,
           "Stochastic steps over the sentences in that order.")
      .def("gold_margins", guarded(&PyFilter::gold_margins), "sentences"_a, "n_threads"_a,
           "By how much the best label outscores the gold one, for the tokens of these sentences.")
      .def("candidates", guarded(&PyFilter::candidates), "sentences"_a, "margin"_a, "most"_a, "n_threads"_a,
           "At most so many labels within the margin of the best one, and the gold one, for the tokens of these sentences,\n"
           "and what these labels score.")
      .def_prop_ro("rows", guarded(+[](const PyFilter& self) { return rows_out(self.core->rows, Mean{false, 0}); }));
  bind_class<PyLevelTokens>(module, "LevelTokens", "Sentences with what is left of their candidates, for a level of pruning.");
  nb::class_<PyFilterLevels>(module, "FilterLevels", "Levels of pruning above order 0 in training.")
      .def(nb::init<std::size_t, std::size_t, const std::optional<Array<float, 2>>&, const std::optional<Floats>&>(),
           "n_labels"_a, "n_levels"_a, "edge"_a.none(), "end"_a.none(),
           "edge, end: minus infinity for what is forbidden, else 0.")
      .def("begin", guarded(&PyFilterLevels::begin), "level"_a, "tokens"_a, "One level after the other, from 1 on.")
      .def("one_pass", guarded(&PyFilterLevels::pass), "tokens"_a, "sentences"_a, nb::kw_only(), "rate"_a, "least"_a,
           "Stochastic steps over the sentences in that order.")
      .def("gold_margins", guarded(&PyFilterLevels::gold_margins), "tokens"_a, "sentences"_a, "n_threads"_a,
           "By how much the best path outscores the best one by the gold labels at each token of these sentences.")
      .def("pruned", guarded(&PyFilterLevels::pruned), "tokens"_a, "sentences"_a, "margin"_a, "n_threads"_a,
           "What the margin leaves of these sentences; the gold path always.")
      .def_prop_ro("edge", guarded(&PyFilterLevels::edge))
      .def_prop_ro("ngrams", guarded(&PyFilterLevels::ngrams));
}
