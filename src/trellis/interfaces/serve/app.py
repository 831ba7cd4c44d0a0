"""The ASGI application: checks, reads, answers and counts requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from pydantic import ValidationError

from trellis._support.errors import TrellisError
from trellis.interfaces.serve.docs_page import docs_page, openapi
from trellis.interfaces.serve.door import Door, Limits, Receive, Scope, Send, TurnedAwayError
from trellis.interfaces.serve.messages import ModelList
from trellis.interfaces.serve.models import Models
from trellis.interfaces.serve.questions import LONG, QUESTIONS, Address, Reply, Shared, json_bytes

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # host names of the loopback interface
# Content security policy: only resources and scripts of this server.
SAFE = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# The rest of a request that was too slow or too long is not read.
MORE_HEADERS = {429: ((b"retry-after", b"1"),), 408: ((b"connection", b"close"),), 413: ((b"connection", b"close"),)}


class App:
    """The HTTP server as an ASGI application.

    Parameters
    ----------
    models
        Models to serve.
    limits
        Limits of one request.
    token
        Token that clients must send: ``Authorization: Bearer TOKEN``.
    hosts
        Allowed values of the Host header, such as ``LOOPBACK`` (default: any).
    n_threads
        Number of threads per batch (default: all cores).
    extra
        Further endpoints, such as those of the studio.
    """

    def __init__(
        self,
        models: Models,
        *,
        limits: Limits | None = None,
        token: str | None = None,
        hosts: Sequence[str] | None = None,
        n_threads: int | None = None,
        extra: Mapping[str, Address] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._work, self._door = Shared(models, self.limits, n_threads), Door(self.limits, token, hosts)
        self._addresses = {**DESCRIBED, **(extra or {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await receive()
            self._work.start()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self._work.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        # All unknown paths share one counter, so that the number of counters is bounded.
        path = scope["path"] if scope["path"] in self._addresses else "other"
        start, status, counts = time.perf_counter(), 500, self._work.counts
        counts.in_flight += 1
        try:
            try:
                reply = await self._reply(scope, receive)
            except (TrellisError, TurnedAwayError, ValidationError) as error:
                reply = _rejection(error)
            status, body = reply.status, reply.body
            headers = [(b"content-type", reply.kind), (b"content-length", b"%d" % len(body)), *reply.headers, *SAFE]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
        finally:
            counts.in_flight -= 1
            counts.note(path, status, time.perf_counter() - start)

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        path, method, headers = scope["path"], scope["method"], dict(scope["headers"])
        self._door.check(scope, headers, self._work.counts.in_flight)
        data = await self._door.body(headers, receive)
        address = self._addresses.get(path)
        if address is None:
            raise TurnedAwayError(404, f"not found: {path[:200]}; see /docs")
        if method not in address.methods:
            reason = {"error": f"method {method} not allowed for {path}; see /docs"}
            allow = (b"allow", ", ".join(address.methods).encode())
            return Reply(json_bytes(reason), status=405, headers=(allow,))
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._answer(address, scope, data)
        except TimeoutError:
            seconds = self.limits.seconds
            raise TurnedAwayError(503, f"timeout: no answer within {seconds:g} s; send a smaller request") from None

    async def _answer(self, address: Address, scope: Scope, data: bytes) -> Reply:
        request: Any = scope
        if address.body is not None:
            read = partial(address.body.model_validate_json, data)
            request = read() if len(data) < LONG else await self._work.aside(read)
        work = self._work
        if iscoroutinefunction(address.function):
            answer = await address.function(request, work)
        else:
            answer = await work.aside(partial(address.function, request, work))
        if isinstance(answer, Reply):
            return answer
        return Reply(answer if isinstance(answer, bytes) else await self._work.aside(partial(json_bytes, answer)))


def _rejection(error: Exception) -> Reply:
    """The status of an error and its one-line message."""
    status, reason = getattr(error, "status", 422), str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = f"{place + ': ' if place else ''}{str(first['msg']).removeprefix('Value error, ')}"[:300]
        if first["type"] == "json_invalid":
            status, reason = 400, "the body is not valid UTF-8 JSON"
    return Reply(json_bytes({"error": " ".join(reason.split())}), status=status, headers=MORE_HEADERS.get(status, ()))


# ------------------------------------------------------------ documentation and monitoring


async def healthz(scope: Scope, work: Shared) -> bytes:
    """Check that the server is running and its models are loaded."""
    return json_bytes({"status": "ok"})


async def models(scope: Scope, work: Shared) -> bytes:
    """List the models with their tasks, input columns and labels."""
    return json_bytes({"models": [served.facts() for served in work.models]})


async def metrics(scope: Scope, work: Shared) -> Reply:
    """Return request counts and durations in the Prometheus text format."""
    batches = {"batches_total": work.batcher.n_batches, "batched_requests_total": work.batcher.n_requests}
    return Reply(work.counts.text({"models": len(list(work.models)), **batches}).encode(), b"text/plain; version=0.0.4")


async def description(scope: Scope, work: Shared) -> bytes:
    """Return this description in the OpenAPI format."""
    return json_bytes(openapi(DESCRIBED))


async def docs(scope: Scope, work: Shared) -> Reply:
    """Return this description as an HTML page."""
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    return Reply(docs_page(DESCRIBED, host).encode(), b"text/html; charset=utf-8")


DESCRIBED: dict[str, Address] = {
    "/healthz": Address(healthz),
    "/readyz": Address(healthz),
    "/metrics": Address(metrics),
    "/openapi.json": Address(description),
    "/docs": Address(docs),
    "/v1/models": Address(models, answer=ModelList),
    **QUESTIONS,
}
