"""What requests bring and what answers hold. A sentence is a list of words, of lists of columns, or of attributes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

# Tried in turn, the frequent ones first.
Value = Annotated[str | float, Field(union_mode="left_to_right")]  # a truth value is 1 or 0
Token = Annotated[str | dict[str, Value] | list[str], Field(union_mode="left_to_right")]
Sentence = Annotated[list[Token], Field(description="words, or lists of columns, or objects of attributes")]
Allowed = Annotated[
    dict[int, str | list[str]],
    Field(description="labels that a token may have, by its place from 0; one label forces it"),
]


class Request(BaseModel):
    """What to work on: one sentence, several, or text."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="its name; the first one if none is named")
    sentence: Sentence | None = None
    sentences: list[Sentence] | None = None
    text: str | None = Field(None, description="running text, cut into sentences and words here")
    lines: bool = Field(False, description="of text: every line is a sentence")
    allowed: Allowed | list[Allowed | None] | None = Field(None, description="of one sentence, or of each")

    @model_validator(mode="after")
    def _one_of_three(self) -> Request:
        given = [name for name in ("sentence", "sentences", "text") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give one of sentence, sentences and text")
        if self.text is not None and self.allowed is not None:
            raise ValueError("allowed goes with sentence or sentences, whose tokens have places")
        if self.sentences is not None and isinstance(self.allowed, dict):
            raise ValueError("of several sentences, allowed is a list, null where anything goes")
        if self.sentence is not None and isinstance(self.allowed, list):
            raise ValueError("of one sentence, allowed is an object")
        if isinstance(self.allowed, list) and len(self.allowed) != len(self.sentences or ()):
            raise ValueError("allowed has another length than sentences")
        return self


class KBestRequest(Request):
    """The k best label sequences."""

    k: int = Field(5, ge=1, le=1000)


class ExplainRequest(Request):
    """Why these labels."""

    labels: int = Field(3, ge=1, le=100, description="labels per token that are explained")
    terms: int = Field(10, ge=0, le=1000, description="features per label")


class ModelFacts(BaseModel):
    """What a model is."""

    name: str
    target: str
    columns: list[str]
    labels: list[str]
    order: int
    measure: str = Field(description="what its figures are: probability or confidence")
    attributes: bool = Field(description="whether tokens are objects of attributes")


class ModelList(BaseModel):
    """The models that are served."""

    models: list[ModelFacts]


class Tagged(BaseModel):
    """Labels of each sentence; of text also its sentences with the places of words."""

    model: str
    labels: list[list[str]]
    sentences: list[dict[str, Any]] | None = None


class LabelPath(BaseModel):
    """A label sequence."""

    labels: list[str]
    score: float


class KBest(BaseModel):
    """The k best of each sentence."""

    model: str
    kbest: list[list[LabelPath]]


class Marginals(BaseModel):
    """Of each sentence, of each token, how probable every label is."""

    model: str
    measure: str
    marginals: list[list[dict[str, float]]]


class FoundSpan(BaseModel):
    """A span of tokens begin..end (end not included); of text also its characters."""

    type: str
    begin: int
    end: int
    probability: float
    start: int | None = None
    stop: int | None = None
    text: str | None = None


class Spans(BaseModel):
    """The spans of each sentence."""

    model: str
    measure: str
    spans: list[list[FoundSpan]]


class Explained(BaseModel):
    """Why each sentence gets its labels."""

    model: str
    explanations: list[dict[str, Any]]


class Problem(BaseModel):
    """What is wrong, in one line."""

    error: str
