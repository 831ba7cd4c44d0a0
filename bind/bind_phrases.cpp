// Phrase structure trees: pruned examples, online learners, losses and gradients, the parser's runtime.
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
    require(right_starts.size() == n + 1 && right.shape(1) == 4, "there must be one tree per sentence, with rules [n, 4]");
    check_starts(right_starts, right.shape(0));
    std::vector<ForestEdge> edges;
    for (std::size_t s = 0; s < n; ++s)
      for (std::int64_t i = right_starts(s); i < right_starts(s + 1); ++i) {
        const std::int32_t* at = right.data() + 4 * i;
        require(at[0] >= 0 && static_cast<std::size_t>(at[0]) < grammar.n_rules() && at[1] >= 0 && at[1] < at[3] &&
                    static_cast<std::size_t>(at[3]) <= sentences.n_words(s), "rule out of range in a tree");
        const bool binary = static_cast<std::size_t>(at[0]) < grammar.n_binary();
        require(binary ? at[1] < at[2] && at[2] < at[3] : at[2] == 0, "split point out of range in a tree");
        edges.push_back({at[0], at[1], at[2], at[3]});
      }
    const SpanPlan templates = span_plan_from(plan);
    const auto codes = columns_from(templates.plan, columns, static_cast<std::size_t>(sentences.starts.back()));
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
    require(rank.size() == n_attributes(), "rank must have one number per attribute");
    const span<const GrowingTable> folds(core->vocabulary.folds);
    return {freeze_tables(core->vocabulary.tables, [&](std::int32_t id, std::int32_t base) { return rank(base + id); }),
            freeze_tables(folds.first(folds.size() - 1)), freeze_tables(folds.last(1))};
  }
};

struct PhraseOnline : OnlineSteps<GrowingRows> {
  using Examples = PyPhraseExamples;
  std::shared_ptr<Examples> examples;
  RuleArrays rules;
  RuleColumns columns;

  PhraseOnline(std::shared_ptr<Examples> examples_, const RuleArrays& rules_, const std::string& rule, std::size_t k, double c)
      : OnlineSteps{Steps(rule_from(rule, k, c), false),
                    {examples_->n_attributes(), rules_.n_columns, heavy_from<float>(padded(rules_.n_columns)),
                     rule_from(rule, k, c).has_variances()}},
        examples(std::move(examples_)), rules(rules_), columns(rules.checked(examples->pruner->grammar())) {}
  void check(const Examples& others) const { require(&others == examples.get(), "the examples are different"); }
  EpochResult pass(const Examples&, const Pass& pass) {
    return pass_over([&] { return PhraseTrees(&weights, *examples->core, columns, rules.base.data()); }, pass);
  }
  NamedArrays learnt(bool average) const { return flat(rows_out(weights, mean(average)), "rows"); }
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    row_fields(archive, weights);
  }
};

struct PyPhraseObjective : PyObjective {
  std::shared_ptr<PyPhraseExamples> examples;
  RuleArrays rules;
  ARGUMENTS(examples, rules)
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
  // Rows of attributes whose weights are the parameters, initially zero.
  RowsOut rows() const { return {parameters->starts, parameters->columns, std::vector<float>(n_parameters)}; }
};

// ------------------------------------------------------------ the runtime

// A parser's grammar and weights, validated; keeps its arrays alive.
struct PyPhraseDecoder {
  std::shared_ptr<PyPhrasePruner> pruner;
  RuleArrays rules;
  RowArrays<std::uint32_t> weights;
  SpanPlanArrays templates;
  TableArrays keys, folds, outlines;
  ARGUMENTS(pruner, rules, weights, templates, keys, folds, outlines)
  RuleColumns columns;
  Rows<std::uint32_t> rows;
  std::optional<HeavyRows<float>> heavy;
  SpanPlan plan;
  FrozenVocabulary tables;

