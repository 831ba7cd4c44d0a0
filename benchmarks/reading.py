"""How fast column files are read, against a plain Python loop that splits lines into tuples of strings.

The reader also finds the distinct strings and where every token came from; the loop does neither.
"""

from __future__ import annotations

import trellis
from benchmarks.common import Result, Setting, best_of, seconds, versus
from benchmarks.rows import read_rows


def run(setting: Setting) -> Result:
    """Read the training file of CoNLL-2000 both ways in turn."""
    path = setting.file("conll2000/train.txt")
    ours, theirs = best_of(3 * setting.rounds, seconds(lambda: trellis.read(path)), seconds(lambda: read_rows(path)))
    return Result(
        "reading a column file",
        [versus("conll2000/train.txt, ms", 1000 * ours, 1000 * theirs, better="less")],
        "for line in file: line.split()",
    )
