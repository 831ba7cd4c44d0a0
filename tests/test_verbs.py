"""Commands over models: every one takes the models of every kind, or says in one line of which tasks it takes them."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Done, refused
from kinds import DECLARED, KINDS, VERBS, Kind, model_of

import trellis
from trellis.interfaces.cli.main import COMMANDS
from trellis.interfaces.serve import server
from trellis.tasks.model import TASKS

# Commands that train, and those without a model.
TRAINING = ("train", "cross-validate")
OTHERS = ("clusters", "learners", "features", "models", "completion")


def test_every_command_is_here() -> None:
    assert sorted(COMMANDS) == sorted((*VERBS, *TRAINING, *OTHERS))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, where servers end at once."""

    def run(*values: Any, **options: Any) -> None:
        options["on_start"]("127.0.0.1", 1)

    monkeypatch.setattr(server, "run", run)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(kind: Kind) -> dict[str, list[str]]:
    """A command line of every verb."""
    name, words, read = kind.file[0], list(kind.words), list(kind.file_options)
    model = ["-m", "model.trellis"]
    return {
        "predict": [*model, name, *read],
        "evaluate": [*model, name, *read],
        "explain": [*model, *words],
        "draw": [*model, *words],
        "info": model,
        "dump": model,
        "compare": [*model, *model, name, *read],
        "report": [*model, name, *read, "-o", "page.html"],
        "calibrate": [*model, name, *read, "-o", "new.trellis"],
        "convert": [*model, "-o", "new.trellis"],
        "serve": model,
        "studio": [*model, "--no-browser"],
    }


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_verbs(kind: Kind, verb: str, folder: Path, call: Callable[..., Done]) -> None:
    model = model_of(kind.name)
    model.save("model.trellis")
    Path(kind.file[0]).write_text(kind.file[1], "utf-8")
    done = call([verb, *lines_of(kind)[verb]])
    if verb in kind.no_verbs:
        refused(done, "model.trellis", kind.lacks or TASKS[kind.model.task].noun)
        named = [task for task, one in TASKS.items() if f"{one.noun}s" in done.err]
        assert kind.lacks or (named and kind.model.task not in named)
        return
    assert done.code == 0, done.err
    assert done.out or done.err
    assert "Traceback" not in done.err
    if verb == "convert":
        assert trellis.load("new.trellis", **kind.needs) == model


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if kind.file[1]], ids=str)
def test_training(kind: Kind, folder: Path, call: Callable[..., Done]) -> None:
    """A model that the command line trains is used without options of its file; all of it is in its record."""
    Path(kind.file[0]).write_text(kind.file[1], "utf-8")
    task, source = ["--task", kind.model.task], [kind.file[0], *kind.file_options]
    done = call(["train", *task, *source, "-m", "model.trellis", "--quiet"])
    assert done.code == 0, done.err
    model = trellis.load("model.trellis")
    assert type(model) is kind.model
    assert model.training["version"] == trellis.__version__
    for verb in ("predict", "evaluate"):
        done = call([verb, "-m", "model.trellis", kind.file[0]])
        assert done.code == 0, done.err
        assert done.out
    done = call(["cross-validate", *task, *source, "--folds", "2", "--quiet"])
    assert done.code == 0, done.err
    assert done.out


def test_tasks_without_files_are_trained_in_python(folder: Path, call: Callable[..., Done]) -> None:
    for verb in TRAINING:
        for kind in DECLARED:
            if not kind.file[1]:
                done = call([verb, "--task", kind.model.task, "data.txt", *["-m", "m"] * (verb == "train")])
                refused(done, f"{TASKS[kind.model.task].noun}s", f"{kind.model.__name__}.train")


@pytest.fixture
def interrupted(control_c: None) -> Iterator[None]:
    """Ctrl-C after the second epoch of the model itself."""

    class Interrupt(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("epoch 2 of 7"):
                signal.raise_signal(signal.SIGINT)

    log, handler = logging.getLogger("trellis"), Interrupt()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield
    log.removeHandler(handler)
    log.setLevel(level)


WITH_FILES = [kind for kind in DECLARED if kind.file[1]]


def line_of(verb: str, kind: Kind) -> list[str]:
    Path(kind.file[0]).write_text(kind.file[1], "utf-8")
    return [verb, "--task", kind.model.task, kind.file[0], *kind.file_options, *kind.seven_epochs]


@pytest.mark.usefixtures("interrupted", "folder")
@pytest.mark.parametrize("kind", WITH_FILES, ids=str)
def test_control_c_ends_a_cross_validation(kind: Kind, call: Callable[..., Done]) -> None:
    done = call([*line_of("cross-validate", kind), "--folds", "2"])
    assert (done.code, done.out) == (130, "")


@pytest.mark.usefixtures("interrupted", "folder")
@pytest.mark.parametrize("kind", WITH_FILES, ids=str)
def test_control_c_keeps_the_best_epoch(kind: Kind, call: Callable[..., Done]) -> None:
    done = call([*line_of("train", kind), "-m", "model.trellis"])
    if kind.several:
        assert (done.code, done.out) == (130, "")
        return
    assert done.code == 0, done.err
    assert "training stops after epoch " in done.err
    assert len(trellis.load("model.trellis").training["history"]) == 2
