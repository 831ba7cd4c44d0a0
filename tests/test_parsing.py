"""Dependency parsers against lists of all trees: best, k best, probabilities, gradients, explanations, one file."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradients import gradient_of
from parsing_twin import all_trees, attributes, crosses, sibling

import trellis
from trellis import _core
from trellis._support.tensor_file import read_tensors, write_tensors
from trellis.evaluation.attachment import attachment
from trellis.features.arcs import UD_COLUMNS, arc_templates, arc_vocabulary
from trellis.features.templates import parse_template
from trellis.tasks.parsing.weights import rows_of

TEMPLATES = [
    "pos[head] & pos[dep] & direction",
    "pos[head] & pos[dep] & distance",
    "word[head] & word[dep]",
    "pos[head+1] & pos[dep-1]",
    "pos[head] & pos[between] & pos[dep]",
    "suffix(word[dep], 2) & pos[head]",
    "label & pos[dep] & direction",
    "label & pos[head] & pos[dep]",
    "pos[head] & pos[sibling] & pos[dep] & direction",
    "word[sibling] & word[dep]",
]
WORDS = ("dog", "cat", "sees", "likes", "the", "old", "now")
TAGS = {"dog": "N", "cat": "N", "sees": "V", "likes": "V", "the": "D", "old": "A", "now": "R"}


def treebank(n: int, seed: int, longest: int = 5, *, projective: bool = True) -> trellis.Corpus:
    """Random sentences with random trees."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[list[str]]] = {name: [] for name in ("word", "pos", "head", "deprel")}
    lists = {k: list(all_trees(k, projective=projective)) for k in range(1, longest + 1)}
    for _ in range(n):
        k = int(rng.integers(1, longest + 1))
        words = [str(rng.choice(WORDS)) for _ in range(k)]
        heads = lists[k][int(rng.integers(len(lists[k])))]
        columns["word"].append(words)
        columns["pos"].append([TAGS[word] for word in words])
        columns["head"].append([str(head) for head in heads])
        columns["deprel"].append(["root" if h == 0 else str(rng.choice(["mod", "obj"])) for h in heads])
    return trellis.read(columns)


def inputs(corpus: trellis.Corpus, i: int) -> dict[str, list[str]]:
    return {name: corpus[i][name] for name in ("word", "pos")}


LEARNERS = [
    trellis.Perceptron(epochs=3),
    trellis.Perceptron(epochs=3, average=False, batch=4),
    trellis.PassiveAggressive(epochs=3),
    trellis.MIRA(epochs=3, C=0.05),
    trellis.MIRA(epochs=3, k=3, C=0.05),
    trellis.AROW(epochs=3),
    trellis.CRF(epochs=5, c2=0.1),
    trellis.CRF(solver="adagrad", epochs=3, c2=0.1),
    trellis.ExponentialLoss(epochs=5),
]
SHAPES = [(1, True), (2, True), (1, False)]


def parser_of(learner: trellis.Learner, order: int, projective: bool, **more: Any) -> trellis.Parser:
    corpus = treebank(25, 1, projective=projective)
    return trellis.Parser.train(
        corpus,
        features=TEMPLATES,
        learner=learner,
        order=order,
        projective=projective,
        filter=None,
        **{"prune_weights": 0.0, **more},
    )


def arc_scores(parser: trellis.Parser, x: dict[str, list[str]]) -> dict[tuple[int, int], float]:
    """What arcs score at order 1, by their explanations; those name what templates say of strings."""
    templates, out = parser.vocabulary.templates, dict[tuple[int, int], float]()
    for word, head in itertools.permutations(range(len(x["word"]) + 1), 2):
        if word:
            terms = parser.explain_arc(x, word, head)
            named = [name for label in parser.labels for name in attributes(templates.all, x, head, None, word, label)]
            assert {term.feature for term in terms} <= set(named)
            out[head, word] = sum(term.weight for term in terms)
    return out


def tree_score(scores: dict[tuple[int, int], float], heads: tuple[int, ...]) -> float:
    return sum(scores[head, word] for word, head in enumerate(heads, 1))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize(("order", "projective"), SHAPES)
def test_learners_fit_small_treebanks(learner: trellis.Learner, order: int, projective: bool) -> None:
    corpus = treebank(25, 1, projective=projective)
    before = parser_of(trellis.Perceptron(epochs=1), order, projective).evaluate(corpus).uas
    report = parser_of(learner, order, projective).evaluate(corpus)
    assert report.uas > max(0.55, before - 0.25)
    assert report.las <= report.uas


