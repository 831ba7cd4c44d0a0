"""From a treebank to a parser: check options, encode, fit, assemble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Unpack

import numpy as np

from trellis import _core
from trellis._support.arguments import instance
from trellis._support.arrays import Arrays, Doubles, Floats, Longs, starts_of
from trellis._support.errors import LearnerError, TemplateError
from trellis.corpus.corpus import Column, Corpus
from trellis.evaluation.attachment import AttachmentReport
from trellis.features.arcs import ArcTemplates, ArcVocabulary, arc_templates, arc_vocabulary, default_templates
from trellis.features.carried_keys import Carrier, numbers_of
from trellis.features.places import Keys
from trellis.learning.fit import Fit, check_dev_labels, corpus_of
from trellis.learning.problem import SiteProblem
from trellis.tasks.parsing.model import Parser, short_sentences
from trellis.tasks.parsing.options import ParsingOptions
from trellis.tasks.parsing.treebank import HEAD, LABEL, DependencyTreebank, gold_corpus, read_dependencies
from trellis.tasks.parsing.weights import folds_of, rows_of


def train(corpus: Any, y: Any = None, **options: Unpack[ParsingOptions]) -> Parser:
    """Train a parser on the trees in the columns ``head`` and ``deprel`` of a corpus.

    Parameters
    ----------
    corpus
        Corpus, ``trellis.stream``, or anything that ``trellis.read`` accepts; sentences alone if ``y`` has the trees.
    y : list, optional
        Tree of every sentence: a `DependencyTree`, its heads, or its heads and labels.
    features : str, path or list of str, optional
        Preset, template file or list of templates of arcs (default: the templates of ``"ud"`` whose columns exist).
    learner : Learner or str, optional
        Online learner, `CRF` or `ExponentialLoss` (default: ``MIRA(C=0.01, epochs=10, shuffle=False)``).
    order : int, default 2
        1: scores of arcs; 2: also of pairs of siblings.
    projective : bool, default True
        Whether trees have no crossing arcs; False needs order 1.
    labelled : bool, optional
        Whether arcs have labels (default: if there is a column ``deprel``).
    filter : str or None
        Template; an arc is considered only if its value occurred in training (default: ``"pos[head] & pos[dep] &
        direction"``; None: all arcs).
    prune_weights : float, default 0.6
        Share of the weights that are dropped after training, the smallest ones.
    lenient : bool, default False
        Skip sentences without a valid tree.
    dev : data, optional
        Held-out data, in the form of the training data; the epoch with the best score on it is returned.
    metric : str, default "auto"
        Score on ``dev``: ``"las"``, ``"uas"`` or ``"auto"`` (LAS, or UAS without labels).
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
    Parser
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
    >>> words = [["the", "dog", "sees", "a", "cat"], ["a", "cat", "sleeps"]]
    >>> tags = [["D", "N", "V", "D", "N"], ["D", "N", "V"]]
    >>> heads = [["2", "3", "0", "5", "3"], ["2", "3", "0"]]
    >>> parser = trellis.Parser.train({"word": words, "pos": tags, "head": heads})
    >>> parser.predict({"word": ["the", "cat", "sleeps"], "pos": ["D", "N", "V"]}).heads
    [2, 3, 0]
    """
    fit = Fit(ParsingOptions, options, metrics=AttachmentReport.metrics)
    settings, learner = fit.settings, fit.learner
    if settings.order > 1 and not settings.projective:
        raise LearnerError("non-projective parsing requires order 1; train at order 1, or projective trees")
    gold = corpus_of(gold_corpus(corpus, y), "train on")
    treebank = read_dependencies(gold, labelled=settings.labelled, lenient=settings.lenient)
    names = () if treebank.labels is None else tuple(treebank.labels.values)
    if settings.dev is not None:
        dev = corpus_of(gold_corpus(settings.dev), "compare epochs on")
        held_out = read_dependencies(dev, labelled=treebank.labels is not None, lenient=settings.lenient)
        if settings.metric == "las" and not names:
            raise LearnerError("metric 'las' needs labelled arcs, but the arcs have no labels; use 'uas'")
        if settings.metric != "uas" and held_out.labels is not None:
            check_dev_labels(held_out.corpus, held_out.labels, names)
        settings.dev = held_out.corpus
    templates = _templates(treebank, settings)
    settings.features = [str(template) for template in templates.all]
    older = None if settings.init is None else check_start(settings.init, templates, treebank.labels is not None)
    vocabulary, coded = arc_vocabulary(templates, treebank.corpus, () if older is None else older.vocabulary.columns)
    if older is not None:
        names = tuple(dict.fromkeys((*names, *older.labels)))
    try:
        plan = vocabulary.plan(max(1, len(names)))
    except ValueError as error:
        raise LearnerError(str(error)) from error
    heads = treebank.heads
    if settings.projective:
        heads = _core.projective_heads(heads, treebank.corpus.starts)
    labels = np.zeros(len(heads), np.int32) if treebank.labels is None else treebank.labels.codes
    with short_sentences(treebank.corpus):
        data = _core.ArcData(plan, coded, treebank.corpus.starts)
    examples = _core.TreeExamples(data, heads, labels, settings.projective)

    def objective() -> Any:
        native = _core.TreeObjective(examples)
        return native, native.weights

    def assemble(weights: Arrays, record: dict[str, Any]) -> Parser:
        if settings.prune_weights:
            weights = {**weights, **plan.pruned(weights, settings.prune_weights)}
        return Parser(vocabulary, names, weights, settings.projective, learner.family, fit.notes, record)

    n = len(treebank.corpus)
    problem = SiteProblem(
        heads,
        n,
        examples,
        partial(_core.TreeOnline, plan, settings.projective),
        objective,
        unit="words",
        n_threads=settings.n_threads,
        sentence_weights=fit.weights(n),
        initial=None if older is None else ArcStart(older, vocabulary, names),
    )
    return fit.run(
        problem,
        assemble,
        treebank.corpus,
        fit.scorer(settings.dev),
        sentences=n,
        tokens=treebank.corpus.n_tokens,
        skipped=len(treebank.skipped),
        corpus={"columns": list(treebank.corpus.columns)},
    )


def _templates(treebank: DependencyTreebank, settings: SimpleNamespace) -> ArcTemplates:
    """The templates of the options, or the default templates of informative columns."""
    columns = [name for name in treebank.corpus.columns if name not in (HEAD, LABEL)]
    features = settings.features
    if features is None:
        features = default_templates([name for name in columns if _is_informative(treebank.corpus, name)])
        try:
            arc_templates(features, None, columns, settings.order)
        except TemplateError as error:
            why = f"default features need words and their tags: {error}; set features"
            raise TemplateError(why) from None
    templates = arc_templates(features, settings.filter, columns, settings.order)
    return templates if treebank.labels is not None else replace(templates, labelled=())


def _is_informative(corpus: Corpus, name: str) -> bool:
    """Whether a column has several values: in many treebanks some columns of CoNLL-U contain only ``_``."""
    column = corpus.columns[name]
    return isinstance(column, Column) and bool((column.codes != column.codes[:1]).any())


# ------------------------------------------------------------ warm starts


def check_start(init: Any, templates: ArcTemplates, labelled: bool) -> Parser:
    """The initial parser; LearnerError if its attributes are incompatible with the new training."""
    parser = instance("init", init, Parser, "a Parser, as returned by trellis.load")
    if parser.vocabulary.templates != templates:
        raise LearnerError("init was trained with other features, order or filter; use the same")
    if bool(parser.labels) != labelled:
        raise LearnerError("labelled must be the same as in the initial model")
    return parser


@dataclass(frozen=True, slots=True)
class ArcStart:
    """The weights of an older parser for a training with that vocabulary and those labels.

    Online learners start with all weights; batch learners with the weights of attributes in the new trees.
    """

    parser: Parser
    vocabulary: ArcVocabulary
    labels: tuple[str, ...]

    def state(self, state: Mapping[str, Any]) -> Arrays:
        """The state of new native weights, with the older weights in it."""
        tables, folds = ([state[name] for name in state if name.startswith(kind)] for kind in ("keys", "fold"))
        out = dict(state)
        for g, (numbers, columns, weights) in enumerate(self._carried(tables, folds, grows=True)):
            starts = state[f"rows{g}.starts"]
            owners = np.concatenate([np.repeat(np.arange(len(starts) - 1), np.diff(starts)), numbers])
            columns = np.concatenate([state[f"rows{g}.labels"], columns])
            # An attribute of the filter may be in both.
            _, at = np.unique(owners << 16 | columns, return_index=True)
            own = {
                "starts": starts_of(np.bincount(owners[at], minlength=len(tables[g]))).astype(np.uint32),
                "labels": columns[at].astype(np.uint32),
                "weights": np.concatenate([state[f"rows{g}.weights"], weights])[at],
                "sums": np.zeros(len(at)),
                "variances": np.ones(len(at), np.float32),
            }
            out |= {f"rows{g}.{name}": array for name, array in own.items()} | {f"keys{g}": tables[g]}
        return out | {f"fold{i}": keys for i, keys in enumerate(folds)}

    def vector(self, learnt: Any) -> Doubles:
        """The older weights as a vector; ``learnt`` is the result of converting a vector of ones."""
        rows = list(rows_of(learnt))
        vectors = list[Doubles]()
        for own, (numbers, columns, weights) in zip(
            rows, self._carried([own.keys for own in rows], folds_of(learnt), grows=False), strict=True
        ):
            vector = np.zeros(len(own.weights))
            codes, wanted = own.attributes << 16 | own.columns, numbers << 16 | columns
            at, _ = numbers_of(codes.view(np.uint64), wanted.view(np.uint64), grows=False)
            vector[at[at >= 0]] = weights[at >= 0]
            vectors.append(vector)
        return np.concatenate(vectors[: len(rows) - len(self.vocabulary.templates.filter)])  # the filter has no weights

    def _carried(self, tables: list[Keys], folds: list[Keys], *, grows: bool) -> Iterator[tuple[Longs, Longs, Floats]]:
        """For every group the older weights: numbers of attributes in the new tables and folds, columns, weights."""
        parser, carrier = self.parser, Carrier(self.parser.vocabulary, self.vocabulary)
        new_columns = self._new_columns()
        for g, own in enumerate(rows_of(parser.weights)):
            keys, kept = carrier.keys(g, own.keys, folds_of(parser.weights), folds, grows=grows)
            number = np.full(len(own.keys), -1, np.int64)
            number[kept], tables[g] = numbers_of(tables[g], keys, grows=grows)
            at = np.flatnonzero(number[own.attributes] >= 0)
            yield number[own.attributes[at]], new_columns[g][own.columns[at]], own.weights[at]

    def _new_columns(self) -> list[Longs]:
        """For every group the columns of the older weights in the new ones."""
        names = [self.labels.index(name) for name in self.parser.labels] or [0]
        out = list[Longs]()
        older, newer = (self.vocabulary.templates.blocks(len(some)) for some in (self.parser.labels, self.labels))
        for before, after in zip(older, newer, strict=True):
            labels = np.array(names if before.width > 1 or after.width > 1 else [0], np.int64)
            first = after.first + after.width * np.arange((before.end - before.first) // before.width)
            columns = (first[:, None] + labels).reshape(-1)
            if before.first == 0:
                out.append(columns)
            else:
                out[before.group] = np.concatenate([out[before.group], columns])
        return out
