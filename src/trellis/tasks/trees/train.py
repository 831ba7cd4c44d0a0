"""From a treebank to a parser: read the grammar, encode, fit, assemble."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Unpack

import numpy as np

from trellis import _core
from trellis._support.arrays import starts_of
from trellis._support.errors import CorpusError
from trellis.corpus.objects import from_mapping
from trellis.corpus.tree import PhraseTree
from trellis.engine.weights import Rows
from trellis.evaluation.brackets import BracketReport
from trellis.features.phrases import phrase_templates, phrase_vocabulary
from trellis.features.vocabulary import Tables
from trellis.learning.fit import Fit, fingerprint, no_targets
from trellis.learning.run import Event, StopTrainingError
from trellis.learning.site_problem import SiteProblem, SiteWeights
from trellis.tasks.trees.decoding import LONGEST, TaggedWords
from trellis.tasks.trees.grammar import Markov, derive, read_grammar
from trellis.tasks.trees.lexicon import Lexicon
from trellis.tasks.trees.model import POS, WORD, TreeParser, clean_trees
from trellis.tasks.trees.options import PCFG, TreeOptions
from trellis.tasks.trees.warm_start import PhraseStart, check_start
from trellis.tasks.trees.weights import NO_ROWS, PhraseModel, pcfg, pruner_of, rule_columns

# Options without effect where nothing but counts is learnt.
OF_LEARNERS = ("features", "dev", "metric", "patience", "checkpoint", "sample_weight", "init")


def train(trees: Any, y: None = None, **options: Unpack[TreeOptions]) -> TreeParser:
    """Train a parser on trees.

    Parameters
    ----------
    trees
        List of ``PhraseTree``, or the name of a file in brackets.
    y
        None: trees have inputs and outputs in one.
    **options
        See `TreeOptions` (docs/trees.md).
    """
    fit = Fit(TreeOptions, options, metrics=BracketReport.metrics)
    no_targets(y, "trees have inputs and outputs in one")
    settings = fit.settings
    if settings.learner == PCFG:
        fit.reject(dict.fromkeys(OF_LEARNERS, 'with learner="pcfg", which counts rules'))
    markov = Markov(settings.vertical, settings.horizontal)
    treebank = _treebank(trees, "train on", settings.lenient)
    held_out = None if settings.dev is None else _treebank(settings.dev, "compare epochs on", settings.lenient)
    _check_labels(treebank)
    grammar, coarse = read_grammar(treebank, markov), read_grammar(treebank, Markov())
    lexicon = Lexicon.of((tag.word or "", tag.label) for tree in treebank for tag in tree.tags())
    corpus = from_mapping({WORD: [t.words for t in treebank], POS: [t.pos for t in treebank]}, None)
    facts = {"sentences": len(treebank), "tokens": corpus.n_tokens}
    steps = [grammar.steps(derive(tree, markov)) for tree in treebank]
    right_starts = starts_of([len(some) for some in steps])
    right = np.array([step for some in steps for step in some], np.int32).reshape(-1, 4)
    data = (corpus, right_starts, right, list(grammar.symbols))
    if settings.learner == PCFG:
        event = Event(1, epochs=1, tokens=corpus.n_tokens)  # counting is one epoch
        if fit.observer is not None:
            with suppress(StopTrainingError):
                fit.observer(event)
        record = fit.record([event], fingerprint(data), **facts)
        return TreeParser(pcfg(grammar, coarse, lexicon, settings.prune), settings.tagger, fit.notes, record)
    templates = phrase_templates(settings.features, list(corpus.columns))
    settings.features = [str(template) for template in templates]
    older = None if settings.init is None else check_start(settings.init, templates, markov)
    vocabulary, coded = phrase_vocabulary(templates, corpus)
    tags = {tag: len(grammar.phrases) + i for i, tag in enumerate(grammar.tags)}
    pos = corpus.column(POS)
    numbers = np.array([tags[tag] for tag in pos.values], np.int32)[pos.codes]
    words = TaggedWords(
        corpus.starts, np.arange(len(numbers) + 1, dtype=np.int64), numbers, np.zeros(len(numbers), np.float32)
    )
    pruner = pruner_of(grammar, coarse, settings.prune)
    native = _core.PhraseExamples(
        pruner, words, right_starts, right, vocabulary.plan(), coded, False, settings.n_threads
    )
    weighted = (native, *rule_columns(grammar), np.zeros(grammar.n_rules, np.float32))

    def objective() -> Any:
        vector = _core.PhraseObjective(*weighted)
        return vector, vector.rows

    def assemble(weights: SiteWeights, record: dict[str, Any]) -> TreeParser:
        learnt = Rows.of_tensors("rows", weights.arrays)
        sizes = np.diff(learnt.starts)
        kept = sizes > 0  # attributes without weights are dropped
        rank = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        rows = learnt.only(kept) if len(learnt.labels) else NO_ROWS
        base, known = np.zeros(grammar.n_rules, np.float32), (grammar, coarse, lexicon, vocabulary)
        tables, folds, outlines = (Tables(**some) for some in native.tables(rank))
        model = PhraseModel(*known, base, rows, tables, folds, outlines, settings.prune, fit.learner.family)
        return TreeParser(model, settings.tagger, fit.notes, record)

    settings.dev = None if held_out is None else [str(tree) for tree in held_out]
    n = len(treebank)
    problem = SiteProblem(
        right[:, 0],
        n,
        native,
        partial(_core.PhraseOnline, *weighted),
        objective,
        unit="rules",
        n_threads=settings.n_threads,
        sentence_weights=fit.weights(n, "tree"),
        initial=None if older is None else PhraseStart(older, vocabulary, grammar, native),
    )
    return fit.run(problem, assemble, data, fit.scorer(held_out), **facts)


def _treebank(trees: Any, purpose: str, lenient: bool) -> list[PhraseTree]:
    cleaned = clean_trees(trees, lenient=lenient)
    if not cleaned:
        raise CorpusError("", None, f"no trees to {purpose}; give at least one")
    return cleaned


def _check_labels(trees: list[PhraseTree]) -> None:
    """CorpusError for labels by which symbols of grammars could not be told apart."""
    for number, tree in enumerate(trees, 1):
        if (n := len(tree.words)) > LONGEST:
            raise CorpusError("", None, f"tree {number} has {n:,} words; a parser takes {LONGEST}: omit it")
        for node in tree.nodes():
            if not node.is_tag and (not node.label or node.label[0] in "@/" or "^" in node.label or "|" in node.label):
                raise CorpusError(
                    "", None, f"tree {number}: label {node.label!r}; a label has no ^ and |, and begins not with @ or /"
                )