@pytest.mark.parametrize("labelled", [True, False])
def test_names_of_weights(labelled: bool) -> None:
    """Unpacked from keys, they are those that explanations have, which are made of sentences."""
    long = " & ".join(f"word[head{i:+d}]" for i in range(-12, 13) if i)  # more than a key has bits for
    features = [*TEMPLATES, long, "word[dep-3] & distance", "label & word[head-1]"]
    parser = trellis.Parser.train(treebank(8, 1), features=features, labelled=labelled)
    weights = {term.feature: term.weight for term in parser.top_features(None)}
    shown = {}
    for x in treebank(8, 1):
        shown |= {term.feature: term.weight for term in parser.explain(x).terms if term.weight}
    assert shown
    assert {name: weights[name] for name in shown} == shown
    assert any("_ROOT" in name and "_B+2" in name for name in weights)


@pytest.mark.parametrize(("order", "projective"), [(1, True), (1, False)])
def test_trees_are_the_best_of_all_trees(order: int, projective: bool) -> None:
    parser = parser_of(trellis.MIRA(epochs=2, C=0.05), order, projective)
    corpus = treebank(12, 2)
    for i in range(len(corpus)):
        x = inputs(corpus, i)
        scores = arc_scores(parser, x)
        ranked = sorted(
            (tree_score(scores, heads) for heads in all_trees(len(x["word"]), projective=projective)), reverse=True
        )
        tree = parser.parse(x)
        assert tree.score == pytest.approx(ranked[0], abs=1e-5)
        assert tree_score(scores, tuple(tree.heads)) == pytest.approx(ranked[0], abs=1e-5)
        best = parser.kbest(x, 1000)
        assert [score for _, score in best] == pytest.approx(ranked, abs=1e-5)
        assert len({tuple(tree.heads) for tree, _ in best}) == len(ranked)


def test_second_order_scores_siblings() -> None:
    """The score of a tree is what its arcs are explained by, each with its own sibling; no tree has a higher one."""
    parser = parser_of(trellis.MIRA(epochs=2, C=0.05), 2, True)
    corpus = treebank(12, 3)
    for i in range(len(corpus)):
        x = inputs(corpus, i)
        trees = [tree for tree, _ in parser.kbest(x, 1000)]
        n = len(x["word"])
        assert sorted(tuple(tree.heads) for tree in trees) == sorted(all_trees(n, projective=True))
        tree = parser.parse(x)
        explained = sum(term.weight for word in range(1, n + 1) for term in parser.explain_arc(x, word))
        assert tree.score == pytest.approx(explained, abs=1e-4)
        assert trees[0].score == pytest.approx(tree.score, abs=1e-9)


def test_explanations_tell_trees_apart() -> None:
    parser = parser_of(trellis.Perceptron(epochs=2), 2, True)
    found = parser.explain({"word": ["the", "dog", "sees"], "pos": ["D", "N", "V"]})
    assert found.second is not None
    lines = found.text().splitlines()
    words = ["ROOT", "the", "dog", "sees"]
    for tree, line in (
        (found.output, lines[0]),
        (found.second.output, next(x for x in lines if x.startswith("score difference to"))),
    ):
        assert " ".join(f"{words[i]}<-{words[head]}" for i, head in enumerate(tree.heads, 1)) in line
    assert found.output.heads != found.second.output.heads


def test_explanations_name_the_attributes_of_an_arc() -> None:
    parser = parser_of(trellis.Perceptron(epochs=2), 2, True)
    x = {"word": ["the", "old", "dog", "sees", "now"], "pos": ["D", "A", "N", "V", "R"]}
    tree = parser.parse(x)
    for word, head in enumerate(tree.heads, 1):
        label = tree.labels[word - 1] if tree.labels else ""
        named = attributes(parser.vocabulary.templates.all, x, head, sibling(tuple(tree.heads), word), word, label)
        terms = parser.explain_arc(x, word)
        assert {term.feature for term in terms} <= set(named)
        assert Counter(term.feature for term in terms).most_common(1)[0][1] == 1
        assert [abs(term.weight) for term in terms] == sorted((abs(term.weight) for term in terms), reverse=True)


@pytest.mark.parametrize("order", [1, 2])
def test_explanations_sum_to_the_score(order: int) -> None:
    """At order 2 with the sibling that stands next to the word on the same side of its head."""
    parser = parser_of(trellis.Perceptron(epochs=2, average=False), order, True)
    several = 0
    for i in range(12):
        x = inputs(treebank(12, 8), i)
        tree = parser.parse(x)
        terms = [term.weight for word in range(1, len(tree.heads) + 1) for term in parser.explain_arc(x, word)]
        assert sum(terms) == pytest.approx(tree.score, abs=1e-5)
        sides = Counter((head, word > head) for word, head in enumerate(tree.heads, 1) if head)
        several += max(sides.values(), default=0) > 2  # where it matters which sibling is meant
    assert several


