"""Which tool wrote a model file, by its first bytes; its reader is imported when one is met."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from trellis.tasks.tagging.chain_model import ChainModel

FOREIGN_HEAD = 64  # bytes that are enough to tell
_CRFSUITE, _WAPITI, _CRFPP = b"lCRF", b"#mdl#", struct.pack("<Ii", 100, 0)
NLTK_PARTS = ("weights", "tagdict", "classes")
_CRFPP_TEXT = re.compile(rb"version: \d+\r?\ncost-factor:")


def is_nltk(path: Path) -> bool:
    """Whether it is a folder with the three files of NLTK's perceptron tagger, or one of them."""
    names = path.glob("*.json") if path.is_dir() else [path]
    return any(one.name.endswith(f".{part}.json") for one in names for part in NLTK_PARTS)


def is_foreign(head: bytes) -> bool:
    """Whether a file that begins so is of CRFsuite, CRF++ or Wapiti."""
    return head.startswith((_CRFSUITE, _WAPITI, _CRFPP)) or _CRFPP_TEXT.match(head) is not None


def read_foreign(data: bytes) -> ChainModel | None:
    """The model in such a file, None if it is of another kind; ModelError if it is damaged."""
    if not isinstance(data, bytes | bytearray | memoryview) or not is_foreign(bytes(data[:FOREIGN_HEAD])):
        return None  # what is no bytes at all is rejected where ours are read
    if bytes(data[:4]) == _CRFSUITE:
        from trellis.interfaces.compat.crfsuite_file import read_crfsuite

        return read_crfsuite(bytes(data))
    from trellis.interfaces.compat.pattern_models import read_pattern_model

    return read_pattern_model(bytes(data))
