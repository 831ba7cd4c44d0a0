"""The server's addresses, its limits and its door; asked in this process."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

import trellis
from trellis.serve import Limits, Models, make_app
from trellis.serve.batching import Batcher

CORPUS = {
    "word": [["Ann", "lives", "in", "Rome", "."], ["Bob", "saw", "New", "York", "."]] * 3,
    "ner": [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "B-LOC", "I-LOC", "O"]] * 3,
}
PAIRS = {"word": [["a", "b"]] * 2, "pos": [["X", "Y"]] * 2, "y": [["A", "B"]] * 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    trellis.train(CORPUS, target="ner", learner=trellis.CRF()).save(place / "ner.trellis")
    trellis.train(PAIRS, target="y", features=["word[0]", "pos[0]"]).save(place / "pairs.v1.trellis")
    bags = {"attributes": [[{"w": "a"}, {"w": "b"}]], "y": [["A", "B"]]}
    trellis.train(bags, target="y", learner=trellis.CRF()).save(place / "bags.trellis")
    return place


@pytest.fixture(scope="module")
def ner(folder: Path) -> trellis.Tagger:
    return trellis.load(folder / "ner.trellis")


def app(folder: Path, **how: Any) -> Any:
    names = ("ner.trellis", "pairs.v1.trellis", "bags.trellis")
    return make_app(Models([str(folder / name) for name in names]), **how)


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(app(folder)) as made:
        yield made


SENTENCE = ["Bob", "lives", "in", "New", "York", "."]
TEXT = "Ann lives in Rome. Bob saw New York."


# ------------------------------------------------------------ answers


def test_models(client: TestClient) -> None:
    found = client.get("/v1/models").json()["models"]
    assert [one["name"] for one in found] == ["ner", "pairs", "bags"]
    assert (found[0]["target"], found[0]["measure"], found[2]["attributes"]) == ("ner", "probability", True)


def test_tag(client: TestClient, ner: trellis.Tagger) -> None:
    assert client.post("/v1/tag", json={"sentence": SENTENCE}).json() == {"model": "ner", "labels": [ner.tag(SENTENCE)]}
    many = [SENTENCE, ["Ann"], []]
    assert client.post("/v1/tag", json={"sentences": many}).json()["labels"] == ner.tag_batch(many)
    pairs = client.post("/v1/tag", json={"model": "pairs", "sentence": [["a", "X"], ["b", "Y"]]})
    assert pairs.json()["labels"] == [["A", "B"]]
    bags = client.post("/v1/tag", json={"model": "bags", "sentence": [{"w": "a", "n": 1.5, "t": True}, {"w": "b"}]})
    assert bags.json()["labels"] == [["A", "B"]]


def test_text(client: TestClient, ner: trellis.Tagger) -> None:
    found = client.post("/v1/tag", json={"text": TEXT}).json()
    expected = ner.tag_text(TEXT).to_dicts()
    for one, other in zip(found["sentences"], expected, strict=True):
        assert one["tokens"] == other["tokens"]
    lines = client.post("/v1/tag", json={"text": "Ann\nBob", "lines": True}).json()
    assert len(lines["labels"]) == 2


def test_kbest_marginals_spans_and_reasons(client: TestClient, ner: trellis.Tagger) -> None:
    found = client.post("/v1/kbest", json={"sentence": SENTENCE, "k": 3}).json()["kbest"][0]
    assert [(one["labels"], one["score"]) for one in found] == ner.kbest(SENTENCE, 3)
    assert client.post("/v1/marginals", json={"sentence": SENTENCE}).json()["marginals"][0] == list(
        ner.marginals(SENTENCE)
    )
    [spans] = client.post("/v1/spans", json={"sentence": SENTENCE}).json()["spans"]
    assert [(s["type"], s["begin"], s["end"], s["probability"]) for s in spans] == [
        (*s, p) for s, p in ner.tag_spans(SENTENCE)
    ]
    placed = client.post("/v1/spans", json={"text": TEXT}).json()["spans"]
    assert [TEXT[s["start"] : s["stop"]] for some in placed for s in some] == ["Ann", "Rome", "Bob", "New York"]
    why = client.post("/v1/explain", json={"sentence": SENTENCE, "labels": 1, "terms": 2}).json()["explanations"][0]
    assert why["best"]["labels"] == ner.tag(SENTENCE)
    assert all(len(token["terms"]) == 1 and len(next(iter(token["terms"].values()))) <= 2 for token in why["tokens"])


def test_allowed_and_forced_labels(client: TestClient, ner: trellis.Tagger) -> None:
    forced: dict[int, Any] = {0: "B-LOC", 3: ["O", "B-LOC"]}
    said = {str(t): labels for t, labels in forced.items()}
    for address in ("tag", "kbest", "marginals", "spans", "explain"):
        assert client.post(f"/v1/{address}", json={"sentence": SENTENCE, "allowed": said}).status_code == 200
    found = client.post("/v1/tag", json={"sentence": SENTENCE, "allowed": said}).json()["labels"][0]
    assert found == ner.tag(SENTENCE, allowed=forced)
    several = client.post("/v1/tag", json={"sentences": [["Ann"], ["Ann"]], "allowed": [{"0": "O"}, None]}).json()
    assert several["labels"] == [["O"], ner.tag(["Ann"])]


def test_watchers(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    client.post("/v1/tag", json={"sentence": SENTENCE})
    client.get("/no/such/place")
    text = client.get("/metrics").text
    assert re.search(r'trellis_requests_total\{path="/v1/tag",status="200"\} \d', text)
    assert 'path="other",status="404"' in text
    counts = [int(n) for n in re.findall(r"_bucket\{.*\} (\d+)", text)]
    assert counts == sorted(counts)
    assert re.search(r"trellis_request_seconds_count (\d+)", text)[1] == str(counts[-1])  # type: ignore[index]


def test_the_description(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/models", "/v1/tag", "/v1/kbest", "/v1/marginals", "/v1/spans", "/v1/explain"} <= set(paths)
    page = client.get("/docs")
    assert "POST /v1/kbest" in page.text
    assert "curl -s localhost:4321/v1/tag" in client.get("/docs", headers={"host": "localhost:4321"}).text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


# ------------------------------------------------------------ what is turned away


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"sentence": ["a"], "model": "none"}, 404, "ner, pairs, bags"),
        ({"sentence": ["a"], "sentences": [["a"]]}, 422, "one of sentence, sentences and text"),
        ({}, 422, "one of sentence"),
        ({"sentence": "a b"}, 422, "sentence"),
        ({"sentence": [1]}, 422, "sentence"),
        ({"sentence": [None]}, 422, "sentence"),
        ({"sentence": ["a"], "more": 1}, 422, "more"),
        ({"sentence": [["a", "b"]]}, 422, "token"),
        ({"sentence": [{"w": "a"}]}, 422, "token"),
        ({"model": "pairs", "text": "a"}, 422, "word, pos"),
        ({"model": "bags", "text": "a"}, 422, "attributes"),
        ({"sentence": ["a"], "allowed": {"0": "NONE"}}, 422, "NONE"),
        ({"sentence": ["a"], "allowed": {"7": "O"}}, 422, "7"),
        ({"sentence": ["a"], "allowed": {"x": "O"}}, 422, "allowed"),
        ({"sentences": [["a"]], "allowed": {"0": "O"}}, 422, "list"),
        ({"sentences": [["a"]], "allowed": []}, 422, "length"),
        ({"text": "a", "allowed": {"0": "O"}}, 422, "allowed"),
        ({"sentence": ["\ud800"]}, 400, "UTF-8"),
    ],
)
def test_what_cannot_be_asked(client: TestClient, body: Any, status: int, why: str) -> None:
    done = client.post("/v1/tag", content=json.dumps(body), headers={"content-type": "application/json"})
    assert done.status_code == status, done.text
    assert list(done.json()) == ["error"]
    assert why in done.json()["error"]
    assert "\n" not in done.json()["error"]


@pytest.mark.parametrize("body", [b"{", b'{"text": "\xff"}', b"\xff\xfe", b"[]", b"7", b'{"text": "' + b"[" * 50_000])
def test_bodies_that_are_no_requests(client: TestClient, body: bytes) -> None:
    done = client.post("/v1/tag", content=body, headers={"content-type": "application/json"})
    assert done.status_code in (400, 422)
    assert list(done.json()) == ["error"]


def test_no_path_of_the_server_is_told(client: TestClient, folder: Path) -> None:
    answers = [
        client.get("/v1/models").text,
        client.get("/metrics").text,
        client.get("/openapi.json").text,
        client.post("/v1/tag", json={"model": "x", "sentence": ["a"]}).text,
        client.post("/v1/tag", json={"model": "pairs", "sentence": ["a"]}).text,
    ]
    assert not any(str(folder) in answer or ".trellis" in answer for answer in answers)


def test_other_methods_and_places(client: TestClient) -> None:
    refused = client.get("/v1/tag")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    bare = client.head("/healthz")
    assert (bare.status_code, bare.content) == (200, b"")
    assert client.get("/nothing").json()["error"].startswith("nothing at /nothing")


def test_too_much(folder: Path) -> None:
    limits = Limits(bytes=300, tokens=6, sentences=2)
    with TestClient(app(folder, limits=limits)) as client:
        assert client.post("/v1/tag", json={"sentence": ["a"] * 6}).status_code == 200
        for body, why in (
            ({"sentence": ["a"] * 7}, "tokens"),
            ({"text": "X! Y! Z!"}, "sentences"),
            ({"text": "a" * 400}, "bytes"),
        ):
            done = client.post("/v1/tag", json=body)
            assert (done.status_code, why in done.json()["error"]) == (413, True)

        def pieces() -> Iterator[bytes]:  # without a length
            yield b'{"text": "'
            yield b"a" * 400

        assert client.post("/v1/tag", content=pieces()).status_code == 413


def test_the_token(folder: Path) -> None:
    with TestClient(app(folder, token="secret-secret-secret")) as client:
        assert client.get("/healthz").status_code == 200
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "secret-secret-secret"}):
            assert client.get("/v1/models", headers=given).status_code == 401
        right = {"authorization": "Bearer secret-secret-secret"}
        assert client.get("/v1/models", headers=right).status_code == 200


def test_pages_from_elsewhere_cannot_post(client: TestClient) -> None:
    body = {"sentence": ["Ann"]}
    assert client.post("/v1/tag", json=body, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/v1/tag", json=body, headers={"origin": "null"}).status_code == 403
    assert client.post("/v1/tag", json=body, headers={"origin": "http://testserver"}).status_code == 200


def test_other_names_for_this_machine(folder: Path) -> None:
    """A page whose name was made to point here cannot ask under it."""
    from trellis.serve.app import LOOPBACK

    with TestClient(app(folder, hosts=LOOPBACK)) as client:
        for host in ("localhost:8000", "127.0.0.1", "[::1]:80"):
            assert client.get("/v1/models", headers={"host": host}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", ""):
            assert client.get("/v1/models", headers={"host": host}).status_code == 403


def test_too_many_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While two are under way, a third is told to come again."""
    import threading

    inside, go_on = threading.Semaphore(0), threading.Event()
    kbest = trellis.Tagger.kbest_batch

    def slow(self: trellis.Tagger, *some: Any, **more: Any) -> Any:
        inside.release()
        assert go_on.wait(10)
        return kbest(self, *some, **more)

    monkeypatch.setattr(trellis.Tagger, "kbest_batch", slow)
    with TestClient(app(folder, limits=Limits(in_flight=2))) as client, ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(client.post, "/v1/kbest", json={"sentence": ["Ann"]}) for _ in range(2)]
        for _ in busy:
            assert inside.acquire(timeout=10)
        turned_away = client.post("/v1/tag", json={"sentence": ["Ann"]})
        assert (turned_away.status_code, turned_away.headers["retry-after"]) == (429, "1")
        assert client.get("/healthz").status_code == 200
        go_on.set()
        assert [one.result().status_code for one in busy] == [200, 200]