@pytest.mark.parametrize(("order", "projective"), SHAPES)
def test_probabilities_are_those_of_all_trees(order: int, projective: bool) -> None:
    parser = parser_of(trellis.CRF(epochs=10, c2=0.1), order, projective)
    corpus = treebank(10, 4)
    for i in range(len(corpus)):
        x = inputs(corpus, i)
        arcs, n = parser.probabilities(x), len(x["word"])
        assert arcs.sum(0) == pytest.approx(np.ones(n))
        assert arcs[0].sum() == pytest.approx(1)
        tree = parser.parse(x, probabilities=True)
        assert tree.probabilities is not None
        for word, probability in enumerate(tree.probabilities, 1):
            assert 0 <= probability <= arcs[tree.heads[word - 1], word - 1] + 1e-12


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("factor", [1, 30, 1000])
def test_probabilities_of_scores_far_apart(projective: bool, factor: float) -> None:
    """A perceptron's scores are far apart: elimination must not cancel, and log Z is never below the best tree."""
    examples, corpus = treebank(25, 1, projective=projective), treebank(20, 6)
    columns = {name: [example[name] for example in examples] for name in ("word", "pos", "head")}
    features = [template for template in TEMPLATES if "label" not in template]
    learner = trellis.Perceptron(epochs=5)
    parser = trellis.Parser.train(
        trellis.read(columns), features=features, learner=learner, order=1, projective=projective, filter=None
    )
    larger = parser.weights["attributes.weights"] * np.float32(factor)
    parser = replace(parser, weights={**parser.weights, "attributes.weights": larger})
    for i in range(len(corpus)):
        x = inputs(corpus, i)
        n = len(x["word"])
        trees = list(all_trees(n, projective=projective))
        arc = {
            (h, m): sum(term.weight for term in parser.explain_arc(x, m, h))
            for h, m in itertools.permutations(range(n + 1), 2)
            if m
        }
        scores = np.array([tree_score(arc, heads) for heads in trees])
        shares = np.exp(scores - scores.max())
        expected = np.zeros((n + 1, n))
        for heads, share in zip(trees, shares / shares.sum(), strict=True):
            expected[heads, range(len(heads))] += share
        assert parser.probabilities(x) == pytest.approx(expected, abs=1e-4)
        log_z, arcs, _ = parser._native.marginals(parser._data(trellis.read([x])), np.zeros(n, np.int32))
        assert (arcs >= 0).all()
        assert (arcs <= 1).all()
        assert arcs[:, 1:].sum(0) == pytest.approx(1, rel=1e-12)
        assert log_z >= parser.parse(x).score - 1e-9
        assert log_z == pytest.approx(scores.max() + np.log(shares.sum()), rel=1e-5, abs=1e-4)


def encoded(order: int, projective: bool, filter: str | None) -> tuple[Any, Any, Any, Any]:
    corpus = treebank(8, 5, projective=projective)
    templates = arc_templates(TEMPLATES, filter, ["word", "pos"], order)
    vocabulary, coded = arc_vocabulary(templates, corpus)
    labels = corpus.column("deprel")
    plan = vocabulary.plan(len(labels.values))
    heads = np.array([int(value) for value in corpus.column("head").tolist()], np.int32)
    return _core.ArcData(plan, coded, corpus.starts), heads, labels.codes, corpus


@pytest.mark.parametrize(("order", "projective"), SHAPES)
@pytest.mark.parametrize("filter", [None, "pos[head] & pos[dep]"])
@pytest.mark.parametrize("scale", [0.3, 100.0])
def test_gradients_are_differences_of_losses(order: int, projective: bool, filter: str | None, scale: float) -> None:
    data, heads, labels, corpus = encoded(order, projective, filter)
    objective = _core.TreeObjective(_core.TreeExamples(data, heads, labels, projective))
    rng = np.random.default_rng(0)
    x = rng.normal(0, scale, objective.n_parameters)
    weights = rng.uniform(0.5, 2, len(corpus))
    losses, gradient = gradient_of(objective, x, weights, 2)
    assert (losses >= 0).all()
    assert losses == pytest.approx(objective.losses(x, 1), rel=1e-12)
    for p in rng.choice(objective.n_parameters, 40, replace=False):
        change = np.zeros_like(x)
        change[p] = 1e-5
        slope = ((objective.losses(x + change, 1) - objective.losses(x - change, 1)) * weights).sum() / 2e-5
        assert gradient[p] == pytest.approx(slope, abs=1e-6 + 1e-6 * scale)
    for n_threads in (1, 2, 3):
        assert np.array_equal(gradient_of(objective, x, weights, n_threads)[1], gradient)


def test_projective_objectives_take_projective_trees() -> None:
    data, _, labels, corpus = encoded(1, True, None)
    crossing = {n: next(h for h in all_trees(n, projective=False) if n < 4 or crosses(h)) for n in range(1, 6)}
    heads = np.concatenate([np.array(crossing[int(n)], np.int32) for n in np.diff(corpus.starts)])
    _core.TreeExamples(data, heads, labels, False)
    with pytest.raises(ValueError, match="cross"):
        _core.TreeExamples(data, heads, labels, True)


