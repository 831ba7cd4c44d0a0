"""Progress on standard error: one line that is written over where it is a terminal, plain lines where it is not."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trellis._support.errors import TrellisWarning

if TYPE_CHECKING:
    from trellis.learning.run import Event, Observer

CLEAR = "\r\x1b[K"  # to the beginning of the line, and all of it erased
SECONDS = 0.1  # between two states of a line
FIRST_LINES, LINE_SECONDS = 20, 10  # lines off a terminal: the first ones, then one in so many seconds
# Control characters of labels, words and names of files could move the cursor or set the title of a terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """Text for people: control characters but line ends and tabs are shown as \\x1b, not sent."""
    return text.translate(_CONTROLS)


def say(line: str, quiet: bool = False) -> None:
    """One line on standard error."""
    if not quiet:
        print(f"{CLEAR if sys.stderr.isatty() else ''}{printable(line)}", file=sys.stderr, flush=True)


@contextmanager
def watch_epochs(quiet: bool, what: str = "training") -> Iterator[Observer | None]:
    """An observer that shows epochs as they are done; warnings of the library are shown too."""
    with warnings.catch_warnings(), _watch_epochs(quiet, what) as observer:
        warnings.simplefilter("always", TrellisWarning)
        warnings.showwarning = lambda message, *place: say(str(message), quiet)
        yield observer


@contextmanager
def _watch_epochs(quiet: bool, what: str) -> Iterator[Observer | None]:
    if quiet:
        yield None
    elif not sys.stderr.isatty():
        with _some_lines() as line:
            yield lambda event: line(f"{what}: {_number(event)}, {describe(event)}")
    else:
        spent = list[float]()

        def observe(event: Event) -> None:
            shown = [f"{what}: {_number(event)}", describe(event)]
            if event.seconds:
                spent.append(event.seconds)
                shown.append(f"{event.tokens / event.seconds:,.0f} {event.unit}/s")
            if spent and event.objective is None:  # an objective may converge long before the last epoch
                left = round((event.epochs - event.epoch) * sum(spent) / len(spent))
                shown.append(f"{left // 60}:{left % 60:02} left")
            write_over(", ".join(shown))

        write_over(f"{what}: extracting features")
        try:
            yield observe
        finally:
            print(file=sys.stderr)


@contextmanager
def _some_lines() -> Iterator[Callable[[str], None]]:
    """A function that says the first lines, then one every few seconds, and the last: a log stays short."""
    n_said, due, waiting = 0, 0.0, ""

    def line(text: str) -> None:
        nonlocal n_said, due, waiting
        waiting = text
        if n_said < FIRST_LINES or time.monotonic() >= due:
            say(text)
            n_said, due, waiting = n_said + 1, time.monotonic() + LINE_SECONDS, ""

    try:
        yield line
    finally:
        if waiting:
            say(waiting)


@contextmanager
def count_tokens(shown: bool) -> Iterator[Callable[[int], None]]:
    """A function to be called with the number of tokens done; their sum and speed are shown on a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield lambda n: None
        return
    done, begun = 0, time.monotonic()
    due = begun

    def add(n: int) -> None:
        nonlocal done, due
        done += n
        now = time.monotonic()
        if now >= due:
            due = now + SECONDS
            write_over(f"predicting: {done:,} tokens, {done / max(now - begun, 1e-9):,.0f} tokens/s")

    try:
        yield add
    finally:
        print(end=CLEAR, file=sys.stderr, flush=True)


@contextmanager
def show_steps() -> Iterator[Callable[[str], None]]:
    """A function that shows the current step of a long command on a terminal; the line is erased at the end."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    try:
        yield write_over
    finally:
        print(end=CLEAR, file=sys.stderr, flush=True)


def _number(event: Event) -> str:
    """Which epoch; where there is an objective, it may converge long before the last one."""
    return f"epoch {event.epoch}" + (f"/{event.epochs}" if event.objective is None else "")


def describe(event: Event) -> str:
    """An epoch in words."""
    parts = list[str]()
    if (wrong := event.wrong_text()) is not None:
        parts.append(wrong)
    if event.objective is not None:
        parts.append(f"objective {event.objective:,.3f}")
    if event.dev_score is not None:
        parts.append(f"dev {100 * event.dev_score:.2f}{' (best)' if event.best else ''}")
    if event.seconds is not None:
        parts.append(f"{event.seconds:.1f} s")
    return ", ".join(parts)


def write_over(text: str) -> None:
    """In place of what the terminal's last line showed; a longer line would not stay one line, so it is cut."""
    width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    print(f"{CLEAR}{printable(text)[: width - 1]}", end="", file=sys.stderr, flush=True)
