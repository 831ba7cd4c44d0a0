"""Tagging CoNLL-2000 chunks with CRFs of the same number of weights: lists to labels, one sentence, load, marginals."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import works
from benchmarks.arena import Entry, peers_with, train_all
from benchmarks.common import Result, Setting
from benchmarks.compare import Contender, qualities, rotate, rows
from benchmarks.peers import absent, present
from benchmarks.settings import CAPPED

NAMES = ("python-crfsuite", "sklearn-crfsuite", "chaine")


def run(setting: Setting) -> Result:
    """Train once, then each way of tagging in turn."""
    ours, peers = Entry("crf-capped"), peers_with("crf-capped", *NAMES)
    vowpal = peers_with("one", "Vowpal Wabbit")
    rival = [entry for entry in peers if entry.name == "python-crfsuite"]
    out: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = works.chunks(setting, folder)
        trained = train_all([ours, *peers, *vowpal], work, folder, 1)

        def measure(what: str, contenders: list[Contender], bar: float | None = None, batch: bool = True) -> None:
            turns = rotate(contenders, setting.rounds)
            out.extend(
                rows(
                    what,
                    turns,
                    tokens=work.n_tokens() if batch else None,
                    quality=qualities(turns, work.quality) if batch else None,
                    bars={} if bar is None else {"python-crfsuite": bar},
                )
            )

        def does(function: str, *entries: Entry, variant: str = "", **more: Any) -> list[Contender]:
            return [entry.does(function, work, folder, variant, **more) for entry in entries]

        measure(
            "chunks, lists of strings to labels",
            [
                *does("label", ours),
                *does("label", ours, variant="1 thread", n_threads=1),
                *does("label", ours, variant="words met before", warm=True),
                *does("label", *peers, *vowpal),
            ],
            bar=10.0,
        )
        measure(
            "chunks, one sentence of 23 to 27 words",
            [
                *does("wait", ours),
                *does("wait", ours, variant="words met before", warm=True),
                *does("wait", *rival),
            ],
            bar=8.0,
            batch=False,
        )
        measure("chunks, model file to first labels", does("start", ours, *rival), bar=2.0, batch=False)
        measure(
            "chunks, marginals of all labels",
            [
                *does("beliefs", ours),
                *does("belief_arrays", ours, variant="arrays"),
                *does("beliefs", *peers[:2]),
            ],
        )
        measure("chunks, five best paths", does("k_best", ours))
    weights = ", ".join(
        f"{name} {taken[-1].figures['weights']:,}" for name, taken in trained.items() if "weights" in taken[-1].figures
    )
    return Result(
        f"CoNLL-2000 chunks, {out[0]['tokens/s'] * out[0]['best']:,.0f} test tokens, tagging with a CRF",
        out,
        ", ".join(peer.title for peer in present(*NAMES, "Vowpal Wabbit")),
        [
            f"Models of {CAPPED} iterations of L-BFGS. Weights: {weights}.",
            "Peers with their feature extraction. trellis with words it never met, unless said; quality is F1 in %.",
            "CRFsuite knows no k best paths. Model file to first labels: imports done, the file in the system's cache.",
            *absent(*NAMES),
        ],
    )