def test_log_loss_of_zero_weights_counts_trees() -> None:
    """Every tree with every labelling has the same probability."""
    for projective in (True, False):
        data, heads, labels, corpus = encoded(1, projective, None)
        objective = _core.TreeObjective(_core.TreeExamples(data, heads, labels, projective))
        losses = objective.losses(np.zeros(objective.n_parameters), 1)
        n_labels = len(corpus.column("deprel").values)
        sizes = np.diff(corpus.starts).tolist()
        counted = [sum(1 for _ in all_trees(n, projective=projective)) * n_labels**n for n in sizes]
        assert losses == pytest.approx([math.log(count) for count in counted])


def test_a_step_of_the_perceptron_is_gold_minus_best() -> None:
    corpus = trellis.read(
        {
            "word": [["old", "dog", "sees"]],
            "pos": [["A", "N", "V"]],
            "head": [["2", "3", "0"]],
            "deprel": [["mod", "obj", "root"]],
        }
    )
    learner = trellis.Perceptron(epochs=1, average=False)
    parser = trellis.Parser.train(corpus, features=TEMPLATES, learner=learner, order=2, filter=None)
    x, templates = inputs(corpus, 0), parser.vocabulary.templates

    def phi(heads: tuple[int, ...], labels: tuple[str, ...]) -> Counter[str]:
        out = Counter[str]()
        for word, head in enumerate(heads, 1):
            out += attributes(templates.arcs, x, head, None, word)
            out += attributes(templates.labelled, x, head, None, word, labels[word - 1])
            out += attributes(templates.siblings, x, head, sibling(heads, word), word)
        return out

    right = phi((2, 3, 0), ("mod", "obj", "root"))
    shown = dict[str, float]()
    for word, head in itertools.product(range(1, 4), range(4)):
        if word != head:
            shown |= {term.feature: term.weight for term in parser.explain_arc(x, word, head)}
    first = parser.labels[0]  # of equal scores the first label
    steps = []
    for heads in all_trees(3, projective=True):
        step = Counter(right)
        step.subtract(phi(heads, (first,) * 3))
        steps.append({name: float(by) for name, by in step.items() if by and name in shown})
    assert any(all(shown[name] == by for name, by in step.items()) and step for step in steps)
    assert sum(len(step) > 0 for step in steps) > 1


@pytest.mark.parametrize(
    "learner",
    [trellis.MIRA(epochs=4, batch=4), trellis.CRF(solver="adagrad", epochs=3, batch=4), trellis.CRF(epochs=5)],
)
def test_the_same_bits_for_any_number_of_threads(learner: trellis.Learner) -> None:
    parsers = [parser_of(learner, 2, True, n_threads=n) for n in (1, 2, 3)]
    for other in parsers[1:]:
        for name, array in parsers[0].weights.items():
            assert np.array_equal(array, other.weights[name]), name
    corpus = treebank(40, 7)
    trees = [parsers[0].parse_batch(corpus, n_threads=n) for n in (1, 3)]
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    "learner", [trellis.MIRA(epochs=4), trellis.AROW(epochs=4), trellis.CRF(solver="adagrad", epochs=4)]
)
def test_training_resumes_from_a_checkpoint(tmp_path: Path, learner: trellis.Learner) -> None:
    corpus, dev = treebank(20, 8), treebank(10, 9)
    options: dict[str, Any] = {"features": TEMPLATES, "learner": learner, "dev": dev, "order": 2}
    whole = trellis.Parser.train(corpus, **options)

    def stop(event: trellis.Event) -> None:
        if event.epoch == 2:
            raise trellis.StopTrainingError

    file = tmp_path / "training.checkpoint"
    trellis.Parser.train(corpus, checkpoint=file, observer=stop, **options)
    resumed = trellis.Parser.train(corpus, checkpoint=file, **options)
    assert resumed.training["history"] == whole.training["history"]
    for name, array in whole.weights.items():
        assert np.array_equal(array, resumed.weights[name])
    with pytest.raises(trellis.ModelError, match="another training"):
        trellis.Parser.train(treebank(20, 1), checkpoint=file, **options)
    with pytest.raises(trellis.ModelError, match="another training"):
        trellis.Parser.train(corpus, checkpoint=file, **{**options, "dev": treebank(10, 1)})
    with pytest.raises(trellis.ModelError, match="another training"):
        trellis.Parser.train(corpus, checkpoint=file, metric="uas", **options)


