"""Checks of learners' parameters, with messages that say what to do."""

from __future__ import annotations

from trellis.errors import LearnerError


def check_at_least(learner: object, least: float, *names: str) -> None:
    """Every parameter of these names must be at least that much."""
    for name in names:
        if not getattr(learner, name) >= least:
            wanted = "must not be negative" if least == 0 else f"must be at least {least}"
            raise LearnerError(f"{name} {wanted}, but is {getattr(learner, name)}")


def check_above_zero(learner: object, *names: str) -> None:
    """Every parameter of these names must be above zero."""
    for name in names:
        if not getattr(learner, name) > 0:
            raise LearnerError(f"{name} must be above 0, but is {getattr(learner, name)}")


def check_choice(learner: object, name: str, *choices: str) -> None:
    """The parameter must be one of these words."""
    if getattr(learner, name) not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        raise LearnerError(f"{name} must be {listed}, not {getattr(learner, name)!r}")
