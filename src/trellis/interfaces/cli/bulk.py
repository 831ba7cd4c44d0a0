"""Prediction over many files: each into a file of the output folder, by this process or by workers of Ray."""

from __future__ import annotations

import glob
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

from trellis._support.errors import ArgumentError, CorpusError, ModelError, TrellisError
from trellis._support.replacing import remove_leftovers
from trellis.corpus.stream import matching_files
from trellis.interfaces.cli.files import check_model
from trellis.interfaces.cli.pieces import write_groups
from trellis.interfaces.cli.progress import count_files, say
from trellis.interfaces.cluster.tagging import mapped
from trellis.interfaces.cluster.workers import Job, ThisProcess, Workers


def is_many(options: Namespace) -> bool:
    """Whether the output is a folder."""
    sources, output = options.source, options.output or ""
    if options.workers is not None or len(sources) > 1 or output.endswith(os.sep):
        return True
    if options.ray is not None or options.timeout is not None:
        raise ArgumentError("--ray and --timeout require --workers")
    return any(glob.has_magic(source) and not Path(source).exists() for source in sources)


def outputs_of(words: Sequence[str]) -> list[str]:
    """Run a command line of ``trellis predict`` over many files: the outputs. The first error is raised."""
    from trellis.interfaces.cli.main import parser_of
    from trellis.interfaces.cli.predict import check_options

    options = parser_of("predict").parse(words)
    options.quiet = True
    check_options(options)
    outputs, errors = _run(options)
    for error in errors[1:]:
        errors[0].add_note(str(error))
    if errors:
        raise errors[0]
    return outputs


def predict_many(options: Namespace) -> None:
    """Predict, and exit with the code of an error if a file had one; each error is printed on one line."""
    from trellis.interfaces.cli.main import USER_ERROR, parser_of

    in_words = parser_of("predict").in_its_words
    _, errors = _run(options, lambda error: say(f"trellis: {in_words(' '.join(str(error).splitlines()))}"))
    if errors:
        sys.exit(USER_ERROR)


def _run(
    options: Namespace, tell: Callable[[TrellisError], None] = lambda error: None
) -> tuple[list[str], list[TrellisError]]:
    """The names of all outputs, and the errors, each reported as it occurs."""
    if not options.source:
        raise ArgumentError("--workers requires input files")
    if options.output is None:
        raise ArgumentError("several input files require an output folder: --output FOLDER/")
    model = check_model(options, mapped(options.model, options.scheme), options.model)
    if model.task == "pipeline":
        raise ArgumentError(f"{options.model}: a pipeline reads one file at a time; give one, with --output FILE")
    pairs = _pairs(dict.fromkeys(path for name in options.source for path in matching_files(name)), options)
    try:
        Path(options.output).mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        reason = "a file is there; name a folder" if isinstance(refused, FileExistsError) else str(refused.strerror)
        raise CorpusError(options.output, None, reason) from None
    left = {source: output for source, output in pairs.items() if not Path(output).exists()}
    for source in pairs.keys() - left.keys():
        remove_leftovers(Path(pairs[source]))
    if len(left) < len(pairs):
        skipped = f"{len(pairs) - len(left):,} of {len(pairs):,} outputs already exist in {options.output}"
        say(f"{skipped}; skipped", options.quiet)
    errors = list[TrellisError]()
    sizes = {source: Path(source).stat().st_size if Path(source).is_file() else 0 for source in left}
    with _workers(options, bool(left)) as workers, count_files(sizes, options.quiet) as count:
        for job, error in workers.run(_job(model, options, *pair) for pair in left.items()):
            remove_leftovers(Path(left[job.name]))  # of workers that died
            if error is None:
                count(job.name)
                continue
            errors.append(error)
            tell(error)
    return list(pairs.values()), errors


def _workers(options: Namespace, needed: bool) -> AbstractContextManager[Workers]:
    """This process, or Ray workers if requested and useful."""
    if options.workers is None or not needed:
        return nullcontext(ThisProcess())
    from trellis.interfaces.cluster.ray_workers import TASK_SECONDS, connect

    return connect(options.ray, options.workers, options.timeout or TASK_SECONDS)


def _pairs(sources: Iterable[str], options: Namespace) -> dict[str, str]:
    """The output of every source: its name in the folder; as JSON lines with .jsonl."""
    pairs, owners = dict[str, str](), dict[Path, str]()
    for source in sources:
        name = Path(source).name
        if options.json:
            name = f"{name.removesuffix('.gz').rpartition('.')[0] or name}.jsonl"
        output = Path(options.output) / name
        if other := owners.get(output):
            raise ArgumentError(f"{other} and {source} would both be written to {output}; predict them separately")
        if output.exists() and Path(source).exists() and output.samefile(source):
            raise ModelError(f"{output}: the output would overwrite the input file {source}; choose another folder")
        owners[output] = source
        pairs[source] = str(output)
    return pairs


def _job(model: Any, options: Namespace, source: str, output: str) -> Job:
    """The work on a file: at once, or row group by row group."""
    from trellis.interfaces.cli.predict import files_of

    job_options = copy(options)
    job_options.source, job_options.output, job_options.quiet = source, output, True
    job_options.threads = options.threads if options.workers is None else 1
    try:
        files = files_of(model, job_options)
        n_groups, format = files.n_groups, str(files.output_shape.format)
    except CorpusError:  # the job reports the error
        n_groups, format = 1, ""
    if n_groups == 1:
        return Job(source, (), partial(_predict_file, job_options))
    parts = [partial(_predict_group, job_options, group) for group in range(n_groups)]
    return Job(source, parts, partial(write_groups, output=output, format=format))


def _predict_file(options: Namespace, parts: Iterable[Any]) -> None:
    """All of a file, by a worker."""
    from trellis.interfaces.cli.predict import files_of, predict

    model = mapped(options.model, options.scheme)
    predict(model, options, files_of(model, options))


def _predict_group(options: Namespace, group: int) -> Any:
    """The table of a row group, by a worker."""
    from trellis.interfaces.cli.predict import files_of, predict

    model = mapped(options.model, options.scheme)
    files = files_of(model, options)
    files.group = group
    predict(model, options, files)
    return files.table
