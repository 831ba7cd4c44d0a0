"""Encode a training corpus: labels and their costs, weights of sentences, selection of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arguments import LARGEST
from trellis._support.arrays import Bools, Doubles, Floats, Ints, LabelSets, Longs, Ragged, same_words, starts_of
from trellis._support.errors import CorpusError, LearnerError
from trellis._support.memory import free_bytes
from trellis.corpus.corpus import Corpus, columns_named, labels_of, no_labels
from trellis.corpus.label_parts import LabelParts
from trellis.corpus.on_disk import DiskCorpus
from trellis.engine.weights import MOST_PAIRS, Ngrams, Rows, dense_cells
from trellis.features.dictionaries import EntrySpans
from trellis.features.extraction import Extraction, compact, extract, sources
from trellis.features.templates import FAR
from trellis.features.vocabulary import FeatureSet
from trellis.learning.chain_problem import ChainProblem, is_sparse
from trellis.learning.fit import Fit, check_dev_labels
from trellis.learning.learner import Learner, Pairs, real
from trellis.learning.parameters import n_runs
from trellis.tasks.tagging.chain_model import Endings, LabelFilter
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import Costs, Partial
from trellis.tasks.tagging.segments.training import EncodedSegments, Segmenting, encode_segments, joined_rows
from trellis.tasks.tagging.training.dictionary import tag_dictionary
from trellis.tasks.tagging.training.edges import Edges, Seen, edge_histories, far_seen, ngrams_of, runs_seen
from trellis.tasks.tagging.training.pruning import learn_filter
from trellis.tasks.tagging.training.warm_start import carried_over

# ------------------------------------------------------------ labels

SEPARATOR = "|"  # separator of alternative labels


@dataclass(frozen=True, slots=True)
class Labelling:
    """Gold labels of a corpus."""

    labels: tuple[str, ...]
    gold: Ints  # [n_tokens], -1 if the label is not fully known
    # The possible labels of every token; None if all labels are known.
    partial: LabelSets | None

    def slice(self, begin: int, end: int) -> Labelling:
        """The labels of the tokens begin..end."""
        partial = None if self.partial is None else self.partial.at(np.arange(begin, end))
        return Labelling(self.labels, self.gold[begin:end], partial)

    def pairs(self) -> tuple[Longs, Ints]:
        """Pairs (token, label) of all possible labels; tokens without any annotation are omitted."""
        labelled = np.flatnonzero(self.gold >= 0)
        if self.partial is None:
            return labelled, self.gold
        set_of, starts, labels, _ = self.partial
        sizes = np.diff(starts)[set_of]
        partial = np.flatnonzero((self.gold < 0) & (sizes < len(self.labels)))
        first = np.repeat(starts[set_of[partial]] - np.cumsum(sizes[partial]) + sizes[partial], sizes[partial])
        tokens = np.concatenate([labelled, np.repeat(partial, sizes[partial])])
        labels_at = np.concatenate([self.gold[labelled], labels[first + np.arange(len(first))]])
        order = np.argsort(tokens, kind="stable")
        return tokens[order], labels_at[order].astype(np.int32)


def read_labels(corpus: Corpus, target: str, *, partial: Partial, initial: tuple[str, ...] = ()) -> Labelling:
    """The labels in a column. ``initial`` ones come first and keep their numbers.

    With ``partial`` an empty label is unknown, and ``A|B`` is one of A and B unless it is "missing".
    """
    if partial and len(columns_named(target, corpus.columns)) == 2:
        raise LearnerError(
            f"partial labels A|B cannot be combined with a target of two columns, {target!r}; use one of them"
        )
    column = compact(corpus.column(target) if partial else labels_of(corpus, target, "or train with partial labels"))
    numbers, unlabelled = {label: i for i, label in enumerate(initial)}, no_labels(corpus, target) if partial else ()
    split = [value.split(SEPARATOR) if partial is True else [value] for value in column.values]
    choices = [[label for label in labels if label not in unlabelled] for labels in split]
    sets = [sorted({numbers.setdefault(label, len(numbers)) for label in labels}) for labels in choices]
    if len(numbers) > np.iinfo(np.uint16).max:
        raise CorpusError(
            corpus.source, None, f"column {target!r} has {len(numbers)} labels; at most 65,535 are supported"
        )
    if partial and not numbers:
        raise CorpusError(corpus.source, None, f"column {target!r} has no labels")
    sets = [labels or list(range(len(numbers))) for labels in sets]
    certain = np.array([labels[0] if len(labels) == 1 else -1 for labels in sets], np.int32)
    gold = _looked_up(corpus, certain, column.codes)
    unknown = None
    if (certain < 0).any():
        unknown = LabelSets.of(sets)
        unknown = unknown._replace(set_of=_looked_up(corpus, unknown.set_of, column.codes))
    return Labelling(tuple(numbers), gold, unknown)


def _looked_up(corpus: Corpus, table: Ints, numbers: Ints) -> Ints:
    """``table[number]`` for the number of every token; on disk if the corpus is."""
    return corpus.looked_up(table, numbers) if isinstance(corpus, DiskCorpus) else table[numbers]


# ------------------------------------------------------------ costs of labels, weights of sentences


def cost_matrix(costs: Costs | None, labels: tuple[str, ...], learner: Learner) -> Floats | None:
    """Costs of confusing labels: by gold label, or by (gold, predicted); default 1."""
    if costs is None:
        return None
    if not learner.reads_costs:
        name = type(learner).__name__
        raise LearnerError(f"{name} does not support label_costs; use MIRA, PassiveAggressive, AROW or HMSVM")
    if not isinstance(costs, Mapping):
        raise LearnerError(f"label_costs must be a dict from labels or pairs of labels to numbers, not {costs!r}")
    number = {label: i for i, label in enumerate(labels)}
    matrix = np.ones((len(labels), len(labels)), np.float32)
    for key, cost in costs.items():
        names = (key,) if isinstance(key, str) else key
        if not isinstance(names, tuple) or len(names) > 2:
            raise LearnerError(f"a key of label_costs must be a label or a pair (gold, predicted), not {key!r}")
        unknown = next((name for name in names if name not in number), None)
        if unknown is not None:
            raise LearnerError(f"label_costs has the label {unknown!r}, which does not occur in the corpus")
        matrix[tuple(number[name] for name in names)] = real().check(f"the cost of {key!r}", cost)
    np.fill_diagonal(matrix, 0)
    return matrix


def weighted_by_labels(
    weights: Doubles | None, label_weights: Mapping[str, float], labelling: Labelling, starts: Longs
) -> Doubles:
    """Sentence weights times the mean weight of each sentence's gold labels; unknown labels count 1."""
    if not isinstance(label_weights, Mapping):
        raise LearnerError(f"label_weights must be a dict from labels to numbers, not {type(label_weights).__name__}")
    of_label = np.ones(len(labelling.labels) + 1)  # the last one is for unknown labels
    for label, weight in label_weights.items():
        if label not in labelling.labels:
            raise LearnerError(
                f"label_weights has the unknown label {label!r}; the labels are {', '.join(labelling.labels)}"
            )
        of_label[labelling.labels.index(label)] = real().check(f"the weight of {label!r}", weight)
    sums = np.concatenate([[0.0], np.cumsum(of_label[labelling.gold])])
    means = (sums[starts[1:]] - sums[starts[:-1]]) / np.maximum(1, np.diff(starts))
    out = np.asarray(means if weights is None else weights * means)
    # A worker's part of the corpus may have only labels of weight 0, so the labels of all workers are checked.
    counts = of_label[: len(labelling.labels) + (labelling.partial is not None)] if weights is None else out
    if not counts.any():
        raise LearnerError("label_weights give every sentence the weight 0: no training data remains")
    return out


