"""From a corpus to a tagger in four steps: check options, encode, fit, assemble."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Unpack

import numpy as np

from trellis._support.arguments import instance
from trellis._support.arrays import Ints, Longs
from trellis._support.errors import LearnerError, warn
from trellis.corpus.corpus import BagColumn, Corpus, columns_named, default_target
from trellis.corpus.label_parts import LabelParts, check_separator
from trellis.corpus.on_disk import DiskCorpus
from trellis.corpus.read import read_examples
from trellis.corpus.schemes import scheme_named
from trellis.engine.weights import ChainWeights
from trellis.evaluation.tagging import TaggingReport
from trellis.features.extraction import freeze
from trellis.features.idle_strings import without_idle_strings
from trellis.features.known import attribute_names
from trellis.features.templates import history_name
from trellis.features.vocabulary import FeatureSet, Vocabulary, feature_set
from trellis.learners.online import MIRA
from trellis.learning.chain_problem import ChainProblem, FeatureNames
from trellis.learning.fit import Fit, corpus_digest, corpus_of
from trellis.learning.learner import DEFAULT_UPDATE, Learner
from trellis.learning.run import interrupts_raise
from trellis.tasks.tagging.chain_model import ChainModel, LabelFilter
from trellis.tasks.tagging.constraints import forbid, scheme_rules
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import SURVIVAL, TaggingOptions
from trellis.tasks.tagging.segments.training import segment_features, segmented
from trellis.tasks.tagging.segments.weights import SegmentModel
from trellis.tasks.tagging.training.bagging import NO_MEAN, fit_members
from trellis.tasks.tagging.training.dictionary import spans_twice, twice
from trellis.tasks.tagging.training.encoding import (
    SEPARATOR,
    Encoding,
    Setup,
    chained,
    check_memory,
    cost_matrix,
    encode,
    has_too_many_labels,
    read_labels,
    weighted_by_labels,
)
from trellis.tasks.tagging.training.warm_start import check_start

FREQUENT = 5  # default minimum count of words in a tag dictionary
SURE = 300  # for a smoothed one: rarer words also get the labels of words with the same suffix


def train(corpus: Any, y: Any = None, **options: Unpack[TaggingOptions]) -> Tagger:
    """Train a tagger that predicts the column ``target``.

    Short for ``Tagger.train``. The options in groups are objects: `Features`, `Labels`, `Search`, `Segments`.

    Parameters
    ----------
    corpus
        Corpus, ``trellis.stream``, or anything that ``trellis.read`` accepts; sentences alone if ``y`` has the labels.
    y : list of list of str, optional
        Labels of every sentence.
    target : str, optional
        Column to predict (default: ``label``, ``upos`` or the last column).
    features : str, path, list of str or Features, optional
        Preset, template file, list of templates, or a `Features` (default: preset ``"default"``, or the attributes if
        tokens have attributes).
    learner : Learner or str, optional
        Learner or its name (default: ``MIRA()``).
    order : int, optional
        Markov order: number of preceding labels (default: that of the templates).
    labels : Labels, optional
        Scheme, parts, weights and costs of gold labels, and whether labels may be unknown.
    search : Search, optional
        Beam width, pruning and tag dictionary.
    segments : bool or Segments, default False
        Train a semi-Markov model, with features of whole segments.
    documents : bool, default False
        Use two passes: a second model reads the labels that the first gives a word elsewhere in the document.
    bagging : int, default 1
        Number of trainings, each without a random tenth of the features; the model is their mean.
    workers : int or workers, optional
        Number of Ray processes, or workers of ``trellis.cluster.connect``; needs a ``trellis.stream``.
    dev : data, optional
        Held-out data, in any form of ``corpus``; the epoch with the best score on it is returned.
    metric : str, default "auto"
        Score on ``dev``: ``"token"`` or ``"sentence"`` accuracy, F1 of ``"span"``, or ``"auto"`` (F1 of spans, or token
        accuracy without spans).
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
    init : Tagger, optional
        Model for a warm start.
    info : dict, optional
        Notes to store in the model; values must be JSON-serialisable.

    Returns
    -------
    Tagger
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
    >>> X = [["the", "dog", "barks"], ["the", "cat", "sleeps"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"]]
    >>> tagger = trellis.train(X, y, learner=trellis.CRF())
    >>> tagger.predict(["the", "cat", "barks"])
    ['D', 'N', 'V']
    """
    if y is not None:
        options["target"] = target = options.get("target") or "label"
        corpus = read_examples(corpus, y, target=target)
    fit = Fit(TaggingOptions, options, metrics=TaggingReport.metrics)
    if fit.settings.documents:
        from trellis.tasks.tagging.training.documents import train_twice

        with interrupts_raise():
            return train_twice(fit, corpus)
    return train_once(fit, corpus)


def partial_fit(tagger: Tagger, corpus: Any, *, learner: Learner | None = None, **options: Any) -> Tagger:
    """Train a new tagger that starts from the weights of another one and learns from new sentences.

    New labels and features are added to those of ``tagger``, which does not change.

    Parameters
    ----------
    tagger
        Model to start from.
    corpus
        New sentences with labels: a Corpus or anything that ``trellis.read`` accepts.
    learner
        Learner (default: ``MIRA(epochs=1)``).
    **options
        Other options of ``trellis.train``.

    Returns
    -------
    Tagger
        The new tagger.

    Examples
    --------
    >>> import trellis
    >>> tagger = trellis.train([["the", "dog"]], [["D", "N"]])
    >>> newer = trellis.partial_fit(tagger, {"word": [["it", "barks"]], "label": [["PRP", "V"]]})
    >>> newer.predict(["it", "barks"])
    ['PRP', 'V']
    >>> tagger.labels
    ('D', 'N')
    """
    instance("tagger", tagger, Tagger, "a Tagger, as returned by trellis.load")
    return train(corpus, learner=MIRA(epochs=1) if learner is None else learner, init=tagger, **options)


def train_once(fit: Fit, corpus: Any) -> Tagger:
    """Check, encode, fit, assemble."""
    workers = fit.settings.workers
    if workers is None:
        setup = check(fit, corpus)
        return _fitted(fit, setup, encode(setup))
    from trellis.tasks.tagging.training.shards import encode_shards

    if isinstance(workers, int):  # Ray's workers, from a higher layer
        workers = importlib.import_module("trellis.interfaces.cluster.ray_workers").connect(None, workers)
    opening = workers if hasattr(workers, "__enter__") else nullcontext(workers)
    with opening as pool, encode_shards(fit, corpus, pool) as (setup, encoding):
        return _fitted(fit, setup, encoding)


def _fitted(fit: Fit, setup: Setup, encoding: Encoding) -> Tagger:
    """Fit, assemble."""
    problem, facts = complete(setup, encoding), setup.facts
    if fit.settings.bagging > 1:
        learnt, history, n_members = fit_members(problem, fit.learner, fit.settings.bagging, fit.observer)
        facts |= {"bagging": n_members} if n_members > 1 else {}
    else:
        learnt, history = fit.learn(problem)
    return assemble(setup, encoding, learnt, fit.record(history, setup.digest, **facts))


# ------------------------------------------------------------ check


def check(fit: Fit, source: Any) -> Setup:
    """Check the options and fill in all defaults, with the corpus and its labels."""
    settings, learner = fit.settings, fit.learner
    if settings.init is not None:
        check_start(settings.init, learner)
    # A worker's part of a corpus may be empty.
    corpus = source if isinstance(source, DiskCorpus) else corpus_of(source, "train on", settings.target)
    columns = list(corpus.columns)
    settings.target = _target(settings, columns)
    features = _features(settings, corpus, columns)
    if settings.segments:
        features = segment_features(features, corpus, learner, vars(settings))
    _check_templates(features, settings)
    # With learned dictionaries every sentence is used twice.
    copies = 1 if features.learned is None or settings.init is not None else 2
    digest, weights = corpus_digest(corpus), fit.weights(len(corpus))
    if copies == 2:
        corpus, weights = twice(corpus, weights)
    labels = () if settings.init is None else settings.init.labels
    labelling = read_labels(corpus, settings.target, partial=settings.partial, initial=labels)
    if settings.label_weights is not None:
        weights = weighted_by_labels(weights, settings.label_weights, labelling, corpus.starts)
    sizes = len(corpus), corpus.n_tokens
    settings.scheme, segmenting = _scheme(settings), None
    if settings.segments:
        longest = settings.segments.longest
        corpus, labelling, segmenting = segmented(corpus, settings.target, labelling, settings.scheme, longest)
        weights, sizes = segmenting.weights(weights), (len(corpus), corpus.n_tokens)
    settings.order = _order(settings, features, learner)
    settings.pairs, settings.beam = settings.pairs or learner.default_pairs, _beam(settings, learner)
    facts: dict[str, Any] = {"sentences": sizes[0] // copies, "tokens": sizes[1] // copies}
    facts |= {"corpus": {"columns": columns}, "scheme": settings.scheme}
    facts |= {"update": getattr(learner, "update", None) or DEFAULT_UPDATE} if features.far is not None else {}
    facts |= {} if segmenting is None else segmenting.facts(copies)
    frequent = _frequent(settings)
    if settings.prune == "auto":
        settings.prune = _pruning(settings, len(labelling.labels), learner, frequent)
        facts |= {"prune": "auto"} if settings.prune else {}
    elif settings.prune and settings.init is not None:
        raise LearnerError("prune cannot be combined with init; omit prune")
    settings.dev = None if settings.dev is None else corpus_of(settings.dev, "compare epochs on", settings.target)
    rules = None  # forbidden transitions; segments are always legal
    if settings.scheme is not None and segmenting is None:
        begin = 0
        for chunk in corpus.chunks():
            gold = labelling.gold[begin : begin + chunk.n_tokens]
            rules = scheme_rules(chunk, settings.target, labelling.labels, gold, settings.scheme)
            begin += chunk.n_tokens
    setup = Setup(
        fit,
        settings,
        learner,
        corpus,
        labelling,
        features,
        frequent=frequent,
        rules=rules,
        sentence_weights=weights,
        label_costs=cost_matrix(settings.label_costs, labelling.labels, learner),
        parts=_parts(settings, labelling.labels, learner),
        segmenting=segmenting,
        spans=spans_twice(corpus, settings.target, labelling) if copies == 2 else None,
        digest=digest,
        facts={name: fact for name, fact in facts.items() if fact is not None},
    )
    check_memory(setup)
    if settings.bagging > 1 and (setup.sparse or getattr(learner, "vote", False)):  # fail early
        raise LearnerError(NO_MEAN)
    return setup


def _target(settings: SimpleNamespace, columns: Sequence[str]) -> str:
    target: str | None = settings.target
    if settings.init is not None:
        previous: str = settings.init.target
        if target not in (None, previous):
            raise LearnerError(
                f"target={target!r} conflicts with the initial model, which predicts {previous!r}; omit target"
            )
        return previous
    target = default_target(columns) if target is None else target
    if target is None:
        raise LearnerError(f"target must name the column to learn: one of {', '.join(columns)}")
    return target


def _features(settings: SimpleNamespace, corpus: Any, columns: Sequence[str]) -> FeatureSet:
    features, target = settings.features, columns_named(settings.target, columns)
    inputs = [name for name in columns if name not in target]
    if settings.init is not None:
        vocabulary = settings.init.model.vocabulary
        previous = [*map(str, vocabulary.templates), *(() if vocabulary.bag is None else vocabulary.bag.templates)]
        if features is not None and feature_set(features, inputs).templates != feature_set(previous, inputs).templates:
            raise LearnerError("features differ from those of the initial model; omit features")
        features = previous
    elif features is None and len(inputs) == 1 and isinstance(corpus, Corpus):
        is_bag = isinstance(corpus.columns[inputs[0]], BagColumn)  # only a column of attributes
        features = [f"{inputs[0]}[0]"] if is_bag else None
    result = feature_set("default" if features is None else features, inputs)
    settings.features = [str(template) for template in (*result.templates, *result.of_segments)]
    return result


def _check_templates(chosen: FeatureSet, settings: SimpleNamespace) -> None:
    if settings.segments and any(template.far for template in chosen.templates):
        raise LearnerError("segments cannot be combined with templates of labels beyond the Markov order; omit them")
    if chosen.of_segments and not settings.segments:
        raise LearnerError(f"template {str(chosen.of_segments[0])!r} reads a segment; train with segments=True")
    if settings.partial and chosen.far is not None:
        raise LearnerError(f"template {str(chosen.far)!r} cannot be combined with partial labels; omit one of them")
    if chosen.learned is not None and settings.partial:
        raise LearnerError(
            f"template {str(chosen.learned)!r} learns a dictionary, which cannot be combined with partial labels; "
            "give a dictionary file, or omit one of them"
        )


def _pruning(settings: SimpleNamespace, n_labels: int, learner: Learner, frequent: int) -> tuple[float, ...]:
    """Resolve "auto": prune if there are too many labels and pruning is supported."""
    if frequent or settings.beam or not has_too_many_labels(n_labels, settings.order):
        return ()
    is_possible = "structures" in learner.abilities and not (settings.init or settings.segments)
    fate = "candidates are pruned; prune=False keeps all"
    if not is_possible:
        fate = "training and tagging may take hours; see prune, tag_dictionary and beam"
    warn(f"{n_labels:,} labels at order {settings.order}: {fate}")
    return (SURVIVAL,) if is_possible else ()


def _order(settings: SimpleNamespace, chosen: FeatureSet, learner: Learner) -> int:
    init, order = settings.init, settings.order
    if settings.segments:  # only the directly preceding label is available for them
        if chosen.history > 1:
            raise LearnerError(
                f"segments require order 1, but the templates read {history_name(chosen.history)}; omit these "
                "templates, or use another preset"
            )
        if order not in (None, 1):
            raise LearnerError(f"segments require order 1, not {order}; omit order")
        return 1
    if init is not None and order is not None and order < init.order:
        raise LearnerError(f"order={order} conflicts with the initial model, which has order {init.order}; omit order")
    if order is None:
        order = chosen.order if init is None else init.order
    if order > 2 and "orders" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} supports orders 0 to 2, not {order}; online learners, CRF, MaxEnt, "
            "ExponentialLoss, HMM and HMSVM(solver='frank-wolfe') support any order"
        )
    if init is None and order < chosen.history:
        name = history_name(chosen.history)
        raise LearnerError(f"templates of {name} need order {chosen.history} or more, not {order}; omit order")
    if chosen.longest.history > 1 and "histories" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} with these parameters does not support {str(chosen.longest)!r}, only label[-1]; "
            "use an online learner without vote, CRF, ExponentialLoss or HMSVM(solver='frank-wolfe')"
        )
    return int(order)


def _frequent(settings: SimpleNamespace) -> int:
    """Minimum count of words in the tag dictionary; 0: no dictionary."""
    value = settings.tag_dictionary
    number = FREQUENT if value is True else SURE if value == "smoothed" else int(value)
    if number and settings.init is not None:
        raise LearnerError("tag_dictionary cannot be combined with init; omit one of them")
    return number


def _beam(settings: SimpleNamespace, learner: Learner) -> int:
    """Beam width; 0: exact search."""
    if settings.beam is not None or settings.init is None:
        return settings.beam or 0
    beam: int = settings.init.model.weights.beam
    if beam and "beam" not in learner.abilities:
        raise LearnerError(
            f"the initial model uses beam search, but {type(learner).__name__} needs exact search; use an online "
            "learner without vote, or omit init"
        )
    return beam


def _scheme(settings: SimpleNamespace) -> str | None:
    """The full name of the scheme; an initial model determines it."""
    previous = None if settings.init is None else settings.init.training.get("scheme")
    scheme = None if settings.scheme is None else scheme_named(settings.scheme)
    if previous is not None and scheme not in (None, previous):
        raise LearnerError(f"scheme={scheme!r} conflicts with the initial model ({previous!r}); omit scheme")
    return scheme or previous


def _parts(settings: SimpleNamespace, labels: tuple[str, ...], learner: Learner) -> LabelParts | None:
    """The parts of the labels; those of an initial model are retained."""
    init: Tagger | None = settings.init
    prior = None if init is None or init.model.weights.parts is None else init.model.weights.parts.separator
    separator = prior if settings.label_parts is None else check_separator(settings.label_parts)
    if separator is None:
        return None
    if prior not in (None, separator):
        raise LearnerError(f"label_parts={separator!r} conflicts with the initial model ({prior!r}); omit label_parts")
    if "parts" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} with these parameters does not support label parts; use an online learner "
            "without vote, CRF, ExponentialLoss, MaxEnt(solver='lbfgs') or HMSVM(solver='frank-wolfe')"
        )
    if settings.partial is True and SEPARATOR in separator:
        raise LearnerError(
            f"partial labels A{SEPARATOR}B cannot be combined with the separator {separator!r}; use another separator"
        )
    parts = LabelParts.of(labels, separator)
    if parts is None:
        raise LearnerError(f"label_parts {separator!r} has no effect: no two labels share a part; omit it")
    if parts.n_columns > np.iinfo(np.uint16).max:
        raise LearnerError(f"{len(labels)} labels and {len(parts.names)} parts; at most 65,535 are supported")
    return parts


# ------------------------------------------------------------ fit


def complete(setup: Setup, encoding: Encoding) -> ChainProblem:
    """Complete the problem with names, the dev scorer and the checkpoint, which depend on its numbering."""
    problem, settings = encoding.problem, setup.settings
    frozen = functools.cache(lambda: freeze(encoding.extraction, encoding.rank, encoding.edge_rank))
    if setup.learner.reads_names:
        attributes = attribute_names(frozen(), range(problem.corpus.n_attributes))
        on_edges = attribute_names(frozen(), range(problem.corpus.n_edge_attributes), on_edge=True)
        problem = replace(problem, names=FeatureNames(setup.labelling.labels, attributes, on_edges))
    # Templates may read files (dictionaries, vectors, clusters) and call functions.
    vocabulary = encoding.extraction.vocabulary
    files = [(d.starts, d.symbols) for d in vocabulary.dictionaries], vocabulary.lookups, vocabulary.vectors
    numbers = encoding.rank, encoding.edge_rank, problem.seen_rows, problem.seen_edges
    problem = setup.fit.scheduled(problem, setup.digest, files, numbers, encoding.filter)

    def tagger(weights: ChainWeights) -> Tagger:
        segments = None
        if encoding.segments is not None:
            segments = encoding.segments.frozen(int(encoding.rank.max(initial=-1)) + 1)
        return _tagger(setup, encoding, frozen(), weights, encoding.filter, {}, segments)

    def tag(weights: ChainWeights, sentences: Longs) -> Ints:
        return tagger(weights).tag_column(setup.corpus.take(sentences), n_threads=settings.n_threads).codes

    scored = setup.fit.scorer(settings.dev)
    score = None if scored is None else lambda weights: scored(tagger(weights))
    return replace(problem, tag=tag, score_dev=score)


# ------------------------------------------------------------ assemble


def assemble(setup: Setup, encoding: Encoding, weights: ChainWeights, record: dict[str, Any]) -> Tagger:
    """Make the tagger of these weights; attributes without nonzero weights are dropped."""
    if not weights.is_finite():
        raise LearnerError("training diverged: weights are not finite; use smaller steps, costs or sample weights")
    label_filter = encoding.filter
    rows, renumbering = weights.rows.without_empty(None if label_filter is None else label_filter.rows)
    if label_filter is not None:
        label_filter = replace(label_filter, rows=label_filter.rows.only(renumbering >= 0))
    edge_rows, edge_renumbering = None, np.empty(0, np.int32)
    if weights.edge_rows is not None:
        edge_rows, edge_renumbering = weights.edge_rows.without_empty()
    weights = replace(
        weights,
        rows=rows,
        edge_rows=edge_rows,
        votes=None if weights.votes is None else weights.votes.renumbered(renumbering, edge_renumbering),
        dual=None if weights.dual is None else weights.dual.renumbered(renumbering),
    )
    segments = None
    if encoding.segments is not None:
        cut = len(renumbering) - encoding.segments.n_attributes
        renumbering, of_segments = renumbering[:cut], renumbering[cut:]
        first = int(renumbering.max(initial=-1)) + 1
        segments = encoding.segments.frozen(first, np.where(of_segments < 0, -1, of_segments - first).astype(np.int32))
    edge_rank = chained(encoding.edge_rank, edge_renumbering) if edge_rows is not None else encoding.edge_rank
    vocabulary = freeze(encoding.extraction, chained(encoding.rank, renumbering), edge_rank)
    n_kept, slim = rows.n_attributes + (0 if edge_rows is None else edge_rows.n_attributes), None
    if encoding.dictionary is None and segments is None and not vocabulary.dictionaries:  # they have words as numbers
        slim = without_idle_strings(vocabulary) if 2 * n_kept <= vocabulary.n_strings else None
    record |= {} if slim is None else {"idle_strings": "left out"}
    return _tagger(setup, encoding, slim or vocabulary, weights, label_filter, record, segments)


def _tagger(
    setup: Setup,
    encoding: Encoding,
    vocabulary: Vocabulary,
    weights: ChainWeights,
    label_filter: LabelFilter | None,
    training: dict[str, Any],
    segments: SegmentModel | None,
) -> Tagger:
    if setup.rules is not None:
        weights = forbid(weights, *setup.rules)  # restore minus infinity after training
    model = ChainModel(
        setup.labelling.labels,
        setup.settings.target,
        setup.settings.order,
        vocabulary,
        weights,
        encoding.dictionary,
        setup.fit.notes,
        setup.learner.family,
        filter=label_filter,
        endings=encoding.endings,
        segments=segments,
        training=training,
    )
    return Tagger(model)
