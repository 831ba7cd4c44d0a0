"""The learning curve of a training as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from trellis.cli.outputs import check_writable
from trellis.errors import LearnerError
from trellis.learning.events import Event


def check_plot(path: str) -> None:
    """Refuse early what could not be drawn after an hour of training."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise LearnerError("--plot needs matplotlib; install trellis-tagger[plot]") from None
    check_writable(path)


def draw(history: Sequence[Event], path: str, title: str) -> None:
    """Mistakes or objective, and the dev score beside it, over epochs or iterations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    left = figure.subplots()
    epochs = [event.epoch for event in history]
    if history and history[0].objective is not None:
        left.plot(epochs, [event.objective or 0.0 for event in history], color="tab:blue")
        left.set(ylabel="objective", xlabel="iteration", yscale="log")
    else:
        wrong = [100 * (event.mistakes or 0) / max(1, event.tokens) for event in history]
        left.plot(epochs, wrong, color="tab:blue")
        left.set(ylabel="tokens wrong in training, %", xlabel="epoch")
    scored = [event for event in history if event.dev_score is not None]
    if scored:
        right = left.twinx()
        right.plot(
            [e.epoch for e in scored], [100 * (e.dev_score or 0.0) for e in scored], color="tab:orange"
        )
        right.set(ylabel="dev score, %")
    left.set_title(title)
    figure.savefig(path)
