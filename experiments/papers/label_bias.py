"""Label bias: the automaton of Lafferty, McCallum & Pereira 2001, on which an MEMM cannot take back its first step.

The automaton writes "rib" by the states 1, 2, 3 and "rob" by 4, 5, 3; a letter is the right one with probability
29/32. The paper drew 2,000 training and 500 test words, and printed 42% of the test states wrong for the MEMM and 4.6%
for the CRF. The words are made here, by ten seeds, so that the figures have a spread. docs/label-bias.md draws what
happens.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping

import trellis
from experiments.report import Finding, Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Lafferty et al. 2001: label bias on the automaton of rib and rob"
DATA: tuple[str, ...] = ()
STATES = {"rib": "123", "rob": "453"}
RIGHT = 29 / 32
SEEDS, QUICK_SEEDS = 10, 3
MODELS: dict[str, trellis.Learner] = {
    "MEMM": trellis.MaxEnt(c2=0.01, transitions="all"),
    "CRF": trellis.CRF(c2=0.01, transitions="all"),
    "perceptron, averaged": trellis.Perceptron(epochs=10, shuffle=False),
}
PRINTED = {"MEMM": 42.0, "CRF": 4.6}


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Each model on the same words."""
    seeds = QUICK_SEEDS if setting.quick else SEEDS
    return [Step(model, trained, {"model": model, "seeds": seeds}) for model in MODELS]


def words(n: int, seed: int) -> trellis.Corpus:
    """Noisy words and their states."""
    rng = random.Random(seed)
    chosen = [rng.choice(list(STATES)) for _ in range(n)]
    noisy = [[c if rng.random() < RIGHT else rng.choice("riob".replace(c, "")) for c in word] for word in chosen]
    return trellis.read({"letter": noisy, "state": [list(STATES[word]) for word in chosen]})


def trained(setting: Setting, model: str, seeds: int) -> Figures:
    """States wrong on test, by seed; how often the two clean words come out right."""
    errors, right = list[float](), 0
    for seed in range(seeds):
        train, test = words(2000, 2 * seed), words(500, 2 * seed + 1)
        tagger = trellis.train(
            train,
            target="state",
            features=["letter[0]"],
            order=1,
            learner=MODELS[model],
            n_threads=setting.n_threads,
        )
        errors.append(100 * (1 - tagger.evaluate(test).token_accuracy))
        right += sum("".join(tagger.tag(list(word))) == states for word, states in STATES.items())
    return {"errors": errors, "clean": right / (2 * seeds)}


def report(done: Mapping[str, Figures]) -> Report:
    """The errors, and whether the MEMM is the worse one."""
    mean = {model: statistics.mean(done[model]["errors"]) for model in MODELS}
    rows = [
        [model, mean[model], statistics.stdev(done[model]["errors"]), 100 * done[model]["clean"], PRINTED.get(model)]
        for model in MODELS
    ]
    columns = ["model", "states wrong, %", "deviation", "clean words right, %", "printed"]
    seen = f"{mean['MEMM']:.1f}, {mean['CRF']:.1f}"
    findings = [Finding("the MEMM is far worse than the CRF", mean["MEMM"] > 3 * mean["CRF"], seen)]
    remark = "The least that any model can expect is 4.2%: now and then noise makes one word out of the other."
    return Report([Table("States wrong on 500 words", columns, rows)], findings, remarks=[remark])
