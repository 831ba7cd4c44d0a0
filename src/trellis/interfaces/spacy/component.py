"""The component: tokens of a Doc in, tags or entities with their probabilities out; trained inside ``initialize``."""

# No postponed annotations: spaCy validates configs with the annotations of the constructor.

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

import trellis
from trellis._support.errors import ArgumentError, ModelError
from trellis.corpus.schemes import guess_scheme

# Attributes of spaCy tokens for columns of a model; words are the texts of tokens.
COLUMNS = {
    **dict.fromkeys(("word", "form", "token", "tokens"), attrgetter("text")),
    **dict.fromkeys(("pos", "tag", "xpos"), attrgetter("tag_")),
    "lemma": attrgetter("lemma_"),
    "upos": attrgetter("pos_"),
}
CONFIDENCE = "trellis_confidence"  # extension attribute of a Span: its probability
BATCH = 256  # docs per batch
FILE = "model.trellis"
ANNOTATIONS = ("ents", "tag")


@Language.factory(
    "trellis",
    assigns=["doc.ents", "token.tag"],
    default_config={
        "model": None,
        "annotate": None,
        "features": None,
        "learner": "crf",
        "order": None,
        "spans_key": "trellis",
    },
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "tag_acc": 0.0},
)
class TrellisTagger:
    """spaCy pipeline component that sets entities or tags with a trellis tagger.

    The probability of an entity is in ``ent._.trellis_confidence``, and in the scores of the span group ``spans_key``.

    Parameters
    ----------
    nlp
        The pipeline; set by spaCy.
    name
        Name of the component in the pipeline.
    model
        Model file; without one ``nlp.initialize`` trains the component.
    annotate
        ``"ents"`` or ``"tag"`` (default: by the labels of the model, or by the annotation of the examples).
    features
        Features for training, as for ``trellis.train``.
    learner
        Learner for training, as for ``trellis.train``.
    order
        Markov order for training, as for ``trellis.train``.
    spans_key
        Key of the span group of entities (None: no group).
    """

    def __init__(
        self,
        nlp: Language | None = None,
        name: str = "trellis",
        model: str | None = None,
        annotate: str | None = None,
        features: str | list[str] | None = None,
        learner: str = "crf",
        order: int | None = None,
        spans_key: str | None = "trellis",
    ) -> None:
        if annotate is not None and annotate not in ANNOTATIONS:
            raise ArgumentError(f"annotate must be one of {', '.join(ANNOTATIONS)}, not {annotate!r}")
        self.name = name
        # A saved pipeline contains a copy of the model; the original file may be missing.
        self._file = model
        self.tagger: trellis.Tagger | None = None
        if model is not None and Path(model).exists():
            self.tagger = trellis.Tagger.load(model)
        self._annotate, self._features, self._learner, self._order = annotate, features, learner, order
        self._spans_key = spans_key
        if not Span.has_extension(CONFIDENCE):
            Span.set_extension(CONFIDENCE, default=None)

    @property
    def annotate(self) -> str:
        """``"ents"`` if labels encode spans, else ``"tag"``."""
        if self._annotate is not None:
            return self._annotate
        return "tag" if guess_scheme(self._trained_tagger().labels) is None else "ents"

    @property
    def labels(self) -> tuple[str, ...]:
        """Types of entities, or tags; empty before training."""
        if self.tagger is None:
            return ()
        if self.annotate == "tag":
            return self.tagger.labels
        return tuple(dict.fromkeys(label.partition("-")[2] for label in self.tagger.labels if "-" in label))

    # ------------------------------------------------------------ docs

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one document."""
        self._annotate_all([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = BATCH) -> Iterator[Doc]:
        """Annotate documents in batches.

        Parameters
        ----------
        stream
            The documents.
        batch_size
            Number of documents per batch.

        Yields
        ------
        Doc
            The documents, annotated.
        """
        if batch_size < 1:
            raise ArgumentError(f"batch_size must be at least 1, not {batch_size}")
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            self._annotate_all(batch)
            yield from batch

    def _annotate_all(self, docs: Sequence[Doc]) -> None:
        tagger = self._trained_tagger()
        if tagger.model.first is not None and len(docs) > 1:  # which processes one document at a time
            for doc in docs:
                self._annotate_all([doc])
            return
        sentences = {doc: parts for doc in docs if (parts := _sentences(doc))}
        tokens_of = [tokens for parts in sentences.values() for tokens in parts]
        if not tokens_of:
            return
        corpus = trellis.read({name: [_column(name, tokens) for tokens in tokens_of] for name in tagger.columns})
        if self.annotate == "tag":
            for tokens, tags in zip(tokens_of, tagger.tag_batch(corpus), strict=True):
                for token, tag in zip(tokens, tags, strict=True):
                    token.tag_ = tag
            return
        results = iter(tagger.tag_spans_batch(corpus))
        for doc, parts in sentences.items():
            spans, scores = list[Span](), list[float]()
            for tokens, result in zip(parts, islice(results, len(parts)), strict=True):
                for span, score in result:
                    begin, end = tokens[span.start_token].i, tokens[span.end_token - 1].i + 1
                    spans.append(Span(doc, begin, end, label=span.label))
                    spans[-1]._.set(CONFIDENCE, score)
                    scores.append(score)
            doc.set_ents(spans)
            if self._spans_key is not None:
                doc.spans[self._spans_key] = SpanGroup(doc, name=self._spans_key, spans=spans, attrs={"scores": scores})

    # ------------------------------------------------------------ training and scores

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None, **settings: Any
    ) -> None:
        """Train on examples, unless there is a model file.

        Parameters
        ----------
        get_examples
            Function that returns the examples.
        nlp
            The pipeline.
        **settings
            Options of ``trellis.train``.
        """
        if self.tagger is not None:
            return
        docs = [example.reference for example in get_examples()]
        sentences = [tokens for doc in docs for tokens in _sentences(doc)]
        annotate = self._annotate or ("ents" if any(doc.ents for doc in docs) else "tag")
        labels = [_entity_labels(s) if annotate == "ents" else [t.tag_ for t in s] for s in sentences]
        if not sentences or not any(label not in ("", "O") for s in labels for label in s):
            raise ArgumentError(
                f"{self.name}: no example has {'entities' if annotate == 'ents' else 'tags'} to train on"
            )
        options: dict[str, Any] = {"features": self._features, "learner": self._learner, "order": self._order}
        options |= {"labels": trellis.Labels(scheme="iob2")} if annotate == "ents" else {}
        self._annotate = annotate
        corpus = {"word": [_column("word", tokens) for tokens in sentences], "label": labels}
        self.tagger = trellis.train(corpus, target="label", **{**options, **settings})

    def score(self, examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
        """Score predictions with spaCy's scorer.

        Parameters
        ----------
        examples
            Predicted and gold documents.
        **settings
            Options of the scorer.

        Returns
        -------
        dict[str, Any]
            Scores by name.
        """
        elements = list(examples)
        if self.annotate == "ents":
            return dict(Scorer.score_spans(elements, "ents", **settings))
        return dict(Scorer.score_token_attr(elements, "tag", **settings))

    # ------------------------------------------------------------ files

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write the model to a folder.

        Parameters
        ----------
        path
            The folder.
        exclude
            Ignored.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self.tagger is not None:
            self.tagger.save(folder / FILE)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> Self:
        """Read the model from a folder.

        Parameters
        ----------
        path
            The folder.
        exclude
            Ignored.

        Returns
        -------
        TrellisTagger
            This component.
        """
        if (Path(path) / FILE).exists():
            self.tagger = trellis.Tagger.load(Path(path) / FILE)
        return self

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """Serialise the model.

        Parameters
        ----------
        exclude
            Ignored.

        Returns
        -------
        bytes
            The bytes.
        """
        return b"" if self.tagger is None else self.tagger.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> Self:
        """Read the model from bytes.

        Parameters
        ----------
        data
            Result of ``to_bytes``.
        exclude
            Ignored.

        Returns
        -------
        TrellisTagger
            This component.
        """
        if data:
            self.tagger = trellis.Tagger.from_bytes(data)
        return self

    def _trained_tagger(self) -> trellis.Tagger:
        if self.tagger is None and self._file is not None:
            self.tagger = trellis.Tagger.load(self._file)
        if self.tagger is None:
            raise ModelError(f"{self.name} has no model; set model in its config, or call nlp.initialize with examples")
        return self.tagger


def _words(part: Doc | Span) -> list[Any]:
    """The tokens without whitespace tokens, which do not occur in training data."""
    return [token for token in part if not token.is_space]


def _sentences(doc: Doc) -> list[list[Any]]:
    """The words of each nonempty sentence; without sentence boundaries a document is one sentence."""
    parts = doc.sents if doc.has_annotation("SENT_START") else [doc]
    return [tokens for part in parts if (tokens := _words(part))]


def _column(name: str, tokens: Sequence[Any]) -> list[str]:
    if name not in COLUMNS:
        raise ModelError(
            f"the model reads a column {name!r}, which a Doc does not have; available are {', '.join(COLUMNS)}"
        )
    values = list(map(COLUMNS[name], tokens))
    # A sentence of one word may have an empty column.
    if not any(values) and not any(map(COLUMNS[name], _words(tokens[0].doc))):
        raise ModelError(
            f"the model reads {name!r}, which no earlier component sets; add a tagger or lemmatizer before it"
        )
    return values


def _entity_labels(tokens: Sequence[Any]) -> list[str]:
    """B-PER, I-PER, O of the entities in a sentence; one that begins before it begins anew."""
    labels = [f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O" for token in tokens]
    return [f"B{label[1:]}" if t == 0 and label.startswith("I-") else label for t, label in enumerate(labels)]
