"""From text with blanks between words to a segmenter."""

from __future__ import annotations

from typing import Any

from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.unspaced import LABEL, SegmentedText, Source, read_segmented
from trellis.learners.mira import MIRA
from trellis.tasks.tagging.train import train as train_tagger
from trellis.tasks.words.model import Segmenter

FEATURES = "segmentation"
DEFAULT = MIRA(epochs=10)


def train(
    text: Source | SegmentedText, *, dev: Any = None, lenient: bool = False, learner: Any = None, **more: Any
) -> Segmenter:
    """Learn from text with blanks between words, one sentence per line.

    ``text`` is a file, or a list of lines or of lists of words; so is ``dev``, on which the best epoch is chosen.
    ``lenient`` leaves out lines of blanks alone and lines that are not UTF-8, which else are errors. ``learner`` is
    as in ``trellis.train`` (default: ``MIRA(epochs=10)``), and ``more`` are its other parameters: ``features``
    (default: the preset "segmentation"), ``segments=True`` for a semi-Markov model...
    """
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
    learner = DEFAULT if learner is None else learner
    return Segmenter(train_tagger(corpus, target=LABEL, scheme="bmes", learner=learner, dev=held_out, **given))
