"""Model files: what is saved is loaded, and what is damaged, foreign or hostile is refused."""

from __future__ import annotations

import importlib.resources
import io
import itertools
import json
import math
import os
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from samples import KINDS, PART_KINDS, Kind
from test_tagger import rows_of

import trellis
from trellis import Perceptron, _core
from trellis._support import tensor_file
from trellis._support.errors import ConstraintError, LearnerError, ModelError
from trellis.features import known
from trellis.tasks.tagging import file as model_file
from trellis.tasks.tagging.model import Tagger

Change = Callable[[dict[str, np.ndarray], dict[str, Any]], None]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("name", KINDS | PART_KINDS)
def test_round_trip(name: str, average: bool, tmp_path: Path) -> None:
    kind = (KINDS | PART_KINDS)[name]
    tagger = kind.train(learner=Perceptron(epochs=3, average=average))
    tagger.save(tmp_path / "model")
    loaded = trellis.load(tmp_path / "model")
    assert (loaded.labels, loaded.columns, loaded.target, loaded.order) == (
        tagger.labels,
        tagger.columns,
        tagger.target,
        tagger.order,
    )
    assert loaded.info == tagger.info
    assert repr(loaded) == repr(tagger)
    assert loaded.model.vocabulary.templates == tagger.model.vocabulary.templates
    for corpus in (kind.corpus(), kind.corpus(1, 30)):
        rows = rows_of(tagger, corpus)
        assert loaded.tag_batch(rows) == tagger.tag_batch(rows)
        assert loaded.tag_column(corpus).tolist() == tagger.tag_column(corpus).tolist()
        for sentence in rows[:8]:
            assert loaded.tag(sentence) == tagger.tag(sentence)
            assert loaded.kbest(sentence, 4) == tagger.kbest(sentence, 4)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_columns_of_any_name(tmp_path: Path) -> None:
    names = ["label", 'a "b"', "is_first", "ü, [0]", "bias"]
    corpus = trellis.read(
        {name: [[f"{name}{i % 3}" for i in range(5)]] * 3 for name in names} | {"y": [list("PQRPQ")] * 3}
    )
    file = tmp_path / "template"
    file.write_text("".join(f"U{c}:%x[{i},{c}]\n" for c in range(5) for i in (-1, 0)) + "B0:%x[0,0]/%x[-1,1]\nB\n")
    tagger = trellis.train(corpus, target="y", features=file)
    tagger.save(tmp_path / "model")
    loaded = trellis.load(tmp_path / "model")
    assert loaded.columns == tagger.columns == tuple(names)
    assert loaded.model.vocabulary.templates == tagger.model.vocabulary.templates
    assert loaded.tag_column(corpus).tolist() == tagger.tag_column(corpus).tolist() == list("PQRPQ") * 3


def test_unseen_words_after_loading(tmp_path: Path) -> None:
    """Functions and files are in the model: the views of words that training never saw are the same."""
    lookup = tmp_path / "clusters.txt"
    lookup.write_text("01\tone\n10\ttwo\n01\tthree\n")
    corpus = trellis.read([[("one", "X"), ("two", "Y")]] * 2, columns="word,label")
    features = [f'cluster(word[0], "{lookup}")', "suffix(word[0], 1)"]
    tagger = trellis.train(corpus, target="label", features=features, order=0)
    tagger.save(tmp_path / "model")
    lookup.unlink()
    assert trellis.load(tmp_path / "model").tag(["three", "zo", "ze", "two"]) == ["X", "Y", "X", "Y"]


@pytest.mark.parametrize("name", KINDS)
def test_safetensors_can_open_it(name: str, tmp_path: Path) -> None:
    tagger = KINDS[name].train()
    tagger.save(tmp_path / "model")
    with safe_open(tmp_path / "model", "numpy") as file:
        assert file.metadata()["format"] == "trellis-model-1"
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    ours = model_file.tensors_of(tagger.model)
    assert sorted(tensors) == sorted(ours)
    for key, array in ours.items():
        np.testing.assert_array_equal(tensors[key], array)
        assert tensors[key].dtype == array.dtype
    for key in tensors:
        if key.endswith("weights"):
            assert (tensors[key] != 0).all(), "zeros are not stored"


