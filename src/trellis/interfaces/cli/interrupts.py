"""Ctrl-C during training: the best model so far is kept; a second Ctrl-C gives up."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from trellis.interfaces.cli.progress import CLEAR
from trellis.learning.run import Event, Observer, StopTrainingError

STOPPING = "stopping after this epoch, the best model so far is kept; Ctrl-C again gives up"


@contextmanager
def keeping_the_best(observer: Observer | None, quiet: bool) -> Iterator[Observer]:
    """The observer, ending training after the epoch in which Ctrl-C was pressed."""
    asked, epochs = False, 0

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked or epochs == 0:  # a second time, or nothing to keep yet
            raise KeyboardInterrupt
        asked = True
        if not quiet:  # past Python's buffer, in the midst of whose work this may be
            clear = CLEAR if sys.stderr.isatty() else ""
            os.write(sys.stderr.fileno(), f"{clear}{STOPPING}\n".encode())

    def observe(event: Event) -> None:
        nonlocal epochs
        epochs += 1
        if observer is not None:
            observer(event)
        if asked:
            raise StopTrainingError

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as it is for a job in the background, which goes on
        signal.signal(signal.SIGINT, ask)
    try:
        yield observe
    finally:
        signal.signal(signal.SIGINT, before)
