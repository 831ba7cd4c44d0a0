"""docs/format.md and docs/format.schema.json describe the model files that the program writes, and what it rejects."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from kinds import BY_NAME, KINDS, model_of

import trellis
from trellis._support import tensor_file
from trellis._support.errors import ModelError
from trellis._support.tensor_file import digest
from trellis.engine.weights import LARGE_TABLE_RATIO, MAX_ORDER, MOST_PAIRS, SMALL_TABLE
from trellis.tasks.model import FORMATS, TASKS, class_of

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "format.md").read_text("utf-8")
SCHEMA = json.loads((ROOT / "docs" / "format.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FILES = [path for path in sorted((ROOT / "tests" / "files" / "models").glob("*/*")) if path.suffix != ".json"]
BUILTIN = ROOT / "src" / "trellis" / "tasks" / "shelf" / "english.trellis"
WORDS = [["the", "man", "saw", "the", "Dog"], ["Ann", "saw", "it"], ["two", "dögs", "barked"]] * 2
CHUNKS = [["B-NP", "I-NP", "O", "B-NP", "I-NP"], ["B-NP", "O", "B-NP"], ["B-NP", "I-NP", "O"]] * 2
PLAIN = ["word[0]", "word[-1] & word[0]", "shape(word[0])"]
# Taggers with parts that no kind of kinds.py has.
TAGGERS: dict[str, dict[str, Any]] = {
    "crf of order 2": {"learner": trellis.CRF(epochs=3), "order": 2},
    "pruned by levels": {
        "learner": trellis.CRF(epochs=3),
        "order": 2,
        "search": trellis.Search(prune=[0.99, 0.95]),
    },
    "label n-grams": {"features": ["word[0]", "label[-1] & word[0]", "label[-3..-1] & word[0]"]},
    "beam": {"features": ["word[0]", "label[-2] & word[0]", "label[same]"], "search": trellis.Search(beam=4)},
    "voted": {"learner": trellis.Perceptron(epochs=2, vote=True)},
    "kernel": {"learner": trellis.HMSVM(kernel="poly", epochs=2)},
    "two passes": {"documents": True},
    "parts of labels": {"labels": trellis.Labels(parts="-")},
    "tag dictionary": {"search": trellis.Search(tag_dictionary="smoothed")},
    "free-form attributes": {"features": ["attributes[0]", "label[-1] & attributes[0]"]},
    "vectors": {"features": ["word[0]", 'vector(word[0], "vectors.txt")']},
    "dictionary of a file": {
        "features": ["word[0]", 'begins(word[0], "entries.txt")', 'in_list(word[0], "entries.txt")']
    },
    "hmm": {"learner": trellis.HMM(), "features": "hmm"},
    "notes": {"info": {"note": "ours", "version": 3}},
    "early stopping": {"dev": {"word": WORDS, "chunk": CHUNKS}},
}


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header as the schema has it, and the data."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    for name in {"text", "compact"} & set(header["__metadata__"]):
        header["__metadata__"][name] = json.loads(header["__metadata__"][name])
    return header, data[end:]


def joined(header: dict[str, Any], data: bytes, *, sign: bool = True) -> bytes:
    """Rebuild a file with a valid digest."""
    header = copy.deepcopy(header)
    metadata = header.get("__metadata__")
    if isinstance(metadata, dict) and "text" in metadata:
        metadata["text"] = text = json.dumps(metadata["text"])
        if sign:
            tensors = {
                name: np.frombuffer(data[slice(*entry["data_offsets"])], tensor_file._DTYPES[entry["dtype"]]).reshape(
                    entry["shape"]
                )
                for name, entry in header.items()
                if name != "__metadata__"
            }
            metadata["digest"] = digest(text, tensors)
    packed = json.dumps(header).encode()
    packed += b" " * (-len(packed) % 8)
    return len(packed).to_bytes(8, "little") + packed + data


def why(header: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(header)]


def contained(data: bytes) -> Iterator[bytes]:
    """A file, and the files in its tensors."""
    yield data
    header, rest = split(data)
    for name in ("tagger", "first"):
        if name in header:
            yield from contained(rest[slice(*header[name]["data_offsets"])])


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", [*FILES, BUILTIN], ids=lambda path: path.stem)
def test_files_of_all_releases_follow_the_schema(path: Path) -> None:
    for data in contained(path.read_bytes()):
        assert not why(split(data)[0])


@pytest.mark.parametrize("name", BY_NAME)
def test_models_of_every_task_follow_the_schema(name: str) -> None:
    for data in contained(model_of(name).to_bytes()):
        assert not why(split(data)[0])


@pytest.mark.parametrize("name", BY_NAME)
def test_compact_files_follow_the_schema(name: str) -> None:
    for weights in ("float32", "float16", "int8"):
        header, _ = split(model_of(name).to_bytes(compact=weights))
        assert not why(header)
        recipes = header["__metadata__"]["compact"]
        assert set(recipes) <= set(header)
        known = SCHEMA["$defs"]["recipe"]["properties"]
        assert all(set(recipe) <= set(known) for recipe in recipes.values())
        for recipe in recipes.values():
            del recipe["shape"]
        assert bool(why(header)) == bool(recipes)


@pytest.mark.parametrize("name", TAGGERS)
def test_taggers_with_other_parts_follow_the_schema(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vectors.txt").write_text("".join(f"{word} {i} 1.5\n" for i, word in enumerate(WORDS[0])))
    Path("entries.txt").write_text("the man\nAnn\n")
    options = {"features": PLAIN, "learner": trellis.Perceptron(epochs=2), **TAGGERS[name]}
    column = "attributes" if name == "free-form attributes" else "word"
    data = {column: [[{"w": word} for word in words] for words in WORDS] if column != "word" else WORDS}
    tagger = trellis.train({**data, "chunk": CHUNKS}, target="chunk", **options)
    for data in contained(tagger.to_bytes()):
        header, _ = split(data)
        assert not why(header)
        unknown = [tensor for tensor in header if tensor != "__metadata__" and not described(tensor)]
        assert not unknown, "tensors that the schema does not describe"


def described(tensor: str) -> bool:
    """Whether the schema names a tensor of a tagger."""
    known = SCHEMA["$defs"]["tagger_tensors"]
    return tensor in known["properties"] or any(re.search(pattern, tensor) for pattern in known["patternProperties"])


# ------------------------------------------------------------ what both reject

Damage = Callable[[dict[str, Any]], Any]


def text(**changes: Any) -> Damage:
    """Other values in the JSON of the text."""
    return lambda header: header["__metadata__"]["text"].update(changes)


def without(*path: str) -> Damage:
    """A key less."""

    def change(header: dict[str, Any]) -> None:
        place = header
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]

    return change


TEXT = ("__metadata__", "text")
TAGGER: dict[str, Damage] = {
    **{
        f"no {name}": without(*TEXT, name)
        for name in (
            *("labels", "target", "order", "templates", "n_emission", "tables", "columns", "bag", "lookups", "info"),
            *("family", "temperature"),
        )
    },
    "no labels in the list": text(labels=[]),
    "labels are a number": text(labels=5),
    "negative order": text(order=-1),
    "order too high": text(order=MAX_ORDER + 1),
    "order is null": text(order=None),
    "templates are numbers": text(templates=[5, 6]),
    "templates are null": text(templates=None),
    "n_emission is negative": text(n_emission=-1),
    "tables are too few": text(tables=[5]),
    "tables are negative": text(tables=[-1, 0, 1]),
    "reach is negative": text(tables=[2, 0, -1]),
    "columns are null": text(columns=None),
    "a column without a name": text(columns=[{"views": ["value[0]"]}]),
    "a lookup that is null": text(lookups=[None]),
    "family unknown": text(family="logistic"),
    "temperature is 0": text(temperature=0),
    "temperature is text": text(temperature="warm"),
    "temperature too high": text(temperature=1e9),
    "training is a list": text(training=[]),
    "sentences are a list": text(training={"sentences": [1]}),
    "a history without epochs": text(training={"history": [{"loss": 1}]}),
    "a dev score that is text": text(training={"history": [{"epoch": 1, "dev_score": "x"}]}),
    "info is text": text(info="notes"),
    "a filter without a margin": text(filter={"most": 3}),
    **{
        f"no {name}": without(name)
        for name in ("plan.atoms", "plan.templates", "tables.keys", "tables.starts", "folds.ids", "rows.weights")
    },
    "no edge.places": without("edge.places"),
}
PARSER: dict[str, Damage] = {
    **{f"no {name}": without(*TEXT, name) for name in ("templates", "columns", "lookups", "labels", "projective")},
    "no templates of siblings": without(*TEXT, "templates", "siblings"),
    **{
        f"no {name}": without(name)
        for name in ("attributes.counts", "attributes.keys", "attributes.weights", "folds.keys")
    },
}
TREES: dict[str, Damage] = {
    **{f"no {name}": without(*TEXT, name) for name in ("grammar", "coarse", "templates", "prune", "family", "columns")},
    "no chains": without(*TEXT, "grammar", "chains"),
    "prune above 1": text(prune=2.0),
    "family unknown": text(family="x"),
    "no base": without("base"),
    "no lexicon": without("lexicon.tags"),
    "no rows": without("rows.starts"),
}
RERANKER: dict[str, Damage] = {
    **{f"no {name}": without(*TEXT, name) for name in ("k", "cost", "scale", "features", "info")},
    "k is 0": text(k=0),
    "k too large": text(k=10**7),
    "cost unknown": text(cost="errors"),
    "scale is 0": text(scale=0),
    "features are text": text(features="score"),
    "features are numbers": text(features=[1]),
    "no tagger": without("tagger"),
    "no weights": without("weights"),
}
STRUCTURED: dict[str, Damage] = {
    "no beam": without(*TEXT, "beam"),
    "beam is 0": text(beam=0),
    "another kind": text(kind="lattice"),
    "no names": without("names.data"),
}
PIPELINE: dict[str, Damage] = {
    "no parts": without(*TEXT, "parts"),
    "parts are a list": text(parts=[]),
    "parts are empty": text(parts={}),
    "no info": without(*TEXT, "info"),
    "no labels of the tokenizer": without(*TEXT, "parts", "tokenizer", "labels"),
    "no templates of a tagger": without(*TEXT, "parts", "tagger0", "templates"),
    "no columns of the parser": without(*TEXT, "parts", "parser", "columns"),
    "no rules of the expander": without(*TEXT, "parts", "expander", "rules"),
    "no entries of the lemmatizer": without(*TEXT, "parts", "lemmatizer", "entries"),
    "no tagger of the lemmatizer": without(*TEXT, "parts", "lemmatizer", "tagger"),
    **{
        f"no {name}": without(name)
        for name in (
            *("tokenizer.rows.weights", "tagger0.tables.keys", "parser.attributes.keys"),
            *("lemmatizer.keys", "lemmatizer.scripts", "lemmatizer.forms.data", "lemmatizer.tagger.rows.weights"),
        )
    },
}
CONTAINER: dict[str, Damage] = {
    "no metadata": without("__metadata__"),
    "metadata is a list": lambda header: header.update(__metadata__=[]),
    "no format": without("__metadata__", "format"),
    "no digest": without("__metadata__", "digest"),
    "no text": without("__metadata__", "text"),
    "another format": lambda header: header["__metadata__"].update(format="trellis-model-2"),
    "a type of another kind": lambda header: header["tables.keys"].update(dtype="BF16"),
    "an array that is a number": lambda header: header.update({"more": 3}),
    "a negative size": lambda header: header["tables.keys"].update(shape=[-1]),
    "nine dimensions": lambda header: header["tables.keys"].update(shape=[1] * 9),
    "no offsets": without("tables.keys", "data_offsets"),
    "negative offsets": lambda header: header["tables.keys"].update(data_offsets=[-8, 0]),
}
BY_TASK = {
    "tagger of spans": TAGGER,
    "segmenter": {name: TAGGER[name] for name in ("no labels", "order too high", "no plan.atoms")},
    "parser": PARSER,
    "tree parser": TREES,
    "reranker": RERANKER,
    "structured model": STRUCTURED,
    "pipeline": PIPELINE,
}
CASES = [(kind, name) for kind, damages in BY_TASK.items() for name in damages]


def test_every_task_has_damages() -> None:
    assert {BY_NAME[name].model.task for name in BY_TASK} == set(TASKS)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_damaged_headers_are_rejected_by_both(kind: str, name: str) -> None:
    header, data = split(model_of(kind).to_bytes())
    BY_TASK[kind][name](header)
    assert why(header)
    with pytest.raises(ModelError):
        trellis.Model.from_bytes(repacked(header, data), **BY_NAME[kind].needs)


def repacked(header: dict[str, Any], data: bytes) -> bytes:
    """A file of the tensors that the header still has."""
    parts, end = list[bytes](), 0
    for entry in sorted((e for name, e in header.items() if name != "__metadata__"), key=lambda e: e["data_offsets"]):
        part = data[slice(*entry["data_offsets"])]
        entry["data_offsets"] = [end, end + len(part)]
        end += len(part)
        parts.append(part)
    return joined(header, b"".join(parts))


@pytest.mark.parametrize("name", CONTAINER)
def test_damaged_containers_are_rejected_by_both(name: str) -> None:
    header, data = split(model_of("tagger").to_bytes())
    CONTAINER[name](header)
    assert why(header)
    with pytest.raises(ModelError):
        trellis.Model.from_bytes(joined(header, data, sign=False))


# ------------------------------------------------------------ the page


def rows_of(title: str) -> list[list[str]]:
    """The rows of every table of the page whose first column has this title."""
    found = re.findall(rf"^\| {re.escape(title)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)*)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for part in found for row in part.splitlines()]


def test_format_lines_of_the_page() -> None:
    rows = {row[0].strip("`"): (row[1].strip("`"), row[2].strip("`")) for row in rows_of("`format`")}
    assert rows == {name: (task, TASKS[task].class_name) for name, task in FORMATS.items()}
    assert set(SCHEMA["properties"]["__metadata__"]["properties"]["format"]["enum"]) == set(FORMATS)
    assert all(class_of(task).format == name for name, task in FORMATS.items())


def test_keys_of_the_page_are_those_of_the_schema() -> None:
    named = {name for row in rows_of("key") for name in re.findall(r"`([\w]+)`", row[0])}
    texts = ("tagger", "parser", "tree_parser", "reranker", "structured", "pipeline")
    assert named == {name for kind in texts for name in SCHEMA["$defs"][kind]["properties"]}


def test_arrays_of_the_page_are_those_of_the_schema() -> None:
    """Every tensor that the schema has begins like one in a table."""
    named = {re.split(r"[.*CIJ]", name)[0] for row in rows_of("array") for name in re.findall(r"`(\w[\w.*]*)`", row[0])}
    for kind in ("tagger", "parser", "tree_parser", "reranker", "structured", "pipeline"):
        known = SCHEMA["$defs"][f"{kind}_tensors"]
        names = {name.split(".")[0] for name in known["properties"]}
        names |= {re.match(r"\^(\w+?)(?=\[|\\)", pattern)[1] for pattern in known.get("patternProperties", ())}  # type: ignore[index]
        assert names <= named


def test_limits_of_the_page() -> None:
    limits = {row[0]: row[1] for row in rows_of("limit")}
    assert limits["Markov order"] == str(MAX_ORDER)
    assert limits["header"] == f"{tensor_file._MAX_HEADER:,} bytes"
    assert limits["table of label pairs or triples when loaded"].startswith(
        f"{SMALL_TABLE >> 20} MiB, or {LARGE_TABLE_RATIO} times"
    )
    assert f"2^{MOST_PAIRS.bit_length() - 1} cells" in PAGE
    checks = (ROOT / "bind" / "checks.hpp").read_text() + (ROOT / "bind" / "bind_features.cpp").read_text()
    assert f"{limits['labels']} labels".replace(",", "") in checks
    assert (
        f"kMaxReach = 1 << {int(limits['reach of a template'].split()[0].replace(',', '')).bit_length() - 1}" in checks
    )
    assert f"at most {tensor_file._MAX_DIMENSIONS} dimensions" in PAGE
    schema = SCHEMA["$defs"]
    assert schema["tensor"]["properties"]["shape"]["maxItems"] == tensor_file._MAX_DIMENSIONS
    assert schema["tensor"]["properties"]["dtype"]["enum"] == [*tensor_file._DTYPES]
    assert schema["tagger"]["properties"]["order"]["maximum"] == MAX_ORDER


def test_unknown_keys_and_arrays_are_ignored() -> None:
    for kind in BY_TASK:
        header, data = split(model_of(kind).to_bytes())
        header["__metadata__"]["text"]["later"] = 1
        header["later"] = {"dtype": "U8", "shape": [2], "data_offsets": [len(data), len(data) + 2]}
        assert not why(header)
        trellis.Model.from_bytes(joined(header, data + b"ab"), **BY_NAME[kind].needs)


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_arrays_are_aligned_and_padded(name: str) -> None:
    data = model_of(name).to_bytes()
    header, _ = split(data)
    start = 8 + int.from_bytes(data[:8], "little")
    assert start % 8 == 0
    for entry in (entry for array, entry in header.items() if array != "__metadata__"):
        assert (start + entry["data_offsets"][0]) % tensor_file._DTYPES[entry["dtype"]].itemsize == 0
