// Trees of grammars: examples pruned, online learners, losses and gradients.
#include "growing.hpp"
#include "learn/phrase_sums.hpp"
#include "objective.hpp"
#include "phrases.hpp"
#include "rule.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {


// Sentences with their trees, pruned, and the attributes of their spans.
struct PyPhraseExamples {
  std::shared_ptr<PyPhrasePruner> pruner;
  std::unique_ptr<PhraseExamples> core;

  PyPhraseExamples(std::shared_ptr<PyPhrasePruner> pruner_, const WordArrays& words, const Longs& right_starts,
                   const Array<std::int32_t, 2>& right, const SpanPlanArrays& plan_arrays, const CodedColumns& column_arrays, bool all,
                   std::size_t n_threads)
      : pruner(std::move(pruner_)) {
    const PhraseGrammar& grammar = pruner->fine->core;
    TaggedSentences sentences = sentences_from(words, grammar);
    const std::size_t n = sentences.size();
    require(right_starts.size() == n + 1 && right.shape(1) == 4, "one tree per sentence, of rules [n, 4]");
    check_starts(right_starts, right.shape(0));
    std::vector<ForestEdge> edges;
    for (std::size_t s = 0; s < n; ++s)
      for (std::int64_t i = right_starts(s); i < right_starts(s + 1); ++i) {
        const std::int32_t* at = right.data() + 4 * i;
        require(at[0] >= 0 && static_cast<std::size_t>(at[0]) < grammar.n_rules() && at[1] >= 0 && at[1] < at[3] &&
                    static_cast<std::size_t>(at[3]) <= sentences.n_words(s), "a tree with a rule out of range");
        const bool binary = static_cast<std::size_t>(at[0]) < grammar.n_binary();
        require(binary ? at[1] < at[2] && at[2] < at[3] : at[2] == 0, "a tree with a split point out of range");
        edges.push_back({at[0], at[1], at[2], at[3]});
      }
    const SpanPlan plan = span_plan_from(plan_arrays);
    const auto columns = span_columns_from(plan, column_arrays, static_cast<std::size_t>(sentences.starts.back()));
    without_gil([&] {
      core = std::make_unique<PhraseExamples>(pruner->core, std::move(sentences),
                                              std::vector<std::int64_t>(right_starts.data(), right_starts.data() + n + 1), std::move(edges), n_threads);
      core->learn(plan, columns, all);
    });
  }
  std::size_t size() const { return core->size(); }
  std::size_t n_attributes() const { return static_cast<std::size_t>(core->vocabulary->n_attributes()); }

  // Frozen tables of attributes, folds and outlines, with attributes renumbered: rank[a] is the new number of a, -1 drops it.
  std::tuple<TablesOut, TablesOut, TablesOut> tables(const Ints& rank) const {
    require(rank.size() == n_attributes(), "one rank per attribute");
    const auto renumbered = [&](std::int32_t id, std::int32_t base) { return rank(static_cast<std::size_t>(base + id)); };
    const GrowingSpans& vocabulary = *core->vocabulary;
    return {tables_out(vocabulary.tables(), renumbered), tables_out(vocabulary.folds()), tables_out(vocabulary.outlines())};
  }
};

struct LearntRows {
  RowsOut rows;
  FIELDS(rows)
};

struct PhraseOnline {
  using Examples = PyPhraseExamples;
  std::shared_ptr<Examples> examples;
  RuleColumnArray columns;
  std::vector<float> base;
  Steps steps;
  PhraseWeights weights;
  std::int64_t clock = 0;

  PhraseOnline(std::shared_ptr<Examples> examples_, const Array<std::int32_t, 2>& columns_, std::size_t n_columns,
               const Floats& base_, const std::string& rule, std::size_t k, double c)
      : examples(std::move(examples_)), columns(columns_, n_columns, examples->pruner->fine->core),
        base(base_from(base_, examples->pruner->fine->core)), steps(rule_from(rule, k, c), false),
        weights(examples->n_attributes(), n_columns, steps.rule().has_variances()) {}
  void check(const Examples& given) const { require(&given == examples.get(), "other examples"); }
  EpochResult pass(const Examples& given, const Pass& pass) {
    return pass_over([&] { return PhraseTrees(weights, *given.core, columns.core, base.data()); }, weights, steps, clock, pass);
  }
  NamedArrays learnt(bool average) const {
    return flat(LearntRows{rows_out(weights.rows, {average, static_cast<double>(clock)})});
  }
  template <class Archive>
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    row_fields(archive, "rows", weights.rows);
  }
};

