"""Distributed training: each worker reads its own files, numbers their attributes, and sums over its sentences.

Words, attributes and labels get the same numbers as on one machine: the results of workers are joined in the order of
their files. Sums use the same blocks as on one machine, so a worker has the sentences of all blocks that begin in its
files; these may include sentences of the following files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arrays import NONE, Bools, Ints, Lists, Longs, starts_of
from trellis._support.disk import Disk
from trellis._support.errors import LearnerError
from trellis.corpus.corpus import BagColumn, Column, Corpus, Strings, columns_named
from trellis.corpus.on_disk import CHUNK, NO_LINE, DiskCorpus, on_disk
from trellis.corpus.stream import CorpusStream, Files
from trellis.features.extraction import Extraction, extract, part_of_plan
from trellis.features.known import keys_in_order
from trellis.features.vocabulary import KeyTables
from trellis.learning.chain_problem import HEAD, ChainProblem
from trellis.learning.fit import Fit, corpus_of, digest_of_sums, digest_sums
from trellis.learning.parameters import block_tokens, n_runs, seen_triples
from trellis.learning.workers import ActorParts, Actors, Workers
from trellis.tasks.tagging.options import TaggingOptions
from trellis.tasks.tagging.train import check
from trellis.tasks.tagging.training.encoding import (
    Counted,
    CountedPairs,
    Encoding,
    Setup,
    count_attributes,
    count_edges,
    select,
)


class Values(NamedTuple):
    """The distinct values of a column, in order of first appearance, with their counts."""

    strings: Strings
    counts: Longs


class Survey(NamedTuple):
    """Columns and sizes of a worker's files."""

    columns: dict[str, Values]
    n_sentences: int
    n_tokens: int


class ShardCounts(NamedTuple):
    """Attributes, labels and counts of a worker's sentences, in its own numbering."""

    keys: list[tuple[list[Any], list[Any], list[int]]]  # of tables, of folds, sizes of tables; then for edge attributes
    counted: list[CountedPairs]  # attributes, then edge attributes
    triples: tuple[Longs, Longs, Longs]  # label triples
    digest: dict[tuple[str, str, int], int]
    n_sentences: int
    n_tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class SharedColumn(Column):
    """A column with the values and counts of all workers."""

    totals: Longs

    def counts(self) -> Longs:
        """Count of each value in the whole corpus."""
        return self.totals

    def slice(self, begin: int, end: int) -> SharedColumn:
        """The tokens begin..end."""
        return SharedColumn(self.codes[begin:end], self.values, self.totals)


