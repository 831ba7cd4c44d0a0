"""Options of trainings, each declared once: the source of checks, of the command line, of estimators and of tables."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from trellis._support.arguments import file_path, thread_count
from trellis.learning.learner import Constraint, Learner, flag, whole
from trellis.learning.run import Event

# What an option is about: a "setting" of the model, which its record keeps; "data", of which only the digest of a
# checkpoint is made; the "run", which changes no weight and is in neither.
Role = Literal["setting", "data", "run"]
FIRST = ("target", "problem", "tagger", "features", "learner", "order")  # in tables and help texts


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a training; None stands for the default unless ``nullable``."""

    default: Any
    check: Constraint | None  # None: the task checks the value where it uses it
    help: str  # a noun phrase
    role: Role = "setting"
    nullable: bool = False
    metavar: str | None = None  # on the command line; a switch has none
    parse: Callable[[str], Any] = str  # of the command line's text
    offered: bool = True  # on the command line

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off."""
        return isinstance(self.default, bool)


def _function(value: Any) -> Any:
    if not callable(value):
        raise TypeError
    return value


def _notes(info: Any) -> dict[str, Any]:
    if not isinstance(info, Mapping):
        raise TypeError
    try:
        text = json.dumps(dict(info), default=plain, ensure_ascii=False)
        text.encode()
    except RecursionError:
        raise ValueError from None
    notes: dict[str, Any] = json.loads(text)
    return notes


class TrainingOptions(TypedDict, total=False):
    """Options of every training."""

    dev: Annotated[Any, Option(None, None, "held-out data; the epoch with the best score on it is kept", "data")]
    metric: Annotated[
        str | Callable[[list[Any], list[Any]], float] | None,
        Option("auto", None, "score of epochs on the held-out data: a figure of the task's report", metavar="NAME"),
    ]
    patience: Annotated[
        int | None,
        Option(None, whole(1), "number of epochs without a better score to stop after", "run", parse=int, metavar="N"),
    ]
    checkpoint: Annotated[
        str | os.PathLike[str] | None,
        Option(
            None,
            Constraint("the path of a file", lambda path: Path(file_path("", path))),
            "file that training resumes from, with the same result as without a stop",
            "run",
            metavar="FILE",
        ),
    ]
    checkpoint_every: Annotated[
        int | None,
        Option(None, whole(1), "number of epochs between checkpoints (default: 1)", "run", parse=int, metavar="N"),
    ]
    observer: Annotated[
        Callable[[Event], None] | None,
        Option(
            None,
            Constraint("a function that takes an event", _function),
            "function called after every epoch; it may raise StopTrainingError to end training with the best epoch",
            "run",
            offered=False,
        ),
    ]
    verbose: Annotated[bool, Option(False, flag(), "one line per epoch on standard error", "run", offered=False)]
    n_threads: Annotated[
        int | None,
        Option(
            None,
            Constraint("a whole number from 1 on, or None or -1 for all cores", thread_count),
            "number of threads (default: all cores)",
            "run",
            parse=int,
            metavar="N",
        ),
    ]
    sample_weight: Annotated[
        npt.ArrayLike | None, Option(None, None, "weight of every example, one number each", "data", offered=False)
    ]
    init: Annotated[Any, Option(None, None, "model for a warm start", "data", metavar="MODEL")]
    info: Annotated[
        Mapping[str, Any] | None,
        Option(
            None,
            Constraint("a dict of what JSON can hold", _notes),
            "notes to keep in the model, a dict of JSON values",
            "run",
            offered=False,
        ),
    ]


@cache
def options_of(kind: type) -> dict[str, Option]:
    """The options of a TypedDict that extends `TrainingOptions`, its own first."""
    declared = {name: hint.__metadata__[0] for name, hint in kind.__annotations__.items()}
    shared = TrainingOptions.__annotations__
    return {
        name: declared[name] for name in sorted(declared, key=lambda name: (name in shared, [*FIRST, name].index(name)))
    }


def markdown_table(kind: type) -> str:
    """The options as a table of the documentation; those of every training are in the table of `TrainingOptions`."""
    shared = set() if kind is TrainingOptions else {*TrainingOptions.__annotations__}
    own = {name: option for name, option in options_of(kind).items() if name not in shared}
    rows = [("option", "default", "meaning"), ("---", "---", "---")]
    rows += [(f"`{name}`", _shown(option.default), option.help) for name, option in own.items()]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _shown(default: Any) -> str:
    """A default as a table shows it: a learner by the parameters that are not those of its class."""
    if isinstance(default, Learner):
        usual = type(default)().parameters()
        parameters = [f"{name}={value!r}" for name, value in default.parameters().items() if value != usual[name]]
        return f"`{type(default).__name__}({', '.join(parameters)})`"
    return "" if default is None else f"`{default!r}`"


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python number, for ``json.dumps``."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not a {type(value).__name__}")
