"""Parts of speech from words: UD English-EWT (UPOS and XPOS) and Brown (174 labels), one round for the peers."""

from __future__ import annotations

from benchmarks import works
from benchmarks.common import Result, Setting
from benchmarks.pos import NAMES, contests
from benchmarks.settings import LARGE_EPOCHS, POS_EPOCHS


def run(setting: Setting) -> Result:
    """The same as pos.py on larger works."""
    return contests(
        setting,
        [
            (works.upos, "EWT UPOS", POS_EPOCHS, NAMES[:2], 1),
            (works.xpos, "EWT XPOS", POS_EPOCHS, NAMES[:2], 1),
            (works.brown, "Brown", LARGE_EPOCHS, NAMES[:2], 1),
        ],
    )
