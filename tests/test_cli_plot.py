"""Learning curves: what is drawn, and what is refused before training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import TRAIN, refused

import trellis
from trellis.display.charts import curves_chart, learning_curves


@pytest.mark.parametrize("name", ["curve.foo", "curve", "nosuch/curve.svg"])
def test_what_cannot_be_drawn_is_refused_before_training(here: Path, call: Any, name: str) -> None:
    before = sorted(here.iterdir())
    refused(call(f"train {TRAIN} --model m --quiet --plot {name}"), name)
    assert sorted(here.iterdir()) == before


def test_no_curve_without_epochs(here: Path, call: Any) -> None:
    refused(call("train train.txt --learner hmm --model m --quiet --plot h.svg"), "no epochs")


def test_the_dev_score_has_a_name_and_the_best_epoch_a_mark(here: Path, call: Any) -> None:
    assert call(f"train {TRAIN} --dev test.txt --epochs 4 --model m --quiet --plot c.svg").code == 0
    said = (here / "c.svg").read_text()
    assert " on dev, %" in said
    assert "training error, % of tokens" in said
    assert "best: 100.00 at epoch 1" in said


def test_objective() -> None:
    history = [{"epoch": i, "tokens": 10, "objective": 100 / i, "dev_score": 0.5} for i in (1, 2, 3)]
    said = curves_chart(learning_curves(history, "token accuracy"), "title").svg
    assert all(word in said for word in ("objective", "token accuracy on dev, %", "best: 50.00 at epoch 1"))


def test_without_dev_there_is_no_mark() -> None:
    history = [{"epoch": 1, "tokens": 10, "mistakes": 5}]
    said = curves_chart(learning_curves(history, "token accuracy"), "title").svg
    assert "best" not in said
    assert "on dev" not in said
    assert "<circle" in said  # the one point is seen


@pytest.mark.parametrize(
    ("metric", "labels", "name"),
    [
        ("auto", ["B-X", "I-X", "O"], "span F1"),
        ("auto", ["NN", "DT", "NN"], "token accuracy"),
        ("sentence", ["B-X", "O", "O"], "sentence accuracy"),
    ],
)
def test_names_of_scores(metric: str, labels: list[str], name: str) -> None:
    data = [(["a", "b", "c"], labels)]
    tagger = trellis.train(data, dev=data, metric=metric, learner=trellis.Perceptron(epochs=1))
    assert name in tagger.plot_history().svg
