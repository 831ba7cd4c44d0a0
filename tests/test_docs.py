"""The README and the guide are executed: every Python block of a page in turn, every `$ trellis` line of it."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    scope: dict[str, object] = {}
    for kind, block in BLOCK.findall(text):
        if kind == "python":
            exec(compile(block, str(page), "exec"), scope)
            continue
        for command in re.findall(r"^\$ trellis (.*)$", block, re.MULTILINE):
            done = subprocess.run(
                [sys.executable, "-m", "trellis", *shlex.split(command)],
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
