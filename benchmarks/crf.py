"""Training a CRF on CoNLL-2000 chunks: by L-BFGS with c2 = 1 to the end, and by stochastic steps.

trellis and CRFsuite have the same weights (an attribute with the labels it was seen with, label pairs seen) and
minimise the same sum, so that their objectives can be compared.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import works
from benchmarks.arena import Entry, peers_with, quality_of, train_all
from benchmarks.common import Result, Setting, verdict
from benchmarks.compare import OURS, rows
from benchmarks.peers import absent, present
from benchmarks.settings import EPOCHS
from benchmarks.turns import Turn, call

NAMES = ("python-crfsuite", "sklearn-crfsuite", "chaine")
TWO, ONE = f"{OURS}, 2 threads", f"{OURS}, 1 thread"
BARS = {ONE: {"python-crfsuite": 5.0}, TWO: {"python-crfsuite": 10.0}}


def run(setting: Setting) -> Result:
    """Train all in turn, then tag once with each for its F1."""
    ours = [
        Entry("crf", variant="2 threads", training={"n_threads": 2}),
        Entry("crf", variant="1 thread", training={"n_threads": 1}),
    ]
    # A turn takes minutes, so they have few.
    peers = [*peers_with("crf", NAMES[0], rounds=2), *peers_with("crf", *NAMES[1:], rounds=1)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = works.chunks(setting, folder)
        turns = train_all([*ours, *peers], work, folder, setting.rounds)
        quality = quality_of([*ours, *peers], work, folder)
        checked = [_checked(entry, work, folder, turns[entry.name]) for entry in ours]
        n_tokens = work.n_train_tokens()
        stochastic = _stochastic(setting, work, folder)
    out: list[dict[str, Any]] = []
    for who, is_right in zip((TWO, ONE), checked, strict=True):
        out += _to_their_objective(who, turns, quality, is_right=is_right)
    out += rows("chunks, CRF by L-BFGS, to its own end", turns, ours=TWO, quality=quality)
    both = {name: turns[name] for name in (TWO, "python-crfsuite") if name in turns}
    out += rows("chunks, CRF training, peak memory", both, of="peak_mb", ours=TWO, bars={"python-crfsuite": 1.0})
    told = ", ".join(f"{name} {_objective(taken):,.1f}" for name, taken in turns.items() if _objective(taken))
    return Result(
        f"CoNLL-2000 chunks, CRF, c2 = 1, {n_tokens:,} tokens",
        out + stochastic,
        ", ".join(peer.title for peer in present(*NAMES)),
        [
            "Seconds are of learning alone: of trellis all of fit; of CRFsuite what its log counts (CPU",
            "seconds, here brought to the clock by the ratio of the two over the whole call); of chaine with",
            "its loading of attributes. Quality is F1 in %. `all_pairs` has Wapiti and CRF++.",
            "To the objective of CRFsuite: until trellis has an objective no worse than CRFsuite has at its end.",
            f"Objectives at the end: {told}; of trellis computed again from its model, in double precision:",
            f"the same: {', '.join(verdict(one) for one in checked)}.",
            f"Stochastic: {EPOCHS} passes each; AdaGrad here, l2sgd in CRFsuite, which first tries steps.",
            *absent(*NAMES),
        ],
    )


def _objective(turns: list[Turn]) -> float:
    """At the end; 0 where it is not told."""
    figures = turns[-1].figures
    if "trace" in figures:
        return float(figures["trace"][-1][1])
    return float(figures.get("objective") or 0.0)


def _checked(entry: Entry, work: works.Work, folder: Path, turns: list[Turn]) -> bool:
    """Whether the model kept has the objective that training told."""
    arguments = {"work": work.given(), "model": entry.model(folder), "learner": entry.learner}
    seen = call(entry.call("objective"), arguments).figures["objective"]
    return bool(abs(seen - _objective(turns)) <= 1e-6 * seen)


def _to_their_objective(
    who: str, turns: dict[str, list[Turn]], quality: dict[str, float], *, is_right: bool
) -> list[dict[str, Any]]:
    """Until ours is no worse than that of the peer; until our end where there is no peer."""
    target = _objective(turns["python-crfsuite"]) if "python-crfsuite" in turns else 0.0
    reached = [turn for turn in (_until(turn, target) for turn in turns[who]) if turn is not None]
    others = {name: taken for name, taken in turns.items() if name in BARS[who]}
    return rows(
        f"chunks, CRF by L-BFGS, {who.partition(', ')[2]}, to CRFsuite's objective",
        {who: reached or turns[who], **others},
        ours=who,
        quality=quality,
        bars=BARS[who],
        holds=lambda peer: is_right and bool(reached),
    )


def _until(turn: Turn, target: float) -> Turn | None:
    """The turn as if it had ended when its objective was no worse than the target; None where it never was."""
    for seconds, objective in turn.figures["trace"]:
        if objective is not None and objective <= target:
            share = seconds / turn.figures["seconds"]
            return replace(turn, figures=turn.figures | {"seconds": seconds, "cpu": turn.cpu * share})
    return turn if target == 0.0 else None


def _stochastic(setting: Setting, work: works.Work, folder: Path) -> list[dict[str, Any]]:
    entries = [Entry("sgd"), *peers_with("sgd", "python-crfsuite")]
    turns = train_all(entries, work, folder, min(2, setting.rounds))
    return rows("chunks, CRF by stochastic gradients", turns, quality=quality_of(entries, work, folder))
