"""The README and the guide are executed: every Python block of a page in turn, every `$ trellis` line of it."""

import importlib
import inspect
import itertools
import pkgutil
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import call_within, parser_of

import trellis
from trellis.interfaces.cli.main import COMMANDS, module_of
from trellis.tasks.model import TASKS, class_of

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("README.md"))]
SOURCES = ("src", "core", "bind", "tests", "docs")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```(?:\n\n```(?:text)?\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).with_suffix("").as_posix())
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output of a code block is compared with the following block without a language."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    scope: dict[str, object] = {}
    for kind, block, output in BLOCK.findall(text):
        if kind == "python":
            capsys.readouterr()
            exec(compile(block, str(page), "exec"), scope)
            printed = re.sub(r" +$", "", capsys.readouterr().out, flags=re.MULTILINE)
            assert output.strip("\n") in printed, f"{page.name}: {block}"
            continue
        for command in re.findall(r"^\$ trellis (.*)$", block, re.MULTILINE):
            done = call_within(shlex.split(command))
            assert done.code == 0, done.err


# How models, corpora and training problems are stored: of no use to those who only call trellis.
STORED = {"Checkpoint", "Dual", "Expansion", "Extras", "FeatureNames", "LabelSets", "Sources", "Strings"}
STORED |= {"ArcVocabulary", "Counts", "Ngrams", "PhraseVocabulary", "SegmentVocabulary", "Tables", "Vocabulary"}
STORED |= {"Html", "Part", "Parts", "RayWorkers", "Template", "Votes"}
INSIDE = "trellis._core"


def objects_of_the_api() -> dict[str, object]:
    """What the pages in docs/api document, by name; of two with one name that of the shorter path."""
    pages = (ROOT / "docs" / "api").glob("*.md")
    paths = [path for page in pages for path in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE)]
    paths.sort(key=lambda path: (path.count("."), path))
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
        for name, annotation in ((name, getattr(one, "__origin__", one)) for name, one in annotations):
            if not name.startswith("_") and name != "begin":
                missing = (set(re.findall(r"\w+", str(annotation))) & classes) - set(documented)
                assert missing <= STORED, f"{owner}.{name} has {missing}, which docs/api lacks"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            source = (ROOT / "examples" / link).with_suffix(".ipynb")  # of a page that `make docs` makes
            assert (page.parent / link).exists() or source.exists(), f"{page.name}: {link}"


def test_files_of_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    files = [f"/{path.relative_to(ROOT)}" for folder in SOURCES for path in (ROOT / folder).rglob("*.*")]
    names = set(re.findall(r"`([\w/]+\.(?:py|pyi|hpp|cpp))`", text))
    assert len(names) > 40
    assert not {name for name in names if not any(path.endswith(f"/{name}") for path in files)}


def test_no_page_takes_the_name_of_one_of_the_theme() -> None:
    assert not {page.stem for page in PAGES} & {"search", "404", "genindex"}


# ------------------------------------------------------------ facts that the program knows


def table(page: str, title: str) -> list[list[str]]:
    """The rows of the table with this title in its first column, their cells without the bars."""
    lines = iter((ROOT / "docs" / page).read_text().splitlines())
    next(line for line in lines if line.startswith(f"| {title} |"))
    rows = itertools.takewhile(lambda line: line.startswith("|"), itertools.islice(lines, 1, None))
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


@pytest.mark.parametrize(("page", "title"), [("learners.md", "you want"), ("presets.md", "advice")])
def test_figures_of_a_summary_are_in_the_table_below(page: str, title: str) -> None:
    """Scores with two digits after the point; the table is made from results."""
    below = (ROOT / "docs" / page).read_text().partition("<!-- results")[2].partition("<!-- end of results -->")[0]
    figures = re.findall(r"\b\d\d\.\d\d\b", str(table(page, title)))
    assert len(figures) > 5
    assert not [figure for figure in figures if figure not in below]


