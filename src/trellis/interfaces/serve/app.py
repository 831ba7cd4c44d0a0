"""The addresses of the server."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request as WebRequest

import trellis
from trellis._support.errors import TrellisError
from trellis.corpus.corpus import Corpus
from trellis.corpus.tokens import Token, tokenize
from trellis.interfaces.serve import messages
from trellis.interfaces.serve.batching import Batcher
from trellis.interfaces.serve.docs_page import docs_page
from trellis.interfaces.serve.door import App, Door, Limits, Receive, RequestCounts, Scope, Send, TurnedAwayError
from trellis.interfaces.serve.models import Models, Served, UnknownModelError
from trellis.interfaces.studio.app import studio_router
from trellis.interfaces.studio.workbook import Workbook
from trellis.tasks.explanation import Term
from trellis.tasks.tagging.text import TaggedSentence, TaggedText, span_dict, text_span

T = TypeVar("T")
Sentences = list[Any]
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # names of this machine for itself
WORKERS = 2  # threads; more of them would keep the loop waiting for its turn
PART = 100_000  # values that a worker makes at a time, some hundredths of a second
LONG = 1 << 16  # bytes of a request, or tokens of an answer, that the loop leaves to a worker
EXPLAINING = 20  # cost of an explanation, per token and label, in that of a value
PIECE = 64  # items that are encoded at a time: other threads wait meanwhile

# The answers to some sentences, with the labels that are allowed in each.
Answers = Callable[[Sentences, list[Any] | None], list[Any]]


class Shared:
    """What requests share: the models, the batches, the workers, the limits."""

    def __init__(self, models: Models, limits: Limits, counts: RequestCounts, n_threads: int | None) -> None:
        self.models, self.limits, self.counts, self.n_threads = models, limits, counts, n_threads
        self.batcher: Batcher | None = None  # made in the loop of the server
        self.workers = _workers()

    async def sentences(
        self, given: messages.Request, served: Served, values: int = 1
    ) -> tuple[Sentences, list[list[Token]] | None]:
        """The sentences of a request, counted; of text also its tokens. Answers have so many ``values`` per token."""
        tokens = None
        if given.text is not None:
            if len(served.tagger.columns) > 1 or served.reads_attributes:
                columns = ", ".join(served.tagger.columns)
                raise TurnedAwayError(422, f"text has words alone, and the model reads {columns}; give sentences")
            text, lines = given.text, given.lines
            tokens = await self.aside(lambda: tokenize(text, lines=lines))
            found: Sentences = [[token.text for token in sentence] for sentence in tokens]
        else:
            found = [given.sentence] if given.sentences is None else given.sentences
        n, limits = sum(map(len, found)), self.limits
        if len(found) > limits.sentences:
            raise TurnedAwayError(413, f"more than {limits.sentences:,} sentences; send fewer at once")
        if n > limits.tokens:
            raise TurnedAwayError(413, f"more than {limits.tokens:,} tokens; send fewer at once")
        if n * values > limits.values:
            why = f"{n:,} tokens with {values:,} values each are more than {limits.values:,} values"
            raise TurnedAwayError(413, f"{why}; send fewer tokens at once, or ask for less of each")
        self.counts.tokens += n
        self.counts.sentences += len(found)
        return found, tokens

    async def labels(self, served: Served, sentences: Sentences, given: messages.Request) -> list[list[str]]:
        """The best labels: in a batch with others, or under this request's own constraints."""
        allowed = _allowed(given)
        if allowed is None:
            assert self.batcher is not None
            return await self.batcher.tag(served.tagger, sentences)
        return await self.aside(lambda: served.tagger.tag_batch(sentences, allowed=allowed, n_threads=1))

    async def answers(
        self, served: Served, sentences: Sentences, allowed: list[Any] | None, values: int, answer: Answers
    ) -> bytes:
        """The answers to all sentences as a JSON list.

        Workers make it part by part: requests take turns, and one that was given up stops after the part under way.
        """
        parts, is_document = list[bytes](), served.tagger.model.first is not None
        for a, b in [(0, len(sentences))] if is_document else _parts(sentences, PART // values):
            some = None if allowed is None else allowed[a:b]
            parts.append(await self.aside(partial(_json_items, answer, sentences[a:b], some)))
        return b"[%s]" % b",".join(parts)

    async def aside(self, work: Callable[[], T]) -> T:
        """Work in a thread, so that the loop stays free; work that is given up before it starts is not done."""
        return await asyncio.get_running_loop().run_in_executor(self.workers, work)

    def close(self) -> None:
        """No more work."""
        self.workers.shutdown(wait=False, cancel_futures=True)
        if self.batcher is not None:
            self.batcher.close()


def make_app(
    models: Models,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Sequence[str] | None = None,
    n_threads: int | None = None,
    studio: bool = False,
    corpus: Callable[[Served], Corpus] | None = None,
    book: Workbook | None = None,
) -> Any:
    """The server as an ASGI program; ``limits`` of each request, ``token`` that clients must bring.

    ``hosts`` are the names under which it may be asked, such as ``LOOPBACK`` (default: any).

    With ``studio`` it also has the studio's page; ``corpus`` then gives its corpus as a model reads it, ``book`` the
    corpus to be labelled.
    """
    limits, counts = limits or Limits(), RequestCounts()
    work = Shared(models, limits, counts, n_threads)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        work.batcher, work.workers = Batcher(n_threads), _workers()
        yield
        work.close()

    app = FastAPI(title="trellis", version=trellis.__version__, docs_url=None, redoc_url=None, lifespan=life)
    _watched(app, work)
    _described(app, work)
    if studio:
        app.include_router(studio_router(work, corpus, book))
    _errors(app)
    return Door(Asked(app, work), limits, counts, token, None if hosts is None else frozenset(hosts))


# ------------------------------------------------------------ what is asked about sentences


async def tag(given: messages.Request, work: Shared) -> bytes:
    """The best labels of sentences or of text."""
    served = work.models.get(given.model)
    sentences, tokens = await work.sentences(given, served)
    labels = await work.labels(served, sentences, given)

    def answer() -> bytes:
        found: dict[str, Any] = {"model": served.name, "labels": labels}
        if tokens is not None and given.text is not None:
            found["sentences"] = _placed(given.text, tokens, labels, served)
        return _json(found)

    return answer() if tokens is None and sum(map(len, sentences)) < LONG else await work.aside(answer)


async def kbest(given: messages.KBestRequest, work: Shared) -> bytes:
    """The k best label sequences of each sentence, with their scores."""
    served = work.models.get(given.model)
    sentences, _ = await work.sentences(given, served, given.k)

    def answer(some: Sentences, allowed: list[Any] | None) -> list[Any]:
        found = served.tagger.kbest_batch(some, given.k, allowed=allowed, n_threads=work.n_threads)
        return [[{"labels": labels, "score": score} for labels, score in paths] for paths in found]

    paths = await work.answers(served, sentences, _allowed(given), given.k, answer)
    return _object({"model": served.name}, "kbest", paths)


async def marginals(given: messages.Request, work: Shared) -> bytes:
    """The probability of every label of every token."""
    served = work.models.get(given.model)
    values = len(served.tagger.labels)
    sentences, _ = await work.sentences(given, served, values)

    def answer(some: Sentences, allowed: list[Any] | None) -> list[Any]:
        found = served.tagger.marginals_batch(some, allowed=allowed, n_threads=work.n_threads)
        return [list(posterior) for posterior in found]

    found = await work.answers(served, sentences, _allowed(given), values, answer)
    return _object({"model": served.name, "measure": served.tagger.measure}, "marginals", found)


async def spans(given: messages.Request, work: Shared) -> bytes:
    """The spans that labels mark, with the exact probability of each; of text with their characters."""
    served = work.models.get(given.model)
    values = len(served.tagger.labels)
    sentences, tokens = await work.sentences(given, served)
    rest = iter(tokens or ())  # parts come in order

    def answer(some: Sentences, allowed: list[Any] | None) -> list[Any]:
        found = served.tagger.tag_spans_batch(some, allowed=allowed, n_threads=work.n_threads)
        if given.text is None:
            return [[span_dict(span, p) for span, p in pairs] for pairs in found]
        places, text = [next(rest) for _ in found], given.text
        return [
            [span_dict(text_span(span, p, text, here)) for span, p in pairs]
            for pairs, here in zip(found, places, strict=True)
        ]

    found = await work.answers(served, sentences, _allowed(given), values, answer)
    return _object({"model": served.name, "measure": served.tagger.measure}, "spans", found)


async def explain(given: messages.ExplainRequest, work: Shared) -> bytes:
    """Why each sentence gets its labels: features for and against, and what beats the second best."""
    served = work.models.get(given.model)
    values = EXPLAINING * len(served.tagger.labels)
    sentences, _ = await work.sentences(given, served, values)

    def answer(some: Sentences, allowed: list[Any] | None) -> list[Any]:
        pairs = zip(some, allowed or [None] * len(some), strict=True)
        return [_explained(served, sentence, labels, given) for sentence, labels in pairs]

    found = await work.answers(served, sentences, _allowed(given), values, answer)
    return _object({"model": served.name}, "explanations", found)


# By path: what comes in, what goes out, who answers.
QUESTIONS: dict[str, tuple[type[messages.Request], type[BaseModel], Callable[..., Awaitable[bytes]]]] = {
    "/v1/tag": (messages.Request, messages.Tagged, tag),
    "/v1/kbest": (messages.KBestRequest, messages.KBest, kbest),
    "/v1/marginals": (messages.Request, messages.Marginals, marginals),
    "/v1/spans": (messages.Request, messages.Spans, spans),
    "/v1/explain": (messages.ExplainRequest, messages.Explained, explain),
}


class Asked:
    """Answers questions about sentences itself, straight from bytes to bytes; everything else is FastAPI's."""

    def __init__(self, app: App, work: Shared) -> None:
        self._app, self._work = app, work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        question = QUESTIONS.get(scope.get("path", "")) if scope.get("method") == "POST" else None
        if question is None:
            await self._app(scope, receive, send)
            return
        kind, _, answer = question
        try:
            data = (await receive())["body"]  # the door gives all of it at once
            read = partial(kind.model_validate_json, data)
            given = read() if len(data) < LONG else await self._work.aside(read)
            status, body = 200, await answer(given, self._work)
        except (TrellisError, TurnedAwayError, ValidationError) as error:
            status, found = problem(error)
            body = _json(found)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def problem(error: Exception) -> tuple[int, dict[str, Any]]:
    """The status of an error, and its one line."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            return 400, {"error": "the body is not JSON in UTF-8"}
        place = ".".join(str(part) for part in first["loc"])
        why = str(first["msg"]).removeprefix("Value error, ")
        return 422, {"error": " ".join(f"{place + ': ' if place else ''}{why}".split())[:300]}
    if isinstance(error, TurnedAwayError):
        return error.status, {"error": str(error)}
    return 404 if isinstance(error, UnknownModelError) else 422, {"error": " ".join(str(error).split())}


# ------------------------------------------------------------ the rest


def _watched(app: FastAPI, work: Shared) -> None:
    """Addresses for those who look after the server."""

    @app.get("/healthz", response_model=dict[str, str])
    async def healthz() -> dict[str, str]:
        """The process runs."""
        return {"status": "ok"}

    @app.get("/readyz", response_model=dict[str, str])
    async def readyz() -> dict[str, str]:
        """The models are loaded."""
        return {"status": "ready"}

    @app.get("/v1/models", response_model=messages.ModelList)
    async def models() -> Any:
        """The models that are served, with their labels."""
        return {"models": [served.facts() for served in work.models]}

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counts for Prometheus."""
        batcher = work.batcher
        more = {"models": float(len(list(work.models)))}
        if batcher is not None:
            more |= {"batches_total": float(batcher.n_batches), "batched_requests_total": float(batcher.n_requests)}
        return Response(work.counts.text(more), media_type="text/plain; version=0.0.4")

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    async def docs(request: WebRequest) -> HTMLResponse:
        return HTMLResponse(docs_page(app.openapi(), request.url.netloc))


def _described(app: FastAPI, work: Shared) -> None:
    """The questions in the OpenAPI description; asked by POST they do not come this far."""
    wrong: dict[int | str, dict[str, Any]] = {
        status: {"model": messages.Problem} for status in (400, 401, 403, 404, 408, 413, 422, 429, 503)
    }
    for path, (kind, answer, function) in QUESTIONS.items():

        async def endpoint(given: Any, function: Any = function) -> Any:
            return await function(given, work)

        endpoint.__annotations__ = {"given": kind, "return": answer}
        endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("given", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)]
        )
        about: dict[str, Any] = {"description": function.__doc__, "name": path.rsplit("/", 1)[-1]}
        app.add_api_route(path, endpoint, methods=["POST"], response_model=answer, responses=wrong, **about)


