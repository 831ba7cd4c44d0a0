"""Files appear whole or not at all, and what killed processes leave behind is removed by a later save."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import trellis
from trellis._support.errors import CorpusError, ModelError
from trellis._support.replacing import replacing

KILLED = """
import os, signal, sys
from trellis._support.errors import ModelError
from trellis._support.replacing import replacing
with replacing(sys.argv[1], ModelError) as temporary:
    temporary.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_save_is_cleaned_up_by_a_later_one(tmp_path: Path) -> None:
    target, other = tmp_path / "model", tmp_path / "other"
    target.write_bytes(b"old")
    for path in (target, target, other):
        subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert target.read_bytes() == b"old"
    left = sorted(tmp_path.glob(".trellis-*.tmp"))
    assert len(left) == 3  # they may be under way
    for path in left:
        os.utime(path, times=(0, 0))
    with replacing(target, ModelError) as temporary:
        temporary.write_bytes(b"new")
        with replacing(target, ModelError) as another:  # a save that is perhaps under way is left alone
            another.write_bytes(b"newer")
        assert temporary.exists()
        assert target.read_bytes() == b"newer"
    assert target.read_bytes() == b"new"
    assert len(list(tmp_path.glob(".trellis-*.tmp"))) == 1  # that of the other path


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text there")
def test_names_of_files_that_are_not_utf8(tmp_path: Path) -> None:
    target = tmp_path / os.fsdecode(b"model\xff")
    with replacing(target, ModelError) as temporary:
        temporary.write_bytes(b"new")
    assert [os.fsencode(path.name) for path in tmp_path.iterdir()] == [b"model\xff"]


def test_models_checkpoints_and_corpora_leave_nothing_behind(tmp_path: Path) -> None:
    data = {"word": [["a", "b"]], "tag": [["A", "B"]]}
    tagger = trellis.train(data, target="tag", checkpoint=tmp_path / "checkpoint")
    tagger.save(tmp_path / "model")
    for name in ("a.txt", "a.jsonl", "a.parquet", "a.txt.gz"):
        trellis.write(trellis.read(data), tmp_path / name)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    umask = os.umask(0o027)
    try:
        tagger.save(tmp_path / "model")
    finally:
        os.umask(umask)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640


def test_files_are_synced_before_they_get_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[str]()
    sync, rename = os.fsync, Path.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def renamed(path: Path, target: Path) -> Path:
        done.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    with replacing(tmp_path / "model", ModelError) as temporary:
        temporary.write_bytes(b"x")
    assert done == ["file", "rename", "folder"]


def test_failures(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with pytest.raises(ZeroDivisionError), replacing(target, ModelError):
        _ = 1 / 0
    assert not list(tmp_path.iterdir())
    corpus = trellis.read({"word": [["a"]]})
    tagger = trellis.train({"word": [["a"]], "tag": [["A"]]}, target="tag")
    for path, why in (
        ("/dev/null", "not a regular file; choose another file"),
        (tmp_path, "not a regular file; choose another file"),
        (target / "x", "No such"),
    ):
        with pytest.raises(ModelError, match=f"cannot write {path}: {why}"):
            tagger.save(path)
        if path != "/dev/null":
            with pytest.raises(CorpusError, match=f"{path}: cannot be written: {why}"):
                trellis.write(corpus, path)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.txt", "a.csv", "a.txt.gz"])
def test_a_full_disk_names_the_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    monkeypatch.setattr("pyarrow.feather.write_feather", full)
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CorpusError, match=f"{name}: cannot be written: No space left on device"):
        trellis.write(trellis.read({"word": [["a"]]}), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_last_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails on some network file systems; the content is on the disk by then."""
    close = os.close

    def failing(handle: int) -> None:
        close(handle)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with replacing(tmp_path / "model", ModelError) as temporary:
        temporary.write_bytes(b"x")
        monkeypatch.setattr(os, "close", failing)
    assert (tmp_path / "model").read_bytes() == b"x"
