"""`Pipeline`: raw text in, sentences with words, tags, lemmas and trees out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from trellis._support.arguments import items, real_number, thread_count
from trellis._support.arrays import Longs
from trellis._support.errors import ArgumentError, CorpusError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import NOTHING, Column, Corpus
from trellis.corpus.document import Document
from trellis.corpus.document_sentence import DocumentSentence, MultiwordToken, Word
from trellis.corpus.unspaced import check_encodable
from trellis.display.svg import Picture
from trellis.evaluation.pipeline import PipelineReport, compare_documents
from trellis.tasks.explanation import Explanation, Term, heaviest_first
from trellis.tasks.model import KBest, Model, notes_and_record
from trellis.tasks.parsing.model import Parser
from trellis.tasks.pipeline import tokenizer
from trellis.tasks.pipeline.expansion import Expander
from trellis.tasks.pipeline.lemmas import Lemmatizer
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.smaller import without_small_weights

PARTS = ("tokens", "tags", "lemmas", "trees")  # in the order they run; each reads what those before it made
FORM, LEMMA, UPOS, FEATS, HEAD, DEPREL = "form", "lemma", "upos", "feats", "head", "deprel"
LONGEST = 200  # words of a sentence that are parsed at once
UNSPECIFIED = "dep"  # label of the arcs between its parts
PARAGRAPH = "\n\n"

Columns = dict[str, Column]
Input = str | Document | Sequence[str]


class Parts(NamedTuple):
    """The models of a pipeline; None: it lacks this part.

    Attributes
    ----------
    tokenizer
        Tagger of characters.
    expander
        Words of multiword tokens.
    taggers
        Taggers in the order they run: each may read the columns that those before it predict.
    lemmatizer
        Lemmas of words with their tags.
    parser
        Dependency parser of words with their tags and lemmas.
    """

    tokenizer: Tagger | None = None
    expander: Expander | None = None
    taggers: tuple[Tagger, ...] = ()
    lemmatizer: Lemmatizer | None = None
    parser: Parser | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The parts that exist, of `PARTS`."""
        exists = (self.tokenizer is not None, bool(self.taggers), self.lemmatizer is not None, self.parser is not None)
        return tuple(name for name, one in zip(PARTS, exists, strict=True) if one)

    def annotate(self, corpus: Corpus, names: Iterable[str], n_threads: int | None) -> Columns:
        """Predict columns of sentences with a column ``form``: by the parts of these names, each from what is there.

        Parameters
        ----------
        corpus
            The sentences.
        names
            Names of parts.
        n_threads
            Number of threads (None: all cores).

        Returns
        -------
        Columns
            The predicted columns by name.
        """
        predicted = Columns()

        def add(**columns: Column) -> Corpus:
            predicted.update(columns)
            extended = corpus
            for name, column in columns.items():
                extended = extended.with_column(name, column)
            return extended

        if "tags" in names:
            for tagger in self.taggers:
                column = tagger.tag_column(corpus, n_threads=n_threads)
                targets = tagger.target.split("+")
                corpus = add(**dict(zip(targets, column.split() if len(targets) == 2 else (column,), strict=True)))
        if "lemmas" in names and self.lemmatizer is not None:
            has_feats = any(FEATS in tagger.target.split("+") for tagger in self.taggers)
            feats = corpus.column(FEATS) if has_feats else Column.of([NOTHING] * corpus.n_tokens)
            columns = corpus.column(FORM), corpus.column(UPOS), feats
            corpus = add(lemma=Column.of(self.lemmatizer.predict(*columns, n_threads=n_threads)))
        if "trees" in names and self.parser is not None and corpus.n_tokens:
            add(**parsed(self.parser, corpus, n_threads))
        return predicted


def parsed(parser: Parser, corpus: Corpus, n_threads: int | None) -> Columns:
    """Heads and labels of all words; parts of a long sentence are parsed one by one and attached to the first root."""
    lengths = np.diff(corpus.starts)
    if lengths.max(initial=0) <= LONGEST:
        whole = parser.parse_corpus(corpus, n_threads=n_threads)
        return {name: whole.column(name) for name in (HEAD, DEPREL)}
    cuts = np.concatenate(
        [np.arange(a, b, LONGEST) for a, b in pairwise(corpus.starts.tolist())] + [corpus.starts[-1:]]
    )
    trees = parsed(parser, Corpus(corpus.columns, cuts.astype(np.int64), corpus.source), n_threads)
    heads = np.array([int(head) for head in trees[HEAD].values], np.int64)[trees[HEAD].codes]
    sentence = np.repeat(corpus.starts[:-1], lengths)  # of each word: the first word of its sentence
    part = np.repeat(cuts[:-1], np.diff(cuts))
    is_root, later = heads == 0, part > sentence
    roots = np.zeros(len(heads), np.int64)
    roots[sentence[is_root & ~later]] = np.flatnonzero(is_root & ~later) + 1 - sentence[is_root & ~later]
    heads = np.where(is_root & later, roots[sentence], heads + np.where(is_root, 0, part - sentence))
    labels = trees[DEPREL].tolist()
    for word in np.flatnonzero(is_root & later).tolist():
        labels[word] = UNSPECIFIED
    return {HEAD: Column.of(list(map(str, heads.tolist()))), DEPREL: Column.of(labels)}


