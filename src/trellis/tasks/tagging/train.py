"""From a corpus to a tagger in four steps: check what is asked for, encode, fit, assemble."""

from __future__ import annotations

import functools
import json
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import trellis
from trellis._support.arguments import items, thread_count, whole_number
from trellis._support.arrays import Floats, Ints, Longs
from trellis._support.errors import LearnerError
from trellis.corpus.blocks import CorpusStream
from trellis.corpus.corpus import BagColumn, Corpus, columns_named, default_target
from trellis.corpus.label_parts import LabelParts, check_separator
from trellis.corpus.read import read_examples
from trellis.corpus.schemes import scheme_named
from trellis.engine.weights import MAX_ORDER, ChainWeights
from trellis.evaluation.tagging import TaggingReport
from trellis.features.extraction import freeze
from trellis.features.idle_strings import without_idle_strings
from trellis.features.known import attribute_names
from trellis.features.templates import history_name
from trellis.features.vocabulary import FeatureSet, TemplateSource, Vocabulary, feature_set
from trellis.learners import learner_named
from trellis.learners.mira import MIRA
from trellis.learning.checkpoint import Checkpoint, fingerprint
from trellis.learning.learner import DEFAULT_UPDATE, Learner, Pairs, choice, flag, whole
from trellis.learning.options import Schedule, check_not_empty, plain, user_notes
from trellis.learning.run import LOG, Event, FeatureNames, Observer, Problem, check_observer
from trellis.tasks.tagging.chain_model import ChainModel, LabelFilter
from trellis.tasks.tagging.constraints import forbid, scheme_rules
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.segments.training import Segmenting, check_segments, segment_features, segmented
from trellis.tasks.tagging.segments.weights import Segments
from trellis.tasks.tagging.training.bagging import MOST_MEMBERS, NO_MEAN, fit_members
from trellis.tasks.tagging.training.documents import train_twice
from trellis.tasks.tagging.training.encoding import (
    SEPARATOR,
    Costs,
    Encoding,
    Labelling,
    Partial,
    Setup,
    chained,
    check_memory,
    cost_matrix,
    encode,
    has_too_many_labels,
    read_labels,
    sentence_weights,
    weighted_by_labels,
)
from trellis.tasks.tagging.training.entries import check_learned, spans_twice, twice
from trellis.tasks.tagging.training.pruning import SURVIVAL
from trellis.tasks.tagging.training.streaming import check_streamed, encode_stream, survey
from trellis.tasks.tagging.training.warm_start import check_start, features_of, order_from

FREQUENT = 5  # occurrences from which on a tag dictionary knows a word, unless a number is given
SURE = 300  # the same of a smoothed one: a rarer word may also have labels of words that end like it


