"""Open the studio in a browser: see what models do, where they are wrong, label sentences and train on them.

A file is a model or a corpus, as its content tells. The page is served on this machine alone.

examples:
  trellis studio ner.trellis
  trellis studio test.txt ner.trellis other.trellis --port 8001
"""

from __future__ import annotations

import webbrowser
from argparse import Namespace
from functools import cache
from typing import TYPE_CHECKING

from trellis._support.errors import ArgumentError, CorpusError, ModelError
from trellis.interfaces.cli.file_shape import FileShape, reject_file_options, shape_for
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.progress import say
from trellis.interfaces.cli.serve import show_log
from trellis.tasks.model import load

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus
    from trellis.interfaces.serve.models import Served
    from trellis.interfaces.studio.workbook import Workbook


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="models, and a corpus if there is one",
    )
    add("--port", type=at_least(0), default=8000, metavar="N", help="port; 0: a free one")
    add("--target", metavar="NAME", help="column of labels (default: the model's, or label)")
    add("--no-browser", action="store_true", help="do not open a browser")
    parser.share("threads", "quiet")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Serve the page until it is told to stop."""
    try:
        from trellis.interfaces.serve import Models
        from trellis.interfaces.serve.server import run
        from trellis.interfaces.studio.app import make_studio
    except ModuleNotFoundError as error:
        raise ArgumentError(f"studio needs {error.name}: pip install fastapi uvicorn") from None
    paths, corpora = _told_apart(given.files)
    if len(corpora) > 1:
        raise ArgumentError(f"{corpora[1]}: one corpus at a time; {corpora[0]} is one already")
    if not corpora:
        reject_file_options(given, "there is no corpus")
        if given.target is not None:
            raise ArgumentError("--target is a column of a corpus; name one, or omit it")
    models = Models(paths or ["builtin:truecase"])
    show_log(quiet=True)

    @cache
    def read(served: Served) -> Corpus:
        shape = shape_for(served.tagger, given, corpora[0])
        return shape.read_for(corpora[0], served.tagger, given.columns)

    book, has_gold = None, False
    first = next((served for served in models if paths and served.model.task == "tag"), None)
    if corpora:
        book, has_gold = _book(given, corpora[0], first)
        for line in book.warnings:
            say(f"warning: {line}", given.quiet)
    corpus = read if first is not None and has_gold else None
    app = make_studio(models, corpus, book, n_threads=given.threads)

    def told(host: str, port: int) -> None:
        say(f"the studio is at http://{host}:{port}/studio/", given.quiet)
        if not given.no_browser:
            webbrowser.open(f"http://{host}:{port}/studio/")

    try:
        run(app, models, "127.0.0.1", given.port, watch=True, told=told)
    finally:
        if book is not None:
            book.close()


def _book(given: Namespace, path: str, served: Served | None) -> tuple[Workbook, bool]:
    """The corpus to be labelled, and whether it has true labels to be compared with."""
    from trellis.interfaces.studio.workbook import Workbook

    if served is not None and given.target in (None, served.tagger.target):
        target = served.tagger.target
        corpus = shape_for(served.tagger, given, path).read_for(path, served.tagger, given.columns)
    else:
        corpus, target = FileShape.of(given, path).read(path, given.columns), given.target or "label"
    has_gold = target in corpus.columns and any(corpus.column(target).values)
    return Workbook(path, corpus, target), has_gold


def _told_apart(files: list[str]) -> tuple[list[str], list[str]]:
    """Models and corpora."""
    models, corpora = list[str](), list[str]()
    for path in files:
        try:
            load(path)
            models.append(path)
        except ModelError as error:
            if path.startswith("builtin:") or path.endswith((".trellis", ".crfsuite")):
                raise
            if "No such file" in str(error):
                raise CorpusError(path, None, "no such file; check the name and the folder") from None
            corpora.append(path)
    return models, corpora
