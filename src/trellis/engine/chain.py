"""Chains of any order: the best path, the k best, log Z and marginals, for one sentence or a batch.

Everything is a function of `Potentials`, the scores of label choices; `trellis.learning.reference` says what they mean
and is the same theory in plain NumPy. Ties: the lowest label wins, decided from the last label backwards.

    >>> import numpy as np
    >>> p = Potentials(emit=np.array([[0.0, 1.0], [2.0, 0.0]]), edge=np.zeros((3, 2)))
    >>> path, score = best_path(p)
    >>> path.tolist(), score
    ([1, 0], 3.0)

The `*_batch` functions take the tokens of all sentences in one run, with `starts` [n_sentences + 1]:
sentence i is tokens ``starts[i]`` to ``starts[i + 1]``. The number of threads never changes a bit of the
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arguments import whole_number
from trellis._support.arrays import Bools, Doubles, Floats, Ints, LabelSets, Longs, starts_of

Scores = Doubles | Floats


# The labels of each token.
Allowed = Sequence[Sequence[int]] | LabelSets


@dataclass(frozen=True, slots=True)
class Potentials:
    """The scores of label choices for T tokens and L labels; NULL, the label before a sentence, has index L.

    Minus infinity forbids a choice. NaN and plus infinity are errors. All tables take the type of `emit`:
    float32 if it is float32, otherwise float64.
    """

    emit: Scores  # [T, L]
    edge: Scores  # [L+1, L], or [T, L+1, L]: another table at every token
    tri: Scores | None = None  # [L+1, L+1, L]; None makes the chain one of order 1
    end: Scores | None = None  # [L] of the last label

    def __post_init__(self) -> None:
        emit = np.asarray(self.emit)
        dtype = np.float32 if emit.dtype == np.float32 else np.float64
        for name in ("emit", "edge", "tri", "end"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.ascontiguousarray(value, dtype=dtype))
        if self.emit.ndim != 2 or self.emit.shape[1] == 0:
            raise ValueError(f"emit must have shape [tokens, labels], labels > 0; it has {self.emit.shape}")
        T, L = self.emit.shape
        _check_shape("edge", self.edge, (L + 1, L), (T, L + 1, L))
        if self.tri is not None:
            _check_shape("tri", self.tri, (L + 1, L + 1, L))
        if self.end is not None:
            _check_shape("end", self.end, (L,))

    @property
    def order(self) -> int:
        """How many labels back a score can see: 1 or 2."""
        return 1 if self.tri is None else 2


def _check_shape(name: str, table: Scores, *shapes: tuple[int, ...]) -> None:
    if table.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{name} must have shape {wanted}; it has {table.shape}")


class Tables(NamedTuple):
    """Potentials as the core takes them: arrays of one type; rows over labels may be padded to the core's stride."""

    emit: npt.NDArray[Any]  # [T, L or stride]
    edge: npt.NDArray[Any]  # [1 or T, L+1, L or stride]
    tri: npt.NDArray[Any] | None  # [L+1, L+1, L or stride]
    end: npt.NDArray[Any] | None  # [L or stride]
    ngrams: _core.Ngrams | None = None  # of three labels and more, in a chain of any order; tri is None then
    # What n-grams have at single tokens beside: starts [T + 1], numbers of n-grams, scores.
    token_ngrams: tuple[Longs, npt.NDArray[np.uint32], npt.NDArray[Any]] | None = None

    def replaced(self, where: Bools, others: Tables) -> Tables:
        """Those of other potentials at some tokens; they share tables."""
        at = where[:, None]
        emit = np.where(at, others.emit, self.emit)
        edge = np.where(at[..., None], others.edge, self.edge) if len(self.edge) > 1 else self.edge
        own = self.token_ngrams
        if own is not None and others.token_ngrams is not None:
            both, kept = (own, others.token_ngrams), (~where, where)
            sizes = [np.diff(given[0]) * these for given, these in zip(both, kept, strict=True)]
            rows = [np.repeat(these, np.diff(given[0])) for given, these in zip(both, kept, strict=True)]
            tokens = np.concatenate([np.repeat(np.arange(len(where)), size) for size in sizes])
            order = np.argsort(tokens, kind="stable")
            nodes, scores = (
                np.concatenate([given[i][row] for given, row in zip(both, rows, strict=True)])[order] for i in (1, 2)
            )
            own = (starts_of(sizes[0] + sizes[1]), nodes, scores)
        return Tables(emit, edge, self.tri, self.end, self.ngrams, own)

    @property
    def doubles(self) -> Tables:
        """The same in double precision."""
        tri, end = (None if table is None else table.astype(np.float64) for table in (self.tri, self.end))
        own = self.token_ngrams
        own = None if own is None else (own[0], own[1], own[2].astype(np.float64))
        return Tables(self.emit.astype(np.float64), self.edge.astype(np.float64), tri, end, self.ngrams, own)

    @property
    def potentials(self) -> Potentials:
        """The same in double precision, without padding and label n-grams."""
        n = self.edge.shape[1] - 1
        tables = (self.emit, self.edge, self.tri, self.end)
        emit, edge, tri, end = (None if table is None else table[..., :n].astype(np.float64) for table in tables)
        assert emit is not None
        assert edge is not None
        return Potentials(emit, edge[0] if len(edge) == 1 else edge, tri, end)