def test_a_parser_is_one_file(tmp_path: Path) -> None:
    clusters = tmp_path / "clusters.tsv"
    clusters.write_text("00\tdog\n01\tsees\n")
    templates = [*TEMPLATES, f'cluster(word[head], "{clusters}") & pos[dep]']
    corpus = treebank(20, 1)
    parser = trellis.Parser.train(corpus, features=templates, learner=trellis.CRF(epochs=5), info={"mine": 1})
    clusters.unlink()
    parser.save(tmp_path / "p.parser")
    again = trellis.Parser.load(tmp_path / "p.parser")
    assert again.parse_batch(treebank(10, 2)) == parser.parse_batch(treebank(10, 2))
    assert (again.info["mine"], again.family, again.labels, again.order) == (1, "log-linear", parser.labels, 2)
    again.save(tmp_path / "q.parser")
    assert (tmp_path / "p.parser").read_bytes() == (tmp_path / "q.parser").read_bytes()
    with pytest.raises(trellis.ModelError, match="a dependency parser, not a tagger; open it with"):
        trellis.Tagger.load(tmp_path / "p.parser")


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    file = tmp_path / "p.parser"
    parser_of(trellis.Perceptron(epochs=1), 2, True).save(file)
    opened = read_tensors(file, "a parser")
    tensors, text = {name: np.array(a) for name, a in opened.tensors.items()}, opened.text
    rng = np.random.default_rng(0)
    n_rejected = 0
    for name, array in tensors.items():
        for change in ("shorter", "longer", "other", "kind"):
            damaged = {k: np.array(a) for k, a in tensors.items()}
            flat = damaged[name].reshape(-1)
            if change == "shorter":
                damaged[name] = flat[:-1]
            elif change == "longer":
                damaged[name] = np.concatenate([flat, flat[:1]])
            elif change == "kind":
                damaged[name] = flat.astype(np.float64)
            elif len(flat):
                flat[int(rng.integers(len(flat)))] = -7 if array.dtype.kind == "i" else 200
            write_tensors(tmp_path / "damaged", trellis.Parser.format, damaged, text)
            try:
                found = trellis.Parser.load(tmp_path / "damaged")
                found.parse_batch(treebank(3, 2))
                found.kbest(inputs(treebank(3, 2), 0), 3)
            except trellis.TrellisError:
                n_rejected += 1
    assert n_rejected > len(tensors)
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / "flipped").write_bytes(raw)
    with pytest.raises(trellis.ModelError, match="damaged"):
        trellis.Parser.load(tmp_path / "flipped")


def test_words_that_training_did_not_see_have_their_views() -> None:
    corpus = treebank(30, 1)
    parser = trellis.Parser.train(
        corpus, features=["suffix(word[dep], 2) & direction", "pos[head] & pos[dep]"], order=1
    )
    known = {"word": ["dog", "sees"], "pos": ["N", "V"]}
    other = {"word": ["frog", "trees"], "pos": ["N", "V"]}
    assert [t.feature for t in parser.explain_arc(known, 1, 2)] == [t.feature for t in parser.explain_arc(other, 1, 2)]
    assert parser.parse({"word": ["x", "y"], "pos": ["??", "??"]}).root in (1, 2)


def test_a_filter_leaves_arcs_out_but_never_all_trees() -> None:
    corpus = trellis.read({"word": [["a", "b"]] * 5, "pos": [["A", "B"]] * 5, "head": [["2", "0"]] * 5})
    parser = trellis.Parser.train(corpus, order=1, features=["pos[head] & pos[dep]"])
    arcs = parser.probabilities({"word": ["a", "b"], "pos": ["A", "B"]})
    assert arcs.tolist() == [[0, 1], [0, 0], [1, 0]]  # only arcs like those of training are left
    for tags in itertools.product("ABC", repeat=3):
        tree = parser.parse({"word": ["x", "y", "z"], "pos": list(tags)})
        assert tree.heads.count(0) == 1  # type: ignore[attr-defined]


def test_projective_training_lifts_crossing_arcs() -> None:
    """Crossing arcs are learnt as if each hung from the nearest ancestor of its head that makes the tree projective."""

    def train(*heads: int, **options: Any) -> trellis.Parser:
        columns = {"word": [list("abcd")] * 3, "pos": [list("ABCD")] * 3, "head": [[str(head) for head in heads]] * 3}
        return trellis.Parser.train(columns, order=1, features=["pos[head] & pos[dep]"], filter=None, **options)

    x = {"word": list("abcd"), "pos": list("ABCD")}
    assert train(3, 0, 2, 1, projective=False).parse(x).heads == [3, 0, 2, 1]
    lifted = train(3, 0, 2, 1)
    assert lifted.parse(x).heads == [2, 0, 2, 2]
    for name, array in train(2, 0, 2, 2).weights.items():
        assert np.array_equal(array, lifted.weights[name])
    assert train(3, 0, 2, 1, learner=trellis.Perceptron()).training["history"][-1]["updates"] == 0


def test_trees_draw_and_print_themselves() -> None:
    tree = trellis.DependencyTree(["<the>", "dog", "sees"], [2, 3, 0], ["det", "subj", "root"], 1.5, [0.9, 0.2, 1.0])
    picture = ElementTree.fromstring(tree.draw().svg)
    texts = [e.text for e in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:3] == ["<the>", "dog", "sees"]
    widths = [float(e.attrib["stroke-width"]) for e in picture.iter() if "stroke-width" in e.attrib]
    assert widths[1] < widths[0] < widths[2]  # as probable as the arcs
    assert str(tree) == "sees (root)\n  dog (subj)\n    <the> (det)"
    assert list(tree.arcs()) == [(2, 1, "det"), (3, 2, "subj"), (0, 3, "root")]
    assert (tree.root, tree.dependents(3), len(tree)) == (3, [2], 3)
    ElementTree.fromstring(trellis.DependencyTree([], []).draw().svg)


