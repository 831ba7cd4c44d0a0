"""Progress on standard error: bars where it is a terminal, plain lines where it is not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trellis.learning.events import Event, Observer

if TYPE_CHECKING:
    from rich.progress import Progress


def say(line: str, quiet: bool = False) -> None:
    """One line on standard error."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)


@contextmanager
def watch_epochs(quiet: bool, what: str = "training") -> Iterator[Observer | None]:
    """An observer that shows epochs as they are done."""
    if quiet:
        yield None
    elif not sys.stderr.isatty():
        yield lambda event: say(f"{what}: {_number(event)}, {describe(event)}")
    else:
        with _bar("{task.description} {task.completed}/{task.total}") as progress:
            task = progress.add_task(what, total=None, status="extracting features")
            yield lambda event: progress.update(
                task, total=event.epochs, completed=event.epoch, status=describe(event)
            )


@contextmanager
def count_tokens(shown: bool) -> Iterator[Callable[[int], None]]:
    """A function to be told of tokens done; their sum and speed are shown on a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield lambda n: None
        return
    with _bar("tagging") as progress:
        task = progress.add_task("", total=None, status="")

        def add(n: int) -> None:
            progress.advance(task, n)
            state = progress.tasks[0]
            progress.update(task, status=f"{state.completed:,.0f} tokens, {state.speed or 0:,.0f} a second")

        yield add


def _number(event: Event) -> str:
    """Which epoch, or of a learner by gradients which iteration; of those there may be fewer than allowed."""
    return f"epoch {event.epoch}/{event.epochs}" if event.objective is None else f"iteration {event.epoch}"


def describe(event: Event) -> str:
    """An epoch or an iteration in words."""
    said = list[str]()
    if event.mistakes is not None:
        said.append(f"{100 * event.mistakes / max(1, event.tokens):.2f}% of tokens wrong in training")
    if event.objective is not None:
        said.append(f"objective {event.objective:,.3f}")
    if event.dev_score is not None:
        said.append(f"dev {100 * event.dev_score:.2f}{' (best)' if event.best else ''}")
    if event.seconds is not None:
        said.append(f"{event.seconds:.1f} s")
    return ", ".join(said)


def _bar(text: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(text), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[status]}"))
    return Progress(*columns, console=Console(stderr=True))
