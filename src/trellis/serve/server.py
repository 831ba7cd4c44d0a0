"""The process: listens, says where, reads models again when told to, ends when what is under way is done."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from trellis.errors import ArgumentError
from trellis.serve.models import Models

WATCH_SECONDS = 1.0


class Server(uvicorn.Server):
    """A server that says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, told: Callable[[str, int], None]) -> None:
        super().__init__(config)
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        for one in getattr(self, "servers", ()):
            for place in one.sockets:
                self._told(*place.getsockname()[:2])


def run(app: Any, models: Models, host: str, port: int, *, watch: bool, told: Callable[[str, int], None]) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reads the models again, and so does ``watch`` when a file has changed."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=30,
    )
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda number, frame: _aside(models.reload))
    if watch:
        _aside(lambda: _watch(models))
    try:
        place = socket.create_server((host, port), reuse_port=False)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise ArgumentError(f"cannot listen on {host}, port {port}: {why}; choose another --port") from None
    try:
        Server(config, told).run(sockets=[place])
    except SystemExit as ended:  # work in threads that nobody waits for any more would hold the process up
        sys.stderr.flush()
        os._exit(int(ended.code or 0))


def _watch(models: Models) -> None:
    pause = threading.Event()
    while not pause.wait(WATCH_SECONDS):
        models.reload(only_changed=True)


def _aside(work: Callable[[], object]) -> None:
    threading.Thread(target=work, daemon=True).start()
