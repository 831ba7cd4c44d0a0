"""Errors of a tagger on a corpus, for an HTML report: metrics, confusions, and sentences of each confusion."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trellis._support.errors import ModelError
from trellis.evaluation.error_analysis import ErrorAnalysis
from trellis.evaluation.reliability import Calibration
from trellis.evaluation.tagging import TaggingReport, right_tokens

if TYPE_CHECKING:
    from trellis.tasks.tagging.decoding import Decode
    from trellis.tasks.tagging.model import Tagger

SHOWN = 20  # maximum number of sentences per confusion
LENGTHS = (1, 5, 10, 15, 20, 30, 40, 60)  # lower bounds of sentence lengths in words


class LengthScore(NamedTuple):
    """Accuracy on sentences of low to high words (inclusive; None: unbounded)."""

    low: int
    high: int | None
    n_sentences: int
    accuracy: float


class WrongSentence(NamedTuple):
    """A sentence with errors."""

    number: int  # from 1
    words: list[str]
    gold: list[str]
    predicted: list[str]


@dataclass(frozen=True, slots=True)
class ErrorsFound:
    """Content of the report, shown by ``trellis report`` and the studio."""

    target: str
    report: TaggingReport
    error_analysis: ErrorAnalysis
    calibration: Calibration | None  # None if the model has no marginals
    lengths: list[LengthScore]
    examples: dict[tuple[str, str], list[int]]  # (gold, predicted): numbers of example sentences
    sentences: dict[int, WrongSentence]
    history: list[dict[str, Any]]  # history of training
    score_name: str  # of the score on dev in the history

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "target": self.target,
            "report": self.report.to_dict(),
            "error_analysis": self.error_analysis.to_dict(),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "lengths": list(map(list, self.lengths)),
            "examples": [[*pair, numbers] for pair, numbers in self.examples.items()],
            "sentences": {str(number): sentence._asdict() for number, sentence in self.sentences.items()},
            "history": self.history,
        }

    def to_html(self, title: str) -> str:
        """Format as a self-contained HTML page."""
        from trellis.display.pages import errors_page

        return errors_page(self, title)


def find_errors(
    tagger: Tagger, source: Any, *, target: str | None = None, decode: Decode = "viterbi", n_threads: int | None = None
) -> ErrorsFound:
    """Tag a corpus (or a source for ``trellis.read``) and collect errors."""
    corpus, gold = tagger._labelled(source, target)
    predicted = tagger.tag_column(corpus, decode=decode, n_threads=n_threads)
    best = predicted if decode == "viterbi" else tagger.tag_column(corpus, n_threads=n_threads)
    try:
        calibration = tagger._reliability(corpus, gold, best, n_threads=n_threads)
    except ModelError:  # searched by a beam
        calibration = None
    right = right_tokens(gold, predicted)
    sentence_of = np.repeat(np.arange(len(corpus)), np.diff(corpus.starts))
    examples = defaultdict[tuple[str, str], list[int]](list)
    sentence_numbers: set[int] = set()
    truth, guess = gold.tolist(), predicted.tolist()
    for t in np.flatnonzero(~right).tolist():
        numbers, i = examples[truth[t], guess[t]], int(sentence_of[t])
        if len(numbers) < SHOWN and (not numbers or numbers[-1] != i + 1):
            numbers.append(i + 1)
            sentence_numbers.add(i)
    sentences = dict[int, WrongSentence]()
    for i in sorted(sentence_numbers):
        tokens = slice(*corpus.starts[i : i + 2].tolist())
        column = corpus[i].get(tagger.columns[0], [""] * len(truth[tokens]))
        words = [word if isinstance(word, str) else " ".join(list(word)[:2]) for word in column]
        sentences[i + 1] = WrongSentence(i + 1, words, truth[tokens], guess[tokens])
    return ErrorsFound(
        target or tagger.target,
        tagger._report(corpus, gold, predicted, target),
        tagger._error_analysis(corpus, gold, predicted),
        calibration,
        _by_length(np.diff(corpus.starts), right, sentence_of),
        dict(examples),
        sentences,
        tagger.training.get("history", []),
        tagger._score_name(),
    )


def _by_length(sizes: Any, right: Any, sentence_of: Any) -> list[LengthScore]:
    """Label accuracy by sentence length."""
    out = list[LengthScore]()
    for low, following in zip_longest(LENGTHS, LENGTHS[1:]):
        mask = (sizes >= low) & (sizes < (following or np.inf))
        if mask.any():
            high = None if following is None else following - 1
            out.append(LengthScore(low, high, int(mask.sum()), float(right[mask[sentence_of]].mean())))
    return out
