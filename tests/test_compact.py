"""Compact model files: what is kept exactly, how far rounded weights are, and that damaged files are rejected."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import KINDS, model_of

import trellis
from trellis._support.compact import BLOCK, compact, expanded
from trellis._support.tensor_file import digest, read_tensors, safetensors_parts


def weights_of(model: trellis.Model) -> dict[str, Any]:
    tensors, _ = model._content()
    return {name: np.array(array) for name, array in tensors.items() if name.rpartition(".")[2] == "weights"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_models_of_all_tasks_load_again(kind: Any, tmp_path: Path) -> None:
    model = model_of(kind.name)
    original = weights_of(model)
    for weights in ("float32", "float16", "int8"):
        model.save(tmp_path / "model", compact=weights)
        assert (tmp_path / "model").read_bytes() == model.to_bytes(compact=weights)
        again = trellis.load(tmp_path / "model", **kind.needs)
        assert type(again) is type(model)
        for name, array in weights_of(again).items():
            assert array.dtype == np.float32
            largest = np.abs(original[name]).max(initial=0)
            if weights == "float32" or largest > 6e4 or original[name].nbytes <= 256:
                assert np.array_equal(array, original[name])
            elif weights == "float16":
                assert np.array_equal(array, original[name].astype(np.float16).astype(np.float32))
            else:  # by square roots: the error of a weight w is at most sqrt(w · largest) / 127
                bound = np.sqrt(np.abs(original[name]) * largest) / 126 + largest / 127**2
                assert (np.abs(array - original[name]) <= bound).all()
        if weights == "float32":
            outputs = [model.predict(x) for x in kind.inputs]
            assert [again.predict(x) for x in kind.inputs] == outputs


def random_tables(rng: np.random.Generator, sizes: list[int]) -> dict[str, Any]:
    """Tables of keys, filled by linear probing."""
    keys, ids, starts, number = list[int](), list[int](), [0], 0
    for size in sizes:
        n_slots = 2 * size + 1
        slots: list[tuple[int, int] | None] = [None] * n_slots
        for key in rng.choice(10**6, size, replace=False).tolist():
            at = (_mixed(key) >> 32) * n_slots >> 32
            while slots[at] is not None:
                at = (at + 1) % n_slots
            slots[at] = (key, number)
            number += 1
        keys += [0 if slot is None else slot[0] for slot in slots]
        ids += [-1 if slot is None else slot[1] for slot in slots]
        starts.append(len(keys))
    return {
        "tables.keys": np.array(keys, np.uint64),
        "tables.ids": np.array(ids, np.int32),
        "tables.starts": np.array(starts, np.int64),
    }


def _mixed(x: int) -> int:
    mask = 2**64 - 1
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
    return x ^ (x >> 31)


def test_tables_find_every_key_again() -> None:
    """Also where entries come round from the last slots to the first ones."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        tables = random_tables(rng, rng.integers(0, 60, 5).tolist())
        stored, recipes = compact({**tables, "x": np.arange(100, dtype=np.int32)}, "float32")
        again = expanded(stored, recipes)
        for begin, end in zip(tables["tables.starts"][:-1], tables["tables.starts"][1:], strict=True):
            keys, ids = again["tables.keys"][begin:end].tolist(), again["tables.ids"][begin:end].tolist()
            n_slots = len(keys)
            entries = zip(
                tables["tables.keys"][begin:end].tolist(), tables["tables.ids"][begin:end].tolist(), strict=True
            )
            wanted = {key: i for key, i in entries if i >= 0}
            assert sum(i >= 0 for i in ids) == len(wanted)
            for key, number in wanted.items():
                at = (_mixed(key) >> 32) * n_slots >> 32
                while ids[at] >= 0 and keys[at] != key:
                    at = (at + 1) % n_slots
                assert ids[at] == number


def test_arrays_of_all_types() -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        name: rng.integers(0, 100, (30, 40)).astype(name)
        for name in ("uint8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
    }
    arrays |= {"negative": -np.arange(1000, dtype=np.int64), "large": np.full(99, 2**64 - 1, np.uint64)}
    arrays |= {"none": np.empty(0, np.float32), "weights": np.full((3, BLOCK), -np.inf, np.float32)}
    for weights in ("float32", "int8"):
        again = expanded(*compact(arrays, weights))  # type: ignore[arg-type]
        assert all(
            np.array_equal(again[name], array) and again[name].dtype == array.dtype for name, array in arrays.items()
        )


def test_damaged_files_are_rejected(tmp_path: Path) -> None:
    corpus = {"word": [["a", "b", "c", "d"]] * 40, "tag": [[f"X{i}", "Y", "Z", "X"] for i in range(40)]}
    model = trellis.train(corpus, target="tag", learner=trellis.Perceptron(epochs=2))
    with pytest.raises(trellis.ArgumentError, match="compact must be one of 'float32', 'float16', 'int8' or None"):
        model.to_bytes(compact="int4")  # type: ignore[arg-type]
    model.save(tmp_path / "model", compact="int8")
    opened = read_tensors(tmp_path / "model", "a model")
    tensors = {name: np.array(array) for name, array in opened.tensors.items()}
    recipes: dict[str, Any] = json.loads(opened._recipes)
    name = next(name for name in recipes if "weights" in recipes[name])
    huge = np.frombuffer(zlib.compress(bytes(10**6)), np.uint8)

    def rejected(tensors: dict[str, Any], recipes: Any) -> None:
        how = json.dumps(recipes)
        header = {"format": opened.format, "text": opened.text, "compact": how}
        header["digest"] = digest(opened.text + how, tensors)
        (tmp_path / "damaged").write_bytes(b"".join(safetensors_parts(tensors, header)))
        with pytest.raises(trellis.ModelError) as error:
            trellis.load(tmp_path / "damaged")
        assert "\n" not in str(error.value)

    for array in (tensors[name][:-1], tensors[name][1:], tensors[name][:0], huge, np.zeros(9, np.int64)):
        rejected({**tensors, name: array}, recipes)
    for change in (
        {"shape": [10**9]},
        {"shape": [-1]},
        {"shape": [10**6]},
        {"dtype": "<f8"},
        {"dtype": "|O"},
        {"weights": "int4"},
    ):
        rejected(tensors, {**recipes, name: {**recipes[name], **change}})
    for other in ({**recipes, "nothing": recipes[name]}, [], 3, {name: 3}):
        rejected(tensors, other)
    table = next(name for name in recipes if "table" in recipes[name])
    rejected(tensors, {**recipes, table: {**recipes[table], "table": "nothing"}})
    starts = f"{recipes[table]['table']}.starts"
    plain = expanded(tensors, recipes)[starts]
    short = {name: recipe for name, recipe in recipes.items() if name != starts}
    for damaged in (plain + 1, plain[::-1].copy(), plain * 0, plain[:-1]):
        rejected({**tensors, starts: damaged}, short)
