"""Ten minutes of load on the server, with slow and broken clients beside it: errors, and how its memory grows."""

from __future__ import annotations

import http.client
import json
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from benchmarks.serve import _wait

SECONDS, CLIENTS, PORT = 600.0, 16, 8813
NEW_WORDS = 5000  # that are not in the corpus
ADDRESSES = ("predict", "predict", "predict", "spans", "marginals", "kbest", "explain")


def run(setting: Setting) -> Result:
    """Train a small tagger of chunks, serve it, load it."""
    corpus = trellis.read(setting.file("conll2000/train.txt"), columns="word,pos,chunk")[:1000]
    seconds = 20.0 if setting.quick else SECONDS
    words = corpus.sentences("word")
    model = Path("build") / "soak.trellis"
    model.parent.mkdir(exist_ok=True)
    trellis.train(
        {"word": words, "chunk": corpus.sentences("chunk")}, target="chunk", learner=trellis.CRF(epochs=15)
    ).save(model)
    line = [sys.executable, "-m", "trellis", "serve", str(model), "--port", str(PORT), "--quiet"]
    with subprocess.Popen(line) as server:
        try:
            _wait(PORT, json.dumps({"sentence": ["the"]}).encode())
            found = _load(server.pid, words, seconds)
        finally:
            server.terminate()
    return Result("Ten minutes of load", found, notes=[f"{CLIENTS} clients, words never seen before among them"])


def _load(pid: int, words: list[list[str]], seconds: float) -> list[dict[str, Any]]:
    end = time.monotonic() + seconds
    answered, wrong, sizes = [0] * CLIENTS, list[str](), list[float]()

    def client(number: int) -> None:
        chance = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        while time.monotonic() < end:
            # Words that were never met are kept up to a bound (docs/production.md); so many are met soon.
            sentence = [*chance.choice(words), f"w{chance.randrange(NEW_WORDS)}"]
            address = chance.choice(ADDRESSES)
            body = json.dumps({"sentence": sentence})
            try:
                connection.request("POST", f"/v1/{address}", body, {"content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    wrong.append(f"{address}: {answer.status}")
                answered[number] += 1
            except OSError as error:
                wrong.append(repr(error))
                connection.close()

    def breaking() -> None:
        """Comes, says half of something, goes."""
        while time.monotonic() < end:
            held = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(5)]
            for one in held:
                one.sendall(b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{")
            time.sleep(1.0)
            for one in held:
                one.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    threads.append(threading.Thread(target=breaking))
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        time.sleep(min(10.0, seconds / 4))
        sizes.append(_megabytes(pid))
    for thread in threads:
        thread.join()
    after = sizes[len(sizes) // 6 :]  # when caches are warm
    return [
        {"what": "requests answered", "trellis": sum(answered)},
        {"what": "errors", "trellis": len(wrong), "wanted": 0, **({"first": wrong[0]} if wrong else {})},
        {"what": "memory when warm, MB", "trellis": after[0]},
        {"what": "memory at the end, MB", "trellis": after[-1]},
        {"what": "memory at most, MB", "trellis": max(sizes)},
    ]


def _megabytes(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmRSS"))
