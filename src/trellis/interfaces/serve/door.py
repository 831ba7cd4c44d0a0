"""The door of the server: who may come in, how much at once, how long it may take; and the counts of /metrics."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
HOST = re.compile(r"(\[[^]]*\]|[^:]*)(?::[0-9]*)?")  # name and port
OPEN = frozenset({"/healthz", "/readyz"})  # for those who watch over it: no token, never turned away
# Nothing is fetched from elsewhere, nothing in the page runs but the files of the server.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for."""

    bytes: int = 1 << 20
    tokens: int = 20_000
    sentences: int = 1_000
    values: int = 1_000_000  # labels and figures of the answer
    seconds: float = 10.0  # to receive it, and to answer it
    requests: int = 512  # at once


@dataclass(slots=True)
class RequestCounts:
    """What was done so far."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)  # by path and status
    seconds: Counter[float] = field(default_factory=Counter)  # by bucket
    total_seconds: float = 0.0
    tokens: int = 0
    sentences: int = 0
    in_flight: int = 0

    def note(self, path: str, status: int, seconds: float) -> None:
        """A request is done."""
        self.requests[path, status] += 1
        self.total_seconds += seconds
        self.seconds[next((bucket for bucket in BUCKETS if seconds <= bucket), float("inf"))] += 1

    def text(self, more: dict[str, float]) -> str:
        """As Prometheus reads it."""
        lines = ["# TYPE trellis_requests_total counter"]
        for (path, status), n in sorted(self.requests.items()):
            lines.append(f'trellis_requests_total{{path="{path}",status="{status}"}} {n}')
        lines.append("# TYPE trellis_request_seconds histogram")
        so_far = 0
        for bucket in (*BUCKETS, float("inf")):
            so_far += self.seconds[bucket]
            name = "+Inf" if bucket == float("inf") else f"{bucket:g}"
            lines.append(f'trellis_request_seconds_bucket{{le="{name}"}} {so_far}')
        lines += [f"trellis_request_seconds_sum {self.total_seconds:.6f}", f"trellis_request_seconds_count {so_far}"]
        values = {"tokens_total": self.tokens, "sentences_total": self.sentences, "in_flight": self.in_flight, **more}
        for name, value in values.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE trellis_{name} {kind}", f"trellis_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class TurnedAwayError(Exception):
    """A request that is not let in: a status and one line."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[int, str]]:
        return type(self), (self.status, str(self))


class Door:
    """The outermost part of the server, around ``app``."""

    def __init__(
        self,
        app: App,
        limits: Limits,
        counts: RequestCounts,
        token: str | None = None,
        hosts: Collection[str] | None = None,
        paths: Collection[str] = (),
    ) -> None:
        self._app, self.limits, self._counts, self._token = app, limits, counts, token
        self._hosts = hosts  # names that it may be asked under; None: any
        # Paths that have a count of their own; others are counted together, so that nobody can make counts without end.
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in or turn it away."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        bare = scope["method"] == "HEAD"  # the same answer without its body
        scope = {**scope, "method": "GET"} if bare else scope
        begun, status = time.perf_counter(), 500
        counts, path = self._counts, scope["path"]

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *SAFE]
            elif bare:
                message = {**message, "body": b""}
            await send(message)

        counts.in_flight += 1
        try:
            await self._let_in(scope, receive, answered)
        except TurnedAwayError as error:
            more = [(b"retry-after", b"1")] if error.status == 429 else []
            await _refuse(answered, error.status, str(error), more)
        finally:
            counts.in_flight -= 1
            counts.note(path if path in self._paths else "other", status, time.perf_counter() - begun)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        limits, headers = self.limits, dict(scope["headers"])
        if scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        if self._counts.in_flight > limits.requests:
            raise TurnedAwayError(429, f"more than {limits.requests} requests at once; try again")
        self._check_host(headers)
        self._check_token(headers)
        if scope["method"] not in ("GET", "HEAD"):
            self._check_origin(headers)
        try:
            body = await asyncio.wait_for(self._body(headers, receive), limits.seconds)
        except TimeoutError:
            raise TurnedAwayError(408, f"the request did not arrive within {limits.seconds:g} s") from None
        if body is None:
            return  # whoever asked has gone
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        try:
            async with asyncio.timeout(limits.seconds) as deadline:

                async def in_time(message: Message) -> None:
                    deadline.reschedule(None)  # an answer that has begun is sent to its end
                    await send(message)

                await self._app(scope, replay, in_time)
        except TimeoutError:
            raise TurnedAwayError(503, f"no answer within {limits.seconds:g} s; ask for less at once") from None

    def _check_token(self, headers: dict[bytes, bytes]) -> None:
        if self._token is None:
            return
        given = headers.get(b"authorization", b"").partition(b" ")
        wanted = self._token.encode()
        if given[0].lower() != b"bearer" or not hmac.compare_digest(given[2].strip(), wanted):
            raise TurnedAwayError(401, "give the token: Authorization: Bearer TOKEN")

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """A page from elsewhere whose name was made to point here asks under that name."""
        host = HOST.fullmatch(headers.get(b"host", b"").decode("latin-1").lower())
        if self._hosts is not None and (host is None or host[1] not in self._hosts):
            raise TurnedAwayError(403, "Host header not allowed: this server is reached as localhost only")

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """A page opened from elsewhere cannot post: browsers say where a page is from."""
        origin = headers.get(b"origin")
        if origin is None:
            return
        host = headers.get(b"host", b"").decode("latin-1")
        if origin.decode("latin-1") not in (f"http://{host}", f"https://{host}"):
            raise TurnedAwayError(403, "cross-origin request rejected")

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        most = self.limits.bytes
        said = headers.get(b"content-length", b"0")
        if said.isdigit() and int(said) > most:
            raise TurnedAwayError(413, f"more than {most:,} bytes; send less at once")
        parts, n = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            n += len(parts[-1])
            if n > most:
                raise TurnedAwayError(413, f"more than {most:,} bytes; send less at once")
            if not message.get("more_body", False):
                return b"".join(parts)


async def _refuse(send: Send, status: int, why: str, more: list[tuple[bytes, bytes]]) -> None:
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    if status in (408, 413):  # what is still on its way will not be read
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
