"""Label bias (Lafferty, McCallum & Pereira 2001): a model normalised label by label cannot take back a decision."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import trellis

SYMBOLS = "riob"
STATES = {"rib": "123", "rob": "453"}  # state 0 is before the first letter
NAMES = {"rib": ["B-rib", "I-rib", "E-rib"], "rob": ["B-rob", "I-rob", "E-rob"]}


def samples(n: int, seed: int, labels: dict[str, list[str]] | dict[str, str]) -> trellis.Corpus:
    """Words of the automaton; a letter is its own with probability 29/32, else one of the other three."""
    rng = np.random.default_rng(seed)
    words = [("rib", "rob")[z] for z in rng.integers(0, 2, n)]
    letters = [
        [c if rng.random() < 29 / 32 else str(rng.choice([s for s in SYMBOLS if s != c])) for c in word]
        for word in words
    ]
    return trellis.read({"letter": letters, "state": [list(labels[word]) for word in words]})


def trained(learner: trellis.Learner, corpus: trellis.Corpus, scheme: str | None = None) -> trellis.Tagger:
    return trellis.train(
        corpus, target="state", features=["letter[0]"], order=1, learner=learner, labels=trellis.Labels(scheme=scheme)
    )


MEMM = trellis.MaxEnt(c2=0.01, transitions="all")
CRF = trellis.CRF(c2=0.01, transitions="all")


@pytest.fixture(scope="module")
def memm() -> trellis.Tagger:
    return trained(MEMM, samples(2000, 0, STATES))


@pytest.fixture(scope="module")
def crf() -> trellis.Tagger:
    return trained(CRF, samples(2000, 0, STATES))


def test_the_memm_fails_where_others_do_not(memm: trellis.Tagger, crf: trellis.Tagger) -> None:
    test = samples(500, 1, STATES)
    # By the middle letter alone: it is the other word's with 1/32, neither's with 2/32; then two of three are wrong.
    least = (1 / 32 + 2 / 32 / 2) * 2 / 3
    errors = {name: 1 - one.evaluate(test).token_accuracy for name, one in (("memm", memm), ("crf", crf))}
    errors["perceptron"] = 1 - trained(trellis.Perceptron(), samples(2000, 0, STATES)).evaluate(test).token_accuracy
    assert errors["memm"] > 0.3  # always the same word: half of the words, two of three states
    assert errors["crf"] < least + 0.02
    assert errors["perceptron"] < 0.1
    assert len({tuple(labels) for labels in memm.tag_batch([list("rib"), list("rob")])}) == 1
    assert crf.tag_batch([list("rib"), list("rob")]) == [["1", "2", "3"], ["4", "5", "3"]]


@pytest.mark.parametrize("seen", SYMBOLS)
def test_one_successor_gets_all_the_mass_whatever_is_seen(memm: trellis.Tagger, crf: trellis.Tagger, seen: str) -> None:
    """P(2 | 1, x) is 1 in the MEMM. In the CRF the mass of 1 itself depends on what is seen after it."""
    one = memm.labels.index("1")
    m = memm.marginals(["r", seen, "b"], edges=True)
    assert m.edges(1)["1", "2"] / m[0]["1"] > 0.99
    # No letter after the first one changes what the first one's states have.
    before = memm.marginals(["r", "i", "b"]).node[0]
    np.testing.assert_allclose(m.node[0], before, atol=1e-6)
    assert 0.4 < m.node[0, one] < 0.6
    share = float(crf.marginals(["r", seen, "b"]).node[0, crf.labels.index("1")])
    assert {"i": share > 0.9, "o": share < 0.1}.get(seen, 0.3 < share < 0.7)


# ------------------------------------------------------------ where transitions are forbidden


@pytest.mark.parametrize("seen", SYMBOLS)
def test_forbidden_transitions_keep_all_mass_in_a_branch(seen: str) -> None:
    """Under a scheme no weight is needed to learn that: a branch has what the first letter gave it, exactly."""
    corpus = samples(300, 0, NAMES)
    tagger = trained(trellis.MaxEnt(c2=1.0), corpus, "iobes")
    rib = [z for z, label in enumerate(tagger.labels) if label.endswith("rib")]
    crf = trained(trellis.CRF(c2=1.0), corpus, "iobes")
    shares, other = (one.marginals(["r", seen, "b"]).node[:, rib].sum(1) for one in (tagger, crf))
    np.testing.assert_allclose(shares, shares[0], atol=1e-6)
    if seen in "io":
        assert (other[0] > 0.8) == (seen == "i")
        assert (other[0] < 0.2) == (seen == "o")


def test_the_normaliser_leaves_forbidden_labels_out() -> None:
    """Legal paths have all the probability, each the product of its decisions among labels that may follow."""
    chunks = {"word": [list("abca"), list("bca"), list("cab")], "tag": [["B-X", "I-X", "O", "B-Y"]]}
    chunks["tag"] += [["O", "B-X", "I-X"], ["B-Y", "I-Y", "O"]]
    for learner in (trellis.MaxEnt(c2=0.3), trellis.MaxEnt(c2=0.3, transitions="all", solver="gis", epochs=50)):
        for order in (1, 2):
            tagger = trellis.train(
                chunks,
                target="tag",
                features=["word[0]"],
                order=order,
                learner=learner,
                labels=trellis.Labels(scheme="iob2"),
            )
            for word in ("a", "ca", "bac"):
                total = 0.0
                for path in itertools.product(tagger.labels, repeat=len(word)):
                    legal = all(
                        b[0] != "I" or (a[:1] != "O" and a[2:] == b[2:]) for a, b in itertools.pairwise(("O", *path))
                    )
                    score = tagger.score(list(word), list(path))
                    assert (score > -math.inf) == legal
                    total += math.exp(score)
                assert total == pytest.approx(1.0, rel=1e-5)
            # What training minimised is what the tagger computes.
            loss = -sum(tagger.score(w, z) for w, z in zip(chunks["word"], chunks["tag"], strict=True))
            w = tagger.model.weights
            tables = [w.rows.weights, w.edge, *([] if w.tri is None else [w.tri])]
            squares = sum(float((t[np.isfinite(t)].astype(float) ** 2).sum()) for t in tables)
            assert tagger.training["history"][-1]["objective"] == pytest.approx(loss + 0.3 * squares, rel=1e-4)
