"""Warm starts: the weights of an older parser in the numbering of a new training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arguments import instance
from trellis._support.arrays import Arrays, Doubles, Floats, Longs, starts_of
from trellis._support.errors import LearnerError
from trellis.engine.weights import Rows
from trellis.features.carried_keys import Carrier, id_map, numbers_of
from trellis.features.known import keys_in_order
from trellis.features.phrases import PhraseVocabulary
from trellis.features.templates import Template
from trellis.features.vocabulary import Tables
from trellis.tasks.trees.grammar import Grammar, Markov
from trellis.tasks.trees.model import TreeParser
from trellis.tasks.trees.weights import PhraseModel, rule_columns


def check_start(init: Any, templates: tuple[Template, ...], markov: Markov) -> PhraseModel:
    """The older model; LearnerError if its attributes are not those of a new one."""
    model: PhraseModel = instance("init", init, TreeParser, "a TreeParser, such as trellis.load gives").model
    if model.vocabulary.templates != templates:
        raise LearnerError("init has other features; give those that it was trained with")
    if model.grammar.markov != markov:
        raise LearnerError("init has another vertical or horizontal order; give those that it was trained with")
    return model


@dataclass(frozen=True, slots=True)
class PhraseStart:
    """The weights of an older parser, of attributes and rules that the trees of a new training have."""

    model: PhraseModel
    vocabulary: PhraseVocabulary
    grammar: Grammar
    examples: _core.PhraseExamples

    def state(self, state: Any) -> Arrays:
        """The state of new native weights, with the older weights in it."""
        attributes, columns, weights = self._carried()
        n = len(weights)
        starts = starts_of(np.bincount(attributes, minlength=self.examples.n_attributes)).astype(np.uint32)
        rows = Rows(starts, columns.astype(np.uint32), weights).tensors("rows")
        return {**state, **rows, "rows.sums": np.zeros(n), "rows.variances": np.ones(n, np.float32)}

    def vector(self, learnt: Any) -> Doubles:
        """The older weights as a vector; ``learnt`` is what a vector of ones stands for."""
        starts, columns = learnt["rows.starts"], learnt["rows.labels"]
        attributes, carried, weights = self._carried()
        n_columns = rule_columns(self.grammar)[1]
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts.astype(np.int64)))
        numbers, _ = numbers_of(
            (rows * n_columns + columns).astype(np.uint64),
            (attributes * n_columns + carried).astype(np.uint64),
            grows=False,
        )
        vector = np.zeros(len(columns))
        vector[numbers[numbers >= 0]] = weights[numbers >= 0]
        return vector

    def _carried(self) -> tuple[Longs, Longs, Floats]:
        """Attributes, columns and weights in the new numbering, sorted."""
        model, rows = self.model, self.model.rows
        number, column = self._attribute_map(), self._column_map()
        starts = rows.starts.astype(np.int64)
        sizes: Longs = starts[1:] - starts[:-1]
        attributes = number[np.repeat(np.arange(rows.n_attributes), sizes)]
        columns = column[rows.labels]
        kept = np.flatnonzero((attributes >= 0) & (columns >= 0))
        kept = kept[np.lexsort((columns[kept], attributes[kept]))]
        return attributes[kept], columns[kept], model.rows.weights[kept]

    def _attribute_map(self) -> Longs:
        """The number of every older attribute, -1 where the new trees do not have it."""
        model = self.model
        ranks = np.arange(self.examples.n_attributes, dtype=np.int32)
        tables, folds, outlines = (keys_in_order(Tables(**some)) for some in self.examples.tables(ranks))
        fold_keys = [keys for keys, _ in folds]
        old_folds = [keys for keys, _ in keys_in_order(model.folds)]
        measures = {list(self.vocabulary.MEASURE_BITS).index("outline"): self._outline_map(outlines[0][0])}
        carrier = Carrier(model.vocabulary, self.vocabulary, measures)
        out = np.full(model.rows.n_attributes, -1, np.int64)
        for t, (keys, ids) in enumerate(keys_in_order(model.tables)):
            carried, kept = carrier.keys(t, keys, old_folds, fold_keys, grows=False)
            place, _ = numbers_of(tables[t][0], carried, grows=False)
            out[ids[kept[place >= 0]]] = tables[t][1][place[place >= 0]]
        return out

    def _outline_map(self, outlines: Any) -> Longs:
        """The number of every older outline, -1 for none: an outline is a shorter one and a word's id."""
        slot = self.model.vocabulary.plan().outline
        old = keys_in_order(self.model.outlines)[0][0].tolist()
        out = np.full(len(old) + 1, -1, np.int64)
        out[0] = 0  # the empty one
        if slot < 0:
            return out
        column, view = self.vocabulary.layout().slots[slot].tolist()
        before, after = self.model.vocabulary.columns[column], self.vocabulary.columns[column]
        ids = id_map(before, after, view, self.vocabulary.reach)
        number = {key: i for i, key in enumerate(outlines.tolist())}
        for i, key in enumerate(old):
            shorter, word = out[key >> 32], ids[key & 0xFFFFFFFF]
            if shorter >= 0 and word >= 0:
                out[i + 1] = number.get(int(shorter) << 32 | int(word), -2) + 1
        return out

    def _column_map(self) -> Longs:
        """The column of every older column: of phrases by their symbols, of rules by theirs."""
        old, new = self.model.grammar, self.grammar
        symbols = {symbol: i for i, symbol in enumerate(new.phrases)}
        rules = [new.number.get(rule, -1) for rule, _ in sorted(old.number.items(), key=lambda item: item[1])]
        n_weighted = len(old.binary) + len(old.unary)
        return np.array(
            [
                *(symbols.get(symbol, -1) for symbol in old.phrases),
                *(-1 if rule < 0 else rule + len(new.phrases) for rule in rules[:n_weighted]),
            ],
            np.int64,
        )