def test_the_same_training_gives_the_same_bytes(tmp_path: Path) -> None:
    """In this process and in another one, whatever the number of threads."""
    for name in ("functions", "files", "tag dictionary 2"):
        for i in range(2):
            KINDS[name].train(n_threads=1 + i, learner=Perceptron(shuffle=True)).save(tmp_path / str(i))
        assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import trellis\nfrom samples import KINDS\n"
        "tagger = KINDS['tag dictionary 2'].train(learner=trellis.Perceptron(shuffle=True))\n"
        f"tagger.save({str(tmp_path / '2')!r})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert (tmp_path / "2").read_bytes() == (tmp_path / "1").read_bytes()


def test_loading_imports_no_training_code(tmp_path: Path) -> None:
    KINDS["functions"].train().save(tmp_path / "model")
    code = (
        f"import sys, trellis\ntrellis.load({str(tmp_path / 'model')!r}).tag([('a', 'P1')])\n"
        "heavy = ('trellis.tasks.tagging.train', 'trellis.learners', 'trellis.evaluation', 'pyarrow', 'safetensors')\n"
        "print(*(name for name in sys.modules if name.startswith(heavy)))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "\n", "")


# ---------------------------------------------------------------------------- damage


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, bytes]:
    corpus = trellis.read([[("a1", "X"), ("b", "Y")], [("b", "Y")]], columns="word,label")
    tagger = trellis.train(
        corpus,
        target="label",
        features=["word[0]", "suffix(word[-1], 1)"],
        learner=Perceptron(epochs=2),
        search=trellis.Search(tag_dictionary=2),
    )
    tagger.save(tmp_path / "small")
    return tmp_path / "small", (tmp_path / "small").read_bytes()


def places(data: bytes) -> list[int]:
    """All of the header, and a sample of the arrays, which one digest guards: their first and last bytes among it."""
    end = 8 + int.from_bytes(data[:8], "little")
    return sorted({*range(end), *range(end, len(data), 5), len(data) - 1})


def test_every_changed_byte_is_noticed(small: tuple[Path, bytes]) -> None:
    path, data = small
    rng = np.random.default_rng(0)
    changed = bytearray(data)
    for at in places(data):
        was = data[at]
        # One bit, or any other byte; a blank of the header may become another blank.
        now = was ^ (1 << int(rng.integers(8)) if at % 2 else int(rng.integers(1, 256)))
        if was in b" \t\n\r" and now in b" \t\n\r":
            continue
        changed[at] = now
        path.write_bytes(changed)
        with pytest.raises(ModelError, match="small"):
            trellis.load(path)
        changed[at] = was
    path.write_bytes(changed)
    assert trellis.load(path).tag(["a1", "b"]) == ["X", "Y"]


def test_bytes_too_many_are_noticed(small: tuple[Path, bytes]) -> None:
    path, content = small
    path.write_bytes(content + b"more")
    with pytest.raises(ModelError, match="4 extra bytes at the end"):
        trellis.load(path)
    with pytest.raises(ModelError, match="4 extra bytes at the end"):
        trellis.Tagger.from_bytes(content + b"more")


def test_every_truncation_is_noticed(small: tuple[Path, bytes]) -> None:
    path, data = small
    for size in places(data):
        path.write_bytes(data[:size])
        with pytest.raises(ModelError, match="small"):
            trellis.load(path)


# ---------------------------------------------------------------------------- foreign files


