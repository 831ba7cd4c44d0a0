"""Parsers of trees: grammars, PCFGs and learnt weights against lists of all trees; files, options, bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from gradients import gradient_of
from phrase_oracle import all_derivations

import trellis
from trellis import PhraseTree, TreeParser, parse_trees
from trellis._support import tensor_file
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError, TemplateError
from trellis.tasks.trees.grammar import Markov, build_tree, derive, read_grammar
from trellis.tasks.trees.lexicon import Lexicon
from trellis.tasks.trees.train import train

TEXT = """
( (S (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))) (. .)))
( (S (NP (DT a) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT a) (NN mat)))) (. .)))
( (S (NP (NN rain)) (VP (VBD fell)) (. .)))
( (S (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT a) (NN cat)))) (VP (VBD ran)) (. .)))
( (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NP (DT a) (NN cat)) (PP (IN on) (NP (DT the) (NN mat))))) (. .)))
( (S (NP (NN rain)) (VP (VBD fell) (PP (IN on) (NP (DT the) (NN dog) (CC and) (DT the) (NN cat)))) (. .)))
( (S (VP (VB go)) (. .)))
( (S (NP (DT the) (NN man)) (VP (VBD saw) (NP (DT the) (NN dog)) (PP (IN with) (NP (NN eyes)))) (. .)))
"""
TREES = [tree for one in parse_trees(TEXT) if (tree := one.clean()) is not None]
# Each phrase with a preposition may belong to what stands before it or further back.
AMBIGUOUS = [
    *(("the", "DT"), ("dog", "NN"), ("saw", "VBD"), ("a", "DT"), ("cat", "NN"), ("with", "IN"), ("rain", "NN")),
    *(("on", "IN"), ("the", "DT"), ("mat", "NN"), (".", ".")),
]


@pytest.fixture(scope="module")
def pcfg() -> TreeParser:
    return train(TREES, learner="pcfg", prune=0.0)


@pytest.fixture(scope="module")
def spans() -> TreeParser:
    return train(TREES, learner=trellis.Perceptron(epochs=5))


# ------------------------------------------------------------ grammars


@pytest.mark.parametrize("vertical", [1, 2, 3])
@pytest.mark.parametrize("horizontal", [0, 1, 2])
def test_trees_become_rules_and_trees_again(vertical: int, horizontal: int) -> None:
    grammar = read_grammar(TREES, Markov(vertical, horizontal))
    for tree in TREES:
        steps = grammar.steps(derive(tree, grammar.markov))
        assert build_tree(grammar, steps, tree.words, None) == tree
        assert steps[0][1:] == (0, 0, len(tree.words))


def test_symbols_remember_what_markovisation_says() -> None:
    grammar = read_grammar(TREES, Markov(2, 1))
    assert {"NP^S", "NP^VP", "@S^TOP|NP", "@NP^PP|DT", "@NP^PP|NN"} <= set(grammar.phrases)
    plain = read_grammar(TREES, Markov())
    assert {"NP", "@S", "@NP"} <= set(plain.phrases)
    assert grammar.coarse_of(plain).tolist()[0] == 0
    assert plain.symbols[grammar.coarse_of(plain)[grammar.phrases.index("@NP^PP|DT")]] == "@NP"


def test_probabilities_are_relative_frequencies() -> None:
    # S over NP, VP and a full stop in seven of eight trees; in the other over VP and a full stop.
    grammar = read_grammar(TREES, Markov())
    named = [grammar.name(rule) for rule in range(grammar.n_rules - len(grammar.tags))]
    found = dict(zip(named, np.exp(grammar.log_probabilities()), strict=False))
    assert found["S -> NP @S"] == pytest.approx(7 / 8)
    assert found["S -> VP /."] == pytest.approx(1 / 8)
    assert found["@S -> VP /."] == 1.0
    assert found["TOP -> S"] == 1.0


# ------------------------------------------------------------ against all trees


def listed(parser: TreeParser, sentence: list[tuple[str, str]], base: np.ndarray) -> list[tuple[float, PhraseTree]]:
    words, tags = [word for word, _ in sentence], [tag for _, tag in sentence]
    found = all_derivations(parser.grammar, tags)
    scored = [(float(sum(base[step[0]] for step in steps)), steps) for steps in found]
    scored.sort(key=lambda one: -one[0])
    return [(score, build_tree(parser.grammar, steps, words, None)) for score, steps in scored]


def test_a_pcfg_against_all_trees(pcfg: TreeParser) -> None:
    trees = listed(pcfg, AMBIGUOUS, pcfg.model.base)
    assert len(trees) > 2
    best = pcfg.kbest(AMBIGUOUS, 5)
    assert [score for _, score in best] == pytest.approx([score for score, _ in trees[:5]], abs=1e-5)
    assert best[0][0] == pcfg.parse(AMBIGUOUS) == trees[0][1]
    total = sum(math.exp(score) for score, _ in trees)
    for score, tree in trees:
        assert pcfg.probability(AMBIGUOUS, tree) == pytest.approx(math.exp(score) / total, rel=1e-5)
    chances = pcfg.span_probabilities(AMBIGUOUS)
    for span in {span for _, tree in trees for span in tree.spans()}:
        share = sum(math.exp(score) * tree.spans().count(span) for score, tree in trees) / total
        assert chances[span] == pytest.approx(share, rel=1e-5)


def test_scores_of_spans_are_what_explain_says(spans: TreeParser) -> None:
    for tree in TREES:
        for (_, steps, score), terms in spans.model.derived(spans._words([tree], 1), 3):
            assert steps
            assert sum(term.weight for term in terms) == pytest.approx(score, abs=1e-3)
    explained = spans.explain(TREES[0])
    assert {("VP -> /VBD NP", (2, 5)), ("NP", (0, 2))} <= {(term.label, term.where) for term in explained.terms}
    named = [term.feature for term in explained.terms]
    assert "pos[first]=DT & pos[last]=NN" in named
    assert any(name.startswith("pos[split-1]=") for name in named)


def test_names_of_weights() -> None:
    """Every weight has the name of what it is about: those of the best trees, outlines and lengths among them."""
    parser = train(TREES, features=["pos[first] & length", "outline", "word[first-1]", "rare_suffix(word[last], 2)"])
    weights = {(term.feature, term.label): term.weight for term in parser.top_features(None)}
    assert len(weights) == len(parser.model.rows.weights)
    for tree in TREES:
        for term in parser.explain(tree).terms:
            assert weights[term.feature, term.label] == term.weight
    names = {name for name, _ in weights}
    assert {"outline=x x x x", "pos[first]=VBD & length=6..7", "word[first-1]=saw"} <= names


def test_learners_fit_their_trees() -> None:
    for learner in (
        trellis.Perceptron(epochs=5),
        trellis.Perceptron(epochs=5, batch=4),
        trellis.MIRA(C=0.1, k=3, epochs=5),
        trellis.PassiveAggressive(epochs=5),
        trellis.AROW(epochs=5),
        trellis.CRF(c2=0.01, epochs=20),
    ):
        parser = train(TREES, learner=learner, n_threads=1)
        assert parser.evaluate(TREES).f1 == 1.0
        assert parser.parse(AMBIGUOUS).words == [word for word, _ in AMBIGUOUS]


def test_threads_and_repetition_change_no_bit() -> None:
    learner = trellis.Perceptron(epochs=3, batch=4, shuffle=True, seed=3)
    first, other = (train(TREES, learner=learner, n_threads=n) for n in (1, 3))
    for name in ("starts", "labels", "weights"):
        assert np.array_equal(getattr(first.model.rows, name), getattr(other.model.rows, name))
    assert first.parse_batch(TREES, n_threads=3) == other.parse_batch(TREES, n_threads=1)


def test_the_gradient_is_that_of_the_log_loss() -> None:
    from trellis import _core

    caught = list[_core.PhraseObjective]()

    class Caught(trellis.Learner):
        family = "log-linear"

        @property
        def abilities(self):  # type: ignore[no-untyped-def]
            return frozenset({"trees"})

        def begin(self, problem):  # type: ignore[no-untyped-def]
            vector = problem.flat_vector()
            caught.append(vector.objective(local=False, single=False))

            class Work:
                epochs = 0

                def weights(self) -> object:
                    return vector.weights(np.zeros(vector.size))

            return Work()

    train(TREES, learner=Caught(), features=["bias", "pos[first]", "word[split]"])
    (objective,) = caught
    random = np.random.default_rng(1)
    x = random.normal(size=objective.n_parameters)
    _, slope = gradient_of(objective, x, None, 2)
    for p in random.choice(len(x), 20, replace=False):
        step = np.zeros_like(x)
        step[p] = 1e-5
        upper, lower = objective.losses(x + step, 1).sum(), objective.losses(x - step, 1).sum()
        assert slope[p] == pytest.approx((upper - lower) / 2e-5, abs=1e-5)
    one, two = (gradient_of(objective, x, None, n)[1] for n in (1, 2))
    assert np.array_equal(one, two)


def test_a_log_linear_parser_gives_probabilities_that_sum_to_one() -> None:
    parser = train(TREES, learner=trellis.CRF(c2=0.1, epochs=10), features="rules", prune=0.0)
    found = parser.kbest(AMBIGUOUS, 10_000)
    assert len(found) > 2
    assert sum(parser.probability(AMBIGUOUS, tree) for tree, _ in found) == pytest.approx(1.0, abs=1e-4)


def test_a_learnt_pcfg_likes_its_trees_less_than_perceptron_weights() -> None:
    # Rules only: which rule attaches best differs from how frequent rules are.
    counted, learnt = (
        train(TREES, learner="PCFG"),
        train(TREES, features="rules", learner=trellis.Perceptron(epochs=20)),
    )
    assert learnt.evaluate(TREES).f1 >= counted.evaluate(TREES).f1


# ------------------------------------------------------------ words without tags


def test_unknown_words_get_tags_by_spelling(pcfg: TreeParser, spans: TreeParser) -> None:
    for parser in (pcfg, spans):
        tree = parser.parse(["the", "zog", "sat", "."])
        assert tree.pos == ["DT", "NN", "VBD", "."]
        assert tree.words == ["the", "zog", "sat", "."]
    assert pcfg.parse([("the", "DT"), ("dog", "QQ"), ("fell", "VBD"), (".", ".")]).pos[1] == "QQ"  # a tag never seen


def test_unknown_words_are_counted_by_rare_words() -> None:
    """P(tag | word) by hand: spellings are counted over words seen at most twice, and hopeless tags are left out."""
    pairs = [("an", "A")] * 2 + [("bn", "B")] * 3 + [("run", "B"), ("run", "A")] + [(f"x{i}", "C") for i in range(500)]
    lexicon = Lexicon.of(pairs)
    assert dict(lexicon.by_spelling["xx un"]) == {"A": 1, "B": 1}
    assert dict(lexicon.by_spelling["xx n"]) == {"A": 3, "B": 1}  # not of "bn"
    found = lexicon.probabilities("bn")
    assert sum(found.values()) == pytest.approx(1)
    total = {"A": 3 / 507, "B": 4 / 507, "C": 500 / 507}
    spelt = {tag: (n + p) / 505 for (tag, p), n in zip(total.items(), (3, 1, 500), strict=True)}  # of all rare words
    kind = {tag: (n + spelt[tag]) / 5 for tag, n in (("A", 3), ("B", 1), ("C", 0))}  # of those in small letters
    ending = {tag: (n + kind[tag]) / 5 for tag, n in (("A", 3), ("B", 1), ("C", 0))}  # in n
    word = {tag: (n + ending[tag]) / 4 for tag, n in (("A", 0), ("B", 3), ("C", 0))}
    assert found == pytest.approx(word)
    assert [tag for tag, _ in lexicon.scores("bn")] == ["A", "B", "C"]
    often = Lexicon.of([("of", "I")] * 20_000 + [("of", "R"), ("Z", "Z")])
    assert [tag for tag, _ in often.scores("of")] == ["I"]  # one in 20,000 is less than LEAST


def test_a_lexicon_forgets_words_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that meets new words for ever does not grow for ever."""
    monkeypatch.setattr("trellis.tasks.trees.lexicon.MOST_KNOWN", 10)
    parser = train(TREES, learner="pcfg")
    first = parser.model.lexicon.scores("new0")
    for i in range(50):
        parser.parse([f"new{i}"])
    assert len(parser.model.lexicon._cache) <= 10
    assert parser.model.lexicon.scores("new0") == first


