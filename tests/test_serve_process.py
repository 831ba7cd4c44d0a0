"""The server as a process: signals, clients that are slow or break off, a model replaced under load."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

import trellis


def train(path: Path, label: str) -> None:
    trellis.train({"word": [["a", "b"]], "y": [[label, "O"]]}, target="y", features=["word[0]"]).save(path)


@contextmanager
def serving(
    folder: Path, *options: str, model: str = "m.trellis", files: int = 0
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server on a free port, with a limit of open files."""
    line = [sys.executable, "-m", "trellis", "serve", "-m", model, "--port", "0", *options]
    if files:
        line = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *line]
    process = subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True, restore_signals=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://127.0.0.1:(\d+)/", said)
        assert found, said + process.stderr.read()
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


def ask(port: int, body: Any, path: str = "/v1/predict") -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    train(tmp_path / "m.trellis", "OLD")
    return tmp_path


def test_the_log_has_no_control_characters(folder: Path) -> None:
    model = folder / "\x1b]0;mine\x07.trellis"
    (folder / "m.trellis").rename(model)
    with serving(folder, model=model.name) as (process, _):
        model.write_bytes(b"\x1b[31m not a model")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("model \\x1b]0;mine\\x07 not reloaded: ")


FILES = 160


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server that waits for a second, and may have few files."""
    place = tmp_path_factory.mktemp("served")
    train(place / "m.trellis", "LONG" * 10)
    with serving(place, "--max-seconds", "1", files=FILES) as served:
        yield served


SLOW = {"sentence": ["a"] * 400, "k": 1000}


def test_sigterm_finishes_what_is_under_way(folder: Path) -> None:
    with serving(folder) as (process, port):
        answers = list[tuple[int, Any]]()
        asking = threading.Thread(target=lambda: answers.append(ask(port, SLOW, "/v1/kbest")))
        asking.start()
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        asking.join(30)
        process.wait(30)
    assert answers[0][0] == 200
    assert len(answers[0][1]["kbest"][0]) == 1000
    assert process.returncode == 143


@pytest.mark.parametrize("how", ["watch", "hangup"])
def test_a_model_is_replaced_without_a_request_lost(folder: Path, how: str) -> None:
    with serving(folder, *(["--watch"] if how == "watch" else [])) as (process, port):
        seen, wrong, stop = list[str](), list[Any](), threading.Event()

        def go_on() -> None:
            while not stop.is_set():
                status, answer = ask(port, {"sentence": ["a"]})
                if status != 200:
                    wrong.append(answer)
                seen.append(answer["outputs"][0][0])

        clients = [threading.Thread(target=go_on) for _ in range(4)]
        for client in clients:
            client.start()
        time.sleep(0.3)
        train(folder / "m.trellis", "NEW")
        if how == "hangup":
            process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 20
        while "NEW" not in seen and time.monotonic() < deadline:
            time.sleep(0.05)
        stop.set()
        for client in clients:
            client.join()
    assert not wrong
    assert seen[0] == "OLD"
    assert seen[-1] == "NEW"


def test_a_client_that_keeps_its_connection_is_answered_at_once(impatient: tuple[Any, int]) -> None:
    """Without TCP_NODELAY the second part of an answer waits for the client's delayed ACK, 40 ms."""
    connection, seconds = http.client.HTTPConnection("127.0.0.1", impatient[1], timeout=20), list[float]()
    for _ in range(60):
        begun = time.perf_counter()
        connection.request("POST", "/v1/predict", b'{"sentence": ["a"]}', {"content-type": "application/json"})
        connection.getresponse().read()
        seconds.append(time.perf_counter() - begun)
    connection.close()
    assert sorted(seconds)[30] < 0.02


