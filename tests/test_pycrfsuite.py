"""python-crfsuite's interface beside python-crfsuite itself."""

from __future__ import annotations

import os
import random
from itertools import product
from pathlib import Path

import numpy as np
import pycrfsuite as theirs
import pytest

import trellis
from trellis.interfaces.compat import pycrfsuite as ours

TOKENS = [
    ["a", "b"],
    {"a", "b"},
    frozenset(["a"]),
    ("a", "b"),
    [b"bytes", "text"],
    {"w": "dog", "n": 2, "f": 0.5, "yes": True, "no": False},
    {"g": {"h": "i", "k": ["l", "m"], "n": {"o": 1.5}}},
    {"a": "x", "a:b": "c:d", "": "empty", "e": ""},
    {"s": {"p", "q"}},
    {b"key": "v", "key2": b"v"},
    {"n": np.float32(0.25), "i": np.int64(3)},
    {"empty": []},
    "abc",
    {},
]


@pytest.mark.parametrize("token", TOKENS)  # no ids: sets are not written alike in every process
def test_attributes_of_a_token(token):
    wanted = theirs.ItemSequence([token]).items()
    assert ours.ItemSequence([token]).items() == wanted
    column = trellis.read({"attributes": [ours._tokens([token])]}).columns["attributes"]
    assert isinstance(column, trellis.BagColumn)
    alive = {name: value for name, value in wanted[0].items() if not (value == 0 and name == "no")}
    assert column.tolist() == [pytest.approx(alive)]  # False is left out there: it scores nothing


@pytest.mark.parametrize("token", [{"a": None}, {1: "x"}, [1], {"a": [1]}, {"a": {"b": None}}, None, 3])
def test_what_is_no_attribute(token):
    with pytest.raises((TypeError, ValueError, trellis.TrellisError)):
        ours.ItemSequence([token])
    tagger = ours.Tagger()
    with pytest.raises(RuntimeError):
        tagger.tag([token])


def test_a_dict_within_itself_is_an_error():
    endless: dict[str, object] = {}
    endless["a"] = endless
    with pytest.raises(trellis.CorpusError, match="nested too deeply"):
        trellis.read({"attributes": [[endless]]})


@pytest.mark.parametrize(
    "algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow", "averaged-perceptron", "passive-aggressive"]
)
def test_parameters_are_those_of_crfsuite(algorithm):
    mine, real = ours.Trainer(algorithm, verbose=False), theirs.Trainer(algorithm, verbose=False)
    assert set(mine.params()) == set(real.params())
    for name, value in real.get_params().items():
        assert mine.get(name) == pytest.approx(value) if not isinstance(value, str) else mine.get(name) == value
        assert mine.help(name)
    with pytest.raises(ValueError, match="no parameter 'colour'"):
        mine.set("colour", 1)


def data(n: int, seed: int):
    rng = random.Random(seed)
    for _ in range(n):
        words = [rng.choice(["dog", "cat", "sees", "the", "a"]) for _ in range(rng.randrange(1, 7))]
        labels = ["D" if w in ("the", "a") else "V" if w == "sees" else rng.choice("NO") for w in words]
        yield [{"w": word, "n": {"length": len(word)}} for word in words], labels


@pytest.fixture(params=["lbfgs", "l2sgd", "ap", "pa", "arow"])
def model(request, tmp_path) -> Path:
    trainer = ours.Trainer(request.param, {"max_iterations": 30}, verbose=False)
    for x, y in data(40, 1):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "model"))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    return tmp_path / "model"


def test_taggers_of_one_file_agree(model):
    mine, real = ours.Tagger(), theirs.Tagger()
    mine.open(model)
    real.open(str(model))
    assert mine.labels() == real.labels()
    for x, y in data(25, 2):
        given = [dict(token) for token in ours.ItemSequence(x).items()]
        given[0]["trellis:first"] = 1.0  # the scores of first labels, which only ours adds by itself
        assert mine.tag(x) == real.tag(given)
        real.set(given)
        assert mine.probability(y) == pytest.approx(real.probability(y), abs=1e-5)
        assert mine.marginal(y[-1], len(y) - 1) == pytest.approx(real.marginal(y[-1], len(y) - 1), abs=1e-5)
    for key, weight in real.info().state_features.items():
        if key[0] != "trellis:first":
            assert mine.info().state_features[key] == pytest.approx(weight, abs=1e-4)
    for key, weight in real.info().transitions.items():
        assert mine.info().transitions[key] == pytest.approx(weight, abs=1e-4)


def test_held_out_groups_and_the_log(tmp_path, capsys):
    trainer = ours.Trainer("lbfgs", {"max_iterations": 5})
    for i, (x, y) in enumerate(data(40, 3)):
        trainer.append(x, y, group=i % 4)
    trainer.train(str(tmp_path / "m"), holdout=3)
    log = trainer.logparser
    assert log is not None
    assert [one["num"] for one in log.iterations] == [1, 2, 3, 4, 5]
    assert {"loss", "time", "item_accuracy", "scores", "avg_f1"} <= log.last_iteration.keys()
    assert "Iteration #5" in capsys.readouterr().out


