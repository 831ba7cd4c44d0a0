"""Figure 4 of Collins 2002, on any corpus: perceptron and maximum entropy, by iteration, with and without cut-offs.

Both of its halves, noun phrases and parts of speech, are this experiment; they differ in the corpus and the templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import trellis
from experiments.data import Parts
from experiments.report import Curves, Finding
from experiments.steps import Figures, Setting

ORDER = 2  # a label depends on the two before it
CUTOFFS = (0, 5)  # cc=5: features seen five times or more
PERCEPTRON, SCALING = 40, 900  # iterations, at most, as many as the paper went
QUICK_PERCEPTRON, QUICK_SCALING = 10, 60


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the figure."""

    name: str
    kind: str  # "averaged", "last" or "maxent"
    cutoff: int


METHODS = [
    *(
        Method(f"perceptron, {'averaged' if kind == 'averaged' else 'not averaged'}, cc={cutoff}", kind, cutoff)
        for cutoff in CUTOFFS
        for kind in ("averaged", "last")
    ),
    *(Method(f"maximum entropy, cc={cutoff}", "maxent", cutoff) for cutoff in CUTOFFS),
]


def iterations(kind: str, setting: Setting) -> int:
    """How far a curve goes."""
    if setting.quick:
        return QUICK_SCALING if kind == "maxent" else QUICK_PERCEPTRON
    return SCALING if kind == "maxent" else PERCEPTRON


def learner(kind: str, iterations: int) -> trellis.Learner:
    """The learner of a row."""
    if kind == "maxent":
        return trellis.MaxEnt(solver="gis", c2=0.0, epochs=iterations)
    return trellis.Perceptron(epochs=iterations, average=kind == "averaged", shuffle=False)


def curve(
    parts: Parts,
    setting: Setting,
    target: str,
    features: str,
    kind: str,
    cutoff: int,
    iterations: int,
    *,
    prune: bool = False,
) -> Figures:
    """The score on dev after every iteration, in per cent."""
    tagger = trellis.train(
        parts.train,
        target=target,
        features=trellis.Features(features, min_count=cutoff),
        search=trellis.Search(prune=prune),
        learner=learner(kind, iterations),
        order=ORDER,
        dev=parts.dev,
        n_threads=setting.n_threads,
    )
    scores = [100 * event["dev_score"] for event in tagger.training["history"]]
    best = max(scores)
    return {"scores": [round(score, 4) for score in scores], "best": best, "iteration": scores.index(best) + 1}


def chosen(
    parts: Parts,
    setting: Setting,
    target: str,
    features: str,
    method: Method,
    iterations: int,
    *,
    prune: bool = False,
) -> trellis.Tagger:
    """The tagger of a row, after the number of iterations that was best on dev."""
    return trellis.train(
        parts.train,
        target=target,
        features=trellis.Features(features, min_count=method.cutoff),
        search=trellis.Search(prune=prune),
        learner=learner(method.kind, iterations),
        order=ORDER,
        n_threads=setting.n_threads,
    )


def best_method(done: Mapping[str, Figures], prefix: str, maxent: bool) -> Method:
    """Of the perceptrons, or of the maximum-entropy models, the one that is best on dev."""
    some = [method for method in METHODS if (method.kind == "maxent") == maxent and prefix + method.name in done]
    return max(some, key=lambda method: float(done[prefix + method.name]["best"]))


def findings(done: Mapping[str, Figures], prefix: str, where: str) -> list[Finding]:
    """What the paper found of averaging, cut-offs and the two methods."""
    best = {method: done[prefix + method.name]["best"] for method in METHODS if prefix + method.name in done}

    def of(kind: str, cutoff: int) -> float:
        return float(next(value for method, value in best.items() if (method.kind, method.cutoff) == (kind, cutoff)))

    out = list[Finding]()
    for cutoff in CUTOFFS:
        if {(method.kind, method.cutoff) for method in best} >= {("averaged", cutoff), ("last", cutoff)}:
            a, b = of("averaged", cutoff), of("last", cutoff)
            out.append(Finding(f"{where}: averaged better than not averaged, cc={cutoff}", a > b, f"{a:.2f}, {b:.2f}"))
    if len(best) < len(METHODS):
        return out
    a, b = of("averaged", 0), of("averaged", 5)
    out.append(
        Finding(f"{where}: the averaged perceptron better with all features than with cc=5", a > b, f"{a:.2f}, {b:.2f}")
    )
    a, b = of("last", 0), of("last", 5)
    out.append(Finding(f"{where}: so is the perceptron that is not averaged", a > b, f"{a:.2f}, {b:.2f}"))
    a, b = of("maxent", 0), of("maxent", 5)
    out.append(
        Finding(
            f"{where}: maximum entropy suffers when all features are included", a < b, f"{a:.2f}, {b:.2f} with cc=5"
        )
    )
    a, b = max(of("averaged", 0), of("averaged", 5)), max(of("maxent", 0), of("maxent", 5))
    out.append(
        Finding(f"{where}: the best perceptron better than the best maximum entropy", a > b, f"{a:.2f}, {b:.2f}")
    )
    spread = [_spread(done[prefix + method.name]["scores"]) for method in METHODS[:2]]
    claim = f"{where}: averaging makes scores steadier from iteration to iteration"
    seen = f"standard deviation after the fifth iteration {spread[0]:.3f}, {spread[1]:.3f} without"
    return [*out, Finding(claim, spread[0] < spread[1], seen)]


def _spread(scores: list[float]) -> float:
    later = scores[5:] or scores
    mean = sum(later) / len(later)
    return float((sum((score - mean) ** 2 for score in later) / len(later)) ** 0.5)


def picture(done: Mapping[str, Figures], prefix: str, name: str, title: str, score: str) -> list[Curves]:
    """Scores by iteration: the perceptrons, and maximum entropy on its own scale."""
    out = list[Curves]()
    for maxent, suffix in ((False, "perceptron"), (True, "maxent")):
        lines = {
            method.name: list(enumerate(done[prefix + method.name]["scores"], 1))
            for method in METHODS
            if (method.kind == "maxent") == maxent and prefix + method.name in done
        }
        if lines:
            out.append(Curves(f"{name}-{suffix}", title, "iteration", f"{score} on dev, %", lines, log_x=maxent))
    return out
