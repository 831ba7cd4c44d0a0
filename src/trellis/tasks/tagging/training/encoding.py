"""A training corpus as numbers: labels and their costs, how much sentences count, which attributes get weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis import _core
from trellis._support.arguments import LARGEST
from trellis._support.arrays import Bools, Doubles, Floats, Ints, LabelSets, Longs, Ragged, starts_of
from trellis._support.errors import CorpusError, LearnerError
from trellis._support.memory import free_bytes
from trellis.corpus.corpus import Corpus, columns_named, labels_of, no_labels
from trellis.corpus.label_parts import LabelParts
from trellis.engine.weights import MOST_PAIRS, Rows, dense_cells
from trellis.features.dictionaries import EntrySpans
from trellis.features.extraction import Extraction, compact, extract, sources
from trellis.features.templates import FAR
from trellis.features.vocabulary import FeatureSet
from trellis.learning.chain_problem import ChainProblem, is_sparse
from trellis.learning.fit import Fit, check_dev_labels
from trellis.learning.learner import Learner, Pairs, real
from trellis.tasks.tagging.chain_model import Endings, LabelFilter
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import Costs, Partial
from trellis.tasks.tagging.segments.training import EncodedSegments, Segmenting, encode_segments, joined_rows
from trellis.tasks.tagging.training.dictionary import tag_dictionary
from trellis.tasks.tagging.training.edges import Edges, Seen, edge_histories, far_seen, runs_seen
from trellis.tasks.tagging.training.pruning import learn_filter
from trellis.tasks.tagging.training.warm_start import carried_over

if TYPE_CHECKING:
    from trellis.tasks.tagging.training.streaming import Survey

# ------------------------------------------------------------ labels

SEPARATOR = "|"  # between the labels a token may have


@dataclass(frozen=True, slots=True)
class Labelling:
    """Gold labels of a corpus."""

    labels: tuple[str, ...]
    gold: Ints  # [n_tokens], -1 where a label is not fully known
    # For every token the labels that are consistent with what is known; None where all are known.
    partial: LabelSets | None

    def pairs(self) -> tuple[Longs, Ints]:
        """(token, label) for all that was seen: a token of which nothing is known was seen with no label."""
        known = np.flatnonzero(self.gold >= 0)
        if self.partial is None:
            return known, self.gold
        set_of, starts, labels, _ = self.partial
        sizes = np.diff(starts)[set_of]
        some = np.flatnonzero((self.gold < 0) & (sizes < len(self.labels)))
        first = np.repeat(starts[set_of[some]] - np.cumsum(sizes[some]) + sizes[some], sizes[some])
        tokens = np.concatenate([known, np.repeat(some, sizes[some])])
        seen = np.concatenate([self.gold[known], labels[first + np.arange(len(first))]])
        order = np.argsort(tokens, kind="stable")
        return tokens[order], seen[order].astype(np.int32)


def read_labels(corpus: Corpus, target: str, *, partial: Partial, known: tuple[str, ...] = ()) -> Labelling:
    """The labels in a column. ``known`` ones come first and keep their numbers.

    With ``partial`` an empty label is unknown, and ``A|B`` is one of A and B unless it is "missing".
    """
    if partial and len(columns_named(target, corpus.columns)) == 2:
        raise LearnerError(f"partial labels A|B cannot be told from labels of two columns, {target!r}; choose one")
    column = compact(corpus.column(target) if partial else labels_of(corpus, target, "or train with partial labels"))
    numbers, nothing = {label: i for i, label in enumerate(known)}, no_labels(corpus, target) if partial else ()
    split = [value.split(SEPARATOR) if partial is True else [value] for value in column.values]
    choices = [[label for label in labels if label not in nothing] for labels in split]
    sets = [sorted({numbers.setdefault(label, len(numbers)) for label in labels}) for labels in choices]
    if len(numbers) > np.iinfo(np.uint16).max:
        raise CorpusError(corpus.source, None, f"column {target!r} has {len(numbers)} labels; 65,535 are allowed")
    if partial and not numbers:
        raise CorpusError(corpus.source, None, f"column {target!r} has no label at all")
    sets = [labels or list(range(len(numbers))) for labels in sets]
    gold = np.array([labels[0] if len(labels) == 1 else -1 for labels in sets], np.int32)[column.codes]
    unknown = LabelSets.of(sets).at(column.codes) if (gold < 0).any() else None
    return Labelling(tuple(numbers), gold, unknown)


# ------------------------------------------------------------ what labels cost and sentences count


def cost_matrix(costs: Costs | None, labels: tuple[str, ...], learner: Learner) -> Floats | None:
    """The cost of taking one label for another: by gold label, or by (gold, other); 1 where nothing is said."""
    if costs is None:
        return None
    if not learner.reads_costs:
        name = type(learner).__name__
        raise LearnerError(f"{name} has no place for label_costs; MIRA, PassiveAggressive, AROW and HMSVM have")
    if not isinstance(costs, Mapping):
        raise LearnerError(f"label_costs must be a dict of labels, or pairs of labels, to numbers, not {costs!r}")
    number = {label: i for i, label in enumerate(labels)}
    matrix = np.ones((len(labels), len(labels)), np.float32)
    for key, cost in costs.items():
        names = (key,) if isinstance(key, str) else key
        if not isinstance(names, tuple) or len(names) > 2:
            raise LearnerError(f"label_costs are by a label or a pair (gold, other), not by {key!r}")
        unknown = next((name for name in names if name not in number), None)
        if unknown is not None:
            raise LearnerError(f"a cost for label {unknown!r}, which the corpus does not have")
        matrix[tuple(number[name] for name in names)] = real().check(f"the cost of {key!r}", cost)
    np.fill_diagonal(matrix, 0)
    return matrix


def weighted_by_labels(
    weights: Doubles | None, given: Mapping[str, float], labelling: Labelling, starts: Longs
) -> Doubles:
    """Sentence weights times the mean weight of each sentence's gold labels; labels that are not known count 1."""
    if not isinstance(given, Mapping):
        raise LearnerError(f"label_weights must be a dict of label to number, not {type(given).__name__}")
    of_label = np.ones(len(labelling.labels) + 1)  # the last: not known
    for label, weight in given.items():
        if label not in labelling.labels:
            raise LearnerError(f"label_weights names {label!r}; the labels are {', '.join(labelling.labels)}")
        of_label[labelling.labels.index(label)] = real().check(f"the weight of {label!r}", weight)
    sums = np.concatenate([[0.0], np.cumsum(of_label[labelling.gold])])
    means = (sums[starts[1:]] - sums[starts[:-1]]) / np.maximum(1, np.diff(starts))
    out = np.asarray(means if weights is None else weights * means)
    if not out.any():
        raise LearnerError("label_weights leave every sentence with weight 0: nothing is left to train on")
    return out


