"""From a treebank to a parser: read the grammar, encode, fit, assemble."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import trellis
from trellis import _core
from trellis._support.arguments import instance, real_number, thread_count, whole_number
from trellis._support.arrays import Arrays, Bools, Doubles, Floats, Ints, Longs, starts_of
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.objects import from_mapping
from trellis.corpus.tree import PhraseTree
from trellis.engine.weights import Rows
from trellis.features.phrases import PhraseVocabulary, phrase_templates, phrase_vocabulary
from trellis.features.vocabulary import TemplateSource
from trellis.learners.perceptron import Perceptron
from trellis.learning.checkpoint import Checkpoint, fingerprint
from trellis.learning.learner import Learner
from trellis.learning.online import ROWS
from trellis.learning.options import Schedule, plain, user_notes
from trellis.learning.run import Observer, State, check_observer, run
from trellis.learning.site_problem import SiteProblem, SiteWeights
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.training.parsers import parser_learner, refuse_l1
from trellis.tasks.trees.decoding import LONGEST
from trellis.tasks.trees.grammar import Grammar, Markov, derive, read_grammar
from trellis.tasks.trees.lexicon import Lexicon
from trellis.tasks.trees.model import POS, WORD, TreeParser, clean_trees
from trellis.tasks.trees.weights import NO_ROWS, PhraseModel, pcfg, pruner_of, rule_columns

PCFG = "pcfg"
DEFAULT = Perceptron(epochs=6)
ROW_ARRAYS = ("rows.starts", "rows.labels", "rows.weights")


@dataclass(frozen=True, slots=True)
class _Examples:
    """Sentences with their trees, for native code."""

    native: _core.PhraseExamples
    columns: tuple[Ints, int]  # of rules
    base: Floats

    def online(self, rule: str, k: int, c: float) -> _Online:
        return _Online(_core.PhraseOnline(self.native, *self.columns, self.base, rule, k, c))

    def vector(self) -> _Vector:
        return _Vector(_core.PhraseObjective(self.native, *self.columns, self.base))


class _Online:
    """Weights that change sentence by sentence (core/learn/phrases.hpp)."""

    def __init__(self, native: _core.PhraseOnline) -> None:
        self.native = native

    def epoch(self, order: Longs, weights: Doubles | None, batch: int, n_threads: int) -> tuple[int, int]:
        return self.native.epoch(order, weights, batch, n_threads)

    def weights(self, average: bool) -> Arrays:
        return dict(zip(ROW_ARRAYS, self.native.weights(average), strict=True))

    def state(self) -> Arrays:
        clock, rows = self.native.state()
        return {"clock": np.array([clock], np.int64), **dict(zip(ROWS, rows, strict=True))}

    def restore(self, state: State) -> None:
        rows: Any = tuple(state[name] for name in ROWS)
        self.native.restore(int(state["clock"][0]), rows)


class _Vector:
    """Weights of what right trees have, as one vector (core/learn/phrase_sums.hpp)."""

    def __init__(self, native: _core.PhraseObjective) -> None:
        self.native = native

    @property
    def size(self) -> int:
        return self.native.n_parameters

    def objective(self, kept: Bools | None) -> _core.Objective:
        refuse_l1(kept)
        return self.native

    def weights(self, vector: Doubles) -> SiteWeights:
        return SiteWeights(dict(zip(ROW_ARRAYS, self.native.rows(vector), strict=True)))


def train(
    trees: Any,
    *,
    features: TemplateSource | None = None,
    learner: Learner | str | None = None,
    vertical: int = 1,
    horizontal: int = 0,
    prune: float = 1e-4,
    tagger: Tagger | None = None,
    lenient: bool = False,
    dev: Any = None,
    patience: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    observer: Observer | None = None,
    n_threads: int | None = None,
    info: Mapping[str, Any] | None = None,
) -> TreeParser:
    """Train a parser on trees: a list of ``PhraseTree``, or the name of a file in brackets.

    ``learner`` is an online learner (default: ``Perceptron(epochs=6)``) or a CRF, which trains by the
    log loss, or the name of one; "pcfg" counts rules instead, without features. ``features`` is a preset's name
    ("spans", the default; "rules" has weights of rules only), a file or a list of templates of phrases (docs/trees.md).

    ``vertical`` is how many labels the symbol of a phrase is made of: its own, its parent's, ...; ``horizontal`` how
    many children before it the rest of a phrase remembers. What is less probable than ``prune`` by a grammar without
    these is not looked at. ``tagger`` gives tags to sentences without tags, and becomes part of the parser.

    With ``lenient`` what is not a tree in a file is skipped. With ``dev``, held-out trees, the epoch with the best
    bracket F1 is kept, with ``patience`` training stops after so many epochs without a better one. ``checkpoint``,
    ``observer``, ``n_threads`` and ``info`` are as in ``trellis.train``.
    """
    markov = Markov(whole_number("vertical", vertical, 1, 10), whole_number("horizontal", horizontal, 0, 10))
    prune = real_number("prune", prune, 0.0, 1.0)
    check_observer(observer)
    if tagger is not None:
        tagger = instance("tagger", tagger, Tagger, "a Tagger, such as trellis.load gives")
        if len(tagger.columns) != 1 or tagger.model.vocabulary.bag is not None:
            read = ", ".join(tagger.columns)
            raise LearnerError(
                f"tagger must read words alone, as sentences to parse have nothing else; it reads {read}"
            )
    chosen = None if isinstance(learner, str) and learner.lower() == PCFG else tree_learner(learner)
    _check_options(chosen, features, dev, patience, checkpoint)
    schedule, notes = Schedule.of(dev, None, patience, checkpoint, checkpoint_every), user_notes(info)
    threads = thread_count(n_threads)
    treebank = clean_trees(trees, lenient=lenient)
    held_out = None if dev is None else clean_trees(dev, lenient=lenient)
    _check_labels(treebank)
    grammar, coarse = read_grammar(treebank, markov), read_grammar(treebank, Markov())
    lexicon = Lexicon.of((tag.word or "", tag.label) for tree in treebank for tag in tree.tags())
    given = {"sentences": len(treebank), "vertical": markov.vertical, "horizontal": markov.horizontal}
    if chosen is None:
        return TreeParser(pcfg(grammar, coarse, lexicon, prune), tagger, notes, {**given, "learner": {"name": PCFG}})
    corpus = from_mapping({WORD: [t.words for t in treebank], POS: [t.pos for t in treebank]}, None)
    templates = phrase_templates("spans" if features is None else features, list(corpus.columns))
    vocabulary, coded = phrase_vocabulary(templates, corpus)
    steps = [grammar.steps(derive(tree, markov)) for tree in treebank]
    tags = {tag: len(grammar.phrases) + i for i, tag in enumerate(grammar.tags)}
    pos = corpus.column(POS)
    numbers = np.array([tags[tag] for tag in pos.values], np.int32)[pos.codes]
    words = (corpus.starts, np.arange(len(numbers) + 1, dtype=np.int64), numbers, np.zeros(len(numbers), np.float32))
    right_starts = starts_of([len(some) for some in steps])
    right = np.array([step for some in steps for step in some], np.int32).reshape(-1, 4)
    pruner = pruner_of(grammar, coarse, prune)
    plan = vocabulary.plan()
    native = _core.PhraseExamples(pruner, words, right_starts, right, plan, coded, False, threads)
    examples = _Examples(native, rule_columns(grammar), np.zeros(grammar.n_rules, np.float32))

    def assemble(weights: SiteWeights, **more: Any) -> TreeParser:
        model = _model(vocabulary, native, weights, grammar, coarse, lexicon, prune, chosen.family)
        return TreeParser(model, tagger, notes, {**given, **more})

    problem = SiteProblem(
        right[:, 0], len(treebank), threads, examples.online, examples.vector, patience=schedule.patience, unit="rules"
    )
    if held_out is not None:
        problem = replace(problem, score_dev=lambda w: assemble(w).evaluate(held_out, n_threads=threads).f1)
    if schedule.checkpoint is not None:
        parameters = json.dumps(chosen.epoch_parameters(), default=plain)
        kinds = [type(chosen).__name__, parameters, [str(t) for t in templates]]
        data = (right_starts, right, numbers, [(codes, views) for codes, views in coded])
        scored_on = None if held_out is None else [str(tree) for tree in held_out]
        key = fingerprint(trellis.__version__, *kinds, data, (list(grammar.symbols), prune), scored_on)
        problem = replace(problem, checkpoint=Checkpoint(schedule.checkpoint, schedule.every, key))
    learnt, history = run(problem, chosen.begin(problem), observer)  # type: ignore[arg-type]
    named = {"name": type(chosen).__name__, **chosen.parameters()}
    return assemble(learnt, learner=named, history=[event.to_dict() for event in history])


def tree_learner(given: Learner | str | None) -> Learner:
    """The learner, or the one of that name; LearnerError if it does not train parsers."""
    return parser_learner(DEFAULT if given is None else given, ' or "pcfg"')


def _check_options(learner: Learner | None, features: Any, dev: Any, patience: Any, checkpoint: Any) -> None:
    if learner is None:
        for name, value in (("features", features), ("dev", dev), ("patience", patience), ("checkpoint", checkpoint)):
            if value is not None:
                raise LearnerError(f'{name} has no effect with learner="pcfg", which counts rules; omit it')


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


def _model(
    vocabulary: PhraseVocabulary,
    native: _core.PhraseExamples,
    weights: SiteWeights,
    grammar: Grammar,
    coarse: Grammar,
    lexicon: Lexicon,
    prune: float,
    family: str,
) -> PhraseModel:
    """The model of learnt weights, without attributes that have none."""
    starts, labels, values = (weights.arrays[name] for name in ROW_ARRAYS)
    sizes = np.diff(starts)
    kept = sizes > 0
    rank = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    tables, folds, outlines = native.tables(rank)
    rows = (
        Rows(np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.uint32), labels, values)
        if len(values)
        else NO_ROWS
    )
    base = np.zeros(grammar.n_rules, np.float32)
    return PhraseModel(grammar, coarse, lexicon, vocabulary, base, rows, tables, folds, outlines, prune, family)
