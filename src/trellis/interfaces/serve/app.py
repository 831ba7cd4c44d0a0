"""The addresses of the server: questions by POST, pages by GET, as one ASGI program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import ValidationError

from trellis._support.errors import TrellisError
from trellis.interfaces.serve.docs_page import docs_page, openapi
from trellis.interfaces.serve.door import Door, Limits, Receive, RequestCounts, Scope, Send, TurnedAwayError
from trellis.interfaces.serve.models import Models
from trellis.interfaces.serve.questions import LONG, QUESTIONS, Question, Shared, json_bytes

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # names of this machine for itself


class Reply(NamedTuple):
    """What is sent back."""

    body: bytes
    kind: bytes = b"application/json"
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


Page = Callable[[Scope], Awaitable[Reply]]


class Addresses(NamedTuple):
    """What may be asked by POST, and what is shown by GET, by path."""

    questions: Mapping[str, Question]
    pages: Mapping[str, Page]


def make_app(
    models: Models,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Sequence[str] | None = None,
    n_threads: int | None = None,
    more: Callable[[Shared], Addresses] | None = None,
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
    more
        Makes further addresses from what requests share, as those of the studio.
    """
    limits, counts = limits or Limits(), RequestCounts()
    work = Shared(models, limits, counts, n_threads)
    questions, pages = ({}, {}) if more is None else more(work)
    addresses = Addresses({**QUESTIONS, **questions}, {**_pages(work), **pages})
    paths = [*addresses.questions, *addresses.pages]
    return Door(App(work, addresses), limits, counts, token, hosts, paths)


class App:
    """Answers questions straight from bytes to bytes."""

    def __init__(self, work: Shared, addresses: Addresses) -> None:
        self._work, self._addresses = work, addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        try:
            reply = await self._reply(scope, receive)
        except (TrellisError, TurnedAwayError, ValidationError) as error:
            reply = _rejection(error)
        length = (b"content-length", b"%d" % len(reply.body))
        headers = [(b"content-type", reply.kind), length, *reply.headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        path, method = scope["path"], scope["method"]
        question, page = self._addresses.questions.get(path), self._addresses.pages.get(path)
        if question is not None and method == "POST":
            data = (await receive())["body"]  # the door gives all of it at once
            read = partial(question.kind.model_validate_json, data)
            given = read() if len(data) < LONG else await self._work.aside(read)
            answer = await question.function(given, self._work)
            return Reply(answer if isinstance(answer, bytes) else await self._work.aside(partial(json_bytes, answer)))
        if page is not None and method == "GET":
            return await page(scope)
        if question is None and page is None:
            raise TurnedAwayError(404, f"nothing at {path[:200]}; see /docs")
        why = {"error": f"{path} is not asked by {method}; see /docs"}
        return Reply(json_bytes(why), status=405, headers=((b"allow", b"POST" if page is None else b"GET, HEAD"),))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._work.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._work.close()
        await send({"type": "lifespan.shutdown.complete"})


def _rejection(error: Exception) -> Reply:
    """The status of an error, and its one line."""
    status, why = getattr(error, "status", 422), str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        why = f"{place + ': ' if place else ''}{str(first['msg']).removeprefix('Value error, ')}"[:300]
        if first["type"] == "json_invalid":
            status, why = 400, "the body is not JSON in UTF-8"
    return Reply(json_bytes({"error": " ".join(why.split())}), status=status)


def _pages(work: Shared) -> dict[str, Page]:
    """The description, and addresses for those who look after the server."""

    async def healthz(scope: Scope) -> Reply:
        """The process runs."""
        return Reply(json_bytes({"status": "ok"}))

    async def readyz(scope: Scope) -> Reply:
        """The models are loaded."""
        return Reply(json_bytes({"status": "ready"}))

    async def models(scope: Scope) -> Reply:
        """The models that are served: the task of each, what it reads, its labels."""
        return Reply(json_bytes({"models": [served.facts() for served in work.models]}))

    async def metrics(scope: Scope) -> Reply:
        """Counts for Prometheus."""
        more = {"models": float(len(list(work.models)))}
        if work.batcher is not None:
            batches, requests = work.batcher.n_batches, work.batcher.n_requests
            more |= {"batches_total": float(batches), "batched_requests_total": float(requests)}
        return Reply(work.counts.text(more).encode(), b"text/plain; version=0.0.4")

    shown = {"/healthz": healthz, "/readyz": readyz, "/v1/models": models, "/metrics": metrics}

    async def description(scope: Scope) -> Reply:
        return Reply(json_bytes(openapi(QUESTIONS, shown)))

    async def docs(scope: Scope) -> Reply:
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        return Reply(docs_page(openapi(QUESTIONS, shown), host).encode(), b"text/html; charset=utf-8")

    return {**shown, "/openapi.json": description, "/docs": docs}
