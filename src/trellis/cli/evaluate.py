"""``trellis evaluate``: how good a model, or a tagged file, is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from trellis.cli.options import By, Columns, Comments, Format, Json, Scheme, Tabs, Threads

if TYPE_CHECKING:
    from trellis.evaluation.reliability import Calibration
    from trellis.evaluation.report import Report


def command(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file with the true labels.")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="The model's file; without it, two columns are compared."),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(help="The column of true labels; else the model's target, or the last but one."),
    ] = None,
    predicted: Annotated[
        str | None, typer.Option(help="Without a model: the column to judge; else the last.")
    ] = None,
    by: By = "path",
    scheme: Scheme = None,
    calibration: Annotated[
        bool,
        typer.Option("--calibration", help="With a model: also whether its confidences keep their word."),
    ] = False,
    columns: Columns = None,
    format: Format = None,
    comments: Comments = None,
    tabs: Tabs = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Token and sentence accuracy, and precision, recall and F1 of spans, type by type."""
    from trellis.cli.file_shape import FileShape
    from trellis.cli.outputs import print_json
    from trellis.cli.progress import say
    from trellis.errors import CorpusError

    report: Report
    reliability: Calibration | None = None
    if model is not None:
        from trellis.tagger import load

        if predicted is not None:
            raise CorpusError(source, None, "give --model or --predicted, not both")
        if by not in ("path", "label"):
            raise CorpusError(source, None, f"--by {by}: give path or label")
        tagger = load(model) if scheme is None else load(model).constrained(scheme)
        shape = FileShape.of(source, format, tabs, comments, like=FileShape.of_training(tagger))
        corpus = shape.read_for(source, tagger, columns)
        report = tagger.evaluate(corpus, target=gold, by=by, n_threads=threads)  # type: ignore[arg-type]
        if calibration:
            reliability = tagger.reliability(corpus, target=gold, n_threads=threads)
    elif calibration or scheme is not None:
        raise CorpusError(source, None, "--calibration and --scheme need a model; give --model")
    else:
        from trellis.evaluation.report import evaluate_columns

        shape = FileShape.of(source, format, tabs, comments)
        corpus = shape.read(source, columns)
        names = list(corpus.columns)
        if shape.format == "conllu" and not (gold and predicted):
            raise CorpusError(source, None, "give --model, or name two columns by --gold and --predicted")
        if len(names) < 2:
            raise CorpusError(source, None, "one column alone cannot be compared; give --model")
        truth, guess = corpus.column(gold or names[-2]), corpus.column(predicted or names[-1])
        say(f"column {predicted or names[-1]!r} judged by column {gold or names[-2]!r}", as_json)
        report = evaluate_columns(truth, guess, corpus.starts)
    if as_json:
        more = {} if reliability is None else {"calibration": reliability.to_dict()}
        print_json({**report.to_dict(), **more})
    else:
        print(report)
        if reliability is not None:
            print(f"\n{reliability}")
