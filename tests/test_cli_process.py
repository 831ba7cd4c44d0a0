"""The command line as a process: signals, closed streams, terminals, what is left behind."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from command_line import COLUMNS, TRAIN, Done, refused, shell

import trellis

COMMAND = [sys.executable, "-m", "trellis"]


def wait_for(condition) -> None:  # type: ignore[no-untyped-def]
    """Until it holds; a test that waits in vain fails."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ------------------------------------------------------------ signals


@pytest.mark.usefixtures("control_c")
@pytest.mark.parametrize(
    "module",
    ["argparse", "numpy", "numpy.linalg", "numpy._core.multiarray", "trellis._core", "trellis.tasks.tagging"],
)
def test_control_c_within_an_import_is_one_line(chunk: Path, module: str) -> None:
    code = f"""
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = "trellis predict -m chunk.trellis test.txt -o out.txt".split()
from trellis.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "trellis: interrupted\n")
    assert not Path("out.txt").exists()


@pytest.mark.usefixtures("control_c")
def test_a_second_control_c_gives_up(here: Path) -> None:
    # One epoch is done, and both come in the second, as in a long one.
    code = f"""
import signal, sys
from contextlib import contextmanager
from trellis.interfaces.cli import train
@contextmanager
def interrupting(quiet):
    def observe(event):
        if event.epoch == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
    yield observe
train.watch_epochs = interrupting
sys.argv = "trellis train {TRAIN} --epochs 9 --model m".split()
from trellis.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 130
    told = done.stderr.splitlines()
    assert "training stops after epoch" in told[-2]
    assert told[-1] == "trellis: interrupted"
    assert not Path("m").exists()


@pytest.mark.usefixtures("control_c")
def test_control_c_before_the_first_epoch_gives_up(here: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "train", "-", "--model", "m"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: b"trellis/_core" in Path(f"/proc/{process.pid}/maps").read_bytes())
        process.send_signal(signal.SIGINT)
        assert process.communicate()[1] == "trellis: interrupted\n"
    assert process.returncode == 130