def train(
    corpus: Any,
    y: Any = None,
    *,
    target: str | None = None,
    features: TemplateSource | None = None,
    learner: Learner | str | None = None,
    order: int | None = None,
    cutoff: int = 0,
    pairs: Pairs | None = None,
    tag_dictionary: int | bool | Literal["smoothed"] = False,
    beam: int | None = None,
    prune: float | bool | Sequence[float] | Literal["auto"] = "auto",
    partial: Partial = False,
    scheme: str | None = None,
    segments: bool | int = False,
    sample_weight: npt.ArrayLike | None = None,
    label_weights: Mapping[str, float] | None = None,
    label_costs: Costs | None = None,
    label_parts: str | None = None,
    init: Tagger | None = None,
    dev: Any = None,
    metric: str | None = None,
    patience: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    bagging: int = 1,
    document_features: bool = False,
    observer: Observer | None = None,
    n_threads: int | None = None,
    info: Mapping[str, Any] | None = None,
) -> Tagger:
    """Train a tagger that predicts column ``target`` (default: label, upos in CoNLL-U, else the last one).

    ``corpus`` is a Corpus, anything ``trellis.read`` takes, or for online learners a ``trellis.stream`` of blocks; or
    sentences without labels (lists of strings, of tuples, of dicts or lists of attributes) whose labels are in ``y``, a
    list of lists of strings.
    ``features`` is a preset's name (default: "default", or the attributes where there is nothing else), a template
    file or a list of templates. ``learner`` is a learner such as ``trellis.CRF(c2=0.5)`` or the name of one (default:
    ``MIRA()``). ``order`` is how many labels back a label looks: any number (some learners: up to 2); 0 where the
    features ask for no label bigrams.
    ``cutoff`` drops features seen fewer times. ``pairs="seen"`` gives an attribute weights only for labels it was seen
    with, "all" for any; the default depends on the learner. ``tag_dictionary`` lets words seen often (5 times, or the
    number given) have only the labels they were seen with; "smoothed" also the labels of rare words that end alike,
    unless the word was seen 300 times.
    ``prune`` makes training and tagging with many labels fast: a filter, trained first, leaves each token few candidate
    labels; the number is the share of gold labels that must survive it on held-out sentences (True: 0.997). "auto"
    prunes where there are more than 2,000 labels at order 1, or more than 200 above it. From order 2 on it may be a
    list of shares: the second prunes pairs of candidates, by a chain of order 1 over what is left, the third runs of
    three, and so on. ``beam``, at higher orders and where templates are about labels further back, is how many states
    per token best paths are looked for in, in training and in tagging; exact search, the default, looks at all that
    could win.

    ``scheme`` ("iob2", "iobes"...) forbids what is illegal in it, in training and in tagging. With ``partial`` a label
    may be empty (unknown) or ``A|B`` (one of A and B); with ``partial="missing"`` it may be empty, and ``|`` is part of
    labels such as ``Case=Nom|Number=Sing``. ``segments`` trains a semi-Markov model of labels that mark spans: whole
    segments have features beside those of their tokens, and none is longer than the longest of its type in training, or
    than the number given. ``sample_weight`` is one number per sentence; ``label_weights``, {"PER": 5.0},
    makes a sentence count by the mean weight of its gold labels (1 for those that are not named). ``label_costs`` is
    what it costs to miss a label, {"PER": 5.0}, or to take one for another, {("PER", "O"): 5.0} (gold label first), for
    learners with a margin. ``label_parts`` is what separates the parts of labels (``|`` in ``NOUN|Case=Nom``): parts
    then have weights beside whole labels, so that rare labels learn from what they share with others. ``init`` is a
    tagger for a warm start: training starts at its weights; its labels and features are kept, new ones join them, and
    ``order`` may be higher than its own.

    With ``dev`` the best epoch on that corpus is kept, by ``metric`` (default: "auto", span F1 where labels mark spans,
    else token accuracy; "token", "sentence", "span"); with ``patience`` training stops after so many epochs without a
    better one. ``checkpoint`` is a file that is written every ``checkpoint_every`` epochs (default: 1); the same call
    resumes from it, with the same bits as if it had never been stopped.

    ``bagging`` is how many times to train, each time without a random tenth of the features and, if the learner
    shuffles, in another order; the weights are the mean. The model is as large and as fast as with one training.
    ``document_features`` is for names: a second model learns what a first one says of the same word elsewhere in the
    document (``-DOCSTART-`` lines and ``# newdoc`` comments tell documents apart; sentences that are tagged together
    are one without). Training takes about seven times as long, tagging three times.

    ``observer`` is called after every epoch; it
    may raise StopTrainingError to end training with what there is. ``n_threads`` is the number of threads (default: all
    cores). ``info``, a dict of what JSON can hold, is kept in the model as ``tagger.info``.
    """
    given = dict(locals())
    stream = corpus if isinstance(corpus, CorpusStream) and y is None else None
    corpus = corpus if stream is not None else read_examples(corpus, y, target=target or "label")
    if flag().check("document_features", document_features):
        apart = ("corpus", "y", "features", "document_features")
        rest = {name: value for name, value in given.items() if name not in apart}
        return train_twice(train, corpus, features, rest)
    learner, partial = learner_of(learner), _partial(partial)
    segments = bool(segments) if isinstance(segments, np.bool_) else segments
    automatic = isinstance(prune, str) and prune == "auto"
    pruned: Any = False if automatic else prune
    if init is not None:
        check_start(init, learner)
    if stream is not None:
        needs_all: dict[str, Any] = {"init": init, "sample_weight": sample_weight, "label_weights": label_weights}
        needs_all |= {"tag_dictionary": tag_dictionary or None}
        check_streamed(learner, {**needs_all, "prune": pruned or None, "pairs": None if pairs == "all" else pairs})
    check_observer(observer)
    schedule = Schedule.of(dev, metric, patience, checkpoint, checkpoint_every)
    if stream is None:
        check_not_empty(corpus, "train on")
    columns = list(corpus.columns)
    target = _target(target, init, columns)
    labelled = columns_named(target, columns)
    inputs = [name for name in columns if name not in labelled]
    if features is None and init is None and stream is None and len(inputs) == 1:
        alone = isinstance(corpus.columns[inputs[0]], BagColumn)  # attributes, and nothing else
        features = [f"{inputs[0]}[0]"] if alone else None
    chosen = _features(features, inputs, init)
    longest = None
    if segments is not False:
        refused = {"a stream": stream, "init": init, "partial": partial, "beam": beam}
        longest = check_segments(
            segments,
            learner,
            {**refused, "tag_dictionary": tag_dictionary, "prune": pruned, "label_parts": label_parts},
        )
        chosen = segment_features(chosen, corpus)
        if any(template.far for template in chosen.templates):
            raise LearnerError("templates about labels further back have no place in a model of segments; omit them")
    elif chosen.of_segments:
        raise LearnerError(f"template {str(chosen.of_segments[0])!r} is about a segment; train with segments=True")
    if partial and chosen.far is not None:
        raise LearnerError(f"template {str(chosen.far)!r} needs labels that are fully known; omit it, or partial")
    copies, weights = 1 if chosen.learned is None or init is not None else 2, None
    if chosen.learned is not None:
        check_learned(chosen.learned, stream=stream, partial=partial)
    seen = None if stream is None else survey(stream, target, chosen.columns, partial=partial)
    if seen is not None:
        corpus, labelling, sizes = seen.corpus, seen.labelling, (seen.n_sentences, seen.n_tokens)
    else:
        weights = sentence_weights(sample_weight, corpus)
        if copies == 2:
            corpus, weights = twice(corpus, weights)
        labelling = read_labels(corpus, target, partial=partial, known=init.labels if init is not None else ())
        if label_weights is not None:
            weights = weighted_by_labels(weights, label_weights, labelling, corpus.starts)
        sizes = len(corpus), corpus.n_tokens
    scheme, segmenting = _scheme(scheme, init), None
    if segments is not False:
        corpus, labelling, segmenting = segmented(corpus, target, labelling, scheme, longest)
        weights, sizes = segmenting.weights(weights), (len(corpus), corpus.n_tokens)
    order = _order(order, chosen, init, learner) if segmenting is None else _segment_order(order, chosen)
    frequent, beam = _frequent(tag_dictionary, init), _beam(beam, init, learner)
    if automatic and not frequent and not beam and has_too_many_labels(len(labelling.labels), order):
        pruned = "structures" in learner.abilities and seen is None and init is None and segmenting is None
        fate = "candidates are pruned; prune=False keeps all"
        if not pruned:
            fate = "training and tagging may take hours; see prune, tag_dictionary and beam"
        LOG.warning("%s labels at order %s: %s", f"{len(labelling.labels):,}", order, fate)
    setup = Setup(
        corpus,
        target,
        labelling,
        chosen,
        learner,
        order=order,
        cutoff=whole().check("cutoff", cutoff),
        pairs=choice("seen", "all").check("pairs", learner.default_pairs if pairs is None else pairs),
        frequent=frequent,
        smoothed=tag_dictionary == "smoothed",
        rules=None if segmenting is not None else _rules(scheme, corpus, target, labelling),
        sentence_weights=weights,
        label_costs=_costs(label_costs, labelling.labels, learner),
        parts=_parts(label_parts, labelling.labels, learner, init, partial=partial),
        beam=beam,
        shares=_shares(pruned, init),
        prunes_by_default=automatic and bool(pruned),
        segmenting=segmenting,
        spans=spans_twice(corpus, target, labelling) if copies == 2 else None,
        init=init,
        dev=None if dev is None else read_examples(dev, target=target),
        metric=None if metric is None else choice(*TaggingReport.metrics).check("metric", metric),
        schedule=schedule,
        bagging=whole(1, MOST_MEMBERS).check("bagging", bagging),
        n_threads=thread_count(n_threads),
        info=user_notes(info),
        training=_about(sizes, copies, columns, learner, scheme, segmenting, stepwise=chosen.far is not None),
    )
    check_memory(setup)
    if setup.bagging > 1 and (setup.sparse or getattr(learner, "vote", False)):  # before time is spent
        raise LearnerError(NO_MEAN)
    encoding = encode(setup) if seen is None else encode_stream(setup, seen, scheme)
    problem = complete(setup, encoding)
    if setup.bagging > 1:
        learnt, history, made = fit_members(problem, learner, setup.bagging, observer)
        setup = replace(setup, bagging=made)
    else:
        learnt, history = learner.fit(problem, observer)
    return assemble(setup, encoding, learnt, history)


