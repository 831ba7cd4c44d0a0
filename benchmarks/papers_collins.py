"""Noun phrases of CoNLL-2000 by the perceptron of Collins 2002, beside its table (figure 4)."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

import trellis
from benchmarks.common import Result, Setting, timed, verdict
from trellis.corpus.corpus import Column, Strings

EPOCHS = 15
BAR = 93.8  # test F1 of order 1, averaged, no cut-off
# (averaged, cut-off) to the F1 printed: on its development set, best number of epochs; on the test set.
PRINTED = {
    (True, 0): (93.53, 93.63),
    (False, 0): (93.04, None),
    (True, 5): (93.33, None),
    (False, 5): (91.88, None),
}


def noun_phrases(corpus: trellis.Corpus) -> trellis.Corpus:
    """The corpus with all other phrases outside."""
    labels = corpus.column("label")
    mapped = [value if value.endswith("-NP") else "O" for value in labels.values]
    names, codes = np.unique(mapped, return_inverse=True)
    mapped_codes = codes.astype(np.int32)[labels.codes]
    return corpus.with_column("label", Column(mapped_codes, Strings.of(names.tolist())))


def run(setting: Setting) -> Result:
    """Train with and without averaging, of order 1 and 2, with and without a cut-off."""
    files = [setting.file("conll2000/train.txt"), setting.file("conll2000/test.txt")]
    train, test = (noun_phrases(trellis.read(file)) for file in files)
    rows = []
    for order, cutoff, average in product((1, 2), (0, 5), (True, False)):
        learner = trellis.Perceptron(epochs=EPOCHS, average=average)
        options = {"target": "label", "features": "collins-chunking", "order": order, "cutoff": cutoff}
        elapsed, tagger = timed(partial(trellis.train, train, learner=learner, **options))
        dev, printed_test = PRINTED[average, cutoff]
        rows.append(
            {
                "learner": "averaged" if average else "not averaged",
                "order": order,
                "cutoff": cutoff,
                "F1, test": 100 * tagger.evaluate(test).headline,
                "printed, dev": dev,
                "printed, test": printed_test,
                "training, s": elapsed,
            }
        )
    averaged, last = rows[0]["F1, test"], rows[1]["F1, test"]
    return Result(
        f"CoNLL-2000 noun phrases, {EPOCHS} epochs, the templates of figure 3",
        rows,
        notes=[
            f"Order 1 without cut-off: at least {BAR} wanted: {verdict(averaged >= BAR)}; "
            f"averaging better: {verdict(averaged > last)}",
        ],
    )