def header_only(header: Any) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x",
        b"some text that is longer than eight bytes\n",
        b"\x00" * 64,
        b"\xff" * 64,
        header_only({}),
        header_only([]),
        header_only(5),
        header_only({"__metadata__": []}),
        header_only({"__metadata__": {"format": "pt"}}),
        header_only({"__metadata__": {"format": "trellis-model-1"}}),
        header_only({"__metadata__": {"format": "trellis-model-1", "digest": "", "text": 3}}),
        header_only({"__metadata__": {}, "a": 3}),
        header_only({"__metadata__": {}, "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}),
        header_only({"__metadata__": {}, "a": {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}}),
        header_only({"__metadata__": {}, "a": {"dtype": "F32", "shape": [], "data_offsets": [-4, 0]}}),
        header_only({"__metadata__": {}, "a": {"dtype": "F99", "shape": [], "data_offsets": [0, 0]}}),
        header_only({"__metadata__": {}, "a": {"dtype": "F32", "shape": [0, 2**80], "data_offsets": [0, 0]}}),
        header_only({"__metadata__": {}, "a": {"dtype": "F32", "shape": {}, "data_offsets": "ab"}}),
        header_only(b"[" * 100_000),
        header_only(b'{"__metadata__":' + b'{"a":' * 100_000),
        header_only(b"\xff\xfe"),
    ],
    ids=range(22),
)
def test_foreign_content(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="foreign"):
        trellis.load(path)


def test_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none: no such file"):
        trellis.load(tmp_path / "none")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelError, match="folder: a folder"):
        trellis.load(tmp_path / "folder")
    with zipfile.ZipFile(tmp_path / "zip", "w") as file:
        file.writestr("a", "content")
    with pytest.raises(ModelError, match="zip: not a trellis model"):
        trellis.load(tmp_path / "zip")
    for metadata in (None, {"format": "np"}):
        save_file({"weights": np.zeros((3, 4), np.float32)}, tmp_path / "other", metadata=metadata)
        with pytest.raises(ModelError, match=r"other: .*not a trellis model"):
            trellis.load(str(tmp_path / "other"))


# ---------------------------------------------------------------------------- hostile files


def write_hostile(tagger: Tagger, path: Path, change: Change) -> None:
    tensors = {name: np.array(array) for name, array in model_file.tensors_of(tagger.model).items()}
    header = model_file.header_of(tagger.model)
    change(tensors, header)
    text = json.dumps(header)
    metadata = {
        "format": model_file.FORMAT,
        "digest": tensor_file.digest(text, tensors),
        "text": text,
    }
    path.write_bytes(b"".join(tensor_file.safetensors_parts(tensors, metadata)))


