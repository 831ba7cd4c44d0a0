"""The command line on small files: what it writes, what it says, with which code it leaves."""

from __future__ import annotations

import gzip
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import COLUMNS, TRAIN, UPOS, Done, conllu, parser_of, refused, shell

import trellis
from trellis.interfaces.cli import pieces
from trellis.interfaces.cli.main import COMMANDS


def test_lines_of_the_documentation(here: Path) -> None:
    done = shell(
        "trellis train train.txt --columns word,pos,chunk --target chunk --features chunking "
        "--learner perceptron --order 1 --epochs 10 --model chunk.trellis"
    )
    assert done.returncode == 0
    assert done.stdout == ""
    assert sum("epoch" in line for line in done.stderr.splitlines()) == 10
    assert shell("trellis predict --model chunk.trellis < test.txt > tagged.txt").returncode == 0
    first = (here / "tagged.txt").read_text().splitlines()[0]
    assert first == "the DT B-NP B-NP"
    report = json.loads(shell("trellis evaluate --model chunk.trellis test.txt --json").stdout)
    assert report["rows"]["NP"]["f1"] == 1
    done = shell("trellis train en_ewt-ud-train.conllu.gz --target upos --dev en_ewt-ud-dev.conllu --model pos.trellis")
    assert done.returncode == 0
    assert "dev 100.00 (best)" in done.stderr


