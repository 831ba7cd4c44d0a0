"""From a treebank to a parser: read the grammar, encode, fit, assemble."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np

from trellis import _core
from trellis._support.arguments import instance
from trellis._support.arrays import Arrays, Doubles, Floats, Longs, starts_of
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.objects import from_mapping
from trellis.corpus.tree import PhraseTree
from trellis.engine.weights import Rows
from trellis.evaluation.brackets import BracketReport
from trellis.features.carried_keys import Carrier, id_map, numbers_of
from trellis.features.known import keys_in_order
from trellis.features.phrases import PhraseVocabulary, phrase_templates, phrase_vocabulary
from trellis.features.templates import Template
from trellis.features.vocabulary import KeyTables
from trellis.learning.fit import Fit, fingerprint
from trellis.learning.parameters import nonzero
from trellis.learning.problem import SiteProblem
from trellis.learning.run import Event, StopTrainingError
from trellis.tasks.trees.decoding import LONGEST, PhraseModel, TaggedWords, pcfg, pruner_of, rule_columns
from trellis.tasks.trees.grammar import Grammar, Markov, derive, read_grammar
from trellis.tasks.trees.lexicon import Lexicon
from trellis.tasks.trees.model import POS, WORD, TreeParser, gold_trees
from trellis.tasks.trees.options import PCFG, TreeOptions

# Options without effect if only counts are learnt.
OF_LEARNERS = ("features", "dev", "metric", "patience", "checkpoint", "sample_weight", "init")


def train(trees: Any, y: Any = None, **options: Unpack[TreeOptions]) -> TreeParser:
    """Train a constituency parser.

    Parameters
    ----------
    trees
        List of `PhraseTree`, or name of a file in brackets; sentences if ``y`` has their trees.
    y : list of PhraseTree, optional
        Trees of the sentences.
    features : str, path or list of str, default "spans"
        Preset (``"spans"``, ``"rules"``), template file or list of templates.
    learner : Learner or str, optional
        Online learner, `CRF` or `ExponentialLoss` (default: ``Perceptron(epochs=6)``); ``"pcfg"`` counts rules, without
        features.
    vertical : int, default 1
        Vertical Markovization: number of ancestors, including the node.
    horizontal : int, default 0
        Horizontal Markovization: number of siblings.
    prune : float, default 1e-4
        Minimum probability of a phrase under a coarse grammar.
    tagger : Tagger, optional
        Tagger of words, stored in the parser, for sentences without tags.
    lenient : bool, default False
        Skip invalid trees in a file.
    dev : data, optional
        Held-out data, in the form of the training data; the epoch with the best score on it is returned.
    metric : str, default "auto"
        Score on ``dev``: ``"f1"`` or ``"auto"``, the same.
    patience : int, optional
        Number of epochs without a better score on ``dev`` after which training stops.
    checkpoint : path, optional
        File that training resumes from, with the same result as without an interruption.
    checkpoint_every : int, default 1
        Number of epochs between checkpoints.
    observer : callable, optional
        Function that gets an `Event` after each epoch; it may raise `StopTrainingError`.
    verbose : bool, default False
        Print one line per epoch on standard error.
    n_threads : int, optional
        Number of threads (default: all cores); the result does not depend on it.
    sample_weight : array-like, optional
        Weight of each sentence.
    init : model, optional
        Model for a warm start.
    info : dict, optional
        Notes to store in the model; values must be JSON-serialisable.

    Returns
    -------
    TreeParser
        The trained model.

    Raises
    ------
    LearnerError
        If an option is invalid, or has no effect with the other options.
    CorpusError
        If the data is invalid.

    Examples
    --------
    >>> import trellis
    >>> text = "(TOP (S (NP (D the) (N dog)) (VP (V barks)))) (TOP (S (NP (D a) (N cat)) (VP (V sleeps))))"
    >>> parser = trellis.TreeParser.train(trellis.parse_trees(text))
    >>> print(parser.predict([("a", "D"), ("dog", "N"), ("barks", "V")]))
    (TOP (S (NP (D a) (N dog)) (VP (V barks))))
    """
    fit = Fit(TreeOptions, options, metrics=BracketReport.metrics)
    settings = fit.settings
    if settings.learner == PCFG:
        fit.reject(dict.fromkeys(OF_LEARNERS, 'with learner="pcfg", which counts rules'))
    markov = Markov(settings.vertical, settings.horizontal)
    treebank = _treebank(gold_trees(trees, y, lenient=settings.lenient), "train on")
    held_out = None
    if settings.dev is not None:
        held_out = _treebank(gold_trees(settings.dev, lenient=settings.lenient), "compare epochs on")
    _check_labels(treebank)
    grammar, coarse = read_grammar(treebank, markov), read_grammar(treebank, Markov())
    lexicon = Lexicon.of((tag.word or "", tag.label) for tree in treebank for tag in tree.tags())
    corpus = from_mapping({WORD: [t.words for t in treebank], POS: [t.pos for t in treebank]}, None)
    facts = {"sentences": len(treebank), "tokens": corpus.n_tokens}
    steps = [grammar.steps(derive(tree, markov)) for tree in treebank]
    right_starts = starts_of([len(steps_of) for steps_of in steps])
    right = np.array([step for steps_of in steps for step in steps_of], np.int32).reshape(-1, 4)
    data = (corpus, right_starts, right, list(grammar.symbols))
    if settings.learner == PCFG:
        event = Event(1, epochs=1, tokens=corpus.n_tokens)  # counting takes one epoch
        if fit.observer is not None:
            with suppress(StopTrainingError):
                fit.observer(event)
        record = fit.record([event], fingerprint(data), **facts)
        return TreeParser(pcfg(grammar, coarse, lexicon, settings.prune), settings.tagger, fit.notes, record)
    templates = phrase_templates(settings.features, list(corpus.columns))
    settings.features = [str(template) for template in templates]
    previous = None if settings.init is None else check_start(settings.init, templates, markov)
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
    weighted = (native, {**rule_columns(grammar), "base": np.zeros(grammar.n_rules, np.float32)})

    def objective() -> Any:
        vector = _core.PhraseObjective(*weighted)
        slots = Rows(**vector.rows)
        return vector, lambda x: nonzero(slots, x, np.uint32).tensors("rows")

    def assemble(weights: Arrays, record: dict[str, Any]) -> TreeParser:
        rows, rank = Rows.of_tensors("rows", weights).without_empty()  # attributes without weights are dropped
        base, parts = np.zeros(grammar.n_rules, np.float32), (grammar, coarse, lexicon, vocabulary)
        tables, folds, outlines = (KeyTables(**arrays) for arrays in native.tables(rank))
        model = PhraseModel(*parts, base, rows, tables, folds, outlines, settings.prune, fit.learner.family)
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
        initial=None if previous is None else PhraseStart(previous, vocabulary, grammar, native),
    )
    return fit.run(problem, assemble, data, fit.scorer(held_out), **facts)


def _treebank(trees: list[PhraseTree], purpose: str) -> list[PhraseTree]:
    if not trees:
        raise CorpusError("", None, f"no trees to {purpose}; at least one is required")
    return trees


def _check_labels(trees: list[PhraseTree]) -> None:
    """CorpusError for labels that would make symbols of the grammar ambiguous."""
    for number, tree in enumerate(trees, 1):
        if (n := len(tree.words)) > LONGEST:
            raise CorpusError("", None, f"tree {number} has {n:,} words; at most {LONGEST} are supported: omit it")
        for node in tree.nodes():
            if not node.is_tag and (not node.label or node.label[0] in "@/" or "^" in node.label or "|" in node.label):
                raise CorpusError(
                    "", None, f"tree {number}: label {node.label!r}; labels cannot contain ^ or | or begin with @ or /"
                )


# ------------------------------------------------------------ warm starts


def check_start(init: Any, templates: tuple[Template, ...], markov: Markov) -> PhraseModel:
    """The initial model; LearnerError if its attributes are incompatible with the new training."""
    model: PhraseModel = instance("init", init, TreeParser, "a TreeParser, as returned by trellis.load").model
    if model.vocabulary.templates != templates:
        raise LearnerError("init was trained with other features; use the same")
    if model.grammar.markov != markov:
        raise LearnerError("init was trained with another vertical or horizontal order; use the same")
    return model


@dataclass(frozen=True, slots=True)
class PhraseStart:
    """The weights of an older parser for the attributes and rules of a new training."""

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
        """The older weights as a vector; ``learnt`` is the result of converting a vector of ones."""
        starts, columns = learnt["rows.starts"], learnt["rows.labels"]
        attributes, carried, weights = self._carried()
        n_columns = rule_columns(self.grammar)["n_columns"]
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
        selected = np.flatnonzero((attributes >= 0) & (columns >= 0))
        selected = selected[np.lexsort((columns[selected], attributes[selected]))]
        return attributes[selected], columns[selected], model.rows.weights[selected]

    def _attribute_map(self) -> Longs:
        """The number of every older attribute, -1 where the new trees do not have it."""
        model = self.model
        ranks = np.arange(self.examples.n_attributes, dtype=np.int32)
        tables, folds, outlines = (keys_in_order(KeyTables(**arrays)) for arrays in self.examples.tables(ranks))
        fold_keys = [keys for keys, _ in folds]
        old_folds = [keys for keys, _ in keys_in_order(model.folds)]
        measures = {list(self.vocabulary.MEASURE_BITS).index("outline"): self._outline_map(outlines[0][0])}
        carrier = Carrier(model.vocabulary, self.vocabulary, measures)
        out = np.full(model.rows.n_attributes, -1, np.int64)
        for t, (keys, ids) in enumerate(keys_in_order(model.tables)):
            carried, selected = carrier.keys(t, keys, old_folds, fold_keys, grows=False)
            place, _ = numbers_of(tables[t][0], carried, grows=False)
            out[ids[selected[place >= 0]]] = tables[t][1][place[place >= 0]]
        return out

    def _outline_map(self, outlines: Any) -> Longs:
        """The new number of every older outline, -1 for none. An outline is a shorter outline and a word's id."""
        slot = self.model.vocabulary.plan().outline
        old = keys_in_order(self.model.outlines)[0][0].tolist()
        out = np.full(len(old) + 1, -1, np.int64)
        out[0] = 0  # the empty one
        if slot < 0:
            return out
        column, view = self.vocabulary.layout().view_of(slot)
        former, new = self.model.vocabulary.columns[column], self.vocabulary.columns[column]
        ids = id_map(former, new, view, self.vocabulary.reach)
        number = {key: i for i, key in enumerate(outlines.tolist())}
        for i, key in enumerate(old):
            shorter, word = out[key >> 32], ids[key & 0xFFFFFFFF]
            if shorter >= 0 and word >= 0:
                out[i + 1] = number.get(int(shorter) << 32 | int(word), -2) + 1
        return out

    def _column_map(self) -> Longs:
        """The new column of every older column; phrases and rules are matched by their symbols."""
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
