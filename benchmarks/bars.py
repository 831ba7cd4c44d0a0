"""What was wanted of each work, what was seen, and whether it holds: all bars in one table."""

from __future__ import annotations

from typing import Any

from benchmarks.common import Result

Rows = list[dict[str, Any]]


def barred(rows: Rows) -> Rows:
    """The rows against a peer that have a bar."""
    return [row for row in rows if row.get("wanted") is not None and "times" in row]


def bars_of(results: dict[str, Rows]) -> Result | None:
    """A table of the bars of some results; None where they have none."""
    found = [
        {
            "bar": row["work"],
            "against": row["contender"],
            "wanted": row["wanted"],
            "times": row["times"],
            "least": row["least"],
            "most": row["most"],
            "met": row["met"],
        }
        for rows in results.values()
        for row in barred(rows)
    ]
    title = "bars: how many times better trellis is, best against best, and over the rounds"
    return Result(title, found) if found else None
