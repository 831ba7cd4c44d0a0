"""Dictionaries of entries over several tokens: columns that are derived from a sentence (core/text/dictionary.hpp).

``begins(word[0], "cities.txt")`` is how many tokens the longest entry has that begins at a token,
``in_list(word[0], "cities.txt")`` which part of an entry the token is: B, I, E, or S where it is all of it. To a plan
each is a look at a *derived* column, whose strings are the lengths and parts. The dictionary computes it from a view of
an input column. Looks with the same view and file share a dictionary; its entries are mapped by that view, too. Without
a file the entries are the spans of the training corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trellis import _core
from trellis._support.arrays import Ints, Longs, runs_of, starts_of
from trellis.corpus.corpus import Strings
from trellis.features.functions import Function, fields_of, read_lookup

ANYONE, NOBODY = -1, -2  # fold numbers with a special meaning, as in core/text/dictionary.hpp
_LENGTHS = [str(length) for length in range(_core.DICTIONARY_MOST + 1)]
VALUES = Strings.of([*_LENGTHS, "", *"BIES"])  # of a derived column, as native code numbers them; "" is silent


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Entries as sequences of symbols, the numbers of their tokens; ``native`` does the look-ups."""

    tokens: Strings
    starts: Longs  # [n_entries + 1] entry i is symbols[starts[i]:starts[i + 1]]
    symbols: Ints
    native: _core.Dictionary

    @classmethod
    def of(cls, tokens: Strings, starts: Longs, symbols: Ints) -> Dictionary:
        """Of distinct entries; ValueError if they are damaged."""
        return cls(tokens, starts, symbols, _core.Dictionary(len(tokens), starts, symbols))

    def entries(self) -> list[str]:
        """The entries as text, tokens concatenated without separator."""
        tokens, symbols = self.tokens.tolist(), self.symbols.tolist()
        return ["".join(tokens[s] for s in symbols[a:b]) for a, b in zip(self.starts, self.starts[1:], strict=False)]


@dataclass(frozen=True, slots=True)
class EntrySpans:
    """The spans of a training corpus, from which dictionaries are learned."""

    begins: Longs  # [n] first tokens
    lengths: Longs
    folds: Ints  # [n] of the sentences that they are in
    sentence_folds: Ints  # [n_sentences] fold (entries found only in this fold are hidden from it), ANYONE or NOBODY


def read_dictionary(path: str, values: Sequence[str], function: Function) -> Dictionary:
    """Read the entries of a file, one per line, tokens separated by spaces, mapped by the view ``function``.

    If all values of the column are single characters, tokens are characters. Entries that are empty after the mapping
    are dropped.
    """
    of_characters = all(len(value) == 1 for value in values)
    lines = [fields_of(text) for text in read_lookup("in_list", path)]
    written = ["".join(tokens) if of_characters else tokens for tokens in lines]
    entries_seen = [[function(token) for token in entry] for entry in written]
    entries = dict.fromkeys(
        tuple(token for token in entry if token is not None) for entry in entries_seen if None not in entry
    )
    number = {token: i for i, token in enumerate(dict.fromkeys(token for entry in entries for token in entry))}
    symbols = np.array([number[token] for entry in entries for token in entry], np.int32)
    return Dictionary.of(Strings.of(number), starts_of([len(entry) for entry in entries]), symbols)


def learn_dictionary(spans: EntrySpans, values: Ints, strings: Strings) -> Dictionary:
    """Spans as entries; ``values`` [n_tokens] is the view's id for each token, -1 for no value."""
    starts = starts_of(spans.lengths)
    tokens = np.repeat(spans.begins - starts[:-1], spans.lengths) + np.arange(starts[-1])
    symbols = values[tokens]
    valid = np.minimum.reduceat(symbols, starts[:-1]) >= 0 if len(spans.begins) else np.zeros(0, bool)
    bounds, items = runs_of(starts, np.flatnonzero(valid))
    ids, symbols = np.unique(symbols[items], return_inverse=True)
    symbols = symbols.reshape(-1).astype(np.int32)
    native = _core.Dictionary(len(ids), bounds, symbols, spans.folds[valid])
    first = dict[bytes, int]()
    for i, (begin, end) in enumerate(pairwise(bounds.tolist())):
        first.setdefault(symbols[begin:end].tobytes(), i)
    starts, items = runs_of(bounds, np.array([*first.values()], np.int64))
    return Dictionary(strings.take(ids), starts, symbols[items], native)
