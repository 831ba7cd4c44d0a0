"""Dependency parsers: train, predict, evaluate; what files keep, and what bad input gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, refused

Call = Callable[..., Done]

SENTENCE = """\
# sent_id = {i}
# text = the {n} {v}
1-2\tthe{n}\t_\t_\t_\t_\t_\t_\t_\t_
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\t{n}\t{n}\tNOUN\tNN\tNumber=Sing\t3\tnsubj:outer\t_\tSpaceAfter=No
2.1\tnull\t_\t_\t_\t_\t_\t_\t_\t_
3\t{v}\t{v}\tVERB\tVB\t_\t0\troot\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""
TREES = "".join(
    SENTENCE.format(i=i, n=n, v=v) for i, (n, v) in enumerate([("dog", "barks"), ("cat", "sleeps"), ("boat", "sinks")])
)


@pytest.fixture
def trees(here: Path) -> Path:
    (here / "train.conllu").write_text(TREES)
    return here


def test_train_run_evaluate(trees: Path, call: Call) -> None:
    done = call("train --task parse train.conllu --model p.parser --epochs 3 --dev train.conllu --json")
    assert done.code == 0
    told = json.loads(done.out)
    assert (told["labels"], told["sentences"], told["skipped"]) == (4, 3, 0)
    assert told["history"][-1]["dev_score"] == 1
    blank = TREES.replace("\t2\tdet", "\t_\t_").replace("\t3\tnsubj:outer", "\t_\t_").replace("\t0\troot", "\t_\t_")
    (trees / "blank.conllu").write_text(blank.replace("\t3\tpunct", "\t_\t_"))
    assert call("predict --model p.parser blank.conllu --output parsed.conllu").code == 0
    assert (trees / "parsed.conllu").read_text() == TREES  # comments, ranges, empty nodes and other columns are kept
    shown = call("evaluate --model p.parser train.conllu").out
    assert "all words  100.00  100.00       12" in shown
    assert "no punctuation  100.00  100.00        9" in shown
    other = TREES.replace("nsubj:outer", "nsubj")
    (trees / "other.conllu").write_text(other)
    assert (
        json.loads(call("evaluate --task parse --predicted other.conllu --gold train.conllu --json").out)["all_words"][
            "las"
        ]
        == 0.75
    )
    assert (
        json.loads(call("evaluate --task parse --predicted other.conllu --gold train.conllu --no-subtypes --json").out)[
            "all_words"
        ]["las"]
        == 1
    )
    assert call("predict --model p.parser blank.conllu").out == TREES


def test_files_of_columns(trees: Path, call: Call) -> None:
    (trees / "train.tsv").write_text(
        "the\tDT\t2\ndog\tNN\t3\nbarks\tVB\t0\n\nthe\tDT\t2\ncat\tNN\t3\nsleeps\tVB\t0\n\n"
    )
    (trees / "tagged.tsv").write_text("the\tDT\ncat\tNN\nbarks\tVB\n\n")
    train = "train --task parse train.tsv --columns word,pos,head --model p.parser --quiet"
    assert call(f"{train} --learner perceptron --epochs 2 --order 1").code == 0
    assert call("predict --model p.parser tagged.tsv").out == "the\tDT\t2\ncat\tNN\t3\nbarks\tVB\t0\n\n"
    assert call("predict --model p.parser tagged.tsv --output out.jsonl").code == 0
    assert json.loads((trees / "out.jsonl").read_text()) == {
        "word": ["the", "cat", "barks"],
        "pos": ["DT", "NN", "VB"],
        "head": ["2", "3", "0"],
    }
    assert "all words  100.00" in call("evaluate --model p.parser train.tsv").out


def test_a_tagger_before_the_parser(trees: Path, call: Call) -> None:
    assert call("train train.conllu --target upos --model t.trellis --quiet").code == 0
    assert call("train --task parse train.conllu --tagger t.trellis --model p.parser --quiet --epochs 3").code == 0
    untagged = TREES.replace("DET", "_").replace("NOUN", "_").replace("VERB", "_").replace("PUNCT", "_")
    (trees / "untagged.conllu").write_text(untagged)
    assert call("predict --model p.parser --tagger t.trellis untagged.conllu").out == TREES
    assert "100.00" in call("evaluate --model p.parser --tagger t.trellis untagged.conllu").out


def test_sentences_without_a_tree_are_said(trees: Path, call: Call) -> None:
    bad = TREES.replace("\t3\tpunct", "\t9\tpunct", 1)
    (trees / "bad.conllu").write_text(bad)
    done = call("train --task parse bad.conllu --model p.parser --quiet")
    refused(done, "bad.conllu:8: head '9' is not a number from 0 to 4")
    assert not (trees / "p.parser").exists()
    done = call("train --task parse bad.conllu --model p.parser --lenient --epochs 1")
    assert "skipped 1 sentences without a tree" in done.err
    refused(call("evaluate --model p.parser bad.conllu"), "bad.conllu:8")
    assert call("evaluate --model p.parser bad.conllu --lenient").code == 0


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("train --task parse train.conllu --model p.parser --order 3", "order"),
        ("train --task parse train.conllu --model p.parser --no-projective", "order 1"),
        (
            "train --task parse train.conllu --model p.parser --learner hmm",
            "HMM does not train parsers; use perceptron, mira, pa",
        ),
        ("train --task parse train.conllu --model p.parser --features nowhere", "no preset or file 'nowhere'"),
        ("train --task parse train.conllu --model train.conllu", "would overwrite"),
        ("train --task parse train.conllu --model p --checkpoint p", "are the same file; choose different files"),
        ("train --task parse train.txt --columns word,pos,chunk --model p.parser", "no column 'head'"),
        ("predict --model train.conllu train.conllu", "train.conllu: not a"),
        ("evaluate train.conllu", "give --model"),
        ("predict --model p.parser --crf-test train.conllu", "p.parser"),
    ],
)
def test_bad_calls(trees: Path, call: Call, command: str, why: str) -> None:
    refused(call(f"{command} --quiet" if command.startswith("train --task parse") else command), why)


def test_a_parser_remembers_the_column_of_sentences(trees: Path, call: Call) -> None:
    (trees / "train.csv").write_text("sid,word,pos,head\n1,the,DT,2\n1,dog,NN,0\n2,the,DT,2\n2,cat,NN,0\n")
    assert call("train --task parse train.csv --sentence sid --model p.parser --epochs 2 --quiet").code == 0
    assert call("predict --model p.parser train.csv --output out.jsonl").code == 0
    assert [json.loads(line)["head"] for line in Path("out.jsonl").read_text().splitlines()] == [["2", "0"]] * 2
