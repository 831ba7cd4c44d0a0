"""What learners report while they work. The library never prints: an observer does with events what it likes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True, slots=True)
class Event:
    """One epoch or iteration done."""

    epoch: int  # or iteration, from 1
    epochs: int  # how many there will be at most
    tokens: int  # tokens seen in it
    seconds: float | None = None  # what this one took; not kept in a model
    mistakes: int | None = None  # tokens whose best label was wrong when they were seen
    updates: int | None = None  # sentences that changed the weights
    objective: float | None = None  # what is minimised
    dual: float | None = None  # what the objective cannot fall below
    gap: float | None = None  # objective less dual; an estimate where there is no objective
    gradient_norm: float | None = None
    step: float | None = None  # how far the step went
    nonzero: int | None = None  # weights that are not zero
    dev_score: float | None = None  # on the dev corpus, from 0 to 1
    feature: str | None = None  # what a round of boosting chose, and with which label or labels
    label: str | None = None
    best: bool = False  # whether the dev score is the best so far

    def as_best(self) -> Event:
        """The same, with the best dev score so far."""
        return replace(self, best=True)

    def to_dict(self) -> dict[str, object]:
        """For the history inside a model, which is the same for the same training: without the time it took."""
        return {key: value for key, value in asdict(self).items() if value is not None and key != "seconds"}


class StopTrainingError(Exception):
    """Raised by an observer: training ends here, and the best weights so far are what it gives."""


Observer = Callable[[Event], None]