Given = Potentials | Tables


class Chains(NamedTuple):
    """The potentials of many sentences, with the labels that each token may have; None allows all."""

    tables: Tables
    starts: Longs  # [n_sentences + 1]
    allowed: LabelSets | None = None

    def best(self, n_threads: int) -> PathBatch:
        """The best path of every sentence."""
        return best_path_batch(*self, n_threads=n_threads)

    def kbest(self, k: int, n_threads: int) -> tuple[Ints, Doubles, Longs]:
        """The k best as arrays: see `kbest_paths`."""
        return kbest_paths(self, k, n_threads)

    def log_partition(self, n_threads: int, temperature: float) -> Doubles:
        """log Z of every sentence."""
        return log_partition_batch(*self, n_threads=n_threads, temperature=temperature)

    def marginals(self, n_threads: int, temperature: float) -> tuple[Doubles, Doubles]:
        """log Z of every sentence and the probability of every label: [n_tokens, L]."""
        return node_marginals_batch(*self, n_threads=n_threads, temperature=temperature)

    def pair_marginals(self, n_threads: int, temperature: float) -> MarginalsBatch:
        """The same with those of label pairs."""
        return marginals_batch(*self, n_threads=n_threads, temperature=temperature)

    def path_scores(self, paths: Ints, n_threads: int) -> Doubles:
        """The scores of given paths [n_tokens]."""
        return path_score_batch(self.tables, self.starts, paths, n_threads)

    @property
    def doubles(self) -> Chains:
        """The same in double precision."""
        return self._replace(tables=self.tables.doubles)


class ScoredPath(NamedTuple):
    """A path and its score."""

    path: Ints  # [T]
    score: float


class Marginals(NamedTuple):
    """What is known about all paths, each with probability exp(score) / Z."""

    log_z: float
    node: Doubles  # [T, L]        P(z at t)
    edge: Doubles  # [T, L+1, L]   P(y at t-1, z at t); at t = 0 only the row of NULL is not 0


class PathBatch(NamedTuple):
    """The best path of every sentence."""

    paths: Ints  # [n_tokens]
    scores: Doubles  # [n_sentences]


class MarginalsBatch(NamedTuple):
    """`Marginals` of every sentence."""

    log_z: Doubles  # [n_sentences]
    node: Doubles  # [n_tokens, L]
    edge: Doubles  # [n_tokens, L+1, L]


# ------------------------------------------------------------ one sentence


def best_path(potentials: Potentials, allowed: Allowed | None = None) -> ScoredPath:
    """The path of the highest score (Viterbi). `allowed` lists the labels that each token may have.

    A token costs time in proportion to L^2 at order 1 and L^3 at order 2, or to the product of the sizes of
    its own set and its predecessors': a tag dictionary makes large label sets cheap. If all paths are
    forbidden the score is minus infinity; the path keeps to the allowed labels even then.
    """
    paths, scores = best_path_batch(potentials, _whole(potentials), allowed)
    return ScoredPath(paths, float(scores[0]))


def kbest(potentials: Potentials, k: int, allowed: Allowed | None = None) -> list[ScoredPath]:
    """The k best paths, best first; equal scores by the reversed path, lowest first.

    There may be fewer: forbidden paths (score minus infinity) are left out, except that the first path is
    always the one that `best_path` gives.
    """
    return kbest_batch(potentials, _whole(potentials), k, allowed)[0]


def log_partition(potentials: Potentials, allowed: Allowed | None = None) -> float:
    """log Z, the log of the sum over all paths of exp(score); minus infinity if all are forbidden."""
    return float(log_partition_batch(potentials, _whole(potentials), allowed)[0])


def marginals(potentials: Potentials, allowed: Allowed | None = None) -> Marginals:
    """Probabilities of labels and of pairs of labels (forward-backward); all 0 if all paths are forbidden."""
    log_z, node, edge = marginals_batch(potentials, _whole(potentials), allowed)
    return Marginals(float(log_z[0]), node, edge)


def path_score(potentials: Potentials, path: npt.ArrayLike) -> float:
    """The score of a given path, added from left to right as all other functions add."""
    return float(path_score_batch(potentials, _whole(potentials), path)[0])


