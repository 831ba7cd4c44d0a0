// Trees of grammars: examples pruned, online learners, losses and gradients.
#include "growing.hpp"
#include "learn/phrases.hpp"
#include "objective.hpp"
#include "phrases.hpp"

using namespace trellis;

namespace {

// Sentences with their trees, pruned, and the attributes of their spans.
struct PyPhraseExamples {
  std::shared_ptr<PyPhrasePruner> pruner;
  WordArrays words;
  Longs right_starts;
  Array<std::int32_t, 2> right;  // [n, 4]: rules over spans
  SpanPlanArrays plan;
  CodedColumns columns;
  bool all;
  std::size_t n_threads;
  ARGUMENTS(pruner, words, right_starts, right, plan, columns, all, n_threads)
  std::unique_ptr<PhraseExamples> core;

  void begin() {
    const PhraseGrammar& grammar = pruner->grammar();
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
    const SpanPlan templates = span_plan_from(plan);
    const auto codes = span_columns_from(templates, columns, static_cast<std::size_t>(sentences.starts.back()));
    without_gil([&] {
      core = std::make_unique<PhraseExamples>(*pruner->core, std::move(sentences),
                                              std::vector<std::int64_t>(right_starts.begin(), right_starts.end()),
                                              std::move(edges), n_threads);
      core->learn(templates, codes, all);
    });
  }
  std::size_t size() const { return core->size(); }
  std::size_t n_attributes() const { return static_cast<std::size_t>(core->vocabulary.first_numbers().back()); }

  // Frozen tables of attributes, folds and outlines, with attributes renumbered: rank[a] is the new number of a, -1 drops it.
  std::tuple<FrozenArrays, FrozenArrays, FrozenArrays> tables(const Ints& rank) const {
    require(rank.size() == n_attributes(), "one rank per attribute");
    const span<const GrowingTable> folds(core->vocabulary.folds);
    return {freeze_tables(core->vocabulary.tables, [&](std::int32_t id, std::int32_t base) { return rank(base + id); }),
            freeze_tables(folds.first(folds.size() - 1)), freeze_tables(folds.last(1))};
  }
};

struct LearntRows {
  RowsOut rows;
  FIELDS(rows)
};

struct PhraseOnline : OnlineSteps<GrowingRows> {
  using Examples = PyPhraseExamples;
  std::shared_ptr<Examples> examples;
  RuleArrays rules;
  RuleColumns columns;

  PhraseOnline(std::shared_ptr<Examples> examples_, const Array<std::int32_t, 2>& rule_columns, std::size_t n_columns,
               const Floats& base, const std::string& rule, std::size_t k, double c)
      : OnlineSteps{Steps(rule_from(rule, k, c), false),
                    {examples_->n_attributes(), n_columns, heavy_from<float>(padded(n_columns)),
                     rule_from(rule, k, c).has_variances()}},
        examples(std::move(examples_)), rules{rule_columns, n_columns, base},
        columns(rules.checked(examples->pruner->grammar())) {}
  void check(const Examples& others) const { require(&others == examples.get(), "other examples"); }
  EpochResult pass(const Examples&, const Pass& pass) {
    return pass_over([&] { return PhraseTrees(&weights, *examples->core, columns, rules.base.data()); }, pass);
  }
  NamedArrays learnt(bool average) const { return flat(LearntRows{rows_out(weights, mean(average))}); }
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    row_fields(archive, weights);
  }
};

struct PyPhraseObjective : PyObjective {
  std::shared_ptr<PyPhraseExamples> examples;
  RuleArrays rules;
  FieldList arguments() const {
    return list_fields("examples, rule_columns, n_columns, base", examples, rules.columns, rules.n_columns, rules.base);
  }
  RuleColumns columns;
  std::optional<PhraseParameters> parameters;

  void begin() {
    columns = rules.checked(examples->pruner->grammar());
    without_gil([&] {
      parameters.emplace(*examples->core, columns);
      set(phrase_objective(*examples->core, columns, rules.base.data(), *parameters), examples->size(),
          parameters->columns.size());
    });
  }
  // Rows of attributes by a vector of parameters.
  NamedArrays rows(const Doubles& x) const {
    require(x.size() == n_parameters, "one number per parameter");
    RowsOut to{{0}, {}, {}};
    for (std::size_t a = 0; a + 1 < parameters->starts.size(); ++a) {
      for (std::uint32_t p = parameters->starts[a]; p < parameters->starts[a + 1]; ++p)
        if (const auto weight = static_cast<float>(x(p)); weight != 0)
          to.labels.push_back(parameters->columns[p]), to.weights.push_back(weight);
      to.starts.push_back(static_cast<std::uint32_t>(to.labels.size()));
    }
    return flat(LearntRows{std::move(to)});
  }
};

}  // namespace

void bind_phrase_decoder(nb::module_& module);

void bind_phrases(nb::module_& module) {
  nb::class_<PyPhraseGrammar>(module, "PhraseGrammar", "A binarised grammar.").def(by_name());
  nb::class_<PyPhrasePruner>(module, "PhrasePruner", "A grammar, and a smaller one that says what is worth looking at.")
      .def(by_name());
  nb::class_<PyPhraseExamples>(module, "PhraseExamples", "Sentences with their trees, pruned, and the attributes of their spans.")
      .def(by_name())
      .def_prop_ro("n_attributes", &PyPhraseExamples::n_attributes)
      .def_prop_ro("n_edges", [](const PyPhraseExamples& self) { return self.core->n_edges; })
      .def_prop_ro("n_spans", [](const PyPhraseExamples& self) { return self.core->n_spans; })
      .def("tables", &PyPhraseExamples::tables, "rank"_a, "Tables of attributes, folds and outlines.");
  bind_online<PhraseOnline>(module, "PhraseOnline", "An online learner of trees.")
      .def(nb::init<std::shared_ptr<PyPhraseExamples>, const Array<std::int32_t, 2>&, std::size_t, const Floats&,
                    const std::string&, std::size_t, double>(),
           "examples"_a, "rule_columns"_a, "n_columns"_a, "base"_a, "rule"_a, "k"_a, "c"_a);
  nb::class_<PyPhraseObjective, PyObjective>(module, "PhraseObjective", "Log losses of right trees.")
      .def(by_name())
      .def("rows", &PyPhraseObjective::rows, "parameters"_a, "Rows of attributes.");
  bind_phrase_decoder(module);
}
