"""Noun phrases of CoNLL-2000, as Sha & Pereira 2003 and Collins 2002 measured them."""

from __future__ import annotations

from typing import Any

import trellis
from benchmarks.common import Result, Setting, timed, verdict
from benchmarks.papers_collins import noun_phrases
from trellis.features.presets import PRESETS

# What words look like and go with, beside the templates of Collins.
RICHER = [
    *PRESETS["collins-chunking"],
    *(f"shape(word[{offset}])" for offset in (-1, 0, 1)),
    *(f"suffix(word[{offset}], 3)" for offset in (-1, 0, 1)),
    "prefix(word[0], 3)",
    *(f"word[{offset}] & pos[0]" for offset in (-1, 0, 1)),
]

# (name, learner, what else training is told, F1 wanted, printed)
CONTENDERS: list[tuple[str, Any, dict[str, Any], float, str]] = [
    ("CRF, order 2, L2", trellis.CRF(c2=0.2), {"order": 2}, 94.2, "94.19, 94.38 (Sha & Pereira)"),
    (
        "CRF, order 2, L2, more templates",
        trellis.CRF(c2=0.5),
        {"order": 2, "features": RICHER},
        94.2,
        "94.19, 94.38 (Sha & Pereira)",
    ),
    (
        "perceptron, averaged, order 2",
        trellis.Perceptron(epochs=15, shuffle=True),
        {"order": 2},
        94.0,
        "94.09 voted (Sha & Pereira)",
    ),
    (
        "maximum entropy, order 2",
        trellis.MaxEnt(),
        {"order": 2},
        93.3,
        "93.29 (Collins), 93.70 (Sha & Pereira)",
    ),
]


def run(setting: Setting) -> Result:
    """Train each learner once on noun phrases only."""
    files = [setting.file("conll2000/train.txt"), setting.file("conll2000/test.txt")]
    train, test = (noun_phrases(trellis.read(file)) for file in files)
    rows = []
    for name, learner, options, bar, printed in CONTENDERS:
        elapsed, tagger = timed(
            lambda learner=learner, options=options: trellis.train(
                train, learner=learner, **{"target": "label", "features": "collins-chunking"} | options
            )
        )
        f1 = 100 * tagger.evaluate(test).headline
        rows.append(
            {
                "learner": name,
                "F1, %": f1,
                "wanted": bar,
                "met": verdict(f1 >= bar),
                "s": elapsed,
                "printed": printed,
            }
        )
    return Result("CoNLL-2000, noun phrases, the templates of Collins 2002, figure 3", rows)