def test_a_background_job_does_not_hear_control_c(here: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # like a shell with a background job
    try:
        line = f"train {TRAIN} --epochs 300 --model m"
        with subprocess.Popen([*COMMAND, *line.split()], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for said in process.stderr:
                if "epoch 2 of" in said:
                    process.send_signal(signal.SIGINT)
            process.wait(60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.returncode == 0
    assert len(trellis.load("m").training["history"]) == 300


@pytest.mark.usefixtures("control_c")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_output_leaves_nothing_behind(chunk: Path, here: Path, number: int) -> None:
    before = children(here)
    command = [*COMMAND, "predict", "-m", "chunk.trellis", "-o", "out.txt"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: children(here) != before)  # its temporary file
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == 128 + number
    assert said == ("trellis: interrupted\n" if number == signal.SIGINT else "trellis: terminated\n")
    assert children(here) == before


def test_what_a_killed_process_leaves_is_removed_by_the_next(chunk: Path, here: Path) -> None:
    before = children(here)
    command = [*COMMAND, "predict", "-m", "chunk.trellis", "-o", "out.txt"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        wait_for(lambda: children(here) != before)
        process.kill()
    (left,) = children(here) - before
    for age, remains in ((3600, {left}), (25 * 3600, set())):  # seconds; a younger one may be another process's
        os.utime(here / left, (time.time() - age,) * 2)
        assert shell("trellis predict -m chunk.trellis test.txt -o out.txt").returncode == 0
        assert children(here) == before | {"out.txt"} | remains


# ------------------------------------------------------------ closed streams


@pytest.mark.parametrize(
    "line",
    [
        "predict -m chunk.trellis test.txt",
        "predict -m chunk.trellis test.txt --json",
        "evaluate -m chunk.trellis test.txt",
        "info -m chunk.trellis",
        "explain -m chunk.trellis the/DT",
    ],
)
def test_closed_standard_output_is_one_line(chunk: Path, line: str) -> None:
    done = shell(f"trellis {line} >&-")
    refused(Done(done.returncode, "", done.stderr), "<stdout>", "closed")


def test_closed_standard_output_where_nothing_is_written(chunk: Path, here: Path) -> None:
    done = shell(f"trellis train {TRAIN} --model m --quiet >&- && trellis predict -m m test.txt -o out.txt >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert (here / "out.txt").read_text().startswith("the DT B-NP B-NP\n")


def test_closed_standard_error_says_nothing_elsewhere(here: Path) -> None:
    done = shell(f"trellis train {TRAIN} --epochs 2 --model m 2>&-")
    assert (done.returncode, done.stdout) == (0, "")
    assert shell("trellis predict -m nosuch test.txt 2>&-").stdout == ""


def test_a_reader_that_leaves_is_no_error(chunk: Path) -> None:
    for line in (
        "info -m chunk.trellis --top 9999",
        "explain -m chunk.trellis < test.txt",
        "train --help",
        "--help",
    ):
        done = shell(f"bash -c 'set -o pipefail; trellis {line} | true'")
        assert done.stderr == ""


def test_what_standard_output_cannot_show_is_escaped(here: Path) -> None:
    (here / "umlaut.txt").write_text("wört Ä\n")
    assert shell("trellis train umlaut.txt --model m --quiet").returncode == 0
    done = shell("PYTHONIOENCODING=ascii trellis info -m m")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xc4" in done.stdout
    assert "wört Ä" in shell("PYTHONIOENCODING=ascii trellis predict -m m umlaut.txt").stdout  # bytes as they are


# ------------------------------------------------------------ terminals


def on_terminal(line: str, columns: int = 200) -> tuple[str, str]:
    """What a command writes to standard output, and to a terminal that is its standard error."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([*COMMAND, *line.split()], stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        shown = bytearray()
        while True:
            try:
                block = os.read(master, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            shown += block
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(master)
    assert process.returncode == 0, shown.decode()
    return out, shown.decode().replace("\r\n", "\n")


def states(shown: str) -> list[str]:
    """The states of lines that are written over."""
    return [state for state in re.split(r"\r\x1b\[K|\n", shown) if state]


def test_training_on_a_terminal_is_one_line(here: Path) -> None:
    out, shown = on_terminal(f"train {TRAIN} --dev test.txt --epochs 3 --model m")
    assert out == ""
    assert "None" not in shown
    assert shown.count("\n") == 3  # the corpus, the progress, the model
    seen = [state for state in states(shown) if state.startswith("training: ")]
    assert seen[0] == "training: extracting features"
    assert [re.match(r"training: epoch (\d) of 3", state)[1] for state in seen[1:]] == ["1", "2", "3"]  # type: ignore[index]
    assert all(word in seen[-1] for word in ("dev 100.00", "tokens/s", "0:00 left"))
    assert "(best)" in seen[1]


def test_lines_are_not_longer_than_the_terminal(here: Path) -> None:
    _, shown = on_terminal(f"train {TRAIN} --epochs 3 --model m", columns=30)
    seen = [state for state in states(shown) if state.startswith("training: ")]
    assert max(map(len, seen)) == 29


def test_an_objective_has_no_known_end(here: Path) -> None:
    _, shown = on_terminal("train train.txt --learner crf --model m")
    assert "training: epoch 1, objective" in shown
    assert " left" not in shown
    assert "None" not in shown


def test_tagging_to_a_file_counts_tokens(chunk: Path, here: Path) -> None:
    (here / "long.txt").write_text(COLUMNS * 3000)
    _, shown = on_terminal("predict -m chunk.trellis long.txt -o out.txt")
    seen = states(shown)
    assert re.fullmatch(r"predicting: [\d,]+ tokens, [\d,]+ tokens/s", seen[0])
    assert shown.endswith("\r\x1b[K")  # nothing stays
    assert on_terminal("predict -m chunk.trellis test.txt -o out.txt --quiet")[1] == ""


def test_comparing_shows_its_steps(chunk: Path, here: Path) -> None:
    out, shown = on_terminal("compare -m chunk.trellis -m chunk.trellis test.txt")
    assert "p < 0.05" in out
    steps = ["predicting with chunk.trellis"] * 2 + ["approximate randomisation", "bootstrap intervals"]
    assert states(shown) == steps
    assert shown.endswith("\r\x1b[K")  # nothing stays


def test_quiet_on_a_terminal(here: Path) -> None:
    assert on_terminal(f"train {TRAIN} --model m --quiet") == ("", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("line", ["--version", "--help", "train --help"])
def test_what_cannot_be_written_is_one_line(line: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *line.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "trellis: No space left on device\n")


def test_unbuffered_output_is_whole_or_an_error(tmp_path: Path) -> None:
    """A raw file may write only a part of its input."""
    (tmp_path / "t.txt").write_text("in python\n" * 200_000)
    line = f"ulimit -f 100; exec {sys.executable} -m trellis predict --words t.txt -q > out"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 2, done.stderr
