"""Endpoints about sentences for models of any task, with shared workers, batches and limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from trellis.corpus.tokens import Token, tokenize
from trellis.interfaces.serve import messages
from trellis.interfaces.serve.batching import Batcher
from trellis.interfaces.serve.door import Limits, RequestCounts, TurnedAwayError
from trellis.interfaces.serve.models import Models, Served
from trellis.tasks.explanation import finite, plain_output
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.text import span_dict, text_span

T = TypeVar("T")
WORKERS = 2  # threads; with more of them the event loop would wait for the GIL
PART = 100_000  # values per work unit of a thread, some hundredths of a second
LONG = 1 << 16  # requests (bytes) or responses (tokens) of at least this size are processed in a thread
EXPLAINING = 20  # relative cost of an explanation per token and label
EXPLAINED = 50  # for other tasks an explanation costs as much as with this number of labels
PIECE = 64  # items encoded at a time; other threads wait meanwhile


READS_TEXT = ("words", "pipeline")  # tasks of raw text: each text has one output


class Reply(NamedTuple):
    """An HTTP response."""

    body: bytes
    kind: bytes = b"application/json"
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Inputs(NamedTuple):
    """The sentences of a request."""

    sentences: list[Any]
    allowed: Sequence[Any] | None  # labels of each sentence
    costs: list[int]  # values of each sentence: cost of the response
    tokens: list[list[Token]] | None  # of text, with offsets

    def part(self, begin: int, end: int) -> Inputs:
        """Select some of the sentences."""
        lists: list[Any] = [None if values is None else values[begin:end] for values in self]
        return Inputs(*lists)


Answers = Callable[[Inputs], list[Any]]  # of each sentence


class Shared:
    """Shared state of requests: models, batches, threads, limits."""

    def __init__(self, models: Models, limits: Limits, n_threads: int | None) -> None:
        self.models, self.limits, self.n_threads, self.counts = models, limits, n_threads, RequestCounts()

    def start(self) -> None:
        """Start threads; call it within the server's event loop."""
        self.batcher, self.workers = Batcher(self.n_threads), ThreadPoolExecutor(WORKERS, "trellis-work")

    async def inputs(self, request: messages.Request, served: Served, values: int = 1) -> Inputs:
        """The checked sentences of a request; ``values`` is the number of values per token in the response."""
        tokens, text, limits = None, request.text, self.limits
        allowed = [request.allowed] if isinstance(request.allowed, dict) else request.allowed
        if allowed is not None:
            _ = served.tagger  # raises where it is something else
        if text is None:
            sentences: list[Any] = [request.sentence] if request.sentences is None else request.sentences
            if served.model.task == "words":
                raise TurnedAwayError(
                    422, "a word segmenter reads text; send text, with lines=true for one text per line"
                )
        elif served.model.task in READS_TEXT:
            sentences = text.splitlines() if request.lines else [text]
        else:
            if len(served.columns) > 1 or served.reads_attributes:
                columns = ", ".join(served.columns)
                raise TurnedAwayError(422, f"text has only words, but the model reads {columns}; send sentences")
            tokens = await self.aside(lambda: tokenize(text, lines=request.lines))
            sentences = [[token.text for token in sentence] for sentence in tokens]
        n = sum(map(len, sentences))
        if len(sentences) > limits.sentences:
            raise TurnedAwayError(413, f"more than {limits.sentences:,} sentences; send fewer per request")
        if n > limits.tokens:
            raise TurnedAwayError(413, f"more than {limits.tokens:,} tokens; send fewer per request")
        costs = [max(served.work(len(sentence)), len(sentence) * values) for sentence in sentences]
        if sum(costs) > limits.values:
            reason = f"{n:,} tokens need {sum(costs):,} output values of this model; the limit is {limits.values:,}"
            raise TurnedAwayError(413, f"{reason}; send fewer or shorter sentences, or request fewer values for each")
        self.counts.tokens += n
        self.counts.sentences += len(sentences)
        return Inputs(sentences, allowed, costs, tokens)

    async def answers(self, served: Served, inputs: Inputs, name: str, answer: Answers, **fields: Any) -> bytes:
        """A JSON object with the answers to all sentences under this name, after other fields.

        Workers make it part by part: requests take turns, and one that was given up stops after the part under way.
        """

        def items(part: Inputs) -> bytes:
            return b",".join(map(_json_pieces, answer(part)))

        cuts = [(0, len(inputs.sentences))] if served.is_of_documents else _parts(inputs.costs)
        parts = [await self.aside(partial(items, inputs.part(*cut))) for cut in cuts]
        head = json_bytes({"model": served.name, **fields})[:-1]
        return b'%s,"%s":[%s]}' % (head, name.encode(), b",".join(parts))

    async def aside(self, work: Callable[[], T]) -> T:
        """Run work in a thread, so that the loop is not blocked; work cancelled before its start is not done."""
        return await asyncio.get_running_loop().run_in_executor(self.workers, work)

    def close(self) -> None:
        """Stop accepting work."""
        self.workers.shutdown(wait=False, cancel_futures=True)
        self.batcher.close()


