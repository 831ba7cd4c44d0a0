"""The server process: listens, reloads models, and shuts down after finishing running requests."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from trellis._support.errors import ArgumentError
from trellis.interfaces.serve.connections import ACCEPTED, Connection, most_connections
from trellis.interfaces.serve.models import LOG, Models

WATCH_SECONDS = 1.0
BACKLOG = 2048  # length of the queue of connections to be accepted
INTERRUPTED = 130
LAST_SECONDS = 5.0  # seconds from the time limit of requests to the forced end of the process
QUIET_SECONDS = 10.0  # seconds between two log lines about the same problem


class Server(uvicorn.Server):
    """A server that reports its address and has a guaranteed shutdown."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[str, int], None]) -> None:
        super().__init__(config)
        self._told = on_start
        self._next_line = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and report where."""
        asyncio.get_running_loop().set_exception_handler(self._trouble)
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # the loop accepts few at a time, but the queue may be longer
            host, port = listener.getsockname()[:2]
            self._told(f"[{host}]" if ":" in host else host, port)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish the requests under way; end the process if that takes too long."""
        super().handle_exit(sig, frame)
        last = threading.Timer((self.config.timeout_graceful_shutdown or 0) + LAST_SECONDS, os._exit, [128 + sig])
        last.daemon = True
        last.start()

    def _trouble(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Rate-limit the event loop's messages about connections that cannot be accepted."""
        if "accept" not in context.get("message", ""):
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + QUIET_SECONDS
            LOG.error(
                "cannot accept connections: %s; increase the limit of open files (ulimit -n)", context.get("exception")
            )


def run(app: Any, models: Models, host: str, port: int, *, watch: bool, on_start: Callable[[str, int], None]) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reads the models again, and so does ``watch`` when a file has changed."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        # Inherited by connections: responses are sent without waiting for acknowledgements (Nagle's algorithm is off).
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArgumentError(f"cannot listen on {host}, port {port}: {reason}; use another --port") from None
    sys.setswitchinterval(0.001)  # threads yield the GIL to the event loop sooner
    bounds = {"seconds": app.limits.seconds, "most": most_connections(), "waiting": {}}
    config = uvicorn.Config(
        app,
        http=type("ServerConnection", (Connection,), bounds),
        ws="none",
        backlog=ACCEPTED,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        # A received request is answered within its time limit.
        timeout_graceful_shutdown=math.ceil(app.limits.seconds) + 1,
    )
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda number, frame: _aside(models.reload))
    if watch:
        _aside(lambda: _watch(models))
    try:
        Server(config, on_start).run(sockets=[listener])
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except KeyboardInterrupt:
        sys.stderr.write("trellis: interrupted\n")
        code = INTERRUPTED
    # Threads of cancelled requests would delay the end of the process.
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


def _watch(models: Models) -> None:
    while True:
        time.sleep(WATCH_SECONDS)
        models.reload(only_changed=True)


def _aside(work: Callable[[], object]) -> None:
    threading.Thread(target=work, daemon=True).start()
