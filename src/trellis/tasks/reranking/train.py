"""From a corpus to a reranker: taggers of folds make the lists, tasks.structured learns from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trellis._support.arguments import instance, items, thread_count, whole_number
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.read import read
from trellis.evaluation.tagging import evaluate
from trellis.learning.learner import Learner
from trellis.learning.options import Schedule, check_not_empty
from trellis.learning.run import Observer, check_observer
from trellis.tasks.reranking.features import Feature, GlobalFeatures
from trellis.tasks.reranking.lists import (
    MAX_K,
    Cost,
    KBestList,
    check_cost,
    cost_named,
    kbest_lists,
    report,
    text_columns,
)
from trellis.tasks.reranking.model import ListProblem, Reranker
from trellis.tasks.structured.train import structure_learner
from trellis.tasks.structured.train import train as train_structured
from trellis.tasks.tagging.model import Tagger

MakeTagger = Callable[[Corpus], Tagger]


def train(
    corpus: Any,
    *,
    tagger: MakeTagger,
    learner: Learner | str | None = None,
    k: int = 20,
    folds: int = 5,
    features: Sequence[Feature] | None = None,
    cost: Cost = "auto",
    dev: Any = None,
    patience: int | None = None,
    observer: Observer | None = None,
    n_threads: int | None = None,
) -> Reranker:
    """Train a tagger and a reranker of its ``k`` best label sequences.

    ``tagger`` is a function that trains a tagger on a corpus, such as ``lambda part: trellis.train(part,
    target="chunk")``. It is called once per fold, without the fold's sentences, and once with the whole corpus.
    ``learner`` (default: the averaged perceptron) is one that ``trellis.tasks.structured.train`` takes, or its name.
    ``features`` are names of ``rerank.FEATURES``, templates, or functions from a ``Candidate`` to names or a dict
    (default: all that have names). ``cost`` says how bad a wrong candidate is: wrong "tokens", missed and false
    "spans", or "auto", spans where labels mark them. With ``dev``, a held-out corpus, the best epoch of the reranker on
    it is kept; with ``patience`` training stops after so many epochs without a better one. ``observer`` is called after
    every epoch of the reranker.
    """
    corpus = read(corpus)
    held_out = None if dev is None else read(dev)
    if held_out is not None:
        check_not_empty(held_out, "compare epochs on")
    # Taggers take long to train: first whatever can be known to be wrong, with the first of them the rest.
    learner = structure_learner(learner, stepwise=False)
    chosen = GlobalFeatures(features, list(corpus.columns)).chosen
    check_cost(cost)
    Schedule.of(dev, None, patience, None, None)
    check_observer(observer)
    thread_count(n_threads)

    def checked(part: Corpus) -> Tagger:
        made = _trained(tagger, part)
        GlobalFeatures(chosen, text_columns(made))
        cost_named(cost, corpus.column(made.target).values)
        if held_out is not None:
            for name in (*text_columns(made), made.target):
                held_out.column(name)
        return made

    lists = held_out_lists(corpus, checked, k=k, folds=folds, n_threads=n_threads)
    made = checked(corpus)
    dev_lists = None
    if held_out is not None:
        dev_lists = kbest_lists(made, held_out, k, held_out.sentences(made.target), n_threads)
    options: dict[str, Any] = {"features": chosen, "cost": cost, "observer": observer, "n_threads": n_threads}
    return fit(made, lists, learner, k=k, dev=dev_lists, patience=patience, **options)


def held_out_lists(
    corpus: Any, tagger: MakeTagger, *, k: int = 20, folds: int = 5, n_threads: int | None = None
) -> list[KBestList]:
    """The k best of every sentence by a tagger that was trained without it, in the order of the corpus.

    Sentence i is in fold i modulo ``folds``.
    """
    corpus = read(corpus)
    k = whole_number("k", k, 1, MAX_K)
    if len(corpus) < 2:
        raise CorpusError(corpus.source, None, "cross-validation needs two sentences or more")
    folds = whole_number("folds", folds, 2, len(corpus), ", the number of sentences")
    fold_of = np.arange(len(corpus)) % folds
    lists: list[KBestList | None] = [None] * len(corpus)
    for fold in range(folds):
        made = _trained(tagger, corpus.take(np.flatnonzero(fold_of != fold)))
        own = np.flatnonzero(fold_of == fold)
        part = corpus.take(own)
        for i, found in zip(own, kbest_lists(made, part, k, part.sentences(made.target), n_threads), strict=True):
            lists[i] = found
    return [one for one in lists if one is not None]


def fit(
    tagger: Tagger,
    lists: Sequence[KBestList],
    learner: Learner | str | None = None,
    *,
    k: int = 20,
    features: Sequence[Feature] | None = None,
    cost: Cost = "auto",
    dev: Sequence[KBestList] | None = None,
    patience: int | None = None,
    observer: Observer | None = None,
    n_threads: int | None = None,
) -> Reranker:
    """Train a reranker on lists that are already there, such as ``held_out_lists`` gives; see ``train``.

    ``tagger`` offers the lists of new sentences. The right output of a list is its cheapest candidate. ``dev`` are
    lists of that tagger.
    """
    instance("tagger", tagger, Tagger, "a tagger, such as trellis.train gives")
    found = _labelled("lists", lists, tagger)
    problem = ListProblem(
        GlobalFeatures(features, text_columns(tagger)), _typical_gap(found), cost_named(cost, tagger.labels)
    )
    k = whole_number("k", k, 1, MAX_K)
    model = train_structured(
        [(one, one.gold) for one in found],
        problem=problem,
        learner=learner,
        dev=None if dev is None else [(one, one) for one in _labelled("dev", dev, tagger)],
        metric=None if dev is None else _headline,
        patience=patience,
        observer=observer,
        n_threads=n_threads,
    )
    figures = report(found, cost=cost)
    lists_of_training = {
        "lists": {
            "sentences": len(found),
            "candidates": sum(len(one.candidates) for one in found),
            "first": figures.first.headline,
            "oracle": figures.oracle.headline,
        }
    }
    return Reranker(tagger, model, k, cost, training={**model.training, **lists_of_training})


def _labelled(name: str, lists: Any, tagger: Tagger) -> list[KBestList]:
    found = items(lists)
    if not found or any(not isinstance(one, KBestList) or one.gold is None for one in found):
        raise ArgumentError(f"{name} must be lists with the right labels, such as held_out_lists gives, not empty")
    for i, one in enumerate(found):
        for column in text_columns(tagger):
            if column not in one.candidates[0].sentence:
                has = ", ".join(one.candidates[0].sentence)
                raise ArgumentError(f"{name} must have the columns of the tagger; {i} has {has}, not {column}")
    return found


def _headline(ranks: list[int], lists: list[KBestList]) -> float:
    """Span F1 of what was chosen, or token accuracy where labels mark no spans."""
    chosen = [one.candidates[rank].labels for rank, one in zip(ranks, lists, strict=True)]
    return evaluate([one.gold or () for one in lists], chosen).headline


def _trained(tagger: MakeTagger, corpus: Corpus) -> Tagger:
    if not callable(tagger):
        raise ArgumentError(
            "tagger must be a function that trains one, such as lambda part: trellis.train(part, target='label'), "
            f"not {tagger!r}"
        )
    return instance("what tagger(corpus) gives", tagger(corpus), Tagger, "a tagger, such as trellis.train gives")


def _typical_gap(lists: Sequence[KBestList]) -> float:
    """The mean difference between the first and the second score: what makes scores of all taggers alike."""
    gaps = [one.candidates[0].score - one.candidates[1].score for one in lists if len(one.candidates) > 1]
    mean = float(np.mean(gaps)) if gaps else 1.0
    return mean if mean > 1e-6 else 1.0