async def predict(request: messages.Request, work: Shared) -> bytes:
    """Predict the best output of each sentence.

    The output is a list of labels (taggers, rerankers), heads with relations (dependency parsers), a bracketed tree
    (constituency parsers) or a list of words (word segmenters). For text, also the sentences and offsets of tokens.
    """
    served = work.models.get(request.model)
    inputs, model, text = await work.inputs(request, served), served.model, request.text or ""
    if isinstance(model, Tagger) and inputs.allowed is None:  # batched with other requests
        labels = await work.batcher.tag(model, inputs.sentences)

        def encoded() -> bytes:
            placed = {} if inputs.tokens is None else {"sentences": _placed(text, inputs.tokens, labels)}
            return json_bytes({"model": served.name, **placed, "outputs": labels})

        small = inputs.tokens is None and sum(inputs.costs) < LONG
        return encoded() if small else await work.aside(encoded)

    def answer(part: Inputs) -> list[Any]:
        options = {} if part.allowed is None else {"allowed": part.allowed}
        return list(map(plain_output, model.predict_batch(part.sentences, n_threads=work.n_threads, **options)))

    placed = {} if inputs.tokens is None else {"sentences": _placed(text, inputs.tokens)}
    return await work.answers(served, inputs, "outputs", answer, **placed)


async def kbest(query: messages.KBestRequest, work: Shared) -> bytes:
    """Predict the k best outputs of each sentence, with their scores."""
    served = work.models.get(query.model)
    model, k = served.model, min(query.k, getattr(served.model, "k", query.k))  # the number of candidates of a reranker
    inputs = await work.inputs(query, served, 10 * query.k if model.task == "trees" else query.k)

    def answer(part: Inputs) -> list[Any]:
        if isinstance(model, Tagger):
            lists: list[Any] = model.kbest_batch(part.sentences, k, allowed=part.allowed, n_threads=work.n_threads)
        else:
            lists = [model.kbest(sentence, k) for sentence in part.sentences]
        return [[{"output": plain_output(output), "score": finite(score)} for output, score in best] for best in lists]

    return await work.answers(served, inputs, "kbest", answer)


async def marginals(request: messages.Request, work: Shared) -> bytes:
    """Return the probability of every label for each token.

    For taggers only. ``probability_kind`` tells whether these are exact probabilities or a softmax of path scores.
    """
    served = work.models.get(request.model)
    tagger = served.tagger
    inputs = await work.inputs(request, served, len(tagger.labels))

    def answer(part: Inputs) -> list[Any]:
        return list(map(list, tagger.marginals_batch(part.sentences, allowed=part.allowed, n_threads=work.n_threads)))

    return await work.answers(served, inputs, "marginals", answer, probability_kind=tagger.probability_kind)


