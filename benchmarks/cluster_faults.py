"""The bytes of a CRF on CoNLL-2000: in memory, as a stream, on workers of Ray, and with kill -9 at random moments.

Every row is a training of order 1 by L-BFGS. Rows with a kill end a worker, a whole node, or the process that trains,
which is then started again from its checkpoint.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting, verdict

THREADS, WORKERS, FILES = (1, 2, 7), (1, 2, 3), 6
MOMENTS = 20
SECONDS = 300  # after which a training is a hang
KINDS = ("worker", "node", "process that trains")
EPOCHS = 30
FEATURES = "chunking"


def run(setting: Setting) -> Result:
    """All trainings; every digest must be that of the first."""
    if find_spec("ray") is None:
        raise ModuleNotFoundError("No module named 'ray'")
    corpus = trellis.read(setting.file("conll2000/train.txt"))
    corpus = corpus[:800] if setting.quick else corpus
    rows = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ends = [len(corpus) * i // FILES for i in range(FILES + 1)]
        for i, (begin, end) in enumerate(pairwise(ends)):
            trellis.write(corpus[begin:end], folder / f"{i}.txt")
        files = str(folder / "*.txt")

        def row(what: str, began: float, found: str, **more: Any) -> None:
            met = verdict(not rows or found == rows[0]["bytes"])
            rows.append({"training": what, "bytes": found, "equal": met, "seconds": time.monotonic() - began, **more})

        for n in THREADS:
            began = time.monotonic()
            row(f"in memory, {n} threads", began, digest(train(corpus, n_threads=n)))
        for n in THREADS:
            began = time.monotonic()
            row(f"as a stream, {n} threads", began, digest(train(trellis.stream(files), n_threads=n)))
        for n_nodes in WORKERS:
            for n_workers in WORKERS:
                with nodes(n_nodes, 3) as cluster:
                    began = time.monotonic()
                    with trellis.cluster.connect(cluster.address, n_workers, SECONDS) as workers:
                        found = digest(train(trellis.stream(files), workers=workers))
                    row(f"{n_workers} workers, {n_nodes} nodes", began, found)
        longest = rows[-1]["seconds"]
        rng = random.Random(1)
        for moment in range(2 if setting.quick else MOMENTS):
            kind, after = KINDS[moment % len(KINDS)], rng.uniform(0.1, 0.9) * longest
            began = time.monotonic()
            with nodes(3, 3) as cluster:
                found = _with_kill(cluster, kind, after, files, folder / f"{moment}")
            row(f"3 workers, 3 nodes, kill -9 of a {kind}", began, found, **{"killed after, s": after})
    return Result(f"CRF of CoNLL-2000, {EPOCHS} iterations: the same bytes whatever happens", rows)


def train(corpus: Any, **options: Any) -> trellis.Tagger:
    """The training of all rows."""
    return trellis.train(corpus, target="label", features=FEATURES, learner=trellis.CRF(epochs=EPOCHS), **options)


def digest(tagger: trellis.Tagger) -> str:
    """Of a model's bytes, without what its record says of options and day."""
    record = {key: value for key, value in tagger.training.items() if key not in ("options", "date")}
    content = trellis.Tagger(replace(tagger.model, training=record)).to_bytes()
    return hashlib.sha256(content).hexdigest()[:16]


class nodes:  # noqa: N801 (a context)
    """A cluster of Ray on this machine: a head without cores, and nodes of some."""

    def __init__(self, n: int, n_cores: int) -> None:
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args=head, connect=False)
        for _ in range(n):
            self._cluster.add_node(num_cpus=n_cores)

    def __enter__(self) -> Any:
        return self._cluster

    def __exit__(self, *_: object) -> None:
        self._cluster.shutdown()


def _with_kill(cluster: Any, kind: str, after: float, files: str, folder: Path) -> str:
    """Train in a process of its own, kill what the kind says once, and start that process again if it was killed."""
    folder.mkdir()
    model, checkpoint = folder / "crf.trellis", folder / "crf.checkpoint"
    command = [sys.executable, "-m", "benchmarks.cluster_faults", cluster.address, files, str(model), str(checkpoint)]
    with subprocess.Popen(command) as process:
        timer = threading.Timer(after, _kill, (cluster, kind, process))
        timer.start()
        code = process.wait(timeout=SECONDS)
        timer.join()
    if code == -signal.SIGKILL:
        code = subprocess.run(command, check=False, timeout=SECONDS).returncode
    if code:
        raise RuntimeError(f"kill -9 of a {kind} after {after:.1f} s: exit code {code}")
    return digest(trellis.load(model))


def _kill(cluster: Any, kind: str, process: subprocess.Popen[bytes]) -> None:
    if kind == KINDS[2]:
        process.kill()
        return
    raylets = {node.all_processes["raylet"][0].process.pid: node for node in cluster.worker_nodes}
    while process.poll() is None:
        for pid, parent in _actors():
            if parent in raylets:
                if kind == KINDS[0]:
                    os.kill(pid, signal.SIGKILL)
                else:
                    cluster.remove_node(raylets[parent], allow_graceful=False)  # kill -9 too
                return
        time.sleep(0.05)  # Ray is not up yet


def _actors() -> list[tuple[int, int]]:
    """The processes of actors and their parents."""
    found = list[tuple[int, int]]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::_Actor"):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                found.append((int(folder.name), parent))
        except OSError:  # it has ended
            continue
    return found


def main() -> None:
    """The process that trains."""
    address, files, model, checkpoint = sys.argv[1:]
    with trellis.cluster.connect(address, 3, SECONDS) as workers:
        tagger = train(trellis.stream(files), workers=workers, checkpoint=checkpoint)
    tagger.save(model)


if __name__ == "__main__":
    main()