def test_version_imports_nothing_slow() -> None:
    code = (
        "import sys; sys.argv = ['trellis', '--version']; from trellis.__main__ import main; main(); "
        "assert not {'argparse', 'numpy', 'trellis.interfaces.cli'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"trellis {trellis.__version__}\n", "")
    done = subprocess.run([sys.executable, "-m", "trellis", "--version"], capture_output=True, text=True)
    assert done.stdout == f"trellis {trellis.__version__}\n"


def test_help_and_unknown_words(call) -> None:
    assert all(name in call("--help").out for name in ("train", "predict", "evaluate", "info", "dump"))
    assert call("nosuch").code == 2
    assert call("predict --nosuch").code == 2
    assert call("--version").out == f"trellis {trellis.__version__}\n"


def test_tag_with_and_without_the_target(chunk: Path, call) -> None:
    with_target = call("predict -m chunk.trellis test.txt").out
    assert with_target.splitlines()[:2] == ["the DT B-NP B-NP", "dog NN I-NP I-NP"]
    without = call(
        "predict -m chunk.trellis", given=COLUMNS.replace(" B-NP", "").replace(" I-NP", "").replace(" B-VP", "")
    )
    assert without.out == COLUMNS
    refused(call("predict -m chunk.trellis", given="a b c d\n"), "<stdin>", "4 columns", "word, pos, chunk")
    refused(call("predict -m chunk.trellis", given="a\n"), "1 column,", "--columns")
    done = call("predict -m chunk.trellis --columns x,word,y,pos", given="0 the 0 DT\n0 dog 0 NN\n0 sees 0 VB\n")
    assert done.out == "0 the 0 DT B-NP\n0 dog 0 NN I-NP\n0 sees 0 VB B-VP\n"


def test_a_file_with_only_what_the_model_reads(here: Path, call) -> None:
    assert call("train train.txt --model m --quiet").code == 0  # the words alone are read
    assert call("predict -m m", given="the\ndog\n").out == "the B-NP\ndog I-NP\n"


def test_tag_fills_conllu_in_place(here: Path, call) -> None:
    assert call("train en_ewt-ud-train.conllu.gz --model pos.trellis -q").code == 0  # upos is the default
    for text in (UPOS, conllu({}), "\ufeff" + UPOS.replace("\n", "\r\n")):
        expected = UPOS if "\r" not in text else text
        assert call("predict -m pos.trellis", given=text).out == expected
    refused(call("predict -m pos.trellis --kbest 2", given=UPOS), "--json")
    refused(call("predict -m pos.trellis --columns a,b", given=UPOS), "--columns")
    assert "token accuracy" in call("evaluate -m pos.trellis en_ewt-ud-dev.conllu").out.splitlines()[-2]
    assert call("predict -m pos.trellis --format conll", given="the\n").out == "the DET\n"


def test_conllu_has_no_place_for_other_targets(here: Path, call) -> None:
    assert call("train train.txt --columns form,upos,chunk --target chunk --model c -q").code == 0
    refused(call("predict -m c en_ewt-ud-dev.conllu"), "no column 'chunk'")
    assert json.loads(call("predict -m c en_ewt-ud-dev.conllu --json").out.splitlines()[0])["labels"][0] == "B-NP"


def test_tabs_and_comments_are_remembered(here: Path, call) -> None:
    rows = "# one\n" + COLUMNS.replace(" ", "\t").replace("dog", "hot dog")
    (here / "train.tsv").write_text(rows)
    assert call("train train.tsv --comments --model m -q --learner perceptron --no-shuffle").code == 0
    assert call("predict -m m", given="# x\nhot dog\tNN\n").out == "# x\nhot dog\tNN\tI-NP\n"
    assert call("predict -m m", given="hot dog\n").out == "hot dog\tI-NP\n"
    refused(call("predict -m m --no-tabs", given="a b c d\n"), "4 columns")


def test_kbest(chunk: Path, call) -> None:
    refused(call("predict -m chunk.trellis --kbest 4", given="the DT\n\n"), "--kbest", "--json")
    record = json.loads(call("predict -m chunk.trellis --kbest 2 --json", given="the DT\ndog NN\nsees VB\n").out)
    assert record["kbest"][0]["labels"] == ["B-NP", "I-NP", "B-VP"]
    assert record["kbest"][0]["score"] > record["kbest"][1]["score"]
    assert call("predict -m chunk.trellis --kbest 0").code == 2


def test_streaming_is_the_same_as_whole(chunk: Path, call, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = call("predict -m chunk.trellis test.txt").out
    for piece_bytes in (1, 7, 64, 1000):
        monkeypatch.setattr(pieces, "PIECE_BYTES", piece_bytes)
        for options in ("", "--decode viterbi"):
            assert call(f"predict -m chunk.trellis test.txt --threads 2 {options}").out == whole


def test_a_pipe_is_answered_before_it_ends(chunk: Path) -> None:
    command = [sys.executable, "-m", "trellis", "predict", "-m", "chunk.trellis"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in (b"the DT\n\nthe DT\n", b"\n"):  # until the blank line comes, the sentence may yet go on
            process.stdin.write(text)
            process.stdin.flush()
            answered = select.select([process.stdout], [], [], 60)[0]
            if not answered:
                process.kill()
            assert answered
            assert os.read(process.stdout.fileno(), 1000) == b"the DT B-VP\n\n"
        assert process.communicate(b"the DT")[0] == b"the DT B-VP"


def test_only_what_is_needed_is_imported(chunk: Path) -> None:
    slow = "import sys, trellis.__main__ as m; sys.argv[1:] = 'predict -m chunk.trellis test.txt'.split(); m.main()"
    unused = "matplotlib pyarrow rich typer concurrent.futures "
    unused += "trellis.tasks.tagging.train trellis.tasks.tagging.training trellis.learners trellis.engine.kernels"
    watched = f"set(sys.modules) & set({unused.split()})"
    code = f"import atexit, sys; atexit.register(lambda: print({watched})); {slow}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("\nset()\n")


def test_a_command_starts_no_threads_of_linear_algebra(chunk: Path) -> None:
    code = (
        "import os, sys, trellis.__main__ as m; sys.argv[1:] = 'predict -m chunk.trellis -q test.txt'.split(); m.main()"
    )
    watched = "len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 1"
    before = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", f"import atexit, os; atexit.register(lambda: print({watched})); {code}"],
        capture_output=True,
        text=True,
        env=before,
    )
    assert done.stdout.endswith("\n1\n")


def test_output_file(chunk: Path, here: Path, call) -> None:
    assert call("predict -m chunk.trellis test.txt --output out.txt").out == ""
    assert (here / "out.txt").read_text() == call("predict -m chunk.trellis test.txt").out
    assert call("predict -m chunk.trellis test.txt -o out.gz").code == 0
    assert gzip.decompress((here / "out.gz").read_bytes()) == (here / "out.txt").read_bytes()
    assert call("predict -m chunk.trellis test.txt --output /dev/null").code == 0
    assert call("predict -m chunk.trellis test.txt --output -").out == (here / "out.txt").read_text()
    assert not Path("/dev/null").is_file()


def test_nothing_changes_when_tagging_fails(chunk: Path, here: Path, call, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "out.txt").write_text("precious\n")
    (here / "bad.txt").write_text(COLUMNS + "the DT\n")
    monkeypatch.setattr(pieces, "PIECE_BYTES", 16)
    before = sorted(here.iterdir())
    line = COLUMNS.count("\n") + 1
    refused(call("predict -m chunk.trellis bad.txt --output out.txt"), f"bad.txt:{line}: 2 fields", "word, pos, chunk")
    assert (here / "out.txt").read_text() == "precious\n"
    assert sorted(here.iterdir()) == before


def test_jsonl_and_tables(chunk: Path, here: Path, call) -> None:
    (here / "in.jsonl").write_text('{"word": ["the", "dog", "sees"], "pos": ["DT", "NN", "VB"]}\n')
    done = call("predict -m chunk.trellis in.jsonl")
    assert json.loads(done.out)["chunk"] == ["B-NP", "I-NP", "B-VP"]
    assert json.loads(call("predict -m chunk.trellis in.jsonl --json").out) == {
        "word": ["the", "dog", "sees"],
        "pos": ["DT", "NN", "VB"],
        "labels": ["B-NP", "I-NP", "B-VP"],
    }
    trellis.write(trellis.read("in.jsonl"), "in.parquet")
    refused(call("predict -m chunk.trellis in.parquet"), "--output")
    assert call("predict -m chunk.trellis in.parquet --output out.parquet").code == 0
    assert trellis.read("out.parquet").sentences("chunk") == [["B-NP", "I-NP", "B-VP"]]
    assert call("predict -m chunk.trellis in.parquet --output out.txt").code == 0
    assert [line.split()[-1] for line in Path("out.txt").read_text().splitlines() if line] == ["B-NP", "I-NP", "B-VP"]
    refused(call("predict -m chunk.trellis in.jsonl --kbest 2"), "--json")
    refused(call("predict -m chunk.trellis in.jsonl --format xml"), "--format", "'xml'", "conllu")


def test_evaluate_two_columns(here: Path, call) -> None:
    (here / "tagged.txt").write_text("a B-NP B-NP\nb O B-VP\n\n")
    (here / "gold.txt").write_text("a B-NP\nb O\n\n")
    done = call("evaluate --gold gold.txt --predicted tagged.txt")
    assert "column 'label' compared with the gold labels in column 'label'" in done.err
    assert done.out.splitlines()[-2].split() == ["token", "accuracy", "50.00", "2"]
    assert call("evaluate --gold tagged.txt --predicted tagged.txt").out == done.out
    figures = json.loads(call("evaluate --gold gold.txt --predicted tagged.txt --json").out)
    assert figures["token_accuracy"] == figures["micro_avg"]["precision"] == 0.5
    refused(call("evaluate --gold tagged.txt --predicted tagged.txt --target label"), "compared with itself")
    (here / "words.txt").write_text("a\n")
    refused(call("evaluate words.txt"), "--model")
    refused(call("evaluate --gold words.txt --predicted words.txt"), "compared with itself")
    refused(
        call("evaluate --gold tagged.txt --predicted words.txt"),
        "words.txt: the sentences differ from those of tagged.txt",
    )
    refused(call("evaluate --gold tagged.txt --predicted gold.txt --calibration"), "--calibration requires --model")


def test_evaluate_needs_the_target(chunk: Path, here: Path, call) -> None:
    (here / "short.txt").write_text("the DT\n")
    refused(call("evaluate -m chunk.trellis short.txt"), "no column 'chunk'", "word, pos")
    refused(
        call("evaluate -m chunk.trellis test.txt --predicted test.txt"),
        "give --model and a file with gold outputs, or the files --gold and --predicted",
    )


def test_info(chunk: Path, call) -> None:
    facts = json.loads(call("info -m chunk.trellis --json --top 5").out)
    assert facts["summary"]["target"] == "chunk"
    assert facts["labels"] == ["B-NP", "I-NP", "B-VP"]
    assert "word[-1] & word[0]" in facts["templates"]
    assert len(facts["top_features"]) == 5
    assert facts["training"]["corpus"]["columns"] == ["word", "pos", "chunk"]
    assert len(facts["training"]["history"]) == 5
    assert facts["bytes"] == chunk.stat().st_size
    shown = call("info -m chunk.trellis").out
    assert all(
        word in shown for word in ("tagger", "word pos", "epochs=5", "largest weights", "epoch 5", trellis.__version__)
    )


def test_weights_have_the_names_of_their_features(here: Path, call) -> None:
    (here / "templates.txt").write_text(
        "bias\nis_first\nsuffix(word[0], 2)\nword[-1]\nshared: word[1]\nshared: word[2]\nlabel[-1] & pos[0]\n"
        + " & ".join(f"word[{i}]" for i in range(-12, 13))
    )
    assert call("train train.txt --columns word,pos,chunk --features templates.txt --order 2 -m m -q").code == 0
    tagger = trellis.load("m")
    facts = json.loads(call("info -m m --json --top 100000").out)
    assert len(facts["top_features"]) == facts["summary"]["weights"]
    names = {weight["feature"] for weight in facts["top_features"]}
    assert {"is_first", "suffix(word[0], 2)=og", "word[-1]=_B-1"} <= names
    assert any(name.startswith("shared: word[1]=") for name in names)
    assert any(name.count("&") == 24 and name.endswith("=_B+12") for name in names)
    # A score is the sum of the weights of the features by their names.
    weight = {(w["feature"], w["label"]): w["weight"] for w in facts["top_features"]}
    features = [
        ("bias", "B-NP"),
        ("is_first", "B-NP"),
        ("suffix(word[0], 2)=he", "B-NP"),
        ("word[-1]=_B-1", "B-NP"),
    ]
    features += [
        ("shared: word[1]=_B+1", "B-NP"),
        ("shared: word[1]=_B+2", "B-NP"),
        ("label[-1]", "<start> B-NP"),
    ]
    features += [("label[-1] & pos[0]=DT", "<start> B-NP"), ("label[-2..-1]", "<start> <start> B-NP")]
    score = tagger.score({"word": ["the"], "pos": ["DT"]}, ["B-NP"])
    assert sum(weight.get(feature, 0.0) for feature in features) == pytest.approx(score, rel=1e-4)


def test_conjunctions_too_long_for_one_key_stay_exact(here: Path, call) -> None:
    # The last label hangs on the first word, which the key of the conjunction holds only through a fold.
    sentences = [[f"w{i}", *["x"] * 11, "y"] for i in range(40)]
    labels = [[*["O"] * 12, "AB"[i % 2]] for i in range(40)]
    trellis.write(trellis.read({"word": sentences, "label": labels}), "long.txt")
    (here / "templates.txt").write_text("bias\n" + " & ".join(f"word[{i}]" for i in range(-12, 1)))
    assert call("train long.txt --features templates.txt --order 0 --no-average -m m -q").code == 0
    assert json.loads(call("evaluate -m m long.txt --json").out)["token_accuracy"] == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train nosuch.txt --model m", ["nosuch.txt: no such file"]),
        (f"train {TRAIN.replace('--target chunk', '--target ner')} --model m", ["no column 'ner'"]),
        ("train short.txt --model m", ["short.txt:2: 2 fields"]),
        ("train train.txt --features nosuch --model m", ["nosuch", "presets"]),
        ("train train.txt --learner nosuch --model m", ["--learner", "'nosuch'", "perceptron"]),
        ("train train.txt --set nosuch=1 --model m", ["no parameter 'nosuch'", "epochs"]),
        ("train train.txt --set epochs=many --model m", ["epochs must be a whole number"]),
        ("train train.txt --set average=maybe --model m", ["average must be True or False, not 'maybe'"]),
        ("train train.txt --set epochs --model m", ["key=value"]),
        (
            "train train.txt --task structured --model m",
            ["structured models are trained on Python objects, not on files; see StructuredModel"],
        ),
        ("train train.txt --set =3 --model m", ["no parameter ''"]),
        ("train train.txt --model m --checkpoint nosuch/c", ["nosuch/c", "no such folder"]),
        ("train train.txt --model m --checkpoint ./m", ["--checkpoint", "same file"]),
        ("train train.txt --model m.svg --plot m.svg", ["--plot", "same file"]),
        ("evaluate --model chunk.trellis /dev/null", ["/dev/null: no tokens"]),
        ("train train.txt --set epochs=1 --epochs 2 --model m", ["given twice"]),
        ("train train.txt --epochs 0 --model m", ["epochs must be a whole number of at least 1"]),
        ("train train.txt --order 100 --model m", ["order must be"]),
        ("train train.txt --pairs some --model m", ["--pairs", "'seen'"]),
        ("train train.txt --format xml --model m", ["--format", "'xml'", "conllu"]),
        ("train train.txt --dev short.txt --model m", ["short.txt:2"]),
        ("train train.txt --model nosuch/m", ["nosuch/m", "no such folder"]),
        ("train train.txt --model .", ["not a regular file"]),
        ("predict --model nosuch test.txt", ["nosuch: no such file"]),
        ("predict --model train.txt test.txt", ["train.txt: not a trellis model"]),
        ("predict --model chunk.trellis nosuch.txt", ["nosuch.txt: no such file"]),
        ("predict --model chunk.trellis test.txt --output nosuch/out", ["nosuch/out: cannot be written"]),
        ("info -m damaged", ["damaged"]),
        ("info -m .", ["folder"]),
    ],
)
def test_errors_are_one_line(chunk: Path, here: Path, call, line: str, words: list[str]) -> None:
    (here / "short.txt").write_text("a b c\na b\n")
    content = bytearray(chunk.read_bytes())
    content[-1] ^= 1
    (here / "damaged").write_bytes(content)
    before = sorted(here.iterdir())
    refused(call(f"{line} --quiet" if line.startswith("t") else line), *words)
    assert sorted(here.iterdir()) == before


