"""Chains of any order: the best path, the k best, log Z and marginals of many sentences at a time.

Everything is a function of `Potentials`, the scores of label choices; `experiments.reference` says what they mean
and is the same theory in plain NumPy. Ties: the lowest label wins, decided from the last label backwards.

    >>> import numpy as np
    >>> p = Potentials(emit=np.array([[0.0, 1.0], [2.0, 0.0]]), edge=np.zeros((3, 2)))
    >>> paths, scores = Chains.of(p).best()
    >>> paths.tolist(), scores.tolist()
    ([1, 0], [3.0])

The tokens of all sentences are one run, with `starts` [n_sentences + 1]: sentence i is tokens ``starts[i]`` to
``starts[i + 1]``. The number of threads never changes a bit of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Bools, Bytes, Doubles, Floats, Ints, LabelSets, Lists, Longs, starts_of
from trellis.engine.weights import LANES, padded

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
            raise ValueError(f"emit must have shape [tokens, labels] with labels > 0, not {self.emit.shape}")
        T, L = self.emit.shape
        _check_shape("edge", self.edge, (L + 1, L), (T, L + 1, L))
        if self.tri is not None:
            _check_shape("tri", self.tri, (L + 1, L + 1, L))
        if self.end is not None:
            _check_shape("end", self.end, (L,))

    @property
    def tables(self) -> Tables:
        """Potentials in the layout of the core."""
        edge = self.edge if self.edge.ndim == 3 else self.edge[None]
        return Tables(with_stride(self.emit), with_stride(edge), *map(with_stride, (self.tri, self.end)))


def _check_shape(name: str, table: Scores, *shapes: tuple[int, ...]) -> None:
    if table.shape not in shapes:
        expected = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{name} must have shape {expected}; it has {table.shape}")


def with_stride(table: Any) -> Any:
    """A table whose rows over labels are padded to the core's stride; None stays None."""
    if table is None or table.shape[-1] % LANES == 0:
        return table
    out = np.zeros((*table.shape[:-1], padded(table.shape[-1])), table.dtype)
    out[..., : table.shape[-1]] = table
    return out


class TokenNgrams(NamedTuple):
    """Scores of label n-grams at single tokens."""

    starts: Longs  # [T + 1]
    numbers: npt.NDArray[np.uint32]  # of n-grams
    scores: npt.NDArray[Any]


class Tables(NamedTuple):
    """Potentials in the layout of the core: arrays of one type; rows over labels are padded to the core's stride."""

    emit: npt.NDArray[Any]  # [T, stride]
    edge: npt.NDArray[Any]  # [1 or T, L+1, stride]
    tri: npt.NDArray[Any] | None  # [L+1, L+1, stride]
    end: npt.NDArray[Any] | None  # [stride]
    ngrams: _core.Ngrams | None = None  # of three labels and more, in a chain of any order; tri is None then
    token_ngrams: TokenNgrams | None = None  # additional scores of n-grams at single tokens

    def replaced(self, mask: Bools, others: Tables) -> Tables:
        """Replace potentials at some tokens; tables are shared."""
        at = mask[:, None]
        emit = np.where(at, others.emit, self.emit)
        edge = np.where(at[..., None], others.edge, self.edge) if len(self.edge) > 1 else self.edge
        ngrams = self.token_ngrams
        if ngrams is not None and others.token_ngrams is not None:
            pair, masks = (ngrams, others.token_ngrams), (~mask, mask)
            sizes = [np.diff(lists[0]) * these for lists, these in zip(pair, masks, strict=True)]
            rows = [np.repeat(these, np.diff(lists[0])) for lists, these in zip(pair, masks, strict=True)]
            tokens = np.concatenate([np.repeat(np.arange(len(mask)), size) for size in sizes])
            order = np.argsort(tokens, kind="stable")
            nodes, scores = (
                np.concatenate([lists[i][row] for lists, row in zip(pair, rows, strict=True)])[order] for i in (1, 2)
            )
            ngrams = TokenNgrams(starts_of(sizes[0] + sizes[1]), nodes, scores)
        return Tables(emit, edge, self.tri, self.end, self.ngrams, ngrams)

    def only(self, paths: npt.ArrayLike) -> LabelSets:
        """Sets that allow only the labels of given paths [T]; ValueError if the paths are invalid."""
        labels, n = np.ascontiguousarray(paths, np.int32), self.edge.shape[1] - 1
        if labels.shape != (len(self.emit),) or not ((labels >= 0) & (labels < n)).all():
            raise ValueError(f"path: must have a label from 0 to {n - 1} for each of {len(self.emit)} tokens")
        return LabelSets(np.arange(len(labels), dtype=np.int32), np.arange(len(labels) + 1), labels)

    @property
    def doubles(self) -> Tables:
        """The same in double precision, as sums need them."""
        tables: Any = (table if table is None else table.astype(np.float64, copy=False) for table in self[:4])
        lists = self.token_ngrams
        ngrams = None if lists is None else lists._replace(scores=lists.scores.astype(np.float64, copy=False))
        emit, edge, tri, end = tables
        return Tables(emit, edge, tri, end, self.ngrams, ngrams)

    @property
    def potentials(self) -> Potentials:
        """The same in double precision, without padding and label n-grams."""
        n = self.edge.shape[1] - 1
        tables: Any = (table if table is None else table[..., :n].astype(np.float64) for table in self[:4])
        emit, edge, tri, end = tables
        return Potentials(emit, edge[0] if len(edge) == 1 else edge, tri, end)


