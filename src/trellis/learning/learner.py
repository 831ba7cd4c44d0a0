"""Base class of learners: their properties that ``train`` needs, and constraints of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from trellis._support.arguments import LARGEST, range_text, real_number, whole_number
from trellis._support.errors import LearnerError
from trellis.learning.problem import Problem
from trellis.learning.run import Event, Observer, Work, run

Pairs = Literal["seen", "all"]
# Any Markov order; structures other than chains (tasks/structured); weights of label parts; weights of attributes
# with label n-grams of three labels and more; training with beam search; semi-Markov chains; parsers.
Ability = Literal["orders", "structures", "parts", "histories", "beam", "segments", "trees"]
DEFAULT_UPDATE = "max-violation"  # updates with left-to-right beam search
ALL_ABILITIES: frozenset[Ability] = frozenset(get_args(Ability))
REQUIRED = object()  # stands for "no default": None is rejected


# ------------------------------------------------------------ constraints of parameters


@dataclass(frozen=True, slots=True)
class Constraint:
    """Valid values of a parameter, the meaning of None, and the condition under which it has an effect."""

    expected: str  # in words
    convert: Callable[[Any], Any]  # converts to built-in types; TypeError or ValueError for invalid values
    # Meaning of None, if allowed: None, or a function of the preceding parameters in the table.
    default: Any = REQUIRED
    # Condition as text, such as "solver='lbfgs'", and as a function of the preceding parameters.
    only: tuple[str, Callable[[Mapping[str, Any]], bool]] | None = None

    def check(self, name: str, value: Any) -> Any:
        """Convert and check a value; LearnerError if it is invalid."""
        try:
            return self.convert(value)
        except (TypeError, ValueError, OverflowError):
            raise LearnerError(f"{name} must be {self.expected}, not {value!r}") from None


def whole(minimum: int = 0, maximum: int | None = None, **settings: Any) -> Constraint:
    """Constraint: an integer."""
    return Constraint(range_text(minimum, maximum), lambda value: whole_number("", value, minimum, maximum), **settings)


def real(minimum: float = 0.0, *, above: bool = False, **settings: Any) -> Constraint:
    """A number from ``minimum`` on, or above it."""

    def convert(value: Any) -> float:
        number = real_number("", value, minimum)
        if above and number == minimum:
            raise ValueError
        return number

    words = f"a number above {minimum:g}, at most" if above else f"a number from {minimum:g} to"
    return Constraint(f"{words} {LARGEST:g}", convert, **settings)


def flag(**settings: Any) -> Constraint:
    """True or False."""

    def convert(value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise TypeError
        return bool(value)

    return Constraint("True or False", convert, **settings)


def choice(*words: str, function: bool = False, **settings: Any) -> Constraint:
    """Constraint: one of several strings, or, if allowed, a function."""

    def convert(value: Any) -> Any:
        if function and callable(value):
            return value
        if not isinstance(value, str) or value not in words:
            raise ValueError
        return str(value)

    options = [*map(repr, words), *(["a function"] if function else [])]
    return Constraint(" or ".join(options), convert, **settings)


Constraints = Mapping[str, Constraint]


# ------------------------------------------------------------ the learner


class Learner:
    """Base class of learners: a learner turns a training problem into weights. Your own is a subclass with ``fit``.

    Learners of trellis are frozen dataclasses. ``constraints`` declares the valid values of each parameter, which are
    checked when a learner is created. None stands for a default that depends on the solver or on the data.
    """

    __slots__ = ()

    # Kind of scores (FAMILIES of tasks/tagging/chain_model.py), and for which labels attributes have weights by
    # default.
    family: ClassVar[str] = "scores"
    default_pairs: ClassVar[Pairs] = "all"
    # Optional properties of a problem that it uses.
    reads_costs: ClassVar[bool] = False
    reads_sources: ClassVar[bool] = False
    reads_names: ClassVar[bool] = False
    takes_init: ClassVar[bool] = True
    # Measured peak memory per cell of a dense table of label triples.
    bytes_per_triple: ClassVar[int] = 16
    constraints: ClassVar[Constraints] = {}

    def __post_init__(self) -> None:
        for name, value in self.effective().items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, value)

    def effective(self) -> dict[str, Any]:
        """List the parameters that have an effect, converted, with None replaced by the value it stands for.

        Returns
        -------
        dict[str, Any]
            Values by name.

        Raises
        ------
        LearnerError
            If a value is invalid, or a parameter without effect has not its default value.
        """
        parameters: dict[str, Any] = {}
        for name, constraint in self.constraints.items():
            value = getattr(self, name)
            if value is not None or constraint.default is REQUIRED:
                value = constraint.check(name, value)
            elif callable(constraint.default):
                value = constraint.default(parameters)
            if constraint.only is None or constraint.only[1](parameters):
                parameters[name] = value
            elif value != _default_of(self, name):
                raise LearnerError(f"{name} has an effect only with {constraint.only[0]}; omit it")
        return parameters

    def parameters(self) -> dict[str, Any]:
        """List the parameters that a model file records; a function is recorded by its name.

        For your own learner: its attributes that are numbers or strings.

        Returns
        -------
        dict[str, Any]
            JSON-serialisable values by name.
        """
        if not self.constraints:
            values = {k: v.item() if isinstance(v, np.generic) else v for k, v in _attributes(self)}
            return {name: value for name, value in values.items() if isinstance(value, str | int | float)}
        parameters = self.effective().items()
        return {name: _name_of(value) if callable(value) else value for name, value in parameters if value is not None}

    def __str__(self) -> str:
        """Class name with the parameters that differ from their defaults."""
        names = (name for name in getattr(self, "__dataclass_fields__", ()) if name in self.constraints)
        changed = ((name, getattr(self, name)) for name in names)
        texts = (f"{name}={value!r}" for name, value in changed if value != _default_of(self, name))
        return f"{type(self).__name__}({', '.join(texts)})"

    def epoch_parameters(self) -> dict[str, Any]:
        """List the parameters that change what an epoch learns: all but the number of epochs.

        Training continues from a checkpoint only if these are unchanged. For your own learner they are all parameters.

        Returns
        -------
        dict[str, Any]
            Values by name.
        """
        return {name: value for name, value in self.parameters().items() if name != "epochs" or not self.constraints}

    @property
    def on_workers(self) -> bool:
        """Whether workers can train it: it needs only sums over examples and passes over the first examples."""
        return False

    @property
    def abilities(self) -> frozenset[Ability]:
        """Abilities beside chains up to order 2."""
        return frozenset()

    def begin(self, problem: Problem) -> Work:
        """Start training on a problem; implement it in a learner that trains in epochs.

        Parameters
        ----------
        problem
            The encoded training problem.

        Returns
        -------
        Work
            The training, to be run epoch by epoch.
        """
        raise NotImplementedError(f"{type(self).__name__} must define fit or begin")

    def fit(self, problem: Any, observer: Observer | None = None) -> tuple[Any, list[Event]]:
        """Train.

        Parameters
        ----------
        problem
            The encoded training problem.
        observer
            Function that gets an `Event` after each epoch.

        Returns
        -------
        tuple[Any, list[Event]]
            The weights to predict with, and the history.
        """
        name = type(self).__name__
        if not isinstance(problem, Problem):
            raise LearnerError(
                f"{name}.fit takes an encoded training problem; for sentences and labels call "
                f"trellis.train({{'word': sentences, 'label': labels}}, target='label', learner={name}())"
            )
        return run(problem, self.begin(problem), observer)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineOptions:
    """Settings of an online learner: update rule with k outputs and constant c, and the order of examples."""

    rule: str
    average: bool
    epochs: int = 1
    seed: int | None = None  # seed for shuffling; None: examples in corpus order
    k: int = 1
    c: float = 1.0
    vote: bool = False
    batch: int = 1
    update: str | None = None

    @property
    def rule_settings(self) -> tuple[str, int, float]:
        """The rule with its k and c, as arguments of native code."""
        return self.rule, self.k, self.c

    @property
    def is_augmented(self) -> bool:
        """Whether outputs are ranked by score plus cost (loss-augmented)."""
        return self.rule in ("MIRA", "AROW")


def check_update(update: str | None, *, stepwise: bool) -> None:
    """LearnerError for an update of a search that is not stepwise."""
    if update is not None and not stepwise:
        reason = "update has an effect only with a beam from left to right (docs/orders.md)"
        raise LearnerError(f"{reason}; omit it")


def _default_of(learner: Learner, name: str) -> Any:
    """The value of a parameter that is omitted."""
    fields: Mapping[str, Field[Any]] = getattr(learner, "__dataclass_fields__", {})
    return fields[name].default if name in fields else None


def _attributes(learner: Learner) -> Iterator[tuple[str, Any]]:
    """The attributes of an instance, in its dict and in the slots of its classes."""
    yield from getattr(learner, "__dict__", {}).items()
    for kind in type(learner).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(learner, name):
                yield name, getattr(learner, name)


def _name_of(function: Any) -> str:
    """Name of a function, equal in every process."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}.{name}"
