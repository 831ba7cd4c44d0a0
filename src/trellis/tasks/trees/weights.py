"""A parser's model as data: a grammar, the one that prunes it, a lexicon, and weights of templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arguments import real_number
from trellis._support.arrays import Arrays, Floats, Ints, Longs
from trellis._support.tensor_file import Tensors
from trellis.engine.weights import Rows
from trellis.features.known import keys_in_order
from trellis.features.phrases import PhraseVocabulary
from trellis.features.templates import parse_template
from trellis.features.vocabulary import Tables
from trellis.features.vocabulary_tensors import columns_content, read_columns
from trellis.tasks.trees.grammar import Grammar
from trellis.tasks.trees.lexicon import Lexicon

GREATEST = 1e30  # of a weight, so that the score of a tree is finite
TABLES = ("tables", "folds", "outlines")
PARTS = ("keys", "ids", "starts")
NO_TABLES: Tables = (np.empty(0, np.uint64), np.empty(0, np.int32), np.zeros(1, np.int64))
EMPTY_TABLE: Tables = (np.zeros(2, np.uint64), np.full(2, -1, np.int32), np.array([0, 2], np.int64))
NO_ROWS = Rows(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class PhraseModel:
    """All that parsing needs, checked when it is made ready for native code."""

    grammar: Grammar
    coarse: Grammar  # the same trees without markovisation
    lexicon: Lexicon
    vocabulary: PhraseVocabulary
    base: Floats  # [n_rules] scores of rules everywhere
    rows: Rows = NO_ROWS  # of attributes
    tables: Tables = NO_TABLES
    folds: Tables = NO_TABLES
    outlines: Tables = EMPTY_TABLE
    prune: float = 1e-4  # what is less probable by the coarse grammar is not looked at
    family: str = "scores"

    def content(self) -> tuple[Arrays, dict[str, Any]]:
        """As arrays and a header, for files."""
        (grammar, about), (coarse, about_coarse) = self.grammar.content(), self.coarse.content()
        known, columns = columns_content(self.vocabulary.columns, self.vocabulary.lookups)
        header = {
            "grammar": about,
            "coarse": about_coarse,
            "templates": [str(template) for template in self.vocabulary.templates],
            **columns,
            "prune": self.prune,
            "family": self.family,
        }
        tensors: Arrays = {
            **{f"grammar.{part}": array for part, array in grammar.items()},
            **{f"coarse.{part}": array for part, array in coarse.items()},
            **self.lexicon.tensors(self.grammar.tags),
            **known,
            **self.rows.tensors("rows"),
            **{f"{name}.{part}": a for name in TABLES for part, a in zip(PARTS, getattr(self, name), strict=True)},
            "base": self.base,
        }
        return tensors, header

    @classmethod
    def of_content(cls, tensors: Tensors, header: Mapping[str, Any]) -> PhraseModel:
        """What ``content`` gave, checked; ValueError or LookupError if it is damaged."""
        grammar, coarse = (
            Grammar.of_content(header[name], tensors[f"{name}.binary"], tensors[f"{name}.counts"])
            for name in ("grammar", "coarse")
        )
        columns, lookups = read_columns(header, tensors)
        if not {column.name for column in columns} <= {"word", "pos"}:
            raise ValueError("columns that trees do not have")
        templates = tuple(parse_template(text, of_phrases=True) for text in header["templates"])
        base, rows = tensors["base"], Rows.of_tensors("rows", tensors)
        if not all(np.abs(weights).max(initial=0.0) < GREATEST for weights in (base, rows.weights)):
            raise ValueError("weights that are too great, or no numbers")
        tables: Any = {name: tuple(tensors[f"{name}.{part}"] for part in PARTS) for name in TABLES}
        lexicon, vocabulary = Lexicon.of_tensors(tensors, grammar.tags), PhraseVocabulary(templates, columns, lookups)
        known = grammar, coarse, lexicon, vocabulary
        prune = real_number("prune", header["prune"], 0.0, 1.0)
        model = cls(*known, base, rows, **tables, prune=prune, family=str(header["family"]))
        model.native()  # checks all that native code follows
        return model

    def attribute_names(self, wanted: Longs) -> dict[int, str]:
        """Names of attributes as a person reads them: ``pos[first]=DT & length=3``."""
        folds = [keys for keys, _ in keys_in_order(self.folds)]
        measures = {"length": self.vocabulary.LENGTHS, "outline": self._outlines()}
        names = dict[int, str]()
        for t, (keys, numbers) in enumerate(keys_in_order(self.tables, wanted)):
            names |= zip(numbers.tolist(), self.vocabulary.names(t, keys, folds, measures), strict=True)
        return names

    def _outlines(self) -> list[str]:
        """What every outline says: a shorter one, and what one word more looks like."""
        *_, slots, _, reach, slot = self.vocabulary.plan()
        if slot < 0:
            return []
        column, view = slots[slot].tolist()
        strings, first, texts = self.vocabulary.columns[column].said(view), 2 * reach, [""]
        for key in keys_in_order(self.outlines)[0][0].tolist():
            texts.append(f"{texts[key >> 32]} {strings[(key & 0xFFFFFFFF) - first]}".lstrip())
        return texts

    def native(self) -> _core.PhraseDecoder:
        """Checked for native code; ValueError or LookupError if it makes no sense."""
        columns, n_columns = rule_columns(self.grammar)
        return _core.PhraseDecoder(
            pruner_of(self.grammar, self.coarse, self.prune),
            columns,
            n_columns,
            self.base,
            self.rows.arrays,
            self.vocabulary.plan(),
            self.tables,
            self.folds,
            self.outlines,
        )


def pcfg(grammar: Grammar, coarse: Grammar, lexicon: Lexicon, prune: float) -> PhraseModel:
    """A grammar with probabilities of rules by maximum likelihood."""
    base = grammar.log_probabilities().astype(np.float32)
    return PhraseModel(grammar, coarse, lexicon, PhraseVocabulary((), (), {}), base, prune=prune, family="joint")


def pruner_of(grammar: Grammar, coarse: Grammar, least: float) -> _core.PhrasePruner:
    """A grammar that is looked at where the coarse one gives at least that probability."""
    factors = np.exp(coarse.log_probabilities())
    return _core.PhrasePruner(grammar.native(), coarse.native(), factors, grammar.coarse_of(coarse), least)


def rule_columns(grammar: Grammar) -> tuple[Ints, int]:
    """[n_rules, 2] the columns of rows that a rule has, -1 for none, and how many columns there are.

    First come the phrases: a rule has the column of its parent, or of the top of its chain; then the rules themselves.
    A phrase that is its own top has no columns for that, and tags have none.
    """
    n_phrases, n_binary, n_unary = len(grammar.phrases), len(grammar.binary), len(grammar.unary)
    columns = np.full((grammar.n_rules, 2), -1, np.int32)
    columns[:n_binary] = np.stack([grammar.binary[:, 0], np.arange(n_binary) + n_phrases], 1)
    own = np.stack([grammar.unary[:, 0], np.arange(n_unary) + n_phrases + n_binary], 1)
    chains = np.array([grammar.is_chain(u) for u in range(n_unary)], bool)
    columns[n_binary : n_binary + n_unary][chains] = own[chains]
    return columns, n_phrases + n_binary + n_unary