# ------------------------------------------------------------ check


def learner_of(given: Learner | str | None) -> Learner:
    """The learner that is given, or the one of that name, or the one that is taken where none is given."""
    if isinstance(given, str):
        return learner_named(given)()
    given = MIRA() if given is None else given
    if not isinstance(given, Learner):
        raise LearnerError(
            "learner must be a learner such as trellis.CRF(c2=1.0), the name of one or an instance of your own "
            f"subclass of trellis.Learner, not {given!r}"
        )
    return given


def _target(target: str | None, init: Tagger | None, columns: Sequence[str]) -> str:
    if init is not None:
        if target not in (None, init.target):
            raise LearnerError(f"the older model predicts {init.target!r}, not {target!r}")
        return init.target
    target = default_target(columns) if target is None else target
    if target is None:
        raise LearnerError(f"target must name the column to learn: one of {', '.join(columns)}")
    return target


def _features(features: TemplateSource | None, columns: Sequence[str], init: Tagger | None) -> FeatureSet:
    if init is not None and features is not None:
        raise LearnerError("an older model brings its own features; omit them")
    if init is not None:
        features = features_of(init)
    return feature_set("default" if features is None else features, columns)


def _order(order: int | None, chosen: FeatureSet, init: Tagger | None, learner: Learner) -> int:
    if order is not None:
        order = whole(0, MAX_ORDER).check("order", order)
    if init is not None:
        order = order_from(init, order)
    elif order is None:
        order = chosen.order
    if order > 2 and "orders" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} trains at orders 0 to 2, not {order}; online learners, CRF, MaxEnt, "
            "ExponentialLoss, HMM and HMSVM by frank-wolfe train at any order"
        )
    if init is None and order < chosen.history:
        name = history_name(chosen.history)
        raise LearnerError(f"templates of {name} need order {chosen.history} or more, not {order}; leave order out")
    if chosen.longest.history > 1 and "histories" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} with these parameters has no weights for {str(chosen.longest)!r}; online "
            "learners without votes, CRF, ExponentialLoss and HMSVM by frank-wolfe have, others take label[-1]"
        )
    return order


