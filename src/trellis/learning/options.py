"""Options of trainings, each declared once: the source of checks, of the command line, of estimators and of tables."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from trellis._support.arguments import file_path, thread_count
from trellis.learning.learner import Constraint, flag, whole
from trellis.learning.run import Event

# Role of an option. "setting": stored in the model's training record. "data": part of the checkpoint's digest only.
# "run": changes no weights; in neither.
Role = Literal["setting", "data", "run"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a training; None stands for the default unless ``nullable``."""

    default: Any
    check: Constraint | None  # None: the task checks the value where it uses it
    help: str  # a noun phrase
    role: Role = "setting"
    nullable: bool = False
    offered: bool = True  # on the command line
    metavar: str | None = None  # on the command line; None for a switch
    parse: Callable[[str], Any] = str  # converts its text; numbers are converted by their type
    flat: str = ""  # for fields of groups: name on the command line and in checked options, if different


class Group:
    """Some rare options as one value: a dataclass whose fields are annotated with their `Option`."""

    __slots__ = ()


def _function(value: Any) -> Any:
    if not callable(value):
        raise TypeError
    return value


def _notes(info: Any) -> dict[str, Any]:
    if not isinstance(info, Mapping):
        raise TypeError
    try:
        text = json.dumps(dict(info), default=plain, ensure_ascii=False, allow_nan=False)
        text.encode()
    except RecursionError:
        raise ValueError from None
    notes: dict[str, Any] = json.loads(text)
    return notes


FILE = Constraint("the path of a file", lambda path: Path(file_path("", path)))
FUNCTION = Constraint("a function that takes an event", _function)
NOTES = Constraint("a dict that JSON can represent", _notes)
THREADS = Constraint("a whole number of at least 1, or None or -1 for all cores", thread_count)
Metric = str | Callable[[list[Any], list[Any]], float]


class TrainingOptions(TypedDict, total=False):
    """Options of every training."""

    dev: Annotated[
        Any, Option(None, None, "held-out data; the model is that of the epoch with the best score on it", "data")
    ]
    metric: Annotated[Metric | None, Option("auto", None, "metric on the held-out data, from the task's report")]
    patience: Annotated[
        int | None,
        Option(None, whole(1), "early stopping: number of epochs without improvement on the held-out data", "run"),
    ]
    checkpoint: Annotated[
        str | os.PathLike[str] | None,
        Option(
            None, FILE, "checkpoint file to write and to resume from; interruptions do not change the result", "run"
        ),
    ]
    checkpoint_every: Annotated[
        int | None, Option(None, whole(1), "number of epochs between checkpoints (default: 1)", "run")
    ]
    observer: Annotated[
        Callable[[Event], None] | None,
        Option(
            None, FUNCTION, "function called after each epoch; StopTrainingError ends training", "run", offered=False
        ),
    ]
    verbose: Annotated[bool, Option(False, flag(), "one line per epoch on standard error", "run", offered=False)]
    n_threads: Annotated[int | None, Option(None, THREADS, "number of threads (default: all cores)", "run")]
    sample_weight: Annotated[npt.ArrayLike | None, Option(None, None, "weight of each example", "data", offered=False)]
    init: Annotated[Any, Option(None, None, "model for a warm start", "data", metavar="MODEL")]
    info: Annotated[Mapping[str, Any] | None, Option(None, NOTES, "notes to store in the model", "run", offered=False)]


FIRST = ("target", "problem", "tagger", "features", "learner")


@cache
def options_of(kind: type) -> dict[str, Option]:
    """The options of `TrainingOptions` or a TypedDict that extends it, the most used first."""
    shared, declared = TrainingOptions.__annotations__, _declared(kind)
    return {name: declared[name] for name in sorted(declared, key=lambda name: (name in shared, name not in FIRST))}


@cache
def groups_of(kind: type) -> dict[str, dict[str, Option]]:
    """The fields of the options that are groups, each with the default of the group and its ``flat`` name."""
    return {
        name: {
            field: replace(item, flat=item.flat or field, default=getattr(group, field))
            for field, item in _declared(type(group)).items()
        }
        for name, option in options_of(kind).items()
        if isinstance(group := option.default, Group)
    }


@cache
def flat_options_of(kind: type) -> dict[str, Option]:
    """The options by the names that they have in checked options and on the command line: fields in place of groups."""
    table, groups = dict[str, Option](), groups_of(kind)
    for name, option in options_of(kind).items():
        table |= {member.flat: member for member in groups[name].values()} if name in groups else {name: option}
    return table


def grouped(kind: type, flat: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the command line as those of ``train``: fields under their own names become groups."""
    values = {name: value for name, value in flat.items() if name not in flat_options_of(kind)}
    for name, option in options_of(kind).items():
        fields = groups_of(kind).get(name, {})
        if changed := {field: flat[item.flat] for field, item in fields.items() if item.flat in flat}:
            values[name] = replace(option.default, **changed)
        elif name in flat and not fields:
            values[name] = flat[name]
    return values


def _declared(kind: type) -> dict[str, Option]:
    """The options that annotate the fields of a class."""
    return {name: _completed(hint.__metadata__[0], hint.__origin__) for name, hint in kind.__annotations__.items()}


def _completed(option: Option, kind: Any) -> Option:
    """Complete an option by its type: the conversion of its text on the command line; only a flag is a switch."""
    kinds = get_args(kind) or (kind,)
    number = next((number_type for number_type in (int, float) if number_type in kinds and str not in kinds), None)
    if number is not None and option.parse is str:
        return replace(option, parse=number, metavar="N")
    if option.metavar is None and bool not in kinds:
        return replace(option, metavar="NAME" if str in kinds and "PathLike" not in str(kind) else "FILE")
    return option


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python number, for ``json.dumps``."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not a {type(value).__name__}")