class PathBatch(NamedTuple):
    """The best path of every sentence."""

    paths: Ints  # [n_tokens]
    scores: Doubles  # [n_sentences]


class MarginalsBatch(NamedTuple):
    """log Z and marginals of every sentence; a path has probability exp(score) / Z."""

    log_z: Doubles  # [n_sentences]
    node: Doubles  # [n_tokens, L]        P(z at t)
    edge: Doubles  # [n_tokens, L+1, L]   P(y at t-1, z at t); at first tokens only the row of NULL is nonzero


class Chains(NamedTuple):
    """The potentials of many sentences, with the labels that each token may have; None allows all."""

    tables: Tables
    starts: Longs  # [n_sentences + 1]
    allowed: LabelSets | None = None

    @classmethod
    def of(cls, potentials: Potentials, starts: npt.ArrayLike | None = None, allowed: Allowed | None = None) -> Chains:
        """The sentences of potentials, all tokens as one by default; `allowed` lists the labels of each token."""
        ends = np.array([0, len(potentials.emit)] if starts is None else starts, np.int64)
        sets = allowed if allowed is None or isinstance(allowed, LabelSets) else LabelSets.of(allowed)
        return cls(potentials.tables, ends, sets)

    def best(self, n_threads: int = 1) -> PathBatch:
        """The path of the highest score (Viterbi) of every sentence.

        A token costs time in proportion to L^2 at order 1 and L^3 at order 2, or to the product of the sizes of
        its own set and its predecessors': a tag dictionary makes large label sets cheap. If all paths are
        forbidden the score is minus infinity; the path keeps to the allowed labels even then.
        """
        paths, scores, _ = self.kbest(1, n_threads)
        return PathBatch(paths, scores[:, 0])

    def kbest(self, k: int, n_threads: int = 1) -> tuple[Ints, Doubles, Longs]:
        """The k best as arrays: sentence i's labels [k, T_i] from k * starts[i] on, scores [n_sentences, k], counts.

        Best first; equal scores by the reversed path, lowest first. There may be fewer: forbidden paths (score minus
        infinity) are left out, except that the first path is always the one that `best` gives.
        """
        return _core.best_paths(self, k, n_threads)

    def log_partition(self, n_threads: int = 1, temperature: float = 1) -> Doubles:
        """log Z of every sentence, the log of the sum over all paths of exp(score / temperature)."""
        return self._sums(0, n_threads, temperature)[0]

    def marginals(self, n_threads: int = 1, temperature: float = 1) -> tuple[Doubles, Doubles]:
        """log Z of every sentence and the probability of every label (forward-backward): [n_tokens, L].

        Probabilities are all 0 if all paths are forbidden.
        """
        return self._sums(1, n_threads, temperature)[:2]

    def pair_marginals(self, n_threads: int = 1, temperature: float = 1) -> MarginalsBatch:
        """The same with marginals of label pairs."""
        return MarginalsBatch(*self._sums(2, n_threads, temperature))

    def _sums(self, reach: int, n_threads: int, temperature: float) -> tuple[Doubles, Doubles, Doubles]:
        return _core.marginals(self._replace(tables=self.tables.doubles), temperature, reach, n_threads)

    def path_scores(self, paths: npt.ArrayLike, n_threads: int = 1) -> Doubles:
        """The scores of given paths [n_tokens], added from left to right as all other methods add."""
        return self._replace(allowed=self.tables.only(paths)).best(n_threads).scores

    def span_probabilities(
        self, type_of: Ints, cut: Bytes, spans: Longs, n_threads: int = 1, temperature: float = 1
    ) -> Doubles:
        """The probability of each span, summed over the paths that have exactly that one: [n_spans].

        ``type_of`` [L] is the type of a label's span, -1 outside; ``cut`` [L, L] whether something ends or begins
        between two neighbours; ``spans`` [n_spans, 4] are rows of sentence, begin, end, type in the order of their
        sentences.
        """
        chains = self._replace(tables=self.tables.doubles)
        return _core.span_probabilities(chains, temperature, type_of, cut, spans, n_threads)


class BeamChains(NamedTuple):
    """The same with edge attributes of labels further back: best paths by beam search (core/engine/beam.hpp)."""

    tables: Tables
    starts: Longs  # [n_sentences + 1]
    allowed: LabelSets | None
    width: int  # of the beam
    lists: Lists  # edge attributes of every token
    weights: _core.Weights  # their weights, and the labels they depend on
    same: Ints  # [n_tokens] previous token with the same word in the sentence; -1: none

    def best(self, n_threads: int) -> PathBatch:
        """The best path of every sentence by beam search."""
        paths, scores, _ = self.kbest(1, n_threads)
        return PathBatch(paths, scores[:, 0])

    def kbest(self, k: int, n_threads: int) -> tuple[Ints, Doubles, Longs]:
        """The k best as arrays, like `Chains.kbest`."""
        return _core.beam_paths(self, k, n_threads)

    def path_scores(self, paths: Ints, n_threads: int) -> Doubles:
        """The scores of given paths [n_tokens]; minus infinity for forbidden paths."""
        return self._replace(allowed=self.tables.only(paths), width=1).best(n_threads).scores
