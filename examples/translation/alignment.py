"""Which word is the translation of which: IBM model 1, then the HMM model of Vogel et al. 1996, in both directions.

Each source word f_j comes from a target word e_i, or from none (position 0, NULL):

    model 1   P(f, a | e) = prod_j t(f_j | e_{a_j}) / (I + 1)
    HMM       P(f, a | e) = prod_j t(f_j | e_{a_j}) P(a_j | a_{j-1}, I),   P(i | i', I) ~ jump(i - i')

Both are learnt by EM. The sums of the second over all alignments are those of any chain: the labels of the words f are
positions in e, so the forward-backward recursion is the one of `trellis.engine.chain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from examples.translation.corpus import Pair, numbered
from trellis._support.arrays import Doubles, Ints, Longs, starts_of
from trellis.engine.chain import Chains, Potentials

Links = set[tuple[int, int]]  # (position in the source, position in the target)
P_NULL = 0.2  # of a word that comes from none
CHUNK = 1 << 22  # how many probabilities of pairs of states are in memory at once
FLOOR = 1e-12


@dataclass(frozen=True, slots=True)
class Cells:
    """All (f_j, e_i) that could be linked, sentence by sentence as rows j of columns NULL, 0, ..., I - 1.

    Sentences stand in the order of I, so that those of equal I are one table.
    """

    order: Longs  # [n] the sentences in that order
    n_given: Longs  # [n] I
    n_words: Longs  # [n] J
    starts: Longs  # [n + 1] the rows of each sentence
    entry: Ints  # [n_cells] which entry of t(f | e) each cell has
    given: Ints  # [n_entries] e of each entry of t

    @classmethod
    def of(cls, words: Sequence[Sequence[int]], given: Sequence[Sequence[int]], n_types: int) -> Cells:
        """Those of words f with given words e, which are numbered from 1 on: 0 is NULL."""
        sizes = np.array([len(one) for one in given])
        order = np.argsort(sizes, kind="stable")
        rows = np.array([len(one) for one in words])[order]
        keys = np.concatenate(
            [np.add.outer(np.array(words[s]), np.array([0, *given[s]], np.int64) * n_types).ravel() for s in order]
        )
        entries, entry = np.unique(keys, return_inverse=True)
        return cls(
            order, sizes[order], rows, starts_of(rows), entry.astype(np.int32), (entries // n_types).astype(np.int32)
        )

    def normalised(self, counts: Doubles) -> Doubles:
        """T(f | e) from expected counts."""
        return np.maximum(counts / np.bincount(self.given, counts)[self.given], FLOOR)

    def tables(self) -> Iterator[tuple[int, int, slice, slice]]:
        """Sentences of equal length I, not too many at once: the first, the one after the last, their rows, cells."""
        first, cell = 0, 0
        while first < len(self.order):
            size = int(self.n_given[first])
            last = int(np.searchsorted(self.n_given, size, "right"))
            most = int(self.starts[first]) + CHUNK // (2 * size * (2 * size + 1))
            last = max(first + 1, min(last, int(np.searchsorted(self.starts, most, "right")) - 1))
            rows = slice(int(self.starts[first]), int(self.starts[last]))
            end = cell + (rows.stop - rows.start) * (size + 1)
            yield first, last, rows, slice(cell, end)
            first, cell = last, end


def model_1(cells: Cells, iterations: int) -> Doubles:
    """t(f | e) by EM; every alignment is as likely as any other."""
    t = cells.normalised(np.ones(len(cells.given), np.float64))
    row = np.repeat(np.arange(int(cells.n_words.sum())), np.repeat(cells.n_given + 1, cells.n_words))
    for _ in range(iterations):
        posterior = t[cells.entry]
        posterior /= np.bincount(row, posterior)[row]
        t = cells.normalised(np.bincount(cells.entry, posterior, len(t)).astype(np.float64))
    return t


class Aligner:
    """The HMM in training. A state is a position in e, or NULL after a position: 2 I states, the NULLs last."""

    def __init__(self, cells: Cells, t: Doubles) -> None:
        self.cells, self.t = cells, t
        self.longest = int(cells.n_given.max())
        self.jump = np.full(2 * self.longest + 1, 1.0)  # [i - i' + longest]; i' = -1 before the first word

    def edge(self, size: int) -> Doubles:
        """Log P(state | state before), [2 I + 1, 2 I]; the last row is of the first word."""
        jumps = self.jump[np.arange(size)[None] - np.arange(-1, size)[:, None] + self.longest]
        jumps = np.roll((1 - P_NULL) * jumps / jumps.sum(1, keepdims=True), -1, 0)
        nulls = np.vstack([np.eye(size), np.full((1, size), 1 / size)]) * P_NULL
        once = np.hstack([jumps, nulls])
        with np.errstate(divide="ignore"):
            logs: Doubles = np.log(np.vstack([once[:-1], once]))
        return logs

    def potentials(self, first: int, cell: slice) -> Potentials:
        """Of the sentences of a table."""
        size = int(self.cells.n_given[first])
        emit = np.log(self.t[self.cells.entry[cell]]).reshape(-1, size + 1)
        return Potentials(np.hstack([emit[:, 1:], np.repeat(emit[:, :1], size, 1)]), self.edge(size))

    def iterate(self) -> None:
        """One step of EM."""
        cells = self.cells
        counts, jumps = np.zeros(len(self.t)), np.full(len(self.jump), 1e-3)
        for first, last, rows, cell in cells.tables():
            size = int(cells.n_given[first])
            starts = cells.starts[first : last + 1] - rows.start
            _, node, edge = Chains.of(self.potentials(first, cell), starts).pair_marginals()
            posterior = np.hstack([node[:, size:].sum(1, keepdims=True), node[:, :size]])
            counts += np.bincount(cells.entry[cell], posterior.ravel(), len(counts))
            pairs = edge.sum(0)[:, :size]  # [2 I + 1, I] from each state to each word
            moved = np.vstack([pairs[-1:], pairs[:size] + pairs[size:-1]])
            distance = np.arange(size)[None] - np.arange(-1, size)[:, None] + self.longest
            jumps += np.bincount(distance.ravel(), moved.ravel(), len(jumps))
        self.t, self.jump = cells.normalised(counts), jumps

    def best(self) -> list[list[int]]:
        """For each sentence, the position e_i of each word f_j in the best alignment; -1 is NULL."""
        found: list[list[int]] = [[] for _ in self.cells.order]
        for first, last, rows, cell in self.cells.tables():
            size = int(self.cells.n_given[first])
            starts = self.cells.starts[first : last + 1] - rows.start
            paths = Chains.of(self.potentials(first, cell), starts).best().paths
            positions = np.where(paths < size, paths, -1)
            for s, sentence in enumerate(self.cells.order[first:last].tolist()):
                found[sentence] = positions[starts[s] : starts[s + 1]].tolist()
        return found


def align_one_way(
    words: Sequence[Sequence[str]], given: Sequence[Sequence[str]], iterations: tuple[int, int] = (5, 5)
) -> list[list[int]]:
    """The position in ``given`` that each of ``words`` comes from, -1 of none; EM steps of model 1 and of the HMM."""
    types, known = numbered(map(tuple, words)), numbered(map(tuple, given), [""])
    cells = Cells.of([[types[w] for w in s] for s in words], [[known[w] for w in s] for s in given], len(types))
    aligner = Aligner(cells, model_1(cells, iterations[0]))
    for _ in range(iterations[1]):
        aligner.iterate()
    return aligner.best()


def align(pairs: Sequence[Pair]) -> list[Links]:
    """The links of every pair, by both directions."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    forward, backward = align_one_way(sources, targets), align_one_way(targets, sources)
    return [
        symmetrise({(j, i) for j, i in enumerate(one) if i >= 0}, {(j, i) for i, j in enumerate(other) if j >= 0})
        for one, other in zip(forward, backward, strict=True)
    ]


NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(one: Links, other: Links) -> Links:
    """Links of both directions as one set (grow-diag-final-and of Koehn et al. 2003).

    From those in both on, neighbours in either are added where one of the words has no link yet; then those of one
    direction between words that both have none.
    """
    links, union = one & other, one | other
    left, right = {j for j, _ in links}, {i for _, i in links}

    def add(j: int, i: int) -> None:
        links.add((j, i))
        left.add(j)
        right.add(i)

    grown = sorted(links)
    for j, i in grown:  # what is added is looked at too
        for dj, di in NEIGHBOURS:
            near = (j + dj, i + di)
            if near in union and near not in links and (near[0] not in left or near[1] not in right):
                add(*near)
                grown.append(near)
    for direction in (one, other):
        for j, i in sorted(direction):
            if j not in left and i not in right:
                add(j, i)
    return links
