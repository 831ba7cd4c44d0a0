"""Labels that are allowed, forced and forbidden, by hand and by the rules of a scheme."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import LABELS, MODELS, all_paths, corpus_of, possible, random_tagger, sentences

import trellis
from trellis._support.errors import ArgumentError, ConstraintError, CorpusError
from trellis.corpus import schemes
from trellis.learning.chain_problem import ChainProblem
from trellis.tasks.tagging.model import Tagger

few = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@pytest.fixture(scope="module", params=MODELS)
def tagger(request: pytest.FixtureRequest) -> Tagger:
    return random_tagger(2, **MODELS[request.param])


def test_allowed_labels(tagger: Tagger) -> None:
    rng = np.random.default_rng(0)
    for sentence in sentences(4):
        labels = possible(tagger, sentence)
        chosen: dict[int, list[str]] = {}
        for t in range(len(sentence)):
            if rng.integers(3):
                chosen[t] = [str(z) for z in rng.choice(tagger.labels, rng.integers(1, 4), replace=False)]
        sets = [sorted(chosen.get(t, labels[t]), key=tagger.labels.index) for t in range(len(sentence))]
        paths = all_paths(tagger, sentence, sets)
        ranked = sorted(paths, key=lambda path: -paths[path])
        as_list = [chosen.get(t) for t in range(len(sentence))]
        for allowed in (chosen, as_list):
            assert tuple(tagger.tag(sentence, allowed=allowed)) == ranked[0]
            best = tagger.kbest(sentence, 4, allowed=allowed)
            assert [paths[tuple(path)] for path, _ in best] == pytest.approx([paths[path] for path in ranked[:4]])
            node = tagger.marginals(sentence, allowed=allowed)
            for t, z in itertools.product(range(len(sentence)), tagger.labels):
                share = sum(p for path, p in paths.items() if path[t] == z)
                assert node[t][z] == pytest.approx(share, rel=1e-6, abs=1e-9)
            by_label = tagger.tag(sentence, decode="posterior", allowed=allowed)
            assert by_label == [max(tagger.labels, key=node[t].__getitem__) for t in range(len(sentence))]
        explained = tagger.explain(sentence, allowed=chosen)
        assert tuple(explained.output) == ranked[0]


def test_a_label_alone_is_forced(tagger: Tagger) -> None:
    for sentence in sentences(4):
        for t, label in itertools.product(range(len(sentence)), tagger.labels):
            assert tagger.tag(sentence, allowed={t: label})[t] == label
            assert tagger.tag(sentence, decode="posterior", allowed={t: [label]})[t] == label
        if sentence:
            forced = [tagger.labels[t % 3] for t in range(len(sentence))]
            assert tagger.tag(sentence, allowed=forced) == forced
            assert tagger.kbest(sentence, 5, allowed=forced) == [
                (forced, pytest.approx(tagger.score(sentence, forced)))
            ]


def test_nothing_said_changes_nothing(tagger: Tagger) -> None:
    for sentence in sentences(4):
        for allowed in ({}, [None] * len(sentence)):
            assert tagger.tag(sentence, allowed=allowed) == tagger.tag(sentence)
            assert tagger.kbest(sentence, 3, allowed=allowed) == tagger.kbest(sentence, 3)


def test_batches(tagger: Tagger) -> None:
    many = list(sentences(4))
    allowed = [{len(s) - 1: tagger.labels[i % 3]} if s else None for i, s in enumerate(many)]
    for decode in ("viterbi", "posterior"):
        alone = [tagger.tag(s, decode=decode, allowed=a) for s, a in zip(many, allowed, strict=True)]
        for given_sentences in (many, trellis.read({"word": many})):
            assert tagger.tag_batch(given_sentences, decode=decode, allowed=allowed, n_threads=2) == alone
    found = tagger.marginals_batch(many, allowed=allowed, n_threads=2)
    for s, a, one in zip(many, allowed, found, strict=True):
        assert one.node.tolist() == tagger.marginals(s, allowed=a).node.tolist()


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ({0: "Z"}, "no label 'Z' in this model; its labels are P, Q, R"),
        ({2: "P"}, "a constraint at position 2; positions are 0 to 1"),
        ({-1: "P"}, "a constraint at position -1"),
        ({0: []}, "no label is allowed at position 0"),
        (["P"], "constraints for 1 tokens, but the sentence has 2"),
    ],
)
def test_senseless_constraints(allowed: Any, message: str) -> None:
    tagger = random_tagger(0)
    for question in (tagger.tag, tagger.marginals, tagger.explain, partial(tagger.kbest, k=2)):
        with pytest.raises(ConstraintError, match=message):
            question(["a", "b"], allowed=allowed)
    with pytest.raises(ConstraintError, match="constraints for 1 sentences, but there are 2"):
        tagger.tag_batch([["a"], ["b"]], allowed=[None])
    with pytest.raises(ConstraintError, match="constraints for 1 sentences, but there are 2"):
        tagger.marginals_batch([["a"], ["b"]], allowed=[None])


def test_impossible_constraints() -> None:
    tagger = random_tagger(0, LABELS["iob2"]).constrained("iob2")
    impossible = {0: "O", 1: "I-X"}
    for decode in ("viterbi", "posterior"):
        with pytest.raises(ConstraintError, match="no label sequence"):
            tagger.tag(["a", "b"], decode=decode, allowed=impossible)
    with pytest.raises(ConstraintError, match="no label sequence"):
        tagger.kbest(["a", "b"], 3, allowed=impossible)
    with pytest.raises(ConstraintError, match="no label sequence"):
        tagger.marginals(["a", "b"], allowed=impossible)
    with pytest.raises(ConstraintError, match=r"sentence 1 \(counted from 0\): no label sequence"):
        tagger.tag_batch([["a"], ["a", "b"]], allowed=[None, impossible])


# ------------------------------------------------------------ schemes


SCHEMED = {
    (scheme, name): random_tagger(7, labels, **MODELS[name], spread=3.0).constrained(scheme)
    for scheme, labels in LABELS.items()
    for name in (
        "order 0",
        "order 1",
        "order 2",
        "edges",
        "tag dictionary 2",
        "confidence",
        "local",
        "local 2",
    )
}


@few
@given(st.sampled_from(sorted(SCHEMED)), st.lists(st.sampled_from(["a", "b", "c", "new"]), max_size=9))
def test_no_illegal_sequence_ever(which: tuple[str, str], sentence: list[str]) -> None:
    scheme, tagger = which[0], SCHEMED[which]
    answers = [tagger.tag(sentence), tagger.tag(sentence, decode="posterior")]
    answers += [path for path, _ in tagger.kbest(sentence, 5)]
    answers += tagger.tag_batch([sentence, sentence]) + tagger.tag_batch([sentence], decode="posterior")
    answers.append(tagger.tag_column(trellis.read({"word": [sentence]})).tolist())
    answers.append(tagger.explain(sentence).output)
    assert answers[0] == answers[2]
    for labels in answers:
        assert schemes.check(labels, scheme) is None


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scheme", LABELS)
def test_the_best_of_what_is_legal(scheme: str, order: int) -> None:
    free = random_tagger(order, LABELS[scheme], order=order, end=True, spread=2.0)
    tagger = free.constrained(scheme)
    for sentence in sentences(3):
        legal = {path: p for path, p in all_paths(free, sentence).items() if schemes.check(path, scheme) is None}
        assert tuple(tagger.tag(sentence)) == max(legal, key=legal.__getitem__)
        total = sum(legal.values())
        node = tagger.marginals(sentence)
        for t, z in itertools.product(range(len(sentence)), tagger.labels):
            share = sum(p for path, p in legal.items() if path[t] == z) / total
            assert node[t][z] == pytest.approx(share, rel=1e-6, abs=1e-9)
        # The best labels one by one: the legal sequence with the most labels expected to be right.
        right = {path: sum(node[t][z] for t, z in enumerate(path)) for path in legal}
        assert right[tuple(tagger.tag(sentence, decode="posterior"))] == pytest.approx(max(right.values()))


def test_the_model_keeps_it(tmp_path: Path) -> None:
    for order in (1, 2):
        tagger = random_tagger(1, LABELS["iob2"], order=order, spread=3.0).constrained("BIO")
        tagger.save(tmp_path / "model")
        again = trellis.load(tmp_path / "model")
        assert again.training["scheme"] == "iob2"
        for sentence in sentences(4):
            assert again.tag(sentence) == tagger.tag(sentence)
        assert all(np.isfinite(weight.weight) for weight in again.top_features(50))
        assert again.model.weights.n_nonzero == tagger.model.weights.n_nonzero


def test_the_dictionary_gives_way() -> None:
    """A word that was only ever inside cannot begin a sentence; all labels are tried there."""
    words, labels = [["x", "y"]] * 6, [["B-X", "I-X"]] * 6
    tagger = trellis.train(
        {"word": [*words, ["z"]], "label": [*labels, ["O"]]},
        target="label",
        features=["word[0]"],
        search=trellis.Search(tag_dictionary=3),
    )
    assert tagger.tag(["y"]) == ["I-X"]
    kept = tagger.constrained("iob2")
    for answer in (kept.tag(["y"]), kept.tag(["y"], decode="posterior"), kept.kbest(["y"], 1)[0][0]):
        assert schemes.check(answer, "iob2") is None
    assert kept.tag_batch([["x", "y"], ["y"], ["x"]])[0] == ["B-X", "I-X"]
    assert kept.tag(["y", "y"], allowed={1: "I-X"})[1] == "I-X"


def test_no_legal_sequence_at_all() -> None:
    tagger = random_tagger(0, ("B-X", "E-X")).constrained("iobes")
    assert tagger.tag(["a", "b"]) == ["B-X", "E-X"]
    with pytest.raises(ConstraintError, match="no label sequence"):
        tagger.tag(["a"])
    with pytest.raises(ConstraintError, match="label 'P' is not a label of the scheme iob2"):
        random_tagger(0).constrained("iob2")
    iob2 = random_tagger(0, LABELS["iob2"])
    for scheme in ("iobes", "bilou"):
        fits = "occurs in no valid .* they look like iob2"
        with pytest.raises(ConstraintError, match=fits):
            iob2.constrained(scheme)
        sentences = {"word": [["a", "b"], ["c"]], "tag": [["B-X|O", ""], ["B-X|I-X"]]}
        with pytest.raises(ConstraintError, match=fits):
            trellis.train(
                sentences,
                target="tag",
                learner=trellis.CRF(),
                labels=trellis.Labels(partial=True, scheme=scheme),
            )
    with pytest.raises(ConstraintError, match=r"'E-X' occurs in no valid iobes sequence of these labels$"):
        random_tagger(0, ("O", "E-X", "S-X")).constrained("iobes")
    with pytest.raises(ArgumentError, match="no scheme 'nonsense'"):
        random_tagger(0).constrained("nonsense")


# ------------------------------------------------------------ training


def legal_corpus(scheme: str, n: int = 30) -> trellis.Corpus:
    """Random words with spans of X and Y, written in a scheme."""
    rng = np.random.default_rng(1)
    words, labels = [], []
    for _ in range(n):
        length = int(rng.integers(1, 8))
        cuts = [0, *sorted({int(c) for c in rng.integers(0, length + 1, 3)}), length]
        found = [
            schemes.Span(str(rng.choice(["X", "Y"])), a, b)
            for a, b in itertools.pairwise(cuts)
            if a < b and rng.integers(2)
        ]
        words.append([str(w) for w in rng.choice(["a", "b", "c", "d"], length)])
        labels.append(schemes.labels_of(found, length, scheme))
    return trellis.read({"word": words, "label": labels})


@pytest.mark.parametrize("learner", [trellis.Perceptron(epochs=3), trellis.CRF(epochs=10)], ids=repr)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("scheme", ["iob1", "iob2", "ioe2", "iobes"])
def test_training_with_a_scheme(scheme: str, order: int, learner: Any) -> None:
    corpus = legal_corpus(scheme)
    tagger = trellis.train(
        corpus,
        target="label",
        features=["word[0]", "word[-1]"],
        order=order,
        labels=trellis.Labels(scheme=scheme),
        learner=learner,
    )
    assert tagger.training["scheme"] == scheme
    for words in corpus.sentences("word"):
        assert schemes.check(tagger.tag(words[::-1]), scheme) is None


class Spy(trellis.Learner):
    """A learner that keeps the problem it is given."""

    def fit(self, problem: ChainProblem, observer: object) -> Any:
        self.problem = problem
        raise InterruptedError


def test_what_the_learner_gets() -> None:
    corpus, spy = legal_corpus("iob2"), Spy()
    with pytest.raises(InterruptedError):
        trellis.train(corpus, target="label", labels=trellis.Labels(scheme="iob2"), learner=spy)
    labels = list(dict.fromkeys(corpus.column("label").values))
    edge, end = spy.problem.edge_base, spy.problem.end_base
    assert edge is not None
    assert end is not None
    assert edge.dtype == end.dtype == np.float32
    for z, label in enumerate(labels):
        for y, before in enumerate([*labels, None]):
            assert edge[y, z] == (0 if schemes.allowed_transition("iob2", before, label) else -np.inf)
        assert end[z] == 0
    assert (edge[:, len(labels) :] == 0).all()


@pytest.mark.parametrize(
    ("text", "scheme", "line", "message"),
    [
        ("a O\nb I-X\n", "iob2", 2, "'I-X' cannot follow 'O' in iob2"),
        ("a O\n\nb I-X\nc B-X\n", "iob2", 3, "a sentence of iob2 cannot begin with 'I-X'"),
        ("a O\nb I-X\n\nc E-X\n", "ioe2", 2, "a sentence of ioe2 cannot end with 'I-X'"),
        ("a O\nb I-X\n\nc I-X\n", "iob2", 2, "use the scheme of the labels \\(iob1\\?\\)"),
        ("a O\nb I-X\nc B-X\n", "iob2", 2, "use the scheme of the labels \\(iob1\\?\\)"),
        ("a O\nb I-X\n\nc B-X\n", "iob2", 2, "correct the label or omit scheme"),
    ],
)
def test_illegal_gold_labels(text: str, scheme: str, line: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.txt"
    path.write_text(text)
    corpus = trellis.read(path, columns="word,label")
    with pytest.raises(CorpusError, match=message) as error:
        trellis.train(corpus, target="label", features=["word[0]"], labels=trellis.Labels(scheme=scheme))
    assert error.value.line == line
    assert str(path) in str(error.value)


def test_illegal_gold_labels_in_memory() -> None:
    with pytest.raises(CorpusError, match=r"token 1 \(counted from 0\): 'I-X' cannot follow 'O'"):
        trellis.train(
            {"word": [["a", "b"]], "label": [["O", "I-X"]]}, target="label", labels=trellis.Labels(scheme="iob2")
        )
    with pytest.raises(ConstraintError, match="label 'P' is not a label of the scheme iob2"):
        trellis.train(corpus_of(("P", "O")), target="label", labels=trellis.Labels(scheme="iob2"))


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "learner", [trellis.MaxEnt(epochs=5), trellis.CRF(epochs=5)], ids=lambda learner: type(learner).__name__
)
def test_dictionary_yields_to_a_scheme(learner: trellis.Learner, order: int) -> None:
    """ "old" was only ever inside a phrase, so that the dictionary leaves a sentence that begins with it no path."""
    corpus = {"word": [["the", "old", "man"], ["the", "man"]], "np": [["B-X", "I-X", "I-X"], ["B-X", "I-X"]]}
    tagger = trellis.train(
        corpus,
        target="np",
        learner=learner,
        features=["word[0]"],
        order=order,
        search=trellis.Search(tag_dictionary=1),
        labels=trellis.Labels(scheme="iob2"),
    )
    sentence = ["old", "man"]
    assert tagger.tag(sentence)[0] == "B-X"
    assert tagger.tag_batch([sentence, ["the", "man"]]) == [tagger.tag(sentence), ["B-X", "I-X"]]
    assert tagger.kbest(sentence, 1)[0][0] == tagger.tag(sentence)
    assert tagger.tag(sentence, allowed={0: "B-X"})[0] == "B-X"
    node = tagger.marginals(sentence).node
    np.testing.assert_allclose(node.sum(axis=1), 1.0, rtol=1e-6)
    assert node[0, tagger.labels.index("I-X")] == 0
    # With others that the dictionary leaves a path, before and after it.
    words = [["the", "old", "man", "man"], ["old", "man", "old", "man"], ["the", "man", "the"], ["old"]]
    for one, found in zip(words, tagger.marginals_batch(words), strict=True):
        assert found.node.tolist() == tagger.marginals(one).node.tolist()
        if isinstance(learner, trellis.MaxEnt):
            assert sum(np.exp(score) for _, score in tagger.kbest(one, 99)) == pytest.approx(1.0, abs=1e-5)
