"""A tokenizer of spaCy that sets all that a pipeline predicts: sentences, tags, morphology, lemmas, dependencies."""

# No postponed annotations: spaCy validates configs with the annotations of the function.

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Self

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry
from spacy.vocab import Vocab

import trellis
from trellis._support.errors import ModelError
from trellis.corpus.document import Document
from trellis.corpus.document_sentence import MultiwordToken

BATCH = 64  # texts per batch
FILE = "pipeline.trellis"
UNNAMED = "xx"  # spaCy's code of any language


@registry.tokenizers("trellis.Pipeline.v1")  # type: ignore[untyped-decorator]
def make_tokenizer(model: str) -> Callable[[Language], "PipelineTokenizer"]:
    """Make a tokenizer for the config of a spaCy pipeline.

    Parameters
    ----------
    model
        Model file, or name of a model for ``trellis.load``.

    Returns
    -------
    Callable
        Function of a ``Language`` that returns the tokenizer.
    """

    def make(nlp: Language) -> PipelineTokenizer:
        try:
            return PipelineTokenizer(nlp.vocab, model)
        except ModelError:  # a saved pipeline contains a copy of the model, which is read later
            if not Path(model).exists():
                return PipelineTokenizer(nlp.vocab, None)
            raise

    return make


def load_pipeline(model: str, *, language: str | None = None) -> Language:
    """Load a trellis pipeline as a spaCy pipeline.

    Parameters
    ----------
    model
        Model file, or name of a model for ``trellis.load``.
    language
        Language code of spaCy (default: that in the notes of the model, or ``"xx"``).

    Returns
    -------
    Language
        spaCy's object: ``nlp("A text.")`` returns a ``Doc``. More components may be added.

    Examples
    --------
    >>> from trellis.interfaces.spacy import load_pipeline
    >>> nlp = load_pipeline("builtin:english")
    >>> [(token.text, token.pos_, token.dep_) for token in nlp("They sing.")]
    [('They', 'PRON', 'nsubj'), ('sing', 'VERB', 'root'), ('.', 'PUNCT', 'punct')]
    """
    pipeline = trellis.Pipeline.load(model)
    code = language or pipeline.info.get("code") or UNNAMED
    config = {"nlp": {"tokenizer": {"@tokenizers": "trellis.Pipeline.v1", "model": model}}}
    return spacy.blank(code, config=config)


class PipelineTokenizer:
    """Tokenizer of spaCy that annotates as well.

    Words of multiword tokens become tokens of their own. Where they are not written as the token is (French *du*, two
    words *de le*), the text of the ``Doc`` has the words.

    Parameters
    ----------
    vocab
        The vocabulary of the spaCy pipeline.
    model
        Model file, or name of a model for ``trellis.load``.
    """

    def __init__(self, vocab: Vocab, model: str | None) -> None:
        self.vocab = vocab
        self._pipeline = None if model is None else trellis.Pipeline.load(model)

    @property
    def pipeline(self) -> trellis.Pipeline:
        """The pipeline of trellis."""
        if self._pipeline is None:
            raise ModelError("the tokenizer has no model; give the file of a pipeline as model in its config")
        return self._pipeline

    def __call__(self, text: str) -> Doc:
        """Annotate a text."""
        return self._doc(self.pipeline.predict(text))

    def pipe(self, texts: Iterable[str], batch_size: int = BATCH) -> Iterator[Doc]:
        """Annotate texts in batches.

        Parameters
        ----------
        texts
            The texts.
        batch_size
            Number of texts per batch.

        Yields
        ------
        Doc
            One document per text.
        """
        rest = iter(texts)
        while batch := list(islice(rest, batch_size)):
            yield from map(self._doc, self.pipeline.predict_batch(batch))

    def _doc(self, document: Document) -> Doc:
        words = [word for sentence in document for word in sentence]
        columns: dict[str, Any] = {}
        offset, heads, starts = 0, list[int](), list[bool]()
        for sentence in document:
            for i, word in enumerate(sentence.words):
                heads.append(offset + (word.head or i + 1) - 1)
                starts.append(i == 0)
            offset += len(sentence)
        for name, values in {
            "pos": [word.upos or "" for word in words],
            "tags": [word.xpos or word.upos or "" for word in words],
            "morphs": [word.feats or "" for word in words],
            "lemmas": [word.lemma or "" for word in words],
            "deps": [word.deprel or "" for word in words],
        }.items():
            if any(values):
                columns[name] = values
        if "deps" in columns:
            columns["heads"] = heads
        else:
            columns["sent_starts"] = starts
        return Doc(self.vocab, *_pieces(document), **columns)

    # ------------------------------------------------------------ files

    def to_disk(self, path: str | Path, **_: Any) -> None:
        """Write the model into a folder.

        Parameters
        ----------
        path
            The folder.
        **_
            Ignored.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.pipeline.save(folder / FILE)

    def from_disk(self, path: str | Path, **_: Any) -> Self:
        """Read the model from a folder.

        Parameters
        ----------
        path
            The folder.
        **_
            Ignored.

        Returns
        -------
        PipelineTokenizer
            This tokenizer.
        """
        self._pipeline = trellis.Pipeline.load(Path(path) / FILE)
        return self

    def to_bytes(self, **_: Any) -> bytes:
        """Serialise the model.

        Parameters
        ----------
        **_
            Ignored.

        Returns
        -------
        bytes
            The bytes.
        """
        return self.pipeline.to_bytes()

    def from_bytes(self, data: bytes, **_: Any) -> Self:
        """Read the model from bytes.

        Parameters
        ----------
        data
            Result of ``to_bytes``.
        **_
            Ignored.

        Returns
        -------
        PipelineTokenizer
            This tokenizer.
        """
        self._pipeline = trellis.Pipeline.from_bytes(data)
        return self


def _pieces(document: Document) -> tuple[list[str], list[bool]]:
    """The words, and whether a space follows each; longer whitespace is a token of its own in spaCy, here one space."""
    words, spaces, end = list[str](), list[bool](), None
    for sentence in document:
        for token in sentence.tokens:
            if words:
                spaces[-1] = token.start != end
            own = sentence.words[token.first - 1 : token.last] if isinstance(token, MultiwordToken) else [token]
            joined = "".join(word.form for word in own) == token.form
            words += [word.form for word in own]
            spaces += [not joined] * len(own)
            end = token.end
    if spaces:
        spaces[-1] = False
    return words, spaces