@dataclass(frozen=True, slots=True)
class Place:
    """The sentences of a worker: those of the blocks that begin among the tokens of its files."""

    first_token: int  # of its files
    last_token: int
    block: int  # tokens

    @property
    def begin(self) -> int:
        """Its sentences begin at this token or after it."""
        return -(-self.first_token // self.block) * self.block

    @property
    def end(self) -> int:
        """Its sentences begin before this token."""
        return -(-self.last_token // self.block) * self.block


class Shard:
    """A worker's part of a training. Its methods are called in the order in which they stand here."""

    setup: Setup
    extraction: Extraction
    problem: ChainProblem

    def __init__(self, files: Files, first: int, last: int, folder: str | None, most_tokens: int | None = None) -> None:
        """The files first..last; with ``most_tokens`` only their first sentences."""
        self.files, self.last, self.folder = files, last, folder
        self.own, self.most_tokens = files.run(first, last), most_tokens
        self.parts = dict[int, Any]()

    def survey(self, target: str | None) -> Survey:
        """Read the files. ``target`` may join two columns: ``upos+feats``."""

        def blocks() -> Iterator[Corpus]:
            left = self.most_tokens
            for block, _ in self.own.blocks():
                if left is not None:
                    block = block[: int(np.searchsorted(block.starts[:-1], left))]
                    left -= block.n_tokens
                if len(block):
                    yield block
                if left is not None and left <= 0:
                    return

        self.corpus = on_disk(blocks(), ", ".join(self.own.paths), Disk(self.folder))
        columns = dict[str, Values]()
        for name, column in self.corpus.columns.items():
            if isinstance(column, BagColumn):
                raise LearnerError(f"column {name!r} has attributes, which is not supported with workers; omit workers")
            columns[name] = Values(column.values, column.counts())
        if columns and target is not None and len(columns_named(target, columns)) > 1:
            joined = self.corpus.column(target)
            columns[target] = Values(joined.values, joined.counts())
        return Survey(columns, len(self.corpus), self.corpus.n_tokens)

    def find(self, options: Mapping[str, Any], columns: Mapping[str, Values], place: Place) -> ShardCounts:
        """Select the sentences of this worker; number their attributes and count them."""
        corpus, first_token = self._placed(columns, place)
        self.setup = setup = check(Fit(TaggingOptions, options), corpus)
        self.first_token, self.block = first_token, place.block
        self.extraction = extraction = extract(corpus, setup.features, setup.settings.n_threads)
        growing = (extraction.growing, extraction.growing_edges)
        keys = [keys_of(vocabulary) for vocabulary in growing if vocabulary is not None]
        counts = [count_attributes(setup, extraction).parts_of()]
        if extraction.growing_edges is not None:
            counts.append(count_edges(setup, extraction, None)[0].parts_of())
        empty = _core.Encoded(corpus.starts, _none(corpus.n_tokens), None, None, 0, 0, len(setup.labelling.labels))
        labels = setup.problem(
            corpus=empty, starts=corpus.starts, gold=setup.labelling.gold, n_labels=len(setup.labelling.labels)
        )
        triples, digest = seen_triples(labels, setup.settings.order), digest_sums(corpus, first_token)
        return ShardCounts(keys, counts, triples, digest, len(corpus), corpus.n_tokens)

    def number(self, rank: Ints, edge_rank: Ints | None, n_attributes: int, n_edges: int) -> None:
        """Receive the numbers of attributes in the whole corpus."""
        setup, extraction = self.setup, self.extraction
        assert extraction.lists is not None
        on_edges = None
        if edge_rank is not None and extraction.edge_lists is not None:
            on_edges = extraction.edge_lists.renumber(edge_rank).arrays
        lists, corpus = extraction.lists.renumber(rank).arrays, setup.corpus
        n_labels, disk = len(setup.labelling.labels), corpus.disk if isinstance(corpus, DiskCorpus) else None
        encoded = _core.Encoded(
            corpus.starts, lists, on_edges, None, n_attributes, n_edges, n_labels, None, None, None, disk
        )
        self.problem = setup.problem(
            corpus=encoded,
            starts=corpus.starts,
            gold=setup.labelling.gold,
            n_labels=n_labels,
            partial=setup.labelling.partial,
            sentence_weights=setup.sentence_weights,
            first_token=self.first_token,
            block=self.block,
        )

    def build(self, part: Any) -> None:
        """Build a part of a training with the sentences of this worker."""
        self.parts = {0: part.at(self.problem)}

    def restrict(self, number: int, mask: Bools) -> None:
        """Make a part restricted to some of the weights; an earlier restricted part is dropped."""
        self.parts = {0: self.parts[0], number: self.parts[0].only(mask)}

    def of_part(self, number: int, method: str, *arguments: Any) -> Any:
        """Call a method of a part."""
        return getattr(self.parts[number], method)(*arguments)

    def _placed(self, columns: Mapping[str, Values], place: Place) -> tuple[Corpus, int]:
        """The sentences of a place with the values of all workers, and the number of tokens before them."""
        merged, disk, pieces = self.corpus, Disk(self.folder), list[Corpus]()
        skipped = int(np.searchsorted(merged.starts[:-1], place.begin - place.first_token))
        if skipped < len(merged):  # perhaps only empty sentences, at the start of another worker's block
            pieces.append(merged[skipped:])
        if place.begin < place.end:
            token, blocks = place.last_token, self.files.run(self.last).blocks()
            while token < place.end and (block := next(blocks, None)) is not None:
                pieces.append(block[0][: int(np.searchsorted(block[0].starts[:-1], place.end - token))])
                token += block[0].n_tokens
        shared, joined = dict[str, Column](), dict[str, Column]()
        for name, (strings, totals) in columns.items():
            codes = disk.writer(np.int32)
            for piece in pieces:
                column = piece.column(name)
                numbers = strings.find(column.values)
                for i in range(0, piece.n_tokens, CHUNK):
                    codes.add(numbers[column.codes[i : i + CHUNK]])
            of_two = len(columns_named(name, shared)) > 1
            (joined if of_two else shared)[name] = SharedColumn(codes.array(), strings, totals)
        sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(piece.starts) for piece in pieces)])
        lines = [np.full(p.n_tokens, NO_LINE) if p.lines is None else p.lines for p in pieces]
        begins, sources = 0, list[tuple[int, str]]()
        for piece in pieces:
            of_piece = piece.sources if isinstance(piece, DiskCorpus) else ((0, piece.source),)
            cut = skipped if isinstance(piece, DiskCorpus) else 0
            sources += [(begins + max(0, offset - cut), name) for offset, name in of_piece]
            begins += len(piece)
        corpus = DiskCorpus(
            shared,
            starts_of(sizes),
            merged.source,
            np.concatenate([np.zeros(0, np.int64), *lines]),
            disk=disk,
            sources=tuple(sources),
            joined=joined,
        )
        return corpus, place.first_token + int(merged.starts[skipped])


