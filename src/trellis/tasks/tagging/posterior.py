"""Marginals of labels, the most probable label at each position, probabilities of spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from trellis._support.arrays import Doubles, Ints
from trellis._support.errors import ArgumentError
from trellis.corpus.schemes import Span, SpanReading
from trellis.engine.chain import BeamChains, Chains, Potentials
from trellis.engine.weights import START
from trellis.tasks.tagging.constraints import require_possible
from trellis.tasks.tagging.decoding import ChainDecoder
from trellis.tasks.tagging.segments.decoding import SegmentChains

# Probability for probabilistic models; confidence for others: the softmax of scores at a temperature.
ProbabilityKind = Literal["probability", "confidence"]


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Marginals of one sentence: ``posterior[t]["B-NP"]``, or ``node`` as an array.

    Attributes
    ----------
    labels
        The labels, in the order of the arrays.
    node
        [T, L] marginal of label z at token t.
    edge
        [T, L+1, L] marginal of label y at t-1 and z at t, if requested; row L stands for the start of the sentence.
    probability_kind
        ``"probability"``, or ``"confidence"`` for learners without probabilities.
    """

    labels: tuple[str, ...]
    node: Doubles
    edge: Doubles | None
    probability_kind: ProbabilityKind

    def __len__(self) -> int:
        return len(self.node)

    def __getitem__(self, t: int) -> dict[str, float]:
        return dict(zip(self.labels, self.node[t].tolist(), strict=True))

    def __iter__(self) -> Iterator[dict[str, float]]:
        return (self[t] for t in range(len(self)))

    def edges(self, t: int) -> dict[tuple[str, str], float]:
        """List the marginals of label pairs at one token; needs ``marginals(edges=True)``.

        Parameters
        ----------
        t
            Position of the token.

        Returns
        -------
        dict[tuple[str, str], float]
            By (preceding label, label); only pairs that are possible.
        """
        if self.edge is None:
            raise ArgumentError("label pair marginals were not computed; pass edges=True")
        names = (*self.labels, START)
        return {
            (names[y], self.labels[z]): float(self.edge[t, y, z]) for y, z in np.argwhere(self.edge[t] > 0).tolist()
        }

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Returns
        -------
        dict[str, Any]
            Labels, probabilities and their kind.
        """
        return {"probability_kind": self.probability_kind, "tokens": list(self)}


def best_paths(chains: Chains | SegmentChains | BeamChains, n_threads: int) -> Ints:
    """The best path of every sentence: [n_tokens]; ConstraintError if one has none."""
    paths, scores = chains.best(n_threads)
    require_possible(scores)
    return paths


def best_labels(chains: Chains | SegmentChains, temperature: float, n_threads: int) -> Ints:
    """The most probable label at every position, the lowest number if tied: [n_tokens].

    If transitions are forbidden: the legal sequence with the largest expected number of correct labels.
    """
    log_z, node = chains.marginals(n_threads, temperature)
    require_possible(log_z)
    if isinstance(chains, SegmentChains):
        return chains.best_labels(node, n_threads)
    n, tables = node.shape[1], chains.tables
    if not any(table is not None and np.isneginf(table[..., :n]).any() for table in tables[1:4]):
        best: Ints = node.argmax(axis=1).astype(np.int32)
        return best
    # The rules are 0 or minus infinity, so scores are sums of marginals only.
    p = tables.potentials
    rules: Any = (
        None if table is None else np.where(np.isneginf(table), -np.inf, 0.0) for table in (p.edge, p.tri, p.end)
    )
    believed = Potentials(np.where(np.isneginf(p.emit), -np.inf, node), *rules)
    return Chains.of(believed, chains.starts, chains.allowed).best(n_threads).paths


# ------------------------------------------------------------ spans


def probabilities(
    decoder: ChainDecoder, chains: Chains | SegmentChains, spans: Sequence[Sequence[Span]], n_threads: int = 1
) -> list[list[float]]:
    """The probability of each of these spans, sentence by sentence: that exactly this span is in the output.

    The sum over all label sequences with a span of that type, beginning and end.
    """
    reading, segments, temperature = SpanReading.of(decoder.labels), decoder.model.segments, decoder.model.temperature
    number = {kind: i if segments is None else segments.types.column_of(kind) for i, kind in enumerate(reading.types)}
    rows = [
        (i, span.start_token, span.end_token, number.get(span.label, -2))
        for i, span_list in enumerate(spans)
        for span in span_list
    ]
    queries = np.array(rows, np.int64).reshape(-1, 4)
    if isinstance(chains, SegmentChains):
        values = chains.span_probabilities(queries, n_threads, temperature).tolist()
    else:
        values = chains.span_probabilities(reading.type_of, reading.cut, queries, n_threads, temperature).tolist()
    ends = np.cumsum([0, *(len(span_list) for span_list in spans)]).tolist()
    return [values[a:b] for a, b in pairwise(ends)]
