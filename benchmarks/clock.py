"""A clock around a piece of work: wall seconds and the CPU seconds of all threads."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any


class Clock:
    """``with Clock() as clock: ...``; then ``clock.seconds`` and ``clock.cpu``."""

    seconds = 0.0
    cpu = 0.0

    def __enter__(self) -> Clock:
        self._begun, self._cpu_begun = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.cpu = self.elapsed, time.process_time() - self._cpu_begun

    @property
    def elapsed(self) -> float:
        """Seconds since it was started."""
        return time.perf_counter() - self._begun

    def figures(self) -> dict[str, float]:
        """The figures of a turn."""
        return {"seconds": self.seconds, "cpu": self.cpu}


def best(work: Callable[[], Any], repeats: int) -> tuple[dict[str, float], Any]:
    """The shortest time of several runs, and the result of the last one."""
    clocks = []
    for _ in range(repeats):
        with Clock() as clock:
            given = work()
        clocks.append(clock)
    return min(clocks, key=lambda clock: clock.seconds).figures(), given


def median_wait(work: Callable[[Any], object], items: Iterable[Any]) -> dict[str, float]:
    """The median seconds of one call, over calls with each of the items."""
    waits = []
    with Clock() as clock:
        for item in items:
            begun = time.perf_counter()
            work(item)
            waits.append(time.perf_counter() - begun)
    return {"seconds": statistics.median(waits), "cpu": clock.cpu / len(waits)}
