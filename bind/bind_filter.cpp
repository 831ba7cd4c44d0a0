// The filter that prunes labels, in training, and its levels above order 0.
#include "data.hpp"
#include "growing.hpp"
#include "learn/filter.hpp"
#include "learn/level_steps.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// Keeps what it points into: the corpus, its gold labels.
struct PyFilter {
  Filter core;
  const Encoded& corpus;
  Ints gold;

  PyFilter(const Encoded& corpus, Ints gold_, std::size_t n_used)
      : core(corpus.n_attributes, n_used, corpus.n_labels), corpus(corpus), gold(std::move(gold_)) {
    check_gold(gold, corpus.n_tokens(), corpus.n_labels, true);
    make_read_only(std::tie(gold));
  }
  Examples tokens() const { return {corpus.data, corpus.starts.data(), gold.data()}; }

  void pass(const Longs& sentences, float rate, float least) {
    check_order(sentences, corpus.n_sentences());
    interruptible([&](const auto& go_on) {
      core.pass(tokens(), span(sentences), {rate, least}, go_on);
      return true;
    });
  }
  Numpy<float> gold_margins(const Longs& sentences, std::size_t n_threads) const {
    check_order(sentences, corpus.n_sentences());
    std::vector<float> out;
    without_gil([&] { out = core.gold_margins(tokens(), span(sentences), n_threads); });
    return to_numpy(std::move(out));
  }
  auto candidates(const Longs& sentences, float margin, std::size_t most, std::size_t n_threads) const {
    check_order(sentences, corpus.n_sentences());
    TokenSets out;
    std::vector<float> scores;
    without_gil([&] { out = core.candidates(tokens(), span(sentences), {margin, most}, n_threads, scores); });
    return std::make_tuple(sets_out(std::move(out)), to_numpy(std::move(scores)));
  }
};

// What levels learn from, checked; keeps the arrays it points into.
struct PyLevelTokens {
  SetArrays candidates, sets;
  Floats scores;
  Longs starts;
  Ints gold;
  std::size_t n_labels;
  bool has_lattice;
  LevelTokens core;

  PyLevelTokens(SetArrays candidates_, Floats scores_, SetArrays sets_, Longs starts_,
                Ints gold_, std::size_t n_labels_)
      : candidates(std::move(candidates_)), sets(std::move(sets_)), scores(std::move(scores_)), starts(std::move(starts_)),
        gold(std::move(gold_)), n_labels(n_labels_), has_lattice(sets.lattice) {
    check_labels(n_labels);
    const std::size_t n_tokens = check_sentences(starts);
    check_gold(gold, n_tokens, n_labels);
    core = {sets_from(candidates, n_labels, n_tokens, &starts), scores.data(), sets_from(sets, n_labels, n_tokens, &starts),
            starts.data(), gold.data()};
    require(scores.size() == candidates.labels.size(), "one score per candidate");
    check_finite(scores, "scores of candidates must be finite");
    for (std::size_t t = 0; has_lattice && t < n_tokens; ++t)
      require(core.sets.lattice.starts[core.sets.set_of_token[t]] < core.sets.lattice.starts[core.sets.set_of_token[t] + 1],
              "a token without a node");
    make_read_only(std::tie(candidates, sets, scores, starts, gold));
  }
  std::span<const std::int64_t> checked(const Longs& sentences) const {
    check_order(sentences, starts.size() - 1);
    return span(sentences);
  }
};

struct PyFilterLevels {
  FilterLevels levels;
  LevelLearner learner;
  std::size_t level = 0;

  PyFilterLevels(std::size_t n_labels, std::size_t n_levels, const std::optional<Array<float, 2>>& edge,
                 const std::optional<Floats>& end)
      : levels((check_labels(n_labels), n_labels), n_levels), learner(levels) {
    const auto begin_with = [](std::vector<double>& to, const float* from, std::size_t n, std::size_t size) {
      require(n == size && are_scores(from, 1, n, n), "rules that do not fit the labels");
      to.assign(from, from + n);
    };
    if (edge) begin_with(levels.edge, edge->data(), edge->size(), levels.edge.size());
    if (end) begin_with(levels.end, end->data(), end->size(), levels.stride);
  }
  PyFilterLevels(const PyFilterLevels&) = delete;  // the learner points into it

