"""From text with blanks between words to a segmenter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Unpack

from trellis._support.arguments import instance
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.stream import CorpusStream
from trellis.corpus.unspaced import LABEL, Source, read_segmented
from trellis.evaluation.words import WordReport
from trellis.learning.fit import Fit
from trellis.tasks.tagging.options import Features, Labels
from trellis.tasks.tagging.train import train as train_tagger
from trellis.tasks.words.model import Segmenter, gold_words
from trellis.tasks.words.options import WordsOptions

UNIT = "characters"  # what is counted in the history of training


def train(text: Source, y: Any = None, **options: Unpack[WordsOptions]) -> Segmenter:
    """Train a segmenter on text with blanks between words, one sentence per line.

    Parameters
    ----------
    text
        File, list of lines, list of lists of words, or corpus, stream or table with a column ``word``; so is ``dev``.
    y
        Lists of words, where ``text`` has texts without blanks.
    **options
        See `WordsOptions` (docs/segmentation.md).
    """
    settings = Fit(WordsOptions, options, metrics=WordReport.metrics).settings
    if isinstance(text, CorpusStream):
        blocks, characters = text, CorpusStream(lambda: map(_characters, blocks), text.source, text.folder)
        return _trained(settings, options, characters)
    lines = gold_words(text, y, lenient=settings.lenient)
    if lines.lines and not any(len(word) == 1 for words in lines.lines for word in words):
        why = "no word of one character, so some texts have no segmentation; add a line with one"
        raise CorpusError(lines.source, None, why)
    return _trained(settings, options, lines.corpus())


def _characters(block: Corpus) -> Corpus:
    """The characters of a block of words."""
    return read_segmented(block).corpus()


def _trained(settings: SimpleNamespace, options: Mapping[str, Any], corpus: Corpus | CorpusStream) -> Segmenter:
    """The segmenter of labelled characters."""
    changed = {"learner": settings.learner, "labels": Labels(scheme="bmes")}
    if settings.dev is not None:
        changed["dev"] = read_segmented(settings.dev, lenient=settings.lenient).corpus()
    if settings.init is None:
        changed["features"] = Features(settings.features, settings.min_count, settings.pairs)
    else:
        changed["init"] = instance("init", settings.init, Segmenter, "a Segmenter, as returned by trellis.load").tagger
    if (observer := settings.observer) is not None:
        changed["observer"] = lambda event: observer(replace(event, unit=UNIT))
    if settings.metric == "f1":
        changed["metric"] = "span"  # for the tagger words are spans
    shared = {name: value for name, value in options.items() if name != "lenient"}
    tagger = train_tagger(corpus, target=LABEL, **{**shared, **changed})
    for epoch in tagger.training["history"]:
        epoch["unit"] = UNIT
    if settings.metric == "f1":
        tagger.training["metric"] = tagger.training["options"]["metric"] = "f1"
    return Segmenter(tagger)