def test_scores_count_by_hand() -> None:
    words = [["A", "dog", "."], ["Go", "!"]]
    gold = [([2, 0, 2], ["det", "root", "punct"]), ([0, 1], ["root", "punct"])]
    found = [([2, 0, 1], ["det:x", "root", "punct"]), ([0, 1], ["obj", "punct"])]
    report = attachment(words, gold, found)
    assert (report.n_words, report.all.heads, report.all.both) == (5, 4, 2)
    assert (report.no_punctuation.support, report.no_punctuation.heads, report.no_punctuation.both) == (3, 3, 1)
    assert (report.sentences.uas, report.sentences.las) == (0.5, 0.0)
    assert report.rows["punct"].uas == 0.5
    assert attachment(words, gold, found, subtypes=False).all.both == 3
    assert "UAS" in str(report)
    assert report.to_dict()["all_words"]["uas"] == report.uas == report.figure("uas") == 0.8
    with pytest.raises(trellis.ArgumentError, match="same sentences"):
        attachment(words, gold[:1], found)


@pytest.mark.parametrize(
    ("heads", "why"),
    [
        (["2", "0", "9"], "head '9' is not a number from 0 to 3"),
        (["2", "0", "x"], "head 'x' is not a number"),
        (["0", "0", "1"], "a second root"),
        (["2", "1", "0"], "not a tree: cycle in the heads at word"),
        (["2", "3", "1"], "not a tree: cycle in the heads at word"),
        (["1", "0", "2"], "not a tree: cycle in the heads at word"),
    ],
)
def test_what_is_no_tree_is_said_with_its_line(tmp_path: Path, heads: list[str], why: str) -> None:
    file = tmp_path / "trees.txt"
    good = "a A 2\nb B 0\n\n"
    file.write_text(good + "".join(f"w W {head}\n" for head in heads) + "\n" + good)
    corpus = trellis.read(file, columns="word,pos,head")
    with pytest.raises(trellis.CorpusError, match=why) as caught:
        trellis.Parser.train(corpus, order=1)
    assert caught.value.line is not None
    assert 4 <= caught.value.line <= 6
    assert trellis.Parser.train(corpus, order=1, lenient=True).training["skipped"] == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"order": 3}, "order must be"),
        ({"projective": False}, "train at order 1"),
        ({"learner": trellis.HMM()}, "does not train parsers; use"),
        ({"learner": trellis.Perceptron(vote=True)}, "does not train parsers; use"),
        ({"learner": trellis.MIRA(update="early")}, "beam"),
        ({"learner": trellis.CRF(c1=0.1)}, "is not supported for parsers"),
        ({"features": ["word[0]"]}, "reads tokens; templates of a parser read arcs, such as word"),
        ({"features": ["pos[head] & pos[sibling]"]}, "no template reads an arc; add one, such as pos"),
        ({"features": ["pos[head]"]}, "needs templates of siblings"),
        ({"features": ["lemma[head]"], "order": 1}, "reads column 'lemma'"),
        ({"filter": "pos[between]"}, "a filter template may read the head and the dependent of an arc"),
        ({"patience": 2}, "patience needs a dev corpus"),
        ({"metric": "uas"}, "metric needs a dev corpus"),
        ({"metric": "f1", "dev": treebank(2, 2)}, "metric must be 'auto' or 'uas' or 'las', not 'f1'"),
        ({"projective": "no"}, "projective must be True or False, not 'no'"),
        ({"labelled": "no"}, "labelled must be True or False, not 'no'"),
        ({"lenient": 1}, "lenient must be True or False, not 1"),
        ({"checkpoint_every": 2}, "checkpoint_every needs checkpoint="),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_wrong_settings_are_one_line(options: dict[str, Any], why: str) -> None:
    with pytest.raises(trellis.TrellisError, match=why):
        trellis.Parser.train(treebank(5, 1), **options)


def test_too_many_labels_for_distances() -> None:
    n = 5000
    corpus = {"word": [["a"]] * n, "pos": [["A"]] * n, "head": [["0"]] * n, "deprel": [[f"l{i}"] for i in range(n)]}
    options: dict[str, Any] = {"learner": trellis.Perceptron(epochs=1), "order": 1, "prune_weights": 0.0}
    with pytest.raises(trellis.LearnerError, match="too many labels for templates with distances; use direction"):
        trellis.Parser.train(corpus, features=["pos[head]", "label & pos[dep] & distance"], **options)
    parser = trellis.Parser.train(corpus, features=["pos[head]", "label & pos[dep] & direction"], **options)
    assert len(parser.labels) == n


