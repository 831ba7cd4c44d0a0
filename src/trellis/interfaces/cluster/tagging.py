"""Prediction over many files, and models as functions of batches for Ray Data, Dask and Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from trellis._support.arguments import file_path
from trellis._support.errors import ArgumentError
from trellis.corpus.read import is_table
from trellis.tasks.model import load

COMMAND = "trellis.interfaces.cli.bulk"  # above this layer, and imported by name


def predict_files(
    model: str | os.PathLike[str],
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    workers: int | None = None,
    ray: str | None = None,
    timeout: float | None = None,
    **options: Any,
) -> list[str]:
    """Predict many files, each into a file of the same name: ``trellis predict FILES --output FOLDER`` in Python.

    Files are written atomically, with the same bytes for any number of workers. Existing outputs are skipped. After an
    error in one file the others are still predicted.

    Parameters
    ----------
    model
        Model file. Workers map it into memory, so never change it in place.
    files
        File, pattern such as ``"in/*.parquet"``, or a list of these.
    output
        Folder of the outputs, created if missing.
    workers
        Number of Ray workers, one core each (default: this process alone, with all cores).
    ray
        Address of a Ray cluster (default: Ray on this machine).
    timeout
        Timeout in seconds without the end of any task (default: 3600).
    **options
        Options of ``trellis predict`` with ``_`` for ``-``: ``decode="posterior"``, ``json=True``, ``threads=1``.

    Returns
    -------
    list[str]
        The outputs, in the order of the files.

    Raises
    ------
    TrellisError
        The first error, after all other files are done; further errors are its notes.

    Examples
    --------
    >>> import tempfile, trellis
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]).save(folder / "pos.trellis")
    >>> trellis.write(trellis.read([["a", "dog"]]), folder / "words.txt")
    >>> [path] = trellis.cluster.predict_files(folder / "pos.trellis", folder / "words.txt", folder / "out")
    >>> trellis.read(path).sentences("label")
    [['D', 'N']]
    """
    file_list = [files] if isinstance(files, str | os.PathLike) else files
    settings = {"workers": workers, "ray": ray, "timeout": timeout, **options}
    words = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={_worded(value)}")
        for name, value in settings.items()
        if value is not None and value is not False
    ]
    paths = [file_path("files", name) for name in file_list]
    outputs: list[str] = import_module(COMMAND).outputs_of(
        [f"--model={file_path('model', model)}", f"--output={file_path('output', output)}/", *words, "--", *paths]
    )
    return outputs


def _worded(value: Any) -> str:
    """An option as the command line has it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


class TagBatches:
    """A model as a function of tables, made by ``tag_batches``.

    Parameters
    ----------
    model
        Name of the model file.
    """

    __slots__ = ("model",)

    def __init__(self, model: str) -> None:
        self.model = model  # the name of its file: all that is pickled

    def __call__(self, batches: Any) -> Any:
        """A pyarrow table, a record batch or a pandas frame with its new columns; or an iterator over those of one."""
        if is_table(batches):
            return self._predicted(batches)
        if isinstance(batches, Iterator):
            return map(self._predicted, batches)
        raise ArgumentError(f"tag_batches takes tables, or an iterator of them, not {type(batches).__name__}")

    def _predicted(self, batch: Any) -> Any:
        import pyarrow as pa

        from trellis.corpus.tables import predicted_columns, with_columns

        model = mapped(self.model)
        file = getattr(model, "training_file", None)
        new = predicted_columns(batch, partial(model.predict_corpus, n_threads=1), file and file.inputs)
        if isinstance(batch, pa.RecordBatch):
            table = with_columns(pa.Table.from_batches([batch]), new).combine_chunks()
            return next(iter(table.to_batches()), pa.RecordBatch.from_pylist([], table.schema))
        if isinstance(batch, pa.Table):
            return with_columns(batch, new)
        return batch.assign(**new.to_pydict())


def tag_batches(model: str | os.PathLike[str]) -> TagBatches:
    """Make a function that adds a model's predictions to tables, for engines that send tables to workers.

    For ``map_batches`` of Ray Data with ``batch_format="pyarrow"``, ``map_partitions`` of Dask and ``mapInArrow`` of
    Spark. A row is a sentence, cells are lists of strings. Only the file name is pickled; each process loads the model
    once, and uses one thread.

    Parameters
    ----------
    model
        Model file, under a name that all machines know. It is mapped into memory: never change it in place.

    Returns
    -------
    TagBatches
        The function.

    Examples
    --------
    >>> import pyarrow, tempfile, trellis
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "pos.trellis"
    >>> trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]).save(path)
    >>> tag = trellis.cluster.tag_batches(path)
    >>> tag(pyarrow.table({"word": [["a", "dog"]]})).column("label").to_pylist()
    [['D', 'N']]
    """
    path = os.path.abspath(file_path("model", model))  # noqa: PTH100 (resolve would follow links)
    mapped(path)  # an error now rather than on all workers
    return TagBatches(path)


def mapped(path: str, scheme: str | None = None) -> Any:
    """The model of a file, under a scheme if one is named; loaded once per process, and again when it was replaced."""
    place = Path(path)
    status = place.stat() if place.is_file() else None
    return _loaded(path, scheme, status and (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=2)  # a parser and its tagger
def _loaded(path: str, scheme: str | None, stamp: tuple[int, int, int] | None) -> Any:
    model: Any = load(path, copy=False)
    return model if scheme is None else model.constrained(scheme)
