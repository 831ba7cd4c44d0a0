"""Training on a stream of blocks: two passes that count, then every epoch reads the blocks again.

The first pass learns labels and words, the second numbers and counts attributes. Both numberings are those of the whole
corpus at once, so that without shuffling the weights are too, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np

from trellis import _core
from trellis._support.arrays import NONE, Ints, Longs, Ragged, starts_of
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.stream import CorpusStream
from trellis.features.extraction import Extraction, Extractor, compact
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.fit import CorpusDigest, fingerprint
from trellis.learning.learner import Learner
from trellis.tasks.tagging.constraints import scheme_rules
from trellis.tasks.tagging.options import Partial
from trellis.tasks.tagging.training.edges import edge_histories, known_runs
from trellis.tasks.tagging.training.encoding import Encoding, Labelling, Setup, by_frequency, read_labels

_NO_TOKENS = np.zeros(1, np.int64)


# Options that need the whole corpus in memory, with what they may be.
IN_MEMORY: dict[str, tuple[object, ...]] = {
    "init": (None,),
    "sample_weight": (None,),
    "label_weights": (None,),
    "tag_dictionary": (False, 0),
    "prune": ("auto", ()),
    "pairs": (None, "all"),
}


def check_streamed(learner: Learner, settings: SimpleNamespace) -> None:
    """LearnerError unless the learner can go block by block, and for what needs the whole corpus at once."""
    if not learner.streams:
        raise LearnerError(
            f"{type(learner).__name__} needs the whole corpus in memory; give it trellis.read(...), or choose "
            "an online learner: Perceptron, PassiveAggressive, MIRA or AROW"
        )
    for name, allowed in IN_MEMORY.items():
        if getattr(settings, name) is not None and getattr(settings, name) not in allowed:
            raise LearnerError(f"{name} needs the whole corpus in memory; omit it, or train on trellis.read(...)")


# ------------------------------------------------------------ the first pass: labels and words


@dataclass(slots=True)
class _Words:
    """The distinct values of a column over all blocks, in order of first appearance, and how often each was seen."""

    numbers: dict[str, int] = field(default_factory=dict)
    counts: Longs = field(default_factory=lambda: np.zeros(0, np.int64))

    def codes(self, column: Column) -> Ints:
        """The number of the value of every token; new values get the next ones."""
        column, numbers = compact(column), self.numbers
        of_value = np.array([numbers.setdefault(value, len(numbers)) for value in column.values], np.int32)
        return of_value[column.codes]

    def add(self, column: Column) -> None:
        """Count the values of a block."""
        counts = np.bincount(self.codes(column), minlength=len(self.numbers))
        counts[: len(self.counts)] += self.counts
        self.counts = counts


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over a stream tells."""

    stream: CorpusStream
    partial: Partial
    labels: tuple[str, ...]
    words: dict[str, _Words]  # by column
    n_sentences: int
    n_tokens: int
    n_blocks: int
    digest: str

    @property
    def corpus(self) -> Corpus:
        """The columns with all their values, and no tokens."""
        nothing = np.empty(0, np.int32)
        columns = {name: Column(nothing, Strings.of(words.numbers)) for name, words in self.words.items()}
        return Corpus(columns, _NO_TOKENS, self.stream.source)

    @property
    def labelling(self) -> Labelling:
        """All labels, of no tokens."""
        return Labelling(self.labels, np.empty(0, np.int32), None)


def survey(stream: CorpusStream, target: str, read: Iterable[str], *, partial: Partial) -> Survey:
    """Labels of all blocks, and the words of the columns that are ``read``."""
    words, labels = {name: _Words() for name in read}, tuple[str, ...]()
    n_sentences, n_tokens, n_blocks, digest = 0, 0, 0, CorpusDigest()
    for block in stream:
        if tuple(block.columns) != stream.columns:
            found, wanted = ", ".join(block.columns), ", ".join(stream.columns)
            raise CorpusError(block.source, None, f"the columns {found}, where others have {wanted}; name them alike")
        for name, of_column in words.items():
            of_column.add(block.column(name))
        labels = read_labels(block, target, partial=partial, known=labels).labels
        n_sentences, n_tokens, n_blocks = n_sentences + len(block), n_tokens + block.n_tokens, n_blocks + 1
        digest.add(block)
    return Survey(stream, partial, labels, words, n_sentences, n_tokens, n_blocks, digest.result())


# ------------------------------------------------------------ the second pass: attributes