def test_smoothed_tag_dictionary(here: Path, call) -> None:
    assert call(f"train {TRAIN} --tag-dictionary smoothed --set epochs=1 --model m --quiet").err == ""
    assert trellis.load("m").model.endings is not None
    refused(call(f"train {TRAIN} --tag-dictionary smooth --model n"), "--tag-dictionary", "smooth")


def test_train_options(here: Path, call) -> None:
    line = f"train {TRAIN} --no-average --shuffle --seed 3 --min-count 2 --pairs seen"
    done = call(f"{line} --tag-dictionary 2 --threads 1 --set epochs=3 --dev test.txt --model m --json --quiet")
    assert done.err == ""
    facts = json.loads(done.out)
    assert [entry["dev_score"] for entry in facts["history"]][-1] == 1
    record = trellis.load("m").training
    assert record["learner"] == {
        "name": "Perceptron",
        "epochs": 3,
        "average": False,
        "vote": False,
        "shuffle": True,
        "seed": 3,
        "batch": 1,
        "shards": 1,
    }
    assert (record["options"]["min_count"], record["options"]["pairs"]) == (2, "seen")
    assert call("train - --model m2 --quiet", given=COLUMNS).code == 0
    assert call("predict --model m2", given="the DT\n").out == "the DT B-NP\n"


