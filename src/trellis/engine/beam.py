"""Chains whose labels see labels further back: best paths by a beam (core/engine/beam.hpp)."""

from __future__ import annotations

from typing import NamedTuple

from trellis import _core
from trellis._support.arrays import Doubles, Ints, LabelSets, Lists, Longs
from trellis.engine.chain import PathBatch, Tables


class BeamChains(NamedTuple):
    """The potentials of many sentences, as `Chains` has them, and of edge attributes about labels further back."""

    tables: Tables
    starts: Longs  # [n_sentences + 1]
    allowed: LabelSets | None
    width: int  # of the beam
    lists: Lists  # edge attributes of every token
    rows: _core.FarRows  # their weights, and which labels they are about
    same: Ints  # [n_tokens] the last token with the same word, within its sentence; -1: none

    @property
    def _far(self) -> tuple[Lists, _core.FarRows, Ints]:
        return self.lists, self.rows, self.same

    def best(self, n_threads: int) -> PathBatch:
        """The best path of every sentence that the beam finds."""
        paths, scores, _ = self.kbest(1, n_threads)
        return PathBatch(paths, scores[:, 0])

    def kbest(self, k: int, n_threads: int) -> tuple[Ints, Doubles, Longs]:
        """The k best as arrays: sentence i's labels [k, T_i] from k * starts[i] on, scores [n_sentences, k], counts."""
        return _core.beam_paths(self.tables, self.starts, self.allowed, self._far, self.width, k, n_threads)

    def path_scores(self, paths: Ints, n_threads: int) -> Doubles:
        """The scores of given paths [n_tokens]; minus infinity of what is forbidden."""
        return _core.beam_scores(self.tables, self.starts, self._far, paths, n_threads)
