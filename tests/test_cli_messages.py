"""What the command line says of mistakes: in its own words, naming the file, the option or the learner."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, refused
from kinds import DECLARED, Kind, model_of
from test_cli_parsing import TREES

import trellis
from trellis.interfaces.cli.files import load_any
from trellis.learners import LEARNERS

Call = Callable[..., Done]
WITH_FILES = [kind for kind in DECLARED if kind.file[1]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("predict --modle m test.txt", ["unknown option --modle (did you mean `--model`?)"]),
        ("train train.txt --modle m", ["unknown option --modle (did you mean `--model`?)"]),
        ("train train.txt --vertical 2 -m m", ["--vertical", "--task trees"]),
        ("cross-validate train.txt --projective", ["--projective", "--task parse and --task pipeline"]),
        ("train train.txt --projective -m m", ["--projective", "--task parse and --task pipeline"]),
        ("train train.txt --c2 1 -m m", ["--set c2=VALUE", "crf"]),
        ("info --zzz -m m", ["unknown option --zzz; see trellis info --help"]),
        ("info -m m more", ["unexpected: more"]),
        ("train train.txt --patience 2 -m m -q", ["--patience needs a dev corpus: --dev"]),
        ("train train.txt --min-count -1 -m m", ["--min-count must be a whole number"]),
        ("train train.txt --learner crf --set solver=adagrad --set tolerance=1 -m m", ["--set solver=lbfgs"]),
        ("train train.txt --set epochs5 -m m", ["for example --set epochs=5"]),
        ("predict -m nomodel test.txt", ["nomodel: no such file; check the path"]),
        ("evaluate -m nomodel test.txt", ["nomodel: no such file; check the path"]),
    ],
)
def test_mistakes_are_told_in_the_words_of_the_command_line(
    here: Path, call: Call, line: str, words: list[str]
) -> None:
    refused(call(line), *words)


def test_arguments_of_tables_are_options(here: Path, call: Call) -> None:
    table, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(table.table({"word": ["a"], "label": ["A"]}), here / "rows.parquet")
    refused(call("train rows.parquet -m m -q"), "--sentence NAME, --columns NAMES")


def test_a_learner_that_trains_no_parsers_is_named_with_those_that_do(here: Path, call: Call) -> None:
    (here / "train.conllu").write_text(TREES)
    done = call("train --task parse train.conllu --learner hmm -m m -q")
    refused(done, "HMM does not train parsers; use ")
    names = re.split(", | or ", done.err.partition("use ")[2].strip())
    assert {*names} <= {*LEARNERS}
    for name in names:  # the advice works
        assert call(f"train --task parse train.conllu --learner {name} --set epochs=1 -m m -q").code == 0


@pytest.mark.parametrize("content", ["", "\n \n\n"], ids=["empty", "blank"])
@pytest.mark.parametrize("kind", WITH_FILES, ids=str)
def test_empty_files_are_told_alike_by_every_verb(
    kind: Kind, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    model_of(kind.name).save("model.trellis")
    name, read, task = f"empty{Path(kind.file[0]).suffix}", " ".join(kind.file_options), kind.model.task
    Path(name).write_text(content)
    for line in (
        f"train --task {task} {name} {read} -m out",
        f"cross-validate --task {task} {name} {read}",
        f"evaluate -m model.trellis {name} {read}",
        *([] if task == "pipeline" else [f"compare -m model.trellis -m model.trellis {name} {read}"]),
    ):
        done = call(line)
        assert (done.code, done.err) == (
            2,
            f"trellis: {name}: no tokens; the file must have at least one sentence\n",
        )
    for line in ("", "--json"):
        done = call(f"predict -m model.trellis {name} {read} {line}")
        assert (done.code, done.out.strip(), done.err) == (0, "", "")


def test_a_parser_explains_and_draws_sentences_of_conllu(here: Path, call: Call) -> None:
    (here / "train.conllu").write_text(TREES)
    assert call("train --task parse train.conllu --epochs 1 -m p -q").code == 0
    for verb in ("explain", "draw"):
        refused(call(f"{verb} -m p the dog"), "'the': the model reads ", "CoNLL-U file", "standard input")
        assert "conllu" in call(f"{verb} --help").out
        named, piped = call(f"{verb} -m p train.conllu"), call(f"{verb} -m p", TREES)
        assert (named.code, named.out) == (0, piped.out)
    assert call("draw -m p train.conllu").out.startswith("<svg")


def test_spaces_in_the_input_of_a_segmenter_are_warned_of_once(here: Path, call: Call) -> None:
    (here / "words.txt").write_text("ab c\nc ab\nab ab\n")
    assert call("train --task words words.txt -m w -q").code == 0
    done = call("predict -m w", "abc\nab c\nc ab\n")
    assert done.err.startswith("<stdin>:2: the text already has spaces")
    assert done.err.count("\n") == 1
    assert call("predict -m w -q", "ab c\n").err == call("predict -m w", "abc\n").err == ""
    assert call("evaluate -m w words.txt").err == ""  # spaces are taken out before it segments


def test_structured_files_are_known_by_their_format_line(tmp_path: Path) -> None:
    for kind in DECLARED:
        if kind.model is trellis.StructuredModel:
            model = model_of(kind.name)
            model.info["problem="] = "problem="  # no message is looked at
            model.save(tmp_path / "m")
            assert load_any(str(tmp_path / "m")).top_features() == model.top_features()
    (tmp_path / "m").write_bytes(b"\xff" * 100)
    with pytest.raises(trellis.ModelError, match="not a trellis model"):
        load_any(str(tmp_path / "m"))


def test_too_many_best_outputs_are_refused(here: Path, call: Call) -> None:
    assert call("train train.txt -m m -q --epochs 1").code == 0
    refused(call("predict -m m test.txt --json --kbest 99999999999"), "from 1 to 1000000, not 99999999999")