struct PyPhraseObjective : PyObjective {
  std::shared_ptr<PyPhraseExamples> examples;
  RuleColumnArray columns;
  std::vector<float> base;
  PhraseParameters parameters;

  PyPhraseObjective(std::shared_ptr<PyPhraseExamples> examples_, const Array<std::int32_t, 2>& columns_, std::size_t n_columns, const Floats& base_)
      : examples(std::move(examples_)), columns(columns_, n_columns, examples->pruner->fine->core), base(base_from(base_, examples->pruner->fine->core)),
        parameters(without_gil([&] { return PhraseParameters(*examples->core, columns.core); })) {
    n_sentences = examples->core->size(), n_parameters = parameters.columns.size();
    core = without_gil([&] { return phrase_objective(*examples->core, columns.core, base.data(), parameters); });
  }
  // Rows of attributes by a vector of parameters.
  NamedArrays rows(const Doubles& x) const {
    require(x.size() == n_parameters, "one number per parameter");
    RowsOut to{{0}, {}, {}};
    for (std::size_t a = 0; a + 1 < parameters.starts.size(); ++a) {
      for (std::uint32_t p = parameters.starts[a]; p < parameters.starts[a + 1]; ++p)
        if (const auto weight = static_cast<float>(x(p)); weight != 0) to.labels.push_back(parameters.columns[p]), to.weights.push_back(weight);
      to.starts.push_back(static_cast<std::uint32_t>(to.labels.size()));
    }
    return flat(LearntRows{std::move(to)});
  }
};

}  // namespace

void bind_phrase_decoder(nb::module_& module);

void bind_phrases(nb::module_& module) {
  nb::class_<PyPhraseGrammar>(module, "PhraseGrammar", "A binarised grammar.")
      .def("__init__", [](PyPhraseGrammar* self, std::size_t n_phrases, std::size_t n_symbols, std::size_t root, const Array<std::int32_t, 2>& binary,
                          const Array<std::int32_t, 2>& unary) { new (self) PyPhraseGrammar{grammar_from(n_phrases, n_symbols, root, binary, unary)}; },
           "n_phrases"_a, "n_symbols"_a, "root"_a, "binary"_array, "unary"_array);
  nb::class_<PyPhrasePruner>(module, "PhrasePruner", "A grammar, and a smaller one that says what is worth looking at.")
      .def(nb::init<std::shared_ptr<PyPhraseGrammar>, std::shared_ptr<PyPhraseGrammar>, const Doubles&, const Ints&, double>(),
           "fine"_a, "coarse"_a, "factors"_array, "coarse_of"_array, "least"_a);
  nb::class_<PyPhraseExamples>(module, "PhraseExamples", "Sentences with their trees, pruned, and the attributes of their spans.")
      .def(nb::init<std::shared_ptr<PyPhrasePruner>, const WordArrays&, const Longs&, const Array<std::int32_t, 2>&, const SpanPlanArrays&,
                    const CodedColumns&, bool, std::size_t>(),
           "pruner"_a, "words"_array, "right_starts"_array, "right"_array, "plan"_array, "columns"_array, "all"_a, "n_threads"_a)
      .def_prop_ro("n_attributes", &PyPhraseExamples::n_attributes)
      .def_prop_ro("n_edges", [](const PyPhraseExamples& self) { return self.core->n_edges; })
      .def_prop_ro("n_spans", [](const PyPhraseExamples& self) { return self.core->n_spans; })
      .def("tables", &PyPhraseExamples::tables, "rank"_array, "Tables of attributes, folds and outlines.");
  bind_online<PhraseOnline>(module, "PhraseOnline", "An online learner of trees.")
      .def(nb::init<std::shared_ptr<PyPhraseExamples>, const Array<std::int32_t, 2>&, std::size_t, const Floats&, const std::string&, std::size_t, double>(),
           "examples"_a, "rule_columns"_array, "n_columns"_a, "base"_array, "rule"_a, "k"_a, "c"_a);
  nb::class_<PyPhraseObjective, PyObjective>(module, "PhraseObjective", "Log losses of right trees.")
      .def(nb::init<std::shared_ptr<PyPhraseExamples>, const Array<std::int32_t, 2>&, std::size_t, const Floats&>(), "examples"_a,
           "rule_columns"_array, "n_columns"_a, "base"_array)
      .def("rows", &PyPhraseObjective::rows, "parameters"_array, "Rows of attributes.");
  bind_phrase_decoder(module);
}