def test_a_closed_pipe_is_no_error(chunk: Path, here: Path) -> None:
    (here / "long.txt").write_text(COLUMNS * 2000)
    done = shell("trellis predict -m chunk.trellis long.txt | head -n 1")
    assert done.stdout == "the DT B-NP B-NP\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(call: Any, chunk: Path) -> None:
    done = shell("trellis predict -m chunk.trellis test.txt > /dev/full")
    refused(Done(done.returncode, done.stdout, done.stderr), "No space left")
    refused(call("predict -m chunk.trellis test.txt --output /dev/full"), "/dev/full: cannot be written: No space left")


@pytest.mark.usefixtures("control_c")
def test_interrupt(chunk: Path, here: Path) -> None:
    before = sorted(here.iterdir())
    command = [sys.executable, "-m", "trellis", "predict", "-m", "chunk.trellis", "-o", "out.txt"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 20
        # Until its temporary file is there.
        while sorted(here.iterdir()) == before and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err == "trellis: interrupted\n"
    assert sorted(here.iterdir()) == before


# ------------------------------------------------------------ training, more of it


def test_a_model_never_replaces_what_is_read(here: Path, call: Any) -> None:
    done = call("train train.txt --model train.txt")
    assert done.code == 2
    assert "would overwrite train.txt" in done.err
    assert (here / "train.txt").read_text() == COLUMNS


def test_two_files_of_conllu(here: Path, call: Any) -> None:
    (here / "other.conllu").write_text(UPOS.replace("VERB", "NOUN"))
    done = call("evaluate --gold en_ewt-ud-dev.conllu --predicted other.conllu --json")  # upos is the default
    assert json.loads(done.out)["token_accuracy"] == pytest.approx(2 / 3)
    done = call("evaluate --gold en_ewt-ud-dev.conllu --predicted other.conllu --target form --json")
    assert json.loads(done.out)["token_accuracy"] == 1


def test_going_on_from_a_model_and_plotting(here: Path, call: Any) -> None:
    assert call(f"train {TRAIN} --epochs 2 --model first --plot curve.svg --quiet").code == 0
    assert "<svg" in (here / "curve.svg").read_text()
    done = call("train train.txt --columns word,pos,chunk --init first --epochs 1 --model second --json --quiet")
    assert done.code == 0, done.err
    assert json.loads(done.out)["history"][0]["violations"] == 0


def test_a_checkpoint_is_taken_up(here: Path, call: Any) -> None:
    line = f"train {TRAIN} --epochs 4 --checkpoint c --quiet --model"
    assert call(f"{line} one").code == 0
    assert call(f"{line} two").code == 0  # all epochs are there already
    assert (here / "one").read_bytes() == (here / "two").read_bytes()
    assert call(f"train {TRAIN} --epochs 5 --checkpoint c --quiet --model three").code == 0
    assert call(f"train {TRAIN} --epochs 5 --quiet --model four").code == 0
    assert (here / "three").read_bytes() == (here / "four").read_bytes()
    done = call(f"train {TRAIN} --epochs 5 --order 2 --checkpoint c --quiet --model five")
    assert done.code == 2
    assert "another training" in done.err


def test_partial_labels(here: Path, call: Any) -> None:
    (here / "partial.tsv").write_text("the\tD\ndog\t\n\na\tD|X\n")
    assert "no label" in call("train partial.tsv --model m").err
    assert call("train partial.tsv --partial --model m --quiet").code == 0


@pytest.mark.usefixtures("control_c")
def test_interrupted_training_keeps_the_best_model(here: Path) -> None:
    command = [sys.executable, "-m", "trellis", "train", "train.txt", "--epochs", "1000000", "--model", "m"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "epoch 3 of" in line:
                break
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(30) == 0
    assert "training stops after epoch " in said
    assert trellis.load(here / "m").tag(["the", "dog"])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--foo", "unknown option --foo"),
        ("tran x", "unknown command tran (did you mean `train`?)"),
        ("cross-valdiate x", "did you mean `cross-validate`?"),
        ("zzz", "unknown command zzz; the commands are train, predict"),
        ("train x --task prase --model m", "--task: invalid choice: 'prase'"),
        (
            "train train.txt --model m --prune abc",
            "argument --prune: must be SHARE[,SHARE], not 'abc'",
        ),
        (
            "train train.txt --model m --label-weights PER=x",
            "argument --label-weights: must be LABEL=NUMBER, not 'PER=x'",
        ),
        ("train", "required: FILE, --model/-m"),
        ("train train.txt --mod m", "--model"),
        ("evaluate --model m a b", "b"),
        ("train train.txt --model m --epochs abc", "--epochs"),
        ("predict --model m --kbest 0", "--kbest"),
    ],
)
def test_usage_is_told_in_one_line(line: str, why: str, here: Path, call: Any) -> None:
    refused(call(line), why, "--help")


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_shows_what_is_required(name: str, call: Any) -> None:
    """An argument in brackets may be left out; one without must be given."""
    usage = call([*name.split(), "--help"]).out.splitlines()[0].replace("[options]", "")
    named = set(re.findall(r"[A-Z]+", re.sub(r"\[.*?\]|--\w+ [A-Z]+", "", usage)))
    parser, options = parser_of(name), list[str]()
    for action in parser._actions:
        options += [action.option_strings[0], "x"] if action.option_strings and action.required else []
    try:
        parser.parse(options)
    except trellis.ArgumentError as error:
        message = str(error)
    else:
        message = ""
    required = set(re.findall(r"\b[A-Z]+\b", message.partition("required: ")[2]))
    assert named == required