# ------------------------------------------------------------ attributes


def select(
    lists: Ragged,
    seen: Sequence[Seen],
    n_attributes: int,
    min_count: int,
    pairs: Pairs,
    known: Ints,
    parts: LabelParts | None = None,
) -> tuple[Ints, Rows | None]:
    """The new number of every attribute, most frequent first and -1 for those cut; with "seen", their labels.

    A feature is an attribute with a label; ``seen`` are those of training. With pairs "seen" the
    cut-off is on how often the two were seen together, with "all" it is on the attribute. Attributes that were
    ``known`` before are kept whatever they count. A label is seen with its ``parts``, which are counted as labels are.
    """
    frequency = np.bincount(lists.ids, minlength=n_attributes)
    alive = np.zeros(n_attributes, bool)
    alive[known] = True
    if pairs == "all":
        alive |= frequency >= max(1, min_count)
        return by_frequency(frequency, alive), None
    attribute, labels, counts = _counted(seen, n_attributes)
    if parts is not None:
        index, columns = parts.with_parts(labels.astype(np.int32))
        keys, which = np.unique(attribute[index] * parts.n_columns + columns, return_inverse=True)
        counts = np.bincount(which.reshape(-1), weights=counts[index]).astype(counts.dtype)
        attribute, labels = keys // parts.n_columns, (keys % parts.n_columns).astype(labels.dtype)
    kept = counts >= max(1, min_count)
    attribute, labels = attribute[kept], labels[kept]
    sizes = np.bincount(attribute, minlength=n_attributes)
    rank = by_frequency(frequency, alive | (sizes > 0))
    by_rank = np.argsort(np.where(rank < 0, n_attributes, rank), kind="stable")[: int(rank.max(initial=-1)) + 1]
    row_starts = starts_of(sizes[by_rank]).astype(np.uint32)
    row_labels = labels[np.argsort(rank[attribute], kind="stable")]
    return rank, Rows(row_starts, row_labels, np.zeros(len(row_labels), np.float32))