def keys_of(growing: _core.GrowingVocabulary) -> tuple[list[Any], list[Any], list[int]]:
    """The keys of tables and folds by their numbers, and the sizes of the tables."""
    tables, folds = growing.freeze(np.arange(growing.n_attributes, dtype=np.int32))
    by_number = [[keys for keys, _ in keys_in_order(KeyTables(**arrays))] for arrays in (tables, folds)]
    return by_number[0], by_number[1], growing.table_sizes.tolist()


def _none(n_tokens: int) -> Lists:
    """Empty attribute lists."""
    return Lists(np.zeros(n_tokens + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))


# ------------------------------------------------------------ in the main process


# Options that do not matter to workers.
KEPT_HERE = ("dev", "metric", "patience", "checkpoint", "checkpoint_every", "observer", "verbose", "info", "workers")


@contextmanager
def encode_shards(fit: Fit, stream: Any, workers: Workers) -> Iterator[tuple[Setup, Encoding]]:
    """Like `check` and `encode`, for sentences on workers; only the first sentences are in this process."""
    if not isinstance(stream, CorpusStream) or stream.files is None:
        raise LearnerError("workers require a trellis.stream of files; train on one, or omit workers")
    _check_options(fit.settings, fit.learner)
    if fit.settings.dev is not None:
        fit.settings.dev = corpus_of(fit.settings.dev, "compare epochs on", fit.settings.target)
    files, n = stream.files, min(workers.n_workers, len(stream.files.paths))
    cuts = files.runs(n)
    actors = workers.actors(Shard, [(files, a, b, stream.folder) for a, b in itertools.pairwise(cuts)])
    try:
        yield _encoded(fit, stream.folder, actors, files)
    finally:
        actors.end()