@dataclass(slots=True)
class _Counts:
    """How often each attribute was seen, table by table: numbers within a table never change, where it begins does."""

    of_table: list[Longs] = field(default_factory=list)

    def add(self, growing: _core.GrowingVocabulary, ids: Ints) -> None:
        """Count a block whose lists were just made."""
        starts = starts_of(growing.table_sizes)
        counts = np.split(np.bincount(ids, minlength=growing.n_attributes), starts[1:-1])
        for new, old in zip(counts, self.of_table, strict=False):
            new[: len(old)] += old
        self.of_table = counts

    def total(self) -> Longs:
        """By the numbers that attributes have in the end."""
        return np.concatenate([np.empty(0, np.int64), *self.of_table])


def encode_stream(setup: Setup) -> Encoding:
    """As `encode`, with a problem whose blocks are read and numbered again in every epoch."""
    seen, settings = setup.survey, setup.settings
    assert seen is not None
    if settings.min_count > 1 and setup.features.longest.history:
        why = "min_count on templates of label pairs needs the whole corpus in memory"
        raise LearnerError(f"{why}; leave one of them out")
    if setup.features.far is not None:
        raise LearnerError(f"template {str(setup.features.far)!r} needs the whole corpus in memory; omit it")
    columns = setup.features.columns
    values = {name: setup.corpus.column(name).values for name in columns}
    extractor = Extractor(setup.features.templates, values, lambda name: seen.words[name].counts)
    vocabulary = extractor.vocabulary()

    def numbered(block: Corpus) -> tuple[Labelling, Ragged, Ragged | None]:
        """Labels and lists of attributes, before attributes get their last numbers."""
        codes = [seen.words[name].codes(block.column(name)) for name in columns]
        labelling = read_labels(block, settings.target, partial=seen.partial, known=seen.labels)
        has_new_words = any(len(seen.words[name].numbers) > len(values[name]) for name in columns)
        if len(labelling.labels) > len(seen.labels) or has_new_words:
            raise CorpusError(seen.stream.source, None, "other sentences than in the pass before; do not change them")
        return labelling, *extractor.lists(codes, block.starts, settings.n_threads)

    counts, edge_counts, known_edges, digests = _Counts(), _Counts(), _Counts(), list[str]()
    for corpus in seen.stream:
        labelling, lists, edge_lists = numbered(corpus)
        if settings.scheme is not None:
            scheme_rules(corpus, settings.target, seen.labels, labelling.gold, settings.scheme)
        counts.add(extractor.growing, lists.ids)
        if extractor.growing_edges is not None and edge_lists is not None:
            about = edge_histories(vocabulary, extractor.growing_edges)
            known = known_runs(edge_lists, about, labelling.gold, corpus.starts)
            edge_counts.add(extractor.growing_edges, edge_lists.ids)
            known_edges.add(extractor.growing_edges, known)
        digests.append(fingerprint(corpus.starts, labelling, lists, edge_lists))
        del labelling, lists, edge_lists  # before the next block is read
    frequency = counts.total()
    rank = by_frequency(frequency, frequency >= max(1, settings.min_count))
    if settings.min_count > 1 and rank.max(initial=-1) < 0:
        raise LearnerError(f"min_count {settings.min_count} leaves no feature; choose a smaller one")
    edge_rank, histories = by_frequency(edge_counts.total(), known_edges.total() > 0), None
    if extractor.growing_edges is not None and vocabulary.longest_history > 1:
        histories = edge_histories(vocabulary, extractor.growing_edges, edge_rank)

    def encoded(starts: Longs, lists: Ragged, edge_lists: Ragged | None) -> _core.Encoded:
        edges = None if edge_lists is None else edge_lists.renumber(edge_rank).arrays
        sizes = int(rank.max(initial=-1)) + 1, int(edge_rank.max(initial=-1)) + 1, len(seen.labels)
        return _core.Encoded(starts, lists.renumber(rank).arrays, edges, None, *sizes, histories)

    def problem_of(corpus: Corpus) -> ChainProblem:
        labelling, lists, edge_lists = numbered(corpus)
        block, gold, partial = encoded(corpus.starts, lists, edge_lists), labelling.gold, labelling.partial
        return replace(problem, corpus=block, starts=corpus.starts, gold=gold, partial=partial)

    def blocks() -> Iterator[ChainProblem]:
        return map(problem_of, seen.stream)

    edges = None if extractor.growing_edges is None else Ragged.none()
    problem = setup.problem(
        corpus=encoded(_NO_TOKENS, Ragged.none(), edges),
        starts=_NO_TOKENS,
        gold=NONE,
        n_labels=len(seen.labels),
        blocks=blocks,
    )
    if seen.n_blocks == 1:  # one block stays in memory
        [only] = blocks()
        problem = replace(problem, blocks=lambda: iter([only]))
    extraction = Extraction(vocabulary, extractor.growing, extractor.growing_edges)
    return Encoding(problem, extraction, rank, edge_rank, None, digests=tuple(digests))
