"""``trellis tag``: label a file, or standard input as it comes."""

from __future__ import annotations

from typing import Annotated

import typer

from trellis.cli.options import By, Columns, Comments, Format, Json, ModelFile, Quiet, Scheme, Tabs, Threads
from trellis.cli.tagging import tag_file


def command(
    model: ModelFile,
    source: Annotated[str, typer.Argument(metavar="[FILE]", help="What to tag; else standard input.")] = "-",
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Where to; else standard output.")
    ] = None,
    kbest: Annotated[
        int | None,
        typer.Option(min=1, help="The K best label sequences, a column each; scores with --json."),
    ] = None,
    by: By = "path",
    scheme: Scheme = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="With --json: how sure each label, and each span, is.")
    ] = False,
    columns: Columns = None,
    format: Format = None,
    comments: Comments = None,
    tabs: Tabs = None,
    threads: Threads = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Label a file, or standard input.

    Files of columns get one more; in CoNLL-U, JSON lines and tables the target's own column is filled in.
    Columns are known by their place, as in the file of training, with the target or without it.
    """
    tag_file(
        model,
        source,
        output,
        kbest=kbest,
        by=by,
        scheme=scheme,
        confidence=confidence,
        columns=columns,
        format=format,
        comments=comments,
        tabs=tabs,
        threads=threads,
        quiet=quiet,
        as_json=as_json,
    )
