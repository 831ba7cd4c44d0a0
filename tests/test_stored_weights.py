"""Weights of model files in fewer bits: how far they are from those of the model, and what the files are good for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import KINDS, model_of

import trellis
from trellis._support.stored_weights import BLOCK, restored, stored
from trellis._support.tensor_file import read_tensors, write_tensors


def weights_of(model: trellis.Model) -> dict[str, Any]:
    tensors, _ = model._content()
    return {name: np.array(array) for name, array in tensors.items() if name.rpartition(".")[2] == "weights"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_models_of_all_tasks_load_again(kind: Any, tmp_path: Path) -> None:
    model = model_of(kind.name)
    original, sizes = weights_of(model), list[int]()
    for storage in ("float32", "float16", "int8"):
        model.save(tmp_path / "model", weights=storage)
        assert (tmp_path / "model").read_bytes() == model.to_bytes(weights=storage)
        again = trellis.load(tmp_path / "model", **kind.needs)
        sizes.append((tmp_path / "model").stat().st_size)
        assert type(again) is type(model)
        for name, array in weights_of(again).items():
            assert array.dtype == np.float32
            if storage == "float32" or np.isinf(original[name]).any():
                assert np.array_equal(array, original[name])
            elif storage == "float16":
                assert np.array_equal(array, original[name].astype(np.float16).astype(np.float32))
            else:
                assert np.abs(array - original[name]).max(initial=0) <= np.abs(original[name]).max(initial=0) / 250


def test_each_block_has_its_scale() -> None:
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=1000) * np.repeat([1.0, 100.0, 0.0, 1e-3], 250)).astype(np.float32)
    kept = stored({"rows.weights": weights, "weights": weights, "other": weights}, "int8")
    assert {name: kept[name].dtype.str for name in kept} == {
        **dict.fromkeys(("rows.weights", "weights"), "|i1"),
        **dict.fromkeys(("rows.scales", "scales", "other"), "<f4"),
    }
    assert len(kept["scales"]) == -(-1000 // BLOCK)
    found = restored(kept)
    assert set(found) == {"rows.weights", "weights", "other"}
    for begin in range(0, 1000, BLOCK):
        here = slice(begin, begin + BLOCK)
        error = np.abs(found["weights"][here] - weights[here]).max()
        assert error <= np.abs(weights[here]).max() / 253


def test_what_cannot_be_stored_or_read(tmp_path: Path) -> None:
    model = trellis.train({"word": [["a", "b"]], "tag": [["X", "Y"]]}, target="tag")
    with pytest.raises(trellis.ArgumentError, match="weights must be 'float32', 'float16' or 'int8', not 'int4'"):
        model.to_bytes(weights="int4")  # type: ignore[arg-type]
    for large in (1e5, -np.inf):
        assert stored({"weights": np.array([large], np.float32)}, "float16")["weights"].dtype == np.float32
    model.save(tmp_path / "model", weights="int8")
    opened = read_tensors(tmp_path / "model", "a model")
    tensors = {name: np.array(array) for name, array in opened.tensors.items()}
    name = next(name for name in tensors if name.endswith("scales"))
    for damaged in (
        {**tensors, name: tensors[name][:-1]},
        {**tensors, name: tensors[name].astype(np.float64)},
        {key: array for key, array in tensors.items() if key != name},
    ):
        write_tensors(tmp_path / "damaged", opened.format, damaged, opened.text)
        with pytest.raises(trellis.ModelError, match="damaged") as error:
            trellis.load(tmp_path / "damaged")
        assert "\n" not in str(error.value)