class Pipeline(Model):
    """A model of raw text, made by ``Pipeline.train`` or ``trellis.load``: tokens, tags, lemmas and dependency trees.

    Parameters
    ----------
    parts
        The models of the parts.
    info
        The user's notes.
    training
        The record of training.

    Examples
    --------
    >>> import trellis
    >>> nlp = trellis.load("builtin:english")
    >>> document = nlp("Dogs don't bark. They sing.")
    >>> [word.form for word in document[0]]
    ['Dogs', 'do', "n't", 'bark', '.']
    """

    __slots__ = ("info", "parts", "training")
    task, format = "pipeline", "trellis-pipeline-1"
    names: ClassVar[tuple[str, ...]] = PARTS

    def __init__(self, parts: Parts, info: Mapping[str, Any], training: Mapping[str, Any]) -> None:
        self.parts, self.info, self.training = parts, dict(info), dict(training)

    def __call__(
        self, x: Input, *, parts: Sequence[str] | None = None, lines: bool = False, n_threads: int | None = None
    ) -> Document:
        """Annotate a text; the same as ``predict``.

        Parameters
        ----------
        x
            The text, as for ``predict``.
        parts
            Parts to run, as for ``predict``.
        lines
            Whether every line of a text is a sentence.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Document
            The annotated document.
        """
        return self.predict_batch([x], parts=parts, lines=lines, n_threads=n_threads)[0]

    def predict(self, x: Input, /, *, parts: Sequence[str] | None = None, lines: bool = False) -> Document:
        """Annotate a text.

        Parameters
        ----------
        x
            A text; a list of words, which are one sentence; or a `Document`, whose sentences and words are kept.
        parts
            Parts to run: some of ``"tokens"``, ``"tags"``, ``"lemmas"`` and ``"trees"`` (default: all that are needed).
            Without ``"tags"`` the tags of a document are kept.
        lines
            Whether every line of a text is a sentence.

        Returns
        -------
        Document
            The annotated document.
        """
        return self.predict_batch([x], parts=parts, lines=lines, n_threads=1)[0]

    def predict_batch(
        self,
        xs: Sequence[Input],
        /,
        *,
        parts: Sequence[str] | None = None,
        lines: bool = False,
        n_threads: int | None = None,
    ) -> list[Document]:
        """Annotate many texts.

        Parameters
        ----------
        xs
            Texts, lists of words or documents.
        parts
            Parts to run, as for ``predict``.
        lines
            Whether every line of a text is a sentence.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[Document]
            One document per text.
        """
        inputs, wanted, n_threads = items(xs), self._wanted(parts), thread_count(n_threads)
        if inputs is None:
            raise ArgumentError(f"the inputs must be a list of texts, not {type(xs).__name__}")
        texts = [_checked(x) for x in inputs if isinstance(x, str)]
        given = [x if isinstance(x, Document) else document_of_words(x) for x in inputs if not isinstance(x, str)]
        from_texts = iter(self._of_texts(texts, wanted, lines, n_threads) if texts else ())
        from_words = iter(self._of_words(given, wanted, n_threads))
        return [next(from_texts if isinstance(x, str) else from_words) for x in inputs]

    def predict_corpus(self, corpus: Any, /, *, n_threads: int | None = None) -> Corpus:
        """Add predicted columns to a corpus of words.

        Parameters
        ----------
        corpus
            Corpus or file with a column ``form``; its tokens and sentences are kept.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Corpus
            The corpus with its predicted columns.
        """
        from trellis.corpus.read import read_examples

        words: Corpus = corpus if isinstance(corpus, Corpus) else read_examples(corpus)
        for name, column in self.parts.annotate(words, PARTS, n_threads).items():
            words = words.with_column(name, column)
        return words

    def evaluate(
        self, corpus: Any, y: Any = None, /, *, n_threads: int | None = None, gold_tokens: bool = False
    ) -> PipelineReport:
        """Compare predictions from the raw text with gold documents, by the measures of the CoNLL 2018 shared task.

        Parameters
        ----------
        corpus
            Gold `Document`, or a file in CoNLL-U; texts if ``y`` has the documents.
        y
            Gold documents, one per text.
        n_threads
            Number of threads (default: all cores).
        gold_tokens
            Whether to predict from the gold sentences and words instead of the text.

        Returns
        -------
        PipelineReport
            Precision, recall and F1 of tokens, sentences, words, tags, lemmas and arcs.
        """
        gold = documents_of(corpus if y is None else y)
        inputs: Sequence[Any] = gold if gold_tokens else [document.text for document in gold] if y is None else corpus
        return compare_documents(joined(gold), joined(self.predict_batch(inputs, n_threads=n_threads)))

    def kbest(self, x: Any, /, k: int = 5) -> KBest:
        """Not available for pipelines; its parts have k-best lists.

        Parameters
        ----------
        x
            The input.
        k
            Number of outputs.

        Returns
        -------
        KBest
            Nothing: an ArgumentError is raised.
        """
        self._reject("kbest", "a list of the k best outputs", "tag", "parse", "trees", "words", "rerank")

    def explain(self, x: Any, /) -> Explanation:
        """Not available for pipelines; its parts explain their predictions.

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Explanation
            Nothing: an ArgumentError is raised.
        """
        self._reject("explain", "an explanation", "tag", "parse", "trees", "words", "rerank")

    def draw(self, x: Input, /) -> Picture:
        """Draw the dependency tree of the first sentence.

        Parameters
        ----------
        x
            The text, as for ``predict``.

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        document = self.predict(x)
        return (document[0] if len(document) else DocumentSentence([])).draw()

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features of all parts with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first; features begin with the name of their part.
        """
        models: dict[str, Any] = {"tokens": self.parts.tokenizer, "trees": self.parts.parser}
        models |= {tagger.target: tagger for tagger in self.parts.taggers}
        models |= {"lemmas": None if self.parts.lemmatizer is None else self.parts.lemmatizer.tagger}
        terms = [
            replace(term, feature=f"{part}: {term.feature}")
            for part, model in models.items()
            if model is not None
            for term in model.top_features(n)
        ]
        return heaviest_first(terms)[:n]

    def smaller(self, taggers: float = 0.5, parser: float = 0.5) -> Pipeline:
        """Copy of the pipeline with fewer weights: smaller and faster, and a little less accurate.

        Parameters
        ----------
        taggers
            Share of the weights of the taggers to drop, the smallest ones.
        parser
            The same of the parser.

        Returns
        -------
        Pipeline
            A smaller pipeline; saved with ``compact="int8"`` it is smaller still.
        """
        taggers, parser = (real_number(name, x, 0, 0.999) for name, x in (("taggers", taggers), ("parser", parser)))
        parts = self.parts
        if parts.tokenizer is not None:
            parts = parts._replace(tokenizer=without_small_weights(parts.tokenizer, taggers))
        parts = parts._replace(taggers=tuple(without_small_weights(tagger, taggers) for tagger in parts.taggers))
        if parts.parser is not None:
            parts = parts._replace(parser=parts.parser.without_small_weights(parser))
        return Pipeline(parts, self.info, self.training)

    # ------------------------------------------------------------ prediction

    def _wanted(self, parts: Sequence[str] | None) -> tuple[str, ...]:
        """The parts to run; ArgumentError for one that the pipeline lacks."""
        if parts is None:
            return self.parts.names
        wanted = items(parts)
        if wanted is None or (unknown := next((part for part in wanted if part not in PARTS), None)) is not None:
            unknown = parts if wanted is None else unknown
            raise ArgumentError(f"parts must be a list of {', '.join(map(repr, PARTS))}, not {unknown!r}")
        if missing := next((part for part in wanted if part not in self.parts.names), None):
            raise ArgumentError(f"the pipeline has no part {missing!r}; it has {', '.join(self.parts.names)}")
        return tuple(wanted)

    def _of_texts(self, texts: Sequence[str], wanted: Sequence[str], lines: bool, n_threads: int) -> list[Document]:
        """Documents of raw texts: they are the paragraphs of one text, so that all cores have work."""
        if "tokens" not in wanted:
            raise ArgumentError('raw text needs the part "tokens"; without it, predict a list of words or a Document')
        assert self.parts.tokenizer is not None
        joint = PARAGRAPH.join(texts)
        tokens = tokenizer.split(self.parts.tokenizer, joint, lines=lines, n_threads=n_threads)
        words = _Words.of(joint, tokens, self.parts.expander)
        columns = self.parts.annotate(words.corpus(), [part for part in wanted if part != "tokens"], n_threads)
        sentences = words.sentences(columns)
        ends = np.cumsum([len(text) + len(PARAGRAPH) for text in texts])
        cuts = np.searchsorted(tokens.starts[tokens.sentences[:-1]], ends)
        documents, first, offset = list[Document](), 0, 0
        for text, cut in zip(texts, cuts.tolist(), strict=True):
            documents.append(Document(text, _moved(sentences[first:cut], -offset)))
            first, offset = cut, offset + len(text) + len(PARAGRAPH)
        return documents

    def _of_words(self, given: Sequence[Document], wanted: Sequence[str], n_threads: int) -> list[Document]:
        """The documents with the predictions of their words."""
        together = Document("", [sentence for document in given for sentence in document]).to_corpus()
        columns = Columns()
        if together.n_tokens:
            columns = self.parts.annotate(together, [part for part in wanted if part != "tokens"], n_threads)
        documents, begin = list[Document](), 0
        for document in given:
            end = begin + sum(map(len, document))
            own = {name: column.slice(begin, end) for name, column in columns.items()} if end > begin else {}
            documents.append(document.with_columns(own))
            begin = end
        return documents

    # ------------------------------------------------------------ files

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        tensors, headers = dict[str, Any](), dict[str, Any]()

        def add(name: str, own: Tensors, header: Mapping[str, Any]) -> None:
            headers[name] = header
            tensors.update({f"{name}.{key}": array for key, array in own.items()})

        models: dict[str, Any] = {"tokenizer": self.parts.tokenizer, "parser": self.parts.parser}
        models |= {f"tagger{i}": tagger for i, tagger in enumerate(self.parts.taggers)}
        for name, model in models.items():
            if model is not None:
                own, header = model._content()
                add(name, own, {**header, "info": model.info, "training": model.training})
        for name, part in (("expander", self.parts.expander), ("lemmatizer", self.parts.lemmatizer)):
            if part is not None:
                add(name, part.tensors(), part.header)
        return tensors, {"parts": headers}

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        headers = header["parts"]
        if not isinstance(headers, dict) or not headers:
            raise ValueError("no parts")

        def part(make: Any, name: str) -> Any:
            if name not in headers:
                return None
            own = {key.removeprefix(f"{name}."): array for key, array in tensors.items() if key.startswith(f"{name}.")}
            return make(own, headers[name])

        n_taggers = sum(name.startswith("tagger") for name in headers)
        taggers = [part(Tagger._from_content, f"tagger{i}") for i in range(n_taggers)]
        if None in taggers:
            raise ValueError("a tagger is missing")
        parts = Parts(
            part(Tagger._from_content, "tokenizer"),
            part(Expander.of, "expander"),
            tuple(taggers),
            part(Lemmatizer.of, "lemmatizer"),
            part(Parser._from_content, "parser"),
        )
        check_parts(parts)
        return cls(parts, *notes_and_record(header))

    def _facts(self) -> dict[str, Any]:
        targets = [tagger.target for tagger in self.parts.taggers]
        return {"parts": " ".join(self.parts.names), **({"tags": " ".join(targets)} if targets else {})}


