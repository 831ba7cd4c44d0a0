"""The addresses of the server."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request as WebRequest

import trellis
from trellis._support.errors import TrellisError
from trellis.interfaces.serve import messages
from trellis.interfaces.serve.docs_page import docs_page
from trellis.interfaces.serve.door import App, Door, Limits, Receive, RequestCounts, Scope, Send, TurnedAwayError
from trellis.interfaces.serve.models import Models
from trellis.interfaces.serve.questions import LONG, QUESTIONS, Shared, json_bytes

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # names of this machine for itself


def make_app(
    models: Models,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Sequence[str] | None = None,
    n_threads: int | None = None,
    router: Callable[[Shared], APIRouter] | None = None,
) -> Any:
    """The server as an ASGI program.

    Parameters
    ----------
    models
        What it answers by.
    limits
        What one request may ask for.
    token
        Clients must send it: ``Authorization: Bearer TOKEN``.
    hosts
        The names under which it may be asked, such as ``LOOPBACK`` (default: any).
    n_threads
        Threads of a batch (default: all cores).
    router
        Makes further addresses from what requests share, as those of the studio.
    """
    limits, counts = limits or Limits(), RequestCounts()
    work = Shared(models, limits, counts, n_threads)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        work.start()
        yield
        work.close()

    app = FastAPI(title="trellis", version=trellis.__version__, docs_url=None, redoc_url=None, lifespan=life)
    _watched(app, work)
    _described(app)
    if router is not None:
        app.include_router(router(work))
    _errors(app)
    return Door(Asked(app, work), limits, counts, token, None if hosts is None else frozenset(hosts))


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
        try:
            data = (await receive())["body"]  # the door gives all of it at once
            read = partial(question.kind.model_validate_json, data)
            given = read() if len(data) < LONG else await self._work.aside(read)
            served = self._work.models.get(given.model)
            status, body = 200, await question.function(given, served, self._work)
        except (TrellisError, TurnedAwayError, ValidationError) as error:
            status, found = problem(error)
            body = json_bytes(found)
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
    return 422, {"error": " ".join(str(error).split())}


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

    @app.get("/v1/models", response_model=messages.ModelList, response_model_exclude_none=True)
    async def models() -> Any:
        """The models that are served: the task of each, what it reads, its labels."""
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


def _described(app: FastAPI) -> None:
    """The questions in the OpenAPI description; ``Asked`` answers them."""
    wrong: dict[int | str, dict[str, Any]] = {
        status: {"model": messages.Problem} for status in (400, 401, 403, 404, 408, 413, 422, 429, 503)
    }
    for path, (kind, answer, function) in QUESTIONS.items():

        async def endpoint(given: Any) -> None:
            """Never called."""

        endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("given", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)]
        )
        about: dict[str, Any] = {"description": function.__doc__, "name": path.rsplit("/", 1)[-1]}
        app.add_api_route(path, endpoint, methods=["POST"], response_model=answer, responses=wrong, **about)


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
