"""Learners by name, their parameters from words of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from textwrap import fill
from typing import Any

from trellis._support.errors import LearnerError
from trellis.learners import LEARNERS, learner_named
from trellis.learning.learner import Learner

WORDS = {"true": True, "yes": True, "false": False, "no": False, "none": None}


def build_learner(
    base: str | Learner, given: Mapping[str, Any], settings: Iterable[str], option: str = "--set"
) -> Learner:
    """A learner, or the one of that name, with other parameters.

    Parameters
    ----------
    given
        Values of options by the names of parameters; None: not given.
    settings
        More of them, each as key=value, by ``option``.
    """
    learner: Any = learner_named(base)() if isinstance(base, str) else base
    parameters = {key: value for key, value in given.items() if value is not None}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise LearnerError(f"{option} {setting}: write key=value, for example {option} epochs=5")
        if key in parameters:
            raise LearnerError(f"{key} is given twice; leave one of them out")
        parameters[key] = _value(text)
    if (unknown := next((key for key in parameters if key not in learner.constraints), None)) is not None:
        known = ", ".join(learner.constraints)
        raise LearnerError(f"{type(learner).__name__} has no parameter {unknown!r}; it has {known}")
    changed: Learner = replace(learner, **parameters)
    return changed


def _value(text: str) -> Any:
    """What the text means; the learner says whether that is what it wants."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return WORDS.get(text.lower(), text)


def list_parameters() -> str:
    """For the help: every learner with its parameters; a value is missing where it depends on others or on the data."""
    lines = list[str]()
    for name in LEARNERS:
        kind: Any = learner_named(name)
        defaults = {field.name: field.default for field in fields(kind)} | kind().parameters()
        shown = (key if defaults[key] is None else f"{key}={defaults[key]}" for key in kind.constraints)
        text = f"  {name:18} {', '.join(shown)}"
        lines.append(fill(text, 100, subsequent_indent=" " * 21, break_on_hyphens=False))
    return "\n".join(lines)
