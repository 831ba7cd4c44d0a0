"""Beam search by its width and by the kind of update: chunks of CoNLL-2000 and UPOS of UD English-EWT, held out."""

from __future__ import annotations

import time
from typing import Any, get_args

import numpy as np

import trellis
from benchmarks.common import Result, Setting
from trellis.features.presets import PRESETS
from trellis.learners.online import Update

EPOCHS = 5
WIDTHS = (1, 2, 4, 8, 16)
# In addition to the templates of a preset; selected from a few on the same held-out data.
FAR = {
    "chunking": ["label[-2]", "label[-3]", "label[same]"],
    "default": ["label[-2]", "label[-3]", "label[same] & form[0]"],
}


def run(setting: Setting) -> Result:
    """Figures are on held-out data: every tenth sentence of the training file, and the dev file."""
    chunks = trellis.read(setting.file("conll2000/train.txt"), columns=["word", "pos", "chunk"])
    chunks = chunks[:1000] if setting.quick else chunks
    held_out = np.arange(len(chunks)) % 10 == 0
    words, dev = (
        trellis.read(setting.file(f"ud-english-ewt/en_ewt-ud-{part}")) for part in ("train.conllu.gz", "dev.conllu")
    )
    words = words[:1000] if setting.quick else words
    tasks = {
        "CoNLL-2000, F1": (
            "chunk",
            "chunking",
            chunks.take(np.flatnonzero(~held_out)),
            chunks.take(np.flatnonzero(held_out)),
        ),
        "EWT, UPOS accuracy": ("upos", "default", words, dev),
    }
    rows: list[dict[str, Any]] = []
    for task, (target, preset, train, test) in tasks.items():
        for order in (1, 2):
            row = {"task": task, "search": f"exact, order {order}, no label further back"}
            rows.append({**row, "figure": _figure(train, test, target, PRESETS[preset], order=order)[0]})
        features = [*PRESETS[preset], *FAR[preset]]
        for width in WIDTHS[::2] if setting.quick else WIDTHS:
            row = {"task": task, "search": f"beam {width}"}
            for update in get_args(Update):
                row[update], seconds = _figure(train, test, target, features, update, search=trellis.Search(beam=width))
            rows.append({**row, "s": seconds})
    return Result(
        f"labels further back by a beam: averaged perceptron, {EPOCHS} epochs, presets chunking and default with "
        f"{' and '.join('; '.join(some) for some in FAR.values())}",
        rows,
        notes=["s: seconds of the last training, two threads, other work on the machine"],
    )


def _figure(train: Any, test: Any, target: str, features: Any, update: Any = None, **more: Any) -> tuple[str, float]:
    learner = trellis.Perceptron(epochs=EPOCHS, update=update, shuffle=False)
    begun = time.perf_counter()
    tagger = trellis.train(train, target=target, features=features, learner=learner, n_threads=2, **more)
    seconds = time.perf_counter() - begun
    return f"{100 * tagger.evaluate(test).headline:.2f}", seconds
