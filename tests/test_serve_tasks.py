"""The server and the studio with models of every task: each question is answered, or rejected in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import small_treebank

pytest.importorskip("uvicorn")
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from test_parsing import TEMPLATES, treebank
from test_serve import BODIES
from test_structured import SENTENCES, Listed

import trellis
from trellis import parse_trees
from trellis.interfaces.serve import App, Limits, Models
from trellis.interfaces.serve.questions import QUESTIONS
from trellis.interfaces.studio.app import make_studio
from trellis.tasks.explanation import plain_output

TREES = parse_trees("(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat)))) (S (NP (N cats)) (VP (V sleep)))" * 3)
CORPUS = {"word": [["a", "b"], ["b", "a"], ["a"], ["c", "a"]], "label": [[*"AB"], [*"BA"], ["A"], [*"CA"]]}

TOKENS = st.sampled_from(["a", "dog", "", "\x00", "é", ["a"], ["N", "dog"], ["a", "b", "c"], [], {}, {"w": "a"}])
INPUTS = st.lists(TOKENS, max_size=4) | st.lists(st.sampled_from([["N", "dog"], ["", ""]]), max_size=6)

# Of each task: how a model is made, an input as Python takes it, and the same as a request.
TASKS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "tag": (lambda: trellis.train(CORPUS, target="label"), ["a", "c"], {"sentence": ["a", "c"]}),
    "parse": (
        lambda: trellis.Parser.train(treebank(8, 1), features=TEMPLATES),
        [("N", "dog"), ("V", "sees")],
        {"sentence": [["N", "dog"], ["V", "sees"]]},
    ),
    "trees": (
        lambda: trellis.TreeParser.train(TREES, learner="pcfg"),
        ["cats", "sleep"],
        {"sentence": ["cats", "sleep"]},
    ),
    "words": (lambda: trellis.Segmenter.train([["a", "bc"], ["bc", "d"]]), "abcd", {"text": "abcd"}),
    "pipeline": (
        lambda: trellis.Pipeline.train(small_treebank.treebank(), learner=trellis.Perceptron(epochs=2), folds=2),
        "La mina kosat. Ana velan dol rab!",
        {"text": "La mina kosat. Ana velan dol rab!"},
    ),
    "rerank": (
        lambda: trellis.Reranker.train(
            trellis.read(CORPUS), tagger=lambda part: trellis.train(part, target="label"), k=3, folds=2
        ),
        ["a", "c"],
        {"sentence": ["a", "c"]},
    ),
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("tasks")
    for task, (make, *_) in TASKS.items():
        make().save(place / f"{task}.trellis")
    return {task: str(place / f"{task}.trellis") for task in TASKS}


@pytest.fixture(scope="module")
def client(paths: dict[str, str]) -> Iterator[TestClient]:
    with TestClient(App(Models(list(paths.values())))) as made:
        yield made


def ask(client: TestClient, name: str, task: str, **more: Any) -> Any:
    answer = client.post(f"/v1/{name}", json={"model": task, **TASKS[task][2], **more})
    assert answer.status_code == 200, answer.text
    QUESTIONS[f"/v1/{name}"].answer.model_validate(answer.json(), extra="forbid")
    return answer.json()


def rejected(client: TestClient, name: str, status: int, **body: Any) -> str:
    answer = client.post(f"/v1/{name}", json=body)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert "\n" not in answer.json()["error"]
    return str(answer.json()["error"])


@pytest.mark.parametrize("task", TASKS)
def test_answers_are_those_of_python(client: TestClient, paths: dict[str, str], task: str) -> None:
    model, x = trellis.load(paths[task]), TASKS[task][1]
    assert ask(client, "predict", task) == {"model": task, "outputs": [plain_output(model.predict(x))]}
    if task == "pipeline":
        assert "a pipeline has no kbest" in rejected(client, "kbest", 422, model=task, **TASKS[task][2])
        assert "a pipeline has no explain" in rejected(client, "explain", 422, model=task, **TASKS[task][2])
        return
    [found] = ask(client, "kbest", task, k=3)["kbest"]
    assert [(one["output"], one["score"]) for one in found] == [(plain_output(y), s) for y, s in model.kbest(x, 3)]
    [why] = ask(client, "explain", task, terms=1000, labels=100)["explanations"]
    assert why == json.loads(json.dumps(model.explain(x).to_dict(n_terms=1000)))
    [why] = ask(client, "explain", task, terms=1)["explanations"]
    assert (len(why["terms"]), len(why["difference"]) <= 1) == (1, True)


def test_outputs(client: TestClient) -> None:
    assert list(ask(client, "predict", "parse")["outputs"][0]) == ["heads", "deprels"]
    assert ask(client, "predict", "trees")["outputs"][0].startswith("(")
    assert "".join(ask(client, "predict", "words")["outputs"][0]) == "abcd"
    assert len(ask(client, "predict", "words", text="abc\nbcd", lines=True)["outputs"]) == 2


def test_text_is_tokenized(client: TestClient) -> None:
    for task in ("tag", "trees", "rerank"):
        answer = client.post("/v1/predict", json={"model": task, "text": "the dog. a b."}).json()
        assert [[t["text"] for t in s["tokens"]] for s in answer["sentences"]] == [["the", "dog", "."], ["a", "b", "."]]
        assert len(answer["outputs"]) == 2
    assert "label" not in rejected(client, "predict", 422, model="parse", text="the dog")


@pytest.mark.parametrize("task", [task for task in TASKS if task != "tag"])
def test_questions_for_taggers(client: TestClient, task: str) -> None:
    for name in ("marginals", "spans"):
        assert "require a tagger" in rejected(client, name, 422, model=task, **TASKS[task][2])
    if task not in ("words", "pipeline"):
        why = rejected(client, "predict", 422, model=task, **TASKS[task][2], allowed={"0": "A"})
        assert f"model {task!r} is a " in why


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("parse", ["dog", "sees"]),
        ("parse", [["dog"]]),
        ("parse", [{"word": "dog"}]),
        ("trees", [["a", "b", "c"]]),
        ("trees", [{"a": "b"}]),
        ("rerank", [["a", "b"]]),
        ("rerank", [["a"], {"b": 1}]),
        ("words", ["a"]),
    ],
)
def test_what_a_model_does_not_read(client: TestClient, task: str, sentence: Any) -> None:
    for name in ("predict", "kbest", "explain"):
        assert rejected(client, name, 422, model=task, sentence=sentence)


@pytest.mark.parametrize("task", TASKS)
def test_nothing_in_nothing_out(client: TestClient, task: str) -> None:
    empty = {"text": ""} if task == "words" else {"sentence": []}
    for name in ("predict",) if task == "pipeline" else ("predict", "kbest", "explain"):
        answer = client.post(f"/v1/{name}", json={"model": task, **empty})
        assert answer.status_code == 200, answer.text


@given(
    path=st.sampled_from(["/v1/predict", "/v1/kbest", "/v1/explain"]),
    task=st.sampled_from(sorted(TASKS)),
    body=BODIES | st.lists(INPUTS, max_size=3).map(lambda sentences: {"sentences": sentences}),
)
@settings(max_examples=200, deadline=None)
def test_answers_are_as_described(client: TestClient, path: str, task: str, body: dict[str, Any]) -> None:
    """Whatever comes: an answer as the description has it, or an error in one line with a status that it names."""
    content = json.dumps({**body, "model": task})
    done = client.post(path, content=content, headers={"content-type": "application/json"})
    if done.status_code == 200:
        QUESTIONS[path].answer.model_validate(done.json(), extra="forbid")
    else:
        assert (done.status_code in (400, 413, 422), list(done.json())) == (True, ["error"])
        assert "\n" not in done.json()["error"]


def test_pairs_of_words_and_tags(client: TestClient, paths: dict[str, str]) -> None:
    tree = trellis.load(paths["trees"]).predict([("the", "D"), ("dog", "N")])
    answer = client.post("/v1/predict", json={"model": "trees", "sentence": [["the", "D"], ["dog", "N"]]})
    assert answer.json()["outputs"] == [str(tree)]


def test_models_have_their_task(client: TestClient) -> None:
    models = client.get("/v1/models").json()["models"]
    assert [one["task"] for one in models] == [one["name"] for one in models] == list(TASKS)
    assert "labels" not in models[2]
    assert models[1]["columns"] == ["pos", "word"]


def test_a_long_sentence_is_too_much_work_for_a_parser(paths: dict[str, str]) -> None:
    """Time grows with the cube of a sentence's length, and nothing can end native code."""
    with TestClient(App(Models(list(paths.values())), limits=Limits(values=2_000))) as client:
        for task, token in (("parse", ["N", "dog"]), ("trees", "dog")):
            for name in ("predict", "kbest", "explain"):
                assert "the limit is 2,000" in rejected(client, name, 413, model=task, sentence=[token] * 30)
            assert client.post("/v1/predict", json={"model": task, "sentence": [token] * 10}).status_code == 200
        assert client.post("/v1/predict", json={"model": "tag", "sentence": ["a"] * 30}).status_code == 200