# ------------------------------------------------------------ attributes


class CountedPairs(NamedTuple):
    """Counts from another process."""

    frequency: Longs  # [n attributes of it]
    attributes: Longs
    labels: Longs
    counts: Longs


class Counted:
    """Counts of attributes and of (attribute, label) pairs over all chunks of a corpus."""

    def __init__(self, n_attributes: int, n_labels: int, parts: LabelParts | None = None) -> None:
        """The ``parts`` of a label are counted like labels."""
        self.n_attributes, self.parts = n_attributes, parts
        self.n_columns = n_labels if parts is None else parts.n_columns
        self.frequency = np.zeros(n_attributes, np.int64)
        # Keys (attribute, label), ascending, and their counts; later chunks are merged once they are as many.
        self._merged = np.empty(0, np.int64), np.empty(0, np.int64)
        self._waiting: list[tuple[Longs, Longs]] = []

    def add(self, lists: Ragged, runs: Sequence[Seen]) -> None:
        """Count a chunk."""
        self.frequency += np.bincount(lists.ids, minlength=self.n_attributes)
        for lists_of, tokens, labels_of_tokens in runs:
            selected = lists_of if len(tokens) == len(lists_of) else lists_of.take(tokens)
            starts, labels, counts = _core.count_pairs(selected, labels_of_tokens, self.n_attributes).values()
            attribute: Longs = np.repeat(np.arange(self.n_attributes), np.diff(starts))
            if self.parts is not None:
                index, columns = self.parts.with_parts(labels.astype(np.int32))
                keys = attribute[index] * self.n_columns + columns
                self._waiting.append(_summed(keys, counts[index].astype(np.int64)))
            else:
                self._waiting.append((attribute * self.n_columns + labels, counts.astype(np.int64)))
        if sum(len(keys) for keys, _ in self._waiting) > len(self._merged[0]):
            self._merge()

    def _merge(self) -> None:
        """Merge pending counts."""
        if self._waiting:
            keys, counts = (np.concatenate(parts) for parts in zip(self._merged, *self._waiting, strict=True))
            self._merged, self._waiting = _summed(keys, counts), []

    def pairs(self) -> tuple[Longs, Longs, Longs]:
        """Attributes (ascending), labels, and the count of each pair."""
        self._merge()
        keys, counts = self._merged
        return keys // self.n_columns, keys % self.n_columns, counts

    def add_counted(self, other: CountedPairs, numbers: Ints) -> None:
        """Add counts of another process; ``numbers`` are its attributes in this numbering."""
        self.frequency += np.bincount(numbers, weights=other.frequency, minlength=self.n_attributes).astype(np.int64)
        keys = numbers[other.attributes].astype(np.int64) * self.n_columns + other.labels
        self._waiting.append((keys, other.counts))

    def parts_of(self) -> CountedPairs:
        """All counts, to be sent to another process."""
        return CountedPairs(self.frequency, *self.pairs())


