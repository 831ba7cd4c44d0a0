"""Open the studio in a browser: inspect predictions and errors, annotate sentences, train on them.

The page is served on the loopback interface (127.0.0.1) only.

examples:
  trellis studio -m ner.trellis
  trellis studio test.txt -m ner.trellis -m other.trellis --port 8001
"""

from __future__ import annotations

import webbrowser
from argparse import Namespace
from functools import cache
from typing import TYPE_CHECKING

from trellis._support.errors import ArgumentError
from trellis._support.extras import missing
from trellis.corpus.read import read_file
from trellis.interfaces.cli.files import file_shape, read_for, reject_file_options
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.progress import say
from trellis.interfaces.cli.serve import show_log

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus
    from trellis.interfaces.serve.models import Served


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", metavar="FILE", help="corpus to inspect and to annotate")
    models = "model file; repeatable (default: builtin:english)"
    add("--model", "-m", action="append", default=[], metavar="MODEL", help=models)
    add("--port", type=at_least(0), default=8000, metavar="N", help="port; 0: any free port")
    add("--target", metavar="NAME", help="column of labels (default: the model's target, or label)")
    add("--no-browser", action="store_true", help="do not open a browser")
    parser.share("threads", "quiet")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Serve the page until the process is stopped."""
    try:
        from trellis.interfaces.serve import Models
        from trellis.interfaces.serve.server import run
        from trellis.interfaces.studio.app import make_studio
        from trellis.interfaces.studio.workbook import Workbook
    except ModuleNotFoundError:
        raise ArgumentError(missing("studio", "serve")) from None
    path, paths = options.source, options.model
    models = Models(paths or ["builtin:english"])
    show_log(quiet=True)

    @cache
    def read(served: Served) -> Corpus:
        return read_for(served.tagger, options, path)

    book, corpus = None, None
    if path is None:
        reject_file_options(options, "no corpus given")
        if options.target is not None:
            raise ArgumentError("--target requires a corpus")
    else:
        first = next((served for served in models if paths and served.model.task == "tag"), None)
        if first is not None and options.target in (None, first.tagger.target):
            sentences, target = read(first), first.tagger.target
        else:
            sentences = read_file(path, file_shape(options, path), options.columns)
            target = options.target or "label"
        book = Workbook(path, sentences, target)
        for line in book.warnings:
            say(f"warning: {line}", options.quiet)
        has_gold = target in sentences.columns and any(sentences.column(target).values)
        corpus = read if first is not None and has_gold else None
    app = make_studio(models, corpus, book, n_threads=options.threads)

    def told(host: str, port: int) -> None:
        say(f"studio at http://{host}:{port}/studio/", options.quiet)
        if not options.no_browser:
            webbrowser.open(f"http://{host}:{port}/studio/")

    try:
        run(app, models, "127.0.0.1", options.port, watch=True, on_start=told)
    finally:
        if book is not None:
            book.close()
