"""The server's addresses, its limits and its door; asked in this process."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from starlette.testclient import TestClient

import trellis
from trellis.interfaces.serve import App, Limits, Models, questions
from trellis.interfaces.serve.batching import Batcher
from trellis.interfaces.serve.messages import Request

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
    return App(Models([str(folder / name) for name in names]), **how)


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(app(folder)) as made:
        yield made


SENTENCE = ["Bob", "lives", "in", "New", "York", "."]
TEXT = "Ann lives in Rome. Bob saw New York."


# ------------------------------------------------------------ answers


def test_models(client: TestClient) -> None:
    found = client.get("/v1/models").json()["models"]
    assert [one["name"] for one in found] == ["ner", "pairs.v1", "bags"]
    assert (found[0]["target"], found[0]["probability_kind"], found[2]["attributes"]) == ("ner", "probability", True)


def test_predict(client: TestClient, ner: trellis.Tagger) -> None:
    assert client.post("/v1/predict", json={"sentence": SENTENCE}).json() == {
        "model": "ner",
        "outputs": [ner.tag(SENTENCE)],
    }
    many = [SENTENCE, ["Ann"], []]
    assert client.post("/v1/predict", json={"sentences": many}).json()["outputs"] == ner.tag_batch(many)
    pairs = client.post("/v1/predict", json={"model": "pairs.v1", "sentence": [["a", "X"], ["b", "Y"]]})
    assert pairs.json()["outputs"] == [["A", "B"]]
    bags = client.post("/v1/predict", json={"model": "bags", "sentence": [{"w": "a", "n": 1.5, "t": True}, {"w": "b"}]})
    assert bags.json()["outputs"] == [["A", "B"]]


def test_text(client: TestClient, ner: trellis.Tagger) -> None:
    found = client.post("/v1/predict", json={"text": TEXT}).json()
    expected = ner.tag_text(TEXT).to_dicts()
    for one, other in zip(found["sentences"], expected, strict=True):
        assert one["tokens"] == other["tokens"]
    lines = client.post("/v1/predict", json={"text": "Ann\nBob", "lines": True}).json()
    assert len(lines["outputs"]) == 2


def test_kbest_marginals_spans_and_reasons(client: TestClient, ner: trellis.Tagger) -> None:
    found = client.post("/v1/kbest", json={"sentence": SENTENCE, "k": 3}).json()["kbest"][0]
    assert [(one["output"], one["score"]) for one in found] == ner.kbest(SENTENCE, 3)
    assert client.post("/v1/marginals", json={"sentence": SENTENCE}).json()["marginals"][0] == list(
        ner.marginals(SENTENCE)
    )
    everything = {"sentence": SENTENCE, "labels": 100, "terms": 1000}
    explained = ner.explain(SENTENCE).to_dict(n_terms=1000)
    assert client.post("/v1/explain", json=everything).json()["explanations"] == [explained]
    why = client.post("/v1/explain", json={"sentence": SENTENCE, "labels": 1, "terms": 2}).json()["explanations"][0]
    assert why["output"] == ner.tag(SENTENCE)
    assert all(len(token["terms"]) == 1 and len(next(iter(token["terms"].values()))) <= 2 for token in why["tokens"])


@pytest.mark.parametrize("learner", ["crf", "perceptron"])
def test_a_span_has_one_spelling(tmp_path: Path, learner: str) -> None:
    """In Python, in JSON of the command and of the server, whatever the learner; ends are not included."""
    tagger = trellis.train(CORPUS, target="ner", learner=learner)
    tagger.save(tmp_path / "m.trellis")
    with TestClient(App(Models([str(tmp_path / "m.trellis")]))) as client:
        [spans] = client.post("/v1/spans", json={"sentence": SENTENCE}).json()["spans"]
        placed = client.post("/v1/spans", json={"text": TEXT}).json()["spans"]
    assert spans == [{**span._asdict(), "confidence": p} for span, p in tagger.tag_spans(SENTENCE)]
    assert list(spans[0]) == ["label", "start_token", "end_token", "confidence"]
    assert (spans[1]["label"], SENTENCE[spans[1]["start_token"] : spans[1]["end_token"]]) == ("LOC", ["New", "York"])
    tagged = tagger.tag_text(TEXT, confidence=True)
    assert placed == [sentence["spans"] for sentence in tagged.to_dicts()]
    assert [span._asdict() for span in tagged.spans] == [span for some in placed for span in some]
    assert [TEXT[s["start"] : s["end"]] for some in placed for s in some] == ["Ann", "Rome", "Bob", "New York"]
    assert [s["text"] for some in placed for s in some] == ["Ann", "Rome", "Bob", "New York"]


def test_allowed_and_forced_labels(client: TestClient, ner: trellis.Tagger) -> None:
    forced: dict[int, Any] = {0: "B-LOC", 3: ["O", "B-LOC"]}
    said = {str(t): labels for t, labels in forced.items()}
    for address in ("predict", "kbest", "marginals", "spans", "explain"):
        assert client.post(f"/v1/{address}", json={"sentence": SENTENCE, "allowed": said}).status_code == 200
    found = client.post("/v1/predict", json={"sentence": SENTENCE, "allowed": said}).json()["outputs"][0]
    assert found == ner.tag(SENTENCE, allowed=forced)
    several = client.post("/v1/predict", json={"sentences": [["Ann"], ["Ann"]], "allowed": [{"0": "O"}, None]}).json()
    assert several["outputs"] == [["O"], ner.tag(["Ann"])]


def test_watchers(client: TestClient) -> None:
    assert client.get("/healthz").json() == client.get("/readyz").json() == {"status": "ok"}
    client.post("/v1/predict", json={"sentence": SENTENCE})
    client.get("/no/such/place")
    text = client.get("/metrics").text
    assert re.search(r'trellis_requests_total\{path="/v1/predict",status="200"\} \d', text)
    assert 'path="other",status="404"' in text
    counts = [int(n) for n in re.findall(r"_bucket\{.*\} (\d+)", text)]
    assert counts == sorted(counts)
    assert re.search(r"trellis_request_seconds_count (\d+)", text)[1] == str(counts[-1])  # type: ignore[index]


def test_the_description(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(described)))
    assert references == set(described["components"]["schemas"])
    assert {"Request", "KBestRequest", "Predicted", "ModelList", "ErrorAnswer", "Arcs"} <= references
    paths = described["paths"]
    assert {"/v1/models", "/v1/predict", "/v1/kbest", "/v1/marginals", "/v1/spans", "/v1/explain"} <= set(paths)
    for operation in (operation for methods in paths.values() for operation in methods.values()):
        assert operation["summary"].endswith(".")
        assert all(response["description"] for response in operation["responses"].values())
    for name, schema in described["components"]["schemas"].items():
        undescribed = {field for field, kind in schema["properties"].items() if "description" not in kind}
        assert undescribed <= {"label", "output"}, name
    page = client.get("/docs")
    assert "POST /v1/kbest" in page.text
    assert "curl -s testserver/v1/predict" in page.text
    assert "curl -s 127.0.0.1:81/v1/predict" in client.get("/docs", headers={"host": "127.0.0.1:81"}).text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


# ------------------------------------------------------------ what is turned away


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"sentence": ["a"], "model": "none"}, 404, "ner, pairs.v1, bags"),
        ({"sentence": ["a"], "sentences": [["a"]]}, 422, "one of sentence, sentences and text"),
        ({}, 422, "one of sentence"),
        ({"sentence": "a b"}, 422, "sentence"),
        ({"sentence": [1]}, 422, "sentence"),
        ({"sentence": [None]}, 422, "sentence"),
        ({"sentence": [{"w": None}]}, 422, "'w'"),
        ({"sentence": [{"w": 10**400}]}, 422, "'w'"),
        ({"sentence": ["a"], "allowed": [1]}, 422, "allowed"),
        ({"sentence": ["a"], "allowed": {"0": 1}}, 422, "position 0"),
        ({"sentence": ["a"], "more": 1}, 422, "more"),
        ({"sentence": [["a", "b"]]}, 422, "token"),
        ({"sentence": [{"w": "a"}]}, 422, "token"),
        ({"model": "pairs.v1", "text": "a"}, 422, "word, pos"),
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
    done = client.post("/v1/predict", content=json.dumps(body), headers={"content-type": "application/json"})
    assert done.status_code == status, done.text
    assert list(done.json()) == ["error"]
    assert why in done.json()["error"]
    assert "\n" not in done.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"sentence":[%s]}' % b",".join([b"1"] * 9999),
        b'{"sentences":[%s]}' % b",".join([b"1"] * 9999),
        b'{"sentences":[[[%s]]]}' % b",".join([b"1"] * 9999),
        b'{"sentence":[{%s}]}' % b",".join(b'"%d":[]' % i for i in range(9999)),
        b'{"sentence":["a"],%s}' % b",".join(b'"%d":1' % i for i in range(9999)),
        b'{"sentence":["a"],"allowed":{%s}}' % b",".join(b'"%d":{}' % i for i in range(9999)),
        b'{"sentences":[["a"]],"allowed":[%s]}' % b",".join([b"1"] * 9999),
    ],
)
def test_the_first_error_ends_validation(body: bytes) -> None:
    with pytest.raises(ValidationError) as caught:
        Request.model_validate_json(body)
    assert caught.value.error_count() == 1


@pytest.mark.parametrize("body", [b"{", b'{"text": "\xff"}', b"\xff\xfe", b"[]", b"7", b'{"text": "' + b"[" * 50_000])
def test_bodies_that_are_no_requests(client: TestClient, body: bytes) -> None:
    done = client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert done.status_code in (400, 422)
    assert list(done.json()) == ["error"]


SCALARS = st.sampled_from([None, True, 0, -1, 2**64, 0.5, math.nan, math.inf, "", "O", "Ann", "\x00", "\ud800", "bags"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["0", "1", "-1", "w"]), inner)
)
SENTENCES = st.sampled_from([[], SENTENCE, [{"w": "a"}, {"n": 1.5}], [["a", "X"]]])
INPUTS = st.one_of(
    st.fixed_dictionaries({"sentence": SENTENCES | VALUES}),
    st.fixed_dictionaries({"sentences": st.lists(SENTENCES, max_size=3)}),
    st.fixed_dictionaries({"text": st.just(TEXT), "lines": st.booleans()}),
)
MORE: dict[str, Any] = {name: st.integers(0, 1001) for name in ("k", "labels", "terms")}
MORE |= {"model": SCALARS, "allowed": VALUES, "other": VALUES}
BODIES = st.builds(lambda one, more: one | more, INPUTS, st.just({}) | st.fixed_dictionaries({}, optional=MORE))


@given(path=st.sampled_from(sorted(questions.QUESTIONS)), body=BODIES | VALUES)
@settings(max_examples=150, deadline=None)
def test_answers_are_as_described(client: TestClient, path: str, body: Any) -> None:
    """Whatever comes: an answer as the description has it, or an error in one line with a status that it names."""
    done = client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    if done.status_code == 200:
        questions.QUESTIONS[path].answer.model_validate(done.json(), extra="forbid")
    else:
        assert (done.status_code in (400, 404, 413, 422), list(done.json())) == (True, ["error"])
        assert "\n" not in done.json()["error"]


def test_no_path_of_the_server_is_told(client: TestClient, folder: Path) -> None:
    answers = [
        client.get("/v1/models").text,
        client.get("/metrics").text,
        client.get("/openapi.json").text,
        client.post("/v1/predict", json={"model": "x", "sentence": ["a"]}).text,
        client.post("/v1/predict", json={"model": "pairs.v1", "sentence": ["a"]}).text,
    ]
    assert not any(str(folder) in answer or ".trellis" in answer for answer in answers)


def test_other_methods_and_places(client: TestClient) -> None:
    refused = client.get("/v1/predict")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    bare = client.head("/healthz")
    assert (bare.status_code, bare.content) == (200, b"")
    assert client.get("/nothing").json()["error"].startswith("not found: /nothing")


def test_too_much(folder: Path) -> None:
    limits = Limits(bytes=300, tokens=6, sentences=2)
    with TestClient(app(folder, limits=limits)) as client:
        assert client.post("/v1/predict", json={"sentence": ["a"] * 6}).status_code == 200
        for body, why in (
            ({"sentence": ["a"] * 7}, "tokens"),
            ({"text": "X! Y! Z!"}, "sentences"),
            ({"text": "a" * 400}, "bytes"),
        ):
            done = client.post("/v1/predict", json=body)
            assert (done.status_code, why in done.json()["error"]) == (413, True)

        def pieces() -> Iterator[bytes]:  # without a length
            yield b'{"text": "'
            yield b"a" * 400

        assert client.post("/v1/predict", content=pieces()).status_code == 413


def test_the_token(folder: Path) -> None:
    with TestClient(app(folder, token="secret-secret-secret")) as client:
        assert client.get("/healthz").status_code == 200
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "secret-secret-secret"}):
            assert client.get("/v1/models", headers=given).status_code == 401
        right = {"authorization": "Bearer secret-secret-secret"}
        assert client.get("/v1/models", headers=right).status_code == 200


def test_pages_from_elsewhere_cannot_post(client: TestClient) -> None:
    body = {"sentence": ["Ann"]}
    assert client.post("/v1/predict", json=body, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/v1/predict", json=body, headers={"origin": "null"}).status_code == 403
    assert client.post("/v1/predict", json=body, headers={"origin": "http://testserver"}).status_code == 200


def test_other_names_for_this_machine(folder: Path) -> None:
    """A page whose name was made to point here cannot ask under it."""
    from trellis.interfaces.serve.app import LOOPBACK

    with TestClient(app(folder, hosts=LOOPBACK)) as client:
        for host in ("localhost:8000", "127.0.0.1", "[::1]:80"):
            assert client.get("/v1/models", headers={"host": host}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", "", "[::1].evil", "[::1", "localhost:80.evil"):
            assert client.get("/v1/models", headers={"host": host}).status_code == 403


def test_too_many_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While two are under way, a third is told to come again."""
    inside, go_on = threading.Semaphore(0), threading.Event()
    kbest = trellis.Tagger.kbest_batch

    def slow(self: trellis.Tagger, *some: Any, **more: Any) -> Any:
        inside.release()
        assert go_on.wait(10)
        return kbest(self, *some, **more)

    monkeypatch.setattr(trellis.Tagger, "kbest_batch", slow)
    with TestClient(app(folder, limits=Limits(requests=2))) as client, ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(client.post, "/v1/kbest", json={"sentence": ["Ann"]}) for _ in range(2)]
        for _ in busy:
            assert inside.acquire(timeout=10)
        turned_away = client.post("/v1/predict", json={"sentence": ["Ann"]})
        assert (turned_away.status_code, turned_away.headers["retry-after"]) == (429, "1")
        assert client.get("/healthz").status_code == 200
        go_on.set()
        assert [one.result().status_code for one in busy] == [200, 200]