def test_closed_standard_input(chunk: Path) -> None:
    done = shell("trellis predict --model chunk.trellis <&-")
    assert done.returncode == 2
    assert done.stderr == "trellis: <stdin>: standard input is closed; give a file\n"


def test_a_note_is_kept(here: Path, call) -> None:
    assert call(f"train {TRAIN} --model m --quiet --note second-try").code == 0
    assert trellis.load("m").info["note"] == "second-try"
    assert "note          second-try" in call("info -m m").out


# ------------------------------------------------------------ what a terminal would obey

ESCAPE = "\x1b]0;mine\x07"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("info -m m", 0),
        ("dump -m m", 0),
        (f"explain -m m {ESCAPE}a", 0),
        ("evaluate --model m data.txt --error-analysis", 0),
        (f"explain --model t {ESCAPE}a", 0),
        ("train data.txt --columns word,label --model out", 0),
        (f"predict --model {ESCAPE} data.txt", 2),
        (f"train data.txt --columns word,label --target {ESCAPE} --model out", 2),
        (f"train {ESCAPE}.txt --model out", 2),
        (f"{ESCAPE} x", 2),
        (f"info -m m --{ESCAPE}", 2),
    ],
)
def test_control_characters_are_shown_not_sent(line: str, code: int, here: Path, call: Callable[..., Done]) -> None:
    (here / "data.txt").write_text(f"{ESCAPE}a {ESCAPE}X\nb Y\n\n")
    (here / "words.txt").write_text(f"{ESCAPE}\n")
    (here / "t.trees").write_text("(TOP (S (NP (DT the) (NN dog)) (VP (VBD ran))))\n")
    if " m " in f"{line} ":
        assert call("train data.txt --columns word,label --model m --quiet").code == 0
    if " t " in line:
        assert call("train --task trees t.trees --set epochs=1 --model t --quiet").code == 0
    done = call(line)
    assert done.code == code
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err
    assert ("\\x1b]0;mine" in done.out + done.err) == (line.split()[0] != "train" or code == 2)


