"""Seconds of an iteration of a CRF on workers: measured on this machine, by a model, and simulated for 1,000 machines.

The model has few pieces, all measured here: what a token and a weight cost, and what Ray takes to call, to wait, to
store and to add. It is checked against trainings on one and two workers. The simulation then runs the code that cuts
files into runs, calls workers and adds up their sums, with a clock of its own and a network as data centres have it.
"""

from __future__ import annotations

import tempfile
import time
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

import trellis
from benchmarks.common import Result, Setting, timed, verdict
from benchmarks.growth import exponent, with_labels
from benchmarks.rows import read_rows, write_rows
from benchmarks.simulated_ray import Network, SimulatedRay
from trellis.corpus.stream import Files
from trellis.interfaces.cluster.ray_actors import RayActors
from trellis.learning.parameters import block_tokens
from trellis.tasks.tagging.training.shards import Place

LABELS, EPOCHS, FILES = 25, 12, 8
OVERHEAD = 1.15  # the bar: an iteration by one worker against one thread, on two copies of the corpus
LATENCY, BANDWIDTH = 2e-4, 10e9 / 8  # assumed of a network: seconds, bytes per second
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
CASES = ((10**9, 10**7), (10**10, 10**8), (10**12, 10**9))  # tokens and weights
PROBE_BYTES, MANY = 32 << 20, 500  # of what is stored to measure; calls


