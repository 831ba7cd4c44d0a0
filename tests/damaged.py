"""Model files that no training writes: to see that they are rejected."""

from __future__ import annotations

import json
from pathlib import Path

from trellis._support.tensor_file import pack_tensors
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.file import FORMAT, header_of, tensors_of


def model_bytes(model: ChainModel) -> bytes:
    """The file of a tagger's parts, whether they fit together or not."""
    return pack_tensors(FORMAT, tensors_of(model), json.dumps(header_of(model), ensure_ascii=False))


def save_model(model: ChainModel, path: Path) -> None:
    path.write_bytes(model_bytes(model))