def _summed(keys: Longs, counts: Longs) -> tuple[Longs, Longs]:
    """Distinct keys, ascending, with the sums of their counts."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(counts[order], first) if len(first) else counts[:0]


def select(lists: Counted, min_count: int, pairs: Pairs, carried: Ints) -> tuple[Ints, Rows | None]:
    """The new number of every attribute, most frequent first, -1 if dropped; with "seen" also their labels.

    A feature is a pair of attribute and label. With pairs "seen" the cut-off applies to the count of the pair, with
    "all" to the count of the attribute. ``carried`` attributes are never dropped.
    """
    n_attributes, frequency = lists.n_attributes, lists.frequency
    alive = np.zeros(n_attributes, bool)
    alive[carried] = True
    if pairs == "all":
        alive |= frequency >= max(1, min_count)
        return by_frequency(frequency, alive), None
    attribute, labels, counts = lists.pairs()
    mask = counts >= max(1, min_count)
    attribute, labels = attribute[mask], labels[mask]
    sizes = np.bincount(attribute, minlength=n_attributes)
    rank = by_frequency(frequency, alive | (sizes > 0))
    by_rank = np.argsort(np.where(rank < 0, n_attributes, rank), kind="stable")[: int(rank.max(initial=-1)) + 1]
    row_starts = starts_of(sizes[by_rank]).astype(np.uint32)
    row_labels = labels[np.argsort(rank[attribute], kind="stable")].astype(np.uint32)
    return rank, Rows(row_starts, row_labels, np.zeros(len(row_labels), np.float32))


def by_frequency(frequency: Longs, alive: Bools) -> Ints:
    """The new number of every attribute in the mask ``alive``, most frequent first; -1 for the others."""
    order = np.argsort(-np.where(alive, frequency, -1), kind="stable")[: int(alive.sum())]
    rank = np.full(len(frequency), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank


def chained(first: Ints, second: Ints) -> Ints:
    """Compose two renumberings; -1 stays -1."""
    return np.append(second, np.int32(-1))[first]  # index -1 is the last entry


# ------------------------------------------------------------ the problem

# Maximum numbers of labels without pruning: at order 1, and at higher orders. With more labels an epoch of MIRA on
# 50,000 tokens takes minutes, with a filter seconds (docs/howto/many-labels.md).
TOO_MANY = (2000, 200)


def has_too_many_labels(n_labels: int, order: int) -> bool:
    """Whether labels are pruned by default."""
    return order > 0 and n_labels > TOO_MANY[order > 1]


@dataclass(frozen=True, slots=True)
class Setup:
    """A training: its checked options with all defaults, and the data."""

    fit: Fit
    settings: SimpleNamespace  # the options, with defaults that depend on other options
    learner: Learner
    corpus: Corpus
    labelling: Labelling
    features: FeatureSet
    frequent: int  # minimum count of words in the tag dictionary; 0: no dictionary
    rules: tuple[Floats, Floats] | None  # base tables of label pairs and last labels
    sentence_weights: Doubles | None
    label_costs: Floats | None
    parts: LabelParts | None
    segmenting: Segmenting | None  # of a semi-Markov model
    spans: EntrySpans | None  # spans for learned dictionaries; then the corpus has every sentence twice
    digest: str  # of the corpus
    facts: dict[str, Any]  # for the training record

    @property
    def sparse(self) -> bool:
        """Whether only label n-grams seen in training have weights (three labels and more)."""
        is_needed = self.features.longest.history > 1 or len(self.settings.prune) > 1
        return "orders" in self.learner.abilities and is_sparse(
            len(self.labelling.labels), self.settings.order, required=is_needed
        )

    def problem(self, **options: Any) -> ChainProblem:
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
            **options,
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
                    f"prune has {n} values, for label 1- to {n}-grams; order {order} allows at most {max(1, order)}"
                )
            if "orders" not in self.learner.abilities:
                raise LearnerError(f"{name} supports only one value of prune, for single labels")
            if beam:
                raise LearnerError(
                    "prune with several values cannot be combined with beam; omit beam, or give one value"
                )
            if self.labelling.partial is not None:
                raise LearnerError("prune with several values does not support partial labels; give one value")
        if beam and "beam" not in self.learner.abilities:
            raise LearnerError(
                f"beam requires an online learner without vote, but {name} needs exact search; omit beam"
            )
        far = self.features.far
        if far is not None and not beam:
            raise LearnerError(
                f"template {str(far)!r} reads labels beyond the Markov order, which requires beam search; set the "
                "beam width, such as beam=8"
            )
        if beam and far is None and not self.sparse:
            raise LearnerError(
                "beam has an effect only above order 2, at order 2 with more than 60 labels, and with templates such "
                "as label[-3]; omit it"
            )


SMALL = 100_000_000  # below this size memory is not checked


def check_memory(setup: Setup) -> None:
    """LearnerError if the dense tables of labels or the segments do not fit into memory; called before allocation."""
    if setup.segmenting is not None:
        longest, n_tokens = setup.segmenting.types.most, setup.corpus.n_tokens
        _check_free(
            setup.segmenting.bytes_needed(setup.corpus.starts),
            f"segments of up to {longest:,} tokens, in {n_tokens:,}, need {{}}",
            f"use a smaller limit, such as Segments(longest={max(1, longest // 10)})",
        )
    n, order = len(setup.labelling.labels), setup.settings.order
    if dense_cells(n, 1) > MOST_PAIRS and (pair := next((t for t in setup.features.templates if t.history == 1), None)):
        raise LearnerError(
            f"template {str(pair)!r} needs a table of label pairs per token, too large with {n:,} labels; omit it"
        )
    _check_free(
        dense_cells(n, 1 if setup.sparse else order) * setup.learner.bytes_per_triple,
        f"order {order} with {n:,} labels needs {{}} for the label tables of {type(setup.learner).__name__}",
        "use a lower order, an online learner, or fewer labels",
    )


def _check_free(n_bytes: int, reason: str, advice: str) -> None:
    free = None if n_bytes < SMALL else free_bytes()
    if free is not None and n_bytes > free:
        text = reason.format(f"{n_bytes / 1e9:,.1f} GB")
        raise LearnerError(f"{text}, and {free / 1e9:,.1f} GB of memory are available; {advice}")


@dataclass(frozen=True, slots=True)
class Encoding:
    """The problem of the learner, and the meaning of its numbers."""

    problem: ChainProblem
    extraction: Extraction
    rank: Ints  # [n attributes of the extraction] numbers in the problem, -1 if dropped
    edge_rank: Ints
    dictionary: LabelSets | None  # by words
    filter: LabelFilter | None = None  # in the problem's numbering of attributes
    endings: Endings | None = None  # of a smoothed dictionary
    segments: EncodedSegments | None = None  # of a semi-Markov model


def encode(setup: Setup) -> Encoding:
    """Number attributes, select those with weights, and build the problem."""
    corpus, labelling, settings = setup.corpus, setup.labelling, setup.settings
    init: Tagger | None = settings.init
    previous = None if init is None else init.model.vocabulary
    extraction = extract(corpus, setup.features, settings.n_threads, previous, setup.spans)
    assert extraction.lists is not None
    n, counts = len(labelling.labels), count_attributes(setup, extraction)
    rank, rows = select(counts, settings.min_count, settings.pairs, extraction.known)
    if settings.min_count > 1 and rank.max(initial=-1) < 0:
        raise LearnerError(f"min_count {settings.min_count} removes all features; use a smaller value")
    lists = extraction.lists.renumber(rank)
    edges = _edges(setup, extraction)
    words, by_token, endings = _dictionary(setup, extraction) if setup.frequent else (None, None, None)
    n_attributes, n_edges = int(rank.max(initial=-1)) + 1, int(edges.rank.max(initial=-1)) + 1
    segments, native_segments = None, None
    if setup.segmenting is not None:
        segments, seen_segments = encode_segments(setup)
        native_segments = segments.native(n_attributes)
        n_attributes += segments.n_attributes
        if rows is not None and seen_segments is not None:
            rows = joined_rows(rows, seen_segments)

    def with_sets(sets: LabelSets | None) -> _core.Encoded:
        on_edges = None if edges.lists is None else edges.lists.arrays
        sizes = n_attributes, n_edges, n, edges.histories, native_segments, edges.same
        disk = corpus.disk if isinstance(corpus, DiskCorpus) else None
        return _core.Encoded(corpus.starts, lists.arrays, on_edges, sets, *sizes, disk)

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
        seen_rows=rows,
        seen_edges=edges.seen_rows,
        ngrams=edges.ngrams,
        partial=labelling.partial,
        sentence_weights=setup.sentence_weights,
        initial=initial,
        sources=sources(extraction, rank) if setup.learner.reads_sources else None,
    )
    return Encoding(problem, extraction, rank, edges.rank, words, label_filter, endings=endings, segments=segments)


def count_attributes(setup: Setup, extraction: Extraction) -> Counted:
    """Count attributes, and if the selection needs it, their labels."""
    labelling, token = setup.labelling, 0
    counts = Counted(extraction.n_attributes, len(labelling.labels), setup.parts)
    for chunk in () if extraction.lists is None else extraction.lists.chunks():
        if np.abs(chunk.values).max(initial=0) > LARGEST:
            expected = f"from {-LARGEST:g} to {LARGEST:g}"
            raise LearnerError(f"values of attributes must be {expected}; scale them")
        begin, token = token, token + len(chunk)
        with_labels = setup.settings.pairs == "seen"
        counts.add(chunk, [Seen(chunk, *labelling.slice(begin, token).pairs())] if with_labels else [])
    return counts


def _edges(setup: Setup, extraction: Extraction) -> Edges:
    """The edge attributes with weights, selected by counts with label n-grams."""
    lists, growing = extraction.edge_lists, extraction.growing_edges
    settings, n = setup.settings, len(setup.labelling.labels)
    init: Tagger | None = settings.init
    if lists is None:
        return Edges(np.empty(0, np.int32))
    if settings.order == 0:
        raise LearnerError("templates of label pairs need order 1 or more, not 0; omit order")
    first = None if init is None else init.model.weights.ngrams
    if first is not None and init is not None:
        first = first.more_labels(len(init.labels), n)
    vocabulary, gold, ngrams = extraction.vocabulary, setup.labelling.gold, None
    if vocabulary.longest_history > 1:
        ngrams = ngrams_of(gold, setup.corpus.starts, n, settings.order, first)
    counts, same = count_edges(setup, extraction, ngrams)
    rank, rows = select(counts, settings.min_count, "seen", extraction.known_edges)
    histories = None if ngrams is None and same is None else edge_histories(vocabulary, growing, rank)
    return Edges(rank, lists.renumber(rank), rows, histories, ngrams, same)


def count_edges(setup: Setup, extraction: Extraction, ngrams: Ngrams | None) -> tuple[Counted, Ints | None]:
    """Count edge attributes with label n-grams; on request also the previous token with the same word."""
    vocabulary, far, n = extraction.vocabulary, setup.features.far, len(setup.labelling.labels)
    if far is not None and not vocabulary.columns and any(t.far == "same" for t in setup.features.templates):
        raise LearnerError("label[same] needs a template that reads a column of words, such as word[0]")
    histories = edge_histories(vocabulary, extraction.growing_edges)
    counts, token, same = Counted(extraction.n_edge_attributes, n_runs(n, ngrams)), 0, list[Ints]()
    lists = () if extraction.edge_lists is None else extraction.edge_lists.chunks()
    for lists_of, chunk in zip(lists, setup.corpus.chunks(), strict=False):
        begin, token = token, token + len(lists_of)
        labels, starts, runs = setup.labelling.gold[begin:token], chunk.starts, list[Seen]()
        if vocabulary.longest_history:
            near = lists_of
            if far is not None:
                near = lists_of.renumber(np.where(histories < FAR, np.arange(len(histories)), -1).astype(np.int32))
            runs = runs_seen(near, histories, labels, starts, n, ngrams)
        if far is not None:
            words = chunk.column(vocabulary.columns[0].name).codes if vocabulary.columns else None
            same.append(same_words(np.empty(0, np.int32) if words is None else words, starts))
            runs += far_seen(lists_of, histories, labels, starts, same[-1], n)
        counts.add(lists_of, runs)
    return counts, np.concatenate(same) if far is not None else None


def _dictionary(setup: Setup, extraction: Extraction) -> tuple[LabelSets, LabelSets, Endings | None]:
    """The tag dictionary: allowed labels of words, of the corpus's tokens, and of other words."""
    if not extraction.vocabulary.columns:
        raise LearnerError("a tag dictionary needs a column of words")
    column = compact(setup.corpus.column(extraction.vocabulary.columns[0].name))
    pairs, smoothed = setup.labelling.pairs(), setup.settings.tag_dictionary == "smoothed"
    words, endings = tag_dictionary(column, *pairs, len(setup.labelling.labels), setup.frequent, smoothed=smoothed)
    return words, words.at(column.codes), endings
