"""Altun, section 5.2: how often boosting chooses the same feature again in its first 100 rounds, under three bounds.

The paper found, on the whole Penn Treebank, a feature that the loose bound chose 30 times in 100 rounds, the tight
bound 5 times, and exact optimisation once. On the free sample most features are never wrong: the loose bound then
takes those, each once, by a step of any length. So the table has all features, and those seen at least 20 times, which
are wrong at times as all are in a large corpus.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import trellis
from experiments.data import wsj
from experiments.report import Cell, Finding, Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Altun, section 5.2: how often boosting chooses the same feature again"
DATA = ("wsj-sample",)
ROUNDS = 100
FREE = 20.0  # as good as no limit to steps
CUTOFFS = (0, 20)
PRINTED = {"loose": 30, "tight": 5, "exact": 1}


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Three bounds, with all features and with frequent ones."""
    return [
        Step(f"{bound}, cc={cutoff}", first_rounds, {"bound": bound, "cutoff": cutoff})
        for cutoff in CUTOFFS
        for bound in PRINTED
    ]


def first_rounds(setting: Setting, bound: Literal["loose", "tight", "exact"], cutoff: int) -> Figures:
    """Which feature was chosen in each round."""
    learner = trellis.SequenceBoost(bound=bound, epochs=ROUNDS, max_step=FREE)
    tagger = trellis.train(
        wsj(setting).train,
        target="pos",
        features=trellis.Features("altun-s2", min_count=cutoff),
        learner=learner,
        n_threads=setting.n_threads,
    )
    history = tagger.training["history"]
    chosen = [f"{event['feature']} {event['label']}" for event in history]
    return {"chosen": chosen, "log risk": [round(event["objective"], 4) for event in history]}


def _most(step: Figures) -> tuple[str, int]:
    """The feature that was chosen most, and how often."""
    chosen = Counter[str](step["chosen"])
    return chosen.most_common(1)[0]


def report(done: Mapping[str, Figures]) -> Report:
    """The feature that the loose bound chose most, under each bound; and how far 100 rounds lower the risk."""
    rows, most = list[list[Cell]](), dict[tuple[str, int], int]()
    for cutoff in CUTOFFS:
        favourite, _ = _most(done[f"loose, cc={cutoff}"])
        for bound, printed in PRINTED.items():
            step = done[f"{bound}, cc={cutoff}"]
            own, times = _most(step)
            most[bound, cutoff] = times
            again = step["chosen"].count(favourite)
            seen = "all" if cutoff == 0 else f"seen {cutoff} times"
            rows.append([seen, bound, own, times, again, printed, len(set(step["chosen"])), step["log risk"][-1]])
    columns = [
        "features",
        "bound",
        "chosen most",
        "times",
        "the loose bound's favourite",
        "printed",
        "different",
        "log risk",
    ]
    findings = list[Finding]()
    for cutoff in CUTOFFS:
        a, b, c = (most[bound, cutoff] for bound in PRINTED)
        where = "all features" if cutoff == 0 else "frequent features"
        findings.append(
            Finding(
                f"{where}: the tight bound chooses the same feature again less often than the loose one",
                b < a,
                f"{b}, {a}",
            )
        )
        findings.append(Finding(f"{where}: exact steps no more often than the tight bound", c <= b, f"{c}, {b}"))
    risks = [done[f"{bound}, cc={CUTOFFS[1]}"]["log risk"][-1] for bound in PRINTED]
    ordered = risks[2] <= risks[1] <= risks[0]
    findings.append(
        Finding(
            "the risk falls fastest by exact steps, then by the tight bound",
            ordered,
            ", ".join(f"{r:.1f}" for r in risks),
        )
    )
    return Report([Table("The first 100 rounds, S2", columns, rows)], findings)
