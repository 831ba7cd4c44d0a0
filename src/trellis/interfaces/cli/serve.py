"""Serve models over HTTP: JSON in, JSON out; description at /docs, as OpenAPI at /openapi.json.

The name of a model is its file name without the extension. SIGHUP reloads all model files, --watch those that changed;
requests are served meanwhile. SIGTERM and Ctrl-C wait for running requests, for at most --max-seconds.

examples:
  trellis serve -m ner.trellis
  trellis serve -m ner.trellis -m pos.trellis --port 8080 --watch --token-file secret.txt
  curl -s localhost:8000/v1/predict -H 'content-type: application/json' -d '{"text": "The dog barks."}'
"""

from __future__ import annotations

import logging
from argparse import Namespace
from pathlib import Path

from trellis._support.errors import ArgumentError
from trellis._support.extras import missing
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.progress import printable, say

SHORTEST_TOKEN = 16
LIMITS = {
    "bytes": (1 << 20, "bytes"),
    "tokens": (20_000, "tokens"),
    "sentences": (1_000, "sentences"),
    "values": (1_000_000, "labels and numbers of the response, such as k times tokens with kbest"),
    "seconds": (10, "timeout in seconds for receiving the request, and for answering it"),
    "requests": (512, "concurrent requests; further ones get status 429"),
}


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    help = "model file; repeatable"
    add("--model", "-m", action="append", required=True, metavar="MODEL", help=help)
    add("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0: all network interfaces")
    add("--port", type=at_least(0), default=8000, metavar="N", help="port; 0: any free port")
    add("--token-file", metavar="FILE", help="file with the token that clients must send: Authorization: Bearer TOKEN")
    add("--watch", action="store_true", help="reload a model file when it changes")
    limit = parser.add_argument_group("request limits").add_argument
    for name, (default, help) in LIMITS.items():
        limit(f"--max-{name}", type=at_least(1), default=default, metavar="N", help=help)
    parser.share("threads", "quiet")


def command(options: Namespace) -> None:
    """Run the server until it is stopped."""
    try:
        from trellis.interfaces.serve import App, Limits, Models
        from trellis.interfaces.serve.app import LOOPBACK
        from trellis.interfaces.serve.server import run
    except ModuleNotFoundError:
        raise ArgumentError(missing("serve", "serve")) from None
    show_log(options.quiet)
    models = Models(options.model)
    limits = Limits(**{name: getattr(options, f"max_{name}") for name in LIMITS})
    hosts = LOOPBACK if options.host in ("127.0.0.1", "localhost", "::1") else None
    app = App(models, limits=limits, token=_token(options.token_file), hosts=hosts, n_threads=options.threads)
    names = ", ".join(served.name for served in models)

    def told(host: str, port: int) -> None:
        say(f"serving {names} at http://{host}:{port}/docs", options.quiet)

    run(app, models, options.host, options.port, watch=options.watch, on_start=told)


class _Lines(logging.Formatter):
    """Escapes control characters in messages, as file names and damaged models may contain them."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def show_log(quiet: bool) -> None:
    """Write the log to standard error; ``quiet``: warnings and errors only."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines("%(message)s"))
    logging.basicConfig(level=logging.WARNING if quiet else logging.INFO, handlers=[handler])


def _token(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        token = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: the token cannot be read: {error}") from None
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ArgumentError(f"{path}: the token must be one word of at least {SHORTEST_TOKEN} ASCII characters")
    return token
