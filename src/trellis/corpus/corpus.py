"""The corpus: sentences as dictionary-encoded columns over one flat run of tokens.

A sentence is a range of tokens, so slicing shares every array and costs nothing.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arguments import instance, is_text, real_number, whole_number
from trellis._support.arrays import Bytes, Ints, Longs, Ragged, runs_of, starts_of
from trellis._support.errors import ArgumentError, CorpusError

JOINT = "|"  # separator of joined columns, as between the features of CoNLL-U
CHUNK = 1 << 20  # tokens per chunk when counting
NOTHING = "_"  # empty value in CoNLL-U


class Strings:
    """An immutable list of UTF-8 strings: string i is ``data[starts[i]:starts[i + 1]]``."""

    __slots__ = ("_slots", "data", "starts")

    def __init__(self, data: Bytes, starts: Longs, slots: Ints | None = None) -> None:
        self.data = data  # uint8 [n_bytes]
        self.starts = starts  # int64 [n_strings + 1]
        self._slots = slots  # int32 [2^k] hash table of the strings' numbers, -1 where empty

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """Pack Python strings."""
        encoded = [s.encode() for s in strings]
        return cls(np.frombuffer(b"".join(encoded), np.uint8), starts_of([len(b) for b in encoded]))

    @property
    def slots(self) -> Ints:
        """Hash table from strings to numbers for native code, built on first use."""
        if self._slots is None:
            self._slots = _core.build_slots(self)
        return self._slots

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> str:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self.data[self.starts[i] : self.starts[i + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def take(self, numbers: Longs | Ints) -> Strings:
        """Select strings by number."""
        starts, letters = runs_of(self.starts, numbers)
        return Strings(self.data[letters], starts)

    def at(self, numbers: Ints) -> list[str]:
        """The string of every number."""
        strings = self if 4 * len(numbers) < len(self) else self.tolist()  # decode the few used ones, or all once
        return [strings[i] for i in numbers.tolist()]

    def tolist(self) -> list[str]:
        """All strings as Python objects."""
        data, starts = self.data.tobytes(), self.starts.tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(starts)]

    def find(self, others: Strings) -> Ints:
        """Number in this list of each of the other strings; -1 if missing."""
        return _core.find_strings(self, others)

    def united(self, others: Strings) -> tuple[Strings, Ints]:
        """Append the other strings that are new; also return the number of each of the other strings."""
        number = {string: i for i, string in enumerate(self)}
        numbers = [number.setdefault(string, len(number)) for string in others]
        return Strings.of(number), np.array(numbers, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One string per token: ``values[codes[t]]`` is the string of token t.

    Attributes
    ----------
    codes
        [n_tokens] index into ``values``.
    values
        The different strings.
    """

    codes: Ints
    values: Strings

    @classmethod
    def of(cls, strings: list[str]) -> Column:
        """Make a column from strings.

        Parameters
        ----------
        strings
            One string per token.

        Returns
        -------
        Column
            The column.
        """
        (codes, data, ends), _ = _core.intern_sentences([strings])
        return cls(codes, Strings(data, ends))

    def slice(self, begin: int, end: int) -> Column:
        """Select a range of tokens; values are shared.

        Parameters
        ----------
        begin
            First token.
        end
            Token after the last one.

        Returns
        -------
        Column
            The part.
        """
        return Column(self.codes[begin:end], self.values)

    def take(self, tokens: Longs) -> Column:
        """Select tokens; values are shared.

        Parameters
        ----------
        tokens
            Indices of tokens, in the order of the result.

        Returns
        -------
        Column
            The selected tokens.
        """
        return Column(self.codes[tokens], self.values)

    def followed_by(self, other: Column) -> Column:
        """Concatenate two columns.

        Parameters
        ----------
        other
            The column to append.

        Returns
        -------
        Column
            The tokens of both.
        """
        values, numbers = self.values.united(other.values)
        return Column(np.concatenate([self.codes, numbers[other.codes]]), values)

    def after(self, known: Strings) -> Column:
        """Recode the column so that known values come first, then new ones.

        Parameters
        ----------
        known
            Known values.

        Returns
        -------
        Column
            The column with other codes.
        """
        values, numbers = known.united(self.values)
        return Column(numbers[self.codes], values)

    def counts(self) -> Longs:
        """Count each value.

        Returns
        -------
        Longs
            [n_values] number of tokens.
        """
        counts = np.zeros(len(self.values), np.int64)
        for i in range(0, len(self.codes), CHUNK):  # np.bincount makes a copy
            counts += np.bincount(self.codes[i : i + CHUNK], minlength=len(self.values))
        return counts

    def tolist(self) -> list[str]:
        """Convert to a list.

        Returns
        -------
        list[str]
            One string per token.
        """
        return self.values.at(self.codes)

    def joined(self, other: Column) -> Column:
        """Join two columns with ``|``, as in ``NOUN|Number=Sing``; if the other has ``_``, its part is omitted.

        Parameters
        ----------
        other
            The second column.

        Returns
        -------
        Column
            The joined column.
        """
        keys = self.codes * np.int64(len(other.values)) + other.codes
        _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)  # by first appearance, as all columns are numbered
        pairs = zip(self.take(first[order]).tolist(), other.take(first[order]).tolist(), strict=True)
        values = (a if b in ("", NOTHING) else f"{a}{JOINT}{b}" for a, b in pairs)
        return Column(np.argsort(order).astype(np.int32)[codes.reshape(-1)], Strings.of(values))

    def split(self) -> tuple[Column, Column]:
        """Split the joined column at the first ``|``; the inverse of ``joined``.

        Returns
        -------
        tuple[Column, Column]
            Both columns.
        """
        halves = [value.partition(JOINT) for value in self.values]
        return self._renamed([a for a, _, _ in halves]), self._renamed([b or NOTHING for _, _, b in halves])

    def _renamed(self, names: list[str]) -> Column:
        """Replace the string of each value."""
        number = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return Column(np.array([number[name] for name in names] or [0], np.int32)[self.codes], Strings.of(number))