def test_a_model_in_memory_and_a_closed_tagger(model):
    tagger = ours.Tagger()
    with tagger.open_inmemory(model.read_bytes()):
        assert tagger.tag([{"w": "the"}]) == ["D"]
        assert tagger.tag([]) == []
        assert tagger.probability([]) == 1.0
    with pytest.raises(RuntimeError, match="no model is open"):
        tagger.labels()
    for bad in (b"", b"lCRFfoo" * 100, b"something else"):
        with pytest.raises(ValueError, match="Error opening model"):
            tagger.open_inmemory(bad)
    with pytest.raises(OSError, match="no such file"):
        tagger.open("nowhere")


def test_the_probability_of_labels_that_are_next_to_impossible(tmp_path):
    """The marginals of their pairs are 0 in double precision."""
    trainer = theirs.Trainer("lbfgs", {"c2": 0.01, "feature.possible_states": True}, verbose=False)
    for word, label in (("a", "A"), ("b", "B")):
        trainer.append([[word], [word]], [label, label])
    trainer.train(str(tmp_path / "m"))
    mine, real = ours.Tagger(), theirs.Tagger()
    mine.open(tmp_path / "m")
    real.open(str(tmp_path / "m"))
    gap = mine.info().state_features["a", "A"] - mine.info().state_features["a", "B"]
    x = [
        {"a": 390 / gap},
        {"a": 390 / gap},
    ]  # one token of the wrong label: exp(-390), two: less than a double can hold
    mine.set(x)
    real.set(x)
    for labels in product("AB", repeat=2):
        assert mine.probability(labels) == pytest.approx(real.probability(list(labels)), rel=1e-3)
    assert mine.probability(["B", "B"]) == 0.0


def test_wrong_questions(model, tmp_path):
    tagger = ours.Tagger()
    tagger.open(model)
    with pytest.raises(ValueError, match="no sentence; pass one to tag or set"):
        tagger.tag()
    tagger.set([{"w": "the"}])
    assert tagger.tag() == ["D"]
    with pytest.raises(ValueError, match="no label 'X'"):
        tagger.marginal("X", 0)
    with pytest.raises(ValueError, match="position 1"):
        tagger.marginal("D", 1)
    with pytest.raises(ValueError, match="2 labels for 1"):
        tagger.probability(["D", "N"])
    with pytest.raises(RuntimeError, match="no label 'X'"):
        tagger.probability(["X"])
    assert tagger.probability([b"D"]) == tagger.probability(["D"])
    assert tagger.marginal(b"D", 0) == tagger.marginal("D", 0)
    tagger.dump(tmp_path / "dump")
    assert "LABELS = {" in (tmp_path / "dump").read_text()
    trainer = ours.Trainer(verbose=False)
    with pytest.raises(ValueError, match="2 tokens, but 1 labels"):
        trainer.append([["a"], ["b"]], ["x"])
    with pytest.raises(ValueError, match="no algorithm"):
        trainer.select("sgd")
    with pytest.warns(UserWarning, match="no training data, so no model is written; call append first"):
        trainer.train(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_what_was_appended_stays_as_it_was(tmp_path):
    trainer, token = ours.Trainer(verbose=False), {"w": "x", "more": ["y"]}
    trainer.append([token], [b"A"])
    trainer.append([["z"]], ["A"])
    token.clear()
    token["other"] = "q"
    trainer.append([["z"]], [b"B"])
    trainer.train(str(tmp_path / "m"))
    tagger = ours.Tagger()
    tagger.open(os.fsencode(tmp_path / "m"))
    assert tagger.labels() == ["A", "B"]
    assert "w:x" in tagger.info().attributes
    assert "more:y" in tagger.info().attributes


def test_another_model_forgets_what_the_first_one_said(tmp_path):
    for name, labels in (("one", ["A", "B", "A"]), ("two", ["B", "B", "A"])):
        trainer = ours.Trainer(verbose=False)
        for label in labels:
            trainer.append([["x"]], [label])
        trainer.train(str(tmp_path / name))
    tagger = ours.Tagger()
    tagger.open(tmp_path / "one")
    tagger.set([["x"]])
    first = tagger.marginal("A", 0)
    tagger.open(tmp_path / "two")
    tagger.set([["x"]])
    assert tagger.marginal("A", 0) < first


def test_subclasses_hear_of_what_happens(tmp_path):
    heard = []

    class Listening(ours.Trainer):
        def on_start(self, log):
            heard.append("start")

        def on_iteration(self, log, info):
            heard.append(info["num"])

        def on_optimization_end(self, log):
            heard.append("optimized")

        def on_end(self, log):
            heard.append("end")

    trainer = Listening("lbfgs", {"max_iterations": 2}, verbose=False)
    trainer.append([["x"], ["y"]], ["A", "B"])
    trainer.train(str(tmp_path / "m"))
    assert heard == ["start", 1, 2, "optimized", "end"]


def test_parameters_that_make_no_sense(tmp_path):
    trainer = ours.Trainer("pa", {"type": 3}, verbose=False)
    trainer.append([["x"]], ["A"])
    with pytest.raises(ValueError, match="type must be 0, 1 or 2"):
        trainer.train(str(tmp_path / "m"))
    with pytest.raises(trellis.CorpusError, match="finite number"):
        trellis.read({"attributes": [[{"a": 10**400}]]})