def test_sentences_without_tags_have_these_scores() -> None:
    """Held-out sentences of the sample: what a lexicon makes of words decides on phrases."""
    parser = train(TREES[:5], learner="pcfg")
    report = parser.evaluate(TREES[5:], tags=False)
    assert (report.f1, report.tag_accuracy) == pytest.approx((11 / 14, 7 / 8))


def test_a_tagger_before_the_parser(tmp_path: Path) -> None:
    corpus = {"word": [tree.words for tree in TREES], "pos": [tree.pos for tree in TREES]}
    tagger = trellis.train(corpus, target="pos", features=["word[0]", "word[-1]"])
    parser = train(TREES, learner=trellis.Perceptron(epochs=3), tagger=tagger)
    assert parser.parse(TREES[0].words).pos == TREES[0].pos
    parser.save(tmp_path / "p")
    again = TreeParser.load(tmp_path / "p")
    assert again.tagger is not None
    assert again.evaluate(TREES, tags=False).to_dict() == parser.evaluate(TREES, tags=False).to_dict()


def test_a_sentence_without_a_tree_gets_one_without_phrases(pcfg: TreeParser, spans: TreeParser) -> None:
    odd = [(".", "."), (".", "."), (".", ".")]
    for parser in (pcfg, spans):
        assert str(parser.parse(odd)) == "(TOP (. .) (. .) (. .))"
        assert parser.kbest(odd, 2)[0][1] == -math.inf


