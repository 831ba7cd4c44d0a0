"""The part of Ray that training uses, with a clock of its own: calls are done at once, and take the time of a model.

Machines are joined by a network of one speed and one latency. Each sends one object at a time and receives one, from
whichever machine has it and is free first, as Ray's stores do; processes of one machine share what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

INLINE = 100_000  # bytes up to which a value travels with a message
DRIVER = 0  # the machine of the process that trains


@dataclass(frozen=True, slots=True)
class Network:
    """What things take, in seconds; speeds in bytes per second."""

    latency: float
    bandwidth: float
    store: float  # to put an object into the store of a machine, or to take it from there
    add: float  # to add objects up
    call: float  # for the driver to ask for one call
    wait: float  # for the driver to ask about one reference


@dataclass(eq=False, slots=True)
class Reference:
    """A value, and from when on it is on which machines."""

    value: Any
    n_bytes: float
    machines: dict[int, float]

    @property
    def made(self) -> float:
        """When it first was anywhere."""
        return min(self.machines.values())


@dataclass(eq=False, slots=True)
class Machine:
    """When its network card has nothing more to send, and to receive."""

    sends: float = 0.0
    receives: float = 0.0


@dataclass(eq=False, slots=True)
class Actor:
    """An object on a machine, with a core of its own."""

    ray: SimulatedRay
    machine: int
    object: Any
    free: float = 0.0

    @property
    def call(self) -> Any:
        """As a handle of Ray has it: ``actor.call.options(num_returns=2).remote(...)``."""
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=partial(self.ray.called, self)))


@dataclass(eq=False)
class SimulatedRay:
    """To be given in place of the module ``ray``."""

    network: Network
    homes: Sequence[int]  # the machine of each actor
    seconds: Callable[[str, int], float]  # that a method takes, of the actor of a number
    n_bytes: Callable[[Any], float]  # of a value
    now: float = 0.0  # the driver's clock
    actors: list[Actor] = field(default_factory=list)
    exceptions: ClassVar = SimpleNamespace(RayError=OSError, RayActorError=OSError, ObjectLostError=OSError)

    def __post_init__(self) -> None:
        self.machines = {machine: Machine() for machine in {DRIVER, *self.homes}}

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        """An actor's class, or a function, for workers."""
        return lambda kind: SimpleNamespace(
            remote=partial(self._made, kind) if isinstance(kind, type) else partial(self._task, kind)
        )

    def put(self, value: Any) -> Reference:
        """A value in the store of the driver's machine."""
        n_bytes = self.n_bytes(value)
        self.now += n_bytes / self.network.store
        return Reference(value, n_bytes, {DRIVER: self.now})

    def get(self, wanted: Any, timeout: float | None = None) -> Any:
        """Values, once they are here."""
        if isinstance(wanted, list):
            return [self.get(one) for one in wanted]
        self.now = self._brought(wanted, DRIVER, self.now)
        self.now += wanted.n_bytes / self.network.store if wanted.n_bytes > INLINE else 0.0
        return wanted.value

    def wait(self, wanted: list[Reference], num_returns: int = 1, **_: Any) -> tuple[list[Reference], list[Reference]]:
        """So many of the references as soon as they are made, and the others."""
        self.now += self.network.wait * len(wanted)
        order = sorted(wanted, key=lambda one: one.made)
        self.now = max(self.now, order[num_returns - 1].made + self.network.latency)
        return order[:num_returns], order[num_returns:]

    def kill(self, actor: Actor) -> None:
        """Nothing is left of it."""

    def called(self, actor: Actor, name: str, method: str, *arguments: Any) -> tuple[Reference, Reference]:
        """What a call of an actor gives: an error, and a result."""
        begun, values = self._begun(actor.machine, arguments)
        error, result = actor.object.call(name, method, *values)
        n_bytes = self.n_bytes(result)
        actor.free = (
            max(begun, actor.free) + self.seconds(method, self.actors.index(actor)) + n_bytes / self.network.store
        )
        return Reference(error, 0, {actor.machine: actor.free}), Reference(result, n_bytes, {actor.machine: actor.free})

    def _made(self, kind: Any, make: Any, arguments: tuple[Any, ...]) -> Actor:
        self.actors.append(Actor(self, self.homes[len(self.actors)], kind(make, arguments)))
        return self.actors[-1]

    def _task(self, function: Any, *arguments: Reference) -> Reference:
        """A call where the first of its arguments is."""
        machine = next(iter(arguments[0].machines))
        begun, values = self._begun(machine, arguments)
        result = function(*values)
        done = begun + sum(one.n_bytes for one in arguments) / self.network.add
        return Reference(result, self.n_bytes(result), {machine: done})

    def _begun(self, machine: int, arguments: Sequence[Any]) -> tuple[float, list[Any]]:
        """When all arguments of a call that is asked for now are there, and their values."""
        self.now += self.network.call
        begun = self.now + self.network.latency
        begun = max([begun, *(self._brought(one, machine, begun) for one in arguments if isinstance(one, Reference))])
        return begun, [one.value if isinstance(one, Reference) else one for one in arguments]

    def _brought(self, wanted: Reference, machine: int, asked: float) -> float:
        """When a value is on a machine that asks for it at some time."""
        if machine not in wanted.machines and wanted.n_bytes <= INLINE:
            return max(asked, wanted.made) + self.network.latency
        if machine not in wanted.machines:
            free, source = min((max(at, self.machines[m].sends, asked), m) for m, at in wanted.machines.items())
            begun = max(free, self.machines[machine].receives)
            done = begun + self.network.latency + wanted.n_bytes / self.network.bandwidth
            self.machines[source].sends = self.machines[machine].receives = done
            wanted.machines[machine] = done
        return max(asked, wanted.machines[machine])
