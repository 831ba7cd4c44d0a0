"""From a corpus to a tagger: features, then a learner, then the model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trellis
from trellis import _core
from trellis.arrays import Ragged
from trellis.corpus.corpus import Corpus
from trellis.corpus.read import read
from trellis.corpus.schemes import scheme_named
from trellis.errors import CorpusError, LearnerError
from trellis.evaluation.report import METRICS
from trellis.features.extraction import compact, extract, freeze, sources
from trellis.features.feature_set import Features, FeatureSet, feature_set
from trellis.features.names import attribute_names
from trellis.features.vocabulary import Vocabulary
from trellis.learners import learner_named
from trellis.learners.perceptron import Perceptron
from trellis.learning.checkpoint import Checkpoint
from trellis.learning.learner import Learner
from trellis.learning.problem import FeatureNames, Problem
from trellis.learning.run import Observer
from trellis.model.constraints import forbid, scheme_rules
from trellis.model.model import Model
from trellis.model.tag_dictionary import learn_tags
from trellis.model.weights import ChainWeights, padded
from trellis.tagger import Tagger
from trellis.threads import thread_count
from trellis.training.encoding import Pairs, Sizes, chained, dev_scorer, previous_labels, select
from trellis.training.labels import Costs, Labelling, cost_matrix, read_labels, sentence_weights
from trellis.training.warm_start import carried_over


def train(
    corpus: Any,
    *,
    target: str | None = None,
    features: Features | None = None,
    learner: Learner | str | None = None,
    order: int | None = None,
    cutoff: int = 0,
    pairs: Pairs | None = None,
    tag_dictionary: int | bool = False,
    partial: bool = False,
    scheme: str | None = None,
    sample_weight: npt.ArrayLike | None = None,
    label_costs: Costs | None = None,
    init: Tagger | None = None,
    dev: Any = None,
    metric: str = "auto",
    patience: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 1,
    observer: Observer | None = None,
    n_threads: int | None = None,
    info: Mapping[str, Any] | None = None,
) -> Tagger:
    """Train a tagger that predicts column ``target``.

    ``corpus`` is a Corpus or anything ``trellis.read`` takes. ``features`` is a preset's name ("default" if nothing is
    said), a template file or a list of templates. ``order`` is how many labels back a label looks: 1 or 2; 0 where the
    features ask for no label bigrams. ``cutoff`` drops features seen fewer times. ``pairs="seen"`` gives an attribute
    weights only for labels it was seen with, "all" for any; each learner has its own choice. ``tag_dictionary`` lets
    words seen often (5 times, or the number given) have only the labels they were seen with.

    ``scheme`` ("iob2", "iobes"...) forbids what is illegal in it, in training and in tagging. With ``partial`` a label
    may be empty (unknown) or ``A|B`` (one of A and B). ``sample_weight`` is a number a sentence, ``label_costs`` what
    it costs to miss a label, {"PER": 5.0}, or to take one for another, {("PER", "O"): 5.0}, for learners with a
    margin. ``init`` is a tagger to go on from: its labels and features are kept, new ones join them.

    With ``dev`` the best epoch on that corpus is kept, by ``metric`` (auto: span F1 where labels mark spans, else token
    accuracy; token, sentence, span); with ``patience`` training stops after so many epochs without a better one.
    ``checkpoint`` is a file in which training is kept every ``checkpoint_every`` epochs or iterations; the same call
    finds it and goes on from there, with the same bits as if it had never been stopped. ``observer`` is called after
    every epoch; it may raise StopTrainingError to end training with what there is. ``info`` (JSON) is kept in the
    model beside its history.
    """
    corpus = read(corpus)
    n_threads = thread_count(n_threads)
    learner = _learner(learner)
    name = type(learner).__name__
    if label_costs is not None and not learner.reads_costs:
        raise LearnerError(
            f"{name} has no place for label_costs; MIRA, PassiveAggressive, AROW and HMSVM have"
        )
    if init is not None and not learner.takes_init:
        raise LearnerError(f"{name} cannot start from another model; leave init out")
    if init is not None and init.model.weights.expansion is not None:
        raise LearnerError("training cannot start from a kernel model; leave init out")
    if init is not None and init.model.dictionary is not None:
        raise LearnerError("training cannot start from a model with a tag dictionary; train that one without")
    pairs = pairs or learner.default_pairs
    if len(corpus) == 0 or corpus.n_tokens == 0:
        raise CorpusError(corpus.source, None, "no sentences to train on")
    if pairs not in ("seen", "all"):
        raise LearnerError(f"pairs must be 'seen' or 'all', not {pairs!r}")
    if cutoff < 0 or tag_dictionary < 0:
        raise LearnerError(f"cutoff and tag_dictionary must not be negative: {cutoff}, {tag_dictionary}")
    if metric not in METRICS:
        raise LearnerError(f"no metric {metric!r}; the metrics are {', '.join(METRICS)}")
    if patience is not None and (patience < 1 or dev is None):
        raise LearnerError("patience is a number of epochs from 1 on, and needs a dev corpus")
    target = _target(target, init, list(corpus.columns))
    labelling = read_labels(corpus, target, partial=partial, known=init.labels if init else ())
    labels = labelling.labels
    chosen = _features(features, [name for name in corpus.columns if name != target], init)
    order = _order(order, chosen, init)
    forbidden = None if scheme is None else scheme_rules(corpus, target, labels, labelling.gold, scheme)

    extraction = extract(corpus, chosen, n_threads, init.model.vocabulary if init else None)
    seen_pairs = labelling.pairs()
    rank, seen = select(
        extraction.lists, seen_pairs, extraction.n_attributes, cutoff, pairs, extraction.known
    )
    lists = extraction.lists.renumber(rank)
    # The lists under their first numbers are as long as the corpus, and not wanted any more.
    extraction = replace(extraction, lists=Ragged.none())
    edge_rank, edge_lists, seen_edges = np.empty(0, np.int32), None, None
    if extraction.edge_lists is not None:
        before = previous_labels(labelling.gold, corpus.starts, len(labels))
        both = np.flatnonzero((before >= 0) & (labelling.gold >= 0))
        places = (before[both] * padded(len(labels)) + labelling.gold[both]).astype(np.int32)
        edge_rank, seen_edges = select(
            extraction.edge_lists,
            (both, places),
            extraction.n_edge_attributes,
            cutoff,
            "seen",
            extraction.known_edges,
        )
        edge_lists = extraction.edge_lists.renumber(edge_rank)

    dictionary, sets = None, None
    if tag_dictionary:
        if not extraction.vocabulary.columns:
            raise LearnerError("a tag dictionary needs a column of words")
        if init is not None:
            raise LearnerError("a tag dictionary cannot be learnt on top of an older model; leave it out")
        words = compact(corpus.column(extraction.vocabulary.columns[0].name))
        min_count = 5 if tag_dictionary is True else tag_dictionary
        tokens, tags = seen_pairs
        dictionary = learn_tags(words.codes[tokens], len(words.values), tags, len(labels), min_count)
        sets = dictionary.at(words.codes)

    if cutoff > 1 and rank.max(initial=-1) < 0:
        raise LearnerError(f"cutoff {cutoff} leaves no feature; choose a smaller one")
    sizes = Sizes(int(rank.max(initial=-1)) + 1, int(edge_rank.max(initial=-1)) + 1, len(labels))
    score_dev = None
    family = learner.family
    if dev is not None:
        frozen = freeze(extraction, rank, edge_rank)
        score_dev = dev_scorer(
            read(dev), target, labels, frozen, dictionary, sizes, metric, n_threads, local=family == "local"
        )
    initial = None
    if init is not None:
        numbers = chained(extraction.known, rank), chained(extraction.known_edges, edge_rank)
        initial = carried_over(
            init.model.weights, *numbers, sizes.n_attributes, sizes.n_edge_attributes, len(labels), order
        )
    problem = Problem(
        corpus=sizes.bind(corpus.starts, lists, edge_lists, sets),
        starts=corpus.starts,
        gold=labelling.gold,
        n_labels=len(labels),
        order=order,
        n_threads=n_threads,
        seen=seen,
        seen_edges=seen_edges,
        sources=sources(extraction, rank) if learner.reads_sources else None,
        names=(_names(labels, freeze(extraction, rank, edge_rank), sizes) if learner.reads_names else None),
        score_dev=score_dev,
        patience=patience,
        checkpoint=_checkpoint(
            checkpoint,
            checkpoint_every,
            corpus,
            lists,
            labelling,
            (learner.parameters(), name, order, pairs, cutoff),
        ),
        partial=labelling.partial,
        sentence_weights=sentence_weights(sample_weight, corpus),
        label_costs=cost_matrix(label_costs, labels),
        edge_base=None if forbidden is None else forbidden[0],
        end_base=None if forbidden is None else forbidden[1],
        initial=initial,
    )
    weights, history = learner.fit(problem, observer)
    if forbidden is not None:
        weights = forbid(weights, *forbidden)  # whatever the learner made of it

    # Attributes of which no weight is left are not kept.
    kept_rows, kept = weights.rows.without_empty()
    rank = chained(rank, kept)
    kept_edges, edges_kept = None, np.empty(0, np.int32)
    if weights.edge_rows is not None:
        kept_edges, edges_kept = weights.edge_rows.without_empty()
        edge_rank = chained(edge_rank, edges_kept)
    votes = None if weights.votes is None else weights.votes.renumbered(kept, edges_kept)
    dual = None if weights.dual is None else weights.dual.renumbered(kept)
    final = ChainWeights(
        len(labels), kept_rows, kept_edges, weights.edge, weights.tri, weights.end, votes, dual
    )
    kept_info = {
        "version": trellis.__version__,
        "learner": {"name": type(learner).__name__, **learner.parameters()},
        "sentences": len(corpus),
        "tokens": corpus.n_tokens,
        "cutoff": cutoff,
        "pairs": pairs,
        "corpus": {"columns": list(corpus.columns)},
        "history": [event.to_dict() for event in history],
        **({} if scheme is None else {"scheme": scheme_named(scheme)}),
        **(info or {}),
    }
    vocabulary = freeze(extraction, rank, edge_rank)
    return Tagger(Model(labels, target, order, vocabulary, final, dictionary, kept_info, family))


def partial_fit(tagger: Tagger, corpus: Any, *, learner: Learner | None = None, **more: Any) -> Tagger:
    """Another tagger that has learnt from new sentences as well, one epoch unless a learner says otherwise.

    Labels and features that are new join the old ones. ``more`` are other parameters of ``train``.
    """
    return train(corpus, learner=learner or Perceptron(epochs=1), init=tagger, **more)


def _learner(learner: Learner | str | None) -> Learner:
    if isinstance(learner, str):
        return learner_named(learner)()
    learner = Perceptron() if learner is None else learner
    if not isinstance(learner, Learner):
        raise LearnerError(
            f"learner must be a learner such as trellis.CRF(c2=1.0), the name of one or an instance of your own "
            f"subclass of trellis.Learner, not {learner!r}"
        )
    return learner


def _target(target: str | None, init: Tagger | None, columns: list[str]) -> str:
    if target is None and init is None:
        raise LearnerError(f"target must name the column to learn: one of {', '.join(columns)}")
    if init is not None and target not in (None, init.target):
        raise LearnerError(f"the older model predicts {init.target!r}, not {target!r}")
    return target or init.target  # type: ignore[union-attr]


def _features(features: Features | None, columns: list[str], init: Tagger | None) -> FeatureSet:
    if init is None:
        return feature_set("default" if features is None else features, columns)
    if features is not None:
        raise LearnerError("an older model brings its own features; leave them out")
    vocabulary = init.model.vocabulary
    bag = [] if vocabulary.bag is None else [f"{vocabulary.bag[0]}[0]"]
    return feature_set([*(str(template) for template in vocabulary.templates), *bag], columns)


def _names(labels: tuple[str, ...], vocabulary: Vocabulary, sizes: Sizes) -> FeatureNames:
    attributes = attribute_names(vocabulary, range(sizes.n_attributes))
    edge_attributes = attribute_names(vocabulary, range(sizes.n_edge_attributes), on_edge=True)
    return FeatureNames(labels, attributes, edge_attributes)


def _order(order: int | None, chosen: FeatureSet, init: Tagger | None) -> int:
    if init is not None and order not in (None, init.order):
        raise LearnerError(f"the older model has order {init.order}, not {order}")
    if init is not None:
        return init.order
    order = (1 if chosen.bigrams or chosen.on_edges else 0) if order is None else order
    if order not in (0, 1, 2):
        raise LearnerError(f"order must be 0, 1 or 2, not {order}")
    if order == 0 and chosen.on_edges:
        raise LearnerError("templates of label pairs (label[-1], B lines of CRF++) need order 1 or 2, not 0")
    return order


def _checkpoint(
    path: str | os.PathLike[str] | None,
    every: int,
    corpus: Corpus,
    lists: Ragged,
    labelling: Labelling,
    parameters: object,
) -> Checkpoint | None:
    """The checkpoint of this very training, told from others by a hash of what goes into it."""
    if path is None:
        return None
    if every < 1:
        raise LearnerError(f"checkpoint_every must be at least 1, not {every}")
    arrays = [corpus.starts, lists.ids, lists.values, labelling.gold]
    parts = [_core.hash_array(np.ascontiguousarray(array).view(np.uint8)) for array in arrays]
    return Checkpoint(Path(path), every, f"{trellis.__version__} {parameters} {labelling.labels} {parts}")
