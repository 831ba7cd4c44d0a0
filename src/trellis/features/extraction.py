"""From a corpus to attribute numbers: the vocabulary grows over a training corpus and is then frozen for look-ups."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arrays import NONE, Floats, Ints, Longs, Ragged, starts_of
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import BagColumn, Column, Corpus, Strings
from trellis.corpus.on_disk import DiskCorpus
from trellis.features.dictionaries import Dictionary, EntrySpans, learn_dictionary, read_dictionary
from trellis.features.functions import COUNTED, RARE, Lookups
from trellis.features.known import entries
from trellis.features.templates import DictionaryView, Look, Template, derived_names, dictionary_views, vector_file
from trellis.features.vectors import Files, Vectors, read_vectors, shifted, value_lists
from trellis.features.vocabulary import (
    NO_TABLES,
    PAIR,
    Bag,
    ColumnVocabulary,
    FeatureSet,
    KeyTables,
    Plan,
    Sources,
    View,
    Vocabulary,
    bits_of,
    derived_columns,
    function_of,
    native_calls,
    pack_keys,
    reach_of,
    read_lookups,
    seen_as,
    views_of,
)


def view_table(view: View, strings: Strings, lookups: Lookups, column: str = "") -> tuple[Ints, Strings]:
    """The view of each value, as numbers of distinct strings in order of first appearance."""
    values, calls, numbers = strings.tolist(), native_calls(view), dict[str, int]()
    if calls is not None:
        foreign = [value for value in values if not value.isascii()]
        foreign_results = list(map(function_of(view, lookups, column), foreign)) if foreign else []
        table = _core.view_table(calls, strings, foreign_results)
        if table is not None:
            codes, data, starts = table
            return codes, Strings(data, starts)
    results = map(function_of(view, lookups, column), values)
    ids = [-1 if s is None else numbers.setdefault(s, len(numbers)) for s in results]
    return np.array(ids, np.int32), Strings.of(numbers)


def compact(column: Column) -> Column:
    """The column with only the values that occur: a slice of a corpus shares the values of the whole."""
    present = column.counts() > 0
    if present.all():
        return column
    return Column((np.cumsum(present) - 1).astype(np.int32)[column.codes], column.values.take(np.flatnonzero(present)))


def column_vocabulary(
    name: str,
    values: Strings,
    views: Sequence[View],
    reach: int,
    lookups: Lookups,
    dictionaries: Mapping[DictionaryView, Dictionary] | None = None,
    vectors: Files | None = None,
    more: Mapping[View, Sequence[str]] | None = None,
) -> ColumnVocabulary:
    """Views of the values of a column; ids of strings follow the ids of positions outside the sentence.

    For views of dictionaries or vectors the strings are those of the dictionary or file. ``more`` are further strings
    that views may give for other values.
    """
    ids = np.empty((len(values), len(views)), np.int32)
    strings = list[Strings | None]()
    for j, view in enumerate(views):
        if not view:
            ids[:, j] = np.arange(len(values)) + 2 * reach
            strings.append(None)
            continue
        numbers, distinct = view_table(view, values, lookups, name)
        if more is not None and view in more:
            distinct, _ = distinct.united(Strings.of(dict.fromkeys(more[view])))
        dictionary, file = (dictionaries or {}).get(DictionaryView(name, view)), vector_file(view)
        if dictionary is not None or file is not None:
            tokens = dictionary.tokens if dictionary is not None else (vectors or {})[str(file)].words
            requested = np.append(tokens.find(distinct), -1)
            numbers, distinct = requested[numbers].astype(np.int32), tokens
        ids[:, j] = np.where(numbers < 0, -1, numbers + 2 * reach)
        strings.append(distinct)
    return ColumnVocabulary(name, tuple(views), values, ids, tuple(strings))


class Coded(NamedTuple):
    """A column as codes, with the view ids of its values.

    Attributes
    ----------
    codes
        [n_tokens] code of each token.
    view_ids
        [n_values, n_views] ids of the views of each value.
    """

    codes: Ints
    view_ids: Ints


class AttributeLists:
    """The attribute lists of a corpus in memory, as one chunk."""

    def __init__(self) -> None:
        self.lists = Ragged.none()

    def add(self, lists: Ragged, sizes: Sequence[int]) -> None:
        """Add the lists of the next chunk and the number of attributes in each table of the vocabulary after it."""
        self.lists = lists

    def chunks(self) -> Iterator[Ragged]:
        """Iterate over the lists with the final numbers of attributes."""
        yield self.lists

    def renumber(self, rank: Ints) -> Ragged:
        """Lists of all tokens with new ids; items of rank -1 are dropped. The old lists are freed."""
        lists, self.lists = self.lists, Ragged.none()
        return lists.renumber(rank)


class Extraction(NamedTuple):
    """A training corpus with all attributes numbered, before cut-offs are applied."""

    vocabulary: Vocabulary  # with empty tables
    growing: _core.GrowingVocabulary
    growing_edges: _core.GrowingVocabulary | None
    lists: AttributeLists | None = None
    edge_lists: AttributeLists | None = None
    n_attributes: int = 0  # attributes of templates, then of the bag
    n_edge_attributes: int = 0
    known: Ints = NONE  # the number here of each attribute of the earlier vocabulary
    known_edges: Ints = NONE


class Extractor:
    """Templates compiled for columns with known values; attributes are numbered in order of first occurrence."""

    def __init__(
        self,
        templates: Sequence[Template],
        values: Mapping[str, Strings],
        counts: Callable[[str], Longs],
        known: Vocabulary | None = None,
        learned: Mapping[DictionaryView, Dictionary] | None = None,
        more: Mapping[str, Mapping[View, Sequence[str]]] | None = None,
    ) -> None:
        """``values`` are those of the columns; ``counts`` gives the counts of a column's values.

        Dictionaries are those that are ``known`` or ``learned``, others are read from their files. ``more``, by column,
        are strings that its views have beside those of its values.
        """
        # Templates of vectors come last among those of single labels: native code numbers the others.
        self.templates = sorted(templates, key=lambda template: (template.history_code, template.of_vectors))
        self.n_emission = sum(not t.history_code for t in templates)
        derived, reach = derived_names(self.templates), reach_of(self.templates)
        names = [*values, *derived]
        views = views_of(self.templates, names)
        dictionary_looks = dictionary_views(self.templates)
        if known is not None:
            learned = dict(zip(dictionary_looks, known.dictionaries, strict=True))
        self.dictionaries: dict[DictionaryView, Dictionary] = {
            view: (learned or {}).get(view)
            or read_dictionary(str(view.path), values[view.column].tolist(), function_of(view.calls, {}))
            for view in dictionary_looks
        }
        self.lookups: Lookups = read_lookups(self.templates) if known is None else known.lookups
        paths = {path for template in self.templates for look in template.looks if (path := vector_file(look.calls))}
        self.vectors: Files = {path: read_vectors(path) for path in sorted(paths)} if known is None else known.vectors
        if known is None:
            self.lookups = {**self.lookups, **frequent_words(values, counts, views)}
        self.columns = tuple(
            column_vocabulary(
                name, strings, v, reach, self.lookups, self.dictionaries, self.vectors, (more or {}).get(name)
            )
            for (name, strings), v in zip(values.items(), views, strict=False)
        ) + derived_columns(derived, reach)

        def atom_of(look: Look) -> tuple[int, int, int]:
            name, view = seen_as(look)
            c = names.index(name)
            j = views[c].index(view)
            # A key for each string of a view, or for each dimension of its vectors.
            n, file = len(self.columns[c].strings[j] or self.columns[c].values), vector_file(view)
            return c, j, bits_of(2 * reach + (n if file is None else max(n, self.vectors[file].matrix.shape[1])))

        self.plan = Plan(*pack_keys(self.templates, atom_of), reach)
        self.parts = [
            part_of_plan(self.plan, 0, self.n_emission),
            part_of_plan(self.plan, self.n_emission, len(self.templates)),
        ]
        self.growing, edges = (_core.GrowingVocabulary(part) for part in self.parts)
        self.growing_edges = edges if self.n_emission < len(self.templates) else None
        # Dimensions of vectors are numbered at the beginning.
        self.valued = [
            (k, self.growing.add(self.parts[0], k, np.arange(width, dtype=np.int32)[:, None] + np.int32(2 * reach)))
            for k, template in enumerate(self.templates)
            if template.of_vectors
            for width in [self._vectors_of(k).matrix.shape[1]]
        ]

    def _vectors_of(self, k: int) -> Vectors:
        return self.vectors[str(vector_file(self.templates[k].looks[0].calls))]

    def lists(
        self, codes: Sequence[Ints], starts: Longs, n_threads: int, folds: Ints | None = None
    ) -> tuple[Ragged, Ragged | None]:
        """The attributes and edge attributes of every token, from the codes of its values in each column.

        ``folds`` is the fold of each sentence for look-ups in learned dictionaries.
        """
        codes = [*codes, *self._derived(codes, starts, n_threads, folds)]
        coded = [Coded(values, column.view_ids) for values, column in zip(codes, self.columns, strict=True)]
        plain = part_of_plan(self.plan, 0, self.n_emission - len(self.valued))
        lists = Ragged(**self.growing.extract(plain, coded, starts, n_threads))
        if self.valued:
            lists = _join(lists, self._values(codes, starts))
        if self.growing_edges is None:
            return lists, None
        return lists, Ragged(**self.growing_edges.extract(self.parts[1], coded, starts, n_threads))

    def _derived(self, codes: Sequence[Ints], starts: Longs, n_threads: int, folds: Ints | None) -> list[Ints]:
        """The codes of derived columns."""
        matches = dict[DictionaryView, list[Ints]]()
        for view, dictionary in self.dictionaries.items():
            c = next(i for i, column in enumerate(self.columns) if column.name == view.column)
            ids = self.columns[c].view_ids[:, self.columns[c].views.index(view.calls)]
            symbols = np.maximum(ids - 2 * self.plan.reach, -1).astype(np.int32)[codes[c]]
            visible = folds if view.path is None else None
            matches[view] = list(dictionary.native.match(symbols, starts, visible, n_threads))  # numbered as MATCHED
        return [matches[view][where] for view, where in derived_names(self.templates).values()]

    def _values(self, codes: Sequence[Ints], starts: Longs) -> Ragged:
        """Components of vectors, as attributes with values."""
        base, looks = starts_of(self.growing.table_sizes), list[tuple[Ints, Floats, Ints]]()
        for k, dimensions in self.valued:
            first, _, table = self.plan.templates[k].tolist()
            c, j, offset, *_ = self.plan.atoms[first].tolist()
            rows = np.maximum(self.columns[c].view_ids[:, j] - 2 * self.plan.reach, -1).astype(np.int32)[codes[c]]
            ids = (base[table] + dimensions).astype(np.int32)
            looks.append((shifted(rows, starts, offset), self._vectors_of(k).matrix, ids))
        return value_lists(looks, int(starts[-1]))

    def vocabulary(self, bag: Bag | None = None) -> Vocabulary:
        """The vocabulary, with empty tables."""
        lookups = self.lookups, tuple(self.dictionaries.values()), self.vectors
        rest = self.columns, self.plan, NO_TABLES, NO_TABLES, bag, *lookups
        return Vocabulary(tuple(self.templates), self.n_emission, *rest)


def extract(
    corpus: Corpus,
    features: FeatureSet,
    n_threads: int,
    known: Vocabulary | None = None,
    spans: EntrySpans | None = None,
) -> Extraction:
    """Number every attribute of the corpus under these templates, and all ``known`` attributes.

    Dictionaries are learned from ``spans``.
    """
    bags = [name for name in features.columns if isinstance(corpus.columns.get(name), BagColumn)]
    bag_templates = [t for t in features.templates if any(look.column in bags for look in t.looks)]
    for template in bag_templates:
        if len(template.looks) != 1 or template.looks[0].offset or template.looks[0].calls or template.history_code > 1:
            raise TemplateError(
                f"template {str(template)!r}: read a column of attributes as {bags[0]}[0], alone or with label[-1]"
            )
    if len(bags) > 1 or len({template.history_code for template in bag_templates}) < len(bag_templates):
        raise TemplateError("at most one column of attributes is supported; merge the columns")
    compacted = {name: compact(corpus.column(name)) for name in features.columns if name not in bags}
    if known is not None:
        olds = zip(compacted.items(), known.inputs, strict=True)
        compacted = {name: column.after(old.values) for (name, column), old in olds}
    learned = dict[DictionaryView, Dictionary]()
    for view in dictionary_views(features.templates):
        if view.path is None and spans is not None:
            column = compacted[view.column]
            numbers, strings = view_table(view.calls, column.values, {}, view.column)
            learned[view] = learn_dictionary(spans, numbers[column.codes], strings)
    extractor = Extractor(
        [t for t in features.templates if t not in bag_templates],
        {name: column.values for name, column in compacted.items()},
        lambda name: compacted[name].counts(),
        known,
        learned,
    )
    growing, growing_edges = extractor.growing, extractor.growing_edges
    old = [known_numbers(known, which, keys, extractor.parts) for which, keys in enumerate((growing, growing_edges))]
    codes, folds = [column.codes for column in compacted.values()], None if spans is None else spans.sentence_folds
    bag_source, bag = corpus.columns[bags[0]] if bags else None, None
    if isinstance(bag_source, BagColumn) and known is not None and known.bag is not None:
        names, numbers = known.bag.strings.united(bag_source.names)
        bag_source = BagColumn(bag_source.starts, numbers[bag_source.ids], bag_source.values, names)
    lists, edge_lists = lists_for(corpus), lists_for(corpus)
    token, sentence, has_edges, sizes = 0, 0, growing_edges is not None, list[list[int]]()
    for chunk in corpus.chunks():
        begin, token, first, sentence = token, token + chunk.n_tokens, sentence, sentence + len(chunk)
        part = None if folds is None else folds[first:sentence]
        of_chunk, on_edges = extractor.lists([values[begin:token] for values in codes], chunk.starts, n_threads, part)
        sizes = [
            [*growing.table_sizes.tolist()],
            [] if growing_edges is None else [*growing_edges.table_sizes.tolist()],
        ]
        if isinstance(bag_source, BagColumn):
            histories = {template.history_code for template in bag_templates}
            bag, keys = bag_of(bags[0], bag_source.names, histories, *map(sum, sizes)), bag_source.slice(begin, token)
            of_chunk = _join(of_chunk, keys.renumber(bag.attributes))
            sizes[0].append(int((bag.attributes >= 0).sum()))
            if bag.pairs is not None:
                empty = Ragged(np.zeros(len(keys) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
                on_edges, has_edges = _join(on_edges or empty, keys.renumber(bag.pairs)), True
                sizes[1].append(int((bag.pairs >= 0).sum()))
        lists.add(of_chunk, sizes[0])
        if on_edges is not None:
            edge_lists.add(on_edges, sizes[1])
    old_numbers = [numbers_there() for numbers_there in old]
    if bag is not None and known is not None and known.bag is not None:
        old_numbers[0] = _with_bag(old_numbers[0], known.bag.attributes, bag.attributes)
        if known.bag.pairs is not None and bag.pairs is not None:
            old_numbers[1] = _with_bag(old_numbers[1], known.bag.pairs, bag.pairs)
    n_attributes, n_edges = map(sum, sizes)
    edges = edge_lists if has_edges else None
    return Extraction(
        extractor.vocabulary(bag), growing, growing_edges, lists, edges, n_attributes, n_edges, *old_numbers
    )


def lists_for(corpus: Corpus) -> AttributeLists:
    """Empty attribute lists, in memory or on disk like the corpus."""
    if not isinstance(corpus, DiskCorpus):
        return AttributeLists()
    from trellis.features.disk_lists import DiskLists

    return DiskLists(corpus.disk)


def bag_of(column: str, names: Strings, histories: Container[int], first: int, first_pair: int) -> Bag:
    """Attributes numbered from ``first`` on; those with label pairs from ``first_pair`` on.

    ``histories`` lists the numbers of preceding labels with which templates read the column. Names that begin with
    ``label[-1] & `` are edge attributes only.
    """
    is_pair = np.array([name.startswith(PAIR) for name in names], bool)
    with_label = ~is_pair & (0 in histories)
    with_pair = is_pair | (1 in histories)
    attributes = np.where(with_label, np.cumsum(with_label) + (first - 1), -1).astype(np.int32)
    pairs = np.where(with_pair, np.cumsum(with_pair) + (first_pair - 1), -1).astype(np.int32)
    return Bag(column, names, attributes, pairs if with_pair.any() else None)


def frequent_words(
    values: Mapping[str, Strings], counts: Callable[[str], Longs], views: Sequence[Sequence[View]]
) -> dict[tuple[str, str], dict[str, str]]:
    """The words that are not rare, by function and column, for functions that depend on word counts."""
    lookups = dict[tuple[str, str], dict[str, str]]()
    for (name, words), v in zip(values.items(), views, strict=False):  # derived columns have no words
        for function in sorted({call.name for view in v for call in view if call.name in COUNTED}):
            often = np.flatnonzero(counts(name) > RARE)
            lookups[function, name] = {words[value]: "yes" for value in often.tolist()}
    return lookups


def known_numbers(
    known: Vocabulary | None,
    kind: int,
    growing: _core.GrowingVocabulary | None,
    parts: Sequence[Plan],
    renamed: Callable[[int, Ints], Ints] = lambda k, ids: ids,
) -> Callable[[], Ints]:
    """Put the known attributes (of labels: which = 0, of pairs: 1) into a growing vocabulary, before all others.

    Returns a function that gives the number there of each, -1 for none, once all attributes are there: tables follow
    one another. ``renamed`` gives the view ids of a template's attributes there.
    """
    seeds = list[tuple[int, Ints, Ints]]()  # of each table: its number, old numbers of attributes, numbers within it
    if known is not None and growing is not None:
        first = known.n_emission if kind else 0
        for k, numbers, ids in entries(known, on_edge=bool(kind)):
            places = growing.add(parts[kind], k - first, np.ascontiguousarray(renamed(k, ids)))
            seeds.append((int(known.plan.templates[k, 2]), numbers, places))

    def numbers_there() -> Ints:
        out = np.full(max((int(n.max(initial=-1)) + 1 for _, n, _ in seeds), default=0), -1, np.int32)
        for table, numbers, targets in seeds:
            assert growing is not None
            out[numbers] = starts_of(growing.table_sizes)[table] + targets
        return out

    return numbers_there


def _with_bag(numbers: Ints, attributes: Ints, new: Ints) -> Ints:
    """Extend a map from old to new numbers by free-form attributes; ``new`` are their new numbers."""
    out = np.empty(max(len(numbers), int(attributes.max(initial=-1)) + 1), np.int32)
    out[: len(numbers)] = numbers
    alive = np.flatnonzero(attributes >= 0)
    out[attributes[alive]] = new[alive]
    return out


def part_of_plan(plan: Plan, first: int, last: int) -> Plan:
    """The plan with only some of its templates; tables and folds keep their numbers."""
    return replace(plan, templates=np.ascontiguousarray(plan.templates[first:last]))


def _join(lists: Ragged, second_lists: Ragged) -> Ragged:
    """Concatenate two attribute lists per token."""
    starts, ids, weights = second_lists.starts, second_lists.ids, second_lists.full_values()
    sizes, more = np.diff(lists.starts), np.diff(starts)
    joined = starts_of(sizes + more)
    out = np.empty(joined[-1], np.int32)
    values = np.ones(joined[-1], np.float32)
    first = np.repeat(joined[:-1] - lists.starts[:-1], sizes) + np.arange(len(lists.ids))
    second = np.repeat(joined[:-1] + sizes - starts[:-1], more) + np.arange(len(ids))
    out[first], out[second], values[first], values[second] = lists.ids, ids, lists.full_values(), weights
    return Ragged(joined, out, np.empty(0, np.float32) if bool((values == 1).all()) else values)


def freeze(extraction: Extraction, rank: Ints, edge_rank: Ints) -> Vocabulary:
    """The vocabulary with attributes renumbered: rank[a] is the new number of a, -1 drops it."""
    vocabulary, edges, n = extraction.vocabulary, extraction.growing_edges, extraction.vocabulary.n_emission
    tables, folds = (KeyTables(**raw) for raw in extraction.growing.freeze(rank[: extraction.growing.n_attributes]))
    if edges is not None:  # its templates come last, and with them their tables and folds
        edge_tables, edge_folds = (KeyTables(**raw) for raw in edges.freeze(edge_rank[: edges.n_attributes]))
        first_atom, _, first_table = vocabulary.plan.templates[n].tolist()
        first_fold = int(vocabulary.plan.atoms[:first_atom, 4].max(initial=-1)) + 1
        tables, folds = _spliced(tables, edge_tables, first_table), _spliced(folds, edge_folds, first_fold)
    bag = vocabulary.bag
    if bag is not None:  # -1, no attribute, gets the last rank
        attributes = np.append(rank, np.int32(-1))[bag.attributes]
        pairs = None if bag.pairs is None else np.append(edge_rank, np.int32(-1))[bag.pairs]
        places = np.flatnonzero((attributes >= 0) | (False if pairs is None else pairs >= 0))
        bag = Bag(bag.column, bag.strings.take(places), attributes[places], None if pairs is None else pairs[places])
    return replace(vocabulary, tables=tables, folds=folds, bag=bag)


def _spliced(first: KeyTables, second: KeyTables, n: int) -> KeyTables:
    """The first n tables of one layout filled by two extractions, then the others of the second."""
    (keys, ids, starts), (more_keys, more_ids, more_starts) = first, second
    a, b = starts[n], more_starts[n]
    ends = np.concatenate([starts[:n], more_starts[n:] - b + a])
    return KeyTables(np.concatenate([keys[:a], more_keys[b:]]), np.concatenate([ids[:a], more_ids[b:]]), ends)


def sources(extraction: Extraction, rank: Ints) -> Sources:
    """The source of every attribute of labels, under the numbers that ``rank`` gives."""
    vocabulary, growing = extraction.vocabulary, extraction.growing
    n_sources, numbers = vocabulary.plan.n_tables, rank[: growing.n_attributes]
    out = np.full(int(rank.max(initial=-1)) + 1, n_sources, np.int32)
    out[numbers[numbers >= 0]] = np.repeat(np.arange(n_sources), growing.table_sizes)[numbers >= 0]
    grouped: list[tuple[Template, ...]] = [()] * (n_sources + 1)
    for k in range(vocabulary.n_emission):
        grouped[vocabulary.plan.templates[k, 2]] += (vocabulary.templates[k],)
    return Sources(out, tuple(grouped))
