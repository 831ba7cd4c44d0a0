"""Iterative parameter mixing: F1 and seconds by the number of shards, against plain training.

The default, ``mix="touched"``, was chosen by the F1 on the last tenth of the training file, which a table of its own
shows; nothing was chosen by the F1 on the test file.
"""

from __future__ import annotations

from typing import Any

import trellis
from benchmarks.common import Result, Setting, timed

LEARNERS: dict[str, Any] = {"perceptron": trellis.Perceptron, "MIRA": trellis.MIRA, "AROW": trellis.AROW}
SHARDS, CHOSEN = (2, 4, 8, 16), 8  # by which the default was chosen
EPOCHS = 10


def run(setting: Setting) -> Result:
    """One training per row with two threads; the F1 does not depend on them."""
    train, test = (trellis.read(setting.file(f"conll2000/{name}.txt")) for name in ("train", "test"))
    if setting.quick:
        train, test = train[:400], test[:200]
    most = len(train) * 9 // 10
    rows = list[dict[str, Any]]()
    for name, make in LEARNERS.items():
        rows.append(_row(name, "plain", make(epochs=EPOCHS), train, test, train[:most], train[most:]))
        for mix in ("touched", "uniform"):
            for shards in SHARDS:
                learner = make(epochs=EPOCHS, shards=shards, mix=mix)
                held_out = (train[:most], train[most:]) if shards == CHOSEN else ()
                rows.append(_row(name, f"{shards}, {mix}", learner, train, test, *held_out))
                rows[-1]["difference"] = rows[-1]["F1, %"] - next(r for r in rows if r["learner"] == name)["F1, %"]
    return Result(
        f"CoNLL-2000, all phrases, `chunking` features, {EPOCHS} epochs, order 1",
        rows,
        notes=["held-out F1: trained on nine tenths of the training file, evaluated on the last tenth"],
    )


def _row(name: str, shards: str, learner: Any, train: Any, test: Any, *held_out: Any) -> dict[str, Any]:
    seconds, tagger = timed(lambda: _trained(train, learner))
    row = {"learner": name, "shards": shards, "seconds": seconds, "F1, %": 100 * tagger.evaluate(test).headline}
    if held_out:
        row["held-out F1, %"] = 100 * _trained(held_out[0], learner).evaluate(held_out[1]).headline
    return row


def _trained(corpus: Any, learner: Any) -> trellis.Tagger:
    return trellis.train(corpus, target="label", features="chunking", learner=learner, n_threads=2)
