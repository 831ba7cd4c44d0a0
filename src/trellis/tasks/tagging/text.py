"""Raw text with labels: words and spans with offsets, formatted as lines, plain data or HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from trellis._support.errors import ArgumentError
from trellis.corpus.schemes import Span, guess_scheme, spans
from trellis.corpus.tokens import Token

if TYPE_CHECKING:
    from trellis.tasks.tagging.decoding import Decode
    from trellis.tasks.tagging.model import Tagger


class TextSpan(NamedTuple):
    """A span of a text; ends are exclusive.

    Attributes
    ----------
    label
        Type of the span.
    start_token
        First token in the sentence.
    end_token
        Token after the last one.
    start
        Offset of the first character in the text.
    end
        Offset after the last character.
    text
        Text of the span.
    confidence
        Probability of the span, if requested.
    """

    label: str
    start_token: int
    end_token: int
    start: int
    end: int
    text: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """One sentence of a tagged text.

    Attributes
    ----------
    tokens
        Tokens with offsets.
    labels
        One label per token.
    confidences
        Probability of each label, if requested.
    spans
        Spans; None if the labels of the model encode no spans.
    """

    tokens: list[Token]
    labels: list[str]
    confidences: list[float] | None
    spans: list[TextSpan] | None


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text with labels. It iterates over its sentences; notebooks show it in colours.

    Attributes
    ----------
    text
        The text.
    sentences
        Its sentences.
    probability_kind
        Meaning of the confidences: ``"probability"`` (exact) or ``"confidence"`` (a softmax of scores).
    """

    text: str
    sentences: list[TaggedSentence]
    probability_kind: str

    def __iter__(self) -> Iterator[TaggedSentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, i: int) -> TaggedSentence:
        return self.sentences[i]

    def __str__(self) -> str:
        return "\n".join(map(self.inline, self.sentences))

    @property
    def spans(self) -> list[TextSpan]:
        """Spans of all sentences."""
        return [span for sentence in self.sentences for span in sentence.spans or ()]

    def inline(self, sentence: TaggedSentence) -> str:
        """Format a sentence as one line with its labels: ``[NP the dog] ran``, or ``the/DT dog/NN ran/VBD``.

        Parameters
        ----------
        sentence
            A sentence of this text.

        Returns
        -------
        str
            The line.
        """
        words = [token.text for token in sentence.tokens]
        if sentence.spans is None:
            return " ".join(f"{word}/{label}" for word, label in zip(words, sentence.labels, strict=True))
        openings = {span.start: f"[{span.label} " for span in sentence.spans}
        closings = {span.end: "]" for span in sentence.spans}
        return " ".join(
            f"{openings.get(token.start, '')}{token.text}{closings.get(token.end, '')}" for token in sentence.tokens
        )

    def to_dicts(self, *, offset: int = 0) -> list[dict[str, Any]]:
        """Convert the sentences to plain data, ready for JSON, with the offsets of tokens and spans.

        Parameters
        ----------
        offset
            Number added to every offset: the position of this text in a longer one.

        Returns
        -------
        list[dict[str, Any]]
            One dict per sentence.
        """
        records = list[dict[str, Any]]()
        for sentence in self.sentences:
            confidences: Sequence[float | None] = sentence.confidences or [None] * len(sentence.tokens)
            begin, end = sentence.tokens[0].start, sentence.tokens[-1].end
            record: dict[str, Any] = {"text": self.text[begin:end], "start": begin + offset, "end": end + offset}
            record["tokens"] = [
                {"text": word, "start": start + offset, "end": end + offset, "label": label} | _sure(p)
                for (word, start, end), label, p in zip(sentence.tokens, sentence.labels, confidences, strict=True)
            ]
            if sentence.spans is not None:
                moved = (span._replace(start=span.start + offset, end=span.end + offset) for span in sentence.spans)
                record["spans"] = list(map(span_dict, moved))
            records.append(record)
        return records

    def to_html(self) -> str:
        """Format the text with coloured labels as a self-contained piece of HTML.

        Returns
        -------
        str
            HTML.
        """
        from trellis.display.models import text_html

        return text_html(self)

    _repr_html_ = to_html


def tag_sentences(
    tagger: Tagger,
    text: str,
    sentences: Sequence[list[Token]],
    *,
    confidence: bool,
    decode: Decode = "viterbi",
    n_threads: int | None = None,
) -> TaggedText:
    """Label the sentences of a tokenized text."""
    if len(tagger.columns) > 1 or tagger.model.vocabulary.bag is not None:
        raise ArgumentError(
            f"the model reads {', '.join(tagger.columns)}, but raw text has only words; tag a file or lists"
        )
    words = [[token.text for token in sentence] for sentence in sentences]
    tagged = tagger.tag_batch(words, decode=decode, n_threads=n_threads)
    marks_spans, result = guess_scheme(tagger.labels) is not None, list[TaggedSentence]()
    number = {label: z for z, label in enumerate(tagger.labels)}
    posteriors = tagger.marginals_batch(words, n_threads=n_threads) if confidence else None
    scored = tagger.tag_spans_batch(words, decode=decode, n_threads=n_threads) if marks_spans and confidence else None
    for i, (tokens, labels) in enumerate(zip(sentences, tagged, strict=True)):
        confidences, spans_here = None, None
        if posteriors is not None:
            confidences = [float(row[number[label]]) for row, label in zip(posteriors[i].node, labels, strict=True)]
        if marks_spans:
            pairs = [(span, None) for span in spans(labels)] if scored is None else scored[i]
            spans_here = [text_span(span, p, text, tokens) for span, p in pairs]
        result.append(TaggedSentence(tokens, labels, confidences, spans_here))
    return TaggedText(text, result, tagger.probability_kind)


def text_span(span: Span, confidence: float | None, text: str, tokens: Sequence[Token]) -> TextSpan:
    """Convert a span of a sentence to a span of the text, given the sentence's tokens."""
    start, end = tokens[span.start_token].start, tokens[span.end_token - 1].end
    return TextSpan(*span, start, end, text[start:end], confidence)


def span_dict(span: Span | TextSpan, confidence: float | None = None) -> dict[str, Any]:
    """A span as plain data; the same format in commands, in the server and in ``to_dicts``."""
    record = span._asdict()
    return record | _sure(record.pop("confidence", confidence))


def _sure(confidence: float | None) -> dict[str, float]:
    return {} if confidence is None else {"confidence": confidence}