async def spans(request: messages.Request, work: Shared) -> bytes:
    """Return the labelled spans, such as named entities, with the probability of each.

    For taggers whose labels mark spans. Ends are exclusive. For text, character offsets are also returned.
    """
    served = work.models.get(request.model)
    tagger, text = served.tagger, request.text or ""
    inputs = await work.inputs(request, served, len(tagger.labels))

    def answer(part: Inputs) -> list[Any]:
        lists = tagger.tag_spans_batch(part.sentences, allowed=part.allowed, n_threads=work.n_threads)
        if part.tokens is None:
            return [[span_dict(span, p) for span, p in pairs] for pairs in lists]
        sentences = zip(lists, part.tokens, strict=True)
        return [[span_dict(text_span(span, p, text, tokens)) for span, p in pairs] for pairs, tokens in sentences]

    return await work.answers(served, inputs, "spans", answer, probability_kind=tagger.probability_kind)


async def explain(request: messages.ExplainRequest, work: Shared) -> bytes:
    """Explain the prediction for each sentence.

    The terms (features times weights) of the score, the second-best output and the difference between the two. For
    taggers also the features for and against the best labels of each token.
    """
    served = work.models.get(request.model)
    model: Any = served.model
    n_labels = len(model.labels) if model.task == "tag" else EXPLAINED
    inputs = await work.inputs(request, served, EXPLAINING * n_labels)

    def answer(part: Inputs) -> list[Any]:
        if model.task != "tag":
            return [model.explain(sentence).to_dict(n_terms=request.terms) for sentence in part.sentences]
        pairs = zip(part.sentences, part.allowed or [None] * len(part.sentences), strict=True)
        limits = {"n_labels": request.labels, "n_terms": request.terms}
        return [model.explain(sentence, allowed=labels).to_dict(**limits) for sentence, labels in pairs]

    return await work.answers(served, inputs, "explanations", answer)


class Address(NamedTuple):
    """An endpoint: its function, type of the request body (None: GET), type of the response.

    A function gets the body, or of GET the scope of the request. It gives a reply, JSON, or what becomes JSON; a worker
    calls it unless it is asynchronous.
    """

    function: Callable[[Any, Shared], Any]
    body: type[messages.Body] | None = None
    answer: type[BaseModel] | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The HTTP methods."""
        return ("GET", "HEAD") if self.body is None else ("POST",)


QUESTIONS = {
    "/v1/predict": Address(predict, messages.Request, messages.Predicted),
    "/v1/kbest": Address(kbest, messages.KBestRequest, messages.KBestAnswer),
    "/v1/marginals": Address(marginals, messages.Request, messages.MarginalsAnswer),
    "/v1/spans": Address(spans, messages.Request, messages.Spans),
    "/v1/explain": Address(explain, messages.ExplainRequest, messages.Explained),
}


def _parts(costs: list[int]) -> list[tuple[int, int]]:
    """Split sentences into parts of at most PART values, or of one sentence."""
    ends, n = [0], 0
    for i, cost in enumerate(costs):
        if n and n + cost > PART:
            ends.append(i)
            n = 0
        n += cost
    return list(pairwise([*ends, len(costs)]))


def json_bytes(value: Any) -> bytes:
    """Encode a value as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _json_pieces(value: Any) -> bytes:
    """Encode a value piece by piece: long lists, also those in objects, are split."""
    if isinstance(value, dict):
        return b"{%s}" % b",".join(json_bytes(name) + b":" + _json_pieces(item) for name, item in value.items())
    if isinstance(value, list) and len(value) > PIECE:
        pieces = (value[i : i + PIECE] for i in range(0, len(value), PIECE))
        return b"[%s]" % b",".join(json_bytes(piece)[1:-1] for piece in pieces)
    return json_bytes(value)


def _placed(text: str, tokens: list[list[Token]], labels: list[list[str]] | None = None) -> list[dict[str, Any]]:
    """The sentences of a text with offsets of their words, and labels if there are any."""
    rows = list[dict[str, Any]]()
    for i, sentence in enumerate(tokens):
        start, end = sentence[0].start, sentence[-1].end
        words = [token._asdict() for token in sentence]
        if labels is not None:
            words = [{**word, "label": label} for word, label in zip(words, labels[i], strict=True)]
        rows.append({"text": text[start:end], "start": start, "end": end, "tokens": words})
    return rows
