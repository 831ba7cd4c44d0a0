"""Sentences and attributes in plain Python, as most scripts make them: what the peers begin with.

Nothing here imports trellis, so that a peer's process holds only what the peer needs.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

Sentence = list[tuple[str, ...]]  # the columns of a token, its label last


def read_rows(path: Path | str) -> list[Sentence]:
    """A column file, gzipped or not, as sentences of tuples."""
    sentences: list[Sentence] = []
    sentence: Sentence = []
    opened: Any = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            if fields := line.split():
                sentence.append(tuple(fields))
            elif sentence:
                sentences.append(sentence)
                sentence = []
    return [*sentences, sentence] if sentence else sentences


def write_rows(path: Path | str, sentences: Sequence[Sequence[tuple[str, ...]]]) -> None:
    """The same to a file, columns parted by blanks."""
    with Path(path).open("w", encoding="utf-8") as file:
        for sentence in sentences:
            file.writelines(" ".join(token) + "\n" for token in sentence)
            file.write("\n")


def take(sentences: Sequence[Sequence[tuple[str, ...]]], *columns: int) -> list[list[Any]]:
    """Some columns of the sentences: strings where one is asked for, else tuples."""
    if len(columns) == 1:
        return [[token[columns[0]] for token in sentence] for sentence in sentences]
    return [[tuple(token[c] for c in columns) for token in sentence] for sentence in sentences]


def labels_of(sentence: Sentence) -> list[str]:
    """The last column."""
    return [token[-1] for token in sentence]


def chunking(sentence: Sentence) -> list[list[str]]:
    """The 19 templates that CRF++ and CRFsuite ship for CoNLL-2000, of (word, pos, ...)."""
    words = ["_B-2", "_B-1", *[token[0] for token in sentence], "_B+1", "_B+2"]
    tags = ["_B-2", "_B-1", *[token[1] for token in sentence], "_B+1", "_B+2"]
    around = zip(*(words[k:] for k in range(5)), *(tags[k:] for k in range(5)), strict=False)
    return [
        [
            f"w[-2]={a}",
            f"w[-1]={b}",
            f"w[0]={c}",
            f"w[1]={d}",
            f"w[2]={e}",
            f"w[-1]|w[0]={b}|{c}",
            f"w[0]|w[1]={c}|{d}",
            f"pos[-2]={p}",
            f"pos[-1]={q}",
            f"pos[0]={r}",
            f"pos[1]={s}",
            f"pos[2]={t}",
            f"pos[-2]|pos[-1]={p}|{q}",
            f"pos[-1]|pos[0]={q}|{r}",
            f"pos[0]|pos[1]={r}|{s}",
            f"pos[1]|pos[2]={s}|{t}",
            f"pos[-2]|pos[-1]|pos[0]={p}|{q}|{r}",
            f"pos[-1]|pos[0]|pos[1]={q}|{r}|{s}",
            f"pos[0]|pos[1]|pos[2]={r}|{s}|{t}",
        ]
        for a, b, c, d, e, p, q, r, s, t in around
    ]


@cache
def shape(word: str) -> str:
    """Upper, lower and digits as X, x and d, at most two of a kind in a row."""
    kinds = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return "".join(kind * min(2, sum(1 for _ in run)) for kind, run in itertools.groupby(kinds))


@cache
def spelling(word: str) -> list[str]:
    """What the preset ``default`` says of a word by itself."""
    low = word.lower()
    said = [f"lower={low}"]
    said += [f"prefix{k}={low[:k]}" for k in range(1, 8) if len(low) >= k]
    said += [f"suffix{k}={low[-k:]}" for k in range(1, 8) if len(low) >= k]
    said += [f"prefix|suffix={low[:3]}|{low[-3:]}"] * (len(low) >= 3)
    said += ["has_upper"] * any(c.isupper() for c in word)
    return said


def default(sentence: Sentence) -> list[list[str]]:
    """The templates of the preset ``default``, of (word, ...); what one word says is kept for its next time."""
    words = ["_B-2", "_B-1", *[token[0] for token in sentence], "_B+1", "_B+2"]
    out = []
    for t, (a, b, c, d, e) in enumerate(zip(*(words[k:] for k in range(5)), strict=False)):
        found = [f"w[-2]={a}", f"w[-1]={b}", f"w[0]={c}", f"w[1]={d}", f"w[2]={e}"]
        found += [f"w[-1]|w[0]={b}|{c}", f"w[0]|w[1]={c}|{d}", *spelling(c)]
        found += [f"shape[-1]={shape(b)}", f"shape[0]={shape(c)}", f"shape[1]={shape(d)}"]
        found += [f"suffix[-1]={b.lower()[-3:]}", f"suffix[1]={d.lower()[-3:]}"]
        if t == 0:
            found.append(f"first={shape(c)}")
        out.append(found)
    return out


def letters(sentence: Sentence) -> list[list[str]]:
    """The templates of the preset ``letters`` but for labels: runs of up to four letters around the token."""
    given = ["_B"] * 3 + [token[0] for token in sentence] + ["_E"] * 3
    runs = [(1, -3, 3), (2, -2, 2), (3, -2, 2), (4, -3, 3)]  # length, first and last offset
    places = [(n, k) for n, first, last in runs for k in range(first, last - n + 2)]
    return [[f"{n}[{k}]={'|'.join(given[t + 3 + k : t + 3 + k + n])}" for n, k in places] for t in range(len(sentence))]


ATTRIBUTES: dict[str, Callable[[Sentence], list[list[str]]]] = {
    "chunking": chunking,
    "default": default,
    "letters": letters,
}
