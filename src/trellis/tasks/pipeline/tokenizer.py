"""Sentences and tokens of raw text, by a tagger of characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trellis._support.arrays import Bools, Ints, Longs
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.tasks.pipeline.characters import Characters
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import Features

LABEL = "label"
# Labels of characters. Of the last one of a token: TOKEN, or SENTENCE if a sentence ends there; MULTIWORD and
# MULTIWORD_SENTENCE if the token has several words. All other characters of a token are INSIDE; whitespace between
# tokens is OUTSIDE.
INSIDE, OUTSIDE, TOKEN, SENTENCE, MULTIWORD, MULTIWORD_SENTENCE = LABELS = ("I", "O", "T", "S", "M", "MS")


def _runs(look: str, *windows: tuple[int, int]) -> list[str]:
    """Conjunctions of a column at all offsets of each window."""
    return [" & ".join(f"{look}[{offset}]" for offset in range(first, last + 1)) for first, last in windows]


# Chosen on the development files of UD English-EWT and UD French-Sequoia.
TEMPLATES = [
    *_runs(
        "char", *((k, k) for k in range(-3, 4)), (-1, 0), (0, 1), (-2, 0), (0, 2), (-1, 1), (-2, 1), (-1, 2), (-2, 2)
    ),
    *_runs("kind", (-1, 1), (-2, 2), (-3, 3), (0, 1), (0, 3), (0, 4)),
    # the chunk around the character
    *("left[0]", "right[0]", "left[0] & right[0]", "lower(left[0]) & lower(right[0])"),
    *("lower(left[0]) & kind[1]", "suffix(left[0], 3) & right[0]", "suffix(left[0], 4) & prefix(right[0], 3)"),
    *("shape(left[0]) & shape(right[0])", "left[0] & kind[1] & kind[2]"),
    # and the next one, for the ends of sentences
    *("right[0] & kind[0] & next[0]", "right[0] & kind[0] & next_shape[0]"),
    *("left[0] & right[0] & next_shape[0]", "left[0] & right[0] & next[0]"),
    *("shape(left[0]) & shape(right[0]) & next_shape[0]", "prefix(right[0], 2) & kind[0] & prefix(next[0], 3)"),
    *("kind[0] & kind[1] & next_shape[0] & previous_shape[0]", "kind[0] & kind[1] & kind[2] & previous[0]"),
    # the words around ambiguous multiword tokens, such as French "des"
    *(f"left[0] & right[0] & {look}" for look in ("previous[0]", "suffix(previous[0], 2)", "suffix(next[0], 2)")),
    "left[0] & right[0] & suffix(previous[0], 3) & suffix(next[0], 3)",
]
FEATURES = Features(TEMPLATES, min_count=2)
BLOCK = 1 << 20  # characters that are labelled at once


class Tokens(NamedTuple):
    """Tokens of a text.

    Attributes
    ----------
    starts, ends
        [n_tokens] offsets in the text; ends are exclusive.
    sentences
        [n_sentences + 1] first token of each sentence, and the number of tokens.
    multiword
        [n_tokens] whether the token has several words.
    """

    starts: Longs
    ends: Longs
    sentences: Longs
    multiword: Bools


def labelled(text: str, tokens: Tokens) -> Corpus:
    """The characters of a text with the labels of its gold tokens."""
    characters = Characters.of(text)
    labels = np.full(len(characters), LABELS.index(INSIDE), np.int32)
    first, last = (np.searchsorted(characters.starts, at) for at in (tokens.starts, tokens.ends - 1))
    inside = np.zeros(len(characters) + 1, np.int64)
    np.add.at(inside, first, 1)
    np.add.at(inside, last + 1, -1)
    labels[characters.is_space & (np.cumsum(inside)[:-1] == 0)] = LABELS.index(OUTSIDE)
    is_end = np.zeros(len(tokens.starts), np.int64)
    is_end[tokens.sentences[1:] - 1] = 1
    labels[last] = LABELS.index(TOKEN) + is_end + 2 * tokens.multiword
    return characters.corpus().with_column(LABEL, Column(labels, Strings.of(LABELS)))


def tokens_of(characters: Characters, labels: Sequence[str], codes: Ints, *, lines: bool = False) -> Tokens:
    """The tokens of labelled characters: whitespace outside tokens ends a token, a paragraph a sentence.

    ``lines``: only a paragraph ends a sentence.
    """
    n, is_space = len(characters), characters.is_space
    number = {label: code for code, label in enumerate(labels)}

    def has(*wanted: str) -> Bools:
        return np.isin(codes, [number[label] for label in wanted if label in number])

    outer = characters.is_paragraph | (is_space & ~has(INSIDE))
    ends = has(TOKEN, SENTENCE, MULTIWORD, MULTIWORD_SENTENCE) & ~is_space
    ends |= ~is_space & np.append(outer[1:], True)  # before whitespace outside tokens, and at the end of the text
    # Whitespace after the end of a token is outside, and so is whitespace after such whitespace.
    outer |= is_space & np.insert(ends[:-1], 0, True)[:n]
    ends |= ~is_space & np.append(outer[1:], True)
    begins = ~outer & np.insert((ends | outer)[:-1], 0, True)[:n]
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    before_paragraph = np.append(characters.is_paragraph[1:], True)
    sentence_ends = before_paragraph[last]
    if not lines:
        sentence_ends |= has(SENTENCE, MULTIWORD_SENTENCE)[last]
    return Tokens(
        characters.starts[first],
        characters.starts[last] + 1,
        np.insert(np.flatnonzero(sentence_ends) + 1, 0, 0),
        has(MULTIWORD, MULTIWORD_SENTENCE)[last],
    )


def split(tagger: Tagger, text: str, *, lines: bool = False, n_threads: int | None = None) -> Tokens:
    """Split a text into sentences and tokens; ``lines``: every line is a sentence.

    A long text is labelled in blocks, for little memory. A block ends at an empty line; where there is none, at the
    last sentence that begins in it.
    """
    found, begin = list[Tokens](), 0
    while not found or begin < len(text):
        end = begin + BLOCK
        if end < len(text):
            end = max(text.rfind("\n\n", begin + 1, end), 0) or end
        tokens = _split_block(tagger, text[begin:end], begin, lines, n_threads)
        if begin + BLOCK == end < len(text) and len(tokens.sentences) > 2:
            n = int(tokens.sentences[-2])  # the last sentence may go on
            end = int(tokens.starts[n])
            tokens = Tokens(tokens.starts[:n], tokens.ends[:n], tokens.sentences[:-1], tokens.multiword[:n])
        found.append(tokens)
        begin = end
    first = np.cumsum([0, *(len(tokens.starts) for tokens in found)])
    sentences = [tokens.sentences[1:] + n for tokens, n in zip(found, first[:-1], strict=True)]
    starts, ends, multiword = (
        np.concatenate(columns)
        for columns in zip(*((tokens.starts, tokens.ends, tokens.multiword) for tokens in found), strict=True)
    )
    return Tokens(starts, ends, np.concatenate([[0], *sentences]).astype(np.int64), multiword)


def _split_block(tagger: Tagger, text: str, offset: int, lines: bool, n_threads: int | None) -> Tokens:
    characters = Characters.of(text, lines=lines)
    codes = tagger.tag_column(characters.corpus(), n_threads=n_threads).codes
    tokens = tokens_of(characters, tagger.labels, codes, lines=lines)
    return tokens._replace(starts=tokens.starts + offset, ends=tokens.ends + offset)
