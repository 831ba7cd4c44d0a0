"""The addresses of the server."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request as WebRequest

import trellis
from trellis.corpus.corpus import Corpus
from trellis.corpus.tokens import Token, tokenize
from trellis.errors import TrellisError
from trellis.serve import messages as said
from trellis.serve.batching import Batcher
from trellis.serve.docs_page import docs_page
from trellis.serve.door import App, Door, Limits, Receive, RequestCounts, Scope, Send, TurnedAwayError
from trellis.serve.models import Models, Served, UnknownModelError
from trellis.serve.studio_app import studio_router
from trellis.serve.workbook import Workbook
from trellis.tagger.text import TaggedSentence, TaggedText

T = TypeVar("T")
Sentences = list[Any]
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # names of this machine for itself


class Shared:
    """What requests share: the models, the batches, the limits."""

    def __init__(self, models: Models, limits: Limits, counts: RequestCounts, n_threads: int | None) -> None:
        self.models, self.limits, self.counts, self.n_threads = models, limits, counts, n_threads
        self.batcher: Batcher | None = None  # made in the loop of the server

    async def sentences(self, given: said.Request, served: Served) -> tuple[Sentences, list[list[Token]] | None]:
        """The sentences of a request as the model reads them, counted; of text also the places of their words."""
        tokens = None
        if given.text is not None:
            if len(served.tagger.columns) > 1 or served.facts()["attributes"]:
                columns = ", ".join(served.tagger.columns)
                raise TurnedAwayError(422, f"text has words alone, and the model reads {columns}; give sentences")
            text, lines = given.text, given.lines
            tokens = await self.aside(lambda: tokenize(text, lines=lines))
            found: Sentences = [[token.text for token in sentence] for sentence in tokens]
        else:
            found = [_as_read(s) for s in ([given.sentence] if given.sentences is None else given.sentences)]
        n = sum(map(len, found))
        if len(found) > self.limits.sentences:
            raise TurnedAwayError(413, f"more than {self.limits.sentences:,} sentences; send fewer at once")
        if n > self.limits.tokens:
            raise TurnedAwayError(413, f"more than {self.limits.tokens:,} tokens; send fewer at once")
        self.counts.tokens += n
        self.counts.sentences += len(found)
        return found, tokens

    async def labels(self, served: Served, sentences: Sentences, given: said.Request) -> list[list[str]]:
        """The best labels: in a batch with others, or under this request's own constraints."""
        allowed = _allowed(given)
        if allowed is None:
            assert self.batcher is not None
            return await self.batcher.tag(served.tagger, sentences)
        return await self.aside(lambda: served.tagger.tag_batch(sentences, allowed=allowed, n_threads=1))

    async def aside(self, work: Callable[[], T]) -> T:
        """Work in a thread, so that the loop stays free."""
        return await asyncio.to_thread(work)


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
        work.batcher = Batcher(n_threads)
        yield
        work.batcher.close()

    app = FastAPI(title="trellis", version=trellis.__version__, docs_url=None, redoc_url=None, lifespan=life)
    _watched(app, work)
    _described(app, work)
    if studio:
        app.include_router(studio_router(work, corpus, book))
    _errors(app)
    return Door(Asked(app, work), limits, counts, token, None if hosts is None else frozenset(hosts))


# ------------------------------------------------------------ what is asked about sentences


async def tag(given: said.Request, work: Shared) -> dict[str, Any]:
    """The best labels of sentences or of text."""
    served = work.models.get(given.model)
    sentences, tokens = await work.sentences(given, served)
    labels = await work.labels(served, sentences, given)
    answer: dict[str, Any] = {"model": served.name, "labels": labels}
    if tokens is not None and given.text is not None:
        answer["sentences"] = _placed(given.text, tokens, labels, served)
    return answer