def test_structured_models_are_not_served(tmp_path: Path) -> None:
    path = tmp_path / "m.trellis"
    trellis.StructuredModel.train(SENTENCES, problem=Listed()).save(path)
    with pytest.raises(trellis.ModelError, match=r"cannot be served because it needs Python code: .*m.trellis"):
        Models([str(path)])


# ------------------------------------------------------------ the studio


@pytest.mark.parametrize("task", TASKS)
def test_a_sentence_in_the_studio(paths: dict[str, str], task: str) -> None:
    model, x = trellis.load(paths[task]), TASKS[task][1]
    with TestClient(make_studio(Models([paths[task]])), "http://localhost") as client:
        answer = client.post("/studio/api/look", json={**TASKS[task][2], "k": 2})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        if task == "pipeline":
            assert [row[0] for row in found["words"]] == [word.form for word in model.predict(x)[0]]
            assert (found["picture"], found["others"]) == (model.draw(x).svg, 2)
            return
        assert len(found["kbest"]) == len(model.kbest(x, 2))
        assert ("labels" in found) == (task == "tag")
        if task in ("parse", "trees"):
            assert found["picture"] == model.draw(x).svg
        if task != "tag":
            assert found["explanation"]["score"] == pytest.approx(model.explain(x).score)
            assert client.post("/studio/api/errors", json={}).status_code == 422