# ------------------------------------------------------------ files and options


@pytest.mark.parametrize("kind", ["pcfg", "spans"])
def test_a_file_gives_the_same_parser(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    parser = request.getfixturevalue(kind)
    parser.save(tmp_path / "a")
    again = TreeParser.load(tmp_path / "a")
    again.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    sentences = [*TREES, AMBIGUOUS, ["the", "dog", "fell", "."]]
    for sentence in sentences:
        assert again.kbest(sentence, 3) == parser.kbest(sentence, 3)


def test_damaged_files_are_errors(tmp_path: Path, spans: TreeParser) -> None:
    spans.save(tmp_path / "p")
    data = (tmp_path / "p").read_bytes()
    for cut in (b"", data[:100], data[:-7], data[:-40] + bytes(40)):
        (tmp_path / "q").write_bytes(cut)
        with pytest.raises(ModelError):
            TreeParser.load(tmp_path / "q")
    with pytest.raises(ModelError, match="a constituency parser, not a tagger; open it"):
        trellis.Tagger.load(tmp_path / "p")


def test_hostile_files_are_errors(tmp_path: Path, spans: TreeParser) -> None:
    """With a right digest: each would be met at the first parse, not at loading, if nothing looked."""
    spans.save(tmp_path / "p")
    tensors, metadata = tensor_file._split((tmp_path / "p").read_bytes(), tmp_path / "p", "")
    header = json.loads(metadata["text"])
    name = next(name for name in tensors if name.startswith("column0.view") and name.endswith(".data"))
    bad_text = np.full_like(tensors[name], 255)
    starts = name.replace(".data", ".starts")
    view = [{**header["columns"][0], "views": ["rare_suffix(value[0], 2)"]}, *header["columns"][1:]]
    label = {**header["grammar"], "tags": ["\ud800", *header["grammar"]["tags"][1:]]}
    for changed, said in (
        ({name: bad_text}, {}),
        ({starts: tensors[starts].astype(np.float64)}, {}),
        ({"base": np.full_like(tensors["base"], np.nan)}, {}),
        ({"rows.weights": np.full_like(tensors["rows.weights"], -3.4e38)}, {}),  # no tree is left
        ({}, {"columns": view}),
        ({}, {"grammar": label}),
    ):
        tensor_file.write_tensors(tmp_path / "q", metadata["format"], {**tensors, **changed}, json.dumps(header | said))
        with pytest.raises(ModelError, match="damaged or not a trellis model"):
            TreeParser.load(tmp_path / "q")


def test_dev_keeps_the_best_epoch_and_checkpoints_resume(tmp_path: Path) -> None:
    seen = list[float]()
    learner = trellis.Perceptron(epochs=4)
    parser = train(
        TREES[:5], dev=TREES[5:], learner=learner, observer=lambda event: seen.append(event.dev_score or 0.0)
    )
    assert parser.evaluate(TREES[5:]).f1 == max(seen)
    whole = train(TREES, learner=learner)
    path = tmp_path / "checkpoint"

    def stop(event: trellis.Event) -> None:
        if event.epoch == 2:
            raise trellis.StopTrainingError

    train(TREES, learner=learner, checkpoint=path, observer=stop)
    resumed = train(TREES, learner=learner, checkpoint=path)
    assert np.array_equal(resumed.model.rows.weights, whole.model.rows.weights)


def test_bad_arguments_are_one_clear_line(pcfg: TreeParser, spans: TreeParser) -> None:
    with pytest.raises(LearnerError, match="features has no effect"):
        train(TREES, learner="pcfg", features="spans")
    with pytest.raises(LearnerError, match="does not train parsers; use"):
        train(TREES, learner="hmm")
    columns = {"word": [["a"]], "case": [["u"]], "label": [["b"]]}
    two = trellis.train(columns, target="label", features=["case[0]", "word[0]"])
    with pytest.raises(LearnerError, match=r"tagger must read words only, but it reads case, word"):
        train(TREES, tagger=two)
    with pytest.raises(LearnerError, match=r"patience needs a dev corpus"):
        train(TREES, patience=2)
    with pytest.raises(
        TemplateError, match="a template cannot read both a split point and a phrase: write two templates"
    ):
        train(TREES, features=["word[split] & word[first]"])
    with pytest.raises(
        TemplateError,
        match="a template of phrases can read first, last, split, length and outline only, and has no name",
    ):
        train(TREES, features=["word[0]"])
    with pytest.raises(TemplateError, match="the presets are rules, spans"):
        train(TREES, features="nothing")
    with pytest.raises(TemplateError, match="split and outline apply to phrases, in a TreeParser"):
        trellis.train({"word": [["a"]], "label": [["b"]]}, target="label", features=["word[split]"])
    with pytest.raises(ArgumentError, match="list of trees"):
        train(3)
    with pytest.raises(CorpusError, match="no trees"):
        train([])
    with pytest.raises(CorpusError, match="labels cannot contain \\^"):
        train(parse_trees("(S (A^B (NN a) (NN b)))"))
    with pytest.raises(
        ArgumentError, match="the scores of this parser are not log-probabilities; train it with CRF or learner="
    ):
        spans.probability(TREES[0])
    with pytest.raises(ArgumentError, match="the words of the tree differ"):
        pcfg.probability(TREES[0], TREES[1])
    with pytest.raises(ArgumentError, match="the grammar has no rule"):
        pcfg.probability([("a", "DT"), ("b", "NN")], parse_trees("(TOP (ZZ (DT a) (NN b)))")[0])
    with pytest.raises(CorpusError, match="sentence 2 has 401 words"):
        spans.parse_batch([["a"], ["a"] * 401])
    with pytest.raises(CorpusError, match="tree 1 has 401 words"):
        train([PhraseTree("TOP", (PhraseTree("NN", (), "a"),) * 401)])
    assert spans.parse_batch([]) == []
    with pytest.raises(ArgumentError, match="k must be"):
        pcfg.kbest(TREES[0], 0)


# ------------------------------------------------------------ choosing again


def test_reranking_over_k_best_parses() -> None:
    """A structured problem whose candidates are parses chooses by features that no rule has."""
    parser = train(TREES, learner="pcfg")

    class Choice:
        def candidates(self, x: PhraseTree) -> list[PhraseTree]:
            return [tree for tree, _ in parser.kbest(x, 10)]

        def features(self, x: PhraseTree, y: PhraseTree) -> dict[str, float]:
            scores = {str(tree): score for tree, score in parser.kbest(x, 10)}
            spans = y.spans()
            return {
                "parser": scores[str(y)],
                "PP in NP": sum(
                    a[0] == "PP" and b[0] == "NP" and b[1] < a[1] and a[2] == b[2] for a in spans for b in spans
                ),
            }

    inside = [tree for tree in TREES if tree in [one for one, _ in parser.kbest(tree, 10)]]
    model = trellis.StructuredModel.train(
        [(tree, tree) for tree in inside], problem=Choice(), learner=trellis.Perceptron(epochs=10)
    )
    right = sum(model.predict(tree) == tree for tree in inside)
    assert right >= sum(parser.parse(tree) == tree for tree in inside)


def test_an_empty_sentence_has_an_empty_tree(pcfg: TreeParser) -> None:
    tree = pcfg.parse([])
    assert str(tree) == "(TOP)"
    assert parse_trees(str(tree)).trees == [tree]
    assert pcfg.probability([]) == 0
    assert pcfg.probability([("the", "??"), ("dog", "NN"), ("ran", "VBD"), (".", ".")]) > 0
