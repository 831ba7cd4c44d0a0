"""Template functions that a user registers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trellis
from trellis.features.functions import OWN

WORDS = [["the", "man", "saw", "Ann"], ["Ann", "ran"], ["a", "dog", "saw", "it", "run"]]
LABELS = [["D", "N", "V", "NP"], ["NP", "V"], ["D", "N", "V", "PRP", "V"]]
LEARNER = trellis.Perceptron(epochs=4)
NEEDS = "needs the function 'backwards'.*register it with trellis.register_function before loading"


def backwards(value: str) -> str | None:
    return value[::-1] if len(value) > 1 else None


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = dict(OWN)
    OWN.clear()
    trellis.register_function("backwards", backwards)
    yield
    OWN.clear()
    OWN.update(before)


def unregister() -> None:
    del OWN["backwards"]


def train(features: list[str], **options: Any) -> trellis.Tagger:
    return trellis.train(WORDS, LABELS, features=features, **{"learner": LEARNER, **options})


def test_a_function_gives_what_a_built_in_one_gives() -> None:
    trellis.register_function("lower_own", str.lower)
    trellis.register_function("suffix_own", lambda value: value[-2:] if len(value) >= 2 else None)
    own = train(["lower_own(word[0])", "suffix_own(lower(word[-1])) & word[1]", "prefix(lower_own(word[1]), 1)"])
    built_in = train(["lower(word[0])", "suffix(lower(word[-1]), 2) & word[1]", "prefix(lower(word[1]), 1)"])
    unknown = [*WORDS, ["Änn", "SAW", "x", "unseen", "THE"]]
    assert own.kbest_batch(unknown, 5) == built_in.kbest_batch(unknown, 5)


def test_a_decorator() -> None:
    @trellis.register_function("vowels")
    def vowels(value: str) -> str:
        return "".join(c for c in value if c in "aeiou")

    assert vowels("house") == "oue"
    assert OWN["vowels"] is vowels
    assert train(["vowels(word[0])"]).tag(["the"]) == train(["vowels(word[0])"]).tag(["she"])


def test_it_is_called_once_per_string() -> None:
    calls = list[str]()
    trellis.register_function("counted", lambda value: calls.append(value) or value)
    tagger = train(["counted(word[0])", "counted(word[-1]) & counted(word[1])"])
    assert sorted(calls) == sorted({word for words in WORDS for word in words})
    calls.clear()
    for _ in range(3):
        tagger.tag(["new", "word", "new"])
    assert sorted(calls) == ["new", "word"]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_do_not_change_the_model(n_threads: int) -> None:
    tagger = train(["backwards(word[0])", "word[-1]"], n_threads=n_threads)
    assert tagger.to_bytes() == train(["backwards(word[0])", "word[-1]"], n_threads=2).to_bytes()


def test_warm_start() -> None:
    first = train(["backwards(word[0])", "word[-1]"])
    assert trellis.train(WORDS, LABELS, init=first, learner=LEARNER).tag_batch(WORDS) == LABELS


HEADS = [["2", "3", "0", "3"], ["2", "0"], ["2", "3", "0", "5", "3"]]
TREES = ["(TOP (S (NP (D the) (N man)) (VP (V saw) (NP (NP Ann)))))", "(TOP (S (NP (NP Ann)) (VP (V ran))))"]


def tagger_model() -> Any:
    return train(["backwards(word[0])"])


def segment_model() -> Any:
    labels = [["O", "B-N", "O", "B-N"], ["B-N", "O"], ["O", "B-N", "O", "O", "O"]]
    features = ["backwards(word[0])", "backwards(word[first])", "backwards(word[segment])"]
    return trellis.train(WORDS, labels, features=features, learner=LEARNER, segments=True)


def parser_model() -> Any:

    corpus = trellis.read({"word": WORDS, "head": HEADS})
    return trellis.Parser.train(
        corpus, features=["backwards(word[head]) & word[dep]", "word[dep]"], order=1, filter=None
    )


def tree_model() -> Any:

    return trellis.TreeParser.train(
        trellis.parse_trees("\n".join(TREES)).trees, features=["backwards(word[first])", "length"]
    )


MODELS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (tagger_model, lambda model: model.kbest_batch([*WORDS, ["unseen"]], 3)),
    (segment_model, lambda model: model.kbest_batch([*WORDS, ["unseen", "words"]], 3)),
    (parser_model, lambda model: [str(tree) for tree in model.parse_batch([*WORDS, ["unseen", "words"]])]),
    (tree_model, lambda model: [str(tree) for tree in model.parse_batch([WORDS[0], ["Ann", "saw"]])]),
]


@pytest.mark.parametrize(("make", "answers"), MODELS, ids=[make.__name__ for make, _ in MODELS])
def test_every_kind_of_model_keeps_the_name(make: Callable[[], Any], answers: Any, tmp_path: Path) -> None:
    model, path = make(), tmp_path / "m"
    load = getattr(sys.modules[type(model).__module__], "load", trellis.load)
    model.save(path)
    assert answers(load(path)) == answers(model)
    unregister()
    with pytest.raises(trellis.ModelError, match=NEEDS) as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_a_process_without_the_function_says_which(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(pickle.dumps(train(["backwards(word[0])"])))
    program = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))"
    found = subprocess.run([sys.executable, "-c", program, tmp_path / "m"], capture_output=True, text=True, check=False)
    assert "ModelError" in found.stderr
    assert "needs the function 'backwards'" in found.stderr


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("suffix", str.lower, "is the name of a built-in function; choose another name"),
        ("outside", str.lower, "is the name of a built-in function; choose another name"),
        ("backwards", str.lower, "'backwards' is already registered"),
        ("two words", str.lower, "name must be"),
        ("", str.lower, "name must be"),
        (3, str.lower, "name must be"),
        ("own", "lower", "function must be"),
    ],
)
def test_names_that_are_taken_or_invalid(name: Any, function: Any, message: str) -> None:
    with pytest.raises(trellis.ArgumentError, match=message):
        trellis.register_function(name, function)
    assert OWN["backwards"] is backwards


def test_the_same_again_and_replaced() -> None:
    trellis.register_function("backwards", backwards)
    trellis.register_function("backwards", str.lower, replace=True)
    assert OWN["backwards"] == str.lower


@pytest.mark.parametrize("result", [3, b"x", "\ud800"])
def test_results_that_are_no_text(result: Any) -> None:
    trellis.register_function("broken", lambda value: result)
    with pytest.raises(trellis.TemplateError, match="'broken' must return a string or None; for 'the' it returns"):
        train(["broken(word[0])"])


def test_arguments_and_unknown_functions() -> None:
    with pytest.raises(trellis.TemplateError, match="backwards takes no argument"):
        train(["backwards(word[0], 3)"])
    with pytest.raises(trellis.TemplateError, match=r"no function 'forwards'; .*vector, backwards"):
        train(["forwards(word[0])"])
