"""Templates about labels further back: the native beam against a plain one, and against enumeration."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beam_oracle import plain_beams, plain_score, plain_training
from command_line import refused
from equal_models import learnt
from test_model_file import write_hostile

import trellis

UPDATES = ("standard", "early", "max-violation")
FEATURES = {
    "offset": ["word[0]", "label[-3]"],
    "offset with a word": ["word[0]", "label[-2] & word[0]", "label[-1] & word[0]"],
    "any": ["word[0]", "label[any] & word[-1]"],
    "same": ["word[0]", "label[same]", "bias"],
    "all": ["word[0]", "label[any]", "label[-2]", "label[same] & word[0]", "label[-4] & word[1]"],
}
LABELS = ("X", "Y", "Z")


class Steps:
    """What a tagger with such templates scores, label by label; features by the names that a tagger gives them."""

    def __init__(self, templates: list[str], order: int, labels: tuple[str, ...] = LABELS) -> None:
        self.templates, self.order, self.labels = templates, order, labels

    def choices(self, x: Any, done: Any) -> Any:
        return self.labels if len(done) < len(x) else ()

    def features(self, x: Any, done: Any, choice: str) -> dict[str, float]:
        t, out = len(done), dict[str, float]()
        back = ["<start>", "<start>", *done]
        for n in range(1, self.order + 1):
            name = "label[-1]" if n == 1 else f"label[-{n}..-1]"
            out[f"{name}|{' '.join(back[-n:])} {choice}"] = 1.0
        for template in self.templates:
            seen, said = [""], list[str]()
            for part in template.split(" & "):
                what = re.fullmatch(r"(\w+)\[(.+)\]", part)
                if what is None:
                    said.append(part)
                elif what[1] == "label":
                    seen = [f"{y} " for y in self.seen(x, done, what[2])]
                    said.append(part)
                else:
                    at = t + int(what[2])
                    said.append(f"{part}={x[at] if 0 <= at < len(x) else '_B-1' if at < 0 else '_B+1'}")
            for y in seen:
                out[f"{' & '.join(said)}|{y}{choice}"] = 1.0
        return out

    def seen(self, x: Any, done: Any, kind: str) -> list[str]:
        t = len(done)
        if kind == "any":
            return sorted(set(done))
        if kind == "same":
            return ([z for word, z in zip(x, done, strict=False) if word == x[t]] or ["<start>"])[-1:]
        return [done[t + int(kind)] if t + int(kind) >= 0 else "<start>"]

    def signature(self, x: Any, done: Any) -> Any:
        text = " ".join(self.templates)
        back = max([1, self.order, *(int(n) for n in re.findall(r"label\[-(\d)\]", text))])
        last = dict(zip(x, done, strict=False))
        again = {word: z for word, z in last.items() if word in x[len(done) :]} if "same" in text else {}
        return done[-back:], frozenset(done) if "any" in text else None, tuple(sorted(again.items()))


def sentences(seed: int, n: int = 12, longest: int = 6) -> list[tuple[Any, Any]]:
    """The first label is always X, so that labels have the numbers of LABELS."""
    draw = random.Random(seed)
    xs = [tuple(draw.choice("abc") for _ in range(draw.randrange(1, longest))) for _ in range(n)]
    ys = [tuple(draw.choice(LABELS) for _ in x) for x in xs]
    return [(("a", "b", "c"), LABELS), *zip(xs, ys, strict=True)]


def corpus_of(examples: Any) -> dict[str, list[list[str]]]:
    return {"word": [list(x) for x, _ in examples], "label": [list(y) for _, y in examples]}


def train(examples: Any, features: list[str], learner: Any = None, **more: Any) -> trellis.Tagger:
    return trellis.train(corpus_of(examples), target="label", features=features, learner=learner, **more)


def weights_of(tagger: trellis.Tagger) -> dict[str, float]:
    return {f"{one.feature}|{one.label}": one.weight for one in tagger.top_features(100_000)}


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("width", [1, 2, 5, 1000])
@pytest.mark.parametrize("name", FEATURES)
def test_training_gives_the_weights_of_a_plain_beam(name: str, width: int, update: Any) -> None:
    for order in (1, 2) if width == 2 else (1,):
        problem, examples = Steps(FEATURES[name], order), sentences(width)
        moments = plain_training(problem, examples, width, update, 3)
        given: Any = {"features": FEATURES[name], "order": order, "search": trellis.Search(beam=width)}
        tagger = train(
            examples, learner=trellis.Perceptron(epochs=3, average=False, update=update, shuffle=False), **given
        )
        assert weights_of(tagger) == {f: w for f, w in moments[-1].items() if w}
        for x, _ in sentences(9):
            beam = plain_beams(problem, moments[-1], x, width)
            assert tagger.tag(list(x)) == list(beam[-1][0])
        averaged = weights_of(
            train(examples, learner=trellis.Perceptron(epochs=3, update=update, shuffle=False), **given)
        )
        for f in {f for weights in moments for f in weights}:
            mean = sum(weights.get(f, 0.0) for weights in moments) / len(moments)
            assert averaged.get(f, 0.0) == pytest.approx(mean, abs=1e-6)


def randomised(tagger: trellis.Tagger, seed: int) -> trellis.Tagger:
    """The same features with random weights; whole ones, which make ties, for odd seeds."""
    rng = np.random.default_rng(seed)

    def noise(like: Any) -> Any:
        drawn = rng.normal(0, 1, like.shape).astype(np.float32)
        return np.where(np.isinf(like) | (like == 0), like, drawn.round() if seed % 2 else drawn)

    weights = tagger.model.weights
    assert weights.edge_rows is not None
    changed = replace(
        weights,
        rows=replace(weights.rows, weights=noise(weights.rows.weights)),
        edge_rows=replace(weights.edge_rows, weights=noise(weights.edge_rows.weights)),
        edge=noise(weights.edge),
    )
    return trellis.Tagger(replace(tagger.model, weights=changed))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", FEATURES)
def test_a_beam_as_wide_as_the_space_is_exact(name: str, seed: int) -> None:
    order, examples = (1, 2, 3, 1)[seed], sentences(seed)
    tagger = randomised(train(examples, FEATURES[name], order=order, search=trellis.Search(beam=10**5)), seed)
    problem, weights = Steps(FEATURES[name], order), weights_of(tagger)
    for x, _ in examples:
        every = {y: plain_score(problem, weights, x, y) for y in itertools.product(LABELS, repeat=len(x))}
        ranked = sorted(every, key=lambda y: (-every[y], [LABELS.index(z) for z in y][::-1]))
        found = tagger.kbest(list(x), 4)
        assert [score for _, score in found] == pytest.approx([every[y] for y in ranked[:4]], abs=1e-5)
        assert all(every[tuple(y)] == pytest.approx(score, abs=1e-5) for y, score in found)
        assert tagger.tag(list(x)) == found[0][0]
        if order != 3:
            assert found[0][0] == list(ranked[0])
        assert tagger.score(list(x), list(ranked[-1])) == pytest.approx(every[ranked[-1]], abs=1e-5)
        explained = tagger.explain(list(x))
        assert explained.output == found[0][0]
        assert explained.score == pytest.approx(found[0][1], abs=1e-5)


@pytest.mark.parametrize("width", [1, 2, 3, 100])
def test_rules_and_allowed_labels_hold_in_every_beam(width: int) -> None:
    """No illegal label however narrow the beam; and with a wide one the best of those that are left."""
    labels = ("O", "B-P", "I-P", "B-Q", "I-Q")
    words = [["a", "b", "c", "a"], ["b", "a", "c"], ["c", "c", "a", "b"]] * 3
    gold = [["B-P", "I-P", "O", "B-Q"], ["O", "B-Q", "I-Q"], ["B-P", "O", "O", "B-P"]] * 3
    corpus = {"word": words, "label": gold}
    features = ["word[0]", "label[-2]", "label[any] & word[0]", "label[same]"]
    tagger = randomised(
        trellis.train(
            corpus,
            target="label",
            features=features,
            search=trellis.Search(beam=width),
            labels=trellis.Labels(scheme="iob2"),
        ),
        width,
    )
    draw = random.Random(width)
    problem, weights = Steps(features, 1, labels), weights_of(tagger)
    for _ in range(30):
        x = [draw.choice("abc") for _ in range(4)]
        allowed = [draw.sample(labels, 3) if draw.random() < 0.5 else None for _ in x]
        allowed[-1] = ["O", "B-P"]
        every = [
            y
            for y in itertools.product(labels, repeat=4)
            if all(z[0] != "I" or before[1:] == z[1:] for before, z in itertools.pairwise(["O", *y]))
        ]
        kept = [y for y in every if all(some is None or z in some for z, some in zip(y, allowed, strict=True))]
        for rule, legal in ((None, every), (allowed, kept)):
            if not legal:
                with pytest.raises(trellis.ConstraintError):
                    tagger.tag(x, allowed=rule)
                continue
            found = tuple(tagger.tag(x, allowed=rule))
            assert found in legal
            assert all(tuple(y) in legal for y, _ in tagger.kbest(x, 3, allowed=rule))
            if width == 100:
                best = max(plain_score(problem, weights, x, y) for y in legal)
                assert plain_score(problem, weights, x, found) == pytest.approx(best, abs=1e-5)


LEARNERS = [
    trellis.Perceptron(epochs=4),
    trellis.Perceptron(epochs=4, batch=4, update="early"),
    trellis.PassiveAggressive(epochs=4, update="standard"),
    trellis.MIRA(epochs=4, k=3, batch=4),
    trellis.AROW(epochs=4, shuffle=True),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_learners_threads_checkpoints_warm_starts_and_files(learner: Any, tmp_path: Path) -> None:
    """Labels that only the whole history explains: the first of a word is X, every later one Y."""
    examples = [(x, tuple("Y" if w in x[:t] else "X" for t, w in enumerate(x))) for x, _ in sentences(3, 40)]
    given: Any = {"features": ["word[0]", "label[same]", "label[any] & word[0]"], "search": trellis.Search(beam=4)}
    taggers = [train(examples, learner=learner, n_threads=n, **given) for n in (1, 2)]
    tagger = taggers[0]
    assert tagger.to_bytes() == taggers[1].to_bytes()
    xs = [list(x) for x, _ in examples]
    assert tagger.tag_batch(xs) == [list(y) for _, y in examples]
    assert tagger.tag_batch(xs, n_threads=2) == [tagger.tag(x) for x in xs]
    assert [best[0][0] for best in tagger.kbest_batch(xs, 3)] == tagger.tag_batch(xs)

    def stop(event: trellis.Event) -> None:
        if event.epoch == 2:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        train(examples, learner=learner, checkpoint=tmp_path / "c", observer=stop, **given)
    assert train(examples, learner=learner, checkpoint=tmp_path / "c", **given).to_bytes() == tagger.to_bytes()

    tagger.save(tmp_path / "m")
    again = trellis.load(tmp_path / "m")
    assert again.model.weights.beam == 4
    assert again.tag_batch(xs) == tagger.tag_batch(xs)
    corpus = corpus_of([*examples, (("a", "d"), ("X", "W"))])
    later = trellis.train(corpus, init=again, learner=replace(learner, epochs=1))
    assert later.model.weights.beam == 4
    assert later.tag(["a", "d"])[0] == "X"


def test_a_dictionary_parts_and_pruning_combine() -> None:
    examples = sentences(4, 40)
    templates = ["word[0]", "label[-2] & word[0]", "label[any]"]
    for search, features in (
        (trellis.Search(beam=8, tag_dictionary=1), templates),
        (trellis.Search(beam=8, prune=True), templates),
        (trellis.Search(beam=8), trellis.Features(templates, min_count=2)),
    ):
        tagger = train(examples, features, search=search)
        assert tagger.tag(["a", "b", "zz"]) == tagger.kbest(["a", "b", "zz"], 2)[0][0]
    xs, ys = corpus_of(examples).values()
    parts = trellis.train(
        {"word": xs, "label": [[f"{z}|n" for z in y] for y in ys]},
        target="label",
        features=["word[0]", "label[-2]"],
        search=trellis.Search(beam=8),
        labels=trellis.Labels(parts="|"),
    )
    assert len(parts.tag(["a", "b"])) == 2


GIVEN: dict[str, Any] = {"features": ["word[0]", "label[-3]"], "search": trellis.Search(beam=4)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda e: train(e, ["word[0]", "label[-3]"]),
            "'label\\[-3\\]' reads labels beyond the Markov order, .* beam=8",
        ),
        (
            lambda e: train(e, learner=trellis.CRF(), **GIVEN),
            "beam requires an online learner without vote, but CRF needs",
        ),
        (
            lambda e: train(e, learner=trellis.Perceptron(vote=True), **GIVEN),
            "beam requires an online learner without vote, but",
        ),
        (
            lambda e: train([(("a", "b"), ("X|Y", "X"))], labels=trellis.Labels(partial=True), **GIVEN),
            "cannot be combined with partial labels",
        ),
        (lambda e: train(e, ["word[0]", "label[-3] & label[-1]"]), "write label\\[-3..-1\\]"),
        (
            lambda e: train(e, ["word[0]", "label[any] & label[-1]"]),
            "a label further back cannot be combined with other labels: write two templates",
        ),
        (
            lambda e: train(e, ["word[0]", "label[any] & label[same]"]),
            "a label further back cannot be combined with other labels: write two templates",
        ),
        (lambda e: train(e, ["word[0]", "label[-3..-2]"]), "write label\\[-3..-1\\]"),
        (lambda e: train(e, ["word[0]", "label[some]"]), "a number, any or same after label\\[, not 'some'"),
        (lambda e: train(e, ["word[0]", "lower(label[any])"]), "preceding labels cannot be arguments of a function"),
        (lambda e: train(e, labels=trellis.Labels(partial=True), **GIVEN), "cannot be combined with partial labels"),
        (
            lambda e: trellis.train(corpus_of(e), learner=trellis.CRF(), init=train(e, **GIVEN)),
            "the initial model uses beam search, but CRF needs exact search",
        ),
        (lambda e: train(e, ["word[0]"], trellis.Perceptron(update="early")), "update has an effect only with a beam"),
        (lambda e: train(e, **GIVEN).marginals(["a"]), "marginals and other sums .* need exact search"),
        (lambda e: train(e, **GIVEN).tag(["a"], decode="posterior"), "marginals and other sums .* need exact search"),
        (lambda e: train(e, **GIVEN).calibrated(corpus_of(e)), "marginals and other sums .* need exact search"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(call: Any, message: str) -> None:
    with pytest.raises(trellis.TrellisError, match=message) as caught:
        call(sentences(1))
    assert "\n" not in str(caught.value)


def test_hostile_files_are_rejected(tmp_path: Path) -> None:
    tagger = train(
        sentences(1),
        features=["word[0]", "label[-1] & word[0]", "label[-3]", "label[same]"],
        search=trellis.Search(beam=4),
    )
    n_pairs = 4 * 8

    def damaged(name: str, at: int, value: float) -> Any:
        return lambda tensors, header: tensors[name].__setitem__(at, value)

    changes: list[Any] = [
        lambda tensors, header: tensors.pop("beam"),
        damaged("beam", 0, -1),
        damaged("beam", 0, 2**31),
        damaged("plan.templates", slice(None), 0),
        lambda tensors, header: tensors["tables.ids"].sort(),
        damaged("edge_rows.labels", 0, n_pairs),
        damaged("edge_rows.weights", -1, np.nan),
        lambda tensors, header: header["templates"].reverse(),
        lambda tensors, header: header["templates"].__setitem__(0, "label[any]"),
        lambda tensors, header: tensors.update(beam=np.array([4.0])),
    ]
    write_hostile(tagger, tmp_path / "m", lambda tensors, header: None)
    assert trellis.load(tmp_path / "m").tag(["a", "b", "a"]) == tagger.tag(["a", "b", "a"])
    for change in changes:
        write_hostile(tagger, tmp_path / "m", change)
        with pytest.raises(trellis.ModelError):
            trellis.load(tmp_path / "m")


def test_templates_that_a_cutoff_leaves_nothing_of() -> None:
    examples = sentences(1)
    tagger = train(
        examples,
        search=trellis.Search(beam=4),
        features=trellis.Features(["word[0]", "label[-4] & word[0] & word[-1] & word[-2]"], min_count=5),
    )
    assert tagger.model.weights.edge_rows is None
    assert len(tagger.tag(["a", "b", "a"])) == 3


def test_the_command(here: Path, call: Any) -> None:
    Path("t").write_text("word[0]\nlabel[-2] & word[0]\nlabel[same]\n")
    rows = ["\n".join(f"{w}\t{z}" for w, z in zip(x, y, strict=True)) for x, y in sentences(2)]
    Path("c.tsv").write_text("\n\n".join(rows) + "\n")
    line = "train c.tsv --target label --columns word,label --features t --epochs 2 --quiet"
    assert call(f"{line} --beam 4 --set update=early --model m").code == 0
    assert "4 states per token, inexact search; early updates" in call("info -m m").out
    assert train(sentences(2), **GIVEN).training["update"] == "max-violation"
    assert call("predict -m m c.tsv").code == 0
    refused(call(f"{line} --model n"), "set the beam width, such as --beam 8")
    assert call(f"{line} --beam 4 --set update=early --stream --model n").code == 0
    assert learnt(trellis.load("n")) == learnt(trellis.load("m"))