def _segment_order(order: int | None, chosen: FeatureSet) -> int:
    """Segments are scored with the label before them, no more."""
    if chosen.history > 1:
        raise LearnerError(
            f"segments have order 1, and templates ask for {history_name(chosen.history)}; leave those out, or take "
            "another preset"
        )
    if order not in (None, 1):
        raise LearnerError(f"segments have order 1, not {order}; omit it")
    return 1


def _frequent(tag_dictionary: int | bool | str, init: Tagger | None) -> int:
    if isinstance(tag_dictionary, str):
        choice("smoothed").check("tag_dictionary", tag_dictionary)
        tag_dictionary = SURE
    elif isinstance(tag_dictionary, bool | np.bool_):
        tag_dictionary = FREQUENT if tag_dictionary else 0
    number: int = whole().check("tag_dictionary", tag_dictionary)
    if number and init is not None:
        raise LearnerError("a tag dictionary cannot be learnt on top of an older model; omit it")
    return number


def _beam(beam: int | None, init: Tagger | None, learner: Learner) -> int:
    if beam is None:
        kept = 0 if init is None else init.model.weights.beam
        if kept and "beam" not in learner.abilities:
            name = type(learner).__name__
            raise LearnerError(
                f"the model in init searches by a beam, and {name} needs exact search; choose an online learner "
                "without votes, or leave init out"
            )
        return kept
    return whole_number("beam", beam, 1, 2**31 - 1)


def _shares(prune: float | bool | Sequence[float], init: Tagger | None) -> tuple[float, ...]:
    """What ``prune`` stands for: a share of gold labels per level, none without pruning."""
    given: Any = prune
    if isinstance(given, bool | np.bool_):
        if not given:
            return ()
        given = SURVIVAL
    shares = [given] if isinstance(given, numbers.Real) else items(given)
    if not shares or not all(map(_is_share, shares)):
        raise LearnerError(
            "prune must be 'auto', True, False or the share of gold labels to survive, above 0 and at most 1, not "
            f"{prune!r}"
        )
    if init is not None:
        raise LearnerError("a filter cannot be learnt on top of an older model; leave prune out")
    return tuple(float(share) for share in shares)


def _is_share(given: Any) -> bool:
    return isinstance(given, int | float | np.integer | np.floating) and bool(0 < given <= 1)