def test_what_takes_too_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr(trellis.Tagger, "kbest_batch", lambda *some, **more: time.sleep(1.5))
    with TestClient(app(folder, limits=Limits(seconds=0.3))) as client:
        done = client.post("/v1/kbest", json={"sentence": ["Ann"]})
        assert (done.status_code, "0.3 s" in done.json()["error"]) == (503, True)


# ------------------------------------------------------------ batches


def test_requests_that_wait_are_one_batch(ner: trellis.Tagger) -> None:
    async def ask() -> tuple[list[Any], Batcher]:
        batcher = Batcher(1)
        given = [[SENTENCE] * (1 + i % 3) for i in range(50)]
        found = await asyncio.gather(*(batcher.tag(ner, some) for some in given))
        batcher.close()
        assert [len(one) for one in found] == [len(some) for some in given]
        return found, batcher

    found, batcher = asyncio.run(ask())
    assert all(labels == ner.tag(SENTENCE) for one in found for labels in one)
    assert batcher.n_requests == 50
    assert batcher.n_batches < 10


def test_a_request_is_a_document() -> None:
    sentences, labels = [["Mr", "X"], ["in", "X"]] * 5, [["O", "PER"], ["O", "LOC"]] * 5
    tagger = trellis.train({"word": sentences, "y": labels}, target="y", document_features=True)

    async def ask() -> Batcher:
        batcher = Batcher(1)
        await asyncio.gather(*(batcher.tag(tagger, [SENTENCE]) for _ in range(5)))
        batcher.close()
        return batcher

    assert asyncio.run(ask()).n_batches == 5


