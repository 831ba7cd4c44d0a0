"""What pages state of the program against the program: defaults, learners, parameters, extras, limits, addresses."""

from __future__ import annotations

import inspect
import json
import re
import runpy
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kinds import DECLARED

import trellis
from trellis._support.extras import EXTRAS, INSTALL, missing
from trellis.engine.weights import MANY_LABELS, MAX_ORDER
from trellis.features.functions import RARE
from trellis.features.presets import PRESETS
from trellis.interfaces.cli.main import parser_of
from trellis.interfaces.cli.serve import LIMITS
from trellis.interfaces.serve.app import DESCRIBED
from trellis.learners import LEARNERS
from trellis.tasks.tagging.options import LONGEST
from trellis.tasks.tagging.train import FREQUENT, SURE

ROOT = Path(__file__).parent.parent
DEVELOPERS = ("docs", "test", "engines", "lint", "bench")  # extras of those who work on trellis itself
DATA = {"word": [["the", "dog", "ran"], ["Ann", "saw", "it"]], "pos": [["D", "N", "V"], ["N", "V", "N"]]}
ONLINE = ("perceptron", "pa", "arow", "kernel-perceptron")


@cache
def pages() -> dict[str, str]:
    """README and all pages, but for those that are made from results."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files}


def project() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return settings


def stated(pattern: str) -> list[tuple[str, str]]:
    """Where pages state something: the page, and the first group."""
    found = [(name, match[1]) for name, text in pages().items() for match in re.finditer(pattern, text)]
    assert found, f"no page says {pattern}"
    return found


def test_the_default_learner() -> None:
    """The one that training takes, and the one that pages name."""
    learner = trellis.train(DATA, target="pos").training["learner"]
    assert (learner["name"], learner["epochs"], learner["shuffle"]) == ("MIRA", 15, True)
    assert learner == trellis.train(DATA, target="pos", learner=trellis.MIRA()).training["learner"]
    names = "|".join(LEARNERS.values())
    said = stated(rf"(?:`|\[)({names})(?:\(\)`)?(?:`|\]\(#\w+\)), the default\b")
    said += stated(rf"`({names})\(\)` is the default learner")
    said += stated(rf"default learner, ({names}),")
    assert {name for _, name in said} == {"MIRA"}
    assert {int(epochs) for _, epochs in stated(r"It is `MIRA\(\)`: (\d+) epochs over shuffled")} == {learner["epochs"]}


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.name)
def test_default_learners_of_the_pages_are_those_that_train(kind: Any) -> None:
    """The default of the option ``learner`` in the table of each task's page."""
    site = runpy.run_path(str(ROOT / "docs" / "site" / "options.py"))
    [page] = [page for page, table in site["PAGES"].items() if table is kind.table]
    [default] = re.findall(r"^\| `learner` \| `([^`]*)` \|", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE)
    learner = eval(f"trellis.{default}")
    said, taken = (kind.model.train(kind.data, **kind.options, **more) for more in ({"learner": learner}, {}))
    assert said.training["learner"] == taken.training["learner"]
    assert said.training["learner"]["name"] == type(learner).__name__


def test_epochs_of_learners() -> None:
    records = {name: trellis.train(DATA, target="pos", learner=name).training["learner"] for name in LEARNERS}
    epochs = {name: record.get("epochs") for name, record in records.items()}
    assert {epochs[name] for name in ONLINE} == {10}
    assert {n for name, n in epochs.items() if name not in (*ONLINE, "mira", "hmm")} == {1000}
    for _, said in stated(r"default: (\d+ of MIRA, \d+ of the other online learners and of AdaGrad, else \d+)"):
        assert said == f"{epochs['mira']} of MIRA, 10 of the other online learners and of AdaGrad, else 1000"
    assert trellis.train(DATA, target="pos", learner=trellis.CRF(solver="adagrad")).training["learner"]["epochs"] == 10


def test_learners_of_the_command_line() -> None:
    """The list of --learner, and headings for all of them."""
    for _, said in stated(r"\| `--learner NAME` \| ([\w, -]+), for constituency parsers also pcfg"):
        assert sorted(said.split(", ")) == sorted(LEARNERS)
    headings = {name for name, text in pages().items() if all(f"{learner}" in text for learner in LEARNERS.values())}
    assert any(name.endswith("learners.md") for name in headings)


def mentions() -> Iterator[tuple[str, str, list[str]]]:
    """Every learner with parameters in a page: the page, its class, the names of the parameters."""
    calls = re.compile(rf"(?<![.\w])(?:trellis\.)?({'|'.join(LEARNERS.values())})\(((?:[^()]|\([^()]*\))*)\)")
    for name, text in pages().items():
        for learner, arguments in calls.findall(text):
            yield name, learner, re.findall(r"(?:^|[\s,])(\w+)=(?!=)", arguments)


