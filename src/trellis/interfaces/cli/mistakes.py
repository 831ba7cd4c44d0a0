"""Tokens that were labelled wrong, as a table for a spreadsheet or an editor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trellis.corpus.corpus import Column, Corpus
from trellis.interfaces.cli.outputs import writing
from trellis.interfaces.cli.progress import printable

AROUND = 3  # words shown on either side


def one_field(text: str) -> str:
    """A text that stays one field of a table, which people may look at in a terminal."""
    return printable(text.replace("\t", " ").replace("\n", " ").replace("\r", " "))


def write_mistakes(
    path: str, corpus: Corpus, word: str, columns: Sequence[tuple[str, Column]], some: Sequence[int]
) -> None:
    """The tokens ``some`` (numbers over the whole corpus): where each is, its word, these columns, and words around."""
    words = [str(one) for one in corpus.column(word).tolist()] if word in corpus.columns else ["_"] * corpus.n_tokens
    values = [column.tolist() for _, column in columns]
    lines = ["\t".join(["sentence", "token", "word", *(name for name, _ in columns), "around"])]
    sentence_of = np.searchsorted(corpus.starts, np.arange(corpus.n_tokens), "right") - 1
    bounds = list(pairwise(corpus.starts.tolist()))
    for t in some:
        i = int(sentence_of[t])
        begin, end = bounds[i]
        before, after = words[max(begin, t - AROUND) : t], words[t + 1 : min(end, t + 1 + AROUND)]
        around = " ".join([*before, f"[{words[t]}]", *after])
        fields = [str(i + 1), str(t - begin + 1), words[t], *(value[t] for value in values), around]
        lines.append("\t".join(map(one_field, fields)))
    with writing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
