"""Options that several commands have, each with one meaning everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

Columns = Annotated[str | None, typer.Option(help="Names of the file's columns: word,pos,chunk.")]
Format = Annotated[
    str | None,
    typer.Option(help="conll, conllu, jsonl, parquet or feather; else the file's extension tells."),
]
Comments = Annotated[
    bool | None, typer.Option(help="Whether lines of a column file that begin with # are comments.")
]
Tabs = Annotated[
    bool | None, typer.Option(help="Whether single tabs alone separate fields, as in .tsv files.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads; else one a core.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output, for machines.")]
ModelFile = Annotated[str, typer.Option("--model", "-m", help="The model's file.")]
By = Annotated[
    str, typer.Option(help="path: the best label sequence; label: the most probable label at each token.")
]
Scheme = Annotated[
    str | None, typer.Option(help="Never give label sequences that are illegal in it: iob2, iobes, ...")
]
