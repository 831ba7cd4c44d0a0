"""Learning segments: gradients by finite differences, losses by listing all segmentations, and twins of other kinds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from gradients import gradient_of

import trellis
from trellis.corpus.schemes import Span, labels_of, spans
from trellis.engine.hypergraph import Hypergraph
from trellis.features.templates import parse_template
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.learner import ALL_ABILITIES, Ability
from trellis.learning.parameters import Parameters

WORDS = [["a", "b", "a", "c"], ["b", "c"], ["c", "a", "a"], ["a"], ["b", "b", "c", "a", "a"]]
SPANS = [
    [Span("N", 0, 2), Span("N", 2, 3)],
    [Span("P", 0, 1), Span("N", 1, 2)],
    [Span("N", 0, 3)],
    [],
    [Span("P", 1, 3), Span("N", 3, 5)],
]
CORPUS = {
    "word": WORDS,
    "label": [labels_of(some, len(words), "iob2") for words, some in zip(WORDS, SPANS, strict=True)],
}
FEATURES = ["word[0]", "word[-1]", "word[segment]", "length", "word[first] & word[last+1]"]


class Probe(trellis.Learner):
    """Keeps the problem that it is given."""

    default_pairs = "seen"
    problem: ChainProblem

    @property
    def abilities(self) -> frozenset[Ability]:
        return ALL_ABILITIES

    def fit(self, problem: ChainProblem, observer: Any = None) -> Any:
        self.problem = problem
        parameters = Parameters.of(problem, transitions="all", start=True)
        return parameters.weights(np.random.default_rng(0).normal(size=parameters.size)), []


@pytest.mark.parametrize("edges", [False, True])
def test_the_gradient_is_that_of_the_losses(edges: bool) -> None:
    probe = Probe()
    features = [*FEATURES, *(["label[-1] & word[0]"] if edges else [])]
    trellis.train(CORPUS, target="label", features=features, learner=probe, segments=True)
    problem = probe.problem
    parameters = Parameters.of(problem, transitions="all", start=True)
    x, weights = np.random.default_rng(1).normal(size=parameters.size), np.array([1.0, 0.5, 2.0, 0.0, 1.5])
    objective = parameters.objective(local=False, single=False)
    losses, gradient = gradient_of(objective, x, weights, 1)
    np.testing.assert_array_equal(losses, objective.losses(x, 2))
    again = gradient_of(objective, x, weights, 3)
    np.testing.assert_array_equal(gradient, again[1])
    for k in range(parameters.size):
        step = np.zeros(parameters.size)
        step[k] = 1e-5
        ahead, behind = (float(weights @ objective.losses(x + sign * step, 1)) for sign in (1, -1))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-5, abs=1e-6)
    single = gradient_of(parameters.objective(local=False, single=True), x, weights, 1)
    np.testing.assert_allclose(single[0], losses, rtol=1e-4)
    np.testing.assert_allclose(single[1], gradient, atol=1e-4)


def test_the_loss_is_that_of_all_segmentations() -> None:
    tagger = trellis.train(CORPUS, target="label", features=FEATURES, learner=trellis.CRF(c2=0.5), segments=True)
    total = 0.5 * tagger.model.weights.squares()
    for words, labels in zip(WORDS, CORPUS["label"], strict=True):
        scores = [score for _, score in tagger.kbest(words, 10_000)]
        total += float(np.logaddexp.reduce(scores)) - tagger.score(words, labels)
    assert tagger.training["history"][-1]["objective"] == pytest.approx(total, rel=1e-4)


def test_adagrad_and_lbfgs_come_to_the_same_weights() -> None:
    learners = [trellis.CRF(c2=1.0, tolerance=1e-7), trellis.CRF(c2=1.0, solver="adagrad", epochs=400)]
    taggers = [
        trellis.train(
            CORPUS,
            target="label",
            features=trellis.Features(FEATURES, pairs="seen"),
            learner=one,
            segments=True,
        )
        for one in learners
    ]
    first, second = ({(w.feature, w.label): w.weight for w in tagger.top_features(1000)} for tagger in taggers)
    assert max(abs(first.get(key, 0) - second.get(key, 0)) for key in first | second) < 0.02


def test_segments_of_one_token_are_a_chain() -> None:
    labels = [["B-N" if word == "a" else "B-P" if word == "c" else "O" for word in words] for words in WORDS]
    corpus = {"word": WORDS, "label": labels}
    learner = trellis.Perceptron(epochs=4, average=False)
    chain = trellis.train(corpus, target="label", features=["word[0]", "word[-1]", "bias"], learner=learner)
    segments = trellis.train(
        corpus, target="label", features=["word[0]", "word[-1]", "length"], learner=learner, segments=True
    )
    assert segments.training["segments"]["longest"] == {"N": 1, "P": 1}
    types = {"N": "B-N", "P": "B-P"}
    named = [
        {
            (w.feature.replace("length=1", "bias"), types.get(w.label, w.label)): w.weight
            for w in tagger.top_features(1000)
        }
        for tagger in (chain, segments)
    ]
    assert named[0] == named[1]
    for words in [*WORDS, ["d", "a", "d"]]:
        assert segments.kbest(words, 5) == chain.kbest(words, 5)


class Twin:
    """The same model as parts of a lattice: nodes before and after segments, features by name on its edges."""

    labels = tuple(dict.fromkeys(label for row in CORPUS["label"] for label in row))
    longest = (("O", 1), ("N", 3), ("P", 2))

    def written(self, kind: str, length: int) -> list[str]:
        return [kind] if kind == "O" else [f"B-{kind}", *[f"I-{kind}"] * (length - 1)]

    def segment_names(self, x: list[str], begin: int, end: int) -> list[str]:
        after = x[end] if end < len(x) else "_B"
        text = f"word[segment]={' '.join(x[begin:end])}"
        return [text, f"length={end - begin}", f"word[first]={x[begin]} & word[last+1]={after}"]

    def known(self) -> set[str]:
        names = set[str]()
        for x, found in zip(WORDS, SPANS, strict=True):
            outside = [t for t in range(len(x)) if not any(s.start_token <= t < s.end_token for s in found)]
            for begin, end in [*((s.start_token, s.end_token) for s in found), *((t, t + 1) for t in outside)]:
                names.update(self.segment_names(x, begin, end))
        return names

    def lattice(self, x: list[str]) -> tuple[trellis.Parts, list[tuple[int, int, str, str]]]:
        known, nodes = self.known(), {("start",): 0}
        heads, tails, features, what = list[int](), list[int](), list[dict[str, float]](), list[Any]()
        first = sorted(self.labels.index(label) for label in ("O", "B-N", "B-P"))

        def add(head: tuple[Any, ...], tail: tuple[Any, ...], names: list[str], of: Any) -> None:
            if tail in nodes:
                heads.append(nodes.setdefault(head, len(nodes)))
                tails.append(nodes[tail])
                counted: dict[str, float] = {}
                for name in names:
                    counted[name] = counted.get(name, 0) + 1
                features.append(counted)
                what.append(of)

        for t in range(len(x)):
            for z in first:
                for y in range(len(self.labels)) if t else ():
                    pair = f"label[-1] {self.labels[y]} {self.labels[z]}"
                    add(("before", t, z), ("after", t - 1, y), [pair], None)
                if t == 0:
                    add(("before", t, z), ("start",), [f"label[-1] <start> {self.labels[z]}"], None)
            for last in range(len(self.labels)):
                for length in range(1, t + 2):
                    for kind, longest in self.longest:
                        labels = self.written(kind, length)
                        if length > longest or labels[-1] != self.labels[last]:
                            continue
                        begin = t + 1 - length
                        names = [f"word[0]={x[begin + i]} {label}" for i, label in enumerate(labels)]
                        before = [x[begin + i - 1] if begin + i else "_B-1" for i in range(length)]
                        names += [f"word[-1]={w} {label}" for w, label in zip(before, labels, strict=True)]
                        names += [f"label[-1] {a} {b}" for a, b in itertools.pairwise(labels)]
                        own = [name for name in self.segment_names(x, begin, t + 1) if name in known]
                        names += [f"{name} {labels[0]}" for name in own]
                        tail = ("before", begin, self.labels.index(labels[0]))
                        add(("after", t, last), tail, names, (begin, t + 1, kind))
        for y in range(len(self.labels)):
            add(("done",), ("after", len(x) - 1, y), [], None)
        graph = Hypergraph(np.array(heads, np.int32), np.array(tails, np.int32))
        return trellis.Parts(graph, features), what

    def parts(self, x: list[str]) -> trellis.Parts:
        return self.lattice(x)[0]

    def edges(self, x: list[str], y: list[Span]) -> list[int]:
        parts, what = self.lattice(x)
        outside = [Span("O", t, t + 1) for t in range(len(x)) if not any(s.start_token <= t < s.end_token for s in y)]
        wanted = {(s.start_token, s.end_token, s.label) for s in [*y, *outside]}
        segments = [e for e, one in enumerate(what) if one in wanted]
        ends = {int(parts.graph.heads[e]) for e in segments}
        begins = {int(parts.graph.tails[e]) for e in segments} | {parts.graph.n_nodes - 1}
        steps = [
            e
            for e, one in enumerate(what)
            if one is None
            and int(parts.graph.heads[e]) in begins
            and (int(parts.graph.tails[e]) in ends or int(parts.graph.tails[e]) == 0)
        ]
        return sorted([*segments, *steps], key=lambda e: -int(parts.graph.heads[e]))

    def output(self, x: list[str], edges: list[int]) -> list[Span]:
        what = self.lattice(x)[1]
        return sorted(Span(what[e][2], *what[e][:2]) for e in edges if what[e] and what[e][2] != "O")


def test_the_same_model_as_parts_of_a_lattice_has_the_same_weights() -> None:
    learner = trellis.Perceptron(epochs=3, average=False)
    tagger = trellis.train(CORPUS, target="label", features=FEATURES, learner=learner, segments=True)
    model = trellis.StructuredModel.train(list(zip(WORDS, SPANS, strict=True)), problem=Twin(), learner=learner)
    types = {"N": "B-N", "P": "B-P", "O": "O"}
    mine = {f"{w.feature} {types.get(w.label, w.label)}": w.weight for w in tagger.top_features(1000)}
    theirs = {name: model[name] for name in model.names}
    assert {name: weight for name, weight in theirs.items() if weight} == mine


# ------------------------------------------------------------ templates


@pytest.mark.parametrize(
    "text",
    [
        "length",
        "word[segment]",
        "lower(word[segment])",
        "word[first-1] & word[last+1]",
        "word[first] & length & pos[last]",
    ],
)
def test_templates_of_segments_are_read_as_they_are_written(text: str) -> None:
    template = parse_template(text)
    assert str(template) == text
    assert template.of_segment


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("word[0] & length", "cannot read tokens"),
        ("label[-1] & word[segment]", "cannot read tokens"),
        ("name: length", "cannot read tokens"),
        ("word[segment] & lower(word[segment])", "a template can read a whole segment only once"),
        ("word[segment+1]", "expected ]"),
        ("word[middle]", "a position must be an offset or one of first"),
        ('listed(word[first], "x")', "listed"),
        ('cluster(word[segment], "x")', "listed"),
        ("lower(length)", "cannot be arguments of"),
    ],
)
def test_templates_that_make_no_sense_are_rejected(text: str, why: str) -> None:
    with pytest.raises(trellis.TemplateError, match=why):
        parse_template(text)


def test_attributes_are_what_templates_say(tmp_path: Any) -> None:
    names = tmp_path / "names.txt"
    names.write_text("b a\nz z\nc\n")
    listed = f'listed(lower(word[segment]), "{names}")'
    templates = ["lower(word[segment])", "suffix(word[last], 1) & length", "word[first-1] & word[last+1]", listed]
    words = [["A", "b", "a"], ["b", "A", "c"]]
    corpus = {"word": words, "label": [["B-N", "I-N", "O"], ["B-N", "I-N", "B-N"]]}
    tagger = trellis.train(
        corpus,
        target="label",
        features=trellis.Features(["word[0]", *templates], pairs="all"),
        segments=True,
        learner=trellis.CRF(),
    )
    decoder = tagger._decoder
    assert decoder.segments is not None

    def twin(x: list[str], begin: int, end: int) -> set[str]:
        text, before, after = [w.lower() for w in x[begin:end]], ["_B", *x][begin], [*x, "_B"][end]
        found = {
            f"lower(word[segment])={' '.join(text)}",
            f"suffix(word[last], 1)={x[end - 1]} & length={end - begin}",
            f"word[first-1]={before} & word[last+1]={after}",
        }
        return found | ({f"{listed}=yes"} if " ".join(text) in ("b a", "z z", "c") else set())

    gold = [(0, 0, 2), (0, 2, 3), (1, 0, 2), (1, 2, 3)]
    known = set[str]().union(*(twin(words[i], begin, end) for i, begin, end in gold))
    for x in [*words, ["z", "z"], ["B", "a", "q", "c"]]:
        starts, ids, _ = decoder.segments.lists(decoder, [x], np.array([0, len(x)], np.int64), 1)
        said = tagger.model.attribute_names(ids.tolist())
        for begin in range(len(x)):
            for end in range(begin + 1, min(begin + 2, len(x)) + 1):
                site = begin * 2 + end - begin - 1
                found = {said[a] for a in ids[starts[site] : starts[site + 1]].tolist()}
                assert found == twin(x, begin, end) & known


def test_spans_of_a_tagger_are_those_of_its_labels() -> None:
    tagger = trellis.train(CORPUS, target="label", features=FEATURES, segments=True)
    for words in WORDS:
        assert [span for span, _ in tagger.tag_spans(words)] == spans(tagger.tag(words))