# ------------------------------------------------------------ batches


def best_path_batch(
    potentials: Potentials | Tables, starts: npt.ArrayLike, allowed: Allowed | None = None, n_threads: int = 1
) -> PathBatch:
    """`best_path` of every sentence."""
    return PathBatch(*_core.best_paths(*_arrays(potentials, starts), _label_sets(allowed), n_threads))


def kbest_batch(
    potentials: Potentials, starts: npt.ArrayLike, k: int, allowed: Allowed | None = None, n_threads: int = 1
) -> list[list[ScoredPath]]:
    """`kbest` of every sentence."""
    k = whole_number("k", k, 1)
    tables, ends = _arrays(potentials, starts)
    paths, scores, counts = kbest_paths(Chains(tables, ends, _label_sets(allowed)), k, n_threads)
    result = []
    for i, count in enumerate(counts):
        table = paths[k * ends[i] : k * ends[i + 1]].reshape(k, ends[i + 1] - ends[i])
        result.append([ScoredPath(table[r], float(scores[i, r])) for r in range(count)])
    return result


def kbest_paths(chains: Chains, k: int, n_threads: int = 1) -> tuple[Ints, Doubles, Longs]:
    """`kbest_batch` as arrays: sentence i's labels [k, T_i] from k * starts[i] on, scores [n_sentences, k], counts."""
    return _core.k_best_paths(*chains, k, n_threads)


def log_partition_batch(
    potentials: Given, starts: npt.ArrayLike, allowed: Allowed | None = None, n_threads: int = 1, temperature: float = 1
) -> Doubles:
    """`log_partition` of every sentence, [n_sentences]; all scores are divided by the temperature."""
    log_z: Doubles = _core.log_partitions(*_arrays(potentials, starts), _label_sets(allowed), temperature, n_threads)
    return log_z


def marginals_batch(
    potentials: Given, starts: npt.ArrayLike, allowed: Allowed | None = None, n_threads: int = 1, temperature: float = 1
) -> MarginalsBatch:
    """`marginals` of every sentence; all scores are divided by the temperature."""
    arrays = _arrays(potentials, starts)
    log_z, node, edge = _core.marginals(*arrays, _label_sets(allowed), temperature, n_threads, pairs=True)
    assert edge is not None
    return MarginalsBatch(log_z, node, edge)


def node_marginals_batch(
    potentials: Given, starts: npt.ArrayLike, allowed: Allowed | None = None, n_threads: int = 1, temperature: float = 1
) -> tuple[Doubles, Doubles]:
    """`marginals` of every sentence without those of pairs: log Z [n_sentences] and node [n_tokens, L]."""
    arrays = _arrays(potentials, starts)
    log_z, node, _ = _core.marginals(*arrays, _label_sets(allowed), temperature, n_threads, pairs=False)
    return log_z, node


def span_probabilities(
    chains: Chains,
    type_of: Ints,
    cut: npt.NDArray[np.uint8],
    spans: Longs,
    n_threads: int = 1,
    temperature: float = 1.0,
) -> Doubles:
    """The probability of each span, summed over the paths that have exactly that one: [n_spans].

    ``type_of`` [L] is the type of a label's span, -1 outside; ``cut`` [L, L] whether something ends or begins between
    two neighbours; ``spans`` [n_spans, 4] are rows of sentence, begin, end, type in the order of their sentences.
    """
    found: Doubles = _core.span_probabilities(*chains, temperature, type_of, cut, spans, n_threads)
    return found


def path_score_batch(
    potentials: Potentials | Tables, starts: npt.ArrayLike, paths: npt.ArrayLike, n_threads: int = 1
) -> Doubles:
    """`path_score` of every sentence's path, [n_sentences]; paths is [n_tokens]."""
    labels = np.ascontiguousarray(paths, dtype=np.int32)
    scores: Doubles = _core.path_scores(*_arrays(potentials, starts), labels, n_threads)
    return scores


# ------------------------------------------------------------ to the core


def _whole(potentials: Potentials) -> Longs:
    """All tokens as one sentence."""
    return np.array([0, len(potentials.emit)], dtype=np.int64)


def _arrays(potentials: Potentials | Tables, starts: npt.ArrayLike) -> tuple[Any, Longs]:
    """Potentials and starts as the core takes them."""
    if isinstance(potentials, Potentials):
        edge = potentials.edge if potentials.edge.ndim == 3 else potentials.edge[None]
        potentials = Tables(potentials.emit, edge, potentials.tri, potentials.end)
    return potentials, np.ascontiguousarray(starts, dtype=np.int64)


def _label_sets(allowed: Allowed | None) -> LabelSets | None:
    """The sets as native code takes them."""
    return allowed if allowed is None or isinstance(allowed, LabelSets) else LabelSets.of(allowed)