def _encoded(fit: Fit, folder: str | None, actors: Actors, files: Files) -> tuple[Setup, Encoding]:
    """The same, with actors already created."""
    target = fit.settings.target
    surveys: list[Survey] = actors.prepare("survey", [(target,)] * actors.n)
    columns, n_tokens = joined_columns(surveys), [survey.n_tokens for survey in surveys]
    if not sum(n_tokens):
        raise LearnerError("no sentences to train on; give at least one")
    head = Shard(files, 0, len(files.paths), folder, HEAD)
    head.survey(target)
    options = {name: value for name, value in fit.options.items() if name not in KEPT_HERE and value is not None}
    options = {"n_threads": 1, **options}
    first = head.find(options, columns, Place(0, HEAD, HEAD))
    _check_setup(head.setup)
    if (shards := getattr(fit.learner, "shards", 1)) > 1:
        block = -(-sum(n_tokens) // shards)  # a shard is learnt by one worker
    else:
        parts_of_labels = head.setup.parts
        block = block_tokens(len(head.setup.labelling.labels) if parts_of_labels is None else parts_of_labels.n_columns)
    ends = np.cumsum([0, *n_tokens]).tolist()
    places = [Place(a, b, block) for a, b in itertools.pairwise(ends)]
    results: list[ShardCounts] = actors.prepare("find", [(options, columns, place) for place in places])

    # Attributes by first appearance over all workers, then by how often they were seen.
    extraction, numbers = joined_keys(head.extraction, [survey.keys for survey in results], first.keys)
    counts = _joined_counts(head.setup, extraction, results, numbers)
    rank, rows = select(counts[0], fit.settings.min_count, head.setup.settings.pairs, np.empty(0, np.int32))
    if fit.settings.min_count > 1 and rank.max(initial=-1) < 0:
        raise LearnerError(f"min_count {fit.settings.min_count} removes all features; use a smaller value")
    edge_rank, edge_seen = np.empty(0, np.int32), None
    if len(counts) > 1:
        edge_rank, edge_seen = select(counts[1], fit.settings.min_count, "seen", np.empty(0, np.int32))
    ranks, sizes = (rank, edge_rank), [int(survey.max(initial=-1)) + 1 for survey in (rank, edge_rank)]

    def numbering(numbers_here: list[Ints]) -> tuple[Any, ...]:
        mapped = [ranks[kind][numbers_of] for kind, numbers_of in enumerate(numbers_here)]
        return (mapped[0], mapped[1] if len(mapped) > 1 else None, *sizes)

    actors.prepare("number", [numbering(numbers_of_part) for numbers_of_part in numbers[:-1]])
    head.number(*numbering(numbers[-1]))

    def parts(part: Any) -> ActorParts:
        actors.prepare("build", [(part.at(None),)] * actors.n)
        return ActorParts(part, actors)

    x, y, z = (np.concatenate(labels) for labels in zip(*(survey.triples for survey in results), strict=True))
    problem = replace(
        head.problem,
        seen_rows=rows,
        seen_edges=edge_seen,
        parts=parts,
        n_tokens=sum(n_tokens),
        seen_triples=(x, y, z),
    )
    digests = dict[tuple[str, str, int], int]()
    for survey in results:
        for key, number in survey.digest.items():
            digests[key] = digests.get(key, 0) + number
    facts = head.setup.facts | {"sentences": sum(survey.n_sentences for survey in results), "tokens": sum(n_tokens)}
    settings = head.setup.settings  # which are complete now
    for name in (*KEPT_HERE, "n_threads"):
        setattr(settings, name, getattr(fit.settings, name))
    vars(fit.settings).update(vars(settings))
    setup = replace(head.setup, fit=fit, settings=fit.settings, digest=digest_of_sums(digests), facts=facts)
    return setup, Encoding(problem, extraction, rank, edge_rank, None)


def joined_columns(surveys: Sequence[Survey]) -> dict[str, Values]:
    """The values of all workers' columns, in the order of their files."""
    columns = dict[str, Values]()
    for survey in surveys:
        if columns and survey.columns and list(survey.columns) != list(columns):
            actual, expected = ", ".join(survey.columns), ", ".join(columns)
            raise LearnerError(
                f"the columns are {actual} in some files and {expected} in others; use the same column names"
            )
        for name, (strings, counts) in survey.columns.items():
            if name not in columns:
                columns[name] = Values(strings, counts)
                continue
            joined, numbers = columns[name].strings.united(strings)
            totals = np.zeros(len(joined), np.int64)
            totals[: len(columns[name].counts)] = columns[name].counts
            np.add.at(totals, numbers, counts)
            columns[name] = Values(joined, totals)
    return columns


def joined_keys(head: Extraction, results: Sequence[Any], first: Any) -> tuple[Extraction, list[list[Ints]]]:
    """A vocabulary of the attributes of all workers, and the new numbers of each worker's and the head's attributes."""
    vocabulary = head.vocabulary
    plans = [part_of_plan(vocabulary.plan, 0, vocabulary.n_emission)]
    plans.append(part_of_plan(vocabulary.plan, vocabulary.n_emission, len(vocabulary.templates)))
    growing = [_core.GrowingVocabulary(plan) for plan in plans[: len(first)]]
    maps = [
        [one.merge(plan, *keys[kind][:2]) for kind, (one, plan) in enumerate(zip(growing, plans, strict=False))]
        for keys in (*results, first)
    ]
    begins = [starts_of(one.table_sizes).astype(np.int32) for one in growing]
    numbers = [
        [
            np.concatenate([NONE, *(table + begin for table, begin in zip(tables, first_numbers, strict=False))])
            for tables, first_numbers in zip(of_worker, begins, strict=True)
        ]
        for of_worker in maps
    ]
    sizes = [int(begin[-1]) for begin in begins]
    edges = growing[1] if len(growing) > 1 else None
    extraction = Extraction(vocabulary, growing[0], edges, None, None, sizes[0], sizes[1] if edges is not None else 0)
    return extraction, numbers


def _joined_counts(
    setup: Setup, extraction: Extraction, results: Sequence[ShardCounts], numbers: Sequence[Sequence[Ints]]
) -> list[Counted]:
    """Counts of attributes and edge attributes over all workers."""
    n_labels = len(setup.labelling.labels)
    counts = [Counted(extraction.n_attributes, n_labels, setup.parts)]
    if extraction.growing_edges is not None:
        counts.append(Counted(extraction.n_edge_attributes, n_runs(n_labels, None)))
    for result, numbers_of in zip(results, numbers, strict=False):
        for total, part, numbers_there in zip(counts, result.counted, numbers_of, strict=True):
            total.add_counted(part, numbers_there)
    return counts


def _check_options(settings: SimpleNamespace, learner: Any) -> None:
    """LearnerError for options and learners that workers do not support."""
    if not learner.on_workers:
        raise LearnerError(
            f"{type(learner).__name__} with these parameters does not support workers; use CRF or MaxEnt with L-BFGS, "
            "ExponentialLoss or an online learner with shards above 1, or omit workers"
        )
    unfit: dict[str, Any] = {
        name: getattr(settings, name) for name in ("init", "sample_weight", "segments", "documents")
    }
    unfit |= {"tag_dictionary": settings.tag_dictionary, "bagging": settings.bagging > 1}
    _reject(unfit)


def _check_setup(setup: Setup) -> None:
    """LearnerError for settings that workers do not support with this corpus."""
    _reject(
        {
            "prune": setup.settings.prune,
            "an order above 2": setup.settings.order > 2,
            "a dictionary learned from the corpus": setup.features.learned,
            "a template of several labels": setup.features.history > 1 or setup.features.far or setup.sparse,
        }
    )


def _reject(unfit: Mapping[str, Any]) -> None:
    if name := next((name for name, value in unfit.items() if value is not None and value not in (False, 0, ())), None):
        raise LearnerError(f"{name} cannot be combined with workers; omit one of them")