  void begin() {
    columns = rules.checked(pruner->grammar());
    const std::size_t n_rows = weights.starts.size() - 1;
    rows = rows_from(weights, rules.n_columns);
    check_finite(weights.weights, "weights must be finite numbers");
    heavy.emplace(rows.starts, n_rows, padded(rules.n_columns));
    heavy->set(rows.labels, rows.weights);
    rows.heavy = &*heavy;
    plan = span_plan_from(templates);
    const std::size_t n = plan.plan.templates.size();
    tables.tables = tables_from(keys, n, std::vector<std::int64_t>(n, static_cast<std::int64_t>(n_rows)));
    tables.folds = tables_from(folds, static_cast<std::size_t>(plan.plan.n_folds - 1));
    tables.folds.push_back(tables_from(outlines, 1, {std::numeric_limits<std::int32_t>::max()})[0]);
  }

  // The parser's input, validated.
  struct Input {
    TaggedSentences sentences;
    std::vector<ColumnCodes> columns;
  };
  Input input(const WordArrays& words, const CodedColumns& coded) const {
    Input out{sentences_from(words, pruner->grammar()), {}};
    out.columns = columns_from(plan.plan, coded, static_cast<std::size_t>(out.sentences.starts.back()));
    return out;
  }

  struct Scratch {
    Pruning pruning;
    PhraseForest forest;
    PhraseScores<float> scores_of;
    SpanPlaces x;
    HypergraphWorkspace work;
    std::vector<std::int64_t> edges;
    TokenLists attributes;
    std::vector<double> scores;

    explicit Scratch(const PyPhraseDecoder& self)
        : pruning(*self.pruner->core), forest(self.pruner->grammar(), self.pruner->coarse_of), scores_of(self.columns) {}
  };
  // The forest of a sentence, with scores; false if there is none.
  bool load(Scratch& work, const Input& in, std::size_t s) const {
    const WordTags words = in.sentences.of(s);
    if (!work.pruning.run(words) || !work.forest.build(words, &work.pruning.remaining)) return false;
    work.x.load(plan, in.columns, in.sentences.starts[s], in.sentences.starts[s + 1], tables.known_folds());
    work.attributes.starts.assign(1, 0), work.attributes.ids.clear();
    find_attributes(tables, nullptr, work.forest, work.x, work.attributes);
    work.scores.resize(work.forest.edges().size());
    const Sites sites{work.attributes.starts.data(), work.attributes.ids.data()};
    work.scores_of.score(work.forest, rows, {sites, 0, work.forest.spans().size()}, rules.base.data(), work.scores.data());
    add_tag_scores(work.forest, words, work.scores.data());
    return true;
  }

  // Trees as scores and rules over spans, four numbers each.
  using Trees = std::vector<std::pair<double, std::vector<std::int32_t>>>;
  // Up to k trees of each sentence, best first.
  std::vector<Trees> parse(const WordArrays& words, const CodedColumns& coded, std::size_t k, std::size_t n_threads) const {
    const Input in = input(words, coded);
    std::vector<Trees> found(in.sentences.size());
    each_item(found.size(), 4, n_threads, [&] { return Scratch(*this); }, [&](Scratch& work, std::size_t s) {
      if (!load(work, in, s)) return;
      KBestDerivations best(work.forest.view(), work.scores.data(), work.work);
      for (std::size_t n = 0; n < k && best.find(n + 1); ++n) {
        auto& [score, rules] = found[s].emplace_back();
        score = best.score(n), best.edges(n, work.edges);
        for (std::int64_t e : work.edges) add_rule(work.forest.edges()[static_cast<std::size_t>(e)], rules);
      }
    });
    return found;
  }
  static void add_rule(const ForestEdge& edge, std::vector<std::int32_t>& rules) {
    rules.insert(rules.end(), {edge.rule, edge.begin, edge.split, edge.end});
  }