def test_half_sent_headers_are_timed_out(impatient: tuple[Any, int]) -> None:
    """On a new connection, and after an answer; to send more of them now and then does not help."""
    half = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
    address = ("127.0.0.1", impatient[1])
    with socket.create_connection(address, timeout=8) as fresh, socket.create_connection(address, timeout=8) as again:
        again.sendall(half + b"\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += again.recv(1000)
        for piece in (half, b"x: y\r\n", b"x: y\r\n", b"x: y\r\n"):
            fresh.sendall(piece)
            again.sendall(piece)
            time.sleep(0.2)
        for connection in (fresh, again):
            with suppress(ConnectionResetError):
                assert connection.recv(1000) == b""


def test_connections_without_requests_keep_nobody_out(impatient: tuple[Any, int]) -> None:
    """More of them than the process may have files: the oldest are closed, nothing is logged."""
    process, port = impatient
    waiting = []
    for _ in range(2 * FILES):
        waiting.append(socket.create_connection(("127.0.0.1", port)))
        waiting[-1].sendall(b"GET /healthz HTTP/1.1\r\nhost: loc")
    for _ in range(5):
        assert ask(port, {"sentence": ["a"]})[0] == 200
    for connection in waiting:
        connection.close()
    assert select.select([process.stderr], [], [], 0.1)[0] == []


def test_clients_that_do_not_read_their_answer_are_dropped(impatient: tuple[Any, int]) -> None:
    body = json.dumps({"sentence": ["a"] * 1000, "k": 150}).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", impatient[1]))
        client.sendall(b"POST /v1/kbest HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body))
        client.sendall(body)
        client.settimeout(20)
        n_bytes, part = 0, client.recv(1)  # the answer has begun
        time.sleep(2.5)
        with suppress(ConnectionResetError):
            while part:
                part = client.recv(1 << 16)
                n_bytes += len(part)
    assert 0 < n_bytes < 4_000_000  # of more than six millions


def test_sigterm_does_not_wait_for_work_that_was_given_up(folder: Path) -> None:
    """An explanation of a long sentence takes much longer than its request may."""
    long = {"sentence": ["a"] * 100_000}
    options = ("--max-seconds", "1", "--max-tokens", "200000", "--max-values", "1000000000")
    with serving(folder, *options) as (process, port):
        assert ask(port, long, "/v1/explain")[0] == 503
        assert any(ask(port, {"sentence": ["a"]}, "/v1/marginals")[0] == 200 for _ in range(3))
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 143


def test_slow_and_broken_clients_hold_nobody_up(impatient: tuple[Any, int]) -> None:
    process, port = impatient
    held = []
    for sent in (
        b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
        b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\n",
        b"\x00\xff\x17 nonsense\r\n\r\n",
        b"",
    ):
        for _ in range(5):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(sent)
            held.append(one)
    half = socket.create_connection(("127.0.0.1", port))
    body = json.dumps(SLOW).encode()
    half.sendall(b"POST /v1/kbest HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body))
    half.sendall(body)
    half.close()  # does not wait for its answer
    for _ in range(20):
        assert ask(port, {"sentence": ["a"]})[0] == 200
    held[0].settimeout(10)
    assert b" 408 " in held[0].recv(1000)
    for one in held:
        one.close()
    assert ask(port, {"sentence": ["a"]})[0] == 200
    assert process.poll() is None


def test_it_listens_here_alone_unless_told(impatient: tuple[Any, int]) -> None:
    port = impatient[1]
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others:
        if not str(address).startswith("127."):
            with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
                socket.create_connection((str(address), port), timeout=2)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-m", "none.trellis"], "none.trellis"),
        (["-m", "m.trellis", "--token-file", "short"], "16"),
        (["-m", "m.trellis", "--token-file", "none"], "none"),
    ],
)
def test_what_cannot_be_served(folder: Path, options: list[str], why: str) -> None:
    (folder / "short").write_text("abc\n")
    line = [sys.executable, "-m", "trellis", "serve", *options]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60, env={**os.environ})
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port in (str(taken.getsockname()[1]), "99999"):
            line = [sys.executable, "-m", "trellis", "serve", "-m", "m.trellis", "--port", port]
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert "use another --port" in done.stderr