class _Words(NamedTuple):
    """The words of tokens, those of multiword tokens one by one."""

    text: str
    forms: list[str]
    tokens: tokenizer.Tokens
    starts: Longs  # [n_tokens + 1] first word of each token
    starts_of_sentences: Longs  # [n_sentences + 1] first word of each sentence

    @classmethod
    def of(cls, text: str, tokens: tokenizer.Tokens, expander: Expander | None) -> _Words:
        spans = zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)
        forms = [text[start:end] for start, end in spans]
        n_words = np.ones(len(forms), np.int64)
        if expander is not None and tokens.multiword.any():
            expanded = list[str](), 0
            words, done = expanded
            for i in np.flatnonzero(tokens.multiword).tolist():
                words += forms[done:i]
                parts = expander.expand(forms[i]) or [forms[i]]
                words += parts
                n_words[i], done = len(parts), i + 1
            forms = words + forms[done:]
        starts = np.concatenate([[0], np.cumsum(n_words)])
        return cls(text, forms, tokens, starts, starts[tokens.sentences])

    def corpus(self) -> Corpus:
        return Corpus({FORM: Column.of(self.forms)}, self.starts_of_sentences)

    def sentences(self, columns: Columns) -> list[DocumentSentence]:
        """Sentences with the values of the columns; ``_`` is no value."""
        n_words = np.diff(self.starts)
        fields: list[Iterable[Any]] = [self.forms]
        for name in ("lemma", "upos", "xpos", "feats", "head", "deprel"):
            if name not in columns:
                fields.append([None] * len(self.forms))
                continue
            values: list[Any] = [
                None if value == NOTHING and name != LEMMA else int(value) if name == "head" else value
                for value in columns[name].values
            ]
            fields.append([values[code] for code in columns[name].codes.tolist()])
        nothing = [None] * len(self.forms)
        begins, ends = (np.repeat(at, n_words).tolist() for at in (self.tokens.starts, self.tokens.ends))
        words = list(map(Word, *fields, nothing, nothing, begins, ends))
        starts = self.starts_of_sentences.tolist()
        out = [DocumentSentence(words[a:b], start=begins[a], end=ends[b - 1]) for a, b in pairwise(starts)]
        several = np.flatnonzero(n_words > 1)
        sentence_of = np.searchsorted(self.tokens.sentences, several, "right") - 1
        for token, i in zip(several.tolist(), sentence_of.tolist(), strict=True):
            first, last = int(self.starts[token]) - starts[i], int(self.starts[token + 1]) - starts[i]
            begin, end = int(self.tokens.starts[token]), int(self.tokens.ends[token])
            out[i].multiwords.append(MultiwordToken(first + 1, last, self.text[begin:end], start=begin, end=end))
        return out