def test_what_takes_too_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trellis.Tagger, "kbest_batch", lambda *some, **more: time.sleep(1.5))
    with TestClient(app(folder, limits=Limits(seconds=0.3))) as client:
        done = client.post("/v1/kbest", json={"sentence": ["Ann"]})
        assert (done.status_code, "0.3 s" in done.json()["error"]) == (503, True)


def test_an_answer_that_has_begun_is_sent_to_its_end(folder: Path) -> None:
    """A client that reads slowly gets all of it: the limit of time is for making the answer."""
    messages = list[Any]()

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def slow(message: Any) -> None:
        await asyncio.sleep(0.1)
        messages.append(message)

    scope = {"type": "http", "method": "GET", "path": "/docs", "headers": []}
    asyncio.run(app(folder, limits=Limits(seconds=0.05))(scope, receive, slow))
    assert (messages[0]["status"], messages[1]["body"].endswith(b"</html>\n")) == (200, True)


@pytest.mark.parametrize(
    ("path", "body", "n_values"),
    [
        ("kbest", {"sentences": [["Ann"] * 5] * 2, "k": 7}, 70),
        ("marginals", {"sentence": ["Ann"] * 10}, 40),
        ("explain", {"sentence": ["Ann"] * 10}, 40 * questions.EXPLAINING),
    ],
)
def test_the_size_of_answers(folder: Path, path: str, body: Any, n_values: int) -> None:
    with TestClient(app(folder, limits=Limits(values=n_values))) as client:
        assert client.post(f"/v1/{path}", json=body).status_code == 200
    with TestClient(app(folder, limits=Limits(values=n_values - 1))) as client:
        done = client.post(f"/v1/{path}", json=body)
        assert (done.status_code, f"the limit is {n_values - 1:,}" in done.json()["error"]) == (413, True)


