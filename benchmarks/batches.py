"""Mini-batches of online learners: seconds of an epoch by batch and threads, and F1 by batch."""

from __future__ import annotations

from typing import Any

import trellis
from benchmarks.common import Result, Setting

LEARNERS: dict[str, Any] = {
    "perceptron": trellis.Perceptron,
    "PA-I": trellis.PassiveAggressive,
    "MIRA": trellis.MIRA,
    "AROW": trellis.AROW,
}
SETTINGS = ((1, 1), (16, 1), (16, 2))  # batch, threads


def run(setting: Setting) -> Result:
    """In turns; the best epoch counts."""
    train, test = (trellis.read(setting.file(f"conll2000/{name}.txt")) for name in ("train", "test"))
    corpus = train[:200] if setting.quick else train
    rows = []
    for name, make in LEARNERS.items():
        best: dict[tuple[int, int], float] = {}
        scores: dict[int, float] = {}
        for _ in range(setting.rounds):
            for batch, n_threads in SETTINGS:
                seconds: list[float] = []
                tagger = trellis.train(
                    corpus,
                    target="label",
                    features="chunking",
                    learner=make(batch=batch, epochs=10, shuffle=False),
                    n_threads=n_threads,
                    observer=lambda event, seconds=seconds: seconds.append(event.seconds),
                )
                least = min(seconds)
                best[batch, n_threads] = min(least, best.get((batch, n_threads), least))
                scores[batch] = 100 * tagger.evaluate(test).headline
        rows.append(
            {
                "learner": name,
                **{f"batch {batch}, {n} thread(s), s": best[batch, n] for batch, n in SETTINGS},
                "speed-up": best[1, 1] / best[16, 2],
                "F1, batch 1": scores[1],
                "F1, batch 16": scores[16],
            }
        )
    return Result("CoNLL-2000, all phrases, `chunking` features, 10 epochs", rows)
