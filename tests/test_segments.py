"""Semi-Markov chains: the engine against all segmentations, and what users do with a tagger of segments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import TRAIN, Done, refused
from test_model_file import write_hostile

import trellis
from trellis import _core
from trellis._support.arrays import LabelSets, Lists
from trellis._support.errors import ConstraintError, CorpusError, LearnerError, ModelError, TemplateError
from trellis.corpus.schemes import SCHEMES, Span, check, labels_of, spans
from trellis.engine.chain import Tables, with_stride
from trellis.engine.weights import Rows, padded
from trellis.tasks.tagging.segments.decoding import SegmentChains
from trellis.tasks.tagging.segments.weights import SegmentTypes, segments_of

LABELS = {
    "iob1": ("O", "I-A", "B-A", "I-B", "B-B"),
    "iob2": ("O", "B-A", "I-A", "B-B", "I-B"),
    "ioe1": ("O", "I-A", "E-A", "I-B"),
    "ioe2": ("E-A", "O", "I-A", "E-B"),
    "iobes": ("S-A", "B-A", "I-A", "E-A", "O", "S-B"),
    "bilou": ("U-A", "B-A", "L-A", "O"),
    "bmes": ("B", "M", "E", "S"),
}


def types_of(scheme: str, longest: int = 3) -> SegmentTypes:
    kinds = dict.fromkeys(label.partition("-")[2] for label in LABELS[scheme] if label != "O")
    return SegmentTypes(LABELS[scheme], scheme, {kind: longest - (kind == "B") for kind in kinds})


def all_segmentations(types: SegmentTypes, n: int) -> list[tuple[str, ...]]:
    """Every legal sequence of labels with no segment too long."""
    fits = []
    for path in itertools.product(types.labels, repeat=n):
        if check(path, types.scheme) is None and all(
            s.end_token - s.start_token <= types.longest[s.label] for s in spans(path)
        ):
            fits.append(path)
    return fits


class Case:
    """Random potentials of a sentence, some of them equal or forbidden."""

    def __init__(
        self, scheme: str, n: int, seed: int, *, per_token: bool = False, whole: bool = False, scale: float = 1
    ) -> None:
        rng = np.random.default_rng(seed)
        self.types, self.n = types_of(scheme), n
        L, longest = len(self.types.labels), self.types.most
        numbers = (lambda *shape: rng.integers(-2, 3, shape)) if whole else (lambda *shape: rng.normal(size=shape))
        self.emit = numbers(n, L).astype(np.float32)
        self.edge = numbers(n if per_token else 1, L + 1, L).astype(np.float32)
        self.end = numbers(L).astype(np.float32)
        for table in (self.emit, self.edge):
            table[rng.random(table.shape) < 0.5] *= np.float32(scale)
        self.emit[rng.random((n, L)) < 0.1] = -np.inf
        # Attribute a stands at random segments, with a weight per label.
        n_attributes = 4
        weights = numbers(n_attributes, L).astype(np.float32)
        self.sites = [rng.choice(n_attributes, rng.integers(0, 3)).tolist() for _ in range(n * longest)]
        starts = np.concatenate([[0], np.cumsum([len(site) for site in self.sites])]).astype(np.int64)
        ids = np.array([a for site in self.sites for a in site], np.int32)
        rows = Rows(
            np.arange(n_attributes + 1, dtype=np.uint32) * np.uint32(L),
            np.tile(np.arange(L), n_attributes).astype(np.uint16),
            weights.reshape(-1),
        )
        self.weights = weights
        tables = Tables(*map(with_stride, (self.emit, self.edge, None, self.end)))
        lists = Lists(starts, ids, np.empty(0, np.float32))
        edge = np.zeros((L + 1, padded(L)), np.float32)
        native = _core.Weights(rows=rows, edge_rows=None, edge=edge, tri=None, end=None)
        self.chains = SegmentChains(tables, np.array([0, n], np.int64), None, self.types.native(), native, lists)

    def score(self, path: tuple[str, ...]) -> float:
        z = [self.types.labels.index(label) for label in path]
        before = [len(self.types.labels), *z[:-1]]
        edges = [self.edge[t if len(self.edge) > 1 else 0] for t in range(self.n)]
        total = sum(float(edges[t][y, z[t]]) + float(self.emit[t, z[t]]) for t, y in enumerate(before))
        found = spans(path)
        outside = [
            Span("O", t, t + 1) for t in range(self.n) if not any(s.start_token <= t < s.end_token for s in found)
        ]
        for kind, begin, end in [*found, *outside]:
            column = self.types.labels.index("O") if kind == "O" else self.types.column_of(kind)
            site = self.sites[begin * self.types.most + end - begin - 1]
            total += sum(float(self.weights[a, column]) for a in site)
        return total + (float(self.end[z[-1]]) if z else 0.0)

    def ranked(self) -> list[tuple[float, tuple[str, ...]]]:
        """All that are not forbidden, best first; ties by last label and length of the last segment, then the rest."""
        scored = [(self.score(path), path) for path in all_segmentations(self.types, self.n)]
        labels, follows = self.types.labels, self.types.follows()

        def ties(path: tuple[str, ...]) -> list[tuple[int, int, int]]:
            z = [labels.index(label) for label in path]
            cuts = [0, *(t for t in range(1, len(z)) if follows[z[t - 1], z[t]]), len(z)]
            return [(z[b - 1], b - a, z[a]) for a, b in itertools.pairwise(cuts) if b > a][::-1]

        possible = [one for one in scored if one[0] > -np.inf]
        return sorted(possible, key=lambda one: (-one[0], ties(one[1])))


CASES = [(scheme, n, per_token) for scheme in SCHEMES for n in (1, 2, 3, 5) for per_token in (False, True)]


@pytest.mark.parametrize(("scheme", "n", "per_token"), CASES)
def test_best_and_k_best_are_those_of_all_segmentations(scheme: str, n: int, per_token: bool) -> None:
    for whole in (False, True):
        case = Case(scheme, n, seed=n, per_token=per_token, whole=whole)
        ranked = case.ranked()
        paths, scores = case.chains.best(1)
        if not ranked:
            assert scores[0] == -np.inf
            continue
        assert [case.types.labels[z] for z in paths] == list(ranked[0][1])
        assert scores[0] == pytest.approx(ranked[0][0])
        k = len(ranked) + 2
        paths, found, counts = case.chains.kbest(k, 1)
        assert counts.tolist() == [len(ranked)]
        np.testing.assert_allclose(found[0, : len(ranked)], [score for score, _ in ranked], atol=1e-5)
        named = [tuple(case.types.labels[z] for z in row) for row in paths.reshape(k, n)[: len(ranked)]]
        assert named == [path for _, path in ranked]


@pytest.mark.parametrize(("scheme", "n", "per_token"), CASES)
@pytest.mark.parametrize("scale", [1, 400, 1500])
def test_sums_are_those_of_all_segmentations(scheme: str, n: int, per_token: bool, scale: float) -> None:
    """Also of scores far apart: exp of a step alone would overflow, and what vanishes may be all that counts."""
    case, temperature = Case(scheme, n, seed=n + 10, per_token=per_token, scale=scale), 1.7
    ranked = case.ranked()
    if not ranked:
        assert case.chains.log_partition(1, temperature)[0] == -np.inf
        return
    scores = np.array([score for score, _ in ranked]) / temperature
    log_z = np.logaddexp.reduce(scores)
    p, labels = np.exp(scores - log_z), case.types.labels
    node, edge = np.zeros((n, len(labels))), np.zeros((n, len(labels) + 1, len(labels)))
    segments: dict[Span, float] = {}
    for one, (_, path) in zip(p, ranked, strict=True):
        z = [labels.index(label) for label in path]
        for t in range(n):
            node[t, z[t]] += one
            edge[t, z[t - 1] if t else len(labels), z[t]] += one
        for span in spans(path):
            segments[span] = segments.get(span, 0.0) + one
    found = case.chains.pair_marginals(1, temperature)
    assert found.log_z[0] == pytest.approx(log_z)
    np.testing.assert_allclose(found.node, node, atol=1e-9)
    np.testing.assert_allclose(found.edge, edge, atol=1e-9)
    rows = np.array(
        [(0, s.start_token, s.end_token, case.types.column_of(s.label)) for s in segments], np.int64
    ).reshape(-1, 4)
    np.testing.assert_allclose(case.chains.span_probabilities(rows, 1, temperature), list(segments.values()), atol=1e-9)


def test_allowed_labels_leave_the_segmentations_that_have_them() -> None:
    case = Case("iob2", 4, seed=3)
    wanted = [path for path in (path for _, path in case.ranked()) if path[1] == "I-A" and path[3] in ("O", "B-B")]
    sets = [range(5), [2], range(5), [0, 3]]
    paths, _ = case.chains._replace(allowed=LabelSets.of(sets)).best(1)
    assert tuple(case.types.labels[z] for z in paths) == wanted[0]
    score = case.chains.path_scores(paths, 1)[0]
    assert score == pytest.approx(case.score(wanted[0]))


def test_segments_of_labels() -> None:
    types = SegmentTypes(("O", "I-A", "B-A"), "iob2", {"A": 2})
    codes, starts = np.array([0, 2, 1, 0, 2, 1], np.int32), np.array([0, 4, 4, 6], np.int64)
    begins, lengths, columns = segments_of(types, codes, starts)
    assert (begins.tolist(), lengths.tolist()) == ([0, 1, 3, 4], [1, 2, 1, 2])
    assert [types.type_of_column(column) for column in columns] == ["O", "A", "O", "A"]


# ------------------------------------------------------------ training


def corpus(scheme: str = "iob2", n: int = 60, *, seed: int = 0) -> dict[str, Any]:
    """Names of two words, told by the whole name alone: a b and b a are names, a a and b b are not."""
    rng, words, labels = np.random.default_rng(seed), [], []
    for _ in range(n):
        row: list[str] = []
        found: list[Span] = []
        for _ in range(rng.integers(1, 4)):
            kind = rng.integers(3)
            first, second = rng.choice(["a", "b"]), rng.choice(["a", "b"])
            if kind == 0:
                row.append("the")
                found.append(Span("D", len(row) - 1, len(row)))
            elif kind == 1:
                row.append(".")
            else:
                row += [first, second]
                if first != second:
                    found.append(Span("N", len(row) - 2, len(row)))
                row.append(",")
        words.append(row)
        labels.append(labels_of(found, len(row), scheme))
    return {"word": words, "label": labels}


LEARNERS = [
    trellis.Perceptron(epochs=8),
    trellis.Perceptron(epochs=20, batch=4),
    trellis.PassiveAggressive(epochs=8),
    trellis.MIRA(epochs=8),
    trellis.MIRA(epochs=8, k=3),
    trellis.AROW(epochs=8),
    trellis.CRF(epochs=30),
    trellis.CRF(solver="adagrad", epochs=20),
    trellis.CRF(c1=0.1, epochs=30),
    trellis.ExponentialLoss(epochs=30),
    trellis.HMSVM(solver="frank-wolfe", epochs=20),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: f"{type(learner).__name__}")
def test_every_learner_learns_what_only_whole_segments_tell(learner: trellis.Learner) -> None:
    tagger = trellis.train(corpus(), target="label", features=["word[0]"], learner=learner, segments=True)
    assert tagger.evaluate(corpus(seed=1)).f1 > 0.96
    chain = trellis.train(corpus(), target="label", features=["word[0]"], learner=learner)
    assert chain.evaluate(corpus(seed=1)).f1 < 0.9
    one = trellis.train(corpus(), target="label", features=["word[0]"], learner=learner, segments=True, n_threads=1)
    assert one.to_bytes() == tagger.to_bytes()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_labels_come_in_the_scheme_of_the_corpus(scheme: str) -> None:
    tagger = trellis.train(corpus(scheme), target="label", features=["word[0]"], segments=True)
    wanted = corpus(scheme, seed=2)
    assert tagger.tag_batch(wanted["word"]) == wanted["label"]
    assert tagger.training["segments"]["longest"] == {"D": 1, "N": 2}
    for sentence in wanted["word"][:5]:
        for labels, score in tagger.kbest(sentence, 4):
            assert check(labels, scheme) is None
            assert tagger.score(sentence, labels) == pytest.approx(score)


def train_on(rows: list[str], learner: str = "perceptron", **changes: Any) -> trellis.Tagger:
    """A tagger of sentences of labels; words are numbered in each."""
    labels = [row.split() for row in rows]
    words = [[str(t) for t in range(len(row))] for row in labels]
    given = {"target": "label", "features": ["word[0]"], "segments": True, "learner": learner, **changes}
    return trellis.train({"word": words, "label": labels}, **given)


@pytest.mark.parametrize(
    ("rows", "scheme"),
    [
        (["I-X B-X O I-X", "O I-X O"], "iob1"),
        (["I-X B-X O", "I-X I-X"], "iob1"),
        (["B-X B-X O", "O B-X I-X"], "iob2"),
        (["I-X E-X I-X O", "O I-X"], "ioe1"),
        (["I-X E-X E-X O", "O E-X"], "ioe2"),
        (["B- I- O", "O B-"], "iob2"),
        (["B I- O", "O B"], "iob2"),
    ],
)
def test_the_scheme_is_that_of_the_label_sequences(rows: list[str], scheme: str) -> None:
    tagger = train_on(rows)
    assert tagger.training["scheme"] == scheme
    for row in rows:
        labels = row.split()
        assert tagger.score([str(t) for t in range(len(labels))], labels) > -np.inf
    assert train_on([rows[0]]).tag([str(t) for t in range(len(rows[0].split()))]) == rows[0].split()


@pytest.mark.parametrize(
    ("rows", "scheme", "why"),
    [
        (["B-X I-X O"], "iobes", r"'O' cannot follow 'I-X' in iobes .*\(iob2\?\) or omit scheme"),
        (["B-X I-X O"], "iob1", r"a sentence of iob1 cannot begin with 'B-X' .*\(iob2\?\)"),
        (["O I-X I-Y", "B-X"], "iob2", "token 1 .*'I-X' cannot follow 'O' in iob2"),
        (["I-X O", "I-X B-X"], "iob2", r"begin with 'I-X' .*; use the scheme of the labels \(iob1\?\)"),
        (["O I-X", "B-X"], None, r"'I-X' cannot follow 'O' in iob2 \(column 'label'\); correct the label$"),
        (["B-X I-X O"], "bmes", r"'I-X' is not a label of the scheme bmes; use the scheme of the labels"),
        (["B I", "B- I"], None, "'B' and 'B-' mark the same"),
    ],
)
def test_labels_that_the_scheme_does_not_allow_are_rejected(rows: list[str], scheme: str | None, why: str) -> None:
    with pytest.raises((CorpusError, ConstraintError), match=why):
        train_on(rows, labels=trellis.Labels(scheme=scheme))


def test_weights_of_segments_are_named_by_their_types() -> None:
    tagger = trellis.train(corpus(), target="label", features=["word[0]"], segments=True)
    heaviest = {(w.feature, w.label): w.weight for w in tagger.top_features(1000)}
    terms = [term for term in tagger.explain(["a", "b", ","]).terms if "segment" in term.feature]
    assert {term.label for term in terms} == {"N", "O"}
    for term in terms:
        assert heaviest[term.feature, term.label] == pytest.approx(term.weight)


def test_a_tagger_of_segments_in_all_its_ways(tmp_path: Any) -> None:
    tagger = trellis.train(corpus(), target="label", features=["word[0]"], learner="crf", segments=True)
    sentence = ["the", "a", "b", ",", "b", "b", ","]
    assert tagger.tag(sentence) == ["B-D", "B-N", "I-N", "O", "O", "O", "O"]
    found = tagger.tag_spans(sentence)
    assert [span for span, _ in found] == [Span("D", 0, 1), Span("N", 1, 3)]
    for span, probability in found:
        assert tagger.span_probability(sentence, span) == pytest.approx(probability)
        assert 0.5 < probability <= 1
    node = tagger.marginals(sentence).node
    np.testing.assert_allclose(node.sum(axis=1), 1)
    assert tagger.span_probability(sentence, ("N", 1, 3)) == pytest.approx(tagger.marginals(sentence)[2]["I-N"])
    assert tagger.tag(sentence, decode="posterior") == tagger.tag(sentence)
    assert tagger.tag(sentence, allowed={4: "B-N"})[4:6] in (["B-N", "I-N"], ["B-N", "O"])
    with pytest.raises(ConstraintError):
        tagger.tag(sentence, allowed={0: "I-N"})
    tagger.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    assert again.to_bytes() == tagger.to_bytes()
    assert again.kbest(sentence, 3) == tagger.kbest(sentence, 3)
    calibrated = tagger.calibrated(corpus(seed=3))
    assert calibrated.tag(sentence) == tagger.tag(sentence)
    assert calibrated.temperature != 1
    assert tagger.tag_batch([]) == []
    assert tagger.tag_batch([[], ["the"]]) == [[], ["B-D"]]


def test_segments_that_are_too_long_are_left_out_and_counted() -> None:
    tagger = trellis.train(corpus(), target="label", features=["word[0]"], segments=trellis.Segments(1))
    assert tagger.training["segments"]["longest"] == {"D": 1, "N": 1}
    has_long = sum(any(s.end_token - s.start_token > 1 for s in spans(labels)) for labels in corpus()["label"])
    assert tagger.training["segments"]["sentences_left_out"] == has_long > 0
    assert all(s.end_token - s.start_token == 1 for labels in tagger.tag_batch(corpus()["word"]) for s in spans(labels))
    short = [row for row in corpus()["label"] if all(s.end_token - s.start_token == 1 for s in spans(row))]
    sizes = len(short), sum(map(len, short))
    assert (tagger.training["sentences"], tagger.training["tokens"]) == sizes
    assert {event["tokens"] for event in tagger.training["history"]} == {sizes[1]}


def test_sentences_left_out_are_as_if_they_were_not_there() -> None:
    rows, weights = ["B-X I-X I-X O", "O B-X", "B-X I-X", "O B-X I-X I-X"], [1.0, 2.0, 0.5, 9.0]
    tagger = train_on(rows, "crf", segments=trellis.Segments(2), sample_weight=weights)
    alone = train_on(rows[1:3], "crf", sample_weight=weights[1:3])
    assert tagger.labels == ("B-X", "I-X", "O")
    for words in (["0"], ["0", "1", "2"]):
        for labels, score in alone.kbest(words, 10):
            assert tagger.score(words, labels) == pytest.approx(score, abs=1e-4)
    with pytest.raises(LearnerError, match="every sentence has a segment of more than 2 tokens"):
        train_on(rows[:1], segments=trellis.Segments(2))
    with pytest.raises(LearnerError, match="sample_weight is 0 for every sentence whose segments are short enough"):
        train_on(rows, segments=trellis.Segments(2), sample_weight=[1, 0, 0, 1])


def test_segments_that_cannot_fit_are_rejected_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [" ".join(["B-X", *["I-X"] * 799]), *[" ".join(["O"] * 1000)] * 8]
    monkeypatch.setattr("trellis.tasks.tagging.training.encoding.free_bytes", lambda: 120_000_000)
    # 16 * 8,800 * 800 in lists; the lattice of 1,000 tokens: 800 * 8 * 4 by labels, 28 per edge, 801 edges per token.
    why = r"of up to 800 tokens, in 8,800, need 0.2 GB, and 0.1 GB of memory are available; .* Segments\(longest=80\)$"
    with pytest.raises(LearnerError, match=why):
        train_on(rows)
    monkeypatch.setattr("trellis.tasks.tagging.training.encoding.free_bytes", lambda: None)  # not known
    monkeypatch.setattr("trellis.tasks.tagging.train.encode", lambda setup: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train_on(rows)


def test_long_corpora_are_tagged_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = train_on([" ".join(["B-X", *["I-X"] * 49, "O"])])
    sentences = [[str(t) for t in range(51)]] * 9
    tags = tagger.tag_batch(sentences)
    monkeypatch.setattr("trellis.tasks.tagging.decoding.PIECE_BYTES", 20 * 50 * 102)  # less than two sentences
    sizes = list[int]()
    extract = tagger._decoder.segments.lists  # type: ignore[union-attr]

    def counted(cls: Any, decoder: Any, some: Any, *rest: Any) -> Any:
        sizes.append(len(some))
        return extract(decoder, some, *rest)

    monkeypatch.setattr("trellis.tasks.tagging.segments.decoding.SegmentDecoder.lists", counted)
    assert tagger.tag_batch(sentences) == tags
    assert sum(sizes) == 9
    assert max(sizes) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"order": 2}, "segments require order 1, not 2"),
        ({"segments": 8}, "segments must be True, False or a trellis.Segments"),
        ({"labels": trellis.Labels(partial=True)}, "partial cannot be combined with segments"),
        ({"search": trellis.Search(tag_dictionary=True)}, "tag_dictionary cannot be combined with segments"),
        ({"search": trellis.Search(prune=True)}, "prune cannot be combined with segments"),
        ({"learner": trellis.Perceptron(vote=True)}, "Perceptron with these parameters does not support segments"),
        ({"learner": "hmm", "features": "hmm"}, "HMM with these parameters does not support segments"),
        ({"segments": False, "features": ["word[0]", "word[segment]"]}, "reads a segment; train with segments=True"),
        (
            {"features": ["word[0]", "label[any] & word[0]"]},
            "segments cannot be combined with templates of labels beyond the Markov order",
        ),
        ({"search": trellis.Search(beam=4)}, "beam cannot be combined with segments"),
        (
            {"features": ["word[segment]"]},
            "all templates read whole segments; add one that reads a token, such as word",
        ),
        ({"features": ["word[0]", "pos[segment]"]}, "reads a column that no template of tokens reads; those read"),
    ],
)
def test_what_does_not_go_with_segments_is_one_clear_line(changes: dict[str, Any], why: str) -> None:
    with pytest.raises((LearnerError, TemplateError), match=why):
        trellis.train(corpus(), **{"target": "label", "features": ["word[0]"], "segments": True, **changes})


def test_labels_that_mark_no_spans_have_no_segments() -> None:
    with pytest.raises(CorpusError, match="marks no spans"):
        trellis.train({"word": [["a", "b"]], "tag": [["X", "Y"]]}, target="tag", features=["word[0]"], segments=True)


def test_a_model_of_segments_is_no_warm_start() -> None:
    tagger = trellis.train(corpus(), target="label", features=["word[0]"], segments=True)
    with pytest.raises(LearnerError, match="cannot start from a semi-Markov model"):
        trellis.partial_fit(tagger, corpus())


def test_rules_of_segments_are_checked() -> None:
    rules = types_of("iob2")
    good = {
        "n_labels": 5,
        "longest": 3,
        "shapes": rules.shapes(),
        "columns": rules.columns(),
        "follows": rules.follows().astype(np.uint8),
    }
    _core.SegmentRules(**good)
    for changes in (
        {"longest": 0},
        {"longest": 2},
        {"shapes": np.full((1, 6), 7, np.int32)},
        {"shapes": np.zeros((1, 5), np.int32)},
        {"columns": np.zeros(4, np.int32)},
        {"columns": np.full(5, 9, np.int32)},
        {"follows": np.zeros((5, 5), np.uint8)},
    ):
        with pytest.raises(ValueError, match=r"."):
            _core.SegmentRules(**{**good, **changes})


def test_a_damaged_model_of_segments_is_rejected() -> None:
    from dataclasses import replace

    from trellis.tasks.tagging.model import Tagger

    tagger = trellis.train(corpus(), target="label", features=["word[0]"], segments=True)
    segments = tagger.model.segments
    assert segments is not None
    nodes = segments.vocabulary.nodes
    worse = [
        replace(segments, first=10_000),
        replace(segments, types=replace(segments.types, longest={"D": 0})),
        replace(segments, types=replace(segments.types, longest={"Q": 2})),
        replace(segments, types=replace(segments.types, longest={"D": 2_000})),
        replace(segments, types=replace(segments.types, labels=("X", "B-D", "B-N", "I-N"))),
        *(
            replace(segments, vocabulary=replace(segments.vocabulary, nodes=nodes._replace(**wrong)))
            for wrong in (
                {"parents": nodes.parents[::-1].copy()},
                {"symbols": nodes.symbols[:-1]},
                {"symbols": np.zeros_like(nodes.symbols)},
                {"attributes": nodes.attributes + np.int32(10_000)},
                {"attributes": nodes.attributes - np.int32(5)},
            )
        ),
    ]
    for one in worse:
        with pytest.raises(ModelError):
            Tagger(replace(tagger.model, segments=one))


def test_tokens_of_attributes_have_segments_too() -> None:
    tokens = [[{"w": "a"}, {"w": "b"}, {"w": "c"}], [{"w": "c"}, {"w": "a"}]]
    labels = [["B-N", "I-N", "O"], ["O", "B-N"]]
    tagger = trellis.train(
        {"attributes": tokens, "label": labels}, target="label", features="attributes", learner="crf", segments=True
    )
    assert tagger.tag_batch(tokens) == labels
    both = [list(zip("abc", tokens[0], strict=True)), list(zip("ca", tokens[1], strict=True))]
    corpus = {"word": [["a", "b", "c"], ["c", "a"]], "attributes": tokens, "label": labels}
    features = ["word[0]", "attributes[0]", "word[segment]"]
    tagger = trellis.train(corpus, target="label", features=features, segments=True)
    assert tagger.tag_batch(both) == labels


def test_the_command_line_trains_and_tags_segments(here: Path, call: Callable[..., Done]) -> None:
    assert call(f"train {TRAIN} --epochs 5 --segments --model seg.trellis --quiet").code == 0
    assert call("predict --model seg.trellis test.txt --output tagged.txt --quiet").code == 0
    assert (here / "tagged.txt").read_text().split()[3] == "B-NP"
    assert "F1" in call("evaluate --model seg.trellis test.txt").out
    shown = call("info -m seg.trellis").out
    assert "at most NP 2, VP 1 tokens" in shown
    assert "word[segment]" in shown
    assert call(f"train {TRAIN} --segments 1 --model seg.trellis --quiet").code == 2  # every sentence has a longer one
    with (here / "train.txt").open("a") as file:
        file.write("\nyes UH B-NP\n\n")
    done = call(f"train {TRAIN} --segments 1 --epochs 1 --model seg.trellis")
    assert "sentences with a segment of more than 1 tokens" in done.err
    assert "12 sentences skipped" in call("info -m seg.trellis").out
    refused(call(f"train {TRAIN} --segments 0 --model seg.trellis"), "--segments")


def put_attributes(tensors: dict[str, Any], number: int) -> None:
    """One number in place of all that are there."""
    attributes = tensors["segments.attributes"]
    attributes[attributes >= 0] = number


def cut_strings(tensors: dict[str, Any], n: int) -> None:
    """Only the first n strings of a view."""
    starts, data = tensors["segments.view0.starts"][: n + 1].copy(), tensors["segments.view0.data"]
    tensors.update({"segments.view0.starts": starts, "segments.view0.data": data[: starts[-1]]})


HOSTILE: dict[str, Callable[[dict[str, Any], dict[str, Any]], None]] = {
    "a parent that comes later": lambda tensors, _: tensors["segments.parents"].__setitem__(-1, 10**6),
    "a parent before the first": lambda tensors, _: tensors["segments.parents"].__setitem__(-1, -7),
    "an attribute without a row": lambda tensors, _: tensors["segments.attributes"].__setitem__(-1, 10**6),
    "an attribute below -1": lambda tensors, _: tensors["segments.attributes"].__setitem__(-1, -2),
    "attributes that lack": lambda tensors, _: tensors.update({"segments.attributes": np.zeros(2, np.int32)}),
    "of another type": lambda tensors, _: tensors.update({"segments.symbols": np.zeros(2, np.float32)}),
    "no tree": lambda tensors, _: tensors.pop("segments.parents"),
    "no strings": lambda tensors, _: tensors.pop("segments.view0.data"),
    "strings out of bounds": lambda tensors, _: tensors["segments.view0.starts"].__setitem__(-1, 10**9),
    "strings that are no UTF-8": lambda tensors, _: tensors["segments.view0.data"].__setitem__(0, 255),
    "rows before the first": lambda _, header: header["segments"].update(first=-3),
    "rows after the last": lambda _, header: header["segments"].update(first=10**6),
    "no scheme": lambda _, header: header["segments"].update(scheme="bio2"),
    "another scheme": lambda _, header: header["segments"].update(scheme="bmes"),
    "no length": lambda _, header: header["segments"].update(longest={"N": 0}),
    "too long": lambda _, header: header["segments"].update(longest={"N": 10**9}),
    "no such type": lambda _, header: header["segments"].update(longest={"Q": 2}),
    "lengths of nothing": lambda _, header: header["segments"].update(longest=[3]),
    "a template of tokens": lambda _, header: header["segments"].update(templates=["word[0]"]),
    "another column": lambda _, header: header["segments"].update(templates=["pos[segment]"]),
    "other templates": lambda _, header: header["segments"].update(templates=["word[segment]"] * 90),
    "the last number there is": lambda tensors, _: put_attributes(tensors, 2**31 - 1),
    "one attribute everywhere": lambda tensors, _: put_attributes(tensors, 1),
    "no attribute at all": lambda tensors, _: put_attributes(tensors, -1),
    "fewer strings": lambda tensors, _: cut_strings(tensors, 2),
    "symbols of no word": lambda tensors, _: tensors["segments.symbols"].__setitem__(-1, 10**6),
    "symbols below -2": lambda tensors, _: tensors["segments.symbols"].__setitem__(-1, -3),
    "looks that lack": lambda _, header: header["segments"]["templates"].__setitem__(0, "length & word[last]"),
    "labels that mark no span": lambda _, header: header["labels"].__setitem__(0, "NN"),
    "infinite weights": lambda tensors, _: tensors["rows.weights"].__setitem__(-1, np.inf),
    "weights that are not numbers": lambda tensors, _: tensors["rows.weights"].__setitem__(-1, np.nan),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_of_segments_are_rejected(name: str, tmp_path: Path) -> None:
    tagger = trellis.train(corpus(), target="label", features=["word[0]"], segments=True)
    write_hostile(tagger, tmp_path / "hostile", HOSTILE[name])
    with pytest.raises(ModelError, match="hostile"):
        trellis.load(tmp_path / "hostile")
