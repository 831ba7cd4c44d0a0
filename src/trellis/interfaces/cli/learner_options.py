"""Learners by name, their parameters from words of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import fill
from typing import Any

from trellis._support.errors import LearnerError
from trellis.learners import LEARNERS, learner_named
from trellis.learning.learner import Learner

WORDS = {"true": True, "yes": True, "false": False, "no": False, "none": None}


def build_learner(name: str, given: Mapping[str, Any], settings: Iterable[str], option: str = "--set") -> Learner:
    """The learner of that name with what is ``given`` (None: not given) and ``settings``, key=value by ``option``."""
    kind: Any = learner_named(name)
    parameters = {key: value for key, value in given.items() if value is not None}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise LearnerError(f"{option} {setting}: write key=value, for example {option} epochs=5")
        if key in parameters:
            raise LearnerError(f"{key} is given twice; leave one of them out")
        parameters[key] = _value(text)
    if (unknown := next((key for key in parameters if key not in kind.constraints), None)) is not None:
        raise LearnerError(f"learner {name} has no parameter {unknown!r}; it has {', '.join(kind.constraints)}")
    learner: Learner = kind(**parameters)
    return learner


def _value(text: str) -> Any:
    """What the text means; the learner says whether that is what it wants."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return WORDS.get(text.lower(), text)


def list_parameters() -> str:
    """For the help: every learner with its parameters; those without a value have an effect only beside others."""
    lines = list[str]()
    for name in LEARNERS:
        kind: Any = learner_named(name)
        defaults = kind().parameters()
        shown = (f"{key}={defaults[key]}" if key in defaults else key for key in kind.constraints)
        text = f"  {name:18} {', '.join(shown)}"
        lines.append(fill(text, 100, subsequent_indent=" " * 21, break_on_hyphens=False))
    return "\n".join(lines)
