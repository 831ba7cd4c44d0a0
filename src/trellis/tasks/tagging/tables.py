"""A table of pandas, polars or pyarrow with its labels as a column more."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from trellis._support.errors import ArgumentError
from trellis.corpus.read import read

if TYPE_CHECKING:
    from trellis.tasks.tagging.decoding import Decode
    from trellis.tasks.tagging.model import Tagger


def tagged_table(
    tagger: Tagger, table: Any, sentence: str | None, name: str, decode: Decode, n_threads: int | None
) -> Any:
    """The same kind of table; where a row is a sentence, the new cells are lists of labels, else labels."""
    kind = type(table).__module__.partition(".")[0]
    if kind == "polars" and hasattr(table, "collect"):
        table = table.collect()
    if kind not in ("pandas", "polars", "pyarrow") or not hasattr(table, "columns"):
        raise ArgumentError(f"a table of pandas, polars or pyarrow is tagged, not {type(table).__name__!r}")
    names = list(table.column_names if kind == "pyarrow" else table.columns)
    if not isinstance(name, str) or not name or not name.isprintable():
        raise ArgumentError(f"column must be the name of the new column, not {name!r}")
    if sentence is not None and sentence not in names:
        raise ArgumentError(f"the table has no column {sentence!r} to tell sentences apart; it has {', '.join(names)}")
    if name in names:
        raise ArgumentError(f"the table has a column {name!r} already; name another by column=")
    absent = next((one for one in tagger.columns if one not in names), None)
    if absent is not None:
        raise ArgumentError(f"the table has no column {absent!r}, which the model reads; it has {', '.join(names)}")
    corpus = read(table, columns=list(tagger.columns), sentence=sentence)
    flat = tagger.tag_column(corpus, decode=decode, n_threads=n_threads).tolist()
    labels: list[Any] = flat if sentence else [flat[a:b] for a, b in pairwise(corpus.starts.tolist())]
    if kind == "pandas":
        import pandas as pd

        return table.assign(**{name: pd.Series(labels, index=table.index, dtype=object)})
    if kind == "polars":
        import polars as pl

        values = pl.String if sentence else pl.List(pl.String)
        return table.with_columns(pl.Series(name, labels, dtype=values))
    import pyarrow as pa

    values = pa.string() if sentence else pa.list_(pa.string())
    return table.append_column(name, pa.array(labels, values))
