"""From a corpus to a reranker: taggers of cross-validation folds make the lists, tasks.structured learns from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from trellis._support.arguments import instance, items, whole_number
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.read import read_examples
from trellis.evaluation.tagging import TaggingReport, evaluate
from trellis.learning.fit import Fit, corpus_of
from trellis.learning.learner import check_update
from trellis.learning.run import interrupts_raise
from trellis.tasks.reranking.features import GlobalFeatures
from trellis.tasks.reranking.lists import MAX_K, KBestList, cost_named, kbest_lists, report, text_columns
from trellis.tasks.reranking.model import ListProblem, Reranker
from trellis.tasks.reranking.options import RerankingOptions
from trellis.tasks.structured.options import StructuredOptions
from trellis.tasks.structured.train import train as train_structured
from trellis.tasks.tagging.model import Tagger

MakeTagger = Callable[[Corpus], Tagger]


def train(corpus: Any, y: Any = None, **options: Unpack[RerankingOptions]) -> Reranker:
    """Train a tagger and a reranker of its k best label sequences.

    Parameters
    ----------
    corpus
        Corpus, or anything that ``trellis.read`` accepts; with a trained ``tagger``, lists as made by
        ``held_out_lists``.
    y : list of list of str, optional
        Labels of every sentence, if ``corpus`` has sentences alone; their column is ``label``.
    tagger : callable or Tagger
        Required. Function that trains a tagger on a corpus, called for each fold and for the whole corpus, such as
        ``lambda part: trellis.train(part, target="chunk")``; or a trained tagger.
    learner : Learner or str, optional
        Online learner, `CRF`, `ExponentialLoss` or ``HMSVM(solver="frank-wolfe")`` (default: ``Perceptron()``).
    k : int, default 20
        Number of candidates per sentence.
    features : list, optional
        Names of feature functions, templates, or functions of a `Candidate` (default: all names).
    cost : str, default "auto"
        Cost of a candidate: wrong tokens or spans; ``"auto"``: spans if the labels encode them.
    folds : int, default 5
        Number of folds of the cross-validation that makes the lists.
    dev : data, optional
        Held-out data, in the form of the training data; the epoch with the best score on it is returned.
    metric : str, default "auto"
        Score on ``dev``: ``"token"`` or ``"sentence"`` accuracy, F1 of ``"span"``, or ``"auto"`` (F1).
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
    Reranker
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
    >>> corpus = trellis.read({"word": [["we", "can"], ["the", "can"]] * 5, "label": [["P", "V"], ["D", "N"]] * 5})
    >>> def tagger(part):
    ...     return trellis.train(part, target="label", features=["word[0]"], order=0, learner=trellis.CRF())
    >>> reranker = trellis.Reranker.train(corpus, tagger=tagger, k=4)
    >>> reranker.predict(["we", "can"])
    ['P', 'V']
    """
    fit = Fit(RerankingOptions, options, metrics=TaggingReport.metrics)
    settings = fit.settings
    # Training taggers is slow: check as much as possible before it, and the rest after the first tagger.
    check_update(getattr(settings.learner, "update", None), stepwise=False)
    if settings.init is not None:
        settings.init = instance("init", settings.init, Reranker, "a Reranker, as returned by trellis.load").model
    if isinstance(tagger := settings.tagger, Tagger):
        if y is not None:
            raise ArgumentError("y has no effect: the lists have the gold labels; omit it")
        fit.reject({"folds": "on candidate lists, which are already cross-validated"})
        lists = corpus
    else:
        tagger, lists = _tagger_and_lists(read_examples(corpus, y), fit)
    labelled = _labelled("lists", lists, tagger)
    features = GlobalFeatures(settings.features, text_columns(tagger))
    problem = ListProblem(features, _typical_gap(labelled), cost_named(settings.cost, tagger.labels))
    # Options of the structured model that chooses among the candidates.
    shared = {name: value for name, value in vars(settings).items() if name in StructuredOptions.__annotations__}
    if settings.dev is not None:
        held_out = [(item, item) for item in _labelled("dev", settings.dev, tagger)]
        shared |= {"dev": held_out, "metric": CandidateMetric(settings.metric)}
    model = train_structured([(item, item.gold) for item in labelled], problem=problem, **shared)
    figures = report(labelled, cost=settings.cost)
    # Other options of the structured model are not options of the reranker.
    record = {name: value for name, value in model.training.items() if name not in ("options", "problem")}
    record |= {"options": fit.differing} if fit.differing else {}
    record |= {"metric": settings.metric} if settings.dev is not None else {}
    record |= {
        "lists": {
            "sentences": len(labelled),
            "candidates": sum(len(item.candidates) for item in labelled),
            "first": figures.first.headline,
            "oracle": figures.oracle.headline,
        }
    }
    return Reranker(tagger, model, settings.k, settings.cost, model.info, record)


def _tagger_and_lists(corpus: Corpus, fit: Fit) -> tuple[Tagger, list[KBestList]]:
    """The tagger of a corpus, and the lists of taggers of its folds; a held-out corpus becomes lists too."""
    settings = fit.settings
    held_out = None if settings.dev is None else corpus_of(settings.dev, "compare epochs on")
    features = GlobalFeatures(settings.features, list(corpus.columns)).chosen
    fit.weights(len(corpus))

    def checked(part: Corpus) -> Tagger:
        tagger = _trained(settings.tagger, part)
        GlobalFeatures(features, text_columns(tagger))
        cost_named(settings.cost, corpus.column(tagger.target).values)
        if held_out is not None:
            for name in (*text_columns(tagger), tagger.target):
                held_out.column(name)
        return tagger

    lists = held_out_lists(corpus, checked, k=settings.k, folds=settings.folds, n_threads=settings.n_threads)
    tagger = checked(corpus)
    settings.features = features
    if held_out is not None:
        gold = held_out.sentences(tagger.target)
        settings.dev = kbest_lists(tagger, held_out, settings.k, gold, settings.n_threads)
    return tagger, lists


def held_out_lists(
    corpus: Any, tagger: MakeTagger, *, k: int = 20, folds: int = 5, n_threads: int | None = None
) -> list[KBestList]:
    """Tag each sentence with a tagger that was trained without it, and keep the k best label sequences.

    Parameters
    ----------
    corpus
        Sentences with labels.
    tagger
        Function that trains a tagger on a corpus.
    k
        Number of candidates per sentence.
    folds
        Number of folds; sentence i is in fold i modulo ``folds``.
    n_threads
        (int, optional) Number of threads (default: all cores); the result does not depend on it.

    Returns
    -------
    list[KBestList]
        One list per sentence, in the order of the corpus.
    """
    corpus = read_examples(corpus)
    k = whole_number("k", k, 1, MAX_K)
    if len(corpus) < 2:
        raise CorpusError(corpus.source, None, "cross-validation needs two sentences or more")
    folds = whole_number("folds", folds, 2, len(corpus), ", the number of sentences")
    fold_of = np.arange(len(corpus)) % folds
    lists: list[KBestList | None] = [None] * len(corpus)
    for fold in range(folds):
        model = _trained(tagger, corpus.take(np.flatnonzero(fold_of != fold)))
        numbers = np.flatnonzero(fold_of == fold)
        part = corpus.take(numbers)
        for i, entry in zip(numbers, kbest_lists(model, part, k, part.sentences(model.target), n_threads), strict=True):
            lists[i] = entry
    return [item for item in lists if item is not None]


@dataclass(frozen=True, slots=True)
class CandidateMetric:
    """Metric of the chosen labels."""

    metric: str

    def __call__(self, ranks: list[int], lists: list[KBestList]) -> float:
        """Metric of the candidates with these ranks."""
        outputs = [item.candidates[rank].labels for rank, item in zip(ranks, lists, strict=True)]
        return evaluate([item.gold or () for item in lists], outputs).figure(self.metric)


def _labelled(name: str, lists: Any, tagger: Tagger) -> list[KBestList]:
    elements = items(lists)
    if not elements or any(not isinstance(item, KBestList) or item.gold is None for item in elements):
        raise ArgumentError(
            f"{name} must be candidate lists with gold labels, as returned by held_out_lists, and not empty"
        )
    for i, item in enumerate(elements):
        for column in text_columns(tagger):
            if column not in item.candidates[0].sentence:
                has = ", ".join(item.candidates[0].sentence)
                raise ArgumentError(f"{name} must have the columns of the tagger; {i} has {has}, not {column}")
    return elements


def _trained(tagger: MakeTagger, corpus: Corpus) -> Tagger:
    if not callable(tagger):
        raise ArgumentError(
            "tagger must be a function that trains one, such as lambda part: trellis.train(part, target='label'), "
            f"not {tagger!r}"
        )
    with interrupts_raise():
        model = tagger(corpus)
    return instance("the value of tagger(corpus)", model, Tagger, "a Tagger, as returned by trellis.train")


def _typical_gap(lists: Sequence[KBestList]) -> float:
    """Mean difference between first and second score; scores are divided by it to make taggers comparable."""
    gaps = [item.candidates[0].score - item.candidates[1].score for item in lists if len(item.candidates) > 1]
    mean = float(np.mean(gaps)) if gaps else 1.0
    return mean if mean > 1e-6 else 1.0