def _scheme(scheme: str | None, init: Tagger | None) -> str | None:
    """The scheme by its full name; that of an older model holds on."""
    older = None if init is None else init.training.get("scheme")
    scheme = None if scheme is None else scheme_named(scheme)
    if older is not None and scheme not in (None, older):
        raise LearnerError(f"the older model keeps to {older}, not to {scheme}; leave the scheme out")
    return scheme or older


def _rules(scheme: str | None, corpus: Corpus, target: str, labelling: Labelling) -> tuple[Floats, Floats] | None:
    """What the scheme forbids."""
    return None if scheme is None else scheme_rules(corpus, target, labelling.labels, labelling.gold, scheme)


def _costs(costs: Costs | None, labels: tuple[str, ...], learner: Learner) -> Floats | None:
    if costs is not None and not learner.reads_costs:
        raise LearnerError(
            f"{type(learner).__name__} has no place for label_costs; MIRA, PassiveAggressive, AROW and HMSVM have"
        )
    return cost_matrix(costs, labels)


def _partial(value: Any) -> Partial:
    if isinstance(value, str) and value == "missing":
        return "missing"
    found: bool = replace(flag(), wanted="True, False or 'missing'").check("partial", value)
    return found


def _parts(
    separator: str | None, labels: tuple[str, ...], learner: Learner, init: Tagger | None, *, partial: Partial
) -> LabelParts | None:
    """The parts of the labels; an older model that has parts keeps them."""
    older = None if init is None or init.model.weights.parts is None else init.model.weights.parts.separator
    separator = older if separator is None else check_separator(separator)
    if separator is None:
        return None
    if older not in (None, separator):
        raise LearnerError(f"the older model has parts of labels by {older!r}, not {separator!r}; omit them")
    if "parts" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} with these parameters has no weights for parts of labels; online learners "
            "without votes, CRF, ExponentialLoss, MaxEnt by lbfgs and HMSVM by frank-wolfe have"
        )
    if partial is True and SEPARATOR in separator:
        raise LearnerError(f"partial labels A{SEPARATOR}B cannot be told from parts by {separator!r}; choose one")
    found = LabelParts.of(labels, separator)
    if found is None:
        raise LearnerError(f"label_parts {separator!r} has no effect: no two labels share a part; omit it")
    if found.n_columns > np.iinfo(np.uint16).max:
        raise LearnerError(f"{len(labels)} labels and {len(found.names)} parts; 65,535 are allowed")
    return found


def _about(
    sizes: tuple[int, int],
    copies: int,
    columns: list[str],
    learner: Learner,
    scheme: str | None,
    segmenting: Segmenting | None,
    *,
    stepwise: bool,
) -> dict[str, Any]:
    """What the model will say of its training, as it is after a file was written and read.

    ``copies``: how often every sentence is in the corpus that is learned from.
    """
    about = {
        "version": trellis.__version__,
        "learner": {"name": type(learner).__name__, **learner.parameters()},
        "sentences": sizes[0] // copies,
        "tokens": sizes[1] // copies,
        "corpus": {"columns": columns},
        **({"update": getattr(learner, "update", None) or DEFAULT_UPDATE} if stepwise else {}),
        **({} if scheme is None else {"scheme": scheme}),
        **({} if segmenting is None else segmenting.about(copies)),
    }
    converted: dict[str, Any] = json.loads(json.dumps(about, default=plain))
    return converted


# ------------------------------------------------------------ fit


