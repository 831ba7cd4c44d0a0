"""Marginals and the best label at each position, against the enumeration of all label sequences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from random_models import MODELS, WORDS, all_paths, corpus_of, random_tagger, sentences

import trellis
import trellis.tasks.tagging.decoding
from trellis.engine.weights import START
from trellis.tasks.tagging.model import Tagger


@pytest.fixture(scope="module", params=MODELS)
def tagger(request: pytest.FixtureRequest) -> Tagger:
    return random_tagger(1, **MODELS[request.param])


def test_marginals(tagger: Tagger) -> None:
    for sentence in sentences():
        found, paths = tagger.marginals(sentence, edges=True), all_paths(tagger, sentence)
        assert len(found) == len(sentence) == len(list(found))
        assert (
            found.probability_kind
            == tagger.probability_kind
            == ("confidence" if tagger.model.family == "scores" else "probability")
        )
        node = np.zeros((len(sentence), len(tagger.labels)))
        pairs: list[dict[tuple[str, str], float]] = [{} for _ in sentence]
        for path, p in paths.items():
            for t, (y, z) in enumerate(itertools.pairwise((START, *path))):
                node[t, tagger.labels.index(z)] += p
                pairs[t][y, z] = pairs[t].get((y, z), 0.0) + p
        np.testing.assert_allclose(found.node, node, rtol=1e-6, atol=1e-9)
        for t in range(len(sentence)):
            assert found[t] == pytest.approx(dict(zip(tagger.labels, node[t], strict=True)), rel=1e-6, abs=1e-9)
            assert found.edges(t) == pytest.approx(pairs[t], rel=1e-6, abs=1e-9)


def test_best_label_at_each_position(tagger: Tagger) -> None:
    for sentence in sentences():
        paths = all_paths(tagger, sentence)
        expected = []
        for t in range(len(sentence)):
            share = {z: sum(p for path, p in paths.items() if path[t] == z) for z in tagger.labels}
            expected.append(max(tagger.labels, key=share.__getitem__))
        assert tagger.tag(sentence, decode="posterior") == expected
        assert tuple(tagger.tag(sentence, decode="viterbi")) == max(paths, key=paths.__getitem__)


def test_they_can_differ() -> None:
    """The best labels one by one need not be the best path."""
    different = 0
    for seed in range(20):
        tagger = random_tagger(seed, spread=1.5)
        for sentence in sentences():
            different += tagger.tag(sentence) != tagger.tag(sentence, decode="posterior")
    assert different > 0


def test_batches(tagger: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [*sentences(4), [], ["b"] * 9]
    corpus = trellis.read({"word": many})
    alone = [tagger.marginals(sentence, edges=True) for sentence in many]
    by_label = [tagger.tag(sentence, decode="posterior") for sentence in many]
    for piece_bytes in (1, 4000, trellis.tasks.tagging.decoding.PIECE_BYTES):
        monkeypatch.setattr(trellis.tasks.tagging.decoding, "PIECE_BYTES", piece_bytes)
        for given, n_threads in itertools.product((many, corpus), (1, 2)):
            found = tagger.marginals_batch(given, edges=True, n_threads=n_threads)
            for one, other in zip(found, alone, strict=True):
                assert one.node.tobytes() == other.node.tobytes()
                assert one.edge is not None
                assert other.edge is not None
                assert one.edge.tobytes() == other.edge.tobytes()
            nodes = tagger.marginals_batch(given, n_threads=n_threads)
            assert all(one.edge is None for one in nodes)
            assert [one.node.tolist() for one in nodes] == [one.node.tolist() for one in alone]
            assert tagger.tag_batch(given, decode="posterior", n_threads=n_threads) == by_label
        flat = [label for labels in by_label for label in labels]
        assert tagger.tag_column(corpus, decode="posterior").tolist() == flat
    assert tagger.marginals_batch([]) == []
    assert tagger.tag_batch([], decode="posterior") == []
    assert tagger.tag_batch(iter(many), decode="posterior") == by_label


def test_marginals_are_the_same_after_a_file(tagger: Tagger, tmp_path) -> None:
    tagger.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    assert again.probability_kind == tagger.probability_kind
    assert again.temperature == tagger.temperature
    assert again.marginals(["a", "b"]).node.tolist() == tagger.marginals(["a", "b"]).node.tolist()


def test_a_temperature_flattens() -> None:
    for family in ("scores", "log-linear"):
        cold, warm, hot = (random_tagger(3, family=family, temperature=t) for t in (1e-3, 1.0, 1e6))
        sentence = list(WORDS)
        best = [tuple(one.tag(sentence)) for one in (cold, warm, hot)]
        assert len(set(best)) == 1
        assert cold.marginals(sentence).node.max(axis=1) == pytest.approx(1.0)
        assert hot.marginals(sentence).node == pytest.approx(1 / 3, abs=1e-4)


def test_as_data() -> None:
    posterior = random_tagger(0).marginals(["a"])
    data = posterior.to_dict()
    assert data["probability_kind"] == "probability"
    assert sum(data["tokens"][0].values()) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="edges=True"):
        posterior.edges(0)
    with pytest.raises(IndexError):
        posterior[1]


def test_evaluation_by_label() -> None:
    tagger, corpus = random_tagger(5, spread=2.0), corpus_of(("P", "Q", "R"), 3, 40)
    guessed = tagger.tag_column(corpus, decode="posterior").tolist()
    right = np.mean([a == b for a, b in zip(guessed, corpus.column("label").tolist(), strict=True)])
    assert tagger.evaluate(corpus, decode="posterior").token_accuracy == pytest.approx(right)


def test_unknown_ways() -> None:
    tagger = random_tagger(0)
    for question in (
        lambda: tagger.tag(["a"], decode="best"),
        lambda: tagger.tag_column(corpus_of(("P", "Q", "R")), decode="x"),
    ):
        with pytest.raises(ValueError, match="decode must be 'viterbi' or 'posterior'"):
            question()
