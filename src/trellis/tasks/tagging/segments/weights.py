"""Segments of a model: types without scheme letters, maximum lengths, and their encoding as labels.

A semi-Markov model is a chain of order 1 over the labels of a scheme. Its output is always legal, and its segments have
attributes: the last rows of its weights, where a type has the column of one label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Ints, Longs
from trellis.corpus.corpus import Strings
from trellis.corpus.schemes import MARKERS, OUTSIDE, SCHEMES, Letters, SpanReading, split_label
from trellis.features.templates import parse_template
from trellis.tasks.tagging.constraints import legal_transitions
from trellis.tasks.tagging.segments.features import Nodes, SegmentPlan, SegmentVocabulary

SHAPE = ("column", "longest", "single", "first", "middle", "last")  # of core/engine/segments.hpp


@dataclass(frozen=True, slots=True)
class SegmentTypes:
    """Types of segments in the labels of a scheme; a token outside is a segment of one token.

    Attributes
    ----------
    labels
        The labels.
    scheme
        Name of the scheme.
    longest
        Maximum number of tokens, by type.
    """

    labels: tuple[str, ...]
    scheme: str
    longest: dict[str, int]

    @property
    def most(self) -> int:
        """Maximum number of tokens of a segment."""
        return max([1, *self.longest.values()])

    def columns(self) -> Ints:
        """Get the column of the weights of each label's type.

        Returns
        -------
        Ints
            [n_labels] index of a label.
        """
        kinds = [split_label(label) for label in self.labels]
        first = dict[tuple[bool, str], int]()
        return np.array([first.setdefault((k[0] == OUTSIDE, k[1]), z) for z, k in enumerate(kinds)], np.int32)

    def column_of(self, kind: str) -> int:
        """Get the column of the weights of a type.

        Parameters
        ----------
        kind
            The type.

        Returns
        -------
        int
            Index of a label; -1 if there is none.
        """
        kinds = [split_label(label) for label in self.labels]
        return next((z for z, (letter, name) in enumerate(kinds) if name == kind and letter != OUTSIDE), -1)

    def type_of_column(self, column: int) -> str:
        """Get the type with the weights of a column.

        Parameters
        ----------
        column
            The column.

        Returns
        -------
        str
            The type.
        """
        letter, kind = split_label(self.labels[column])
        return letter if letter == OUTSIDE else kind

    def shapes(self) -> Ints:
        """Describe how segments of each type are labelled (core/engine/segments.hpp).

        Returns
        -------
        Ints
            [n, 6].
        """
        # By letter and type: `B-` and `B` are equal.
        number, columns = {label.partition("-")[::2]: z for z, label in enumerate(self.labels)}, self.columns()
        rows = list[list[int]]()
        if (outside := number.get((OUTSIDE, ""))) is not None:
            rows.append([int(columns[outside]), 1, outside, -1, -1, -1])
        for kind, longest in self.longest.items():
            for letters in _shapes(self.scheme):
                first, inside, last, single = (number.get((letter, kind), -1) for letter in letters)
                rows.append([self.column_of(kind), longest, single, first, inside, last])
        return np.array(rows, np.int32).reshape(-1, len(SHAPE))

    def follows(self) -> Bools:
        """List the pairs of labels where one segment may end and the next begin.

        Returns
        -------
        Bools
            [n_labels + 1, n_labels + 1].
        """
        cut = np.pad(SpanReading.of(self.labels).cut, (0, 1), constant_values=1)
        return legal_transitions(self.labels, self.scheme) & (cut > 0)

    def native(self) -> _core.SegmentRules:
        """Convert to checked native rules.

        Returns
        -------
        _core.SegmentRules
            Native rules.

        Raises
        ------
        ValueError
            If the types are inconsistent.
        """
        return _core.SegmentRules(
            len(self.labels), self.most, self.shapes(), self.columns(), self.follows().astype(np.uint8)
        )


@dataclass(frozen=True, slots=True)
class SegmentModel:
    """The parts of a semi-Markov model beside those of a chain.

    Attributes
    ----------
    types
        Types of segments.
    vocabulary
        Templates of segments and their attributes.
    first
        Number of their first attribute among the rows of weights.
    """

    types: SegmentTypes
    vocabulary: SegmentVocabulary
    first: int

    def tensors(self) -> Arrays:
        """Convert to named arrays, for files.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        out: Arrays = {f"segments.{name}": array for name, array in self.vocabulary.nodes._asdict().items()}
        for j, strings in enumerate(self.vocabulary.strings):
            out |= {f"segments.view{j}.data": strings.data, f"segments.view{j}.starts": strings.starts}
        return out

    @property
    def header(self) -> dict[str, Any]:
        """Values that are not arrays, for files."""
        types = {"scheme": self.types.scheme, "longest": self.types.longest}
        return {**types, "first": self.first, "templates": list(map(str, self.vocabulary.plan.templates))}

    @classmethod
    def of_tensors(cls, header: Mapping[str, Any], labels: tuple[str, ...], tensors: Mapping[str, Any]) -> SegmentModel:
        """Make the object from named arrays.

        Parameters
        ----------
        header
            The values that are not arrays.
        labels
            The labels.
        tensors
            Arrays by name.

        Returns
        -------
        SegmentModel
            The object.

        Raises
        ------
        ValueError, LookupError
            If the arrays are inconsistent.
        """
        plan = SegmentPlan(tuple(parse_template(text) for text in header["templates"]))
        if not all(template.of_segment for template in plan.templates):
            raise ValueError("a template of segments that looks at none")
        views = [f"segments.view{j}" for j in range(len(plan.views))]
        strings = tuple(Strings(tensors[f"{view}.data"], tensors[f"{view}.starts"]) for view in views)
        if not all(_core.valid_strings(column) for column in strings):
            raise ValueError("a damaged table of strings")
        nodes = Nodes(*(tensors[f"segments.{name}"] for name in Nodes._fields))
        if (nodes.parents[: len(plan.templates)] != -1).any():  # native code does not need a table for it
            raise ValueError("a tree of segments whose root has a parent")
        if header["scheme"] not in SCHEMES:
            raise ValueError("no such scheme")
        longest = {str(kind): int(n) for kind, n in header["longest"].items()}
        types = SegmentTypes(labels, str(header["scheme"]), longest)
        return cls(types, SegmentVocabulary(plan, strings, nodes), int(header["first"]))


def _shapes(scheme: str) -> list[Letters]:
    """Label sequences of a segment; segments that touch a neighbour may have a different one."""
    letters = SCHEMES[scheme]
    touching = {"iob1": ("first", "single"), "ioe1": ("last", "single")}.get(scheme)
    return [letters, letters._replace(**dict.fromkeys(touching, MARKERS[scheme]))] if touching else [letters]


def segments_of(types: SegmentTypes, gold: Ints, starts: Longs) -> tuple[Longs, Longs, Ints]:
    """All segments of legal labels, including tokens outside: first tokens, lengths, columns."""
    begins = np.ones(len(gold), bool)
    begins[1:] = types.follows()[gold[:-1], gold[1:]]
    begins[starts[:-1][starts[:-1] < len(gold)]] = True
    first = np.flatnonzero(begins)
    return first, np.diff(np.append(first, len(gold))), types.columns()[gold[first]]
