"""Progress on standard error: one updated line on a terminal, otherwise plain lines."""

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

CLEAR = "\r\x1b[K"  # return to the beginning of the line and erase it
SECONDS = 0.1  # seconds between two updates of a line
FIRST_LINES, LINE_SECONDS = 20, 10  # without a terminal: number of first lines, then seconds between lines
# Control characters in labels, words and file names could move the cursor or set the title of a terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """Escape control characters other than line ends and tabs, as in \\x1b."""
    return text.translate(_CONTROLS)


def say(line: str, quiet: bool = False) -> None:
    """Print one line on standard error."""
    if not quiet:
        print(f"{CLEAR if sys.stderr.isatty() else ''}{printable(line)}", file=sys.stderr, flush=True)


@contextmanager
def watch_epochs(quiet: bool, action: str = "training") -> Iterator[Observer | None]:
    """Observer that reports finished epochs; warnings of the library are shown, too.

    On a terminal in one line; elsewhere the first ones, then one every few seconds, and the last: a log stays short.
    """
    n_said, due, waiting, seconds = 0, 0.0, "", list[float]()

    def observe(event: Event) -> None:
        nonlocal n_said, due, waiting
        waiting = f"{action}: {event.text()}"
        if on_terminal:
            if event.seconds:
                seconds.append(event.seconds)
                waiting += f", {event.tokens / event.seconds:,.0f} {event.unit}/s"
            if seconds and event.objective is None:  # an objective may converge long before the last epoch
                left = round((event.epochs - event.epoch) * sum(seconds) / len(seconds))
                waiting += f", {left // 60}:{left % 60:02} left"
            write_over(waiting)
        elif n_said < FIRST_LINES or time.monotonic() >= due:
            say(waiting)
            n_said, due, waiting = n_said + 1, time.monotonic() + LINE_SECONDS, ""

    on_terminal = not quiet and sys.stderr.isatty()
    if on_terminal:
        write_over(f"{action}: extracting features")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", TrellisWarning)
            warnings.showwarning = lambda message, *place: say(str(message), quiet)
            yield None if quiet else observe
    finally:
        if on_terminal:
            print(file=sys.stderr)
        elif waiting:
            say(waiting)


@contextmanager
def count_tokens(visible: bool) -> Iterator[Callable[[int], None]]:
    """A function to be called with the number of tokens done; their sum and speed are shown on a terminal."""
    done, begun, due = 0, time.monotonic(), 0.0

    def add(n: int) -> None:
        nonlocal done, due
        done += n
        now = time.monotonic()
        if now >= due:
            due = now + SECONDS
            step(f"predicting: {done:,} tokens, {done / max(now - begun, 1e-9):,.0f} tokens/s")

    with show_steps(visible) as step:
        yield add


@contextmanager
def count_bytes(visible: bool) -> Iterator[Callable[[int, int], None]]:
    """A function to be called with the bytes read so far and those of all files; both are shown on a terminal."""
    start = time.monotonic()

    def show(n_bytes: int, total: int) -> None:
        left = round((time.monotonic() - start) * (total - n_bytes) / n_bytes) if n_bytes else 0
        step(f"reading: {n_bytes / 1e6:,.0f} of {total / 1e6:,.0f} MB, {left // 60}:{left % 60:02} left")

    with show_steps(visible) as step:
        yield show


@contextmanager
def count_files(sizes: dict[str, int], quiet: bool) -> Iterator[Callable[[str], None]]:
    """Make a function to be called with each finished file; progress by file size is shown with the remaining time.

    On a terminal in one line; elsewhere the first ones, then one every few seconds, and the last.
    """
    n_files, n_bytes, start = 0, 0, time.monotonic()
    n_said, due = 0, 0.0

    def add(name: str) -> None:
        nonlocal n_files, n_bytes, n_said, due
        n_files, n_bytes = n_files + 1, n_bytes + sizes[name]
        now = time.monotonic()
        left = round((now - start) * (total - n_bytes) / max(1, n_bytes))
        text = f"predicting: {n_files:,} of {len(sizes):,} files, {left // 60}:{left % 60:02} left"
        if on_terminal:
            write_over(text)
        elif not quiet and (n_said < FIRST_LINES or now >= due or n_files == len(sizes)):
            say(text)
            n_said, due = n_said + 1, now + LINE_SECONDS

    total, on_terminal = sum(sizes.values()), not quiet and sys.stderr.isatty()
    try:
        yield add
    finally:
        if on_terminal and n_files:
            print(file=sys.stderr)


@contextmanager
def show_steps(visible: bool = True) -> Iterator[Callable[[str], None]]:
    """Make a function that shows the current step of a long command on a terminal; the line is erased at the end."""
    if not (visible and sys.stderr.isatty()):
        yield lambda text: None
        return
    try:
        yield write_over
    finally:
        print(end=CLEAR, file=sys.stderr, flush=True)


def write_over(text: str) -> None:
    """Replace the terminal's last line; the text is cut to the width of the terminal."""
    width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    print(f"{CLEAR}{printable(text)[: width - 1]}", end="", file=sys.stderr, flush=True)
