"""Training of a word segmenter from segmented text."""

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

UNIT = "characters"  # unit of counts in the training history


def train(text: Source, y: Any = None, **options: Unpack[WordsOptions]) -> Segmenter:
    """Train a word segmenter on text with spaces between words, one sentence per line.

    Parameters
    ----------
    text
        File, list of lines, list of lists of words, or a corpus, stream or table with a column ``word``; ``dev``
        likewise.
    y : list of list of str, optional
        Words of every text, if ``text`` has texts without spaces.
    features : str, path, list of str or Features, optional
        Preset, template file or list of templates of characters, or a `Features` (default: preset ``"segmentation"``).
    learner : Learner or str, optional
        Learner or its name (default: ``MIRA(epochs=10)``).
    lenient : bool, default False
        Skip lines that are not UTF-8 or have no word.
    order : int, optional
        Markov order: number of preceding labels (default: that of the templates).
    search : Search, optional
        Beam width, pruning and tag dictionary.
    segments : bool or Segments, default False
        Train a semi-Markov model, with features of whole words.
    bagging : int, default 1
        Number of trainings, each without a random tenth of the features; the model is their mean.
    dev : data, optional
        Held-out data, in the form of the training data; the epoch with the best score on it is returned.
    metric : str, default "auto"
        Score on ``dev``: ``"f1"`` or ``"auto"``, the same.
    patience : int, optional
        Number of epochs without a better score on ``dev`` after which training stops.
    checkpoint : path, optional
        File that training resumes from, with the same result as without an interruption.
    checkpoint_every : int, default 1
        Number of epochs between checkpoints.
    observer : callable, optional
        Function that gets an `Event` after each epoch; it may raise `StopTrainingError`.
    verbose : bool, default False
        Print one line per epoch on standard error.
    n_threads : int, optional
        Number of threads (default: all cores); the result does not depend on it.
    sample_weight : array-like, optional
        Weight of each sentence.
    init : model, optional
        Model for a warm start.
    info : dict, optional
        Notes to store in the model; values must be JSON-serialisable.

    Returns
    -------
    Segmenter
        The trained model.

    Raises
    ------
    LearnerError
        If an option is invalid, or has no effect with the other options.
    CorpusError
        If the data is invalid.

    Examples
    --------
    >>> import trellis
    >>> segmenter = trellis.Segmenter.train(["我们 在 北京 读书", "老师 在 学校 教书"])
    >>> segmenter.predict("我们在学校教书")
    ['我们', '在', '学校', '教书']
    """
    settings = Fit(WordsOptions, options, metrics=WordReport.metrics).settings
    if isinstance(text, CorpusStream):
        blocks, characters = text, CorpusStream(lambda: map(_characters, blocks), text.source, text.folder)
        return _trained(settings, options, characters)
    lines = gold_words(text, y, lenient=settings.lenient)
    if lines.lines and not any(len(word) == 1 for words in lines.lines for word in words):
        reason = "no word of one character, so some texts have no segmentation; add a line with one"
        raise CorpusError(lines.source, None, reason)
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
        changed["metric"] = "span"  # words are spans of the tagger
    shared = {name: value for name, value in options.items() if name != "lenient"}
    tagger = train_tagger(corpus, target=LABEL, **{**shared, **changed})
    for epoch in tagger.training["history"]:
        epoch["unit"] = UNIT
    if settings.metric == "f1":
        tagger.training["metric"] = tagger.training["options"]["metric"] = "f1"
    return Segmenter(tagger)
