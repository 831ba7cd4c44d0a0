"""Connections: time limits for headers and for reading answers, and a bound on their number."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

ACCEPTED = 16  # connections accepted per turn of the loop; each has its descriptor before it can be counted
SPARE_FILES = 6 * ACCEPTED  # descriptors that are left for those, and for model files
MOST = 10_000
LEAST_READ = 1 << 16  # bytes of its answer that a client must read within the time limit


def most_connections() -> int:
    """As many as the process may have open files, less those it has and some to spare."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        n_open = len(os.listdir("/dev/fd"))  # noqa: PTH208
    except (ImportError, OSError):  # Windows
        return 512 - SPARE_FILES
    return MOST if limit == resource.RLIM_INFINITY else max(1, min(limit - n_open - SPARE_FILES, MOST))


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """An HTTP connection of uvicorn with time limits of its own; a subclass per server sets the first three."""

    seconds: float  # to send headers, and to read a part of the answer
    most: int  # connections at once
    waiting: dict[Connection, None]  # those without a request under way; the longest wait first
    _timer: asyncio.TimerHandle | None = None  # runs until the headers have come
    _reading: asyncio.TimerHandle | None = None  # runs while the client has not read what was sent

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._start_timer()
        if len(self.connections) > self.most:  # the one that waits longest goes; the newcomer if all are at work
            next(iter(self.waiting), self).drop()
        self.waiting[self] = None

    def data_received(self, data: bytes) -> None:
        """Take data; the timer goes on until they are all the headers of a request."""
        super().data_received(data)
        if self._is_busy():
            self._stop_timer()
            self.waiting.pop(self, None)
        elif self._timer is None:
            self._start_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is here already."""
        super().on_response_complete()
        if not self._is_busy() and not self.transport.is_closing():
            self.waiting[self] = None

    def pause_writing(self) -> None:
        """The client does not keep up with its answer."""
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop_timer()
        self.waiting.pop(self, None)
        super().connection_lost(exc)
        if self._reading is not None:
            self._reading.cancel()

    def drop(self) -> None:
        """Close at once, whatever is still to be sent."""
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