def _explained(served: Served, sentence: Any, allowed: Any, given: messages.ExplainRequest) -> dict[str, Any]:
    """As ``Explanation.to_dict`` gives it, with so many labels and terms."""
    explanation = served.tagger.explain(sentence, allowed=allowed)
    tokens = []
    for token in explanation.tokens:
        labels = list(token.scores)[: given.labels]
        record: dict[str, Any] = {"token": token.token, "label": token.label}
        record["scores"] = {label: token.scores[label] for label in labels}
        record["terms"] = {label: _terms(token.terms[label][: given.terms]) for label in labels}
        tokens.append({**record, "transitions": _terms(token.transitions)})
    paths = [
        path and {"labels": path.output, "score": path.score, "terms": _terms(path.terms)}
        for path in (explanation, explanation.second)
    ]
    gap = None if explanation.second is None else explanation.gap
    difference = _terms(explanation.difference)
    return {"tokens": tokens, "best": paths[0], "second": paths[1], "difference": difference, "gap": gap}


def _terms(terms: list[Term]) -> list[dict[str, Any]]:
    return [{"token": t.where[0], "feature": t.feature, "label": t.label, "weight": t.weight} for t in terms]


def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WORKERS, "trellis-work")


def _parts(sentences: Sentences, n_tokens: int) -> list[tuple[int, int]]:
    """Where to cut sentences into parts of at most so many tokens, or of one sentence."""
    ends, n = [0], 0
    for i, sentence in enumerate(sentences):
        if n and n + len(sentence) > n_tokens:
            ends.append(i)
            n = 0
        n += len(sentence)
    return list(pairwise([*ends, len(sentences)]))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _json_pieces(value: Any) -> bytes:
    """The same, but for long lists, also in objects, that are encoded piece by piece."""
    if isinstance(value, dict):
        return b"{%s}" % b",".join(_json(name) + b":" + _json_pieces(item) for name, item in value.items())
    if isinstance(value, list) and len(value) > PIECE:
        pieces = (value[i : i + PIECE] for i in range(0, len(value), PIECE))
        return b"[%s]" % b",".join(_json(piece)[1:-1] for piece in pieces)
    return _json(value)