def _moved(sentences: list[DocumentSentence], by: int) -> list[DocumentSentence]:
    """Add a number to all offsets."""
    if by:
        for sentence in sentences:
            placed: list[DocumentSentence | Word | MultiwordToken] = [sentence, *sentence.words, *sentence.multiwords]
            for part in placed:
                part.start, part.end = (part.start or 0) + by, (part.end or 0) + by
    return sentences


def _checked(text: str) -> str:
    try:
        check_encodable(text)
    except ValueError as error:
        raise CorpusError("", None, str(error)) from None
    return text


def document_of_words(words: Any) -> Document:
    """The document of one sentence of words, with one space between them."""
    forms = items(words)
    if forms is None or not all(isinstance(form, str) and form for form in forms):
        raise ArgumentError(f"an input must be a text, a list of words or a Document, not {type(words).__name__}")
    for form in forms:
        _checked(form)
    if not forms:
        return Document("")
    ends = np.cumsum([len(form) + 1 for form in forms]).tolist()
    placed = [Word(form, start=end - 1 - len(form), end=end - 1) for form, end in zip(forms, ends, strict=True)]
    return Document(" ".join(forms), [DocumentSentence(placed, start=0, end=ends[-1] - 1)])


def joined(documents: Sequence[Document]) -> Document:
    """Documents as the paragraphs of one."""
    if len(documents) == 1:
        return documents[0]
    sentences, offset = list[DocumentSentence](), 0
    for document in documents:
        sentences += _moved(deepcopy(document.sentences), offset)
        offset += len(document.text) + len(PARAGRAPH)
    return Document(PARAGRAPH.join(document.text for document in documents), sentences)


