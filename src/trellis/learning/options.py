"""Options of trainings, each declared once: the source of checks, of the command line, of estimators and of tables."""

import difflib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from trellis._support.arguments import file_path, thread_count
from trellis._support.errors import ArgumentError, CorpusError, LearnerError
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.read import read
from trellis.learning.learner import Constraint, flag, whole
from trellis.learning.run import Event

# What an option is about: a "setting" of the model, which its record keeps; "data", of which only the digest of a
# checkpoint is made; the "run", which changes no weight and is in neither.
Role = Literal["setting", "data", "run"]


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

    def value(self, name: str, value: Any) -> Any:
        """The value converted and checked; LearnerError if it is not what is wanted."""
        if value is None:
            return None if self.nullable else self.default
        return value if self.check is None or value is self.default else self.check.check(name, value)


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
    return {name: declared[name] for name in sorted(declared, key=lambda name: name in shared)}


def check_options(kind: type, options: Mapping[str, Any]) -> SimpleNamespace:
    """All options with their defaults, converted and checked.

    Raises
    ------
    ArgumentError
        For a name that is not declared, with the most similar one.
    LearnerError
        For a value that is not allowed, or one without effect for want of another.
    """
    declared = options_of(kind)
    if unknown := next((name for name in options if name not in declared), None):
        similar = difflib.get_close_matches(unknown, declared, 1)
        hint = f"did you mean {similar[0]!r}?" if similar else f"the options are {', '.join(declared)}"
        raise ArgumentError(f"no option {unknown!r}; {hint}")
    checked = SimpleNamespace(
        **{name: option.value(name, options.get(name, option.default)) for name, option in declared.items()}
    )
    if checked.dev is None and checked.patience is not None:
        raise LearnerError("patience is a number of epochs without a better dev score; it needs a dev corpus")
    if checked.dev is None and checked.metric != "auto":
        raise LearnerError("metric compares epochs by their dev scores; it needs a dev corpus")
    if checked.checkpoint is None and checked.checkpoint_every is not None:
        raise LearnerError("checkpoint_every is how often a checkpoint is written; it needs a checkpoint")
    checked.n_threads = thread_count(checked.n_threads)
    return checked


def markdown_table(kind: type) -> str:
    """The options as a table of the documentation."""
    rows = [("option", "default", "meaning"), ("---", "---", "---")]
    rows += [(f"`{name}`", f"`{option.default!r}`", option.help) for name, option in options_of(kind).items()]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def corpus_of(source: Any, purpose: str) -> Corpus:
    """The corpus that is read from a source; CorpusError without a token to "train on" or "compare epochs on"."""
    corpus = source if isinstance(source, Corpus) else read(source)
    if not corpus.n_tokens:
        raise CorpusError(corpus.source, None, f"no sentences to {purpose}; give at least one")
    return corpus


def no_targets(y: Any, why: str) -> None:
    """ArgumentError where outputs are given apart from inputs and the task reads both from one place."""
    if y is not None:
        raise ArgumentError(f"y has no effect: {why}; omit it")


def check_dev_labels(dev: Corpus, column: Column, labels: Iterable[str]) -> None:
    """CorpusError if no label of the dev corpus is one of training: all epochs would have the score 0."""
    values = {column.values[code] for code in np.unique(column.codes).tolist()}
    if values.isdisjoint(labels):
        shown = ", ".join(sorted(values)[:3])
        raise CorpusError(dev.source, None, f"no label of the dev corpus ({shown}) occurs in training; give another")


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python number, for ``json.dumps``."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not a {type(value).__name__}")
