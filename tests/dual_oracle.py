"""HM-SVMs with every label sequence written down: inner products by equation (15), the dual by a general solver."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import sparse

from experiments.reference import DenseWeights, Doubles, add_features_of
from trellis.corpus.corpus import Corpus
from trellis.tasks.tagging.model import Tagger


@dataclass(frozen=True)
class Enumerated:
    """Every sequence of every sentence but the gold ones, as Phi(gold) - Phi(y)."""

    sentence: npt.NDArray[np.int64]  # [n]
    paths: list[tuple[int, ...]]  # [n]
    hamming: Doubles  # [n]
    labels: Doubles  # [n, n_tokens * L]: +1 for gold labels, -1 for those of the path
    pairs: Doubles  # [n, ...] the same for label pairs and triples

    def gram(self, k: Doubles) -> Doubles:
        """<Phi - Phi, Phi - Phi> with k over all tokens: pairs in common, and k where labels are the same."""
        n_tokens = len(k)
        labels = self.labels.reshape(len(self.paths), n_tokens, -1)
        return self.pairs @ self.pairs.T + np.einsum("asz,st,btz->ab", labels, k, labels, optimize=True)


def enumerate_all(golds: list[list[int]], n_labels: int, order: int) -> Enumerated:
    """All that can be said of these sentences."""
    n_tokens = sum(map(len, golds))
    sentence, paths, hamming, labels, pairs = [], [], [], [], []
    first = 0
    for i, gold in enumerate(golds):
        for path in product(range(n_labels), repeat=len(gold)):
            if list(path) == gold:
                continue
            d = DenseWeights.zeros(n_tokens, n_labels, 2)  # every token is a feature of its own
            tokens = [[first + t] for t in range(len(gold))]
            add_features_of(tokens, gold, d, 1.0)
            add_features_of(tokens, path, d, -1.0)
            sentence.append(i)
            paths.append(path)
            hamming.append(float(sum(a != b for a, b in zip(path, gold, strict=True))))
            labels.append(d.emit.ravel())
            pairs.append(np.concatenate([d.edge.ravel() * (order >= 1), d.tri.ravel() * (order == 2)]))
        first += len(gold)
    return Enumerated(np.array(sentence), paths, np.array(hamming), np.array(labels), np.array(pairs))


def solve(gram: Doubles, costs: Doubles, sentence: npt.NDArray[np.int64], bounds: Doubles) -> tuple[Doubles, float]:
    """max costs·a - ½ a·G a with a >= 0 and sums of a by sentence <= bounds: (a, the greatest value)."""
    n, n_sentences = len(costs), len(bounds)
    sums = sparse.csc_matrix((np.ones(n), (sentence, np.arange(n))), shape=(n_sentences, n))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.triu(sparse.csc_matrix(gram), format="csc"),
        -costs,
        sparse.vstack([-sparse.identity(n), sums], format="csc"),
        np.concatenate([np.zeros(n), bounds]),
        [clarabel.NonnegativeConeT(n + n_sentences)],
        settings,
    )
    found = solver.solve()
    return np.array(found.x), -float(found.obj_val)


def observed(tagger: Tagger, corpus: Corpus) -> Doubles:
    """The attributes of all tokens of the corpus, dense, as the tagger sees them."""
    from trellis.engine.kernels import Observations

    lists: Any = tagger._decoder.attribute_lists(tagger._decoder.encode(corpus))
    return Observations(*lists, tagger.model.weights.rows.n_attributes).dense()
