"""Warm starts: the weights of an older parser in the numbering of a new training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis._support.arguments import instance
from trellis._support.arrays import Arrays, Doubles, Floats, Longs, starts_of
from trellis._support.errors import LearnerError
from trellis.features.arcs import ArcTemplates, ArcVocabulary
from trellis.features.carried_keys import Carrier, Keys, numbers_of
from trellis.features.known import keys_in_order
from trellis.features.vocabulary import Tables
from trellis.tasks.parsing.model import Parser


def check_start(init: Any, templates: ArcTemplates, labelled: bool) -> Parser:
    """The older parser; LearnerError if its attributes are not those of a new one."""
    parser = instance("init", init, Parser, "a Parser, such as trellis.load gives")
    if parser.vocabulary.templates != templates:
        raise LearnerError("init has other features, order or filter; give those that it was trained with")
    if bool(parser.labels) != labelled:
        raise LearnerError("init must have labels of arcs if the new parser has, and none otherwise")
    return parser


@dataclass(frozen=True, slots=True)
class ArcStart:
    """The weights of an older parser for a training with that vocabulary and those labels.

    Online learners start with all of them; batch learners with those of attributes that the new trees have.
    """

    parser: Parser
    vocabulary: ArcVocabulary
    labels: tuple[str, ...]

    def state(self, state: Mapping[str, Any]) -> Arrays:
        """The state of new native weights, with the older weights in it."""
        tables, folds = (_split(state, kind) for kind in ("tables", "folds"))
        columns = self._columns(len(self.labels))
        rows = np.split(
            state["table.weights"], np.cumsum([len(own) * n for own, n in zip(tables, columns, strict=True)])[:-1]
        )
        for t, numbers, carried in self._carried(tables, folds, grows=True):
            old, rows[t] = rows[t], np.zeros(len(tables[t]) * columns[t], np.float32)
            rows[t][: len(old)] = old
            rows[t].reshape(-1, columns[t])[numbers[:, None], self._label_map(t)] = carried
        values = np.concatenate(rows)
        return {
            "clock": state["clock"],
            **_joined(tables, "tables"),
            **_joined(folds, "folds"),
            "table.weights": values,
            "table.sums": np.zeros(len(values)),
            "table.variances": np.ones(len(values) if len(state["table.variances"]) else 0, np.float32),
        }

    def vector(self, learnt: Any) -> Doubles:
        """The older weights as a vector; ``learnt`` is what a vector of ones stands for."""
        tables, folds = ([own for own, _ in keys_in_order(_tables(learnt, kind))] for kind in ("tables", "folds"))
        columns = self._columns(len(self.labels))
        first = np.cumsum([0, *(len(own) * n for own, n in zip(tables, columns, strict=True))])
        vector = np.zeros(first[-1])
        for t, numbers, carried in self._carried(tables, folds, grows=False):
            vector[first[t] : first[t + 1]].reshape(-1, columns[t])[numbers[:, None], self._label_map(t)] = carried
        return vector[: first[-1 - len(self.vocabulary.templates.filter)]]  # the filter has no weights

    def _carried(self, tables: list[Keys], folds: list[Keys], *, grows: bool) -> Iterator[tuple[int, Longs, Floats]]:
        """Of every template: numbers of attributes in the new tables and folds, and their older weights."""
        parser = self.parser
        old, old_folds = (keys_in_order(_tables(parser.weights, kind)) for kind in ("tables", "folds"))
        carrier = Carrier(parser.vocabulary, self.vocabulary)
        columns = self._columns(len(parser.labels))
        first = np.cumsum([0, *(len(own) * n for (own, _), n in zip(old, columns, strict=True))])
        for t, (own, _) in enumerate(old):
            keys, kept = carrier.keys(t, own, [some for some, _ in old_folds], folds, grows=grows)
            numbers, tables[t] = numbers_of(tables[t], keys, grows=grows)
            weights = parser.weights["values"][first[t] : first[t + 1]].reshape(-1, columns[t])[kept]
            yield t, numbers[numbers >= 0], weights[numbers >= 0]

    def _columns(self, n_labels: int) -> list[int]:
        """How many weights an attribute of each template has."""
        arcs, labelled, siblings, filters = self.vocabulary.templates.counts
        return [1] * arcs + [max(1, n_labels)] * labelled + [1] * (siblings + filters)

    def _label_map(self, t: int) -> Longs:
        """The columns of the older weights in the new ones."""
        arcs, labelled, *_ = self.vocabulary.templates.counts
        names = self.parser.labels if arcs <= t < arcs + labelled else ()
        return np.array([self.labels.index(name) for name in names] or [0], np.int64)


def _tables(weights: Mapping[str, Any], kind: str) -> Tables:
    return Tables(*(weights[f"{kind}.{name}"] for name in Tables._fields))


def _split(state: Mapping[str, Any], kind: str) -> list[Keys]:
    ends = state[f"{kind}.starts"]
    return np.split(state[f"{kind}.keys"], ends[1:-1])[: len(ends) - 1]


def _joined(tables: list[Keys], kind: str) -> Arrays:
    keys = np.concatenate([np.empty(0, np.uint64), *tables])
    return {f"{kind}.keys": keys, f"{kind}.starts": starts_of([len(own) for own in tables])}
