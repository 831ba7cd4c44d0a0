"""The README and the guide are executed: every Python block of a page in turn, every `$ trellis` line of it."""

import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import trellis

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


# How models, corpora and training problems are stored: of no use to those who only call trellis.
STORED = {"Checkpoint", "Dual", "Expansion", "Extras", "FeatureNames", "LabelSets", "Sources", "Strings"}
STORED |= {"ArcVocabulary", "Ngrams", "PhraseVocabulary", "SegmentVocabulary", "Tables", "Vocabulary", "Votes"}
INSIDE = ("trellis._core", "trellis.reference")


def objects_of_the_api() -> dict[str, object]:
    """What docs/api.md documents, by name; of two with one name the first."""
    paths = re.findall(r"^::: (\S+)", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    return {path.rpartition(".")[2]: pkgutil.resolve_name(path) for path in reversed(paths)}


def test_everything_public_has_a_page() -> None:
    documented = objects_of_the_api()
    assert set(trellis.__all__) - {"__version__"} <= set(documented)
    assert all(documented[name] is getattr(trellis, name) for name in trellis.__all__ if name in documented)


def test_everything_returned_has_a_page() -> None:
    """Every class of trellis that a public function returns, or that a field of a returned object has."""
    documented = objects_of_the_api()
    classes = {
        name
        for module in list(sys.modules.values())
        if module is not None and module.__name__.startswith("trellis.")
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__.startswith("trellis.")
        if not value.__module__.startswith(INSIDE)
    }
    for owner, thing in documented.items():
        members = vars(thing) if isinstance(thing, type) else {owner: thing}
        annotations = list(getattr(thing, "__annotations__", {}).items()) if isinstance(thing, type) else []
        for name, member in members.items():
            function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
            returned = getattr(function, "__annotations__", {}).get("return", "")
            annotations.append((name, returned))
        for name, annotation in annotations:
            if not name.startswith("_") and name != "begin":
                missing = (set(re.findall(r"\w+", str(annotation))) & classes) - set(documented)
                assert missing <= STORED, f"{owner}.{name} has {missing}, which docs/api.md lacks"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