def put(name: str, at: Any, value: float) -> Change:
    def change(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
        tensors[name][at] = np.array(value).astype(tensors[name].dtype)

    return change


def resize(name: str, n: int) -> Change:
    def change(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
        tensors[name] = np.resize(tensors[name], (n, *tensors[name].shape[1:]))

    return change


def head(name: str, value: Any) -> Change:
    def change(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
        header[name] = value

    return change


def both(*changes: Change) -> Change:
    def change(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
        for one in changes:
            one(tensors, header)

    return change


def reshape(name: str, shape: tuple[int, ...]) -> Change:
    return lambda tensors, header: tensors.update({name: tensors[name].reshape(shape)})


def drop(name: str) -> Change:
    return lambda tensors, header: tensors.pop(name) is None


def retype(name: str, dtype: str) -> Change:
    def change(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
        tensors[name] = tensors[name].astype(dtype)

    return change


def swap_ids(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """One attribute has two names, and another none."""
    ids = tensors["tables.ids"]
    ids[ids == 0] = 1


BIG, LOW = 2**31 - 1, -(2**31)


def puts(names: str, places: Sequence[Any], values: Sequence[float]) -> dict[str, Change]:
    """Every value at every place of every tensor."""
    cases = itertools.product(names.split(), places, values)
    return {f"{name} {at} = {value}": put(name, at, value) for name, at, value in cases}


def heads(name: str, *values: Any) -> dict[str, Change]:
    return {f"{name}: {value}": head(name, value) for value in values}


EVERY = slice(None)
TABLES = "tables.starts folds.starts tags.starts column0.starts column0.view1.starts bag.starts"
EMPTIED = (
    "tables.keys tables.starts folds.starts tags.starts tags.labels tags.set_of column0.starts column0.slots "
    "column0.view_ids rows.starts rows.labels edge_rows.starts edge.weights plan.templates plan.atoms "
    "bag.attributes"
)
HOSTILE: dict[str, Change] = {
    **puts("tables.ids tags.labels tags.set_of bag.attributes", (0, -1), (BIG, 10**6)),
    **puts("tables.ids folds.ids column0.slots bag.slots", (EVERY,), (0, LOW, BIG)),
    **puts(f"{TABLES} rows.starts edge_rows.starts", (0, 1, -1), (2**32 - 1, 2**31)),
    **puts(TABLES, (1,), (-1, 2**62, -(2**63))),
    **{f"{name} is empty": resize(name, 0) for name in EMPTIED.split()},
    **{f"{name} is longer": resize(name, 300) for name in EMPTIED.split()},
    **puts("column0.view_ids", ((0, 0), (0, 1)), (BIG, 10**4, 0, -2, LOW)),
    **puts("rows.labels", (0,), (3, 65535)),
    **puts("edge_rows.labels edge.places tri.places", (0,), (BIG,)),
    **puts("plan.atoms", [(0, j) for j in range(5)], (BIG, 100)),
    **puts("plan.atoms", [(0, j) for j in range(4)], (LOW, -100)),
    **puts("plan.templates", [(0, j) for j in range(3)], (BIG, LOW, -1, 200)),
    **heads("tables", [-1, 0, 9], [BIG, 0, 9], [0, 0, 0], [1, BIG, 9], [1, -1, 9], [5], "ab", None),
    **heads("n_emission", -1, 10**6, "x", None),
    **heads("order", -1, 3, 10**30, None),
    **heads("labels", [], ["A"], 5, None),
    **heads("columns", [], None, "ab"),
    **heads("lookups", [], [None], None),
    **heads("temperature", 0, -1.0, 1e-300, 1e9, math.nan, math.inf, "x"),
    **heads("training", {"sentences": [1]}, {"tokens": "x"}, {"history": [{"epoch": 1, "dev_score": "x"}]}),
    "a lone surrogate": lambda tensors, header: header["labels"].__setitem__(0, "\ud800"),
    "label pairs in the padding": put("edge_rows.labels", EVERY, 7),
    **heads("templates", ["word[0"], [5], None),
    **puts("column0.data column0.view1.data bag.data lookup0.data", (1,), (255, 0x80)),
    **puts("plan.templates", ((EVERY, 2), (EVERY, slice(0, 2))), (0,)),
    "attributes with two names": swap_ids,
    "no tables at all": both(head("tables", [-1, -1, 9]), resize("tables.starts", 0), resize("folds.starts", 0)),
    "reach": lambda tensors, header: header["tables"].__setitem__(2, BIG),
    "negative reach": lambda tensors, header: header["tables"].__setitem__(2, -1),
    "one column less": lambda tensors, header: header["columns"].pop(),
    "views that are none": lambda tensors, header: header["columns"][0].update(views=["bias"]),
    "views that are text": lambda tensors, header: header["columns"][0].update(views="ab"),
    "views too deep": lambda tensors, header: header["columns"][0]["views"].__setitem__(1, "lower(" * 5000),
    "templates of no column": both(head("templates", ["is_first"]), head("columns", [])),
    "nothing in the header": lambda tensors, header: header.clear(),
    "weights that are a matrix": reshape("rows.weights", (-1, 1)),
    **{f"no {name}": drop(name) for name in (*EMPTIED.split(), "column0.data", "tri.places", "lookup0.data")},
}
# Without these the model is another one, but not out of bounds.
for name in ("no tags.set_of", "no edge_rows.starts", "no column0.slots", "plan.atoms is longer"):
    del HOSTILE[name]

# What these change is another model, perhaps a senseless one, but within bounds.
HARMLESS: dict[str, Change] = {
    **puts("tags.starts column0.view1.starts bag.starts rows.starts edge_rows.starts", (1,), (3,)),
    **puts("plan.atoms", ((EVERY, 3),), (1, 63)),
    **puts("plan.atoms", ((EVERY, 4),), (-1,)),
    **puts("tables.keys", (EVERY,), (0,)),
    **puts("rows.weights edge.weights tri.weights", (EVERY,), (np.nan, np.inf, -np.inf, 3e38)),
    **puts("edge_rows.weights", (EVERY,), (np.nan, np.inf, -np.inf, 3e38)),
    "weights as integers": retype("rows.weights", "u4"),
    "ids as floats": retype("tables.ids", "f4"),
    "text as floats": retype("column0.data", "f4"),
    "atoms as floats": retype("plan.atoms", "f4"),
    "more labels": head("labels", list("ABCDEFGHI")),
    "no bag": head("bag", None),
    "all emission": head("n_emission", 6),
    "no dictionary": drop("tags.set_of"),
    "no edge rows": drop("edge_rows.starts"),
}


@pytest.fixture(scope="module")
def rich() -> tuple[Kind, Tagger]:
    """A model with something of everything."""
    kind = Kind(
        (
            *KINDS["folds"].templates,
            *KINDS["files"].templates,
            "suffix(word[0], 1)",
            "is_first",
            "attributes[0]",
            "label[-1] & pos[0]",
        ),
        {"order": 2, "search": trellis.Search(tag_dictionary=2)},
        bag=True,
        n_words=60,
    )
    return kind, kind.train()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_numbers(name: str, rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    tagger = rich[1]
    path = tmp_path / "hostile"
    write_hostile(tagger, path, HOSTILE[name])
    with pytest.raises(ModelError, match="hostile"):
        trellis.load(path)


@pytest.mark.parametrize(("order", "n_labels"), [(1, 20_000), (2, 410)])
def test_tables_of_many_labels_in_a_small_file_take_no_memory(order: int, n_labels: int, tmp_path: Path) -> None:
    """A dense table of label pairs or triples is made of the few weights that a file has."""
    corpus = {"w": [["a", "b"]] * 4, "y": [["A", "B"]] * 4}
    tagger = trellis.train(corpus, target="y", features=["w[0]"], order=order)

    def change(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
        header["labels"] = [str(i) for i in range(n_labels)]

    write_hostile(tagger, tmp_path / "hostile", change)
    with pytest.raises(ModelError, match=r"hostile: .*for the labels of a table of"):
        trellis.load(tmp_path / "hostile")


def test_looks_far_outside_and_many_labels_together_are_bounded(tmp_path: Path) -> None:
    tagger = trellis.train({"w": [["a", "b"]] * 4, "y": [["A", "B"]] * 4}, target="y", features=["w[0]"])

    def change(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:  # half a gigabyte for 11 kB
        header["labels"], header["tables"][2] = [str(i) for i in range(1000)], 1 << 16
        tensors["column0.view_ids"] += 2 << 16

    write_hostile(tagger, tmp_path / "hostile", change)
    with pytest.raises(ModelError, match=r"hostile: .*look too far"):
        trellis.load(tmp_path / "hostile")


@pytest.mark.filterwarnings("ignore::trellis.TrellisWarning")
def test_label_pairs_at_every_token_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of all label pairs per token: 20,000 labels would take 1.6 GB for one word."""
    corpus, labels = {"w": [["a", "b"]] * 4, "y": [["A", "B"]] * 4}, [str(i) for i in range(20_000)]
    tagger = trellis.train(corpus, target="y", features=["w[0]", "label[-1] & w[0]"])
    write_hostile(tagger, tmp_path / "hostile", lambda tensors, header: header.update(labels=labels))
    with monkeypatch.context() as patch:
        patch.setattr("trellis.engine.weights.SMALL_TABLE", 1 << 40)  # as if the file had enough weights for one table
        with pytest.raises(ModelError, match="templates of label pairs with 20,000 labels"):
            trellis.load(tmp_path / "hostile")
    many = {"w": [labels], "y": [labels]}
    with pytest.raises(LearnerError, match="needs a table of label pairs per token, too large with 20,000 labels"):
        trellis.train(many, target="y", features=["w[0]", "label[-1] & w[0]"])
    few = trellis.train(corpus, target="y", features=["w[0]"])
    write_hostile(few, tmp_path / "shared", lambda tensors, header: header.update(labels=labels[:5000]))
    tracemalloc.start()
    try:
        assert len(trellis.load(tmp_path / "shared").labels) == 5000
        assert tracemalloc.get_traced_memory()[1] < 4 * 5000 * 5008 * 1.1  # one table for all tokens, and no mask of it
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", HARMLESS)
def test_senseless_numbers_do_not_crash(name: str, rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    kind, tagger = rich
    write_hostile(tagger, tmp_path / "senseless", HARMLESS[name])
    try:
        loaded = trellis.load(tmp_path / "senseless")
    except ModelError:
        return
    for sentence in rows_of(loaded, kind.corpus(1, 30)):
        try:
            labels = loaded.tag(sentence)
        except (
            ConstraintError,
            ModelError,
        ):  # minus infinity forbids, other scores that are not finite are an error
            continue
        assert len(labels) == len(sentence)
        assert set(labels) <= set(loaded.labels)


def test_names_are_looked_up_when_asked_for(rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    write_hostile(rich[1], tmp_path / "model", put("tables.keys", EVERY, 2**62 - 1))
    with pytest.raises(ModelError, match="the model is damaged: a feature with a weight has no name"):
        trellis.load(tmp_path / "model").top_features(100)


def test_names_of_attributes_that_are_not_there(rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    """Keys of tables are taken apart when names are asked for; the ids in them may be any."""
    for keys in ("tables.keys", "folds.keys"):
        write_hostile(rich[1], tmp_path / "model", put(keys, EVERY, 2**40 - 1))
        with pytest.raises(ModelError, match="the model is damaged: a feature with a weight has no name"):
            list(known.attribute_names(trellis.load(tmp_path / "model").model.vocabulary, range(10**4)))


def assembled(tensors: dict[str, Any], body: bytes) -> bytes:
    """A file of that header."""
    header = {"__metadata__": {"format": model_file.FORMAT, "digest": "0" * 16, "text": "{}"}, **tensors}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


@pytest.mark.parametrize(
    ("tensors", "n"),
    [
        ({"a": {"dtype": "U8", "shape": [2**63 - 1] * 40_000, "data_offsets": [0, 8]}}, 8),  # a product of 40,000
        ({"a": {"dtype": "U8", "shape": [8] + [1] * 30, "data_offsets": [0, 8]}}, 8),
        (
            {name: {"dtype": "F64", "shape": [1], "data_offsets": [1, 9]} for name in "ab"}
            | {"c": {"dtype": "U8", "shape": [10], "data_offsets": [0, 10]}},
            10,
        ),  # which overlap: each is as long as the file
        ({"a": {"dtype": "U8", "shape": [4], "data_offsets": [4, 8]}}, 8),  # a gap
        ({"x" * 10_000: {"dtype": "U8", "shape": [4], "data_offsets": [0, 8]}}, 8),
    ],
)
def test_tensors_stand_one_after_the_other(tensors: dict[str, Any], n: int, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(assembled(tensors, bytes(n)))
    begun = time.process_time()
    with pytest.raises(ModelError, match="truncated or damaged at tensor") as caught:
        trellis.load(tmp_path / "m")
    assert time.process_time() - begun < 1.0
    assert len(str(caught.value)) < 500


def test_messages_of_damaged_models_are_short(rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    write_hostile(rich[1], tmp_path / "m", head("templates", ["word[0] " + "x" * 5000]))
    with pytest.raises(ModelError, match="damaged or not a trellis model") as caught:
        trellis.load(tmp_path / "m")
    assert len(str(caught.value)) < 500


def test_functions_of_a_newer_release(rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    write_hostile(rich[1], tmp_path / "m", head("templates", ["syllables(word[0])"]))
    with pytest.raises(ModelError, match=r"m: needs the function 'syllables', .*register_function.*update trellis"):
        trellis.load(tmp_path / "m")


def test_a_tree_of_segments_without_an_end(tmp_path: Path) -> None:
    corpus = {"word": [["a", "b", "c"]] * 3, "label": [["B-X", "I-X", "O"]] * 3}
    options: dict[str, Any] = {"features": ["word[0]"], "learner": trellis.Perceptron(epochs=1), "segments": True}
    tagger = trellis.train(corpus, target="label", **options)
    n = len(tagger.model.segments.vocabulary.nodes[0])
    for i in range(n):  # a node that is its own parent
        write_hostile(tagger, tmp_path / "m", put("segments.parents", i, i))
        with pytest.raises(ModelError):
            trellis.load(tmp_path / "m")


def test_strings_are_cut_between_characters(tmp_path: Path) -> None:
    corpus = {"word": [["é", "a"]], "tag": [["X", "Y"]]}
    tagger = trellis.train(corpus, target="tag", features=["word[0]"], learner=trellis.CRF(epochs=3))
    write_hostile(tagger, tmp_path / "model", put("column0.starts", 1, 1))
    with pytest.raises(ModelError, match="invalid table of strings"):
        trellis.load(tmp_path / "model")


def test_unchanged_is_not_hostile(rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    kind, tagger = rich
    write_hostile(tagger, tmp_path / "model", lambda tensors, header: None)
    corpus = kind.corpus(1, 30)
    assert trellis.load(tmp_path / "model").tag_column(corpus).tolist() == tagger.tag_column(corpus).tolist()


def test_digests_are_the_same_everywhere() -> None:
    """They stand in files; a round takes 128 bytes."""
    for n, digest in ((0, 0xF1EF9FBC926C5E8E), (128, 0x4AC74A464F9137B0), (300, 0x1ACAA5255A0E1A01)):
        assert _core.digest([np.arange(n, dtype=np.uint64).astype(np.uint8)]) == digest, n
    assert len({_core.digest([np.zeros(n, np.uint8)]) for n in range(400)}) == 400


@pytest.mark.parametrize("n", [128, 1000])
def test_one_wrong_bit_changes_a_digest(n: int) -> None:
    content = np.random.default_rng(n).integers(0, 256, n).astype(np.uint8)
    digests = {_core.digest([content])}
    for at in range(8 * n):
        content[at // 8] ^= 1 << at % 8
        digests.add(_core.digest([content]))
        content[at // 8] ^= 1 << at % 8
    assert len(digests) == 8 * n + 1


@pytest.mark.parametrize("by", [-100, 100])
def test_a_file_whose_size_changes_while_it_is_read(by: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that grew or was cut after its size was asked for."""
    path, tagger = tmp_path / "model", KINDS["plain"].train()
    tagger.save(path)
    stat = SimpleNamespace(st_size=path.stat().st_size + by)
    monkeypatch.setattr(tensor_file.os, "fstat", lambda file: stat)
    if by > 0:  # there is less than that
        assert trellis.load(path) == tagger
    else:
        with pytest.raises(ModelError, match="truncated"):
            trellis.load(path)


def test_unaligned_tensors(rich: tuple[Kind, Tagger], tmp_path: Path) -> None:
    """Another program may write the same content with a header that is no multiple of eight long."""
    kind, tagger = rich
    corpus = kind.corpus(1, 30)
    tagger.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    size = int.from_bytes(data[:8], "little")
    for more in range(1, 8):
        shifted = (size + more).to_bytes(8, "little") + data[8 : 8 + size] + b" " * more + data[8 + size :]
        (tmp_path / "shifted").write_bytes(shifted)
        assert trellis.load(tmp_path / "shifted").tag_column(corpus).tolist() == tagger.tag_column(corpus).tolist()


# ---------------------------------------------------------------------------- writing


def test_destinations_that_cannot_be_written(tmp_path: Path) -> None:
    tagger = KINDS["plain"].train()
    with pytest.raises(ModelError, match=r"cannot write .*model: No such file"):
        tagger.save(tmp_path / "none" / "model")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelError, match=r"cannot write .*folder"):
        tagger.save(tmp_path / "folder")
    with pytest.raises(ModelError, match="cannot write"):
        tagger.save(tmp_path / ("x" * 300))
    with pytest.raises(ModelError, match="cannot write"):
        tagger.save(tmp_path / "a\0b")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_saving_over_a_model_is_atomic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """If writing fails half way, the old model is still there and nothing else is."""
    path = tmp_path / "model"
    old, new = KINDS["plain"].train(), KINDS["order 2"].train()
    old.save(path)
    before = path.read_bytes()
    parts = tensor_file.safetensors_parts

    def failing(*args: Any) -> Any:
        for i, part in enumerate(parts(*args)):
            if i == 4:
                raise error(28, "No space left on device")
            yield part

    with monkeypatch.context() as patch:
        patch.setattr(tensor_file, "safetensors_parts", failing)
        with pytest.raises(ModelError if error is OSError else error):
            new.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    mapped = trellis.load(path)  # the old file stays mapped while the new one takes its name
    new.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert trellis.load(path).order == 2
    sentence = ["a", "b", "a"]
    assert mapped.tag(sentence) == old.tag(sentence)
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


# ------------------------------------------------------------ from elsewhere than a path


def test_load_from_an_open_file_or_a_resource(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = trellis.train({"w": [["a", "b"]], "y": [["A", "B"]]}, target="y", features=["w[0]"])
    package = tmp_path / "package_with_model"
    package.mkdir()
    (package / "__init__.py").touch()
    tagger.save(package / "m.trellis")
    with (package / "m.trellis").open("rb") as file:
        assert trellis.load(file).to_bytes() == tagger.to_bytes()
    monkeypatch.syspath_prepend(str(tmp_path))
    resource = importlib.resources.files("package_with_model") / "m.trellis"
    assert trellis.load(resource).to_bytes() == tagger.to_bytes()

    archive = tmp_path / "zipped.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("zipped_package/__init__.py", "")
        packed.write(package / "m.trellis", "zipped_package/m.trellis")
    monkeypatch.syspath_prepend(str(archive))
    inside = importlib.resources.files("zipped_package") / "m.trellis"
    assert trellis.load(inside).to_bytes() == tagger.to_bytes()


@pytest.mark.parametrize("given", [b"bytes", 3, io.StringIO("text")])
def test_what_cannot_be_loaded(given: Any) -> None:
    with pytest.raises(trellis.ArgumentError, match="path of a file"):
        trellis.load(given)


def test_folders_and_text_are_not_models(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a folder, not a trellis model"):
        trellis.load(tmp_path)
    with pytest.raises(trellis.ArgumentError, match="data must be bytes, as returned by to_bytes"):
        Tagger.from_bytes("abc")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a long text " * 500, "x" * 5000])
def test_a_text_in_place_of_a_path_is_cut(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        trellis.load(text)
    assert str(caught.value).startswith(f"{text[:60]!r}...: no such file; a string is a path")
