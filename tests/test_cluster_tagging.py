"""Prediction over many files: the same bytes by one process and by workers, whatever happens to them.

Ray runs in processes of their own with a time limit each: one that hangs is a failure.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from command_line import Done, refused

import trellis
from trellis._support.replacing import replacing
from trellis.interfaces.cluster import ray_workers
from trellis.interfaces.cluster.workers import Job, ThisProcess

SECONDS = 150  # for a process with Ray; a loaded machine takes long to start it
PAGE = Path(__file__).parent.parent / "docs" / "cluster.md"
NOUNS, VERBS = ("dog", "cat", "boat", "tree"), ("sees", "likes", "finds")
SENTENCES = [["the", noun, verb] for noun in NOUNS for verb in VERBS]
LABELS = ["D", "N", "V"]
TABLES, N_GROUPS = 4, 6  # files of tables, and row groups of each

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None and os.environ.get("CI") != "true", reason="Ray is not installed: pip install '.[ray]'"
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, files of several formats in ``in``, and what one process makes of them in ``alone``."""
    folder = tmp_path_factory.mktemp("many")
    corpus = trellis.read({"word": SENTENCES, "pos": [LABELS] * len(SENTENCES)})
    trellis.train(corpus, target="pos", learner=trellis.Perceptron(epochs=2)).save(folder / "pos.trellis")
    (folder / "in").mkdir()
    words = SENTENCES * 500
    table = pa.table(
        {"id": range(len(words)), "word": words, "shape": [[1.5, 2.0]] * len(words), "text": ["."] * len(words)}
    )
    for i in range(TABLES):
        pyarrow.parquet.write_table(table, folder / "in" / f"{i}.parquet", row_group_size=len(words) // N_GROUPS)
    lines = "\n".join("".join(f"{word}\n" for word in sentence) for sentence in SENTENCES)
    (folder / "in" / "a.txt").write_text(lines)
    (folder / "in" / "b.txt.gz").write_bytes(gzip.compress(lines.encode()))
    trellis.write(trellis.read({"word": SENTENCES}), folder / "in" / "c.jsonl")
    run(folder, "predict -m pos.trellis in/* -o alone/ -q")
    return folder


def run(folder: Path, line: str, code: int = 0) -> str:
    """What a command line says, in a process with a time limit; ``in/*`` stands for the files."""
    files = [str(path.relative_to(folder)) for path in sorted((folder / "in").iterdir())]
    words = [word for part in line.split() for word in (files if part == "in/*" else [part])]
    return finish(subprocess.Popen([sys.executable, "-m", "trellis", *words], **of_process(folder)), code)


def of_process(folder: Path) -> dict[str, Any]:
    return {
        "cwd": folder,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
        "start_new_session": True,
    }


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """What it writes; a process that takes too long is killed with those that it started, and fails."""
    try:
        said, _ = process.communicate(timeout=SECONDS)
    finally:
        for pid in (*descendants(process.pid), process.pid) if process.poll() is None else ():
            os.kill(pid, signal.SIGKILL)
    assert process.returncode == code, said
    return said


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and theirs."""
    parents = dict[int, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for those that a killed process left."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".tmp"}


# ------------------------------------------------------------ in one process


@pytest.fixture
def here(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own with the same files, and in it."""
    for name in ("in", "alone", "pos.trellis"):
        (tmp_path / name).symlink_to(inputs / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_what_they_are_one_by_one(here: Path, call: Callable[..., Done]) -> None:
    assert set(contents(here / "alone")) == {path.name for path in (here / "in").iterdir()}
    for path in sorted((here / "in").iterdir()):
        assert call(f"predict -m pos.trellis in/{path.name} -o one-{path.name} --threads 1").code == 0
        assert (here / f"one-{path.name}").read_bytes() == (here / "alone" / path.name).read_bytes()


def test_other_columns_of_a_table_are_kept(here: Path, call: Callable[..., Done]) -> None:
    before, after = (pyarrow.parquet.read_table(here / name / "0.parquet") for name in ("in", "alone"))
    assert after.drop_columns(["pos"]) == before
    assert after.column("pos").to_pylist() == [LABELS] * len(before)
    assert pyarrow.parquet.ParquetFile(here / "alone" / "0.parquet").num_row_groups >= N_GROUPS
    wrong = before.append_column("pos", before.column("id")).select(["pos", "id", "word"])  # filled in where it is
    pyarrow.feather.write_feather(wrong, "in.feather")
    assert call("predict -m pos.trellis in.feather -o out.feather").code == 0
    out = pyarrow.feather.read_table("out.feather")
    assert out.column_names == ["pos", "id", "word"]
    assert out.column("pos") == after.column("pos")
    assert call("predict -m pos.trellis in/0.parquet -o out.jsonl").code == 0
    assert trellis.read("out.jsonl").columns.keys() == {"word", "pos"}


def test_a_restart_skips_what_is_there(here: Path, call: Callable[..., Done]) -> None:
    Path("out").mkdir()
    Path("out/1.parquet").write_text("as it was")
    done = call(["predict", "-m", "pos.trellis", "in/*.parquet", "-o", "out/"])
    assert done.code == 0
    told = done.err.splitlines()
    assert told[0] == f"1 of {TABLES} outputs already exist in out/; skipped"
    assert told[-1] == f"predicting: {TABLES - 1} of {TABLES - 1} files, 0:00 left"
    assert contents(here / "out").pop("1.parquet") == b"as it was"
    assert (here / "out" / "2.parquet").read_bytes() == (here / "alone" / "2.parquet").read_bytes()
    done = call(["predict", "-m", "pos.trellis", "in/*.parquet", "-o", "out/", "--workers", "2"])  # Ray is not started
    assert done.err == f"{TABLES} of {TABLES} outputs already exist in out/; skipped\n"


def test_files_with_errors(here: Path, call: Callable[..., Done]) -> None:
    """A line for each of them, and the others are done."""
    rows = pa.table({"word": [["the"]] * 5 + [["the", None]] + [["dog"]]})
    pyarrow.parquet.write_table(rows, "null.parquet", row_group_size=3)
    Path("ragged.txt").write_text("the\ndog x\n")
    Path("cut.parquet").write_bytes((here / "in" / "0.parquet").read_bytes()[:-100])
    bad = ["null.parquet", "ragged.txt", "cut.parquet", "absent.txt"]
    done = call(["predict", "-m", "pos.trellis", *bad, "in/a.txt", "-o", "out/", "-q"])
    assert done.code == 2
    assert [line.partition(" ")[0] for line in done.err.splitlines()] == ["trellis:"] * len(bad)
    assert "null.parquet: column 'word' misses value 1 of row 5 (both counted from 0)" in done.err
    assert "ragged.txt:2: " in done.err
    assert {path.name for path in Path("out").iterdir()} == {"a.txt"}
    with pytest.raises(trellis.CorpusError, match="misses value 1 of row 5") as raised:
        trellis.cluster.predict_files("pos.trellis", bad, "out")
    assert len(raised.value.__notes__) == len(bad) - 1


def test_what_cannot_be(here: Path, call: Callable[..., Done]) -> None:
    refused(call("predict -m pos.trellis in/a.txt in/c.jsonl"), "--output")
    refused(call("predict -m pos.trellis in/a.txt in/../in/a.txt -o out/"), "both")
    refused(call("predict -m pos.trellis in/a.txt -o in/"), "would overwrite")
    refused(call("predict -m pos.trellis nosuch*.txt -o out/"), "no file matches")
    refused(call("predict -m pos.trellis - in/a.txt -o out/"), "standard input")
    refused(call("predict -m pos.trellis in/a.txt -o out/ --lenient"), "--lenient")
    refused(call("predict -m pos.trellis in/a.txt --ray auto"), "--workers")
    assert not Path("out").exists()
    Path("plain").write_text("")
    refused(call("predict -m pos.trellis in/a.txt in/b.txt.gz -o plain"), "plain: a file is there; name a folder")


def test_nothing_is_left_of_processes_that_were_killed(here: Path, call: Callable[..., Done]) -> None:
    for again in (False, True):
        target = here / "out" / "a.txt"
        target.parent.mkdir(exist_ok=True)
        with replacing(target, trellis.TrellisError) as temporary:
            (here / "out" / temporary.name.replace(temporary.name[-8:-4], "left")).write_text("half")
            temporary.write_text("all")
        if not again:
            target.unlink()
        assert len(list((here / "out").glob(".*.tmp"))) == 1
        assert call("predict -m pos.trellis in/a.txt -o out/ -q").code == 0
        assert [path.name for path in (here / "out").iterdir()] == ["a.txt"]


def test_ray_that_is_not_installed_is_one_line(
    here: Path, call: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refused(call("predict -m pos.trellis in/a.txt -o out/ --workers 2"), "pip install")


def test_ray_that_does_not_start_is_one_line(
    here: Path, call: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ray:
        init: Any = staticmethod(lambda *_, **__: waiting.wait())
        shutdown = staticmethod(lambda: None)

        def is_initialized(self) -> bool:
            return False

    waiting = threading.Event()

    monkeypatch.setattr(ray_workers, "imported", Ray)
    monkeypatch.setattr(ray_workers, "START_SECONDS", 0.1)
    line = "predict -m pos.trellis in/a.txt -o out/ --workers 2"
    refused(call(f"{line} --ray far:6379"), "Ray on far:6379 did not answer")
    waiting.set()

    def init(*_: Any, **__: Any) -> None:
        raise ConnectionError("no such cluster\nand more")

    monkeypatch.setattr(ray_workers, "START_SECONDS", 60)
    Ray.init = staticmethod(init)
    refused(call(line), "Ray on this machine: no such cluster")


def test_json_has_a_name_of_its_own(here: Path, call: Callable[..., Done]) -> None:
    assert call("predict -m pos.trellis in/b.txt.gz in/0.parquet -o out/ --json --confidence -q").code == 0
    assert {path.name for path in Path("out").iterdir()} == {"b.jsonl", "0.jsonl"}
    first = json.loads((here / "out" / "b.jsonl").read_text().splitlines()[0])
    assert (first["word"], first["labels"]) == (SENTENCES[0], LABELS)


def test_files_from_python(here: Path) -> None:
    outputs = trellis.cluster.predict_files("pos.trellis", ["in/*.parquet", Path("in/a.txt")], "out", threads=2)
    assert outputs == [f"out/{i}.parquet" for i in range(TABLES)] + ["out/a.txt"]
    assert all(Path(name).read_bytes() == Path("alone", Path(name).name).read_bytes() for name in outputs)
    with pytest.raises(trellis.ArgumentError, match="unknown option --nosuch"):
        trellis.cluster.predict_files("pos.trellis", "in/a.txt", "out", nosuch=1)
    for wrong in ("workers", "threads"):
        with pytest.raises(trellis.ArgumentError, match=wrong):
            trellis.cluster.predict_files("pos.trellis", "in/a.txt", "out", **{wrong: 0})
    named = trellis.cluster.predict_files("pos.trellis", "in/a.txt", "named", columns=["word"])
    assert Path(named[0]).read_bytes() == Path("alone/a.txt").read_bytes()


def test_tables_without_rows_and_words(here: Path, call: Callable[..., Done]) -> None:
    empty = pa.table({"id": pa.array([], pa.int64()), "word": pa.array([], pa.list_(pa.string()))})
    pyarrow.parquet.write_table(empty, "none.parquet")
    pyarrow.parquet.write_table(pa.table({"id": [1], "word": pa.array([[]], pa.list_(pa.string()))}), "blank.parquet")
    for name, lists in (("none", []), ("blank", [[]])):
        assert call(f"predict -m pos.trellis {name}.parquet -o {name}-out.parquet").code == 0
        assert pyarrow.parquet.read_table(f"{name}-out.parquet").column("pos").to_pylist() == lists


def test_jobs_of_this_process_in_order() -> None:
    said = list[Any]()

    def failing() -> int:
        raise PermissionError(13, "Permission denied", "secret.txt")

    jobs = [Job("a", (lambda: 1, lambda: 2), said.extend), Job("b", (lambda: 3, failing), said.extend)]
    (first, none), (second, error) = ThisProcess().run(jobs)
    assert (first.name, none, second.name, said) == ("a", None, "b", [1, 2, 3])
    assert str(error) == "secret.txt: cannot be read: Permission denied"


# ------------------------------------------------------------ functions of batches


def test_batches_of_all_kinds(here: Path) -> None:
    tag = pickle.loads(pickle.dumps(trellis.cluster.tag_batches("pos.trellis")))
    assert tag.model == str(here / "pos.trellis")
    table = pa.table({"id": [1, 2], "word": SENTENCES[:2]})
    tagged = table.append_column("pos", pa.array([LABELS] * 2))
    assert tag(table) == tagged
    assert tag(table.slice(0, 0)).schema == tagged.schema
    batches = list(tag(iter(table.to_batches(1))))  # of one row each
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    assert pa.Table.from_batches(batches) == tagged
    assert tag(table.slice(0, 0).to_batches()[0] if table.slice(0, 0).to_batches() else table.to_batches()[0])
    frame = pd.DataFrame({"word": SENTENCES[:2], "pos": ["?", "?"]}, index=[7, 8])
    assert tag(frame).to_dict() == {"word": dict(zip((7, 8), SENTENCES, strict=False)), "pos": {7: LABELS, 8: LABELS}}
    with pytest.raises(trellis.ArgumentError, match="takes tables"):
        tag(SENTENCES)
    with pytest.raises(trellis.ModelError, match="no such file"):
        trellis.cluster.tag_batches("nosuch.trellis")


def test_a_model_is_loaded_once_until_it_is_replaced(here: Path) -> None:
    from trellis.interfaces.cluster.tagging import mapped

    trellis.load("pos.trellis").save("own.trellis")
    first = mapped("own.trellis")
    assert mapped("own.trellis") is first
    trellis.load("pos.trellis").save("own.trellis")
    assert mapped("own.trellis") is not first


# ------------------------------------------------------------ Ray

SESSION = """
import contextlib, re, sys
import ray
import trellis
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
files = [f"in/{i}.parquet" for i in range(2)] + ["in/a.txt", "in/b.txt.gz", "in/c.jsonl"]
with contextlib.chdir(".."):  # where workers do not stand
    trellis.cluster.predict_files("pos.trellis", files, "by1", workers=1, timeout=60)
    assert ray.is_initialized()  # not ours to stop
    try:
        trellis.cluster.predict_files("pos.trellis", ["bad.parquet", *files], "by2", workers=2, timeout=60)
    except trellis.CorpusError as error:
        print(error)
for fence, block in re.findall(r"^```(python|py)\\n(.*?)^```", open(sys.argv[1]).read(), re.MULTILINE | re.DOTALL):
    if "predict_files" not in block and (fence == "python" or "import ray.data" in block or "register_ray" in block):
        exec(block)
"""


@needs_ray
def test_one_and_two_workers_and_the_examples_of_the_page(inputs: Path) -> None:
    rows = pa.table({"word": [["the"]] * 5 + [["the", None]] + [["dog"]]})
    pyarrow.parquet.write_table(rows, inputs / "bad.parquet", row_group_size=3)
    (inputs / "page").mkdir()
    said = finish(subprocess.Popen([sys.executable, "-c", SESSION, str(PAGE)], **of_process(inputs / "page")))
    assert "bad.parquet: column 'word' misses value 1 of row 5" in said
    alone, by1, by2 = (contents(inputs / name) for name in ("alone", "by1", "by2"))
    assert len(by1) == 5
    assert by1 == by2
    assert by1.items() <= alone.items()
    tagged = pyarrow.parquet.read_table(inputs / "page" / "by_ray")
    assert tagged.column("pos").to_pylist() == [["D", "N", "V"]] * 30


@needs_ray
def test_a_worker_is_killed(inputs: Path) -> None:
    command = [sys.executable, "-m", "trellis", "predict", "-m", "pos.trellis", "in/*.parquet", "-o", "killed/"]
    with subprocess.Popen([*command, "--workers", "2"], **of_process(inputs)) as process:
        killed = kill_worker(process)
        said = finish(process)
    assert killed is not None, said
    assert re.search(rf"predicting: {TABLES} of {TABLES} files, 0:00 left", said)
    alone = contents(inputs / "alone")
    assert contents(inputs / "killed") == {f"{i}.parquet": alone[f"{i}.parquet"] for i in range(TABLES)}


def kill_worker(process: subprocess.Popen[str]) -> int | None:
    """Kill a worker of Ray below this process while it predicts."""
    deadline = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        for pid in descendants(process.pid):
            try:
                title = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::in/"):
                os.kill(pid, signal.SIGKILL)
                return pid
        time.sleep(0.002)
    return None