@dataclass(frozen=True, slots=True, eq=False)
class BagColumn(Ragged):
    """Any number of attributes per token, each a string with a value: the features of CRFsuite.

    Attributes
    ----------
    names
        The different attributes.
    starts
        [n_tokens + 1]; the attributes of token t are at starts[t] to starts[t + 1], exclusive.
    ids
        Index of each attribute into ``names``.
    values
        Value of each attribute; empty if all are 1.
    """

    names: Strings

    def followed_by(self, other: BagColumn) -> BagColumn:
        """Concatenate two columns.

        Parameters
        ----------
        other
            The column to append.

        Returns
        -------
        BagColumn
            The tokens of both.
        """
        names, numbers = self.names.united(other.names)
        plain = not len(self.values) and not len(other.values)
        values = np.empty(0, np.float32) if plain else np.concatenate([self.full_values(), other.full_values()])
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:] - other.starts[0]])
        return BagColumn(starts, np.concatenate([self.ids, numbers[other.ids]]), values, names)

    def tolist(self) -> list[dict[str, float]]:
        """Convert to a list.

        Returns
        -------
        list[dict[str, float]]
            The attributes of each token with their values.
        """
        items = list(zip(self.names.at(self.ids), self.full_values().tolist(), strict=True))
        return [dict(items[a:b]) for a, b in itertools.pairwise(self.starts.tolist())]


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """Lines of the file that are not tokens (comments, word ranges, empty nodes), to be written back."""

    sentences: Longs  # [n_extras] number of the sentence
    tokens: Longs  # [n_extras] number of tokens before the line
    lines: list[str]

    def slice(self, begin: int, end: int, first_token: int) -> Extras:
        """Extras of the sentences begin..end, renumbered for a corpus that starts at first_token."""
        inside = np.flatnonzero((self.sentences >= begin) & (self.sentences < end))
        lines = [self.lines[i] for i in inside.tolist()]
        return Extras(self.sentences[inside] - begin, self.tokens[inside] - first_token, lines)


def columns_named(name: str, columns: Container[str]) -> tuple[str, ...]:
    """Columns of a name: ``a+b`` means two columns, unless a column has exactly this name."""
    first, _, second = name.partition("+") if isinstance(name, str) else ("", "", "")
    return (first, second) if first and second and name not in columns else (name,)


