"""Steps of experiments: functions of the corpora and a few arguments, whose figures are stored when each is done.

The result file of an experiment has every step with its arguments and figures. An interrupted run resumes: a step that
the file has, of the same version and with the same arguments, is not run again.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import trellis
from trellis._support.arguments import thread_count
from trellis._support.errors import ArgumentError, CorpusError
from trellis._support.replacing import replacing

Figures: TypeAlias = dict[str, Any]
LOOK_EVERY = 0.5  # seconds, while steps are under way


@dataclass(frozen=True, slots=True)
class Setting:
    """Options of a run."""

    data: Path  # folder of corpora
    quick: bool = False  # a part of the data and fewer epochs: a minute
    n_threads: int | None = None  # of one step
    ptb: Path | None = None  # the Wall Street Journal part of a full Penn Treebank


@dataclass(frozen=True, slots=True)
class Step:
    """One training, or a few that belong together; ``work`` is a function of a module, for other processes."""

    name: str
    work: Callable[..., Figures]  # of the setting and the arguments; its figures go into JSON
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Watcher(Protocol):
    """Observer of a run."""

    def __call__(self, done: int, known: int, running: Mapping[str, float], ended: str | None) -> None:
        """Called with the numbers of finished and known steps, the start of running ones, the one that ended."""


@dataclass(slots=True)
class ResultFile:
    """The file with the figures of one experiment."""

    path: Path
    about: dict[str, Any]  # experiment, command and the like
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    complete: bool = False  # whether it has all steps of the plan

    @classmethod
    def open(cls, path: Path, about: dict[str, Any], *, again: bool = False) -> ResultFile:
        """The file at this path, with the steps of this version that it has; without any if ``again``."""
        file = cls(path, about | {"version": trellis.__version__, "machine": machine()})
        if path.exists() and not again:
            content = read_results(path)
            if all(content.get(name) == file.about.get(name) for name in ("version", "experiment", "quick", "ptb")):
                file.steps = content["steps"]
        return file

    def has(self, step: Step) -> bool:
        """Whether the step is done, with these arguments."""
        return step.name in self.steps and self.steps[step.name]["arguments"] == _plain(step.arguments)

    def add(self, step: Step, figures: Figures, seconds: float) -> None:
        """Store a finished step and write the file."""
        self.steps[step.name] = {
            "arguments": _plain(step.arguments),
            "seconds": round(seconds, 2),
            "figures": _plain(figures),
        }
        self.write()

    def write(self) -> None:
        """Write the whole file."""
        total = sum(step["seconds"] for step in self.steps.values())
        about = self.about | {"seconds": round(total, 1), "complete": self.complete}
        text = json.dumps(about | {"steps": self.steps}, indent=1, ensure_ascii=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path, lambda why: ArgumentError(f"{self.path}: {why}")) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    def figures(self) -> dict[str, Figures]:
        """The figures of every step."""
        return {name: step["figures"] for name, step in self.steps.items()}


def read_results(path: Path) -> dict[str, Any]:
    """The content of a result file; CorpusError if it is another kind of file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if all("figures" in step and "arguments" in step for step in content["steps"].values()):
            return dict(content)
    except (ValueError, KeyError, AttributeError, TypeError):
        pass
    raise CorpusError(str(path), None, "not a file of figures; remove it, or name another folder by --results")


def run_steps(
    plan: Callable[[Setting, Mapping[str, Figures]], list[Step]],
    setting: Setting,
    file: ResultFile,
    *,
    jobs: int = 1,
    watcher: Watcher = lambda done, known, running, ended: None,
) -> None:
    """Run the steps without stored figures, ``jobs`` at a time; a plan may grow when its steps are done."""
    steps, run = plan(setting, {}), _run_in_turn if jobs == 1 else _run_parallel
    while True:
        left = [step for step in steps if not file.has(step)]
        if left:
            run(left, len(steps) - len(left), setting, file, jobs, watcher)
        longer = plan(setting, {step.name: file.steps[step.name]["figures"] for step in steps})
        if len(longer) == len(steps):
            break
        steps = longer
    file.steps = {step.name: file.steps[step.name] for step in steps}  # in the order of the plan
    file.complete = True
    file.write()


def _run_in_turn(left: list[Step], done: int, setting: Setting, file: ResultFile, jobs: int, watcher: Watcher) -> None:
    """One after the other in this thread, which receives Ctrl-C also while native code works."""
    for number, step in enumerate(left):
        watcher(done + number, done + len(left), {step.name: time.monotonic()}, None)
        file.add(step, *_timed(step, setting))
        watcher(done + number + 1, done + len(left), {}, step.name)


def _run_parallel(left: list[Step], done: int, setting: Setting, file: ResultFile, jobs: int, watcher: Watcher) -> None:
    """``jobs`` at a time, in processes of their own, which end with this one."""
    waiting, running = left[::-1], dict[Future[tuple[Figures, float]], tuple[Step, float]]()
    known = done + len(left)
    workers = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                step = waiting.pop()
                running[workers.submit(_timed, step, setting)] = step, time.monotonic()
            watcher(done, known, {step.name: begun for step, begun in running.values()}, None)
            for future in wait(running, LOOK_EVERY, FIRST_COMPLETED).done:
                step, _ = running.pop(future)
                file.add(step, *future.result())
                done += 1
                watcher(done, known, {step.name: begun for step, begun in running.values()}, step.name)
    except BaseException:
        for process in list((getattr(workers, "_processes", None) or {}).values()):
            process.kill()
        workers.shutdown(wait=False, cancel_futures=True)
        raise
    workers.shutdown()


def _timed(step: Step, setting: Setting) -> tuple[Figures, float]:
    begun = time.perf_counter()
    figures = step.work(setting, **step.arguments)
    return figures, time.perf_counter() - begun


def _plain(value: Any) -> Any:
    """The value as it is after a round trip through JSON."""
    return json.loads(json.dumps(value))


def machine() -> dict[str, Any]:
    """The machine that the figures are measured on."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8").splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    return {"cpu": cpu, "cores": thread_count(None), "system": platform.system(), "python": platform.python_version()}
