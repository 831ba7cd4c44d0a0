"""The command line and its files: formats by extension, raw text, nothing replaced that is read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import COLUMNS, TRAIN, refused

import trellis
from trellis.interfaces.cli import pieces

CHUNKS = trellis.read({"chunk": [["B-NP", "I-NP", "B-VP"]] * 12}).sentences("chunk")


@pytest.fixture
def words(here: Path, call: Any) -> Path:
    """A model that reads words alone, of a file with two columns."""
    (here / "pos.txt").write_text("the DT\ndog NN\nran VBD\n\nthe DT\ncat NN\nsees VBD\n\n" * 3)
    assert call("train pos.txt --columns word,pos --model pos.trellis --quiet").code == 0
    return here / "pos.trellis"


# ------------------------------------------------------------ formats by extension


@pytest.mark.parametrize("name", ["out.parquet", "out.feather", "out.jsonl", "out.jsonl.gz", "out.ndjson"])
def test_the_extension_of_the_output_tells_the_format(chunk: Path, call: Any, name: str) -> None:
    assert call(f"predict -m chunk.trellis test.txt -o {name}").code == 0
    found = trellis.read(name)
    assert list(found.columns) == ["word", "pos", "chunk"]
    assert found.sentences("chunk") == CHUNKS
    assert call(f"evaluate -m chunk.trellis {name}").code == 0


def test_conllu_from_columns(here: Path, call: Any) -> None:
    (here / "columns.txt").write_text("the DET\ndog NOUN\n\n")
    assert call("train columns.txt --columns form,upos --model m --quiet").code == 0
    assert call("predict -m m columns.txt -o out.conllu").code == 0
    assert (here / "out.conllu").read_text().splitlines()[:2] == [
        "1\tthe\t_\tDET" + "\t_" * 6,
        "2\tdog\t_\tNOUN" + "\t_" * 6,
    ]


def test_tsv_from_columns_has_tabs(chunk: Path, here: Path, call: Any) -> None:
    assert call("predict -m chunk.trellis test.txt -o out.tsv").code == 0
    assert (here / "out.tsv").read_text() == COLUMNS.replace(" ", "\t")


def test_columns_from_json_lines(chunk: Path, here: Path, call: Any) -> None:
    trellis.write(trellis.read("test.txt", columns="word,pos,chunk"), "in.jsonl")
    assert call("predict -m chunk.trellis in.jsonl -o out.conll --format jsonl").code == 0
    assert (here / "out.conll").read_text() == (here / "in.jsonl").read_text()  # .conll tells nothing
    assert call("predict -m chunk.trellis in.jsonl -o out.tsv").code == 0
    assert (here / "out.tsv").read_text() == COLUMNS.replace(" ", "\t")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("test.txt -o out.json", ["out.json", "--json", ".jsonl"]),
        ("test.txt -o out.parquet --json", ["out.parquet", ".jsonl"]),
        ("test.txt -o out.conllu", ["no column 'chunk'", "--json"]),
        ("test.txt -o out.parquet --kbest 2", ["--kbest", "--json"]),
        ("test.txt -o out.parquet.gz", ["files are already compressed; omit"]),
    ],
)
def test_outputs_that_cannot_be(chunk: Path, here: Path, call: Any, line: str, words: list[str]) -> None:
    before = sorted(here.iterdir())
    refused(call(f"predict -m chunk.trellis {line}"), *words)
    assert sorted(here.iterdir()) == before


def test_json_under_names_that_fit(chunk: Path, here: Path, call: Any) -> None:
    for name in ("out.json", "out.jsonl", "out", "out.jsonl.gz"):
        assert call(f"predict -m chunk.trellis test.txt --json -o {name}").code == 0
        raw = (here / name).read_bytes()
        text = gzip.decompress(raw) if name.endswith(".gz") else raw
        assert [json.loads(line)["labels"] for line in text.splitlines()] == CHUNKS


@pytest.mark.parametrize("verb", ["predict", "evaluate", "info", "dump"])
def test_one_model_is_given_once(verb: str, chunk: Path, call: Any) -> None:
    data = "test.txt" if verb in ("predict", "evaluate") else ""
    refused(call(f"{verb} -m chunk.trellis -m other.trellis {data}"), "-m is given twice, as chunk.trellis and other")


def test_what_is_read_is_never_replaced(chunk: Path, here: Path, call: Any) -> None:
    (here / "link.txt").symlink_to(here / "test.txt")
    for name in ("test.txt", "link.txt", "./test.txt", "chunk.trellis"):
        refused(call(f"predict -m chunk.trellis test.txt -o {name}"), "would overwrite", "choose another file")
    refused(call("calibrate -m chunk.trellis test.txt -o test.txt"), "would overwrite")
    (here / "dev.svg").write_text(COLUMNS)
    refused(call(f"train {TRAIN} --model m --plot dev.svg --dev dev.svg"), "would overwrite")
    with (here / "test.txt").open() as file:
        command = [sys.executable, "-m", "trellis", "predict", "-m", "chunk.trellis", "-o", "test.txt"]
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False, cwd=here)
    assert (done.returncode, "would overwrite standard input" in done.stderr) == (2, True)
    assert (here / "test.txt").read_text() == COLUMNS
    trellis.load(chunk)


# ------------------------------------------------------------ raw text


def test_running_text(words: Path, here: Path, call: Any) -> None:
    done = call("predict -m pos.trellis --words", "the dog ran\n\n  the\tcat sees  \nthe dog")
    assert done.out == "the DT\ndog NN\nran VBD\n\nthe DT\ncat NN\nsees VBD\n\nthe DT\ndog NN\n\n"
    assert done.err == ""
    done = call("predict -m pos.trellis --lines --json --kbest 1", "the dog ran\nthe")
    assert [len(json.loads(line)["kbest"][0]["labels"]) for line in done.out.splitlines()] == [3, 1]
    (here / "text.txt").write_text("the dog ran\n" * 1000)
    assert call("predict -m pos.trellis --words text.txt -o out.jsonl").code == 0
    assert trellis.read("out.jsonl").sentences("pos") == [["DT", "NN", "VBD"]] * 1000
    assert call("predict -m pos.trellis --text", "").out == ""


def test_running_text_into_a_table(words: Path, here: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 16)
    (here / "text.txt").write_text("the dog ran\n" * 5)
    for name in ("out.parquet", "out.jsonl"):
        assert call(f"predict -m pos.trellis --lines text.txt -o {name}").code == 0
        assert trellis.read(name).sentences("pos") == [["DT", "NN", "VBD"]] * 5


def test_running_text_that_cannot_be(words: Path, chunk: Path, here: Path, call: Any) -> None:
    refused(call("predict -m chunk.trellis --text", "the dog"), "reads word, pos")
    refused(call("predict -m pos.trellis --text --columns word", "the dog"), "--columns")
    (here / "latin.txt").write_bytes("the dog\ndas M\xe4dchen\n".encode("latin-1"))
    refused(call("predict -m pos.trellis --text latin.txt"), "latin.txt:2", "UTF-8")


def test_words_taken_for_gold_labels_are_warned_of(words: Path, call: Any) -> None:
    done = call("predict -m pos.trellis", "the dog\n")
    assert done.out == "the dog DT\n"
    assert done.err.count("\n") == 1
    assert all(word in done.err for word in ("<stdin>", "column 2", "(pos)", "--text"))
    assert call("predict -m pos.trellis", "the DT\ndog XX\n").err == ""  # gold labels indeed
    refused(call("predict -m pos.trellis", "the dog ran\n"), "3 columns", "--text")


# ------------------------------------------------------------ small things


def test_no_command_at_all_shows_help(call: Any) -> None:
    done = call("")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: trellis")
    assert "calibrate" in done.err
    assert "trellis: " not in done.err


@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "calibrate", "explain", "info", "dump"])
def test_help(call: Any, name: str) -> None:
    done = call(f"{name} --help")
    assert (done.code, done.err) == (0, "")
    assert f"  trellis {name} " in done.out  # an example
    assert done.out.startswith(f"usage: trellis {name} ")
    assert "None" not in done.out.replace("=None", "")


def test_help_says_what_there_is_to_choose_from(call: Any) -> None:
    shown = call("train --help").out
    assert "(default: MIRA())" in " ".join(shown.split())
    assert all(name in shown for name in ("kernel-perceptron", "tolerance=1e-05", "c2=1.0"))
    assert "--vertical N" not in shown
    assert "--vertical N" in call("train --task trees --help").out
    shown = call("calibrate --help").out
    assert "file for the calibrated model" in shown


def test_the_model_is_named_alike_everywhere(chunk: Path, call: Any) -> None:
    for line in ("info", "explain the/DT", "draw the/DT", "dump", "predict test.txt", "evaluate test.txt"):
        assert call(f"{line} -m chunk.trellis").out == call(f"{line} --model chunk.trellis").out != "", line
    refused(call("explain"), "--model")
    refused(call("info"), "--model")
    refused(call("info chunk.trellis"), "--model")


def test_explain_hints_at_quotes(words: Path, call: Any) -> None:
    done = call("explain -m pos.trellis the dog")
    assert done.err == ""
    done = call(["explain", "-m", "pos.trellis", "the dog ran"])
    assert done.code == 0
    assert done.err.startswith("'the dog ran' is read as one token")


def test_long_histories_are_cut(here: Path, call: Any) -> None:
    assert call(f"train {TRAIN} --epochs 30 --model m -q").code == 0
    shown = call("info -m m").out
    assert "last 5 of 30 epochs" in shown
    assert shown.count("\nepoch ") == 5
    assert "epoch 30 of 30," in shown
    assert call("info -m m --history").out.count("\nepoch ") == 30
    assert len(json.loads(call("info -m m --json").out)["training"]["history"]) == 30


def test_epochs_mean_something_to_every_learner(here: Path, call: Any) -> None:
    for learner in ("crf", "maxent", "perceptron", "boost"):
        line = f"train {TRAIN.replace('perceptron', learner)} --epochs 2 --model m --json -q"
        done = call(line if learner != "maxent" else line.replace("--order 1", ""))
        assert done.code == 0, done.err
        assert len(json.loads(done.out)["history"]) == 2
    refused(call(f"train {TRAIN.replace('perceptron', 'hmm')} --epochs 2 --model m -q"), "no parameter 'epochs'")


def test_columns_of_conllu_under_other_names(tmp_path: Path, call: Any) -> None:
    trellis.train([[("Ann", "PROPN"), ("slept", "VERB")]]).save(tmp_path / "m")
    path = tmp_path / "a.conllu"
    path.write_text("# text\n1\tAnn\tAnn\tPROPN\t_\t_\t2\tnsubj\t_\t_\n2\tslept\tsleep\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    command = f"evaluate -m {tmp_path}/m {path}"
    refused(call(command), "no column 'word'; the columns are id, form, ", "read the file with --columns word=form,...")
    report = trellis.load(tmp_path / "m").evaluate(trellis.read(path, columns="word=form,label=upos"))
    assert call(f"{command} --columns word=form,label=upos").out == f"{report}\n"
    refused(call(f"predict -m {tmp_path}/m {path}"), "CoNLL-U has no column 'label'")
    assert call(f"predict -m {tmp_path}/m {path} --columns word=form").out == "Ann\tPROPN\nslept\tVERB\n\n"