  const LevelTokens& fitting(const PyLevelTokens& tokens) const {
    require(tokens.n_labels == levels.n_labels && level > 0 && tokens.has_lattice == (level > 1), "tokens of another level");
    return tokens.core;
  }
  void begin(std::size_t level_, const PyLevelTokens& tokens) {
    require(level_ == level + 1 && level_ <= levels.ngrams.order(), "no such level");
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
  Numpy<float> gold_margins(const PyLevelTokens& tokens, const Longs& sentences, std::size_t n_threads) const {
    const auto order = tokens.checked(sentences);
    return to_numpy(without_gil([&] { return learner.gold_margins(fitting(tokens), order, n_threads); }));
  }
  SetsOf<Out> pruned(const PyLevelTokens& tokens, const Longs& sentences, double margin, std::size_t n_threads) const {
    const auto order = tokens.checked(sentences);
    return sets_out(without_gil([&] { return learner.pruned(fitting(tokens), order, margin, n_threads); }));
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
  nb::class_<PyFilter>(module, "Filter", "A log-linear model of single labels in training.")
      .def(nb::init<const Encoded&, Ints, std::size_t>(), nb::keep_alive<1, 2>(), "corpus"_a,
           "gold"_array, nb::kw_only(), "n_used"_a, "Only the first n_used attributes get weights.")
      .def("one_pass", guarded(&PyFilter::pass), "sentences"_array, nb::kw_only(), "rate"_a, "least"_a,
           "Stochastic steps over the sentences in that order.")
      .def("gold_margins", guarded(&PyFilter::gold_margins), "sentences"_array, "n_threads"_a,
           "By how much the best label outscores the gold one, for the tokens of these sentences.")
      .def("candidates", guarded(&PyFilter::candidates), "sentences"_array, "margin"_a, "most"_a, "n_threads"_a,
           "At most so many labels within the margin of the best one, and the gold one, for the tokens of these sentences,\n"
           "and what these labels score.")
      .def_prop_ro("rows", guarded(+[](const PyFilter& self) { return rows_out(self.core.rows, Mean{false, 0}); }),
                   nb::rv_policy::move);
  nb::class_<PyLevelTokens>(module, "LevelTokens", "Sentences with what is left of their candidates, for a level of pruning.")
      .def(nb::init<SetArrays, Floats, SetArrays, Longs, Ints, std::size_t>(),
           "candidates"_array, "scores"_array, "sets"_array, "starts"_array, "gold"_array, "n_labels"_a);
  nb::class_<PyFilterLevels>(module, "FilterLevels", "Levels of pruning above order 0 in training.")
      .def(nb::init<std::size_t, std::size_t, std::optional<Array<float, 2>>, std::optional<Floats>>(),
           "n_labels"_a, "n_levels"_a, "edge"_array.none(), "end"_array.none(),
           "edge, end: minus infinity for what is forbidden, else 0.")
      .def("begin", guarded(&PyFilterLevels::begin), "level"_a, "tokens"_a, "One level after the other, from 1 on.")
      .def("one_pass", guarded(&PyFilterLevels::pass), "tokens"_a, "sentences"_array, nb::kw_only(), "rate"_a, "least"_a,
           "Stochastic steps over the sentences in that order.")
      .def("gold_margins", guarded(&PyFilterLevels::gold_margins), "tokens"_a, "sentences"_array, "n_threads"_a,
           "By how much the best path outscores the best one by the gold labels at each token of these sentences.")
      .def("pruned", guarded(&PyFilterLevels::pruned), "tokens"_a, "sentences"_array, "margin"_a, "n_threads"_a,
           "What the margin leaves of these sentences; the gold path always.")
      .def_prop_ro("edge", guarded(&PyFilterLevels::edge), nb::rv_policy::move)
      .def_prop_ro("ngrams", guarded(&PyFilterLevels::ngrams), nb::rv_policy::move);
}
