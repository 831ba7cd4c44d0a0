"""A beam: wide enough it is exact, narrow it finds paths that exist, and the model says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import TRAIN, refused

import trellis

LEARNERS = [
    trellis.Perceptron(epochs=3),
    trellis.Perceptron(epochs=3, average=False, shuffle=True),
    trellis.PassiveAggressive(epochs=3),
    trellis.MIRA(epochs=3),
    trellis.MIRA(epochs=2, k=3),
    trellis.AROW(epochs=3),
]


def corpus_of(seed: int, n: int = 40) -> dict[str, list[list[str]]]:
    """Letters of words that follow one another in some order, seen through noise."""
    rng = np.random.default_rng(seed)
    words = ["banana", "bandana", "cab", "abba", "dab", "acacia"]
    letters = [list(words[i] + words[j]) for i, j in rng.integers(0, len(words), (n, 2))]
    seen = [[x if rng.random() < 0.6 else "abcdin"[rng.integers(6)] for x in row] for row in letters]
    return {"seen": seen, "letter": letters}


def train(learner: Any, order: int, beam: int | None, **more: Any) -> trellis.Tagger:
    return trellis.train(
        corpus_of(1),
        target="letter",
        features=["seen[0]"],
        order=order,
        learner=learner,
        search=trellis.Search(beam=beam),
        **more,
    )


@pytest.mark.parametrize("order", [3, 5])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_beam_as_wide_as_the_space_is_exact(learner: Any, order: int) -> None:
    wide, exact = train(learner, order, 10**6), train(learner, order, None)
    dev = corpus_of(2)["seen"]
    assert wide.model.weights.ngrams is not None
    assert exact.model.weights.ngrams is not None
    assert wide.model.weights.ngrams.weights.tobytes() == exact.model.weights.ngrams.weights.tobytes()
    assert wide.model.weights.rows.weights.tobytes() == exact.model.weights.rows.weights.tobytes()
    assert wide.tag_batch(dev) == exact.tag_batch(dev)
    assert wide.kbest_batch(dev, 4) == exact.kbest_batch(dev, 4)


def searched(tagger: trellis.Tagger, beam: int) -> trellis.Tagger:
    """The same weights with another beam; 0: exact."""
    return trellis.Tagger(replace(tagger.model, weights=replace(tagger.model.weights, beam=beam)))


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_narrow_beam_finds_paths_no_better_than_the_best(beam: int, tmp_path: Path) -> None:
    tagger = train(trellis.Perceptron(epochs=3), 4, beam)
    tagger.save(tmp_path / "m")
    again = trellis.load(tmp_path / "m")
    assert again.model.weights.beam == beam
    exact = searched(again, 0)
    worse = 0
    for sentence in corpus_of(2)["seen"]:
        labels = again.tag(sentence)
        assert labels == tagger.tag(sentence)
        best, found = (exact.score(sentence, path) for path in (exact.tag(sentence), labels))
        assert found <= best + 1e-5
        worse += found < best - 1e-5
    assert worse or beam > 1  # one state per token is too few


@pytest.mark.parametrize("seed", range(8))
def test_the_best_path_is_the_first_of_the_k_best(seed: int) -> None:
    """Also where labels are allowed; and the k best of a beam are paths with their scores, best first."""
    rng = np.random.default_rng(seed)
    features = [["seen[0]"], ["seen[0]", "label[-2..-1] & seen[0]"]][seed % 2]
    tagger = trellis.train(
        corpus_of(seed), target="letter", features=features, order=3 + seed % 3, search=trellis.Search(beam=3)
    )
    weights = tagger.model.weights
    assert weights.ngrams is not None
    noise = rng.normal(0, 2, len(weights.ngrams.weights)).astype(np.float32)
    noisy = replace(weights, ngrams=replace(weights.ngrams, weights=noise if seed % 3 else noise.round()))
    tagger = trellis.Tagger(replace(tagger.model, weights=noisy))
    exact, sentences = searched(tagger, 0), corpus_of(seed + 10)["seen"]
    for beam in (1, 2, 3, 10**6):
        narrow = searched(tagger, beam)
        tagged, k_best = narrow.tag_batch(sentences), narrow.kbest_batch(sentences, 4)
        assert tagged == [found[0][0] for found in k_best]
        for sentence, found in zip(sentences, k_best, strict=True):
            allowed = [["a", "b"] if rng.random() < 0.3 else None for _ in sentence]
            assert narrow.tag(sentence, allowed=allowed) == narrow.kbest(sentence, 2, allowed=allowed)[0][0]
            scores = [score for _, score in found]
            assert len({tuple(path) for path, _ in found}) == len(found)
            assert scores == pytest.approx([exact.score(sentence, path) for path, _ in found])
            assert scores == pytest.approx(sorted(scores, reverse=True))
        if beam == 10**6:
            assert k_best == exact.kbest_batch(sentences, 4)


def test_a_beam_and_rules() -> None:
    """Where the beam leaves no path, the sentence is searched exactly: no illegal sequence is ever given."""
    data = {
        "word": [["a", "b", "c", "d"], ["b", "a", "d"], ["c", "c", "a", "b"]] * 5,
        "label": [["B-X", "I-X", "O", "B-Y"], ["O", "B-Y", "I-Y"], ["B-X", "O", "O", "B-X"]] * 5,
    }
    tagger = trellis.train(
        data,
        target="label",
        features=["word[0]"],
        order=3,
        search=trellis.Search(beam=1),
        labels=trellis.Labels(scheme="iob2"),
    )
    rng = np.random.default_rng(3)
    for _ in range(100):
        labels = tagger.tag(["abcd"[i] for i in rng.integers(0, 4, 6)])
        assert all(not z.startswith("I-") or y[1:] == z[1:] for y, z in zip(["O", *labels], labels, strict=False))


def test_threads_streams_checkpoints_and_warm_starts(tmp_path: Path) -> None:
    learner = trellis.Perceptron(epochs=4, batch=4)
    one, two = (train(learner, 4, 3, n_threads=n).to_bytes() for n in (1, 2))
    assert one == two
    stopped = tmp_path / "c"

    def stop(event: trellis.Event) -> None:
        if event.epoch == 2:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        train(learner, 4, 3, checkpoint=stopped, observer=stop)
    assert train(learner, 4, 3, checkpoint=stopped).to_bytes() == one
    later = trellis.train(corpus_of(3), init=train(learner, 3, 7), learner=trellis.Perceptron(epochs=1))
    assert later.model.weights.beam == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"order": 3, "learner": trellis.CRF(), "search": trellis.Search(beam=4)},
            "beam requires an online learner without vote, but CRF needs",
        ),
        (
            {"order": 3, "learner": trellis.Perceptron(vote=True), "search": trellis.Search(beam=4)},
            "beam requires an online learner without vote, but",
        ),
        (
            {"order": 3, "learner": trellis.HMSVM(solver="frank-wolfe"), "search": trellis.Search(beam=4)},
            "beam requires an online learner without vote, but",
        ),
        ({"order": 1, "search": trellis.Search(beam=4)}, "beam has an effect only above order 2"),
        ({"order": 3, "search": trellis.Search(beam=0)}, "beam must be a whole number from 1"),
        ({"order": 3, "search": trellis.Search(beam="x")}, "beam must be a whole number from 1"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(given: Any, message: str) -> None:
    with pytest.raises(trellis.TrellisError, match=message):
        trellis.train(corpus_of(1), target="letter", features=["seen[0]"], **given)


def test_the_command_and_info(here: Path, call: Any) -> None:
    line = TRAIN.replace("--order 1", "--order 3")
    assert call(f"train {line} --beam 5 --epochs 2 --model m --quiet").code == 0
    assert "5 states per token, inexact search" in call("info -m m").out
    refused(call(f"train {TRAIN} --beam 5 --model n --quiet"), "beam has an effect only")