DOCUMENT_MARKS = ("-DOCSTART-", "# newdoc")  # prefixes of lines that begin a document
Sentence = dict[str, list[Any]]  # by column: strings; for attributes dicts of name to value


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Corpus:
    """Sentences over named columns, made by ``trellis.read``.

    Attributes
    ----------
    columns
        Columns by name.
    starts
        [n_sentences + 1]; sentence i is tokens starts[i] to starts[i + 1], exclusive.
    source
        Name of the file, for messages.
    lines
        [n_tokens] line of the file of each token.
    extras
        Comments and other lines of the file that are not tokens.
    documents
        [n_sentences] document numbers of sentences that were selected from a corpus.

    Examples
    --------
    >>> import trellis
    >>> corpus = trellis.read({"word": [["Ann", "ran"], ["it", "rained"]], "pos": [["NP", "V"], ["PRP", "V"]]})
    >>> corpus.sentences("word")
    [['Ann', 'ran'], ['it', 'rained']]
    >>> train, test = corpus.split(0.5)
    >>> len(train), len(test)
    (1, 1)
    """

    columns: Mapping[str, Column | BagColumn]
    starts: Longs
    source: str = ""
    lines: Longs | None = None
    extras: Extras | None = field(default=None, repr=False)
    documents: Longs | None = None

    def __post_init__(self) -> None:
        if name := next((name for name in self.columns if isinstance(name, str) and not is_text(name)), None):
            reason = f"column {name!r} has a name that is not valid UTF-8; rename it"
            raise CorpusError(self.source, None, reason)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        place = f" from {self.source}" if self.source else ""
        return f"Corpus({', '.join(self.columns)}; {len(self):,} sentences, {self.n_tokens:,} tokens{place})"

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.starts[-1] - self.starts[0])

    def column(self, name: str) -> Column:
        """Get one column; ``upos+feats`` joins two columns.

        Parameters
        ----------
        name
            Name of the column.

        Returns
        -------
        Column
            One string per token.

        Raises
        ------
        CorpusError
            If there is no such column.
        """
        first, *further = columns_named(name, self.columns)
        if further:
            joint = self.column(first)
            if cut := next((value for value in joint.values if JOINT in value), None):
                text = f"column {first!r} has the value {cut!r}; only the second column of {name!r} may have {JOINT!r}"
                raise CorpusError(self.source, None, text)
            return joint.joined(self.column(further[0]))
        match = self.columns.get(name) if isinstance(name, str) else None
        if isinstance(match, Column):
            return match
        if match is not None:
            raise CorpusError(self.source, None, f"column {name!r} contains attributes, not one string per token")
        text = f"no column {name!r}; the columns are {', '.join(self.columns)}"
        if "form" in self.columns and isinstance(name, str):  # CoNLL-U
            synonym = "upos" if name in ("pos", "label") else "form"
            text += f": read the file with columns='{name}={synonym},...'"
        raise CorpusError(self.source, None, text)

    def with_column(self, name: str, column: Column | BagColumn) -> Corpus:
        """Make a corpus with one column added or replaced; ``upos+feats`` stands for both columns.

        Parameters
        ----------
        name
            Name of the column.
        column
            The column.

        Returns
        -------
        Corpus
            A new corpus.
        """
        instance("name", name, str, "a string")
        instance("column", column, (Column, BagColumn), "a column of a corpus, as returned by corpus.column(name)")
        n = len(column.codes) if isinstance(column, Column) else len(column)
        if n != self.n_tokens:
            raise ArgumentError(
                f"column must have one value per token; it has {n:,} values for {self.n_tokens:,} tokens"
            )
        if isinstance(column, Column) and n and not 0 <= column.codes.min() <= column.codes.max() < len(column.values):
            raise ArgumentError(f"column must have codes from 0 to {len(column.values) - 1}, the indices of its values")
        names = columns_named(name, self.columns) if isinstance(column, Column) else (name,)
        parts = column.split() if isinstance(column, Column) and len(names) == 2 else (column,)
        return replace(self, columns={**self.columns, **dict(zip(names, parts, strict=True))})

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Sentence: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | Longs) -> Corpus: ...
    def __getitem__(self, key: int | np.integer[Any] | slice | Sequence[int] | Longs) -> Sentence | Corpus:
        if isinstance(key, (int, np.integer)):
            i = int(key) + len(self) if key < 0 else int(key)
            if not 0 <= i < len(self):
                raise IndexError(key)
            begin, end = int(self.starts[i]), int(self.starts[i + 1])
            return {name: column.slice(begin, end).tolist() for name, column in self.columns.items()}
        if isinstance(key, str):
            raise ArgumentError(f"a corpus is indexed by sentence; for one column call corpus.sentences({key!r})")
        if not isinstance(key, slice):
            return self.take(key)
        begin, end, step = key.indices(len(self))
        if step != 1:
            return self.take(np.arange(begin, end, step))
        end = max(begin, end)
        first, last = int(self.starts[begin]), int(self.starts[end])
        return replace(
            self,
            columns={name: c.slice(first, last) for name, c in self.columns.items()},
            starts=self.starts[begin : end + 1] - first,
            lines=None if self.lines is None else self.lines[first:last],
            extras=None if self.extras is None else self.extras.slice(begin, end, first),
            documents=None if self.documents is None else self.documents[begin:end],
        )

    def __add__(self, other: Corpus) -> Corpus:
        """Concatenate two corpora with the same columns. Comments are dropped."""
        if not isinstance(other, Corpus):
            return NotImplemented
        if set(self.columns) != set(other.columns):
            text = f"columns {', '.join(other.columns)} differ from {', '.join(self.columns)}; use the same names"
            raise CorpusError(other.source, None, text)
        for name, column in self.columns.items():
            if type(column) is not type(other.columns[name]):
                raise CorpusError("", None, f"column {name!r} has attributes in one corpus and strings in the other")
        lines = None if self.lines is None or other.lines is None else np.concatenate([self.lines, other.lines])
        return Corpus(
            {name: column.followed_by(other.columns[name]) for name, column in self.columns.items()},  # type: ignore[arg-type]
            np.concatenate([self.starts, self.starts[-1] + other.starts[1:] - other.starts[0]]),
            ", ".join(dict.fromkeys(name for name in (self.source, other.source) if name)),
            lines,
            documents=np.concatenate([self.document_numbers(), other.document_numbers() + len(self) + 1]),
        )

    def __iter__(self) -> Iterator[Sentence]:
        lists: dict[str, list[Any]] = {name: column.tolist() for name, column in self.columns.items()}
        ends = self.starts.tolist()
        for a, b in itertools.pairwise(ends):
            yield {name: values[a:b] for name, values in lists.items()}

    def sentences(self, name: str) -> list[list[str]]:
        """Get one column as lists.

        Parameters
        ----------
        name
            Name of the column.

        Returns
        -------
        list[list[str]]
            One list of strings per sentence.
        """
        values, ends = self.column(name).tolist(), self.starts.tolist()
        return [values[a:b] for a, b in itertools.pairwise(ends)]

    def take(self, indices: npt.ArrayLike) -> Corpus:
        """Select sentences; comments and other lines that are not tokens are dropped.

        Parameters
        ----------
        indices
            Numbers of sentences, in the order of the result.

        Returns
        -------
        Corpus
            A new corpus.
        """
        numbers = self._numbers(indices)
        starts, tokens = runs_of(self.starts, numbers)
        return replace(
            self,
            columns={name: c.take(tokens) for name, c in self.columns.items()},
            starts=starts,
            lines=None if self.lines is None else self.lines[tokens],
            extras=None,
            documents=None if self.extras is None and self.documents is None else self.document_numbers()[numbers],
        )

    def document_numbers(self) -> Longs:
        """Number the documents; ``-DOCSTART-`` lines and ``# newdoc`` comments begin a document.

        Returns
        -------
        Longs
            [n_sentences] the document of each sentence.
        """
        if self.documents is not None or self.extras is None:
            return np.zeros(len(self), np.int64) if self.documents is None else self.documents
        begins = np.zeros(len(self) + 1, np.int64)
        for sentence, line in zip(self.extras.sentences.tolist(), self.extras.lines, strict=True):
            begins[min(sentence, len(self))] |= line.startswith(DOCUMENT_MARKS)
        return np.cumsum(begins[:-1])

    def _numbers(self, indices: npt.ArrayLike) -> Longs:
        """Numbers of sentences, checked."""
        try:
            array = np.asarray(indices)
        except (TypeError, ValueError):
            array = np.empty(0, object)
        if array.shape == (0,):
            return np.empty(0, np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < -len(self) or array.max() >= len(self):
            expected = f"sentence indices from 0 to {len(self) - 1}"
            raise ArgumentError(f"indices must be {expected}, not {reprlib.repr(indices)}")
        return array.astype(np.int64)

    def chunks(self) -> Iterator[Corpus]:
        """Iterate over the sentences in runs that fit into memory; here the whole corpus.

        Yields
        ------
        Corpus
            Parts of the corpus.
        """
        yield self

    def split(self, fraction: float, *, seed: int | None = None) -> tuple[Corpus, Corpus]:
        """Split into two corpora.

        Parameters
        ----------
        fraction
            Fraction of sentences in the first corpus.
        seed
            Seed for shuffling first (default: no shuffling).

        Returns
        -------
        tuple[Corpus, Corpus]
            The two corpora.
        """
        cut = round(real_number("fraction", fraction, 0, 1) * len(self))
        if seed is None:
            return self[:cut], self[cut:]
        order = _shuffled(len(self), seed)
        return self.take(np.sort(order[:cut])), self.take(np.sort(order[cut:]))

    def folds(self, folds: int, *, seed: int | None = None) -> Iterator[tuple[Corpus, Corpus]]:
        """Split for k-fold cross-validation.

        Parameters
        ----------
        folds
            Number of folds.
        seed
            Seed for shuffling first (default: no shuffling).

        Yields
        ------
        tuple[Corpus, Corpus]
            Training and test corpus of a fold; the test corpora together have every sentence once.
        """
        return ((self.take(train), self.take(test)) for train, test in fold_numbers(len(self), folds, seed))


def fold_numbers(n: int, folds: int, seed: int | None) -> Iterator[tuple[Longs, Longs]]:
    """Sentence numbers of ``folds`` pairs (train, test); each of n sentences is in one test part."""
    folds = whole_number("folds", folds, 2, max(2, n), ", the number of sentences")
    order = np.arange(n) if seed is None else _shuffled(n, seed)
    for i in range(folds):
        held_out = np.zeros(n, bool)
        held_out[order[i::folds]] = True
        yield np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _shuffled(n: int, seed: int) -> Longs:
    """The numbers below n in a random order."""
    return np.random.default_rng(whole_number("seed", seed, 0)).permutation(n)


# ------------------------------------------------------------ gold labels


def default_target(columns: Sequence[str]) -> str | None:
    """Default column of labels: label, upos in CoNLL-U, else the last one; None for a single column."""
    if "label" in columns:
        return "label"
    if "form" in columns and "upos" in columns:
        return "upos"
    return columns[-1] if len(columns) > 1 else None


UNANNOTATED = ("upos", "xpos", "deprel")  # columns of CoNLL-U in which _ is no label


def labels_of(corpus: Corpus, target: str, otherwise: str = "") -> Column:
    """The column of labels.

    Raises
    ------
    CorpusError
        If a label is missing. ``otherwise`` says what else to do than to add it.
    """
    column = corpus.column(target)
    is_joint, absent = len(columns_named(target, corpus.columns)) == 2, no_labels(corpus, target)
    firsts = (value.partition(JOINT)[0] if is_joint else value for value in column.values)
    empty = [v for v, first in enumerate(firsts) if first in absent]
    for chunk in corpus.chunks() if empty else ():
        missing = np.flatnonzero(np.isin(chunk.column(target).codes, empty))
        if len(missing):
            line = None if chunk.lines is None else int(chunk.lines[missing[0]])
            reason = f"no label in column {target!r}; add it or remove the sentence{', ' * bool(otherwise)}{otherwise}"
            raise CorpusError(chunk.source, line, reason)
    return column


def no_labels(corpus: Corpus, target: str) -> tuple[str, ...]:
    """Placeholders of missing labels."""
    first = columns_named(target, corpus.columns)[0]
    return ("", NOTHING) if first in UNANNOTATED and "form" in corpus.columns else ("",)


def column_of(labels: Sequence[Sequence[str]]) -> Column:
    """Convert labels of sentences to a column of a corpus."""
    from trellis.corpus.objects import from_mapping

    return from_mapping({"label": labels}, None).column("label")