  // For one sentence: log Z over the pruned forest, its rules over spans, their scores and probabilities.
  std::tuple<double, Out<std::int32_t>, Out<double>, Out<double>> marginals(const WordArrays& words,
                                                                            const CodedColumns& coded) const {
    const Input in = input(words, coded);
    require(in.sentences.size() == 1, "exactly one sentence is needed");
    Scratch work(*this);
    std::vector<double> shares;
    const double log_z = without_gil([&] {
      if (!load(work, in, 0)) return kForbidden<double>;
      const double total = sum_derivations(work.forest.view(), work.scores.data(), work.work);
      shares.resize(work.scores.size());
      derivation_marginals(work.forest.view(), work.work, shares.data(), nullptr);
      return total;
    });
    if (log_z == kForbidden<double>) return {log_z, {}, {}, {}};
    std::vector<std::int32_t> rules;
    for (const ForestEdge& edge : work.forest.edges()) add_rule(edge, rules);
    return {log_z, std::move(rules), std::move(work.scores), std::move(shares)};
  }

  // Attributes of spans (first word, word after the last) and split points (point, 0) of one sentence: offsets,
  // templates, numbers.
  std::tuple<std::vector<std::int64_t>, std::vector<std::int32_t>, std::vector<std::int32_t>> attributes(
      const WordArrays& words, const CodedColumns& coded, const Array<std::int32_t, 2>& sites) const {
    const Input in = input(words, coded);
    require(in.sentences.size() == 1 && sites.shape(1) == 2, "exactly one sentence and sites [n, 2] are needed");
    const auto n = static_cast<std::int32_t>(in.sentences.n_words(0));
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> templates, ids;
    SpanPlaces x;
    x.load(plan, in.columns, 0, n, tables.known_folds());
    for (std::size_t i = 0; i < sites.shape(0); ++i) {
      const std::int32_t begin = sites(i, 0), end = sites(i, 1);
      require(begin >= 0 && begin < n && end <= n && (end == 0 || end > begin), "span out of range");
      x.find(tables, begin, end,
             [&](std::size_t t, std::int32_t id) { templates.push_back(static_cast<std::int32_t>(t)), ids.push_back(id); });
      starts.push_back(static_cast<std::int64_t>(ids.size()));
    }
    return {std::move(starts), std::move(templates), std::move(ids)};
  }
};

}  // namespace

void bind_phrases(nb::module_& module) {
  bind_class<PyPhraseGrammar>(module, "PhraseGrammar", "A binarised grammar.");
  bind_class<PyPhrasePruner>(module, "PhrasePruner", "A grammar, and a smaller one that says what is worth looking at.");
  bind_class<PyPhraseExamples>(module, "PhraseExamples", "Sentences with their trees, pruned, and the attributes of their spans.")
      .def_prop_ro("n_attributes", &PyPhraseExamples::n_attributes)
      .def("tables", &PyPhraseExamples::tables, "rank"_a, "Tables of attributes, folds and outlines.");
  bind_online<PhraseOnline>(module, "PhraseOnline", "An online learner of trees.")
      .def(nb::init<std::shared_ptr<PyPhraseExamples>, const RuleArrays&, const std::string&, std::size_t, double>(),
           "examples"_a, "rules"_a, "rule"_a, "k"_a, "c"_a);
  bind_class<PyPhraseObjective, PyObjective>(module, "PhraseObjective", "Log losses of right trees.")
      .def_prop_ro("rows", &PyPhraseObjective::rows, "Rows of attributes whose weights are the parameters, all zero.");
  bind_class<PyPhraseDecoder>(module, "PhraseDecoder", "A parser's runtime.")
      .def("parse", &PyPhraseDecoder::parse, "words"_a, "columns"_a, "k"_a, "n_threads"_a)
      .def("marginals", &PyPhraseDecoder::marginals, "words"_a, "columns"_a)
      .def("attributes", &PyPhraseDecoder::attributes, "words"_a, "columns"_a, "sites"_a);
}
