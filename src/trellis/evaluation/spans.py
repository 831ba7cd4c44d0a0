"""The spans that labels such as B-NP and I-NP mark, of many sentences at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trellis._support.arrays import Bytes, Ints, Longs
from trellis.corpus.schemes import OUTSIDE, split_label, starts_anew

_LETTERS = (OUTSIDE, "B", "I", "E", "S")
# [5, 5] whether a span ends or begins between two letters even if their types are the same.
_CUTS = np.array([[starts_anew(a, "", b, "") for b in _LETTERS] for a in _LETTERS])


@dataclass(frozen=True, slots=True)
class SpanReading:
    """What labels mark, as ``corpus.schemes.spans`` reads them: the same for all schemes."""

    types: tuple[str, ...]
    type_of: Ints  # [L] the type of a label's span, -1 outside
    cut: Bytes  # [L, L] whether something ends or begins between two neighbours

    @classmethod
    def of(cls, labels: Sequence[str], *more: Sequence[str]) -> SpanReading:
        """Of these labels, with the types of more of them too; CorpusError if one is not O or like B-NP."""
        parsed = [split_label(label) for label in labels]
        others = [split_label(label) for some in more for label in some]
        types = sorted({kind for letter, kind in [*parsed, *others] if letter != OUTSIDE})
        number = {kind: i for i, kind in enumerate(types)}
        letters = np.array([_LETTERS.index(letter) for letter, _ in parsed], np.int64)
        type_of = np.array([-1 if letter == OUTSIDE else number[kind] for letter, kind in parsed], np.int32)
        cut = _CUTS[letters[:, None], letters] | (type_of[:, None] != type_of)
        return cls(tuple(types), type_of, cut.astype(np.uint8))

    def find(self, codes: Ints, starts: Longs) -> SpanTable:
        """The spans of sentences that begin at starts [n_sentences + 1], all at once; codes [n_tokens] are labels."""
        cut = np.ones(len(codes) + 1, bool)  # [n_tokens + 1] whether something ends or begins before token t
        cut[1:-1] = self.cut[codes[:-1], codes[1:]]
        cut[starts] = True
        types = self.type_of[codes] if len(codes) else np.empty(0, np.int32)
        begins = np.flatnonzero(cut[:-1] & (types >= 0))
        return SpanTable(begins, np.flatnonzero(cut[1:] & (types >= 0)) + 1, types[begins].astype(np.int64))


@dataclass(frozen=True, slots=True)
class SpanTable:
    """The spans of many sentences, by where they begin."""

    begins: Longs  # [n_spans] first token
    ends: Longs  # [n_spans] last token + 1
    types: Longs  # [n_spans] index into a list of types
