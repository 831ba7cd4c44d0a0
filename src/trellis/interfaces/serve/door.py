"""Access control and limits of the server, and the counters of /metrics."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, float("inf"))
HOST = re.compile(r"(\[[^]]*\]|[^:]*)(?::[0-9]*)?")  # host name and port
OPEN = frozenset({"/healthz", "/readyz"})  # monitoring endpoints: no token required, never rejected


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request.

    Parameters
    ----------
    bytes
        Maximum size of the body.
    tokens
        Maximum number of tokens.
    sentences
        Maximum number of sentences.
    values
        Maximum number of labels and numbers in the response.
    seconds
        Timeout for receiving the request, and for answering it.
    requests
        Maximum number of concurrent requests.
    """

    bytes: int = 1 << 20
    tokens: int = 20_000
    sentences: int = 1_000
    values: int = 1_000_000
    seconds: float = 10.0
    requests: int = 512


@dataclass(slots=True)
class RequestCounts:
    """Counters of requests."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)  # by path and status
    seconds: Counter[float] = field(default_factory=Counter)  # by bucket
    total_seconds: float = 0.0
    tokens: int = 0
    sentences: int = 0
    in_flight: int = 0

    def note(self, path: str, status: int, seconds: float) -> None:
        """Count a finished request."""
        self.requests[path, status] += 1
        self.total_seconds += seconds
        self.seconds[next(bucket for bucket in BUCKETS if seconds <= bucket)] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """Format for Prometheus."""
        lines = ["# TYPE trellis_requests_total counter"]
        for (path, status), n in sorted(self.requests.items()):
            lines.append(f'trellis_requests_total{{path="{path}",status="{status}"}} {n}')
        lines.append("# TYPE trellis_request_seconds histogram")
        so_far = 0
        for bucket in BUCKETS:
            so_far += self.seconds[bucket]
            name = "+Inf" if bucket == float("inf") else f"{bucket:g}"
            lines.append(f'trellis_request_seconds_bucket{{le="{name}"}} {so_far}')
        lines += [f"trellis_request_seconds_sum {self.total_seconds:.6f}", f"trellis_request_seconds_count {so_far}"]
        values = {"tokens_total": self.tokens, "sentences_total": self.sentences, "in_flight": self.in_flight, **gauges}
        for name, value in values.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE trellis_{name} {kind}", f"trellis_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class TurnedAwayError(Exception):
    """A rejected request: a status and one line."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class Door:
    """Access control: clients need the token and one of the server's host names (None: any)."""

    limits: Limits
    token: str | None = None
    hosts: Collection[str] | None = None

    def check(self, scope: Scope, headers: dict[bytes, bytes], in_flight: int) -> None:
        """TurnedAwayError if the request is rejected."""
        host = headers.get(b"host", b"").decode("latin-1")
        if scope["path"] in OPEN:
            return
        if in_flight > self.limits.requests:
            raise TurnedAwayError(429, f"more than {self.limits.requests} concurrent requests; try again later")
        # DNS rebinding: a page of another host name that resolves to this server sends that name.
        name = HOST.fullmatch(host.lower())
        if self.hosts is not None and (name is None or name[1] not in self.hosts):
            raise TurnedAwayError(403, "Host header not allowed: this server accepts localhost only")
        kind, _, secret = headers.get(b"authorization", b"").partition(b" ")
        if self.token is not None and not (
            kind.lower() == b"bearer" and hmac.compare_digest(secret.strip(), self.token.encode())
        ):
            raise TurnedAwayError(401, "missing or wrong token; send the header Authorization: Bearer TOKEN")
        # Cross-origin requests are rejected: browsers send the origin of a page.
        origin = headers.get(b"origin", b"").decode("latin-1")
        changes = b"origin" in headers and scope["method"] not in ("GET", "HEAD")
        if changes and origin not in (f"http://{host}", f"https://{host}"):
            raise TurnedAwayError(403, "cross-origin request rejected")

    async def body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Read the request body, within the limits of bytes and time."""
        limit, seconds, body = self.limits.bytes, self.limits.seconds, bytearray()
        size = headers.get(b"content-length", b"0")
        n, is_open = int(size) if size.isdigit() else 0, True
        try:
            async with asyncio.timeout(seconds):
                while is_open and n <= limit:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise TurnedAwayError(400, "the client disconnected")
                    body += message.get("body", b"")
                    n, is_open = len(body), message.get("more_body", False)
        except TimeoutError:
            raise TurnedAwayError(408, f"timeout: the request did not arrive within {seconds:g} s") from None
        if n > limit:
            raise TurnedAwayError(413, f"more than {limit:,} bytes; send a smaller request")
        return bytes(body)
