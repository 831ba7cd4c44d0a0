"""Connections: time limits for headers and for reading answers, and a bound on their number."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

ACCEPTED = 16  # connections accepted per iteration of the event loop; each uses a file descriptor before it is counted
SPARE_FILES = 6 * ACCEPTED  # descriptors reserved for those, and for model files
MOST = 10_000
LEAST_READ = 1 << 16  # bytes of the response that a client must read within the time limit


def most_connections() -> int:
    """Limit of open files of the process, minus open files and a reserve."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        n_open = len(os.listdir("/dev/fd"))  # noqa: PTH208
    except (ImportError, OSError):  # Windows
        return 512 - SPARE_FILES
    return MOST if limit == resource.RLIM_INFINITY else max(1, min(limit - n_open - SPARE_FILES, MOST))


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """An HTTP connection of uvicorn with time limits of its own; a subclass per server sets the first three."""

    seconds: float  # time limits for sending headers, and for reading a part of the response
    most: int  # maximum number of connections
    waiting: dict[Connection, None]  # idle connections, longest idle first
    _timer: asyncio.TimerHandle | None = None  # timer for headers
    _reading: asyncio.TimerHandle | None = None  # timer for the client to read the response

    def connection_made(self, transport: Any) -> None:
        """Start the timer for headers."""
        super().connection_made(transport)
        self._start_timer()
        if len(self.connections) > self.most:  # drop the longest idle connection, or the new one if none is idle
            next(iter(self.waiting), self).drop()
        self.waiting[self] = None

    def data_received(self, data: bytes) -> None:
        """Receive data; the timer stops when the headers are complete."""
        super().data_received(data)
        if self._is_busy():
            self._stop_timer()
            self.waiting.pop(self, None)
        elif self._timer is None:
            self._start_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it has already arrived."""
        super().on_response_complete()
        if not self._is_busy() and not self.transport.is_closing():
            self.waiting[self] = None

    def pause_writing(self) -> None:
        """Start the timer: the client reads the response too slowly."""
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        """Stop the timer: the client reads again."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_timer()
        self.waiting.pop(self, None)
        super().connection_lost(exc)
        if self._reading is not None:
            self._reading.cancel()

    def drop(self) -> None:
        """Close at once, discarding unsent data."""
        self.waiting.pop(self, None)
        self.transport.abort()

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self.drop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch_reading(self) -> None:
        size = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() > size - LEAST_READ:
                self.drop()
            else:
                self._watch_reading()

        self._reading = self.loop.call_later(self.seconds, look)
