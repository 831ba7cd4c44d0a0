"""Open the studio in a browser: see what models do, where they are wrong, label sentences and train on them.

The page is served on this machine alone.

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
from trellis.interfaces.cli.files import FileShape, read_for, reject_file_options
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.progress import say
from trellis.interfaces.cli.serve import show_log

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus
    from trellis.interfaces.serve.models import Served
    from trellis.interfaces.studio.workbook import Workbook


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", metavar="FILE", help="corpus to look at and to label")
    models = "model file; may be given several times (default: builtin:truecase)"
    add("--model", "-m", action="append", default=[], metavar="MODEL", help=models)
    add("--port", type=at_least(0), default=8000, metavar="N", help="port; 0: a free one")
    add("--target", metavar="NAME", help="column of labels (default: the model's, or label)")
    add("--no-browser", action="store_true", help="do not open a browser")
    parser.share("threads", "quiet")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Serve the page until the process is stopped."""
    try:
        from trellis.interfaces.serve import Models
        from trellis.interfaces.serve.server import run
        from trellis.interfaces.studio.app import make_studio
    except ModuleNotFoundError as error:
        raise ArgumentError(f"studio needs {error.name}: pip install pydantic uvicorn") from None
    path, paths = options.source, options.model
    if path is None:
        reject_file_options(options, "there is no corpus")
        if options.target is not None:
            raise ArgumentError("--target is a column of a corpus; name one, or omit it")
    models = Models(paths or ["builtin:truecase"])
    show_log(quiet=True)

    @cache
    def read(served: Served) -> Corpus:
        return read_for(served.tagger, options, path)

    book, has_gold = None, False
    first = next((served for served in models if paths and served.model.task == "tag"), None)
    if path is not None:
        book, has_gold = _book(options, path, first)
        for line in book.warnings:
            say(f"warning: {line}", options.quiet)
    corpus = read if path is not None and first is not None and has_gold else None
    app = make_studio(models, corpus, book, n_threads=options.threads)

    def told(host: str, port: int) -> None:
        say(f"the studio is at http://{host}:{port}/studio/", options.quiet)
        if not options.no_browser:
            webbrowser.open(f"http://{host}:{port}/studio/")

    try:
        run(app, models, "127.0.0.1", options.port, watch=True, told=told)
    finally:
        if book is not None:
            book.close()


def _book(options: Namespace, path: str, served: Served | None) -> tuple[Workbook, bool]:
    """The corpus to be labelled, and whether it has true labels to be compared with."""
    from trellis.interfaces.studio.workbook import Workbook

    if served is not None and options.target in (None, served.tagger.target):
        target = served.tagger.target
        corpus = read_for(served.tagger, options, path)
    else:
        corpus, target = FileShape.of(options, path).read(path, options.columns), options.target or "label"
    has_gold = target in corpus.columns and any(corpus.column(target).values)
    return Workbook(path, corpus, target), has_gold
