"""From a treebank to a pipeline: tokenizer, taggers, lemmas and parser."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from trellis import _core
from trellis._support.arrays import Longs
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import JOINT, NOTHING, Column, Corpus
from trellis.corpus.document import Document
from trellis.corpus.document_sentence import MultiwordToken
from trellis.features.presets import DEFAULT, RICH
from trellis.learners.online import MIRA
from trellis.learning.fit import Fit, fingerprint
from trellis.learning.run import interrupts_raise
from trellis.tasks.parsing.model import Parser
from trellis.tasks.parsing.train import train as train_parser
from trellis.tasks.parsing.treebank import read_dependencies
from trellis.tasks.pipeline import tokenizer
from trellis.tasks.pipeline.expansion import Expander
from trellis.tasks.pipeline.lemmas import Lemmatizer
from trellis.tasks.pipeline.model import (
    DEPREL,
    FEATS,
    FORM,
    HEAD,
    LEMMA,
    PARAGRAPH,
    PARTS,
    UPOS,
    Parts,
    Pipeline,
    check_parts,
    documents_of,
)
from trellis.tasks.pipeline.options import PipelineOptions
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import SURVIVAL, Search
from trellis.tasks.tagging.train import train as train_tagger

XPOS = "xpos"
TAGS = (UPOS, XPOS, FEATS)
MANY_LABELS = 150  # more are pruned, for speed
# Eight sentences at a time, on all threads (docs/parsing.md has figures).
PARSER_LEARNER = MIRA(C=0.01, batch=8, epochs=6, shuffle=False)
MOST_CROSSING = 0.05  # share of the arcs that cross others up to which all trees are taken as projective

UPOS_FEATURES = [template.replace("word[", "form[") for template in RICH]
# Of further tags: the coarse tags around the word as well. Other templates were not compared.
TAG_FEATURES = [
    *(template.replace("word[", "form[") for template in DEFAULT),
    *("upos[-1]", "upos[0]", "upos[1]", "upos[-1] & upos[0]", "upos[0] & upos[1]"),
    *("upos[-1] & upos[0] & upos[1]", "upos[-2] & upos[-1] & upos[0]", "upos[0] & upos[1] & upos[2]"),
    *("upos[0] & lower(form[0])", "upos[0] & lower(form[-1])", "upos[0] & lower(form[1])"),
    *(f"upos[0] & suffix(lower(form[0]), {k})" for k in range(1, 6)),
]


def train(corpus: Any, y: Any = None, **options: Unpack[PipelineOptions]) -> Pipeline:
    """Train a pipeline on a treebank.

    Parameters
    ----------
    corpus
        File in CoNLL-U, `Document`, or list of documents; ``dev`` likewise. Texts if ``y`` has the documents.
    y : list of Document, optional
        Gold documents.
    parts : list of str, optional
        Parts to train: ``"tokens"``, ``"tags"``, ``"lemmas"``, ``"trees"`` (default: all that the treebank has).
    learner : Learner or str, optional
        Online learner of the tokenizer, the taggers and the parser (default: the default learner of each).
    projective : bool, optional
        Whether trees have no crossing arcs (default: unless more than 5% of the arcs of the treebank cross others).
    folds : int, default 5
        Folds of the cross-validation that predicts tags and lemmas for the training of the later parts.
    dev : data, optional
        Held-out data, in the form of the training data; each part is that of the epoch with the best score on it.
    metric : str, default "auto"
        Not available: each part has its own score.
    patience : int, optional
        Number of epochs without a better score on ``dev`` after which the training of a part stops.
    checkpoint : path, optional
        Not available.
    checkpoint_every : int, default 1
        Not available.
    observer : callable, optional
        Function that gets an `Event` after each epoch of a part; it may raise `StopTrainingError`, which ends the
        training of this part.
    verbose : bool, default False
        Print one line per epoch on standard error.
    n_threads : int, optional
        Number of threads (default: all cores); the result does not depend on it.
    sample_weight : array-like, optional
        Not available.
    init : model, optional
        Not available.
    info : dict, optional
        Notes to store in the model; values must be JSON-serialisable.

    Returns
    -------
    Pipeline
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
    >>> row = "{}\\t{}\\t{}\\t{}\\t_\\t_\\t{}\\t{}\\t_\\t{}\\n".format
    >>> text = row(1, "Dogs", "dog", "NOUN", 2, "nsubj", "_")
    >>> text += row(2, "bark", "bark", "VERB", 0, "root", "SpaceAfter=No")
    >>> text += row(3, ".", ".", "PUNCT", 2, "punct", "_")
    >>> nlp = trellis.Pipeline.train(trellis.Document.from_conllu(3 * (text + "\\n")))
    >>> [(word.form, word.lemma, word.head) for word in nlp("Dogs bark.")[0]]
    [('Dogs', 'dog', 2), ('bark', 'bark', 0), ('.', '.', 2)]
    """
    none = "for pipelines, which train several models"
    rejected = dict.fromkeys(("init", "sample_weight", "checkpoint", "checkpoint_every", "metric"), none)
    fit = Fit(PipelineOptions, options, rejected=rejected)
    training = _Training(fit, documents_of(corpus if y is None else y))
    with interrupts_raise():  # no pipeline of fewer parts than asked for
        return training.pipeline()


class _Training:
    """The training of a pipeline.

    A part reads what the parts before it predict. So it learns from predictions for sentences that those have not seen:
    by models of the other folds.
    """

    def __init__(self, fit: Fit, documents: list[Document]) -> None:
        self.fit, self.settings, self.documents = fit, fit.settings, documents
        self.dev = [] if self.settings.dev is None else documents_of(self.settings.dev)
        self.corpus = joined_corpus(documents)
        if not self.corpus.n_tokens:
            raise CorpusError(self.corpus.source, None, "no sentences to train on; at least one is required")
        self.gold, self.held_out = self.corpus, joined_corpus(self.dev) if self.dev else None
        self.informative = {name for name in self.corpus.columns if _is_informative(self.corpus, name)}
        self.names = self._names()
        self.history = list[dict[str, Any]]()

    def _names(self) -> tuple[str, ...]:
        """The parts to train: those asked for, or those that the treebank has."""
        needs = {"tokens": (), "tags": (UPOS,), "lemmas": (UPOS, LEMMA), "trees": (UPOS, HEAD)}
        wanted = self.settings.parts or PARTS
        missing = {part: sorted(set(needs[part]) - self.informative) for part in wanted}
        for part, columns in missing.items():
            if columns and self.settings.parts:
                why = f"the part {part!r} needs values in the column {columns[0]}"
                raise CorpusError(self.corpus.source, None, f"{why}; leave it out of parts")
        names = tuple(part for part in wanted if not missing[part])
        if "tags" not in names and (rest := next((part for part in names if part in ("lemmas", "trees")), None)):
            raise LearnerError(f"the part {rest!r} needs the part 'tags'; add it to parts")
        return names

    def pipeline(self) -> Pipeline:
        """Train the parts one after the other."""
        digest = fingerprint([document.text for document in self.documents], self.corpus)
        parts = Parts()
        if "tokens" in self.names:
            parts = parts._replace(tokenizer=self._tokenizer(), expander=self._expander())
        if "tags" in self.names:
            parts = parts._replace(taggers=self._taggers())
        if "lemmas" in self.names:
            parts = parts._replace(lemmatizer=self._lemmatizer())
        if "trees" in self.names:
            parts = parts._replace(parser=self._parser())
        check_parts(parts)
        facts = {"sentences": len(self.corpus), "tokens": self.corpus.n_tokens, "parts": list(parts.names)}
        record = self.fit.record([], digest, **facts)
        return Pipeline(parts, self.fit.notes, {**record, "history": self.history})

    # ------------------------------------------------------------ the parts

    def _tokenizer(self) -> Tagger:
        train, *dev = (_characters(documents) for documents in (self.documents, self.dev) if documents)
        return self._tagger("tokenizer", train, *dev, target=tokenizer.LABEL, features=tokenizer.FEATURES)

    def _expander(self) -> Expander | None:
        ranges, singles = list[tuple[str, list[str]]](), list[str]()
        for sentence in itertools.chain.from_iterable(self.documents):
            for token in sentence.tokens:
                if isinstance(token, MultiwordToken):
                    words = sentence.words[token.first - 1 : token.last]
                    ranges.append((token.form, [word.form for word in words]))
                else:
                    singles.append(token.form)
        return Expander.train(ranges, singles) if ranges else None

    def _taggers(self) -> tuple[Tagger, ...]:
        taggers, features = list[Tagger](), UPOS_FEATURES
        for target in self._targets():
            trained = partial(self._tagger, target=target, features=features)
            tagger = trained(target, self.corpus, self.held_out)
            taggers.append(tagger)
            features = TAG_FEATURES
            corpus = self.corpus

            def of_fold(some: Longs, trained: Any = trained, corpus: Corpus = corpus) -> Predict:
                predict: Predict = trained("", corpus.take(some)).tag_column
                return predict

            self._replace(target, of_fold, tagger.tag_column)
        return tuple(taggers)

    def _targets(self) -> list[str]:
        """The columns of tags in the order they are predicted; two as one, where values of the first have no ``|``."""
        rest = [name for name in (XPOS, FEATS) if name in self.informative]
        if len(rest) == 2 and not any(JOINT in value for value in self.corpus.column(XPOS).values):
            rest = ["+".join(rest)]
        return [UPOS, *rest]

    def _lemmatizer(self) -> Lemmatizer:
        """Lemmas by gold tags: predicted ones were no better on the dev files of English-EWT and French-Sequoia."""

        def trained(corpus: Corpus) -> Lemmatizer:
            form, upos, feats, lemma = (corpus.column(name) for name in (FORM, UPOS, FEATS, LEMMA))
            return Lemmatizer.train(form, upos, feats, lemma, n_threads=self.settings.n_threads)

        def predictor(lemmatizer: Lemmatizer) -> Predict:
            def predict(corpus: Corpus) -> Column:
                return Column.of(lemmatizer.predict(*(corpus.column(name) for name in (FORM, UPOS, FEATS))))

            return predict

        model = trained(self.gold)
        self._replace(LEMMA, lambda some: predictor(trained(self.gold.take(some))), predictor(model))
        return model

    def _parser(self) -> Parser:
        projective = self.settings.projective
        if projective is None:
            heads = read_dependencies(self.corpus).heads
            lifted = _core.projective_heads(heads, self.corpus.starts) != heads
            projective = bool(lifted.mean() <= MOST_CROSSING)
        columns = [name for name in (FORM, LEMMA, *TAGS, HEAD, DEPREL) if name in self.informative]
        options: dict[str, Any] = self._run_options("trees")
        if self.held_out is not None:
            options["dev"] = _selected(self.held_out, columns)
        parser = train_parser(
            _selected(self.corpus, columns),
            learner=self.settings.learner if "learner" in self.fit.explicit else PARSER_LEARNER,
            order=2 if projective else 1,
            projective=projective,
            **options,
        )
        self._add_history("trees", parser)
        return parser

    # ------------------------------------------------------------ trainings

    def _tagger(self, part: str, corpus: Corpus, dev: Corpus | None = None, **options: Any) -> Tagger:
        """A tagger of a part; "": one of the folds, of which nothing is reported."""
        labels = len(corpus.column(options["target"]).values)
        search = Search(prune=SURVIVAL) if labels > MANY_LABELS else Search()
        run = self._run_options(part)
        tagger = train_tagger(corpus, learner=self.settings.learner, dev=dev, search=search, **options, **run)
        self._add_history(part, tagger)
        return tagger

    def _run_options(self, part: str) -> dict[str, Any]:
        observer = self.fit.observer
        options: dict[str, Any] = {"n_threads": self.settings.n_threads}
        if part and observer is not None:
            options["observer"] = lambda event: observer(replace(event, part=part))
        if part and self.settings.dev is not None:
            options["patience"] = self.settings.patience
        return options

    def _add_history(self, part: str, model: Any) -> None:
        if part:
            self.history += [{**event, "part": part} for event in model.training["history"]]

    def _replace(self, name: str, train: Callable[[Longs], Predict], predict: Predict) -> None:
        """Replace a gold column by predictions: of training by models of the other folds, of dev by the model.

        ``train`` gets the numbers of the sentences to train on.
        """
        if self.held_out is not None:
            self.held_out = self.held_out.with_column(name, predict(self.held_out))
        if "trees" not in self.names and name == LEMMA:
            return  # nothing reads it
        n = len(self.corpus)
        fold_of = np.arange(n) * min(self.settings.folds, n) // n
        joined: Column | None = None
        for fold in np.unique(fold_of).tolist():
            others = np.flatnonzero(fold_of != fold)
            column = train(others if len(others) else np.arange(n))(self.corpus.take(np.flatnonzero(fold_of == fold)))
            joined = column if joined is None else joined.followed_by(column)
        assert joined is not None
        self.corpus = self.corpus.with_column(name, joined)


Predict = Callable[[Corpus], Column]


def joined_corpus(documents: list[Document]) -> Corpus:
    """The words of several documents."""
    corpora = [document.to_corpus() for document in documents] or [Document("").to_corpus()]
    joined = corpora[0]
    for corpus in corpora[1:]:
        joined = joined + corpus
    return joined


def _is_informative(corpus: Corpus, name: str) -> bool:
    """Whether a column has other values than ``_``."""
    column = corpus.column(name)
    return any(value != NOTHING for value in column.values.take(np.unique(column.codes)))


def _selected(corpus: Corpus, names: list[str]) -> Corpus:
    return Corpus({name: corpus.column(name) for name in names}, corpus.starts, corpus.source, corpus.lines)


def _characters(documents: list[Document]) -> Corpus:
    """The labelled characters of documents; each is a paragraph at least."""
    text, offset, sentences = PARAGRAPH.join(document.text for document in documents), 0, [0]
    starts, ends, multiword = list[int](), list[int](), list[bool]()
    for document in documents:
        for sentence in document:
            for token in sentence.tokens:
                assert token.start is not None
                assert token.end is not None
                starts.append(offset + token.start)
                ends.append(offset + token.end)
                multiword.append(isinstance(token, MultiwordToken))
            sentences.append(len(starts))
        offset += len(document.text) + len(PARAGRAPH)
    first, last, cuts = (np.array(numbers, np.int64) for numbers in (starts, ends, sentences))
    return tokenizer.labelled(text, tokenizer.Tokens(first, last, cuts, np.array(multiword, bool)))
