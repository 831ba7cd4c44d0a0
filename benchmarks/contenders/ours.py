"""trellis."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import trellis
from benchmarks.clock import Clock, best, median_wait
from benchmarks.rows import read_rows, take
from benchmarks.settings import TRELLIS
from trellis.features.presets import LETTER_RUNS
from trellis.learning.parameters import Parameters
from trellis.learning.sums import sums_of

Work = dict[str, Any]


def train(work: Work, model: str, learner: str, n_threads: int = 2, epochs: int | None = None) -> Work:
    """Learning is all of the learner's ``fit``: it begins with encoded features and ends with weights."""
    name, settings, options = TRELLIS[learner]
    chosen = getattr(trellis, name)(**settings | ({} if epochs is None else {"epochs": epochs}))
    learning, fit = Clock(), type(chosen).fit
    trace: list[tuple[float, float | None]] = []  # seconds since learning began, objective

    def observe(event: Any) -> None:
        # A stochastic pass knows the loss of each sentence only at the time of its step.
        trace.append((learning.elapsed, event.objective if event.gradient_norm is not None else None))

    def clocked_fit(*arguments: Any) -> Any:
        with learning:
            return fit(*arguments)

    type(chosen).fit = clocked_fit
    with Clock() as total:
        tagger = trellis.train(
            trellis.read(work["train"], columns=work["columns"]),
            target=work["target"],
            features=trellis.Features(LETTER_RUNS if work["features"] == "letters" else work["features"], **options),
            learner=chosen,
            n_threads=n_threads,
            observer=observe,
        )
        tagger.save(model)
    weights = tagger.model.weights.n_nonzero
    return learning.figures() | {
        "total": total.seconds,
        "trace": trace,
        "epochs": len(trace),
        "weights": weights,
    }


class _Probe(trellis.Learner):
    """A learner without updates: it computes the objective of the initial weights in double precision."""

    default_pairs, family = "seen", "log-linear"

    def __init__(self, c2: float) -> None:
        self.c2, self.value = c2, math.nan

    def fit(self, problem: Any, observer: Any) -> Any:
        parameters = Parameters.of(problem, transitions="seen", start=False)
        self.value = sums_of(problem, parameters, self.c2, single=False).log_loss(parameters.start())[0]
        raise trellis.TrellisError("nothing is to be learnt")


def objective(work: Work, model: str, learner: str) -> Work:
    """The objective of a model on its training file, computed after training."""
    probe = _Probe(TRELLIS[learner][1]["c2"])
    corpus = trellis.read(work["train"], columns=work["columns"])
    try:
        trellis.train(corpus, target=work["target"], learner=probe, init=trellis.load(model))
    except trellis.TrellisError:
        if math.isnan(probe.value):
            raise
    return {"objective": probe.value}


def _sentences(work: Work) -> list[list[Any]]:
    """Of strings, or of tuples without the label."""
    n_columns = work["columns"].count(",")
    return take(read_rows(work["test"]), *range(n_columns))


def label(work: Work, model: str, n_threads: int | None = None, warm: bool = False, repeats: int = 5) -> Work:
    """Tag with an empty word cache, unless ``warm``."""
    sentences, tagger = _sentences(work), trellis.load(model)
    taggers = iter(trellis.Tagger(tagger.model) for _ in range(repeats))
    if warm:
        tagger.tag_batch(sentences, n_threads=n_threads)
        taggers = itertools.repeat(tagger)
    prepared = list(itertools.islice(taggers, repeats))
    figures, found = best(lambda: prepared.pop().tag_batch(sentences, n_threads=n_threads), repeats)
    return figures | {"labels": found}


def wait(work: Work, model: str, warm: bool = False) -> Work:
    """Test sentences of 23 to 27 words, by a tagger that has met none of them, or all of them."""
    sentences, tagger = _sentences(work), trellis.load(model)
    some = [sentence for sentence in sentences if 23 <= len(sentence) <= 27]
    if warm:
        tagger.tag_batch(some)
    return median_wait(tagger.tag, some)


def start(work: Work, model: str, repeats: int = 5) -> Work:
    """Imports are done; the model file is in the cache of the system."""
    sentence = _sentences(work)[0]
    trellis.load(model)
    return best(lambda: trellis.load(model).tag(sentence), repeats)[0]


def beliefs(work: Work, model: str, repeats: int = 3) -> Work:
    """As a list of dicts a sentence, one a token."""
    sentences, tagger = _sentences(work), trellis.load(model)

    def work_through() -> list[Any]:
        return [
            [dict(zip(tagger.labels, row, strict=True)) for row in posterior.node.tolist()]
            for posterior in tagger.marginals_batch(sentences)
        ]

    figures, found = best(work_through, repeats)
    return figures | {"labels": [[max(token, key=token.get) for token in sentence] for sentence in found]}


def belief_arrays(work: Work, model: str, repeats: int = 3) -> Work:
    """The same as arrays."""
    sentences, tagger = _sentences(work), trellis.load(model)
    figures, found = best(lambda: tagger.marginals_batch(sentences), repeats)
    return figures | {"labels": [[tagger.labels[z] for z in p.node.argmax(axis=1)] for p in found]}


def k_best(work: Work, model: str, k: int = 5) -> Work:
    """The k best paths, sentence by sentence."""
    sentences, tagger = _sentences(work), trellis.load(model)
    figures, found = best(lambda: [tagger.kbest(sentence, k) for sentence in sentences], 2)
    return figures | {"labels": [paths[0][0] for paths in found]}


def command(model: str, source: str, output: str, executable: str, n_threads: int | None = None) -> list[str]:
    """The command that tags a file."""
    return [
        str(Path(executable).parent / "trellis"),
        "predict",
        "--quiet",
        "--model",
        model,
        source,
        "-o",
        output,
        *([] if n_threads is None else ["--threads", str(n_threads)]),
    ]