@pytest.mark.parametrize(
    ("page", "title", "function"),
    [
        ("boosting.md", "parameter", trellis.SequenceBoost),
        ("hmsvm.md", "parameter", trellis.HMSVM),
    ],
)
def test_defaults_of_tables(page: str, title: str, function: Callable[..., object]) -> None:
    parameters = inspect.signature(function).parameters
    checked = 0
    for names, *_, default in table(page, title):
        for name in re.findall(r"`(\w+)`", names):
            assert name in parameters
            if code := re.fullmatch(r"`([^`]+)`|([\d.e-]+)", default):
                assert eval(code[1] or code[2]) == parameters[name].default, f"{page}: {name}"
                checked += 1
    assert checked


def test_pages_of_tasks_have_the_same_headings_and_the_tables_of_their_options() -> None:
    site = runpy.run_path(str(ROOT / "docs" / "site" / "options.py"))
    assert len(site["PAGES"]) == len(TASKS) + 1  # models.md, about all of them
    for page in site["PAGES"]:
        text = (ROOT / "docs" / page).read_text()
        assert text == site["written"](page), f"{page}: python docs/site/options.py"
        if page != "models.md":
            headings = re.findall(r"^## (.*)$", text, re.MULTILINE)[:7]
            assert headings == ["Train", "Predict", "k best", "Explain", "Evaluate", "Save and load", "Options"], page


def test_verbs_of_the_table() -> None:
    """Every verb of `Model` is in it, with the tasks that have an answer."""
    tasks = {row[0].strip("`"): class_of(row[0].strip("`")) for row in table("models.md", "task")}
    assert list(tasks) == list(TASKS)
    listed: set[str] = set()
    for verbs, _, answered in table("models.md", "verb"):
        names = re.findall(r"`(\w+)\(", verbs)
        listed |= set(names)
        for name in names:
            own = [task for task, kind in tasks.items() if getattr(kind, name) is not getattr(trellis.Model, name)]
            abstract = "_reject" in inspect.getsource(getattr(trellis.Model, name))
            assert answered == (", ".join(own) if abstract else "all"), name
    assert listed == {name for name in vars(trellis.Model) if name[0] != "_" and callable(getattr(trellis.Model, name))}


def test_commands_of_the_table() -> None:
    names = [name for row in table("command-line.md", "command") for name in re.findall(r"`([^`]+)`", row[0])]
    assert sorted(names) == sorted(COMMANDS)


LINE = re.compile(r"^(?:\$ |    |  )(?:echo .* \| |cat \S+ \| )?trellis ([^<>|\n]*)", re.MULTILINE)


def test_options_of_command_lines_exist() -> None:
    """In pages, also where they are not run, and in the help of every command."""
    texts = [(page.name, page.read_text()) for page in PAGES]
    texts += [(name, importlib.import_module(module_of(name)).__doc__ or "") for name in COMMANDS]
    checked = 0
    for place, text in texts:
        for line in LINE.findall(text):
            words = line.split()
            if not words or words[0] not in COMMANDS:
                continue
            task = re.search(r"--task (\w+)", line)
            name = f"{words[0]} {task[0]}" if task and words[0] in ("train", "cross-validate") else words[0]
            known = {option for action in parser_of(name)._actions for option in action.option_strings}
            unknown = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)} - known
            assert not unknown, f"{place}: {line}"
            checked += 1
    assert checked > 100


def test_extras() -> None:
    """The table has those of users with what they bring; what pages call an extra is one."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    brings = {
        name: {re.match(r"[\w-]+", one)[0] for one in some}  # type: ignore[index]
        for name, some in extras.items()
        if name not in ("docs", "test", "engines", "lint", "bench")
    }
    rows = table("install.md", "extra")
    assert {re.search(r"\.\[(\w+)\]", row[0])[1]: set(row[2].split(", ")) for row in rows} == brings  # type: ignore[index]
    for page in PAGES:
        text = page.read_text()
        assert "trellis-tagger[" not in text, f"{page.name}: there is no such package to install"
        named = re.findall(r"extra(?:\]\(install\.md#extras\))? `(\w+)`(?: or `(\w+)`)?", text)
        assert {name for names in named for name in names if name} <= set(brings), page.name