def test_work_that_was_given_up_stops(folder: Path, ner: trellis.Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the parts of a request; the parts together are the whole answer. The loop makes none of it."""
    threads, batches, pause = set[str](), list[Any](), 0.0
    kbest, encode = trellis.Tagger.kbest_batch, questions._json_pieces

    def slow(self: trellis.Tagger, sentences: Any, *some: Any, **more: Any) -> Any:
        time.sleep(pause)
        batches.append(sentences)
        return kbest(self, sentences, *some, **more)

    def encoded(value: Any) -> bytes:
        threads.add(threading.current_thread().name)
        return encode(value)

    monkeypatch.setattr(trellis.Tagger, "kbest_batch", slow)
    monkeypatch.setattr(questions, "_json_pieces", encoded)
    monkeypatch.setattr(questions, "PART", 24)
    body = {"sentences": [SENTENCE, ["Ann"], [], ["in", "Rome"]] * 10, "k": 3}
    with TestClient(app(folder, limits=Limits(seconds=0.8))) as client:
        whole = client.post("/v1/kbest", json=body).json()["kbest"]
        assert [[(path["output"], path["score"]) for path in paths] for paths in whole] == kbest(
            ner, body["sentences"], 3
        )
        assert len(batches) == 15
        assert all(name.startswith("trellis-work") for name in threads)
        batches.clear()
        pause = 0.3
        assert client.post("/v1/kbest", json=body).status_code == 503
        time.sleep(0.5)
        assert len(batches) <= 3
        assert client.get("/healthz").status_code == 200


# ------------------------------------------------------------ batches


def test_batches_have_a_largest_size(ner: trellis.Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trellis.interfaces.serve.batching.MOST_TOKENS", 4 * len(SENTENCE))

    async def ask() -> Batcher:
        batcher = Batcher(1)
        await asyncio.gather(*(batcher.tag(ner, [SENTENCE]) for _ in range(20)))
        batcher.close()
        return batcher

    assert asyncio.run(ask()).n_batches == 5


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
    tagger = trellis.train({"word": sentences, "y": labels}, target="y", documents=True)

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
    other = trellis.train({"word": [["python", "is"]], "y": [["N", "V"]]}, target="y", features=["word[0]"])

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


def test_a_file_that_cannot_be_read_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "m.trellis"
    trellis.train(PAIRS, target="y", features=["word[0]"]).save(path)
    data = path.read_bytes()
    models = Models([str(path)])
    served = models.get("m")

    def gone() -> None:
        path.unlink()

    def damaged() -> None:
        path.write_bytes(b"damaged")

    def pipe() -> None:
        path.unlink()
        os.mkfifo(path)

    for n, change in enumerate([gone, damaged, pipe], 1):
        change()
        assert [models.reload(only_changed=True) for _ in range(3)] == [[], [], []]
        assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == n
    assert models.get("m") is served
    path.unlink()
    path.write_bytes(data)
    assert models.reload(only_changed=True) == ["m"]


def test_a_trained_model_is_not_replaced_by_a_file_of_its_name(folder: Path, ner: trellis.Tagger) -> None:
    models = Models([str(folder / "bags.trellis")])
    assert [models.put("bags", ner), models.put("mine", ner)] == ["bags-trained", "mine"]
    assert models.reload() == ["bags"]
    assert models.get("bags-trained").tagger is models.get("mine").tagger is ner
    assert models.get("bags").tagger is not ner


def test_names_of_models(tmp_path: Path, folder: Path) -> None:
    for version in ("v1", "v2"):
        (tmp_path / f"en.{version}.trellis").write_bytes((folder / "ner.trellis").read_bytes())
    names = [served.name for served in Models([str(tmp_path / f"en.{version}.trellis") for version in ("v1", "v2")])]
    assert names == ["en.v1", "en.v2"]
    with pytest.raises(trellis.ArgumentError, match=r"two models have the name 'ner': .*ner.trellis"):
        Models([str(folder / "ner.trellis"), str(folder / "ner.trellis")])
    with pytest.raises(trellis.ModelError, match="none"):
        Models([str(tmp_path / "none.trellis")])