def test_default_features_without_tags() -> None:
    corpus = {"word": [["a", "b"]] * 3, "head": [["0", "1"]] * 3}
    with pytest.raises(
        trellis.TemplateError, match=r"default features need words and their tags: .* reads column 'pos'"
    ):
        trellis.Parser.train(corpus)
    assert trellis.Parser.train(corpus, features=["word[head] & word[dep]"], filter=None, order=1).parse(["a", "b"])


def test_wrong_questions_are_one_line() -> None:
    parser = parser_of(trellis.Perceptron(epochs=1), 1, True)
    x = inputs(treebank(5, 1, 3), 0)
    n = len(x["word"])
    for word, head in ((0, None), (n + 1, None), (1, n + 1), (1, 1)):
        with pytest.raises(trellis.ArgumentError):
            parser.explain_arc(x, word, head)
    with pytest.raises(trellis.ArgumentError, match="k must be"):
        parser.kbest(x, 0)
    with pytest.raises(trellis.CorpusError, match="no column 'pos'"):
        parser.parse({"word": ["a"]})
    with pytest.raises(trellis.CorpusError, match="more than 1,000 words"):
        parser.parse({"word": ["a"] * 1001, "pos": ["N"] * 1001})
    with pytest.raises(trellis.CorpusError, match="more than 400 words, the limit for probabilities and k best"):
        parser.probabilities({"word": ["a"] * 401, "pos": ["N"] * 401})
    long = {"word": ["a"] * 401, "pos": ["N"] * 401}
    tree = {"head": [str(h) for h in range(401)], "deprel": ["x"] * 401}
    with pytest.raises(trellis.CorpusError, match="more than 400 words, the limit of a parser of order 2; split it"):
        trellis.Parser.train(trellis.read([{**long, **tree}]), order=2, learner=trellis.Perceptron(epochs=1))
    with pytest.raises(
        trellis.TemplateError, match="reads arcs of trees; templates of a tagger read tokens, such as word"
    ):
        trellis.train(treebank(5, 1), target="pos", features=["word[head]"])


def test_pruned_weights_are_the_smallest() -> None:
    corpus, learner = treebank(25, 1), trellis.MIRA(epochs=3, C=0.05)
    full, half = (
        trellis.Parser.train(corpus, features=TEMPLATES, learner=learner, prune_weights=share) for share in (0.0, 0.5)
    )
    before, after = (
        {(term.feature, term.label): term.weight for term in parser.top_features(None)} for parser in (full, half)
    )
    assert after.items() <= before.items()
    dropped = [abs(weight) for key, weight in before.items() if key not in after]
    assert 0.45 * len(before) < len(dropped) <= 0.5 * len(before)
    assert max(dropped) < min(map(abs, after.values()))
    filters = [list(rows_of(parser.weights))[-1] for parser in (full, half)]
    assert np.array_equal(filters[0].keys, filters[1].keys)
    assert (filters[1].weights == 1).all()
    x = inputs(corpus, 3)
    terms = half.explain(x).terms
    assert half.parse(x).score == pytest.approx(sum(term.weight for term in terms), abs=1e-5)
    assert {term.feature for term in terms} <= {feature for feature, _ in after}


def test_sentence_weights_of_zero_leave_sentences_out() -> None:
    corpus = treebank(20, 1)
    kept = np.arange(20) % 2 == 0
    some = trellis.Parser.train(
        corpus.take(np.flatnonzero(kept)),
        features=TEMPLATES,
        filter=None,
        learner=trellis.MIRA(epochs=2, average=False, shuffle=False),
    )
    weighted = trellis.Parser.train(
        corpus,
        features=TEMPLATES,
        filter=None,
        sample_weight=kept.astype(float),
        learner=trellis.MIRA(epochs=2, average=False, shuffle=False),
    )
    x = inputs(treebank(5, 3), 0)
    assert weighted.parse(x).heads == some.parse(x).heads
    assert weighted.parse(x).score == pytest.approx(some.parse(x).score, abs=1e-6)


def test_default_templates_follow_the_columns() -> None:
    words = {"word": [["a", "b"]], "pos": [["A", "B"]], "head": [["0", "1"]]}
    more = {"lemma": [["c", "d"]], "feats": [["_", "X"]], "xpos": [["_", "_"]], "deprel": [["root", "x"]]}
    learner = trellis.Perceptron(epochs=1)

    def templates(columns: dict[str, Any], **options: Any) -> set[str]:
        parser = trellis.Parser.train(columns, learner=learner, **options)
        return {str(template) for template in parser.vocabulary.templates.all}

    assert templates(words) == templates(words, features="mst")
    assert templates(words | more | {"xpos": [["c", "d"]]}) == templates(words | more, features="ud")
    found = templates(words | more)
    assert found == {text for text in templates(words | more, features="ud") if "xpos" not in text}
    assert trellis.Parser.train(words | more, learner=learner).columns == ["word", "pos", "lemma", "feats"]
    labelled = templates({**words, "deprel": more["deprel"]})
    assert labelled > templates(words | more, features="mst")
    assert not any(name in text for text in labelled for name in UD_COLUMNS)


