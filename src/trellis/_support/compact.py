"""Arrays of a model file in fewer bytes: weights of 8 or 16 bits, tables of keys without empty slots, all deflated.

An array becomes bytes (uint8) with a recipe in JSON: its type, its shape, and the steps to undo. Every step checks
what it reads, and nothing grows beyond the size that the recipe states and the file can justify.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Arrays

WeightType = Literal["float32", "float16", "int8"]
WEIGHT_TYPES: tuple[WeightType, ...] = ("float32", "float16", "int8")
SMALL = 256  # bytes of an array that stays as it is
BLOCK = 4096  # weights with one scale
MOST_GROWTH = 1032  # deflated bytes become at most so many times as many (the limit of the format)

Array = npt.NDArray[Any]
Recipe = dict[str, Any]


def compact(tensors: Mapping[str, Array], weights: WeightType) -> tuple[Arrays, dict[str, Recipe]]:
    """Compact arrays with their recipes, by name.

    Weights are the arrays of 32-bit floats called ``weights`` or ``NAME.weights``. Those with values that a 16-bit
    float does not have, such as the minus infinity of forbidden label pairs, keep their type.
    """
    out, recipes = Arrays(), dict[str, Recipe]()
    tables = _tables(tensors)
    for name, array in tensors.items():
        table = name.rpartition(".")[0]
        if table in tables and name.endswith((".keys", ".ids")):
            continue
        if array.nbytes <= SMALL:
            out[name] = array
        else:
            is_weights = array.dtype == np.float32 and name.rpartition(".")[2] == "weights"
            rounds = is_weights and np.abs(array).max() <= np.finfo(np.float16).max
            out[name], recipes[name] = _deflated(array, weights if rounds else "float32")
    for table in tables:
        keys, ids = _sorted_entries(*(tensors[f"{table}.{part}"] for part in ("keys", "ids", "starts")))
        for part, array in (("keys", keys), ("ids", ids)):
            name = f"{table}.{part}"
            out[name], recipes[name] = _deflated(array, "float32")
            recipes[name]["table"] = table
    return out, recipes


def expanded(tensors: Mapping[str, Array], recipes: Mapping[str, Recipe]) -> Arrays:
    """The arrays of compact ones; ValueError or LookupError for damaged ones."""
    out = {name: array for name, array in tensors.items() if name not in recipes}
    tables = dict.fromkeys(recipe["table"] for recipe in recipes.values() if "table" in recipe)
    for name, recipe in recipes.items():
        out[name] = _inflated(tensors[name], recipe)
    for table in tables:
        out |= _hashed(table, *(out[f"{table}.{part}"] for part in ("keys", "ids", "starts")))
    return out


# ------------------------------------------------------------ arrays as bytes


def _deflated(array: Array, weights: WeightType) -> tuple[Array, Recipe]:
    recipe: Recipe = {"dtype": array.dtype.str, "shape": list(array.shape)}
    flat = np.ascontiguousarray(array).reshape(-1)
    if array.dtype == np.float32 and weights != "float32":
        recipe["weights"] = weights
        data = flat.astype("<f2").tobytes() if weights == "float16" else _int8(flat)
        size = 2 if weights == "float16" else 1
    elif array.dtype.kind in "iu":
        data, size = (
            np.diff(flat.astype(np.uint64), prepend=np.uint64(0)).astype(f"<u{flat.itemsize}").tobytes(),
            flat.itemsize,
        )
    else:
        data, size = flat.tobytes(), flat.itemsize
    packed = zlib.compress(_planes(data, size), 9)
    return np.frombuffer(packed, np.uint8), recipe


def _inflated(packed: Array, recipe: Recipe) -> Array:
    kind, shape = np.dtype(recipe["dtype"]), tuple(int(n) for n in recipe["shape"])
    if kind.kind not in "iuf" or packed.dtype != np.uint8 or packed.ndim != 1 or min(shape, default=0) < 0:
        raise ValueError("a compact array of an unknown type")
    n = 1
    for length in shape:
        n *= length
    weights = recipe.get("weights")
    sizes = {None: n * kind.itemsize, "float16": 2 * n, "int8": n + 4 * (-(-n // BLOCK))}
    if weights not in sizes or (weights and kind != np.float32):
        raise ValueError("compact weights of an unknown type")
    size = sizes[weights]
    if size > MOST_GROWTH * (len(packed) + 16):
        raise ValueError("a compact array that is larger than its bytes can be")
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(packed.tobytes(), size + 1)
    except zlib.error as error:
        raise ValueError(f"compact bytes are damaged: {error}") from None
    if len(data) != size or not inflate.eof or inflate.unused_data:
        raise ValueError("a compact array of another size")
    if weights == "float16":
        flat = np.frombuffer(_unplanes(data, 2), "<f2").astype(np.float32)
    elif weights == "int8":
        flat = _from_int8(data, n)
    elif kind.kind in "iu":
        differences = np.frombuffer(_unplanes(data, kind.itemsize), f"<u{kind.itemsize}")
        flat = np.cumsum(differences, dtype=differences.dtype).view(kind)
    else:
        flat = np.frombuffer(_unplanes(data, kind.itemsize), kind)
    return flat.reshape(shape)


def _planes(data: bytes, size: int) -> bytes:
    """All first bytes of the numbers, then all second ones, ...: alike bytes come together."""
    return np.frombuffer(data, np.uint8).reshape(-1, size).T.tobytes() if size > 1 else data


def _unplanes(data: bytes, size: int) -> bytes:
    return np.frombuffer(data, np.uint8).reshape(size, -1).T.tobytes() if size > 1 else data


def _int8(weights: Array) -> bytes:
    """Weights by their square roots, so that small ones keep their precision: w = sign(q) (q / 127)² · largest."""
    n_blocks = -(-len(weights) // BLOCK)
    blocks = np.pad(weights, (0, n_blocks * BLOCK - len(weights))).reshape(n_blocks, BLOCK)
    largest = np.abs(blocks).max(axis=1)
    scaled = np.sqrt(np.abs(blocks) / np.where(largest > 0, largest, 1)[:, None])
    numbers = (np.sign(blocks) * np.rint(127 * scaled)).astype(np.int8)
    return bytes(largest.astype("<f4").tobytes() + numbers.reshape(-1)[: len(weights)].tobytes())


def _from_int8(data: bytes, n: int) -> Array:
    n_blocks = -(-n // BLOCK)
    largest = np.frombuffer(data, "<f4", n_blocks)
    numbers = np.frombuffer(data, np.int8, n, 4 * n_blocks).astype(np.float32) / np.float32(127)
    weights: Array = np.sign(numbers) * numbers * numbers * np.repeat(largest, BLOCK)[:n]
    return weights


# ------------------------------------------------------------ tables of keys (core/text/table.hpp)


def _tables(tensors: Mapping[str, Array]) -> list[str]:
    """The names of hash tables: arrays of keys, ids and starts, with 2 n + 1 slots for n entries."""
    kinds = {"keys": np.uint64, "ids": np.int32, "starts": np.int64}
    found = list[str]()
    for name in [name.removesuffix(".ids") for name in tensors if name.endswith(".ids")]:
        parts = [tensors.get(f"{name}.{part}") for part in kinds]
        if all(array is not None and array.dtype == kind for array, kind in zip(parts, kinds.values(), strict=True)):
            taken, starts = np.append(0, np.cumsum(tensors[f"{name}.ids"] >= 0)), tensors[f"{name}.starts"]
            if (2 * np.diff(taken[starts]) + 1 == np.diff(starts)).all():
                found.append(name)
    return found


def _sorted_entries(keys: Array, ids: Array, starts: Array) -> tuple[Array, Array]:
    """The keys of each table, ascending, and their ids."""
    order = [first + np.flatnonzero(ids[first:last] >= 0) for first, last in pairwise(starts.tolist())]
    order = [places[np.argsort(keys[places])] for places in order]
    places = np.concatenate([np.empty(0, np.int64), *order])
    return keys[places], ids[places]


def _hashed(name: str, keys: Array, ids: Array, starts: Array) -> Arrays:
    """The slots of tables: a table of n entries has 2 n + 1 slots."""
    lengths = np.diff(starts)
    if keys.ndim != 1 or keys.shape != ids.shape or (lengths < 1).any() or (lengths % 2 == 0).any():
        raise ValueError("a table of keys of another size")
    counts = lengths // 2
    if counts.sum() != len(keys):
        raise ValueError("a table of keys of another size")
    out_keys, out_ids = np.zeros(int(lengths.sum()), np.uint64), np.full(int(lengths.sum()), -1, np.int32)
    at = 0
    for first, n in zip((starts[:-1] - starts[0]).tolist(), counts.tolist(), strict=True):
        slots, order = _slots(keys[at : at + n], 2 * n + 1)
        out_keys[first + slots] = keys[at : at + n][order]
        out_ids[first + slots] = ids[at : at + n][order]
        at += n
    return {f"{name}.keys": out_keys, f"{name}.ids": out_ids}


def _slots(keys: Array, n_slots: int) -> tuple[Array, Array]:
    """The slots of keys by linear probing, and the order of the keys in them."""
    mixed = keys.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    first = (((mixed >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32)).astype(np.int64)
    order = np.argsort(first, kind="stable")
    first, places = first[order], np.arange(len(keys))
    slots = np.maximum.accumulate(first - places) + places
    if (n_over := int((slots >= n_slots).sum())) > 0:  # these come round to the first slots
        order = np.concatenate([order[-n_over:], order[:-n_over]])
        first = np.concatenate([np.zeros(n_over, np.int64), first[:-n_over]])
        slots = np.maximum.accumulate(first - places) + places
    if slots.max(initial=0) >= n_slots:
        raise ValueError("a table of keys that does not fit")
    return slots, order
