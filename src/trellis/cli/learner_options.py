"""Learners by name, their parameters from words of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from textwrap import fill
from typing import Any, get_args, get_type_hints

from trellis.errors import LearnerError
from trellis.learners import LEARNERS, learner_named
from trellis.training import Learner

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def build_learner(name: str, given: Mapping[str, Any], settings: Iterable[str]) -> Learner:
    """The learner of that name with parameters ``given`` (None: not given) and ``settings`` of key=value."""
    kind: Any = learner_named(name)
    types = {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}
    parameters = {key: value for key, value in given.items() if value is not None}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise LearnerError(f"--set {setting}: write key=value, for example --set epochs=5")
        if key in parameters:
            raise LearnerError(f"{key} is given twice; leave one of them out")
        parameters[key] = _value(key, text, types[key]) if key in types else text
    if unknown := next((key for key in parameters if key not in types), None):
        raise LearnerError(f"learner {name} has no parameter {unknown!r}; it has {', '.join(types)}")
    learner: Learner = kind(**parameters)
    return learner


def list_parameters() -> str:
    """For the help: every learner with its parameters and their defaults."""
    lines = list[str]()
    for name in LEARNERS:
        kind: Any = learner_named(name)
        defaults = kind().parameters()
        parameters = ", ".join(f"{field.name}={defaults.get(field.name, '')}" for field in fields(kind))
        lines.append(
            fill(f"  {name:18} {parameters}", 110, subsequent_indent=" " * 21, break_on_hyphens=False)
        )
    return "\n".join(lines)


def _value(key: str, text: str, kind: Any) -> Any:
    """The text as a value of that type, or of one of a union's types."""
    choices = get_args(kind)
    if text in choices:  # of a Literal
        return text
    for one in choices or (kind,):
        try:
            if one is type(None) and text.lower() == "none":
                return None
            if one is bool:
                return _BOOLEANS[text.lower()]
            if one in (int, float, str):
                return one(text)
        except (ValueError, KeyError):
            continue
    words = {bool: "true or false", int: "a whole number", float: "a number", type(None): "none"}
    wanted = " or ".join(words.get(one, repr(one)) for one in choices or (kind,))
    raise LearnerError(f"{key} must be {wanted}, not {text!r}")
