"""Protocols for distributed training: remote objects with methods, and sums of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Protocol

import numpy as np

from trellis._support.arrays import Bools


class Actors(Protocol):
    """Objects in other processes, each made of its own arguments and called by the names of methods.

    An object that is lost is made anew and gets its calls of ``prepare`` again, in their order.
    """

    n: int

    def prepare(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of each object with its own arguments and list the results; it may change the object."""

    def sum(self, method: str, *arguments: Any) -> Any:
        """Call a method of all objects, add results entry by entry; it must depend on its arguments alone."""

    def most(self, method: str, *arguments: Any) -> float:
        """Call a method of all objects and return the largest result."""

    def end(self) -> None:
        """Release processes and memory."""


class Workers(Protocol):
    """Processes for actors."""

    n_workers: int

    def actors(self, make: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Actors:
        """Create one object per entry of ``arguments`` by calling ``make(*entry)`` in its process."""


def added(results: Iterable[Any]) -> Any:
    """Sum of results; tuples are added entry by entry."""

    def add(a: Any, b: Any) -> Any:
        return tuple(map(add, a, b)) if isinstance(a, tuple) else np.add(a, b) if isinstance(a, np.ndarray) else a + b

    return reduce(add, results)


class ActorsHere:
    """Objects in this process: a local stand-in for remote workers, for tests."""

    def __init__(self, objects: list[Any]) -> None:
        self.objects, self.n = objects, len(objects)

    def prepare(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of each object with its own arguments and list the results."""
        return [getattr(actor, method)(*values) for actor, values in zip(self.objects, arguments, strict=True)]

    def sum(self, method: str, *arguments: Any) -> Any:
        """Call a method of all objects and add up the results."""
        return added(getattr(actor, method)(*arguments) for actor in self.objects)

    def most(self, method: str, *arguments: Any) -> float:
        """Call a method of all objects and return the largest result."""
        return float(max(getattr(actor, method)(*arguments) for actor in self.objects))

    def end(self) -> None:
        """Release memory."""
        self.objects = []


class WorkersHere:
    """Workers in the current process."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def actors(self, make: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> ActorsHere:
        """One object per entry of ``arguments``."""
        return ActorsHere([make(*values) for values in arguments])


class ActorParts:
    """The parts of a training held by actors; ``first`` has the first examples and is in this process."""

    def __init__(self, first: Any, actors: Actors, number: int = 0) -> None:
        self.first, self.actors, self.number = first, actors, number

    def sum(self, method: str, *arguments: Any) -> Any:
        """The sum over all parts."""
        return self.actors.sum("of_part", self.number, method, *arguments)

    def most(self, method: str, *arguments: Any) -> float:
        """The largest of all parts."""
        return self.actors.most("of_part", self.number, method, *arguments)

    def only(self, mask: Bools) -> ActorParts:
        """The parts with some of the weights."""
        number = self.number + 1
        self.actors.prepare("restrict", [(number, mask)] * self.actors.n)
        return ActorParts(self.first.only(mask), self.actors, number)