def documents_of(source: Any) -> list[Document]:
    """The documents of a source: one, a list, or the file of one in CoNLL-U."""
    if isinstance(source, Document):
        return [source]
    if isinstance(source, str | os.PathLike):
        return [Document.from_conllu(source)]
    found = items(source)
    if found is None or not all(isinstance(one, Document) for one in found):
        raise ArgumentError(f"a file in CoNLL-U or a Document is needed, not {type(source).__name__}")
    return found


def check_parts(parts: Parts) -> None:
    """ValueError unless each part reads what the parts before it make."""
    if parts.tokenizer is not None and (
        parts.tokenizer.target != tokenizer.LABEL or not set(parts.tokenizer.labels) <= set(tokenizer.LABELS)
    ):
        raise ValueError("a tokenizer with other labels")
    known = {FORM}
    for tagger in parts.taggers:
        if missing := set(tagger.columns) - known:
            raise ValueError(f"a tagger of columns that no part predicts: {', '.join(sorted(missing))}")
        known |= set(tagger.target.split("+"))
    if parts.lemmatizer is not None:
        if UPOS not in known:
            raise ValueError("a lemmatizer without tags")
        known.add(LEMMA)
    if parts.parser is not None and (missing := set(parts.parser.columns) - known):
        raise ValueError(f"a parser of columns that no part predicts: {', '.join(sorted(missing))}")