def test_columns_and_json_keep_control_characters(here: Path, call: Callable[..., Done]) -> None:
    label = "\x1b\x9bX"
    (here / "data.txt").write_text(f"a {label}\n\n")
    assert call("train data.txt --columns word,label --model m --quiet").code == 0
    assert call("predict --model m data.txt").out.split("\n")[0] == f"a {label} {label}"
    assert json.loads(call("info -m m --json").out)["labels"] == [label]
    assert label in call("explain -m m a --json").out.replace("\\u001b", "\x1b")


def test_columns_that_no_feature_reads_are_told(here: Path, call: Callable[..., Done]) -> None:
    said = "column 2 of train.txt not used (pos)"
    assert said in call("train train.txt --epochs 1 --model m").err
    assert said not in call("train train.txt --epochs 1 --model m --features chunking").err
    assert said not in call("train train.txt --epochs 1 --model m --columns word,pos,chunk").err
    assert call("train train.txt --epochs 1 --model m --quiet").err == ""


def test_a_log_of_many_epochs_is_short(here: Path, call: Callable[..., Done]) -> None:
    line = "train train.txt --columns word,pos,chunk --learner perceptron --model m --epochs"
    lines = [text for text in call(f"{line} 300").err.splitlines() if "epoch" in text]
    assert len(lines) < 40
    assert [text.split(",")[0] for text in lines[:2]] == ["training: epoch 1 of 300", "training: epoch 2 of 300"]
    assert lines[-1].startswith("training: epoch 300 of 300")
    assert sum("epoch" in text for text in call(f"{line} 15").err.splitlines()) == 15