def run(setting: Setting) -> Result:
    """Measure, check, simulate."""
    sentences = with_labels(read_rows(setting.file("brown-pos/train.tsv.gz")), LABELS)
    sentences = sentences[: len(sentences) // 20] if setting.quick else sentences
    n_tokens = sum(map(len, sentences))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for copies in (1, 2):
            (folder / str(copies)).mkdir()
            for i in range(FILES):
                part = sentences[len(sentences) * i // FILES : len(sentences) * (i + 1) // FILES]
                write_rows(folder / str(copies) / f"{i}.txt", part * copies)
        best = _measured(folder, setting)
        n_weights = best.pop("weights")
    token = (best["2 copies, one thread"] - best["1 copy, one thread"]) / n_tokens
    rest = max(0.0, 2 * best["1 copy, one thread"] - best["2 copies, one thread"])
    here = _network_here()
    rows: list[dict[str, Any]] = [
        {"what": f"{what}, seconds per iteration", "measured": seconds} for what, seconds in best.items()
    ]
    ratio = best["2 copies, 1 worker"] / best["2 copies, one thread"]
    rows.append({"what": "1 worker against one thread", "measured": ratio, "at most": OVERHEAD})
    rows[-1]["met"] = verdict(ratio <= OVERHEAD)
    for n in (1, 2):
        seen, made = best[f"2 copies, {n} worker{'s' * (n > 1)}"], rest
        made += _simulated(here, [0] * n, 2 * n_tokens, n_weights, token)[0]
        rows.append({"what": f"model of {n} worker{'s' * (n > 1)}", "measured": seen, "model": made})
    weight = rest / n_weights
    rows += [
        {"what": "weights", "measured": n_weights},
        {"what": "µs of a token, one thread", "measured": 1e6 * token},
        {"what": "ns of a weight, in L-BFGS", "measured": 1e9 * weight},
        *({"what": f"{piece} of Ray", "measured": getattr(here, piece)} for piece in ("store", "add", "call", "wait")),
    ]
    share = _touched(sentences)
    rows.append({"what": "weights grow as tokens to the power of", "measured": share})
    network = Network(LATENCY, BANDWIDTH, here.store, here.add, here.call, here.wait)
    for tokens, weights in CASES:
        one = tokens * token + weights * weight
        for n in WORKERS:
            transport, gradient = _simulated(network, range(1, n + 1), tokens, weights, token)
            whole = transport + weights * weight
            # Slices: a worker gets the weights of its tokens and sends their sums; each owner has its part of L-BFGS.
            sliced = gradient + 2 * (LATENCY + 8 * weights * n ** (share - 1) / BANDWIDTH * (1 - 1 / n))
            sliced += weights * weight / n
            rows.append(
                {
                    "what": f"{tokens:.0e} tokens, {weights:.0e} weights",
                    "workers": n,
                    "gradient, s": gradient,
                    "simulated, s": whole,
                    "times": one / whole,
                    "slices, s": sliced,
                    "times, slices": one / sliced,
                }
            )
    network_is = f"{BANDWIDTH * 8 / 1e9:.0f} Gbit/s, {1e6 * LATENCY:.0f} µs"
    notes = [f"Simulated: a worker per machine, {network_is}. Slices: by a formula."]
    return Result(f"CRF, L-BFGS, {LABELS} labels, {n_tokens:,} tokens of Brown and twice as many", rows, notes=notes)


def _measured(folder: Path, setting: Setting) -> dict[str, Any]:
    """The least seconds of an iteration by each way of training, in turns; and how many weights there are."""
    best = dict[str, Any]()

    def iteration(what: str, corpus: Any, **options: Any) -> None:
        moments = list[float]()
        learner = trellis.CRF(epochs=EPOCHS)
        tagger = trellis.train(
            corpus, target="label", learner=learner, observer=lambda _: moments.append(time.perf_counter()), **options
        )
        took = min(b - a for a, b in pairwise(moments[-EPOCHS:]))
        best[what] = min(best.get(what, took), took)
        best["weights"] = tagger.model.weights.n_nonzero

    for _ in range(min(2, setting.rounds)):
        for copies in (1, 2):
            corpus = reduce(add, map(trellis.read, sorted((folder / str(copies)).glob("*.txt"))))
            iteration(f"{copies} cop{'y' if copies == 1 else 'ies'}, one thread", corpus, n_threads=1)
        iteration("2 copies, two threads", corpus, n_threads=2)
        for n in (1, 2):
            with trellis.cluster.connect(None, n) as workers:
                stream = trellis.stream(str(folder / "2" / "*.txt"))
                iteration(f"2 copies, {n} worker{'s' * (n > 1)}", stream, workers=workers)
    return best


def _network_here() -> Network:
    """What Ray takes on this machine; its processes share what is stored, so nothing is sent."""
    import ray

    with trellis.cluster.connect(None, 2):
        made = ray.remote(num_cpus=1)(_Answers).remote()
        ray.get(made.nothing.remote())
        numbers = np.arange(PROBE_BYTES // 8)
        store = min(timed(lambda: ray.put(numbers))[0] for _ in range(5))
        add = min(timed(lambda: numbers + numbers)[0] for _ in range(5))
        call, refs = timed(lambda: [made.nothing.remote() for _ in range(MANY)])
        ray.get(refs)
        wait = min(timed(lambda: ray.wait(refs, num_returns=1))[0] for _ in range(5))
        answer = min(timed(lambda: ray.get(made.nothing.remote()))[0] for _ in range(20))
    return Network(answer / 2, float("inf"), PROBE_BYTES / store, 2 * PROBE_BYTES / add, call / MANY, wait / MANY)


class _Answers:
    def nothing(self) -> None:
        """An answer at once."""


class _Sums:
    """In the place of a worker's part: a sum that says whose it is."""

    def __init__(self, i: int) -> None:
        self.i = i

    def log_loss(self, x: Any, exponent: int) -> tuple[int, Any]:
        """As a part of a training gives it, two entries for all of its weights."""
        return self.i, np.array([1, self.i])


def _simulated(network: Network, homes: Any, n_tokens: int, n_weights: int, token: float) -> tuple[float, float]:
    """Seconds of a gradient with its sums, and of the slowest worker's part of it."""
    homes, n = list(homes), len(list(homes))
    sizes = np.random.default_rng(1).lognormal(0.0, 0.5, max(FILES, 32 * n))
    sizes = np.maximum(1, np.rint(sizes / sizes.sum() * n_tokens)).astype(np.int64)
    files = Files(("",) * len(sizes), tuple(sizes.tolist()), Any, None, 0)  # type: ignore[arg-type]
    ends = np.concatenate([[0], np.cumsum(sizes)])[files.runs(n)]
    places = [Place(a, b, block_tokens(LABELS)) for a, b in pairwise(ends.tolist())]
    seconds = [token * max(0, place.end - place.begin) for place in places]
    ray = SimulatedRay(network, homes, lambda _, i: seconds[i], lambda value: _bytes(value, 8.0 * n_weights))
    actors = RayActors(ray, _Sums, [(i,) for i in range(n)], float("inf"))
    begun = ray.now
    total, sums = actors.sum("log_loss", np.zeros(2), 32)
    assert (total, *sums) == (n * (n - 1) // 2, n, n * (n - 1) // 2)
    return ray.now - begun, max(seconds)


def _bytes(value: Any, of_array: float) -> float:
    if isinstance(value, tuple):
        return sum(_bytes(one, of_array) for one in value)
    return of_array if isinstance(value, np.ndarray) else 0.0


def _touched(sentences: Any) -> float:
    """The weights of a part of the corpus grow as its tokens to this power."""
    sizes, counts = list[float](), list[float]()
    for part in (64, 16, 4, 1):
        some = sentences[: len(sentences) // part]
        columns = {"word": [[w for w, _ in one] for one in some], "label": [[t for _, t in one] for one in some]}
        tagger = trellis.train(columns, target="label", learner=trellis.CRF(epochs=1, warm_up=0))
        sizes.append(float(sum(map(len, some))))
        counts.append(float(tagger.model.weights.n_nonzero))
    return exponent(sizes, counts)
