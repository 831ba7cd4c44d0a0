"""The server beside a plain FastAPI program around python-crfsuite with the same model: requests a second, percentiles.

Both are processes of one worker. Clients are threads of a third process, each with a connection that it keeps; each
asks for the labels of one sentence of CoNLL-2000's test file, as feature dicts. Contenders take turns.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pycrfsuite

import trellis
from benchmarks.common import Result, Setting, versus
from benchmarks.crfsuite_models import features

CLIENTS = (1, 16, 256)
SECONDS = 6.0

PLAIN = """
import sys
import pycrfsuite
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[1])
app = FastAPI()


class Request(BaseModel):
    sentence: list[dict[str, str | float | bool]]


@app.post("/v1/predict")
def tag(given: Request):
    return {"labels": [tagger.tag(given.sentence)]}


uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


def run(setting: Setting) -> Result:
    """Train, start both, load each in turn."""
    train, test = (trellis.read(setting.file(f"conll2000/{part}.txt")) for part in ("train", "test"))
    X, y = features(train[:1000]), train[:1000].sentences("label")
    bodies = [json.dumps({"sentence": sentence}).encode() for sentence in features(test[:500])]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.crfsuite")
        trainer = pycrfsuite.Trainer(verbose=False, params={"c2": 1.0, "max_iterations": 30})
        for xseq, yseq in zip(X, y, strict=True):
            trainer.append(xseq, yseq)
        trainer.train(path)
        plain = Path(folder) / "plain.py"
        plain.write_text(PLAIN)
        ours = [sys.executable, "-m", "trellis", "serve", path, "--port", "8811", "--quiet"]
        theirs = [sys.executable, str(plain), path, "8812"]
        with subprocess.Popen(ours) as one, subprocess.Popen(theirs) as other:
            try:
                for port in (8811, 8812):
                    _wait(port, bodies[0])
                for n in CLIENTS:
                    best: dict[int, tuple[float, float, float]] = {}
                    for _ in range(1 if setting.quick else setting.rounds):
                        for port in (8811, 8812):
                            found = load(port, bodies, n, 1.0 if setting.quick else SECONDS)
                            best[port] = max(best.get(port, (0.0, 0.0, 0.0)), found)
                    mine, real = best[8811], best[8812]
                    rows.append(versus(f"requests a second, {n} clients", mine[0], real[0], better="more"))
                    for place, name in ((1, "50"), (2, "99")):
                        what = f"milliseconds at the {name}th percentile, {n} clients"
                        # One client that keeps its connection sees every delay, which many clients at once hide.
                        bar = 1.0 if (n, place) == (1, 1) else None
                        rows.append(versus(what, 1000 * mine[place], 1000 * real[place], better="less", bar=bar))
            finally:
                one.terminate()
                other.terminate()
    return Result("Requests of one sentence to a server", rows, "FastAPI around python-crfsuite")


def load(port: int, bodies: list[bytes], n_clients: int, seconds: float) -> tuple[float, float, float]:
    """Requests a second, and the median and 99th percentile of seconds, from a process of its own."""
    code = "import sys, json; from benchmarks.serve import measure; print(json.dumps(measure(*json.load(sys.stdin))))"
    given = json.dumps([port, [body.decode() for body in bodies], n_clients, seconds])
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True)
    rate, median, slow = json.loads(done.stdout)
    return rate, median, slow


def measure(port: int, bodies: list[str], n_clients: int, seconds: float) -> tuple[float, float, float]:
    """In that process: all clients at once; an answer that is not 200 is an error."""
    took = list[float]()
    end = time.perf_counter() + seconds

    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        i = number
        while (begun := time.perf_counter()) < end:
            connection.request("POST", "/v1/predict", bodies[i % len(bodies)], {"content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            took.append(time.perf_counter() - begun)
            i += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(n_clients)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took.sort()
    return len(took) / (time.perf_counter() - begun), took[len(took) // 2], took[int(0.99 * len(took))]


def _wait(port: int, body: bytes) -> None:
    for _ in range(200):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("POST", "/v1/predict", body, {"content-type": "application/json"})
            answer: Any = connection.getresponse()
            assert answer.status == 200
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nothing answers at port {port}")
