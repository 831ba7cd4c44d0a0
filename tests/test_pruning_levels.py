"""Pruned pairs and longer runs of labels: gold runs survive, and all answers are those over the paths that are left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_pruning import DEV, FEATURES, N_LABELS, TRAIN

import trellis
from trellis import _core
from trellis._support.arrays import LabelSets, Lists
from trellis._support.errors import ArgumentError, LearnerError
from trellis.engine.chain import Chains, Tables
from trellis.interfaces.cli.info import facts_of, facts_text
from trellis.tasks.tagging.training.pruning import learn_filter

LEVELS = {2: (0.95, 0.95), 3: (0.95, 0.97, 0.95)}


def trained(order: int, prune: Any = None, **more: Any) -> trellis.Tagger:
    given = {"target": "tag", "features": FEATURES, "order": order, **more}
    return trellis.train(TRAIN, search=trellis.Search(prune=LEVELS[order] if prune is None else prune), **given)


@cache
def usual(order: int) -> trellis.Tagger:
    return trained(order)


def lattice_paths(sets: LabelSets, begin: int, end: int) -> list[list[int]]:
    """All label sequences of a sentence that go from node to node."""
    assert sets.lattice is not None
    lattice = sets.lattice
    paths: dict[int, list[list[int]]] = {0: [[]]}  # by their last node
    for t in range(begin, end):
        first = int(lattice.starts[sets.set_of[t]])
        grown: dict[int, list[list[int]]] = {}
        for v in range(first, int(lattice.starts[sets.set_of[t] + 1])):
            arcs = lattice.before[lattice.in_starts[v] : lattice.in_starts[v + 1]].tolist()
            assert arcs == sorted(set(arcs))
            label = int(lattice.labels[v])
            grown[v - first] = [[*path, label] for u in arcs for path in paths.get(u, [])]
        paths = grown
    return [path for some in paths.values() for path in some]


def chains_of(tagger: trellis.Tagger, sentences: list[list[str]]) -> Chains:
    decoder = tagger._decoder
    chains = decoder.chains(decoder.encode(sentences), None, 1)
    emit, edge, tri, end, ngrams, own = chains.tables
    own = None if own is None else (own[0], own[1], own[2].astype(np.float64))
    tri, end = (None if table is None else table.astype(np.float64) for table in (tri, end))
    return chains._replace(tables=Tables(emit.astype(np.float64), edge.astype(np.float64), tri, end, ngrams, own))


@pytest.mark.parametrize("order", LEVELS)
def test_answers_are_those_over_the_paths_that_are_left(order: int) -> None:
    tagger = usual(order)
    for words in (sentence for sentence in DEV.sentences("word")[:25] if len(sentence) < 6):
        chains = chains_of(tagger, [words])
        assert chains.allowed is not None
        paths = lattice_paths(chains.allowed, 0, len(words))
        assert len({tuple(path) for path in paths}) == len(paths)
        scores = np.array([chains.path_scores(np.array(path, np.int32), 1)[0] for path in paths])
        ranked = sorted(zip(-scores, [path[::-1] for path in paths], strict=True))
        best = [path[::-1] for _, path in ranked]
        assert tagger.tag(words) == [tagger.labels[z] for z in best[0]]
        found = tagger.kbest(words, len(paths) + 1)
        assert sorted(path for path, _ in found) == sorted([tagger.labels[z] for z in path] for path in best)
        np.testing.assert_allclose([score for _, score in found], np.sort(scores)[::-1], rtol=1e-5, atol=1e-5)
        log_z = np.logaddexp.reduce(scores)
        assert chains.log_partition(1, 1.0)[0] == pytest.approx(log_z, rel=1e-9)
        _, node, edge = chains.pair_marginals(1, 1.0)
        expected, pairs = np.zeros_like(node), np.zeros_like(edge)
        for path, score in zip(paths, scores, strict=True):
            for t, (y, z) in enumerate(pairwise([N_LABELS, *path])):
                expected[t, z] += np.exp(score - log_z)
                pairs[t, y, z] += np.exp(score - log_z)
        np.testing.assert_allclose(node, expected, atol=1e-9)
        np.testing.assert_allclose(edge, pairs, atol=1e-9)


def with_margins(tagger: trellis.Tagger, *margins: float) -> trellis.Tagger:
    """The tagger with other margins of levels; those without one are left out."""
    label_filter = tagger.model.filter
    assert label_filter is not None
    levels = tuple(level._replace(margin=margin) for level, margin in zip(label_filter.levels, margins, strict=False))
    return trellis.Tagger(replace(tagger.model, filter=replace(label_filter, levels=levels)))


def test_a_wide_margin_prunes_no_run() -> None:
    tagger = usual(3)
    label_filter = tagger.model.filter
    assert label_filter is not None
    alone = with_margins(tagger)
    assert alone.model.filter is not None
    assert alone.model.filter.levels == ()
    wide = with_margins(tagger, 1e9, 1e9)
    assert wide.tag_column(DEV).codes.tolist() == alone.tag_column(DEV).codes.tolist()
    assert wide.kbest(DEV[0]["word"], 5) == alone.kbest(DEV[0]["word"], 5)
    pairs = with_margins(tagger, label_filter.levels[0].margin)
    assert len(pairs.model.filter.levels) == 1  # type: ignore[union-attr]
    narrow = [with_margins(tagger, *others) for others in ([0.0], [0.0, 0.0])]
    for one in narrow:  # the best path of a level is left always
        sets = chains_of(one, [DEV[0]["word"]]).allowed
        assert sets is not None
        assert [one.labels[z] for z in lattice_paths(sets, 0, len(DEV[0]["word"]))[0]] == one.tag(DEV[0]["word"])
    for wrong in (-2, [1, 2]):
        with pytest.raises(ArgumentError, match="margin"):
            tagger.pruned(wrong)  # type: ignore[arg-type]
    assert tagger.pruned(9).model.filter.levels == label_filter.levels  # type: ignore[union-attr]


def encoded(n: int) -> tuple[_core.Encoded, np.ndarray]:
    """One attribute per token that says the label in three of four cases; labels follow each other mostly by threes."""
    rng = np.random.default_rng(5)
    gold = np.zeros(n, np.int32)
    for t in range(2, n):
        gold[t] = (gold[t - 1] + gold[t - 2] + 1) % 12 if rng.random() < 0.8 else rng.integers(0, 12)
    ids = np.where(rng.random(n) < 0.75, gold, rng.integers(0, 12, n)).astype(np.int32)
    lists = Lists(np.arange(n + 1, dtype=np.int64), ids, np.empty(0, np.float32))
    return _core.Encoded(np.arange(0, n + 1, 8, dtype=np.int64), lists, None, None, 12, 0, 12), gold


def gold_runs(sets: LabelSets, starts: np.ndarray, gold: np.ndarray) -> Iterator[bool]:
    """Whether the gold path of each sentence is in its lattice."""
    assert sets.lattice is not None
    lattice = sets.lattice
    for begin, end in pairwise(starts.tolist()):
        nodes = {0}
        for t in range(begin, end):
            first, last = lattice.starts[sets.set_of[t]], lattice.starts[sets.set_of[t] + 1]
            nodes = {
                v - first
                for v in range(first, last)
                if lattice.labels[v] == gold[t]
                and nodes & set(lattice.before[lattice.in_starts[v] : lattice.in_starts[v + 1]].tolist())
            }
        yield bool(nodes)


@pytest.mark.parametrize("shares", [(0.97, 0.9), (0.97, 0.97), (0.97, 0.97, 0.95), (0.99, 0.99, 0.99, 0.98)])
def test_gold_runs_survive(shares: tuple[float, ...]) -> None:
    corpus, gold = encoded(4000)
    found, sets = learn_filter(corpus, gold, shares, 1)
    assert all(gold_runs(sets, corpus.starts, gold))  # while training none is pruned
    assert len(found.levels) == len(shares) - 1
    assert sets.lattice is not None
    for level, share in zip(found.levels, shares[1:], strict=True):
        assert share <= level.survival < share + 0.02
        assert level.margin > 0
    assert found.levels[-1].n_runs == len(sets.lattice.before) / len(gold)
    assert found.levels[0].n_runs < 0.8 * found.n_candidates**2
    tokens = [sets.labels[sets.starts[s] : sets.starts[s + 1]].tolist() for s in sets.set_of]
    assert all(z in some for z, some in zip(gold, tokens, strict=True))


def test_weights_of_runs_know_which_labels_follow() -> None:
    corpus, gold = encoded(6000)
    found, _ = learn_filter(corpus, gold, (0.99, 0.98, 0.98), 1)
    assert found.edge is not None
    assert found.ngrams is not None
    runs = found.ngrams.label_runs(range(len(found.ngrams.weights)), 12)
    triples = {run: w for run, w in zip(runs, found.ngrams.weights, strict=True) if len(run) == 3 and 12 not in run}
    follows = [w for (x, y, z), w in triples.items() if z == (x + y + 1) % 12]
    others = [w for (x, y, z), w in triples.items() if z != (x + y + 1) % 12]
    assert np.mean(follows) > np.mean(others) + 1


LEARNERS = [
    trellis.Perceptron(epochs=2),
    trellis.CRF(epochs=5),
    trellis.MaxEnt(epochs=3),
    trellis.MIRA(epochs=2, k=3),
    trellis.HMSVM(solver="frank-wolfe", epochs=2),
    trellis.HMM(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_learners_keep_to_what_is_left_with_the_same_bits(learner: trellis.Learner, tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.model" for n in (1, 3)]
    for n, file in zip((1, 3), files, strict=True):
        tagger = trained(2, learner=learner, n_threads=n)
        tagger.save(file)
    assert files[0].read_bytes() == files[1].read_bytes()
    again = trellis.load(files[0])
    assert again.model.filter is not None
    assert again.model.filter.header == tagger.model.filter.header  # type: ignore[union-attr]
    assert again.tag_column(DEV).codes.tolist() == tagger.tag_column(DEV).codes.tolist()
    assert tagger.evaluate(DEV).token_accuracy > 0.55
    words = DEV[1]["word"]
    sets = chains_of(tagger, [words]).allowed
    assert sets is not None
    assert [tagger.labels.index(z) for z in tagger.tag(words)] in lattice_paths(sets, 0, len(words))


def test_crf_sums_over_what_is_left() -> None:
    """The objective is log Z over the lattice less the gold path, which is in it."""
    events: list[trellis.Event] = []
    learner = trellis.CRF(epochs=6, c2=0, precision="double")
    pruned = trained(2, learner=learner, observer=events.append)
    assert all(a.objective >= b.objective > 0 for a, b in pairwise(events[3:]))  # type: ignore[operator]
    assert pruned.evaluate(TRAIN).token_accuracy > 0.85


def test_one_share_is_as_before(tmp_path: Path) -> None:
    for name, prune in (("a", 0.95), ("b", (0.95,))):
        trained(2, prune).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_a_caller_allows_overrules_the_levels_of_its_sentence_alone() -> None:
    tagger = usual(2)
    sentences = DEV.sentences("word")[:3]
    found = tagger.tag_batch(sentences, allowed=[None, {0: "L69"}, None])
    assert found[1][0] == "L69"
    assert [found[0], found[2]] == [tagger.tag(sentences[0]), tagger.tag(sentences[2])]


def test_rules_of_a_scheme_and_levels() -> None:
    """Labels that the rules allow are left, whatever the words say."""
    words = [["a", "b", "c", "a", "b"], ["c", "a", "b"], ["a", "b"], ["c", "c", "a", "b", "b"]] * 10
    tags = [["B-X" if w == "a" else "I-X" if w == "b" else "O" for w in sentence] for sentence in words]
    corpus = trellis.read({"word": words, "tag": tags})
    tagger = trellis.train(
        corpus,
        target="tag",
        features=["word[0]"],
        order=2,
        search=trellis.Search(prune=(0.9, 0.9)),
        labels=trellis.Labels(scheme="iob2"),
    )
    for sentence in (["b", "b", "c", "b"], ["c", "b"], ["b"]):
        found = tagger.tag(sentence)
        assert found[0] != "I-X"
        assert all(not (z == "I-X" and y == "O") for y, z in pairwise(found))
    later = trellis.train(
        corpus, target="tag", features=["word[0]"], order=2, search=trellis.Search(prune=(0.9, 0.9))
    ).constrained("iob2")
    assert later.tag(["c", "b"])[1] != "I-X"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"search": trellis.Search(prune=(0.9, 0.9)), "order": 1}, "order 1 allows at most 1"),
        ({"search": trellis.Search(prune=(0.9,) * 3), "order": 2}, "order 2 allows at most 2"),
        (
            {
                "search": trellis.Search(prune=(0.9, 0.9), beam=4),
                "order": 2,
            },
            "omit beam",
        ),
        (
            {"search": trellis.Search(prune=(0.9, 0.9)), "order": 2, "learner": trellis.SequenceBoost()},
            "supports only one value of prune, for single labels",
        ),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnerError, match=message):
        trellis.train(TRAIN[:20], target="tag", features=FEATURES, **given)


def test_labels_must_be_known_where_runs_are_pruned() -> None:
    some = trellis.read({"word": [["a", "b"], ["b", "a"]], "tag": [["A", ""], ["B", "A"]]})
    with pytest.raises(LearnerError, match="does not support partial labels"):
        trellis.train(
            some,
            target="tag",
            features=["word[0]"],
            order=2,
            search=trellis.Search(prune=(0.9, 0.9)),
            labels=trellis.Labels(partial=True),
        )


def test_info_and_command_line(here: Path, call: Any) -> None:
    facts = facts_of(usual(3), 0)
    shown = " ".join(facts_text(facts, 0).split())
    levels = usual(3).model.filter.levels  # type: ignore[union-attr]
    assert f"{levels[0].n_runs:.1f} candidate label 2-grams per token; recall {levels[0].survival:.2%}" in shown
    assert f"{levels[1].n_runs:.1f} candidate label 3-grams per token" in shown
    options = "train.txt --columns word,pos,chunk --order 2 --epochs 1 --prune"
    assert call(f"train {options} 0.9,0.95 -m m").code == 0
    assert len(trellis.load(here / "m").model.filter.levels) == 1  # type: ignore[union-attr]
    for wrong in ("0.9,x", "0.9,2", "0.9,0.9,0.9"):
        done = call(f"train {options} {wrong} -m n")
        assert done.code == 2
        assert "prune" in done.err
