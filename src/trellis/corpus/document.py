"""Documents: a text with its sentences; CoNLL-U, corpora and plain data in and out."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np

from trellis._support.arguments import instance, is_text, items, whole_number
from trellis._support.arrays import starts_of
from trellis._support.errors import ArgumentError
from trellis.corpus.columns import CONLLU_NAMES
from trellis.corpus.corpus import JOINT, NOTHING, Column, Corpus, columns_named
from trellis.corpus.document_sentence import DocumentSentence

FIELDS = CONLLU_NAMES[1:]  # columns of a word; its id is its position


@dataclass(slots=True, repr=False)
class Document:
    r"""A text with its sentences; CoNLL-U in and out. It iterates over its sentences, and notebooks show their trees.

    Attributes
    ----------
    text
        The text; offsets count its characters.
    sentences
        Its sentences.
    comments
        Comment lines after the last sentence.
    line_end
        How lines of CoNLL-U end.
    source
        Name of the file, for messages.

    Examples
    --------
    >>> import trellis
    >>> row = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t{}\n"
    >>> text = "# text = Dogs bark.\n" + row.format(1, "Dogs", "NOUN", 2, "nsubj", "_")
    >>> text += row.format(2, "bark", "VERB", 0, "root", "SpaceAfter=No") + row.format(3, ".", "PUNCT", 2, "punct", "_")
    >>> document = trellis.Document.from_conllu(text + "\n")
    >>> document.text, [(word.form, word.start, word.end) for word in document[0]]
    ('Dogs bark.', [('Dogs', 0, 4), ('bark', 5, 9), ('.', 9, 10)])
    >>> print(document)
    Dogs/NOUN bark/VERB ./PUNCT
    >>> document.to_conllu() == text + "\n"
    True
    """

    text: str
    sentences: list[DocumentSentence] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    line_end: str = "\n"
    source: str = field(default="", compare=False)

    @classmethod
    def from_conllu(cls, text_or_path: str | os.PathLike[str]) -> Document:
        """Read CoNLL-U.

        The text is made of the comments ``# text``, which must agree with the tokens; without them, of the tokens. The
        whitespace between sentences is ``SpacesAfter`` of the last token; by default a blank line where a paragraph or
        document begins, else one space, or nothing after ``SpaceAfter=No``.

        Parameters
        ----------
        text_or_path
            Name of a file (``-`` is standard input, ``.gz`` is decompressed), or the text itself: a string with line
            breaks.

        Returns
        -------
        Document
            The document; ``to_conllu`` gives the same text back.

        Raises
        ------
        CorpusError
            If the data is invalid; the message names the file and the line.
        """
        from trellis.corpus.conllu import read_document

        return read_document(text_or_path)

    def to_conllu(self, name: str = "", *, first: int = 1, begins: str = "document") -> str:
        r"""Format the document as CoNLL-U.

        Sentences that were read keep their comments and MISC. Those made from text get ``# newdoc``, ``# newpar``,
        ``# sent_id`` and ``# text``, and whitespace other than one space is kept in MISC, so that the text can be made
        from the file: ``SpaceAfter=No``, or ``SpacesAfter``, ``SpacesBefore`` and ``SpacesInToken`` with the escapes
        of UDPipe (``\s \t \n \r \p \\``).

        Parameters
        ----------
        name
            Name of the document in new comments: the sentences of ``a`` are ``a-1``, ``a-2``, ... (default: 1, 2, ...).
        first
            Number of the first sentence in new comments.
        begins
            What begins with the first sentence: ``"document"``, ``"paragraph"`` or ``"sentence"``, of a text in parts.

        Returns
        -------
        str
            The text of a file.

        Raises
        ------
        CorpusError
            If a field has a tab or a line break.
        """
        from trellis.corpus.conllu import format_document

        if begins not in ("document", "paragraph", "sentence"):
            raise ArgumentError(f"begins must be 'document', 'paragraph' or 'sentence', not {begins!r}")
        first = whole_number("first", first, 1)
        return format_document(self, instance("name", name, str, "a string"), first, begins)

    def to_json(self) -> dict[str, Any]:
        """Convert to plain data, ready for ``json.dumps``.

        Returns
        -------
        dict[str, Any]
            The text, and its sentences with their words and multiword tokens.
        """
        shown = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "start", "end")
        return {
            "text": self.text,
            "sentences": [
                {
                    "text": sentence.text if sentence.start is None else self.text[sentence.start : sentence.end],
                    "start": sentence.start,
                    "end": sentence.end,
                    "words": [
                        {"id": i, **{name: getattr(word, name) for name in shown}}
                        for i, word in enumerate(sentence.words, 1)
                    ],
                    "multiword_tokens": [
                        {"first": one.first, "last": one.last, "form": one.form, "start": one.start, "end": one.end}
                        for one in sentence.multiwords
                    ],
                }
                for sentence in self.sentences
            ],
        }

    def to_corpus(self) -> Corpus:
        """Convert the words to a corpus with the columns of CoNLL-U, for taggers and parsers.

        Returns
        -------
        Corpus
            One sentence per sentence; ``_`` where a word has no value.
        """
        words = [word for sentence in self.sentences for word in sentence.words]
        lengths = [len(sentence.words) for sentence in self.sentences]
        columns = {"id": Column.of([str(i) for n in lengths for i in range(1, n + 1)])}
        for name in FIELDS:
            values = [getattr(word, name) for word in words]
            columns[name] = Column.of([NOTHING if value is None else str(value) for value in values])
        begins = [sentence.newdoc is not None for sentence in self.sentences]
        documents = np.array(list(accumulate(begins)), np.int64)
        return Corpus(columns, starts_of(lengths), self.source, documents=documents)

    def with_columns(self, columns: Mapping[str, Any]) -> Document:
        """Make a document with other values of its words, such as predictions.

        Parameters
        ----------
        columns
            Columns or lists with one value per word of the document, by name: form, lemma, upos, xpos, feats, head,
            deprel, deps or misc; ``upos+feats`` stands for both columns. ``_`` and None are no value. The column id is
            ignored, so that ``tagger.predict_corpus(document.to_corpus()).columns`` fits.

        Returns
        -------
        Document
            The new document; this one is unchanged.

        Raises
        ------
        ArgumentError
            If a column is unknown or has not one value per word.
        """
        n_words = sum(len(sentence.words) for sentence in self.sentences)
        new = dict[str, list[Any]]()
        for name, column in instance("columns", columns, Mapping, "a dict of columns").items():
            if name == "id":
                continue
            names = columns_named(name, FIELDS)
            if unknown := next((one for one in names if one not in FIELDS), None):
                raise ArgumentError(f"words have no column {unknown!r}; they have {', '.join(FIELDS)}")
            values = _values(name, column, n_words)
            if len(names) == 1:
                new[name] = values
                continue
            halves = [(value or "").partition(JOINT) for value in values]
            new[names[0]], new[names[1]] = (
                [one or None for one, _, _ in halves],
                [other or None for _, _, other in halves],
            )
        if "lemma" in new:
            forms = new.get("form") or [word.form for sentence in self.sentences for word in sentence.words]
            new["lemma"] = lemmas_beside(forms, new["lemma"])
        sentences, at = list[DocumentSentence](), 0
        for sentence in self.sentences:
            n = len(sentence.words)
            rows = zip(*(values[at : at + n] for values in new.values()), strict=True) if new else ((),) * n
            words = [
                replace(word, **dict(zip(new, row, strict=True))) for word, row in zip(sentence, rows, strict=True)
            ]
            kept = None if sentence.comments is None else list(sentence.comments)
            others = [replace(token) for token in sentence.multiwords], [replace(node) for node in sentence.empty_nodes]
            sentences.append(DocumentSentence(words, *others, kept, sentence.start, sentence.end))
            at += n
        return replace(self, sentences=sentences, comments=list(self.comments))

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[DocumentSentence]:
        return iter(self.sentences)

    def __getitem__(self, i: int) -> DocumentSentence:
        return self.sentences[i]

    def _repr_html_(self) -> str:
        from trellis.display.documents import document_html

        return document_html(self)

    def __str__(self) -> str:
        """The words with their tags, one line per sentence."""
        return "\n".join(map(str, self.sentences))

    def __repr__(self) -> str:
        place = f" from {self.source}" if self.source else ""
        n_words = sum(len(sentence.words) for sentence in self.sentences)
        return f"Document({len(self):,} sentences, {n_words:,} words{place})"


def lemmas_beside(forms: Sequence[str], lemmas: Sequence[str | None]) -> list[str | None]:
    """Lemmas of words: ``_`` is no value, but the lemma of the word ``_``."""
    return [NOTHING if form == NOTHING and not lemma else lemma for form, lemma in zip(forms, lemmas, strict=True)]


def _values(name: str, column: Column | Sequence[str | int | None], n_words: int) -> list[Any]:
    """A column as values of words, checked."""
    values = column.tolist() if isinstance(column, Column) else items(column)
    if values is None or len(values) != n_words:
        found = "no list" if values is None else f"{len(values):,} values"
        raise ArgumentError(f"column {name!r} must have one value per word; it has {found} for {n_words:,} words")
    if name == "head":
        values = [int(v) if isinstance(v, np.integer) or (isinstance(v, str) and v.isdecimal()) else v for v in values]
    for value in values:
        if name == "head":
            fits = value in (None, NOTHING) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)
        else:
            fits = (value is None and name != "form") or (isinstance(value, str) and is_text(value))
        if not fits:
            wanted = "ids and 0 only" if name == "head" else "strings only"
            raise ArgumentError(f"column {name!r} has the value {reprlib.repr(value)}; {wanted}")
    return values if name == "form" else [None if value == NOTHING else value for value in values]
