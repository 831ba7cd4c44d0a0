"""The commands about constituency trees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, refused

from trellis.corpus.brackets import read_trees

TEXT = """(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))) (. .)))
(TOP (S (NP (DT a) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT a) (NN mat)))) (. .)))
(TOP (S (NP (NN rain)) (VP (VBD fell)) (. .)))
"""
Call = Callable[..., Done]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> str:
    monkeypatch.chdir(tmp_path)
    Path("train.trees").write_text(TEXT)
    done = call("train --task trees train.trees --set epochs=3 --dev train.trees --model m --json")
    assert done.code == 0
    assert "epoch 3" in done.err
    figures = json.loads(done.out)
    assert figures["rules"] > 10
    assert len(figures["history"]) == 3
    return "m"


def test_train_run_evaluate(model: str, call: Call) -> None:
    assert call(f"predict --model {model} train.trees --output out.trees").code == 0
    assert [str(tree) for tree in read_trees("out.trees")] == TEXT.splitlines()
    Path("words.txt").write_text("the DT\ndog NN\nfell VBD\n. .\n")
    done = call(f"predict --model {model} words.txt --columns word,pos")
    assert done.out == "(TOP (S (NP (DT the) (NN dog)) (VP (VBD fell)) (. .)))\n"
    assert call(f"predict --model {model} --columns word", "rain\nfell\n.\n").out == TEXT.splitlines()[2] + "\n"
    assert call(f"draw --model {model} the dog fell .").out.startswith("<svg")
    assert call(f"predict --model {model} words.txt --columns word,pos --output out.jsonl").code == 0
    assert json.loads(Path("out.jsonl").read_text())["tree"] == ["(TOP(S(NP*", "*)", "(VP*)", "*))"]
    assert json.loads(call(f"predict --model {model} words.txt --columns word,pos --json").out)["tree"] == done.out[:-1]
    assert call(f"predict --model {model} --text", "the dog fell.\n").out == done.out
    listed = call(f"predict --model {model} train.trees --no-tags --kbest 2").out
    assert "\t(TOP (S " in listed
    figures = json.loads(call(f"evaluate --model {model} train.trees --json").out)
    assert figures["micro_avg"]["f1"] == 1.0
    assert "complete match" in call("evaluate --gold train.trees --predicted out.trees --longest 40").out


def test_a_pcfg(model: str, call: Call) -> None:
    assert call("train --task trees train.trees --learner pcfg --vertical 2 --horizontal 1 --model p --quiet").code == 0
    assert call("predict --model p train.trees").out == TEXT


def test_bad_input_is_one_line_and_lenient_skips(model: str, call: Call) -> None:
    Path("bad.trees").write_text(TEXT + "(S (NP (NN a))\n\n" + TEXT)
    refused(
        call("train --task trees bad.trees --model n"),
        "bad.trees:5: an empty line inside the tree that begins in line 4",
    )
    assert not Path("n").exists()
    done = call("train --task trees bad.trees --lenient --set epochs=1 --model n")
    assert done.code == 0
    assert "skipped 1 with errors; the first: bad.trees:5" in done.err
    assert "skipped 1" in call("evaluate --model n bad.trees --lenient").err
    assert "skipped 1" in call("predict --model n bad.trees --lenient").err
    refused(call("evaluate --model n bad.trees"), "bad.trees:5")
    refused(call("predict --model absent train.trees"), "absent")
    refused(call("predict --model train.trees train.trees"), "train.trees: not a")
    refused(
        call("evaluate train.trees"), "give --model and a file with gold outputs, or the files --gold and --predicted"
    )
    refused(call("train --task trees train.trees --learner pcfg --set epochs=3 --model n"), "omit --set")
    refused(call("train --task trees train.trees --model train.trees"), "the output would overwrite train.trees")


def test_a_table_has_sentences(model: str, call: Call) -> None:
    Path("words.csv").write_text("sid,word\n1,rain\n1,fell\n2,rain\n2,fell\n")
    assert len(call(f"predict --model {model} words.csv --columns word --sentence sid").out.splitlines()) == 2
    one, many = (call(f"predict --model {model} train.trees --kbest 3 --threads {n}").out for n in (1, 3))
    assert one == many