def test_templates_of_arcs_are_written_as_they_are_read() -> None:
    for text in [*TEMPLATES, "label", "distance & pos[head-2]", "word[dep+1] & direction"]:
        assert str(parse_template(text)) == text
    with pytest.raises(trellis.TemplateError, match="a template can read"):
        parse_template("pos[between] & word[between]")
    with pytest.raises(trellis.TemplateError, match="cannot read tokens"):
        parse_template("pos[head] & word[0]")


def test_a_wrong_label_costs_one() -> None:
    """Heads cannot be wrong in sentences of one word: MIRA steps until the right label is one ahead."""
    corpus = trellis.read(
        {"word": [["a"], ["b"]], "pos": [["X"], ["X"]], "head": [["0"], ["0"]], "deprel": [["x"], ["y"]]}
    )
    learner = trellis.MIRA(epochs=1, C=1.0, average=False)
    parser = trellis.Parser.train(corpus, features=["pos[head]", "label & word[dep]"], order=1, learner=learner)
    for word, label in (("a", "x"), ("b", "y")):
        sentence = {"word": [word], "pos": ["X"]}
        [term] = parser.explain_arc(sentence, 1)  # the step is loss / |d|², 1 / 2
        assert (term.feature, term.weight) == (f"label={label} & word[dep]={word}", 0.5)


def test_trees_have_words_whatever_templates_read_first() -> None:
    """TEMPLATES begin with tags; the words of a tree are those of the sentence, and so is its punctuation."""
    parser = trellis.Parser.train(treebank(8, 1), features=TEMPLATES, learner=trellis.Perceptron(epochs=1))
    assert parser.columns == ["pos", "word"]
    sentence = {"word": ["dog", "."], "pos": ["N", "V"]}
    assert parser.parse(sentence).words == parser.kbest(sentence, 1)[0][0].words == ["dog", "."]
    assert parser.explain(sentence).output.words == ["dog", "."]
    gold = {**sentence, "head": ["0", "1"], "deprel": ["root", "mod"]}
    report = parser.evaluate({name: [values] for name, values in gold.items()})
    assert (report.all.support, report.no_punctuation.support) == (2, 1)


def test_dev_trees_without_a_label_of_training() -> None:
    dev = {"word": [["dog"]], "pos": [["N"]], "head": [["0"]], "deprel": [["other"]]}
    with pytest.raises(trellis.CorpusError, match=r"no label of the dev corpus \(other\) occurs in training"):
        trellis.Parser.train(treebank(8, 1), dev=dev)
    assert trellis.Parser.train(treebank(8, 1), dev=dev, metric="uas", learner=trellis.MIRA(epochs=1)).labels


def test_probabilities_of_an_empty_sentence() -> None:
    for options in ({}, {"order": 1, "projective": False, "features": TEMPLATES[:8]}):
        parser = trellis.Parser.train(treebank(8, 1), **{"features": TEMPLATES, **options})
        assert parser.parse([], probabilities=True).probabilities == []
        assert parser.probabilities([]).shape == (1, 0)


def test_heads_as_whole_numbers() -> None:
    """In a column or apart, Python's and NumPy's, with labels or without; and as trees."""
    texts = treebank(6, 1)
    columns = {name: texts.sentences(name) for name in texts.columns}
    numbers = [[int(head) for head in heads] for heads in columns["head"]]
    parser = trellis.Parser.train(texts, features=TEMPLATES)
    assert trellis.Parser.train({**columns, "head": numbers}, features=TEMPLATES) == parser
    x = {name: columns[name] for name in texts.columns if name not in ("head", "deprel")}
    arrays = [(np.array(heads), labels) for heads, labels in zip(numbers, columns["deprel"], strict=True)]
    trees = [trellis.DependencyTree(w, *z) for w, z in zip(columns["word"], arrays, strict=True)]
    for y in (arrays, trees):
        assert trellis.Parser.train(x, y, features=TEMPLATES).training["digest"] == parser.training["digest"]
        assert trellis.Parser.train(x, y, features=TEMPLATES, dev=(x, y)).training["dev_score"] > 0.5
        assert parser.evaluate(x, y).las == parser.evaluate(texts).las
    assert not trellis.Parser.train(x, numbers, features=TEMPLATES).labels
    for wrong in ([[2.5] * len(one) for one in numbers], [[True] * len(one) for one in numbers], numbers[1:], 3):
        with pytest.raises((trellis.CorpusError, trellis.ArgumentError)) as error:
            trellis.Parser.train(x, wrong, features=TEMPLATES)
        assert "\n" not in str(error.value)
