"""Universal parts of speech of English (UD EWT) with the default features; the dev file chooses the epoch."""

from __future__ import annotations

import trellis
from benchmarks.common import Result, Setting, timed, verdict

EPOCHS = 10
BAR = 94.8


def run(setting: Setting) -> Result:
    """Train once; accuracy does not change from run to run."""
    train, dev, test = (
        trellis.read(setting.file(f"ud-english-ewt/en_ewt-ud-{part}"))
        for part in ("train.conllu.gz", "dev.conllu", "test.conllu")
    )
    elapsed, tagger = timed(
        lambda: trellis.train(train, target="upos", dev=dev, learner=trellis.Perceptron(epochs=EPOCHS))
    )
    accuracy = 100 * tagger.evaluate(test).token_accuracy
    epoch = [event for event in tagger.info["history"] if event["best"]][-1]
    row = {
        "tokens": test.n_tokens,
        "accuracy, dev": 100 * epoch["dev_score"],
        "accuracy, test": accuracy,
        "wanted": BAR,
        "met": verdict(accuracy >= BAR),
        "best epoch": f"{epoch['epoch']} of {EPOCHS}",
        "training, s": elapsed,
    }
    return Result("UD English-EWT, UPOS from word forms, averaged perceptron", [row])