async def kbest(given: said.KBestRequest, work: Shared) -> dict[str, Any]:
    """The k best label sequences of each sentence, with their scores."""
    served = work.models.get(given.model)
    sentences, _ = await work.sentences(given, served)
    how: dict[str, Any] = {"allowed": _allowed(given), "n_threads": work.n_threads}
    found = await work.aside(lambda: served.tagger.kbest_batch(sentences, given.k, **how))
    paths = [[{"labels": labels, "score": score} for labels, score in some] for some in found]
    return {"model": served.name, "kbest": paths}


async def marginals(given: said.Request, work: Shared) -> dict[str, Any]:
    """How probable every label of every token is."""
    served = work.models.get(given.model)
    sentences, _ = await work.sentences(given, served)
    how: dict[str, Any] = {"allowed": _allowed(given), "n_threads": work.n_threads}
    found = await work.aside(lambda: [list(one) for one in served.tagger.marginals_batch(sentences, **how)])
    return {"model": served.name, "measure": served.tagger.measure, "marginals": found}


async def spans(given: said.Request, work: Shared) -> dict[str, Any]:
    """The spans that labels mark, with the exact probability of each; of text with their characters."""
    served = work.models.get(given.model)
    sentences, tokens = await work.sentences(given, served)
    how: dict[str, Any] = {"allowed": _allowed(given), "n_threads": work.n_threads}
    found = await work.aside(lambda: served.tagger.tag_spans_batch(sentences, **how))
    out = [
        [_span(*span, p, given.text, None if tokens is None else tokens[i]) for span, p in some]
        for i, some in enumerate(found)
    ]
    return {"model": served.name, "measure": served.tagger.measure, "spans": out}


async def explain(given: said.ExplainRequest, work: Shared) -> dict[str, Any]:
    """Why each sentence gets its labels: features for and against, and what beats the second best."""
    served = work.models.get(given.model)
    sentences, _ = await work.sentences(given, served)
    both = list(zip(sentences, _allowed(given) or [None] * len(sentences), strict=True))
    found = await work.aside(lambda: [_explained(served, sentence, some, given) for sentence, some in both])
    return {"model": served.name, "explanations": found}


# By path: what comes in, what goes out, who answers.
QUESTIONS: dict[str, tuple[type[said.Request], type[BaseModel], Callable[..., Awaitable[dict[str, Any]]]]] = {
    "/v1/tag": (said.Request, said.Tagged, tag),
    "/v1/kbest": (said.KBestRequest, said.KBest, kbest),
    "/v1/marginals": (said.Request, said.Marginals, marginals),
    "/v1/spans": (said.Request, said.Spans, spans),
    "/v1/explain": (said.ExplainRequest, said.Explained, explain),
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
            given = kind.model_validate_json((await receive())["body"])  # the door gives all of it at once
            status, found = 200, await answer(given, self._work)
        except (TrellisError, TurnedAwayError, ValidationError) as error:
            status, found = problem(error)
        body = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
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

    @app.get("/v1/models", response_model=said.ModelList)
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
        status: {"model": said.Problem} for status in (400, 401, 403, 404, 408, 413, 422, 429, 503)
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


def _span(
    kind: str, begin: int, end: int, probability: float, text: str | None, tokens: list[Token] | None
) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind, "begin": begin, "end": end, "probability": probability}
    if text is None or tokens is None:
        return found
    start, stop = tokens[begin].start, tokens[end - 1].end
    return {**found, "start": start, "stop": stop, "text": text[start:stop]}


def _explained(served: Served, sentence: Any, allowed: Any, given: said.ExplainRequest) -> dict[str, Any]:
    found = served.tagger.explain(sentence, allowed=allowed).to_dict()
    for token in found["tokens"]:
        kept = list(token["scores"])[: given.labels]
        token["scores"] = {label: token["scores"][label] for label in kept}
        token["terms"] = {label: token["terms"][label][: given.terms] for label in kept}
    return found


def _as_read(sentence: Any) -> Any:
    """Lists of columns as tuples, so that they are not taken for attributes."""
    return [tuple(token) if isinstance(token, list) else token for token in sentence]


def _allowed(given: said.Request) -> list[Any] | None:
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
