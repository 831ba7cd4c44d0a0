"""Tables of pyarrow, pandas and polars: one row per sentence (lists of strings), or one row per token.

This module imports pyarrow, so it is only imported for tables.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Longs, starts_of
from trellis._support.errors import CorpusError
from trellis._support.extras import missing
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.files import reading

try:
    import pyarrow as pa
except ImportError:
    raise CorpusError("", None, missing("a table, Parquet or Feather file", "tables")) from None

HUGGING_FACE = b"huggingface"  # schema metadata key of Hugging Face datasets
MISSING = "add a value or omit the sentence"


def read_table(path: str, format: str, names: Sequence[str] | None, sentence: str | None) -> Corpus:
    """The corpus in a Parquet or Feather (Arrow IPC) file."""
    return from_table(_table_of(path, format), names, sentence, path)


def _table_of(path: str, format: str) -> pa.Table:
    with reading(path) as file, _reading_format(path, format):
        return import_module(f"pyarrow.{format}").read_table(file)


def parquet_blocks(path: str, names: Sequence[str] | None, sentence: str | None, block_bytes: int) -> Iterator[Corpus]:
    """Read a Parquet file in blocks of about ``block_bytes`` bytes of text; sentences are not split."""
    import pyarrow.parquet

    with reading(path) as file, _reading_format(path, "parquet"):
        rows = pyarrow.parquet.ParquetFile(file)
        selection = None if names is None else [*names, *((sentence,) if sentence else ())]
        batches, first = list[Any](), 0  # rows read but not yet in a block; number of the first of them
        for batch in rows.iter_batches(1024, columns=selection):
            batches.append(batch)
            if sum(one.nbytes for one in batches) < block_bytes:
                continue
            table = pa.Table.from_batches(batches)
            table.validate(full=True)
            n = len(table) if sentence is None else _last_start(table, sentence, path)
            if n:
                yield from_table(table.slice(0, n), names, sentence, path, first)
            batches, first = table.slice(n).to_batches(), first + n
        if batches:
            yield from_table(pa.Table.from_batches(batches), names, sentence, path, first)


def n_groups(path: str) -> int:
    """The number of row groups of a Parquet file; an empty file is one empty group."""
    import pyarrow.parquet

    with reading(path) as file, _reading_format(path, "parquet"):
        return max(1, int(pyarrow.parquet.ParquetFile(file).num_row_groups))


def read_group(path: str, format: str, group: int | None) -> tuple[pa.Table, int]:
    """A row group of a Parquet file and the number of its first row; without a group the whole file."""
    if group is None:
        return _table_of(path, format), 0
    import pyarrow.parquet

    with reading(path) as file, _reading_format(path, format):
        rows = pyarrow.parquet.ParquetFile(file)
        if not rows.num_row_groups:
            return rows.schema_arrow.empty_table(), 0
        first = sum(rows.metadata.row_group(i).num_rows for i in range(group))
        return rows.read_row_group(group, use_threads=False), first


def write_groups(tables: Iterable[pa.Table], path: str, format: str) -> None:
    """Write tables of one schema as a file, each as a row group in Parquet."""
    if format != "parquet":
        import_module(f"pyarrow.{format}").write_feather(pa.concat_tables(tables), path)
        return
    import pyarrow.parquet

    tables = iter(tables)
    first = next(tables)
    with pyarrow.parquet.ParquetWriter(path, first.schema) as writer:
        for table in itertools.chain([first], tables):
            writer.write_table(table, max(1, len(table)))


def predicted_columns(
    table: Any,
    predicted: Callable[[Corpus], Corpus],
    inputs: Sequence[str] | None = None,
    path: str = "",
    first_row: int = 0,
) -> pa.Table:
    """The columns that ``predicted`` makes of the corpus in a table with a row per sentence.

    ``inputs`` are names of the columns to read, as far as the table has them (None: all lists of strings).
    ``first_row`` is the number of its first row in the file, for messages.
    """
    table = _to_arrow(table)
    names = None if inputs is None else [name for name in table.column_names if name in inputs] or inputs
    corpus = from_table(table, names, None, path, first_row)
    out = predicted(corpus)
    new = {name: column for name, column in out.columns.items() if column is not corpus.columns.get(name)}
    columns = corpus_to_arrow(replace(out, columns=new))
    narrow = any(pa.types.is_list(field.type) for field in table.schema)  # lists as the table has them
    return columns.cast(pa.schema([(name, pa.list_(pa.string())) for name in new])) if narrow else columns


def with_columns(table: pa.Table, new: pa.Table) -> pa.Table:
    """Add or replace columns of a table; other columns are unchanged."""
    if HUGGING_FACE in (table.schema.metadata or {}):  # which says that names of classes are numbers
        table, _ = _with_class_names(table, "")
        table = table.replace_schema_metadata({k: v for k, v in table.schema.metadata.items() if k != HUGGING_FACE})
    for name, column in zip(new.column_names, new.columns, strict=True):
        at = table.schema.get_field_index(name)
        table = table.append_column(name, column) if at < 0 else table.set_column(at, name, column)
    return table


def _last_start(table: pa.Table, sentence: str, path: str) -> int:
    """First row of the last sentence, which may continue in the next block."""
    if table.column_names.count(sentence) != 1:
        return len(table)  # from_table reports the error
    changes, _ = _changes(table.column(sentence).combine_chunks())
    return int(changes[-1]) if len(changes) else 0


def _changes(ids: pa.Array) -> tuple[Longs, int]:
    """Rows where the value of a column differs from the previous row, and the number of distinct values."""
    codes = ids.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.diff(codes)) + 1, len(np.unique(codes))


@contextmanager
def _reading_format(path: str, format: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        reason = f"not a readable {format} file ({_first_line(error)}); write it again or give its format"
        raise CorpusError(path, None, reason) from None


def from_table(
    source: Any, names: Sequence[str] | None, sentence: str | None, path: str = "", first_row: int = 0
) -> Corpus:
    """The corpus in a table; with ``sentence``, one row per token, and that column tells sentences apart.

    ``first_row`` is the number of the table's first row in its file, for messages.
    """
    try:
        return _from_arrow(_to_arrow(source), names, sentence, path, first_row)
    except (pa.ArrowException, ValueError) as error:  # pandas' frames with two columns of one name, too
        reason = f"not a table of strings or lists of strings ({_first_line(error)}); convert or write it again"
        raise CorpusError(path, None, reason) from None


def _from_arrow(
    table: pa.Table, names: Sequence[str] | None, sentence: str | None, path: str, first_row: int
) -> Corpus:
    for name in (*(names or dict.fromkeys(table.column_names)), *((sentence,) if sentence is not None else ())):
        if (n := table.column_names.count(name)) != 1:
            reason = f"no column {name!r}" if n == 0 else f"{n} columns are named {name!r}; names must be unique"
            raise CorpusError(path, None, f"{reason}; the columns are {', '.join(map(str, table.column_names))}")
    table.validate(full=True)  # checks all offsets and strings; ArrowInvalid if the table is damaged
    table, _ = _with_class_names(table, path)
    # Tables may have further columns, such as numbers and names of sentences.
    lists = [field for field in table.schema if _is_list(field)]
    lists = [field for field in lists if _holds_strings(field.type.value_type)] or lists
    others = [name for name in table.column_names if name != sentence]
    selection = names or ([field.name for field in lists] if lists and sentence is None else others)
    columns: dict[str, Column] = {}
    starts = np.zeros(1, np.int64)
    if sentence is not None:
        starts = _runs(table.column(sentence).combine_chunks(), sentence, path, first_row)
    for name in selection:
        cells = table.column(name).combine_chunks()
        if sentence is None:
            cells, ends = _flatten(name, cells, path, first_row)
            starts = starts if columns else ends
            if not np.array_equal(starts, ends):
                row = int(np.flatnonzero(np.diff(starts) != np.diff(ends))[0])
                place = f"row {first_row + row} (counted from 0)"
                reason = f"{selection[0]!r} and {name!r} differ in length; the lengths must be equal"
                raise CorpusError(path, None, f"{place}: {reason}")
        columns[name] = _strings(name, cells, path, first_row)
    return Corpus(columns, starts, path)


def _with_class_names(table: pa.Table, path: str) -> tuple[pa.Table, bool]:
    """Replace class numbers by names if the schema names classes, as in Hugging Face datasets.

    Also returns whether the schema has such a description.
    """
    metadata = (table.schema.metadata or {}).get(HUGGING_FACE)
    if metadata is None:
        return table, False
    damaged = CorpusError(path, None, "the metadata of Hugging Face datasets is invalid; write the file again")
    try:
        features = dict(json.loads(metadata)["info"]["features"])
    except (ValueError, KeyError, TypeError):
        raise damaged from None
    for name, feature in features.items():
        inner = feature.get("feature", feature) if isinstance(feature, dict) else {}
        classes = inner.get("names") if isinstance(inner, dict) and inner.get("_type") == "ClassLabel" else None
        if classes is None or table.column_names.count(name) != 1:
            continue
        cells = table.column(name).combine_chunks()
        if isinstance(cells, pa.ChunkedArray):  # of an empty table
            cells = pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], cells.type)
        numbers = cells.flatten() if _is_list(cells) else cells
        if not isinstance(classes, list) or not pa.types.is_integer(numbers.type):
            raise damaged
        _reject_nulls(name, numbers, path)
        codes = numbers.to_numpy(zero_copy_only=False)
        if wrong := [code for code in np.unique(codes).tolist() if not 0 <= code < len(classes)]:
            text = f"column {name!r} has class {wrong[0]}, but the classes are 0 to {len(classes) - 1}; write it again"
            raise CorpusError(path, None, text)
        words = pa.array(list(map(str, classes)), pa.large_string()).take(pa.array(codes, pa.int64()))
        if _is_list(cells):
            words = pa.LargeListArray.from_arrays(pa.array(starts_of(cells.value_lengths())), words)
        table = table.set_column(table.column_names.index(name), name, words)
    return table, True


def _is_list(cells: Any) -> bool:
    return bool(pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type))


def corpus_to_arrow(corpus: Corpus) -> pa.Table:
    """The corpus as a pyarrow table: one row per sentence, each cell a list of strings."""
    offsets = pa.array(corpus.starts - corpus.starts[0])
    columns = {}
    for name in corpus.columns:
        column = corpus.column(name)
        values = column.values
        buffers = (pa.py_buffer(np.ascontiguousarray(part)) for part in (values.starts, values.data))
        packed = pa.LargeStringArray.from_buffers(len(values), *buffers)
        columns[name] = pa.LargeListArray.from_arrays(offsets, packed.take(pa.array(column.codes)))
    return pa.table(columns)


def write_table(corpus: Corpus, path: str, format: str) -> None:
    """Write a Parquet or Feather file."""
    write = "write_table" if format == "parquet" else "write_feather"
    getattr(import_module(f"pyarrow.{format}"), write)(corpus_to_arrow(corpus), path)


def _to_arrow(source: Any) -> pa.Table:
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return source
    kind = (type(source).__module__.partition(".")[0], type(source).__name__)
    if kind == ("pandas", "DataFrame"):
        return pa.Table.from_pandas(source, preserve_index=False)
    if kind == ("polars", "LazyFrame"):
        return source.collect().to_arrow()
    if kind == ("polars", "DataFrame"):
        return source.to_arrow()
    if kind == ("datasets", "Dataset"):
        return source.with_format("arrow")[:]
    raise CorpusError("", None, f"cannot read a corpus from {type(source).__name__!r}; give a table")


def _flatten(name: str, cells: pa.Array, path: str, first_row: int) -> tuple[pa.Array, Longs]:
    """Flatten a column of lists to its items and the offsets of lists."""
    if not _is_list(cells):
        reason = f"column {name!r} holds {cells.type}, not lists of strings; for one token per row give the"
        raise CorpusError(path, None, f"{reason} column with the sentence identifier: sentence=NAME, columns=NAMES")
    _reject_nulls(name, cells, path, first=first_row)
    items, starts = cells.flatten(), starts_of(cells.value_lengths())
    if items.null_count:
        at = items.is_null().index(True).as_py()
        row = int(np.searchsorted(starts, at, "right")) - 1
        reason = f"misses value {at - starts[row]} of row {first_row + row} (both counted from 0)"
        raise CorpusError(path, None, f"column {name!r} {reason}; {MISSING}")
    return items, starts


def _holds_strings(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return str(kind) in ("string", "large_string", "string_view", "null")  # type null: all lists are empty


def _strings(name: str, items: pa.Array, path: str, first_row: int) -> Column:
    """Make a column of these items; ``first_row`` is the row of the first item if rows are tokens."""
    kind = items.type.value_type if pa.types.is_dictionary(items.type) else items.type
    if not _holds_strings(kind):
        reason = f"column {name!r} holds {kind}, not strings; convert it or select other columns with columns="
        raise CorpusError(path, None, reason)
    _reject_nulls(name, items, path, first=first_row)
    wide = items.cast(pa.large_string())
    if isinstance(wide, pa.ChunkedArray):
        wide = wide.combine_chunks()
    _, offsets, data = wide.buffers()
    starts = np.frombuffer(offsets, np.int64, len(wide) + 1, 8 * wide.offset) if len(wide) else np.zeros(1, np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    codes, distinct, ends = _core.intern_packed(Strings(text, starts))
    return Column(codes, Strings(distinct, ends))


def _reject_nulls(name: str, values: pa.Array, path: str, todo: str = MISSING, first: int = 0) -> None:
    if values.null_count:
        at = first + values.is_null().index(True).as_py()
        raise CorpusError(path, None, f"column {name!r} misses value {at} (counted from 0); {todo}")


def _runs(ids: pa.Array, name: str, path: str, first_row: int) -> Longs:
    """Rows where the value of a column changes (starts of sentences), and the end."""
    _reject_nulls(name, ids, path, "fill it forward first (pandas: ffill)", first_row)
    changes, n_values = _changes(ids)
    if len(ids) and len(changes) + 1 != n_values:
        reason = f"rows of one sentence by {name!r} are not contiguous; sort the table by this column"
        raise CorpusError(path, None, reason)
    return np.unique([0, *changes, len(ids)]).astype(np.int64)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
