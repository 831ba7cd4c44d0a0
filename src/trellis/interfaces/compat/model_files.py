"""Models of other tools as taggers: the tool is detected by the first bytes; readers are imported on demand."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trellis._support.errors import ModelError
from trellis._support.replacing import replacing
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.model import Tagger

_HEAD = 64  # number of bytes that identify the tool
_CRFSUITE, _WAPITI, _CRFPP = b"lCRF", b"#mdl#", struct.pack("<Ii", 100, 0)
_CRFPP_TEXT = re.compile(rb"version: \d+\r?\ncost-factor:")
NLTK_PARTS = ("weights", "tagdict", "classes")


def read_file(path: str | os.PathLike[str], needs: Mapping[str, Any]) -> Tagger | None:
    """The tagger in a file of CRFsuite, CRF++, Wapiti or NLTK; None if it is of none of them."""
    place = Path(path)
    if _is_nltk(place):
        from trellis.interfaces.compat.nltk_files import read_nltk

        return _tagger(read_nltk(place), needs)
    try:
        with place.open("rb", buffering=0) as file:  # a large file is read with one allocation
            data = file.read(_HEAD)
            if _is_foreign(data):
                file.seek(0)
                data = file.read()
    except (OSError, ValueError):
        return None  # the next reader reports the error
    try:
        return read_bytes(data, needs)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def read_bytes(data: bytes, needs: Mapping[str, Any]) -> Tagger | None:
    """The tagger in the content of such a file, None if it is of another kind; ModelError if it is damaged."""
    if not _is_foreign(data[:_HEAD]):
        return None
    if data.startswith(_CRFSUITE):
        from trellis.interfaces.compat.crfsuite_file import read_crfsuite as read
    else:
        from trellis.interfaces.compat.pattern_models import read_pattern_model as read
    return _tagger(read(data), needs)


def write_file(model: ChainModel, path: str | os.PathLike[str], labels: Sequence[str] | None = None) -> None:
    """Write a tagger as a file of CRFsuite, ``labels`` in this order."""
    from trellis.interfaces.compat.crfsuite_file import write_crfsuite

    data = write_crfsuite(model, labels)
    with replacing(path, lambda reason: ModelError(f"cannot write {os.fspath(path)}: {reason}")) as temporary:
        temporary.write_bytes(data)


def _tagger(model: ChainModel, needs: Mapping[str, Any]) -> Tagger:
    if extra := next((name for name, value in needs.items() if value is not None), None):
        raise ModelError(f"a model of another tool does not take {extra}; omit it")
    return Tagger(model)


def _is_nltk(path: Path) -> bool:
    """Whether a path is a folder with the three files of NLTK's perceptron tagger, or one of them."""
    names = path.glob("*.json") if path.is_dir() else [path]
    return any(name.name.endswith(f".{part}.json") for name in names for part in NLTK_PARTS)


def _is_foreign(head: bytes) -> bool:
    """Whether a file with this beginning is of CRFsuite, CRF++ or Wapiti."""
    return head.startswith((_CRFSUITE, _WAPITI, _CRFPP)) or _CRFPP_TEXT.match(head) is not None
