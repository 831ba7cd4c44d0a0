"""A parser's model as data: a grammar, the one that prunes it, a lexicon, and weights of templates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trellis import _core
from trellis._support.arrays import Floats, Ints
from trellis.engine.weights import Rows
from trellis.features.phrases import PhraseVocabulary
from trellis.features.vocabulary import Tables
from trellis.tasks.trees.grammar import Grammar
from trellis.tasks.trees.lexicon import Lexicon

NO_TABLES = Tables(np.empty(0, np.uint64), np.empty(0, np.int32), np.zeros(1, np.int64))
EMPTY_TABLE = Tables(np.zeros(2, np.uint64), np.full(2, -1, np.int32), np.array([0, 2], np.int64))
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

    def native(self) -> _core.PhraseDecoder:
        """Checked for native code; ValueError or LookupError if it makes no sense."""
        columns, n_columns = rule_columns(self.grammar)
        return _core.PhraseDecoder(
            pruner_of(self.grammar, self.coarse, self.prune),
            columns,
            n_columns,
            self.base,
            self.rows,
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
