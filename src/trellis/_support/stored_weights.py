"""Weights of a model file in fewer bits: the float32 arrays ``weights`` and ``NAME.weights``."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Arrays
from trellis._support.errors import ArgumentError
from trellis._support.tensor_file import Tensors

Storage = Literal["float32", "float16", "int8"]
BLOCK = 256  # weights with one scale
LARGEST = 127  # of the integers


def stored(tensors: Tensors, kind: Storage) -> Tensors:
    """The arrays as a file has them.

    Of 8-bit integers each block has a scale in ``NAME.scales``: weight = integer · scale. Arrays with weights that
    float16 does not have, such as those of forbidden label pairs, stay as they are.
    """
    if kind not in get_args(Storage):
        raise ArgumentError(f"weights must be 'float32', 'float16' or 'int8', not {kind!r}")
    out = Arrays(tensors)
    for name in [] if kind == "float32" else [*map(str, tensors)]:
        array = tensors[name]
        if array.dtype != np.float32 or name.rpartition(".")[2] != "weights":
            continue
        if not np.abs(array).max(initial=0) <= np.finfo(np.float16).max:
            continue
        flat = np.ascontiguousarray(array).reshape(-1)
        if kind == "float16":
            out[name] = flat.astype(np.float16).reshape(array.shape)
        else:
            blocks = np.zeros(-(-len(flat) // BLOCK) * BLOCK, np.float32)
            blocks[: len(flat)] = flat
            blocks = blocks.reshape(-1, BLOCK)
            scales = np.abs(blocks).max(1) / np.float32(LARGEST)
            integers = np.rint(blocks / np.where(scales == 0, 1, scales)[:, None]).astype(np.int8)
            out[name] = integers.reshape(-1)[: len(flat)].reshape(array.shape)
            out[f"{name[: -len('weights')]}scales"] = scales
    return out


def restored(tensors: Tensors) -> Tensors:
    """The arrays with weights as float32; ValueError if they are damaged."""
    out = Arrays(tensors)
    for name in [name for name in tensors if tensors[name].dtype in (np.float16, np.int8)]:
        array, flat = tensors[name], tensors[name].reshape(-1).astype(np.float32)
        if array.dtype == np.int8:
            scales: npt.NDArray[Any] = out.pop(f"{name.removesuffix('weights')}scales")
            if scales.dtype != np.float32 or scales.shape != (-(-len(flat) // BLOCK),):
                raise ValueError("scales do not match the weights")
            flat *= np.repeat(scales, BLOCK)[: len(flat)]
        out[name] = flat.reshape(array.shape)
    return out
