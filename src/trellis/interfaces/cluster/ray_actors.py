"""Actors of Ray for training: objects in workers, calls with a time limit, sums by a tree of adders.

An actor that dies or times out is recreated on a free core, and its calls of ``prepare`` are repeated. Its results
depend only on its files and arguments, so they do not change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from trellis._support.errors import TrellisError
from trellis.interfaces.cluster.workers import attempt
from trellis.learning.workers import added

RESTARTS = 5  # maximum number of losses per call, over all actors
SLOW, LEAST_SECONDS = 8.0, 60.0  # an actor that exceeds this multiple of the median time, and this minimum, is replaced


class ClusterError(TrellisError):
    """Workers that do not start, do not answer or died; which, and at what."""


class _Actor:
    """An object in a process of Ray, called by the names of its methods."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.object = make(*arguments)

    def call(self, name: str, method: str, *arguments: Any) -> tuple[TrellisError | None, Any]:
        """Call a method; return a user error or None, and the result."""
        result = attempt(name, lambda: getattr(self.object, method)(*arguments))
        return (result, None) if isinstance(result, TrellisError) else (None, result)


def _added(*results: Any) -> Any:
    return added(results)


class RayActors:
    """One actor per entry of ``arguments``."""

    def __init__(
        self, ray: Any, make: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], seconds: float
    ) -> None:
        self._ray, self._make, self._arguments, self._seconds = ray, make, arguments, seconds
        self._kind = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(_Actor)
        self._add = ray.remote(num_cpus=0, max_retries=3)(_added)
        self.n = len(arguments)
        self._prepared: list[list[tuple[str, tuple[Any, ...]]]] = [[] for _ in arguments]  # calls to repeat
        self._sent: tuple[Any, Any] = (None, None)  # the last shared dict, and its reference
        self._actors = [self._made(i) for i in range(self.n)]

    def prepare(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of each object with its own arguments; the call is repeated if an object is recreated."""
        refs = {id(x): self._ray.put(x) for row in arguments for x in row}  # shared arguments are sent once
        stored = [tuple(refs[id(x)] for x in row) for row in arguments]
        results: list[Any] = self._gathered(method, stored, list)
        for i, row in enumerate(stored):
            self._prepared[i].append((method, row))
        return results

    def sum(self, method: str, *arguments: Any) -> Any:
        """Call a method of all objects and add up the results, with two levels of adders for many objects."""

        def by_groups(refs: list[Any]) -> list[Any]:
            width = math.ceil(math.sqrt(len(refs)))
            if len(refs) < 4:
                return refs
            return [self._add.remote(*refs[i : i + width]) for i in range(0, len(refs), width)]

        return added(self._gathered(method, self._shared(arguments), by_groups))

    def most(self, method: str, *arguments: Any) -> float:
        """Call a method of all objects and return the largest result."""
        return float(max(self._gathered(method, self._shared(arguments), list)))

    def end(self) -> None:
        """Release the cores."""
        for actor in self._actors:
            self._ray.kill(actor)

    def _shared(self, arguments: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Share arguments of all objects: arrays are sent once per machine, a dict of them once for several calls."""

        def sent(value: Any) -> Any:
            if isinstance(value, dict):
                if self._sent[0] is not value:
                    self._sent = value, self._ray.put(value)
                return self._sent[1]
            return self._ray.put(value) if hasattr(value, "nbytes") else value

        return [tuple(map(sent, arguments))] * self.n

    def _gathered(
        self, method: str, arguments: Sequence[tuple[Any, ...]], combine: Callable[[list[Any]], list[Any]]
    ) -> list[Any]:
        """Get the value computed from references to all results; results lost with a machine are requested again."""
        for last in (False, False, True):
            refs = self._all(method, arguments)
            try:
                results: list[Any] = self._ray.get(combine(refs), timeout=self._seconds)
            except self._ray.exceptions.RayError as error:
                if last:
                    raise ClusterError(f"results of {method!r} were lost: {first_line(error)}") from None
            else:
                return results
        raise AssertionError

    def _all(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """References to the finished results of a method of all objects."""
        start, restarts = time.monotonic(), 0
        calls = {i: self._call(i, method, arguments[i]) for i in range(self.n)}
        results, seconds = dict[int, Any](), list[float]()
        while len(results) < self.n:
            waiting = {calls[i][0]: i for i in range(self.n) if i not in results}
            elapsed = time.monotonic() - start
            limit = self._seconds - elapsed
            if 2 * len(results) >= self.n:  # time limit from the speed of the other actors
                slow = max(LEAST_SECONDS, SLOW * sorted(seconds)[len(seconds) // 2])
                limit = min(limit, slow - elapsed % slow)
            ready, _ = self._ray.wait(list(waiting), timeout=max(0.1, limit), fetch_local=True)
            if not ready and time.monotonic() - start >= self._seconds:
                names = ", ".join(self._name(i) for i in waiting.values())
                advice = "check for free cores with ray status, or increase timeout="
                raise ClusterError(f"{names}: no answer to {method!r} in {self._seconds:g} seconds; {advice}")
            failures = {} if ready else dict.fromkeys(waiting.values(), "far slower than the other workers")
            for ref in ready:
                i = waiting[ref]
                if (reason := self._lost(ref)) is not None:
                    failures[i] = reason
                    continue
                results[i] = calls[i][1]
                seconds.append(time.monotonic() - start)
            for i, reason in failures.items():
                restarts += 1
                if restarts > RESTARTS * self.n:
                    raise ClusterError(f"{self._name(i)}: its process died repeatedly ({reason})")
                self._renew(i)
                calls[i] = self._call(i, method, arguments[i])
        return [results[i] for i in range(self.n)]

    def _lost(self, ref: Any) -> str | None:
        """The reason why an actor is lost; None if it answered. User errors are raised."""
        try:
            error = self._ray.get(ref, timeout=self._seconds)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError) as lost:
            return first_line(lost)
        if error is not None:
            raise error
        return None

    def _call(self, i: int, method: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        """References to the error and to the result."""
        error, result = self._actors[i].call.options(num_returns=2).remote(self._name(i), method, *arguments)
        return error, result

    def _renew(self, i: int) -> None:
        """Replace an actor and repeat its ``prepare`` calls."""
        self._ray.kill(self._actors[i])
        self._actors[i] = self._made(i)
        for method, arguments in self._prepared[i]:
            self._call(i, method, arguments)  # actors process calls in order

    def _made(self, i: int) -> Any:
        return self._kind.remote(self._make, self._arguments[i])

    def _name(self, i: int) -> str:
        return f"worker {i + 1} of {self.n}"


def first_line(error: Exception) -> str:
    """The first line of an error message."""
    return str(error).strip().partition("\n")[0]
