"""``trellis calibrate``: make a model's confidences keep their word."""

from __future__ import annotations

from typing import Annotated

import typer

from trellis.cli.options import Columns, Comments, Format, Json, ModelFile, Quiet, Tabs, Threads


def command(
    source: Annotated[str, typer.Argument(metavar="MODEL", help="The model to calibrate.")],
    dev: Annotated[str, typer.Argument(metavar="DEV", help="A file with true labels, not that of training.")],
    model: ModelFile,
    by: Annotated[
        str, typer.Option(help="Fit the temperature to single labels or to whole paths: labels, paths.")
    ] = "labels",
    gold: Annotated[
        str | None, typer.Option(help="The column of true labels; else the model's target.")
    ] = None,
    columns: Columns = None,
    format: Format = None,
    comments: Comments = None,
    tabs: Tabs = None,
    threads: Threads = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit a model's temperature to a file, write the model with it, and show how reliable it was and is.

    Its labels stay the same; its probabilities and confidences change.
    """
    from trellis.cli.file_shape import FileShape
    from trellis.cli.outputs import check_writable, print_json
    from trellis.errors import CorpusError
    from trellis.tagger import load

    if by not in ("labels", "paths"):
        raise CorpusError(dev, None, f"--by {by}: give labels or paths")
    tagger = load(source)
    check_writable(model)
    shape = FileShape.of(dev, format, tabs, comments, like=FileShape.of_training(tagger))
    corpus = shape.read_for(dev, tagger, columns)
    calibrated = tagger.calibrated(corpus, target=gold, by=by, n_threads=threads)  # type: ignore[arg-type]
    before, after = (one.reliability(corpus, target=gold, n_threads=threads) for one in (tagger, calibrated))
    calibrated.save(model)
    if as_json:
        figures = {"before": before.to_dict(), "after": after.to_dict()}
        print_json({"model": model, "temperature": calibrated.temperature, **figures})
    elif not quiet:
        print(f"before: {before}\n\nafter: {after}")
