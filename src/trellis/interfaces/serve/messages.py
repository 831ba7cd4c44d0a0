"""Bodies of requests and responses. A sentence is a list of words, of lists of columns, or of attributes.

Validation stops at the first error of a list or an object: one request cannot make errors by the million.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, TypeAdapter, WithJsonSchema, model_validator


def _token(token: Any) -> Any:
    """A token as models read it: a word, a tuple of columns, or attributes with numbers as floats (true is 1)."""
    if isinstance(token, str):
        return token
    if isinstance(token, dict):
        return {name: value if isinstance(value, str) else _number(name, value) for name, value in token.items()}
    if isinstance(token, list) and all(isinstance(column, str) for column in token):
        return tuple(token)
    raise ValueError("a token must be a string, a list of strings (its columns) or an object of attributes")


def _number(name: str, value: Any) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"the value of attribute {name[:80]!r} must be a string or a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"the value of attribute {name[:80]!r} is too large") from None


Positions = dict[int, str | list[str]]  # labels of one sentence


def _allowed(allowed: Any) -> Positions | list[Positions | None]:
    """Labels of a sentence, or of each of several, by the position of their token, which is a string in JSON."""
    if isinstance(allowed, list):
        return [None if labels is None else _positions(labels) for labels in allowed]
    return _positions(allowed)


def _positions(allowed: Any) -> Positions:
    if not isinstance(allowed, dict):
        raise ValueError(
            "allowed must be an object from positions to labels; for several sentences, a list of such objects"
        )
    positions: Positions = {}
    for key, labels in allowed.items():
        if not (key.isascii() and key.isdigit() and len(key) < 10):
            raise ValueError(f"{key[:80]!r} is not a token position (an integer, counted from 0)")
        several = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        if not isinstance(labels, str) and not several:
            raise ValueError(f"the value at position {key} must be a label or a list of labels")
        positions[int(key)] = labels
    return positions


def _schema(kind: Any) -> WithJsonSchema:
    return WithJsonSchema(TypeAdapter(kind).json_schema())


Token = Annotated[Any, PlainValidator(_token), _schema(str | list[str] | dict[str, str | float | bool])]
Sentence = Annotated[
    list[Token],
    Field(fail_fast=True, description="one sentence: a list of words, lists of columns or attribute objects"),
]
_Allowed = Positions | list[Positions | None]
Allowed = Annotated[_Allowed, PlainValidator(_allowed), _schema(_Allowed)]


class Body(BaseModel):
    """Base class of request bodies; the first unknown field is an error."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    @model_validator(mode="after")
    def _no_other_fields(self) -> Body:
        for name in self.model_extra or ():
            raise ValueError(f"unknown field {name[:80]!r}; the fields are {', '.join(type(self).model_fields)}")
        return self


class Request(Body):
    """Input of the model; exactly one of sentence, sentences and text is required."""

    model: str | None = Field(None, description="name of the model (default: the first model)")
    sentence: Sentence | None = Field(
        None, description="one sentence: a list of words, of lists of columns or of attribute objects"
    )
    sentences: Annotated[list[Sentence], Field(fail_fast=True)] | None = Field(None, description="several sentences")
    text: str | None = Field(None, description="raw text; the server splits it into sentences and tokens")
    lines: bool = Field(False, description="text has one sentence per line (default: split automatically)")
    allowed: Allowed | None = Field(
        None,
        description="taggers: allowed labels by token position, counted from 0; with sentences, a list of such objects",
    )

    @model_validator(mode="after")
    def _one_of_three(self) -> Request:
        fields = [name for name in ("sentence", "sentences", "text") if getattr(self, name) is not None]
        if len(fields) != 1:
            raise ValueError("exactly one of sentence, sentences and text is required")
        if self.text is not None and self.allowed is not None:
            raise ValueError("allowed cannot be combined with text; send sentence or sentences")
        if self.sentences is not None and isinstance(self.allowed, dict):
            raise ValueError("with sentences, allowed must be a list (null: no constraint)")
        if self.sentence is not None and isinstance(self.allowed, list):
            raise ValueError("with sentence, allowed must be an object")
        if isinstance(self.allowed, list) and len(self.allowed) != len(self.sentences or ()):
            raise ValueError("allowed and sentences must have the same length")
        return self


class KBestRequest(Request):
    """Input of the model, and the number of outputs."""

    k: int = Field(5, ge=1, le=1000, description="number of outputs per sentence")


class ExplainRequest(Request):
    """Input of the model, and the size of the explanation."""

    labels: int = Field(3, ge=1, le=100, description="taggers: number of labels to explain per token")
    terms: int = Field(
        10, ge=0, le=1000, description="maximum number of terms per list, largest absolute weights first"
    )


