"""The segmenter as its user meets it: a tagger of characters, text in and words out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from trellis._support.arguments import items
from trellis._support.arrays import Bools
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError
from trellis.corpus.corpus import Corpus
from trellis.corpus.unspaced import (
    CHARACTER,
    LABEL,
    LABELS,
    Points,
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
from trellis.features.dictionaries import dictionary_views
from trellis.tasks.tagging.model import Tagger

BLANK = np.uint32(ord(" "))
FEATURES = "segmentation"


class Segmenter:
    """Finds the words of text that is written without blanks. Get one from ``Segmenter.train`` or ``Segmenter.load``.

    ``tagger`` is what it stands on: a tagger of characters with labels B, M, E and S (first, inner and last character
    of a word, a word of one).
    """

    def __init__(self, tagger: Tagger) -> None:
        if tagger.columns != (CHARACTER,) or not set(tagger.labels) <= set(LABELS):
            raise ModelError("not a model of words; train one with trellis segment train or Segmenter.train")
        self.tagger = tagger

    @classmethod
    def train(
        cls, text: Source | SegmentedText, *, dev: Any = None, lenient: bool = False, learner: Any = None, **more: Any
    ) -> Segmenter:
        """Learn from text with blanks between words, one sentence per line.

        ``text`` is a file, or a list of lines or of lists of words; so is ``dev``, on which the best epoch is chosen.
        ``lenient`` leaves out lines of blanks alone and lines that are not UTF-8, which else are errors. ``learner`` is
        as in ``trellis.train`` (default: MIRA, shuffled), and ``more`` are its other parameters: ``features`` (default:
        the preset "segmentation"), ``segments=True`` for a semi-Markov model...
        """
        from trellis.learners.mira import MIRA
        from trellis.tasks.tagging.train import train

        for name in ("target", "scheme", "partial", "init"):
            if more.get(name) is not None:
                raise LearnerError(f"{name} has no place in the training of a segmenter; omit it")
        lines = read_segmented(text, lenient=lenient)
        if lines.lines and not any(len(word) == 1 for words in lines.lines for word in words):
            why = "no word of one character, without which some texts have no segmentation; add a line that has one"
            raise CorpusError(lines.source, None, why)
        corpus = lines.corpus()
        held_out = None if dev is None else read_segmented(dev, lenient=lenient).corpus()
        given = {"features": FEATURES, **more}
        learner = MIRA(shuffle=True) if learner is None else learner
        return cls(train(corpus, target=LABEL, scheme="bmes", learner=learner, dev=held_out, **given))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Segmenter:
        """Read a model that ``save`` wrote."""
        return cls(Tagger.load(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, its dictionary included, as one file."""
        self.tagger.save(path)

    def segment(self, text: str) -> list[str]:
        """The words of a text. White space ends a word and is part of none."""
        return self.segment_batch([text], n_threads=1)[0]

    def segment_batch(self, texts: Sequence[str], *, n_threads: int | None = None) -> list[list[str]]:
        """The words of many texts. ``n_threads``: the number of threads (default: all cores)."""
        given = items(texts)
        if given is None:
            raise ArgumentError(f"texts must be a list of strings, not {texts!r}")
        for text in given:
            _check(text)
        # A line feed between two texts keeps their words apart.
        points = to_points("\n".join(given))
        cuts = self._cuts(points, n_threads)
        cut = np.concatenate([[0], np.cumsum(cuts)])
        found, separated, begin = list[list[str]](), _separated(points, cuts), 0
        for text in given:
            end = begin + len(text)
            found.append(words_of(separated[begin + cut[begin] : end + cut[end]]))
            begin = end + 1
        return found

    def separate(self, text: str, *, n_threads: int | None = None) -> str:
        """The text with a blank between two words that have none; nothing else is changed.

        Lines are segmented one by one, and so is what stands between blanks.
        """
        _check(text)
        points = to_points(text)
        return _separated(points, self._cuts(points, n_threads))

    def separate_bytes(self, text: bytes, *, n_threads: int | None = None) -> bytes:
        """The same of UTF-8; bytes that are not UTF-8 end a word, and come out as they are."""
        points = to_points(text.decode("utf-8", "surrogateescape"))
        return _separated(points, self._cuts(points, n_threads)).encode("utf-8", "surrogateescape")

    def evaluate(
        self, gold: Source | SegmentedText, *, lenient: bool = False, n_threads: int | None = None
    ) -> WordReport:
        """Compare its words with those of a text with blanks between words, as ``train`` takes it."""
        lines = read_segmented(gold, lenient=lenient).lines
        found = self.segment_batch(["".join(words) for words in lines], n_threads=n_threads)
        return compare_words(lines, found, self.known_words)

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words of training, letters and digits in half width; none if its features have no learned dictionary."""
        vocabulary = self.tagger.model.vocabulary
        views = zip(dictionary_views(vocabulary.templates), vocabulary.dictionaries, strict=True)
        learned = next((entries for view, entries in views if view.path is None and len(view.calls) == 1), None)
        return frozenset() if learned is None else frozenset(learned.entries())

    def _cuts(self, points: Points, n_threads: int | None) -> Bools:
        """[n] after which code points a blank is missing: where a word ends and another one follows at once."""
        is_letter = ~is_blank(points)
        at = np.flatnonzero(is_letter)
        # What stands between blanks is a sentence.
        begins = np.flatnonzero(np.diff(at, prepend=-2) > 1)
        corpus = Corpus({CHARACTER: characters(points[at])}, np.append(begins, len(at)).astype(np.int64))
        labels = self.tagger.tag_corpus(corpus, n_threads=n_threads).codes
        cuts = np.zeros(len(points), bool)
        cuts[at] = np.array([label in ("E", "S") for label in self.tagger.labels])[labels]
        cuts[:-1] &= is_letter[1:]
        cuts[-1:] = False
        return cuts


def _separated(points: Points, cuts: Bools) -> str:
    """The text with a blank after each cut."""
    return to_text(np.insert(points, np.flatnonzero(cuts) + 1, BLANK))


def _check(text: Any) -> None:
    if not isinstance(text, str):
        raise ArgumentError(f"a text is a string, not {text!r}")
    try:
        check_encodable(text)
    except ValueError as error:
        raise CorpusError("", None, str(error)) from None