def test_a_bad_request_spoils_no_other(ner: trellis.Tagger) -> None:
    async def ask() -> list[Any]:
        batcher = Batcher(1)
        given: list[Any] = [[SENTENCE], [[("a", "b")]], [["Ann"]]]
        found = await asyncio.gather(*(batcher.tag(ner, some) for some in given), return_exceptions=True)
        batcher.close()
        return found

    one, wrong, other = asyncio.run(ask())
    assert (one, other) == ([ner.tag(SENTENCE)], [ner.tag(["Ann"])])
    assert isinstance(wrong, trellis.CorpusError)


def test_several_models_at_once(ner: trellis.Tagger) -> None:
    other = trellis.load("builtin:truecase")

    async def ask() -> list[Any]:
        batcher = Batcher(1)
        found = await asyncio.gather(*(batcher.tag(one, [["python"]]) for one in (ner, other) * 20))
        batcher.close()
        return found

    assert asyncio.run(ask()) == [[one.tag(["python"])] for one in (ner, other) * 20]


# ------------------------------------------------------------ new files


def test_a_new_file_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "m.trellis"
    old, new = ({"word": [["a"]], "y": [[label]]} for label in ("OLD", "NEW"))
    trellis.train(old, target="y", features=["word[0]"]).save(path)
    models = Models([str(path)])
    assert models.reload(only_changed=True) == []
    trellis.train(new, target="y", features=["word[0]"]).save(path)
    assert models.reload(only_changed=True) == ["m"]
    assert models.get("m").tagger.tag(["a"]) == ["NEW"]
    path.write_bytes(b"damaged")
    assert models.reload() == []
    assert models.get(None).tagger.tag(["a"]) == ["NEW"]


def test_two_models_of_one_name(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(trellis.ArgumentError, match="one name"):
        Models([str(folder / "ner.trellis"), str(folder / "ner.trellis")])
    with pytest.raises(trellis.ModelError, match="none"):
        Models([str(tmp_path / "none.trellis")])