ModelName = Annotated[str, Field(description="name of the model")]
KIND = "exact 'probability', or 'confidence', the softmax of path scores"
ProbabilityKind = Annotated[str, Field(description=f"meaning of the probabilities: {KIND}")]


class ModelFacts(BaseModel):
    """A model on the server."""

    name: str = Field(description="name, as in the model field of requests")
    task: str = Field(description="tag, parse, trees, words, rerank or pipeline")
    columns: list[str] = Field(description="columns of a token, in this order")
    attributes: bool = Field(description="whether tokens are attribute objects")
    target: str | None = Field(None, description="taggers: predicted column")
    labels: list[str] | None = Field(None, description="label set")
    order: int | None = Field(None, description="Markov order")
    probability_kind: str | None = Field(None, description=f"meaning of the probabilities: {KIND}")


class ModelList(BaseModel):
    """All models on the server."""

    models: list[ModelFacts] = Field(description="all models; the first is the default")


class Arcs(BaseModel):
    """A dependency tree."""

    heads: list[int] = Field(description="head of each word, counted from 1; 0 is the root")
    deprels: list[str] | None = Field(None, description="dependency relation of each word")


class DocumentWord(BaseModel):
    """A syntactic word; offsets are those of its token."""

    id: int = Field(description="number in the sentence, from 1")
    form: str = Field(description="the word")
    lemma: str | None = Field(None, description="lemma")
    upos: str | None = Field(None, description="universal part of speech")
    xpos: str | None = Field(None, description="part of speech of the language's own tag set")
    feats: str | None = Field(None, description="morphological features")
    head: int | None = Field(None, description="id of the head; 0: the root")
    deprel: str | None = Field(None, description="relation to the head")
    start: int | None = Field(None, description="offset of the first character of its token")
    end: int | None = Field(None, description="offset after the last character of its token")


class DocumentMultiword(BaseModel):
    """A token of several words."""

    first: int = Field(description="id of its first word")
    last: int = Field(description="id of its last word")
    form: str = Field(description="the token")
    start: int | None = Field(None, description="offset of its first character")
    end: int | None = Field(None, description="offset after its last character")


class AnnotatedSentence(BaseModel):
    """A sentence of a document."""

    text: str = Field(description="its text")
    start: int | None = Field(None, description="offset of its first character")
    end: int | None = Field(None, description="offset after its last character")
    words: list[DocumentWord] = Field(description="its words")
    multiword_tokens: list[DocumentMultiword] = Field(description="its multiword tokens")


class AnnotatedDocument(BaseModel):
    """A text with what a pipeline predicts."""

    text: str = Field(description="the text")
    sentences: list[AnnotatedSentence] = Field(description="its sentences")


# Labels or words; a dependency tree; a document; a phrase tree in brackets.
Output = list[str] | Arcs | AnnotatedDocument | str


class Predicted(BaseModel):
    """The best output of each sentence."""

    model: ModelName
    outputs: list[Output] = Field(description="one output per sentence")
    sentences: list[dict[str, Any]] | None = Field(
        None, description="for text: sentences and tokens with character offsets (start, end)"
    )


class Scored(BaseModel):
    """An output and its score."""

    output: Output
    score: float | None = Field(description="null if the grammar does not generate the sentence")


class KBestAnswer(BaseModel):
    """The k best outputs of each sentence."""

    model: ModelName
    kbest: list[list[Scored]] = Field(description="up to k outputs per sentence, best first")


class MarginalsAnswer(BaseModel):
    """The label probabilities of each token."""

    model: ModelName
    probability_kind: ProbabilityKind
    marginals: list[list[dict[str, float]]] = Field(description="per sentence and token: label to probability")


class FoundSpan(BaseModel):
    """A labelled span of a sentence; ends are exclusive."""

    label: str
    start_token: int = Field(description="index of the first token")
    end_token: int = Field(description="index after the last token")
    start: int | None = Field(None, description="for text: offset of the first character")
    end: int | None = Field(None, description="for text: offset after the last character")
    text: str | None = Field(None, description="for text: the characters of the span")
    confidence: float = Field(description="probability of the span, see probability_kind")


class Spans(BaseModel):
    """The spans of each sentence."""

    model: ModelName
    probability_kind: ProbabilityKind
    spans: list[list[FoundSpan]] = Field(description="one list per sentence")


class Explained(BaseModel):
    """The explanation of each prediction."""

    model: ModelName
    explanations: list[dict[str, Any]] = Field(description="one object per sentence")


class ErrorAnswer(BaseModel):
    """An error."""

    error: str = Field(description="message of one line")