def by_frequency(frequency: Longs, alive: Bools) -> Ints:
    """The new number of every attribute that is alive, most frequent first; -1 for the others."""
    order = np.argsort(-np.where(alive, frequency, -1), kind="stable")[: int(alive.sum())]
    rank = np.full(len(frequency), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank


def chained(first: Ints, second: Ints) -> Ints:
    """One renumbering after another; -1 stays dropped."""
    return np.append(second, np.int32(-1))[first]  # where -1 is the last


def _counted(seen: Sequence[Seen], n_attributes: int) -> tuple[Any, Any, Any]:
    """Attributes, labels, and how often each pair was seen; attributes ascend. None is in the lists of two."""
    found = list[tuple[Any, Any, Any]]()
    for lists, tokens, labels_of_tokens in seen:
        kept = lists if len(tokens) == len(lists) else lists.take(tokens)
        starts, labels, counts = _core.count_pairs(kept, labels_of_tokens, n_attributes).values()
        found.append((np.repeat(np.arange(n_attributes), np.diff(starts)), labels, counts))
    if len(found) == 1:
        return found[0]
    attribute, labels, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(attribute, kind="stable")
    return attribute[order], labels[order], counts[order]


# ------------------------------------------------------------ the problem

# Labels above which all are too many to look at: at order 1 and above it. On 50,000 tokens an epoch of MIRA then takes
# minutes, and with a filter seconds (docs/tagging.md).
TOO_MANY = (2000, 200)


def has_too_many_labels(n_labels: int, order: int) -> bool:
    """Whether labels are pruned unless another option says otherwise."""
    return order > 0 and n_labels > TOO_MANY[order > 1]


@dataclass(frozen=True, slots=True)
class Setup:
    """A training: its options, checked and made definite, and what they are applied to."""

    fit: Fit
    settings: SimpleNamespace  # the options, in which defaults that depend on others are filled in
    learner: Learner
    corpus: Corpus
    labelling: Labelling
    features: FeatureSet
    frequent: int  # of the tag dictionary; 0: there is none
    rules: tuple[Floats, Floats] | None  # base tables of label pairs and last labels
    sentence_weights: Doubles | None
    label_costs: Floats | None
    parts: LabelParts | None
    segmenting: Segmenting | None  # of a semi-Markov model
    spans: EntrySpans | None  # what dictionaries are learned from; then the corpus has every sentence twice
    survey: Survey | None  # of a stream
    digest: str  # of the corpus
    facts: dict[str, Any]  # for the record

    @property
    def sparse(self) -> bool:
        """Whether label n-grams of three labels and more have weights only where training needs them."""
        needed = self.features.longest.history > 1 or len(self.settings.prune) > 1
        return "orders" in self.learner.abilities and is_sparse(
            len(self.labelling.labels), self.settings.order, needed=needed
        )

    def problem(self, **more: Any) -> ChainProblem:
        """A problem with these settings."""
        edge_base, end_base = self.rules or (None, None)
        return ChainProblem(
            order=self.settings.order,
            n_threads=self.settings.n_threads,
            label_costs=self.label_costs,
            label_parts=self.parts,
            beam=self.settings.beam,
            edge_base=edge_base,
            end_base=end_base,
            **more,
        )

    def __post_init__(self) -> None:
        dev, beam = self.settings.dev, self.settings.beam
        if dev is not None:
            check_dev_labels(dev, labels_of(dev, self.settings.target), self.labelling.labels)
        name = type(self.learner).__name__
        if (n := len(self.settings.prune)) > 1:
            order = self.settings.order
            if n > max(1, order):
                raise LearnerError(
                    f"prune has {n} shares, for runs of 1 to {n} labels; order {order} takes at most {max(1, order)}"
                )
            if "orders" not in self.learner.abilities:
                raise LearnerError(f"{name} takes one share for prune, that of single labels")
            if beam:
                raise LearnerError("prune with several shares needs exact search; leave beam out, or give one share")
            if self.labelling.partial is not None:
                raise LearnerError("prune with several shares needs labels that are fully known; give one share")
        if beam and "beam" not in self.learner.abilities:
            raise LearnerError(f"beam is for online learners without votes; {name} needs exact search, leave beam out")
        far = self.features.far
        if far is not None and not beam:
            raise LearnerError(
                f"template {str(far)!r} is about a label further back, which only a beam can see; give its width, such "
                "as beam=8"
            )
        if beam and far is None and not self.sparse:
            raise LearnerError(
                "beam has an effect only above order 2, at order 2 with more than 60 labels, and with templates such "
                "as label[-3]; omit it"
            )


SMALL = 100_000_000  # bytes for which nobody asks


def check_memory(setup: Setup) -> None:
    """LearnerError if the dense tables of labels or all segments cannot fit, before any memory is taken for them."""
    if setup.segmenting is not None:
        most, n_tokens = setup.segmenting.types.most, setup.corpus.n_tokens
        _check_free(
            setup.segmenting.bytes_needed(setup.corpus.starts),
            f"segments of up to {most:,} tokens, in {n_tokens:,}, need {{}}",
            f"choose a smaller number, such as Segments(longest={max(1, most // 10)})",
        )
    n, order = len(setup.labelling.labels), setup.settings.order
    if dense_cells(n, 1) > MOST_PAIRS and (pair := next((t for t in setup.features.templates if t.history == 1), None)):
        raise LearnerError(
            f"template {str(pair)!r} needs a table of label pairs per token, which {n:,} labels make too large; omit it"
        )
    _check_free(
        dense_cells(n, 1 if setup.sparse else order) * setup.learner.bytes_per_triple,
        f"order {order} with {n:,} labels needs {{}} for the label tables of {type(setup.learner).__name__}",
        "choose a lower order, an online learner, or fewer labels",
    )


def _check_free(needed: int, why: str, advice: str) -> None:
    free = None if needed < SMALL else free_bytes()
    if free is not None and needed > free:
        said = why.format(f"{needed / 1e9:,.1f} GB")
        raise LearnerError(f"{said}, and {free / 1e9:,.1f} GB of memory are free; {advice}")


@dataclass(frozen=True, slots=True)
class Encoding:
    """The problem that a learner gets, and what its numbers stand for."""

    problem: ChainProblem
    extraction: Extraction
    rank: Ints  # [n attributes of the extraction] their numbers in the problem, -1 where dropped
    edge_rank: Ints
    dictionary: LabelSets | None  # by words
    filter: LabelFilter | None = None  # of the attributes as the problem numbers them
    digests: tuple[str, ...] = ()  # of the attributes of a stream, block by block
    endings: Endings | None = None  # of a smoothed dictionary
    segments: EncodedSegments | None = None  # of a semi-Markov model


def encode(setup: Setup) -> Encoding:
    """Number attributes, choose those that get weights, and put the problem together."""
    corpus, labelling, settings = setup.corpus, setup.labelling, setup.settings
    init: Tagger | None = settings.init
    older = None if init is None else init.model.vocabulary
    extraction = extract(corpus, setup.features, settings.n_threads, older, setup.spans)
    n = len(labelling.labels)
    rank, seen = select(
        extraction.lists,
        [Seen(extraction.lists, *labelling.pairs())],
        extraction.n_attributes,
        settings.min_count,
        settings.pairs,
        extraction.known,
        setup.parts,
    )
    if settings.min_count > 1 and rank.max(initial=-1) < 0:
        raise LearnerError(f"min_count {settings.min_count} leaves no feature; choose a smaller one")
    lists = extraction.lists.renumber(rank)
    if np.abs(lists.values).max(initial=0) > LARGEST:
        raise LearnerError(f"values of attributes must be from {-LARGEST:g} to {LARGEST:g}; divide them by their size")
    # The lists under their first numbers are as long as the corpus, and not wanted any more.
    extraction = extraction._replace(lists=Ragged.none())
    edges = _edges(setup, extraction)
    words, by_token, endings = _dictionary(setup, extraction) if setup.frequent else (None, None, None)
    n_attributes, n_edges = int(rank.max(initial=-1)) + 1, int(edges.rank.max(initial=-1)) + 1
    segments, native_segments = None, None
    if setup.segmenting is not None:
        segments, seen_segments = encode_segments(setup)
        native_segments = segments.native(n_attributes)
        n_attributes += segments.n_attributes
        if seen is not None and seen_segments is not None:
            seen = joined_rows(seen, seen_segments)

    def with_sets(sets: LabelSets | None) -> _core.Encoded:
        on_edges = None if edges.lists is None else edges.lists.arrays
        more = n_attributes, n_edges, n, edges.histories, native_segments, edges.same
        return _core.Encoded(corpus.starts, lists.arrays, on_edges, sets, *more)

    encoded, label_filter = with_sets(by_token), None
    if settings.prune:
        label_filter, sets = learn_filter(encoded, labelling.gold, settings.prune, settings.n_threads, setup.rules)
        encoded = with_sets(sets)
    initial = None
    if init is not None:
        numbers = chained(extraction.known, rank), chained(extraction.known_edges, edges.rank)
        initial = carried_over(setup, *numbers, n_attributes, n_edges)
    problem = setup.problem(
        corpus=encoded,
        starts=corpus.starts,
        gold=labelling.gold,
        n_labels=n,
        seen=seen,
        seen_edges=edges.seen,
        ngrams=edges.ngrams,
        partial=labelling.partial,
        sentence_weights=setup.sentence_weights,
        initial=initial,
        sources=sources(extraction, rank) if setup.learner.reads_sources else None,
    )
    return Encoding(problem, extraction, rank, edges.rank, words, label_filter, endings=endings, segments=segments)


def _edges(setup: Setup, extraction: Extraction) -> Edges:
    """The edge attributes that get weights, chosen by the runs of labels that they were seen with."""
    lists, growing = extraction.edge_lists, extraction.growing_edges
    settings, n = setup.settings, len(setup.labelling.labels)
    init: Tagger | None = settings.init
    if lists is None:
        return Edges(np.empty(0, np.int32))
    if settings.order == 0:
        raise LearnerError("attributes about label pairs need order 1 or more, not 0; leave order out")
    first = None if init is None else init.model.weights.ngrams
    if first is not None and init is not None:
        first = first.more_labels(len(init.labels), n)
    gold, starts = setup.labelling.gold, setup.corpus.starts
    if setup.features.far is None:
        seen, ngrams, same = *runs_seen(lists, extraction, gold, starts, n, settings.order, first), None
    else:
        same = np.full(len(gold), -1, np.int32)
        if extraction.vocabulary.columns:
            same = _core.same_words(setup.corpus.column(extraction.vocabulary.columns[0].name).codes, starts)
        elif any(template.far == "same" for template in setup.features.templates):
            raise LearnerError("label[same] needs a template that looks at a column of words, such as word[0]")
        about = edge_histories(extraction.vocabulary, growing)
        near = lists.renumber(np.where(about < FAR, np.arange(len(about)), -1).astype(np.int32))
        seen, ngrams = runs_seen(near, extraction, gold, starts, n, settings.order, first)
        seen += far_seen(lists, about, gold, starts, same, n)
    rank, rows = select(lists, seen, extraction.n_edge_attributes, settings.min_count, "seen", extraction.known_edges)
    is_plain = ngrams is None and same is None
    histories = None if is_plain else edge_histories(extraction.vocabulary, growing, rank)
    return Edges(rank, lists.renumber(rank), rows, histories, ngrams, same)


def _dictionary(setup: Setup, extraction: Extraction) -> tuple[LabelSets, LabelSets, Endings | None]:
    """The tag dictionary: which labels words may have, those of the tokens of the corpus, those of other words."""
    if not extraction.vocabulary.columns:
        raise LearnerError("a tag dictionary needs a column of words")
    column = compact(setup.corpus.column(extraction.vocabulary.columns[0].name))
    seen, smoothed = setup.labelling.pairs(), setup.settings.tag_dictionary == "smoothed"
    words, endings = tag_dictionary(column, *seen, len(setup.labelling.labels), setup.frequent, smoothed=smoothed)
    return words, words.at(column.codes), endings
