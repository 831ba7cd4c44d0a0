"""Free-form attributes about label pairs: as templates about them, and with values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import trellis

LEARNERS: list[trellis.Learner] = [
    trellis.CRF(epochs=20, c2=0.1),
    trellis.CRF(epochs=20, c1=0.1, c2=0.1),
    trellis.CRF(epochs=5, solver="adagrad"),
    trellis.Perceptron(epochs=3),
    trellis.Perceptron(epochs=3, average=False),
    trellis.MIRA(epochs=3),
    trellis.AROW(epochs=3),
    trellis.MaxEnt(epochs=15),
    trellis.ExponentialLoss(epochs=10),
    trellis.HMSVM(epochs=3, solver="frank-wolfe"),
]
chance = np.random.default_rng(3)
WORDS = [["abc"[i] for i in chance.integers(0, 3, chance.integers(1, 7))] for _ in range(40)]
LABELS = [["XYZ"[i] for i in chance.integers(0, 3, len(words))] for words in WORDS]
MARKED = [[{"w": word, "label[-1] & w": word} for word in words] for words in WORDS]
PLAIN = [[{"w": word} for word in words] for words in WORDS]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("order", [1, 2])
def test_the_same_weights_as_by_a_template(learner: trellis.Learner, order: int) -> None:
    """Named by a prefix, or all of them by a template: to the last bit what a template of words gives."""
    how: dict[str, Any] = {"target": "y", "learner": learner, "order": order}
    words = trellis.train({"w": WORDS, "y": LABELS}, features=["w[0]", "label[-1] & w[0]"], **how)
    marked = trellis.train({"attributes": MARKED, "y": LABELS}, **how)
    both = ["attributes[0]", "label[-1] & attributes[0]"]
    plain = trellis.train({"attributes": PLAIN, "y": LABELS}, features=both, **how)

    def weights(tagger: trellis.Tagger, before: str) -> dict[tuple[str, str], float]:
        return {(w.feature.replace(before, "="), w.label): w.weight for w in tagger.top_features(10_000) if w.weight}

    expected = weights(words, "w[0]=")
    assert any(feature.startswith("label[-1] & ") for feature, _ in expected)
    assert weights(marked, "w:") == weights(plain, "w:") == expected
    for tagger, sentences in ((marked, MARKED), (plain, PLAIN)):
        assert tagger.tag_batch(sentences) == words.tag_batch(WORDS)
        again = trellis.Tagger.from_bytes(tagger.to_bytes())
        assert again.tag_batch(trellis.read({"attributes": sentences})) == words.tag_batch(WORDS)
        assert [tagger.tag(sentence) for sentence in sentences] == words.tag_batch(WORDS)


def valued(rng: np.random.Generator) -> list[list[dict[str, float]]]:
    """Attributes of both kinds with values."""
    return [
        [{f"a{word}": float(rng.normal()), f"label[-1] & b{word}": float(rng.normal())} for word in words]
        for words in WORDS
    ]


@pytest.mark.parametrize("learner", [x for x in LEARNERS if not isinstance(x, trellis.MaxEnt)], ids=repr)
def test_values_multiply_weights(learner: trellis.Learner) -> None:
    """The score of a path is the sum over its tokens of value times weight."""
    given = valued(np.random.default_rng(4))
    tagger = trellis.train({"attributes": given, "y": LABELS}, target="y", learner=learner)
    weight = {(w.feature, w.label): w.weight for w in tagger.top_features(10_000)}
    for tokens, labels in zip(given[:10], LABELS, strict=False):
        before = ["<start>", *labels]
        expected = sum(
            value * weight.get((name, f"{before[t]} {labels[t]}" if name.startswith("label") else labels[t]), 0.0)
            for t, token in enumerate(tokens)
            for name, value in token.items()
        ) + sum(weight.get(("label[-1]", f"{a} {b}"), 0.0) for a, b in zip(before, labels, strict=False))
        assert tagger.score(tokens, labels) == pytest.approx(expected, rel=1e-4, abs=1e-5)
        explained = tagger.explain(tokens)
        assert sum(term.weight for term in explained.terms) == pytest.approx(explained.score, rel=1e-4, abs=1e-4)


def test_the_gradient_sees_values() -> None:
    """A CRF fits better with values that tell the pair than with their signs lost."""
    rng = np.random.default_rng(5)
    labels = [["XY"[i] for i in rng.integers(0, 2, 6)] for _ in range(50)]
    same = [[1.0 if t and a == row[t - 1] else -1.0 for t, a in enumerate(row)] for row in labels]
    given = [[{"label[-1] & same": value} for value in row] for row in same]
    tagger = trellis.train({"attributes": given, "y": labels}, target="y", learner=trellis.CRF(epochs=50, c2=0.01))
    assert [[a == b for a, b in pairwise(z)] for z in tagger.tag_batch(given)] == [
        [value > 0 for value in row[1:]] for row in same
    ]


def test_warm_start_keeps_them() -> None:
    first = trellis.train(
        {"attributes": MARKED, "y": LABELS}, target="y", learner=trellis.CRF(epochs=200, tolerance=1e-9)
    )
    more = [*MARKED, [{"label[-1] & w": "new", "q": 1.0}]]
    second = trellis.train({"attributes": more, "y": [*LABELS, ["X"]]}, learner=trellis.CRF(epochs=1), init=first)
    assert {w.feature for w in first.top_features(1000)} < {w.feature for w in second.top_features(1000)}
    assert "label[-1] & w:new" in {w.feature for w in second.top_features(1000)}


def test_what_has_no_place_for_them() -> None:
    corpus = {"attributes": MARKED, "y": LABELS}
    with pytest.raises(trellis.LearnerError, match="order 1"):
        trellis.train(corpus, target="y", order=0)
    with pytest.raises(trellis.LearnerError, match="HMM"):
        trellis.train(corpus, target="y", learner=trellis.HMM())
    with pytest.raises(trellis.TemplateError, match="alone or with label"):
        trellis.train(corpus, target="y", features=["attributes[0]", "label[-2..-1] & attributes[0]"])
    with pytest.raises(trellis.ModelError, match="label pairs"):
        trellis.train(corpus, target="y").save("m.crfsuite")


@pytest.mark.parametrize("order", [1, 3])
def test_beside_templates_of_longer_runs(order: int) -> None:
    corpus = {"w": WORDS, "attributes": MARKED, "y": LABELS}
    features = ["w[0]", "attributes[0]", *(["label[-2..-1] & w[0]"] if order == 3 else ["label[-1] & w[-1]"])]
    tagger = trellis.train(corpus, target="y", features=features, order=order, learner=trellis.Perceptron(epochs=2))
    rows = [list(zip(words, bags, strict=True)) for words, bags in zip(WORDS, MARKED, strict=True)]
    found = tagger.tag_batch(rows)
    for row, labels in zip(rows[:10], found, strict=False):
        assert tagger.kbest(row, 1)[0][0] == labels
        assert tagger.score(row, labels) == pytest.approx(tagger.kbest(row, 1)[0][1], abs=1e-4)
        explained = tagger.explain(row)
        assert sum(t.weight for t in explained.terms) == pytest.approx(explained.score, abs=1e-4)