def test_parameters_that_pages_name_exist() -> None:
    checked = 0
    for page, learner, names in mentions():
        if "algorithm" in names:  # the class of sklearn-crfsuite's name
            continue
        known = inspect.signature(getattr(trellis, learner)).parameters
        assert set(names) <= set(known), f"{page}: {learner}({', '.join(names)})"
        checked += len(names)
    assert checked > 50


def test_extras_of_messages_are_those_of_the_project() -> None:
    optional = project()["optional-dependencies"]
    assert {name: list(needs) for name, needs in EXTRAS.items()} == {
        name: needs for name, needs in optional.items() if name not in DEVELOPERS
    }
    said = missing("serve", "serve")
    assert said == (
        'serve needs pydantic and uvicorn: pip install "pydantic>=2.8" "uvicorn>=0.30", or in a clone '
        "pip install '.[serve]'"
    )
    assert 'pip install "pandas>=2",' in missing("to_frame", "frames", "pandas")


def test_how_to_install_is_said_in_one_place() -> None:
    """No package is published: nothing may say that there is one; and messages have their commands from one file."""
    sources = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    for name, text in {**pages(), **sources}.items():
        assert not re.search(r"pip install (?:-U )?['\"]?trellis", text), f"{name}: there is no such package to install"
    commands = {name for name, text in sources.items() if "pip install" in text}
    assert commands == {"src/trellis/_support/extras.py"}
    assert INSTALL.format(extra="serve") == "pip install '.[serve]'"
    [install] = [text for name, text in pages().items() if name.endswith("install.md")]
    assert all(f".[{extra}]" in install for extra in EXTRAS)


def test_the_version_of_python() -> None:
    least = project()["requires-python"].removeprefix(">=")
    assert {version for _, version in stated(r"Python (3\.\d+) or newer and a")} == {least}


def test_the_dockerfile() -> None:
    """Its Python is new enough, its extra exists, and the command that it ends with is one."""
    [(name, text)] = [(name, text) for name, text in pages().items() if "```dockerfile" in text]
    versions = {version for _, version in re.findall(r"^FROM python:(3\.(\d+))-slim", text, re.MULTILINE)}
    assert len(versions) == 1, name
    assert int(versions.pop()) >= int(project()["requires-python"].removeprefix(">=3."))
    assert set(re.findall(r"\.whl\)\[(\w+)\]", text)) <= set(EXTRAS)
    [command] = [json.loads(said) for said in re.findall(r"^CMD (.*)$", text, re.MULTILINE)]
    assert command[:2] == ["trellis", "serve"]
    options = parser_of("serve").parse_args(command[2:])
    assert (options.host, options.port) == ("0.0.0.0", int(re.findall(r"^EXPOSE (\d+)$", text, re.MULTILINE)[0]))
    assert all(f"COPY {Path(model).name} {model}\n" in text for model in options.model)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"that number of preceding labels, from 0 to (\d+)", MAX_ORDER),
        (r"order 2 with at most (\d+) labels", MANY_LABELS),
        (r"longest segment in training, at most ([\d,]+) tokens", LONGEST),
        (r"for words seen at most (\w+) times in training", {10: "ten"}[RARE]),
        (r"words that occur N times or more \(True: (\d+)\)", FREQUENT),
        (r"smoothed: words below (\d+) occurrences", SURE),
        (r"`--max-bytes`, `--max-tokens`, `--max-sentences` \| (\d+) MiB", LIMITS["bytes"][0] >> 20),
        (r"`--max-bytes`, `--max-tokens`, `--max-sentences` \| \d+ MiB, ([\d,]+),", LIMITS["tokens"][0]),
        (r"`--max-bytes`, `--max-tokens`, `--max-sentences` \| \d+ MiB, [\d,]+, ([\d,]+) \|", LIMITS["sentences"][0]),
        (r"`--max-values` \| ([\d,]+) \|", LIMITS["values"][0]),
        (r"`--max-seconds` \| (\d+) \|", LIMITS["seconds"][0]),
        (r"`--max-requests` \| (\d+) \|", LIMITS["requests"][0]),
    ],
)
def test_limits(pattern: str, value: int | str) -> None:
    wanted = f"{value:,}" if isinstance(value, int) else value
    assert {said for _, said in stated(pattern)} == {wanted}


def test_addresses_of_the_server() -> None:
    """The table of endpoints is complete."""
    [text] = [text for name, text in pages().items() if "| endpoint | response |" in text]
    named = set(re.findall(r"(/[a-z][\w./]*)`", text[text.index("| endpoint |") : text.index("A request has one")]))
    assert named == set(DESCRIBED)


def test_presets_that_pages_name_exist() -> None:
    from trellis.features.arcs import ARC_PRESETS
    from trellis.features.phrases import PHRASE_PRESETS

    known = {*PRESETS, *ARC_PRESETS, *PHRASE_PRESETS}
    for page, name in stated(r"features=\"(\w+)\""):
        assert name in known or name == "template", page  # which is a file
    assert [str(t) for t in trellis.train(DATA, target="pos").model.vocabulary.templates] == [
        str(t) for t in trellis.train(DATA, target="pos", features="default").model.vocabulary.templates
    ]
