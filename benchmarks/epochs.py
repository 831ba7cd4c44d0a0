"""Accuracy on development sentences by the number of epochs of online learners, with the data of presets.py."""

from __future__ import annotations

from typing import Any

import trellis
from benchmarks.common import Result, Setting
from benchmarks.presets import data_of, figure

EPOCHS = (10, 15, 20)
TASKS = {"EWT": "default", "Sequoia": "default", "a tenth of all phrases": "chunking"}
LEARNERS: dict[str, type[trellis.Learner]] = {
    "Perceptron": trellis.Perceptron,
    "PassiveAggressive": trellis.PassiveAggressive,
    "AROW": trellis.AROW,
    "MIRA": trellis.MIRA,
}


def run(setting: Setting) -> Result:
    """A training per number of epochs, by the defaults of each learner otherwise."""
    rows = list[dict[str, Any]]()
    for task, features in TASKS.items():
        data = data_of(setting, task.removeprefix("a tenth of "))
        train = data.train[: len(data.train) // 10] if task.startswith("a tenth of ") else data.train
        train = train[:300] if setting.quick else train
        for name, learner in LEARNERS.items():
            row: dict[str, Any] = {"task": task, "learner": name}
            for epochs in EPOCHS:
                options = {"target": data.target, "features": features, "learner": learner(epochs=epochs)}
                row[f"{epochs} epochs"] = figure(trellis.train(train, n_threads=1, **options), data.dev)
            rows.append(row)
    return Result("Epochs of online learners: accuracy, or F1 of phrases, on development sentences", rows)
