"""The commands about constituency trees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, refused

from trellis.tasks.trees import read_trees

TEXT = """(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))) (. .)))
(TOP (S (NP (DT a) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT a) (NN mat)))) (. .)))
(TOP (S (NP (NN rain)) (VP (VBD fell)) (. .)))
"""
Call = Callable[..., Done]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> str:
    monkeypatch.chdir(tmp_path)
    Path("train.trees").write_text(TEXT)
    done = call("trees train train.trees --set epochs=3 --dev train.trees --model m --json")
    assert done.code == 0
    assert "epoch 3" in done.err
    figures = json.loads(done.out)
    assert figures["rules"] > 10
    assert len(figures["history"]) == 3
    return "m"


def test_train_run_evaluate(model: str, call: Call) -> None:
    assert call(f"trees run --model {model} train.trees --output out.trees").code == 0
    assert [str(tree) for tree in read_trees("out.trees")] == TEXT.splitlines()
    Path("words.txt").write_text("the DT\ndog NN\nfell VBD\n. .\n")
    done = call(f"trees run --model {model} words.txt --columns word,pos")
    assert done.out == "(TOP (S (NP (DT the) (NN dog)) (VP (VBD fell)) (. .)))\n"
    assert call(f"trees run --model {model} --columns word", "rain\nfell\n.\n").out == TEXT.splitlines()[2] + "\n"
    drawn = call(f"trees run --model {model} words.txt --columns word,pos --as text")
    assert drawn.out.splitlines()[0].split() == ["TOP"]
    assert call(f"trees run --model {model} words.txt --columns word,pos --as svg").out.startswith("<svg")
    listed = call(f"trees run --model {model} train.trees --no-tags --kbest 2").out
    assert "\t(TOP (S " in listed
    figures = json.loads(call(f"trees evaluate --model {model} train.trees --json").out)
    assert figures["micro_avg"]["f1"] == 1.0
    assert "complete match" in call("trees evaluate train.trees --parsed out.trees --longest 40").out


def test_a_pcfg(model: str, call: Call) -> None:
    assert call("trees train train.trees --learner pcfg --vertical 2 --horizontal 1 --model p --quiet").code == 0
    assert call("trees run --model p train.trees").out == TEXT


def test_bad_input_is_one_line_and_lenient_skips(model: str, call: Call) -> None:
    Path("bad.trees").write_text(TEXT + "(S (NP (NN a))\n\n" + TEXT)
    refused(call("trees train bad.trees --model n"), "bad.trees:5: an empty line inside the tree that begins in line 4")
    assert not Path("n").exists()
    done = call("trees train bad.trees --lenient --set epochs=1 --model n")
    assert done.code == 0
    assert "skipped 1 that are not trees; the first: bad.trees:5" in done.err
    assert "skipped 1" in call("trees evaluate --model n bad.trees --lenient").err
    assert "skipped 1" in call("trees run --model n bad.trees --lenient").err
    refused(call("trees evaluate --model n bad.trees"), "bad.trees:5")
    refused(call("trees run --model absent train.trees"), "absent")
    refused(call("trees run --model train.trees train.trees"), "not a parser of trees")
    refused(call("trees evaluate train.trees"), "--model or parsed trees by --parsed")
    refused(call("trees train train.trees --learner pcfg --set epochs=3 --model n"), "omit --set")
    refused(call("trees train train.trees --model train.trees"), "the output would replace train.trees")
    refused(call("trees nonsense"), "trees train")


def test_a_table_has_sentences(model: str, call: Call) -> None:
    Path("words.csv").write_text("sid,word\n1,rain\n1,fell\n2,rain\n2,fell\n")
    assert len(call(f"trees run --model {model} words.csv --columns word --sentence sid").out.splitlines()) == 2
    one, many = (call(f"trees run --model {model} train.trees --kbest 3 --threads {n}").out for n in (1, 3))
    assert one == many
