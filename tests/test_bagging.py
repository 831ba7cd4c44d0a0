"""Bagging: the mean of members is one model, and what cannot be averaged is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis
from trellis._support.errors import LearnerError
from trellis.tasks.tagging.training.bagging import mean_of

rng = np.random.default_rng(4)
WORDS = [[f"w{int(i)}" for i in rng.integers(0, 30, 6)] for _ in range(60)]
CORPUS = {"word": WORDS, "y": [[f"L{(int(word[1:]) * 7 + t) % 3}" for t, word in enumerate(s)] for s in WORDS]}
FEATURES = ["word[0]", "word[-1]", "label[-1] & word[0]"]
NEW = [["w1", "w2", "never"], ["w7"], []]


def train(**more: Any) -> trellis.Tagger:
    return trellis.train(CORPUS, target="y", features=FEATURES, **more)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("learner", [trellis.CRF(c2=0.5), trellis.MIRA(shuffle=True, epochs=3), trellis.MaxEnt()])
def test_weights_are_the_mean_of_the_members_weights(
    learner: trellis.Learner, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[Any]()

    def kept(members: Any) -> Any:
        seen.extend(members)
        return mean_of(members)

    monkeypatch.setattr("trellis.tasks.tagging.training.bagging.mean_of", kept)
    tagger = train(learner=learner, bagging=3, order=order)
    assert len(seen) == 3
    for attribute_rows in ("rows", "edge_rows"):
        dense = [_dense(getattr(one, attribute_rows)) for one in (*seen, mean_of(seen))]
        width = max(table.shape[1] for table in dense)
        dense = [np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in dense]
        np.testing.assert_allclose(dense[3], np.mean(dense[:3], axis=0), atol=1e-6)
        assert any((a != b).any() for a, b in pairwise(dense[:3]))  # they differ
    np.testing.assert_allclose(mean_of(seen).edge, np.mean([one.edge for one in seen], axis=0), atol=1e-6)
    if order == 2:
        np.testing.assert_allclose(mean_of(seen).tri, np.mean([one.tri for one in seen], axis=0), atol=1e-6)
    assert [len(labels) for labels in tagger.tag_batch(NEW)] == [3, 1, 0]


def test_members_take_sentences_in_other_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no feature is omitted, members differ only in the order of sentences."""
    monkeypatch.setattr("trellis.tasks.tagging.training.bagging.LEFT_OUT", 0.0)
    for shuffle in (False, True):
        learner = trellis.MIRA(epochs=2, shuffle=shuffle)
        alone, bagged = (train(learner=learner, bagging=n).model.weights for n in (1, 3))
        same = [np.allclose(_dense(alone.rows), _dense(bagged.rows), atol=1e-6), np.allclose(alone.edge, bagged.edge)]
        assert same == [not shuffle] * 2


def _dense(rows: Any) -> Any:
    out = np.zeros((rows.n_attributes, int(rows.labels.max()) + 1))
    attribute = np.repeat(np.arange(rows.n_attributes), np.diff(rows.starts.astype(np.int64)))
    out[attribute, rows.labels] = rows.weights
    return out


def test_one_file_and_the_same_bits(tmp_path: Path) -> None:
    options = {"learner": trellis.MIRA(shuffle=True, epochs=3), "bagging": 4}
    tagger = train(**options, n_threads=1)
    assert train(**options, n_threads=2).to_bytes() == tagger.to_bytes()
    tagger.save(tmp_path / "m")
    assert trellis.load(tmp_path / "m").tag_batch(NEW) == tagger.tag_batch(NEW)
    assert len(tagger.training["history"]) == 4 * 3
    assert train(learner=options["learner"], bagging=1).to_bytes() == train(learner=options["learner"]).to_bytes()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"bagging": 0}, "bagging"),
        ({"bagging": 2, "learner": trellis.Perceptron(vote=True)}, "bagging cannot be combined with vote"),
        (
            {"bagging": 2, "learner": trellis.Perceptron(), "order": 3},
            "bagging cannot be combined with vote, dual learners, orders above 2",
        ),
        (
            {"bagging": 2, "learner": trellis.KernelPerceptron()},
            "bagging cannot be combined with vote, dual learners, orders above 2",
        ),
        ({"bagging": 2, "checkpoint": "c"}, "bagging cannot be combined with checkpoint"),
    ],
)
def test_what_has_no_mean_is_refused(
    more: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LearnerError, match=message):
        trellis.train(CORPUS, target="y", features=["word[0]"], **more)


def test_who_stops_stops_all() -> None:
    seen = list[Any]()

    def once(event: Any) -> None:
        seen.append(event)
        raise trellis.StopTrainingError

    tagger = train(learner=trellis.MIRA(epochs=3), bagging=3, observer=once)
    assert len(seen) == 1
    assert "bagging" not in tagger.training  # one training
    assert train(learner=trellis.MIRA(epochs=3), documents=True, observer=once).model.first is None
    assert len(seen) == 2


def test_from_the_command_line(here: Path, call: Any) -> None:
    assert call("train train.txt --columns word,pos,chunk --bagging 3 --epochs 2 --model m -q").code == 0
    assert "mean of 3 models" in " ".join(call("info -m m").out.split())
    assert call("train train.txt --columns word,pos,chunk --bagging 0 --model m -q").code == 2
