"""CRF with an L1 penalty: time until the objective is as low as OWL-QN leaves it, and what is reached in the end."""

from __future__ import annotations

import time

import trellis
from benchmarks.common import Result, Setting

OWL_QN = 16806.09  # where OWL-QN stopped at the same tolerance, after 627 epochs: CoNLL-2000, c1 = 1, c2 = 0


def run(setting: Setting) -> Result:
    """One training per number of threads, clocked epoch by epoch."""
    train, test = (trellis.read(setting.file(f"conll2000/{name}.txt")) for name in ("train", "test"))
    rows = []
    for n_threads in (1, 2):
        corpus = train[:200] if setting.quick else train
        begun, spent = time.perf_counter(), time.process_time()
        met: list[tuple[float, float, float]] = []  # objective, seconds, CPU seconds

        def note(event: trellis.Event, begun: float = begun, spent: float = spent, met: list = met) -> None:
            met.append((event.objective or 0.0, time.perf_counter() - begun, time.process_time() - spent))

        learner = trellis.CRF(c1=1.0, c2=0.0)
        tagger = trellis.train(
            corpus, target="label", features="chunking", learner=learner, n_threads=n_threads, observer=note
        )
        there = next((one for one in met if one[0] <= OWL_QN), met[-1])
        rows.append(
            {
                "threads": n_threads,
                "seconds to OWL-QN's objective": there[1],
                "CPU": there[2],
                "seconds in all": met[-1][1],
                "epochs": len(met),
                "objective": met[-1][0],
                "weights": tagger.model.weights.n_nonzero,
                "F1, %": 100 * tagger.evaluate(test).headline,
            }
        )
    return Result("CoNLL-2000, all phrases, `chunking` features, CRF with c1 = 1 and c2 = 0", rows)
