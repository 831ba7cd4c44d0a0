"""`Segmenter`: word segmentation by a tagger of characters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from trellis._support.arguments import instance, items, whole_number
from trellis._support.errors import ArgumentError, CorpusError, ModelError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Corpus
from trellis.corpus.unspaced import (
    CHARACTER,
    LABELS,
    SegmentedText,
    Source,
    characters,
    check_encodable,
    is_blank,
    read_segmented,
    to_points,
    to_text,
    words_of,
)
from trellis.evaluation.words import WordReport, compare_words
from trellis.features.templates import dictionary_views
from trellis.tasks.explanation import Explanation, Term
from trellis.tasks.model import KBest, Model
from trellis.tasks.tagging.model import Tagger

BLANK = np.uint32(ord(" "))


class Segmenter(Model):
    """A word segmenter for text without spaces, made by ``Segmenter.train`` or ``trellis.load``.

    Parameters
    ----------
    tagger
        Tagger of characters with labels B, M, E and S: first, inner and last character of a word, word of one
        character.

    Examples
    --------
    >>> import trellis
    >>> segmenter = trellis.Segmenter.train(["我们 在 北京 读书", "老师 在 学校 教书"])
    >>> segmenter.predict("我们在学校教书")
    ['我们', '在', '学校', '教书']
    """

    task, format, needs = "words", "trellis-segmenter-1", Tagger.needs

    def __init__(self, tagger: Tagger) -> None:
        if tagger.columns != (CHARACTER,) or not set(tagger.labels) <= set(LABELS):
            raise ModelError(
                "not a word segmentation model; train one with Segmenter.train or trellis train --task words"
            )
        self.tagger = tagger

    def predict_batch(self, texts: Sequence[str], *, n_threads: int | None = None) -> list[list[str]]:
        """Segment many texts; ``segment_batch`` is the same method.

        Parameters
        ----------
        texts
            Texts; whitespace ends a word and is not part of one.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[str]]
            One list of words per text, without whitespace.
        """
        elements = items(texts)
        if elements is None:
            raise ArgumentError(f"texts must be a list of strings, not {texts!r}")
        for text in elements:
            _check(text)
        # Texts are joined by line feeds; within a text a line feed is whitespace like any other.
        lines = self._separated("\n".join(text.replace("\n", " ") for text in elements), n_threads).split("\n")
        return [words_of(line) for line, _ in zip(lines, elements, strict=False)]

    def predict_corpus(self, corpus: Corpus | str | os.PathLike[str], *, n_threads: int | None = None) -> Corpus:
        """Segment a corpus of characters; ``segment_corpus`` is the same method.

        Parameters
        ----------
        corpus
            Corpus of characters, or a text file, in which each piece between whitespace is a sentence.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Corpus
            The corpus with a column ``label``: position of each character in its word (B, M, E, S).
        """
        if isinstance(corpus, str | os.PathLike):
            text = read_segmented(corpus)
            corpus = SegmentedText([[piece] for line in text for piece in line], source=text.source).corpus()
        instance("corpus", corpus, Corpus, "a corpus of characters, or the path of a file of text")
        return self.tagger.tag_corpus(corpus, n_threads=n_threads)

    segment, segment_batch, segment_corpus = Model.predict, predict_batch, predict_corpus

    def kbest(self, text: str, k: int = 5) -> KBest:
        """Find the k best segmentations and their scores.

        Parameters
        ----------
        text
            The text.
        k
            Number of segmentations.

        Returns
        -------
        KBest
            Pairs (words, score), best first.
        """
        k, best = whole_number("k", k, 1, 2**31 - 1), [(list[str](), 0.0)]
        pieces = _pieces(text)
        for piece, paths in zip(
            pieces, self.tagger.kbest_batch(list(map(_characters, pieces)), k, n_threads=1), strict=True
        ):
            # Combining items i and j (from 1) of two sorted lists can be among the k best only if i * j <= k.
            pairs = [
                (words + _joined(piece, labels), score + path_score)
                for i, (words, score) in enumerate(best, 1)
                for labels, path_score in paths[: k // i]
            ]
            best = sorted(pairs, key=lambda pair: -pair[1])[:k]
        return KBest(best)

    def explain(self, text: str) -> Explanation:
        """Explain a prediction: the terms of the characters' labels, and the difference to the second-best.

        Parameters
        ----------
        text
            The text.

        Returns
        -------
        Explanation
            The explanation.
        """
        pieces, begins, at = _pieces(text), list[int](), 0
        for piece in pieces:
            begins.append(text.index(piece, at))
            at = begins[-1] + len(piece)
        analyses: list[Explanation] = [self.tagger.explain(_characters(piece)) for piece in pieces]

        def joined(parts: list[Explanation], second: Explanation | None) -> Explanation:
            words = [word for piece, part in zip(pieces, parts, strict=True) for word in _joined(piece, part.output)]
            terms = [
                replace(term, where=tuple(begin + place for place in term.where))
                for begin, part in zip(begins, parts, strict=True)
                for term in part.terms
            ]
            return Explanation(words, float(sum(part.score for part in parts)), terms, second)

        # The second-best text has the second-best words of one piece.
        i = min(range(len(analyses)), key=lambda i: analyses[i].gap, default=None)
        rival = None if i is None else analyses[i].second
        second = None if i is None or rival is None else joined([*analyses[:i], rival, *analyses[i + 1 :]], None)
        return joined(analyses, second)

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first, each with its label.
        """
        return self.tagger.top_features(n)

    def segment_text(self, text: str, *, n_threads: int | None = None) -> str:
        """Insert a space between words; nothing else changes.

        Parameters
        ----------
        text
            The text; lines and pieces between whitespace are segmented independently.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        str
            The text with spaces.

        Examples
        --------
        >>> import trellis
        >>> segmenter = trellis.Segmenter.train(["我们 在 北京 读书", "老师 在 学校 教书"])
        >>> segmenter.segment_text("我们在学校教书")
        '我们 在 学校 教书'
        """
        _check(text)
        return self._separated(text, n_threads)

    def segment_bytes(self, text: bytes, *, n_threads: int | None = None) -> bytes:
        """Insert a space between words of UTF-8 text; bytes that are not UTF-8 end a word and stay.

        Parameters
        ----------
        text
            The text.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        bytes
            The text with spaces.
        """
        return self._separated(text.decode("utf-8", "surrogateescape"), n_threads).encode("utf-8", "surrogateescape")

    def evaluate(
        self, gold: Source, y: Any = None, *, lenient: bool = False, n_threads: int | None = None
    ) -> WordReport:
        """Compare predicted words with gold words.

        Parameters
        ----------
        gold
            Text with spaces between words, in any form that ``train`` accepts; texts without spaces if ``y`` has the
            words.
        y
            Gold words of every text.
        lenient
            Whether to skip lines that are not UTF-8 or have no word.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        WordReport
            Precision, recall and F1 of words.
        """
        lines = gold_words(gold, y, lenient=lenient).lines
        predicted = self.segment_batch(["".join(words) for words in lines], n_threads=n_threads)
        return compare_words(lines, predicted, self.known_words)

    @property
    def info(self) -> dict[str, Any]:
        """The user's notes."""
        return self.tagger.info

    @property
    def training(self) -> dict[str, Any]:
        """The record of training."""
        return self.tagger.training

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        return self.tagger._content()

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        return cls(Tagger._from_content(tensors, header, **needs))

    @classmethod
    def _of_kind(cls, model: Model, source: str) -> Self:
        """Also accepts a tagger of characters: older files contain one."""
        if isinstance(model, Tagger) and model.columns == (CHARACTER,):
            return cls(model)
        return super()._of_kind(model, source)

    def _outside(self) -> dict[str, Any]:
        return self.tagger._outside()

    def _facts(self) -> dict[str, Any]:
        return {"known words": len(self.known_words), "weights": self.tagger.model.weights.n_nonzero}

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words of training, with ASCII for full-width characters; empty if no feature has a learned dictionary."""
        vocabulary = self.tagger.model.vocabulary
        views = zip(dictionary_views(vocabulary.templates), vocabulary.dictionaries, strict=True)
        learned = next((entries for view, entries in views if view.path is None and len(view.calls) == 1), None)
        return frozenset() if learned is None else frozenset(learned.entries())

    def _separated(self, text: str, n_threads: int | None) -> str:
        """Insert a space between words that are not separated by whitespace."""
        points = to_points(text)
        is_letter = ~is_blank(points)
        at = np.flatnonzero(is_letter)
        # Text between whitespace is a sentence.
        begins = np.flatnonzero(np.diff(at, prepend=-2) > 1)
        corpus = Corpus({CHARACTER: characters(points[at])}, np.append(begins, len(at)).astype(np.int64))
        labels = self.tagger.tag_column(corpus, n_threads=n_threads).codes
        cuts = np.zeros(len(points), bool)
        cuts[at] = np.array([label in ("E", "S") for label in self.tagger.labels])[labels]
        cuts[:-1] &= is_letter[1:]
        cuts[-1:] = False
        return to_text(np.insert(points, np.flatnonzero(cuts) + 1, BLANK))


def gold_words(text: Source, y: Any = None, *, lenient: bool = False) -> SegmentedText:
    """Lines of words; with ``y`` (the words), the first argument contains the texts."""
    if y is None:
        return read_segmented(text, lenient=lenient)
    texts, gold = items(text), read_segmented(y)
    if texts is None or ["".join(words_of(str(line))) for line in texts] != ["".join(words) for words in gold.lines]:
        raise ArgumentError("y must have the words of every text, one list per text")
    return gold


def _pieces(text: str) -> list[str]:
    """Split at whitespace; each piece is a sentence for the tagger."""
    _check(text)
    return words_of(text)


def _characters(piece: str) -> list[str]:
    """The tagger's input for a piece."""
    return characters(to_points(piece)).tolist()


def _joined(piece: str, labels: Sequence[str]) -> list[str]:
    """Join the characters of a piece to words by their labels."""
    words = [""]
    for letter, label in zip(piece, labels, strict=True):
        words[-1] += letter
        if label in ("E", "S"):
            words.append("")
    return [word for word in words if word]


def _check(text: Any) -> None:
    if not isinstance(text, str):
        raise ArgumentError(f"a text must be a string, not {text!r}")
    try:
        check_encodable(text)
    except ValueError as error:
        raise CorpusError("", None, str(error)) from None
