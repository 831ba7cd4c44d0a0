"""What requests bring and what answers hold. A sentence is a list of words, of lists of columns, or of attributes.

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
    list[Token], Field(fail_fast=True, description="tokens: words, lists of columns or objects of attributes")
]
_Allowed = Positions | list[Positions | None]
Allowed = Annotated[_Allowed, PlainValidator(_allowed), _schema(_Allowed)]


class Body(BaseModel):
    """The body of a request; a field that is not known is an error, the first of them alone."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    @model_validator(mode="after")
    def _no_other_fields(self) -> Body:
        for name in self.model_extra or ():
            raise ValueError(f"unknown field {name[:80]!r}; the fields are {', '.join(type(self).model_fields)}")
        return self


class Request(Body):
    """What to work on: one sentence, several, or text."""

    model: str | None = Field(None, description="name of the model (default: the first model)")
    sentence: Sentence | None = None
    sentences: Annotated[list[Sentence], Field(fail_fast=True)] | None = None
    text: str | None = Field(None, description="running text, split into sentences and words by the server")
    lines: bool = Field(False, description="one sentence per line of text")
    allowed: Allowed | None = Field(
        None,
        description="allowed labels by token position, counted from 0; for several sentences, a list of such objects",
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
    """The k best outputs."""

    k: int = Field(5, ge=1, le=1000)


class ExplainRequest(Request):
    """Why this output."""

    labels: int = Field(3, ge=1, le=100, description="taggers: number of labels to explain per token")
    terms: int = Field(10, ge=0, le=1000, description="number of terms per list, largest weights first")


class ModelFacts(BaseModel):
    """What a model is."""

    name: str
    task: str = Field(description="tag, parse, trees, words or rerank")
    columns: list[str] = Field(description="columns of a token")
    attributes: bool = Field(description="whether tokens are objects of attributes")
    target: str | None = None
    labels: list[str] | None = None
    order: int | None = None
    probability_kind: str | None = Field(
        None, description="meaning of confidence: exact 'probability', or 'confidence', the softmax of path scores"
    )


class ModelList(BaseModel):
    """The models that are served."""

    models: list[ModelFacts]


class Arcs(BaseModel):
    """A dependency tree: of each word its head, counted from 1, 0 for the root; labels where the parser has them."""

    heads: list[int]
    deprels: list[str] | None = None


# Labels or words; a dependency tree; a phrase tree in brackets.
Output = list[str] | Arcs | str


class Predicted(BaseModel):
    """The best output of each sentence; of text also its sentences with the places of words."""

    model: str
    outputs: list[Output]
    sentences: list[dict[str, Any]] | None = None


class Scored(BaseModel):
    """An output with its score; null if nothing that the model derives has these words."""

    output: Output
    score: float | None


class KBestAnswer(BaseModel):
    """The k best of each sentence."""

    model: str
    kbest: list[list[Scored]]


class MarginalsAnswer(BaseModel):
    """Of each sentence, of each token, how probable every label is."""

    model: str
    probability_kind: str
    marginals: list[list[dict[str, float]]]


class FoundSpan(BaseModel):
    """A span: tokens start_token..end_token of its sentence, of text also characters start..end; ends not included."""

    label: str
    start_token: int
    end_token: int
    start: int | None = None
    end: int | None = None
    text: str | None = None
    confidence: float


class Spans(BaseModel):
    """The spans of each sentence."""

    model: str
    probability_kind: str
    spans: list[list[FoundSpan]]


class Explained(BaseModel):
    """Why each sentence gets its output."""

    model: str
    explanations: list[dict[str, Any]]


class ErrorAnswer(BaseModel):
    """What is wrong, in one line."""

    error: str