def _json_items(answer: Answers, sentences: Sentences, allowed: list[Any] | None) -> bytes:
    """The answers as a JSON list without its brackets."""
    return b",".join(map(_json_pieces, answer(sentences, allowed)))


def _object(fields: dict[str, Any], name: str, value: bytes) -> bytes:
    """A JSON object of these fields and one whose value is JSON already."""
    return b'%s,"%s":%s}' % (_json(fields)[:-1], name.encode(), value)


def _allowed(given: messages.Request) -> list[Any] | None:
    if given.allowed is None:
        return None
    return [given.allowed] if isinstance(given.allowed, dict) else list(given.allowed)


def _placed(text: str, tokens: list[list[Token]], labels: list[list[str]], served: Served) -> list[dict[str, Any]]:
    rows = [TaggedSentence(some, labels[i], None, None) for i, some in enumerate(tokens)]
    return TaggedText(text, rows, served.tagger.measure).to_dicts()


def _errors(app: FastAPI) -> None:
    """Each error as one line of JSON."""

    @app.exception_handler(HTTPException)
    async def other(request: WebRequest, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, error.status_code)

    @app.exception_handler(TrellisError)
    @app.exception_handler(TurnedAwayError)
    async def refused(request: WebRequest, error: Exception) -> JSONResponse:
        status, found = problem(error)
        return JSONResponse(found, status)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: WebRequest, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return JSONResponse({"error": f"{first['loc'][-1]}: {first['msg']}"[:300]}, 422)

    @app.exception_handler(404)
    async def nowhere(request: WebRequest, error: Exception) -> JSONResponse:
        return JSONResponse({"error": f"nothing at {request.url.path}; see /docs"}, 404)

    @app.exception_handler(405)
    async def other_method(request: WebRequest, error: Exception) -> JSONResponse:
        allow = "POST" if request.url.path in QUESTIONS else "GET, HEAD"
        why = f"{request.url.path} is not asked by {request.method}; see /docs"
        return JSONResponse({"error": why}, 405, {"allow": allow})
