"""Altun, table 2: parts of speech by log loss, exponential loss and Sequence AdaBoost, with two sets of features.

The paper trained on sections 2-21 of the Wall Street Journal and tested on section 23. The free sample takes its
place, a twelfth of that text, so accuracies are lower, above all with words alone (S1). S1 has words and pairs of
tags; S2 adds spelling and a window of three words. The number of rounds of boosting is chosen on dev, as is the
strength of the penalties.
"""

from __future__ import annotations

from collections.abc import Mapping

import trellis
from experiments.data import wsj
from experiments.measures import compared, interval, tested
from experiments.report import Cell, Finding, Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Altun, table 2: log loss, exponential loss and Sequence AdaBoost on parts of speech"
DATA = ("wsj-sample",)
ROUNDS, QUICK_ROUNDS, SCORE_EVERY = 10_000, 500, 100
STRENGTHS = (0.1, 1.0)
LOG, EXP, BOOST = "R_log (CRF)", "R_exp", "Boost"
SETS = {"S1": "altun-s1", "S2": "altun-s2"}
PRINTED = {
    ("S1", LOG): 94.91,
    ("S1", EXP): 94.57,
    ("S1", BOOST): 89.42,
    ("S2", LOG): 95.68,
    ("S2", EXP): 95.25,
    ("S2", BOOST): 94.91,
}


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Both losses with each strength; boosting once."""
    steps = list[Step]()
    for features in SETS:
        for loss in (LOG, EXP):
            tried = [
                Step(f"{features}, {loss}, c2 = {c2}", trained, {"features": features, "loss": loss, "c2": c2})
                for c2 in STRENGTHS
            ]
            steps += tried
        rounds = QUICK_ROUNDS if setting.quick else ROUNDS
        steps.append(Step(f"{features}, {BOOST}", boosted, {"features": features, "rounds": rounds}))
    return steps


def trained(setting: Setting, features: str, loss: str, c2: float) -> Figures:
    """One of the convex losses."""
    parts = wsj(setting)
    learner = trellis.CRF(c2=c2) if loss == LOG else trellis.ExponentialLoss(c2=c2)
    tagger = trellis.train(
        parts.train, target="pos", features=SETS[features], learner=learner, n_threads=setting.n_threads
    )
    dev = 100 * tagger.evaluate(parts.dev, n_threads=setting.n_threads).token_accuracy
    weights = tagger.model.weights.n_nonzero
    return tested(tagger, parts.test, "pos", setting) | {"dev": dev, "weights": weights, "c2": c2}


def boosted(setting: Setting, features: str, rounds: int) -> Figures:
    """Sequence AdaBoost; the round that is best on dev."""
    parts = wsj(setting)
    tagger = trellis.train(
        parts.train,
        target="pos",
        features=SETS[features],
        learner=trellis.SequenceBoost(epochs=rounds, score_every=SCORE_EVERY),
        dev=parts.dev,
        n_threads=setting.n_threads,
    )
    history, n = tagger.training["history"], len(tagger.training["history"])
    scores = {event["epoch"]: event["dev_score"] for event in history if event.get("dev_score") is not None}
    best = max(scores, key=lambda epoch: scores[epoch], default=n)
    return tested(tagger, parts.test, "pos", setting) | {
        "dev": 100 * tagger.evaluate(parts.dev, n_threads=setting.n_threads).token_accuracy,
        "weights": tagger.model.weights.n_nonzero,
        "rounds": best,
        "tokens again": 100 * sum(event["tokens"] for event in history) / (n * parts.train.n_tokens),
    }


def report(done: Mapping[str, Figures]) -> Report:
    """Table 2, and whether boosting is nearly as good with a tenth of the features."""
    chosen = dict[tuple[str, str], Figures]()
    for features in SETS:
        for loss in (LOG, EXP):
            some = [done[f"{features}, {loss}, c2 = {c2}"] for c2 in STRENGTHS]
            chosen[features, loss] = max(some, key=lambda one: float(one["dev"]))
        chosen[features, BOOST] = done[f"{features}, {BOOST}"]
    rows: list[list[Cell]] = [
        [
            features,
            loss,
            f"c2 = {one['c2']}" if "c2" in one else f"{one['rounds']:,} rounds",
            one["score"],
            interval(one),
            PRINTED[features, loss],
            one["weights"],
        ]
        for (features, loss), one in chosen.items()
    ]
    score = {key: one["score"] for key, one in chosen.items()}
    gap = [score[features, EXP] - score[features, BOOST] for features in SETS]
    share = 100 * chosen["S2", BOOST]["weights"] / chosen["S2", EXP]["weights"]
    a, b = score["S2", LOG], score["S2", EXP]
    findings = [
        Finding("log loss is at least as good as exponential loss (S2)", a >= b, f"{a:.2f}, {b:.2f}"),
        Finding("boosting falls far behind with words alone (S1)", gap[0] > 2, f"{gap[0]:.2f} points behind R_exp"),
        Finding(
            "boosting comes near with spelling features (S2)", gap[1] < gap[0] / 2, f"{gap[1]:.2f} points behind R_exp"
        ),
        Finding("boosting uses about a tenth of the features (S2)", share <= 15, f"{share:.1f}%"),
    ]
    pairs = {f"S2, {loss}": chosen["S2", loss] for loss in (LOG, EXP, BOOST)}
    table = Table(
        "Table 2: accuracy on test; constants and rounds chosen on dev",
        ["features", "learner", "chosen", "accuracy, %", "95% of bootstraps", "printed", "weights"],
        rows,
    )
    again = ", ".join(f"{chosen[features, BOOST]['tokens again']:.1f}% ({features})" for features in SETS)
    remark = (
        f"A round of boosting runs only the sentences that its feature occurs in: {again} of all tokens, on average."
    )
    return Report([table, compared(pairs)], findings, remarks=[remark])
