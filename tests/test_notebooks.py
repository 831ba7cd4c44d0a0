"""The notebooks run, give the outputs that are in them, stay small, and become pages of the site."""

from __future__ import annotations

import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from examples.notebooks.execute import NOTEBOOKS, bundle, execute, read
from trellis.features import functions

ROOT = Path(__file__).parent.parent
NEEDS = {"crfsuite": "pycrfsuite"}
IDS = [path.stem for path in NOTEBOOKS]


def outputs(notebook: dict[str, Any]) -> list[Any]:
    """What each code cell gives: its texts, and the kinds of its pictures and tables."""
    return [
        [
            ("".join(output.get("text", output.get("data", {}).get("text/plain", []))), sorted(output.get("data", {})))
            for output in cell["outputs"]
        ]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def test_there_are_three() -> None:
    assert IDS == ["algorithms", "crfsuite", "names"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_notebooks_give_their_outputs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])  # a cell may add to it
    monkeypatch.setitem(functions.OWN, "company_word", str.lower)  # which a notebook registers
    notebook, begin = read(path), time.process_time()
    done = execute(notebook, path.name)
    assert outputs(done) == outputs(notebook), f"python -m examples.notebooks {path.relative_to(ROOT)}"
    assert time.process_time() - begin < 60, "a notebook takes some seconds"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_notebooks_are_small_and_executed(path: Path) -> None:
    notebook = read(path)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert path.stat().st_size < 300_000
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert {output["output_type"] for cell in code for output in cell["outputs"]} <= {"stream", "execute_result"}
    text = path.read_text("utf-8")
    assert "Traceback" not in text
    assert str(ROOT) not in text
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)


def test_outputs_are_those_of_jupyter(capsys: pytest.CaptureFixture[str]) -> None:
    cells = ["x = 3\nprint('a')\nprint('b')\nx + 1", "display(x)\nNone", "", "class A:\n    pass\nA.__module__"]
    notebook = {"cells": [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]}
    first, second, third, fourth = (cell["outputs"] for cell in execute(notebook, "test")["cells"])
    assert [output["output_type"] for output in first] == ["stream", "execute_result"]
    assert first[0]["text"] == ["a\n", "b\n"]
    assert first[1]["data"] == {"text/plain": ["4"]}
    assert [output["output_type"] for output in second] == ["display_data"]
    assert third == []
    assert fourth[0]["data"]["text/plain"] == ["'__main__'"]
    assert capsys.readouterr().out == ""
    assert "outputs" not in notebook["cells"][0]
    with pytest.raises(ZeroDivisionError):
        execute({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]}, "test")


def test_rich_objects() -> None:
    class Table:
        def _repr_html_(self) -> str:
            return "<b>1</b>\n<i>2</i>"

    assert bundle(Table()) == {"text/html": ["<b>1</b>\n", "<i>2</i>"], "text/plain": ["<Table>"]}


def test_pages_of_the_site() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "site" / "notebooks.py"))["pages"]()
    assert set(pages) == {f"notebooks/{name}.md" for name in IDS}
    for path in NOTEBOOKS:
        page, notebook = pages[f"notebooks/{path.stem}.md"], read(path)
        assert page.startswith("# ")
        assert path.name in page.splitlines()[2]
        pictures = json.dumps(notebook).count("image/svg+xml")
        assert page.count('src="data:image/svg+xml;base64,') == pictures > 0
        for cell in notebook["cells"]:
            assert "".join(cell["source"]).splitlines()[-1] in page