def complete(setup: Setup, encoding: Encoding) -> Problem:
    """The problem with what depends on its numbering: names, tagging, the checkpoint of this very training."""
    problem, dev = encoding.problem, setup.dev
    frozen = functools.cache(lambda: freeze(encoding.extraction, encoding.rank, encoding.edge_rank))
    n_tokens_attributes = int(encoding.rank.max(initial=-1)) + 1
    frozen_segments = functools.cache(
        lambda: None if encoding.segments is None else encoding.segments.frozen(n_tokens_attributes)
    )
    if setup.learner.reads_names:
        attributes = attribute_names(frozen(), range(problem.corpus.n_attributes))
        on_edges = attribute_names(frozen(), range(problem.corpus.n_edge_attributes), on_edge=True)
        problem = replace(problem, names=FeatureNames(setup.labelling.labels, attributes, on_edges))
    checkpoint = setup.schedule.checkpoint
    if checkpoint is not None:
        # What is equal in all of this gives the same weights, for any number of threads.
        parts = (
            trellis.__version__,
            type(setup.learner).__name__,
            json.dumps(setup.learner.epoch_parameters(), default=plain),
            setup.labelling.labels,
            [str(template) for template in setup.features.templates],
            [column.values for column in encoding.extraction.vocabulary.columns],
            [(entries.starts, entries.symbols) for entries in encoding.extraction.vocabulary.dictionaries],
            replace(problem, n_threads=1, blocks=None, patience=None),
            encoding.filter,
            None if setup.segmenting is None else (setup.segmenting.types, list(map(str, setup.features.of_segments))),
            encoding.digests,
            setup.metric or "auto",
            None if dev is None else (dev.starts, [dev.columns[name] for name in sorted(dev.columns)]),
        )
        problem = replace(problem, checkpoint=Checkpoint(checkpoint, setup.schedule.every, fingerprint(*parts)))

    def tagger(weights: ChainWeights) -> Tagger:
        return _tagger(setup, encoding, frozen(), weights, encoding.filter, {}, frozen_segments())

    def tag(weights: ChainWeights, sentences: Longs) -> Ints:
        return tagger(weights).tag_column(setup.corpus.take(sentences), n_threads=setup.n_threads).codes

    def score(weights: ChainWeights) -> float:
        return tagger(weights).evaluate(dev, n_threads=setup.n_threads).figure(setup.metric or "auto")

    # The sentences of a stream are not there to be tagged.
    return replace(problem, tag=tag if problem.blocks is None else None, score_dev=None if dev is None else score)


# ------------------------------------------------------------ assemble


def assemble(setup: Setup, encoding: Encoding, weights: ChainWeights, history: Sequence[Event]) -> Tagger:
    """The tagger of these weights; attributes of which no weight is left are not kept."""
    if not weights.is_finite():
        raise LearnerError("training came to weights that are not finite; take smaller steps, costs or sample weights")
    label_filter = encoding.filter
    rows, kept = weights.rows.without_empty(None if label_filter is None else label_filter.rows)
    if label_filter is not None:
        label_filter = replace(label_filter, rows=label_filter.rows.only(kept >= 0))
    edge_rows, edges_kept = None, np.empty(0, np.int32)
    if weights.edge_rows is not None:
        edge_rows, edges_kept = weights.edge_rows.without_empty()
    weights = replace(
        weights,
        rows=rows,
        edge_rows=edge_rows,
        votes=None if weights.votes is None else weights.votes.renumbered(kept, edges_kept),
        dual=None if weights.dual is None else weights.dual.renumbered(kept),
    )
    segments = None
    if encoding.segments is not None:
        cut = len(kept) - encoding.segments.n_attributes
        kept, of_segments = kept[:cut], kept[cut:]
        first = int(kept.max(initial=-1)) + 1
        segments = encoding.segments.frozen(first, np.where(of_segments < 0, -1, of_segments - first).astype(np.int32))
    edge_rank = chained(encoding.edge_rank, edges_kept) if edge_rows is not None else encoding.edge_rank
    vocabulary = freeze(encoding.extraction, chained(encoding.rank, kept), edge_rank)
    n_kept, slim = rows.n_attributes + (0 if edge_rows is None else edge_rows.n_attributes), None
    if encoding.dictionary is None and segments is None and not vocabulary.dictionaries:  # which know words by number
        slim = without_idle_strings(vocabulary) if 2 * n_kept <= vocabulary.n_strings else None
    about: dict[str, Any] = {
        "cutoff": setup.cutoff,
        "pairs": setup.pairs,
        "history": [event.to_dict() for event in history],
    }
    about |= {} if slim is None else {"idle_strings": "left out"}
    about |= {"prune": "auto"} if setup.prunes_by_default else {}
    about |= {} if setup.bagging == 1 else {"bagging": setup.bagging}
    return _tagger(setup, encoding, slim or vocabulary, weights, label_filter, {**about, **setup.training}, segments)


def _tagger(
    setup: Setup,
    encoding: Encoding,
    vocabulary: Vocabulary,
    weights: ChainWeights,
    label_filter: LabelFilter | None,
    training: dict[str, Any],
    segments: Segments | None,
) -> Tagger:
    if setup.rules is not None:
        weights = forbid(weights, *setup.rules)  # whatever the learner made of it
    labels, family = setup.labelling.labels, setup.learner.family
    rest = (weights, encoding.dictionary, setup.info, family)
    more: dict[str, Any] = {"filter": label_filter, "endings": encoding.endings, "training": training}
    model = ChainModel(labels, setup.target, setup.order, vocabulary, *rest, **more)
    return Tagger(model if segments is None else replace(model, segments=segments))
