"""Figures of README and the documentation agree with the stored results; the guard detects a slower kernel."""

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.contenders import commands
from benchmarks.guard import INSTRUCTIONS, compare
from benchmarks.kernels import kernels
from benchmarks.report import pages
from benchmarks.results_page import headline, panels

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def test_tables_agree_with_the_results_kept():
    for page, text in pages().items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name} is stale: run python -m benchmarks report"


def test_readme_is_short_and_begins_with_install_an_example_and_a_figure():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 80
    first = lines[:25]
    assert headline() in first
    assert re.search(r"\d+\.\d times as fast", headline())
    assert {"    make demo", "    make test", "    pip install ."} <= {
        line.partition("  #")[0].rstrip() for line in first
    }
    assert "```python" in first
    assert "```text" in first[:-1]


def test_examples_of_readme_print_what_it_shows():
    blocks = re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
    assert blocks
    for code, output in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "README.md", "exec"), {})
        assert printed.getvalue() == output


def test_the_picture_of_readme_compares_speed_at_equal_accuracy():
    for panel in panels():
        ours, theirs = (
            [row for row in panel["rows"] if row["contender"].startswith("trellis") == own] for own in (True, False)
        )
        assert min(row["quality"] for row in ours) >= max(row["quality"] for row in theirs) - 1e-9


def test_the_picture_of_readme_has_the_programs_that_readers_know():
    shown = {row["contender"] for panel in panels() for row in panel["rows"]}
    assert {"python-crfsuite", "Wapiti", "CRF++", "NLTK", "UDPipe"} <= shown


def _program(folder: Path, name: str, answer: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{answer}'\n", encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("peer", "command", "answer", "title"),
    [
        ("Wapiti", "wapiti", "Wapiti v1.5.0", "Wapiti 1.5.0"),
        ("Wapiti", "wapiti", "Wapiti 3.1.7 (wapiti-scanner.github.io)", None),
        ("CRF++", "crf_learn", "CRF++ of 0.59", "CRF++ 0.59"),
    ],
)
def test_programs_are_found_on_the_path(tmp_path, monkeypatch, peer, command, answer, title):
    monkeypatch.setenv("PATH", str(tmp_path))
    peers._said.cache_clear()
    assert peers.absent(peer) == [f"{peer} is not here."]
    _program(tmp_path, command, answer)
    assert [found.title for found in peers.present(peer)] == ([] if title is None else [title])
    peers._said.cache_clear()


def test_the_objective_is_the_last_that_a_program_prints(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = "  [   1] obj=1e+05 act=3\n  [   2] obj=12.50      act=3   err= 0.73%\n* Done"
    _program(tmp_path, "wapiti", lines)
    figures = commands.train_wapiti({"train": "train.txt"}, str(tmp_path / "model"))
    assert (figures["objective"], figures["epochs"]) == (12.5, 2)


def test_the_guard_names_the_kernel_that_became_slower():
    known = {"fast": {INSTRUCTIONS: 100.0}, "slow": {INSTRUCTIONS: 100.0}}
    result = compare(INSTRUCTIONS, {"fast": 140.0, "slow": 160.0, "new": 1.0}, known)
    assert [row.get("met") for row in result.rows] == ["yes", "NO", None]


def test_every_kernel_of_the_guard_runs(tmp_path):
    for kernel in kernels(tmp_path).values():
        kernel()


BENCHMARKS = sorted(path.relative_to(ROOT).with_suffix("") for path in (ROOT / "benchmarks").rglob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=str)
def test_every_benchmark_can_be_imported(path: Path) -> None:
    try:
        importlib.import_module(".".join(path.parts))
    except ModuleNotFoundError as error:  # of a peer, which make bench installs
        if str(error.name).partition(".")[0] in ("benchmarks", "experiments", "trellis"):
            raise
