"""Every option of every command is read or is an error. Commands and options come from the parsers themselves."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from command_line import COLUMNS, Done, call_within, parser_of
from test_cli_parsing import TREES
from test_cli_trees import TEXT

from trellis.interfaces.cli.main import COMMANDS
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cluster.workers import ThisProcess
from trellis.learning.workers import WorkersHere

CSV = "sentence,word,label\n1,the,DT\n1,dog,NN\n2,the,DT\n2,cat,NN\n3,a,DT\n3,cat,NN\n"
HASH = "# SYM O\n\n"  # a token, or a comment
HEADS = "heads.tsv --columns word,pos,head"
CHUNKS = "train.txt --columns word,pos,chunk --features templates.txt"
WORDS = "a dog sees\nthe cat likes\n"

# Command lines that work, of every command, and one for each kind of file that a command treats in its own way; of
# commands whose options depend on the task, those of every task. Names of files that are written begin with "out".
LINES = {
    "train": [
        f"{CHUNKS} --model out.m",
        "train.conllu --model out.m",
        "test.csv --model out.m",
        "test.csv --stream --model out.m",
    ],
    "train --task parse": ["train.conllu --model out.m", f"{HEADS} --model out.m", "heads.csv --model out.m"],
    "train --task trees": ["train.trees --model out.m", "bad.trees --lenient --model out.m"],
    "train --task words": ["text.txt --model out.m", "latin1.txt --lenient --model out.m"],
    "train --task rerank": [
        f"{CHUNKS} --model out.m --kbest 3 --reranker-folds 2",
        "test.csv --model out.m --reranker-folds 2",
    ],
    "predict": [
        *("--model chunk.m test.txt", "--model word.m text.txt --text", "--model word.m test.csv", "text.txt --text"),
        *("--model chunk.rerank test.txt", "--model word.rerank test.csv", "--model word.rerank text.txt --text"),
        *("--model p.parser train.conllu", "--model heads.parser heads.tsv", "--model heads.parser heads.csv"),
        *("--model trees.m train.trees", "--model trees.m bad.trees --lenient", "--model trees.m text.txt --text"),
        *("--model trees.m test.txt --columns word,pos,chunk", "--model trees.m test.csv"),
        *("--model words.m text.txt", "--model words.m latin1.txt --lenient", "--model words.m text.txt --json"),
    ],
    "evaluate": [
        *("--model chunk.m test.txt", "--gold test.txt --predicted tagged.txt", "test.csv --model word.m"),
        *("--model chunk.rerank test.txt", "--model word.rerank test.csv"),
        *("--model p.parser train.conllu", "--model heads.parser heads.csv"),
        *("--task parse --predicted train.conllu --gold train.conllu", "--model trees.m train.trees"),
        *("--gold train.trees --predicted train.trees", "--model trees.m bad.trees --lenient"),
        *("--model words.m text.txt", "--model words.m latin1.txt --lenient"),
        "--task words --gold text.txt --predicted text.txt",
    ],
    "cross-validate": [f"{CHUNKS} --folds 2", "test.csv --folds 2"],
    "cross-validate --task parse": ["train.conllu --folds 2", "heads.csv --folds 2", f"{HEADS} --folds 3"],
    "cross-validate --task trees": ["train.trees --folds 2"],
    "cross-validate --task words": ["more.txt --folds 2"],
    "cross-validate --task rerank": [
        f"{CHUNKS} --folds 2 --reranker-folds 2 --kbest 3",
        "test.csv --folds 3 --reranker-folds 2",
    ],
    "compare": [
        *("--model chunk.m --model chunk.m test.txt", "--model word.m --model word.rerank test.csv"),
        *("--model p.parser --model p.parser train.conllu", "--model heads.parser --model heads.parser heads.csv"),
        *("--model trees.m --model trees.m train.trees", "--model words.m --model words.m text.txt"),
    ],
    "calibrate": ["--model chunk.m test.txt --output out.m", "--model word.m test.csv --output out.m"],
    "explain": [
        *("-m chunk.m the/DT dog/NN", "--model chunk.m", "--model word.m", "-m chunk.rerank the/DT dog/NN"),
        *("-m trees.m rain fell", "-m words.m adogsees", "-m heads.parser the/DT dog/NN", "-m p.parser train.conllu"),
    ],
    "draw": [
        *("--model chunk.m the/DT dog/NN", "-m trees.m rain fell", "-m heads.parser the/DT dog/NN"),
        *("--model chunk.m", "--model word.m", "-m p.parser train.conllu"),
    ],
    "report": ["--model chunk.m test.txt --output out.html", "--model word.m test.csv --output out.html"],
    "info": ["-m chunk.m", "-m p.parser", "-m trees.m", "-m words.m", "-m chunk.rerank"],
    "dump": ["-m chunk.m", "-m words.m", "-m chunk.rerank"],
    "convert": ["-m chunk.m -o out.m", "-m p.parser -o out.m"],
    "clusters": [
        *(
            "train.txt --output out.tsv --classes 2 --min-count 1",
            "test.csv --output out.tsv --classes 2 --min-count 1",
        ),
        "text.txt --words --output out.tsv --classes 2 --min-count 1",
    ],
    "serve": ["--model chunk.m --port 0"],
    "studio": ["-m chunk.m test.txt --port 0", "-m chunk.m --port 0", "-m word.m test.csv"],
    "learners": ["", "crf"],
    "features": ["", "chunking"],
    "completion": ["bash"],
}
# Values of options that are neither flags nor numbers nor have choices, with the options that they need; those of one
# command below.
VALUES = {
    "beam": "2 --order 3",
    "block": "1 --stream",
    "checkpoint": "out.checkpoint",
    "checkpoint_every": "2 --checkpoint out.checkpoint",
    "column": "word",
    "columns": "word,pos,chunk",
    "dev": "test.txt",
    "differences": "out.tsv",
    "errors": "out.tsv",
    "features": "default",
    "filter": "none",
    "format": "conll",
    "gold": "test.txt",
    "host": "localhost",
    "init": "word.m",
    "label_parts": "-",
    "label_weights": "B-NP=2",
    "learner": "perceptron",
    "longest": "3",
    "metric": "token --dev test.txt",
    "model": "chunk.m",
    "note": "mine",
    "output": "out.tsv",
    "patience": "2 --dev test.txt",
    "plot": "out.svg",
    "predicted": "test.txt",
    "prune": "0.9",
    "prune_weights": "0.5",
    "ray": "auto --workers 2 --output out.many/",
    "reranker": "perceptron",
    "reranker_features": "rank,types",
    "reranker_set": "epochs=2",
    "scheme": "iob2",
    "sentence": "sentence",
    "set": "epochs=2",
    "tag_dictionary": "1",
    "tagger": "word.m",
    "target": "chunk",
    "timeout": "9 --workers 2 --output out.many/",
    "title": "mine",
    "token_file": "token.txt",
    "workers": "2 --output out.many/",
    "draw --output": "out.svg",
    "evaluate --task": "tag",
    "predict --json": "",
    "train --task parse --dev": "train.conllu",
    "train --task parse --features": "ud",
    "train --task parse --init": "p.parser",
    "train --task parse --metric": "uas --dev train.conllu",
    "train --task parse --no-projective": "--order 1",
    "train --task parse --patience": "2 --dev train.conllu",
    "train --task parse --seed": "2 --shuffle",
    "train --task rerank --init": "chunk.rerank",
    "train --task trees --dev": "train.trees",
    "train --task trees --features": "rules",
    "train --task trees --init": "trees.m",
    "train --task trees --metric": "f1 --dev train.trees",
    "train --task trees --patience": "2 --dev train.trees",
    "train --task words --dev": "text.txt",
    "train --task words --features": "segmentation",
    "train --task words --init": "words.m",
    "train --task words --metric": "f1 --dev text.txt",
    "train --task words --patience": "2 --dev text.txt",
    "cross-validate --task parse --features": "ud",
    "cross-validate --task parse --no-projective": "--order 1",
    "cross-validate --task parse --seed": "2 --shuffle",
    "cross-validate --task trees --features": "rules",
    "cross-validate --task words --features": "segmentation",
    "cross-validate --task words --label-weights": "B=2",
    "train --task words --label-weights": "B=2",
    "train --ray": "auto --workers 2 --learner crf",
    "train --workers": "2 --learner crf",
}
# Without effect on any result: nothing to be quiet about, no bad line, nothing to be done at the same time. These are
# read in one line at least, all others in all lines that they are no error in.
HARMLESS = {"quiet", "lenient", "threads"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, and models of every kind."""
    folder = tmp_path_factory.mktemp("options")
    for name in ("train.txt", "test.txt"):
        (folder / name).write_text(HASH + COLUMNS)
    (folder / "test.csv").write_text(CSV)
    (folder / "heads.csv").write_text("sentence,word,pos,head\n1,the,DT,2\n1,dog,NN,0\n2,the,DT,2\n2,cat,NN,0\n")
    (folder / "bad.trees").write_text(f"{TEXT}(TOP (S\n")
    (folder / "latin1.txt").write_bytes(b"a dog sees\nthe cat likes\nthe \xe9\n")
    (folder / "far.txt").write_text("word[0]\nlabel[-2]\n")
    (folder / "text.txt").write_text(WORDS)
    (folder / "more.txt").write_text(f"{WORDS}i see a dog\nthe dog likes a cat\n")
    (folder / "tagged.txt").write_text((HASH + COLUMNS).replace("NP", "VP"))
    (folder / "train.conllu").write_text(TREES)
    (folder / "heads.tsv").write_text("#\tSYM\t0\n\nthe\tDT\t2\nhot dog\tNN\t0\n\nthe\tDT\t2\ncat\tNN\t0\n\n")
    (folder / "train.trees").write_text(TEXT)
    (folder / "templates.txt").write_text("word[0]\n")
    (folder / "token.txt").write_text("a-token-of-some-length")
    quick = "--epochs 1 --quiet"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            f"train {CHUNKS} --model chunk.m {quick}",
            f"train test.csv --features templates.txt --model word.m {quick}",
            f"train --task parse train.conllu --model p.parser {quick}",
            f"train --task parse {HEADS} --model heads.parser {quick}",
            "train --task trees train.trees --model trees.m --set epochs=1 --quiet",
            f"train --task rerank {CHUNKS} --model chunk.rerank --kbest 3 --reranker-folds 2 {quick}",
            f"train --task rerank test.csv --features templates.txt --model word.rerank --reranker-folds 2 {quick}",
            f"train --task words text.txt --model words.m {quick}",
        ):
            done = call_within(line)
            assert done.code == 0, (line, done.err)
    return folder


class Recorder(Namespace):
    """A namespace that knows which of its values were read."""

    def __init__(self, values: dict[str, object]) -> None:
        super().__init__(**values)
        object.__setattr__(self, "read", set())

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("__") and name != "read":
            object.__getattribute__(self, "read").add(name)
        return object.__getattribute__(self, name)


def settings_of(name: str) -> dict[str, list[list[str]]]:
    """The options of a command by the name of their value, each with the ways to give it."""
    found = dict[str, list[list[str]]]()
    for action in parser_of(name)._actions:
        if not action.option_strings or action.dest in ("help", "task"):
            continue
        option = action.option_strings[0]
        value = VALUES.get(f"{name} {option}", VALUES.get(action.dest))
        if action.nargs == 0:
            more = (VALUES.get(f"{name} {option}") or "").split()
            ways = [[option, *more] for option in action.option_strings if option.startswith("--")]
        elif value is not None:
            ways = [[option, *value.split()]]
        elif action.choices is not None:
            ways = [[option, str(choice)] for choice in action.choices if choice != action.default]
        else:
            assert action.type is not None, f"{name} {option}: give it a value in VALUES"
            ways = [[option, "2"]]
        if action.nargs == "?":
            ways.append([option])
        found[action.dest] = ways
    return found


Outcome = tuple[Done, set[str]]


class Here(ThisProcess, WorkersHere):
    """Workers of both kinds that are no processes."""


@pytest.fixture
def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Outcome]:
    """Run a command line; return its output files, and the names of the values that it read."""

    import trellis.interfaces.cluster.ray_workers
    import trellis.interfaces.serve.server
    import trellis.interfaces.studio.workbook

    monkeypatch.chdir(folder)
    records = list[Recorder]()
    parse = Parser.parse

    def recording(parser: Parser, arguments: list[str]) -> Namespace:
        records.append(Recorder(vars(parse(parser, arguments))))
        return records[-1]

    monkeypatch.setattr(Parser, "parse", recording)
    monkeypatch.setattr(trellis.interfaces.serve.server, "run", lambda *_, told, **__: told("127.0.0.1", 1))
    monkeypatch.setattr("webbrowser.open", lambda _: None)
    monkeypatch.setattr(trellis.interfaces.cluster.ray_workers, "connect", lambda *_: nullcontext(Here(2)))
    workbook = trellis.interfaces.studio.workbook.Workbook
    monkeypatch.setattr(
        trellis.interfaces.studio.workbook,
        "Workbook",
        lambda *args: (sys.stdout.write(str(list(args[1]))), workbook(*args))[1],
    )

    def run(arguments: list[str]) -> Outcome:
        records.clear()
        done = call_within(arguments, CSV if "word.m" in arguments else HASH + COLUMNS)
        for path in folder.glob("out*"):
            done.files[path.name] = path.read_bytes() if path.is_file() else b""
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return done, records[-1].read if records else set()

    return run


def unread(
    run: Callable[[list[str]], Outcome], line: list[str], *settings: tuple[str, list[str]]
) -> tuple[int, list[str]]:
    """The code of a command line with these options, and those that it did not read though it ended well."""
    done, read = run([*line, *itertools.chain(*(way for _, way in settings))])
    assert done.code in (0, 2), (line, settings, done.err)
    if done.code == 2:
        assert done.err.splitlines()[-1].startswith("trellis: ")
    return done.code, [] if done.code else [name for name, _ in settings if name not in read]


def test_every_command_has_lines() -> None:
    assert {name.split()[0] for name in LINES} == set(COMMANDS)


def lines_of(name: str) -> list[list[str]]:
    return [[*name.split(), *line.split()] for line in LINES[name]]


@pytest.mark.parametrize("name", LINES)
def test_every_option_is_read_or_refused(name: str, recorded: Callable[[list[str]], Outcome]) -> None:
    ignored, worked = list[str](), set[str]()
    for line in lines_of(name):
        done, read = recorded(line)
        assert done.code == 0, (line, done.err)
        for dest, ways in settings_of(name).items():
            for way in ways:
                if way[0] in line or (way[0] == "--model" and "-m" in line):
                    worked |= {dest} & read
                    continue
                code, names = unread(recorded, line, (dest, way))
                worked |= {dest} if code == 0 and not names else set()
                ignored += [f"{' '.join(line)}: {' '.join(way)}"] if names and dest not in HARMLESS else []
    assert "\n".join(ignored) == ""
    assert " ".join(set(settings_of(name)) - worked) == "", "always an error, or never read"


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_every_pair_of_options_is_read_or_refused(name: str, recorded: Callable[[list[str]], Outcome]) -> None:
    ignored = list[str]()
    for line in lines_of(name):
        single = [(dest, ways[-1]) for dest, ways in settings_of(name).items() if dest not in HARMLESS]
        works = [
            setting for setting in single if not set(setting[1]) & set(line) and not unread(recorded, line, setting)[0]
        ]
        for first, second in itertools.combinations(works, 2):
            if not any(word.startswith("-") and word in second[1] for word in first[1]):
                _, names = unread(recorded, line, first, second)
                ignored += (
                    [f"{' '.join(line)}: {' '.join((*first[1], *second[1]))}: {', '.join(names)}"] if names else []
                )
    assert "\n".join(ignored) == ""


# Each changes how the file is read, whatever the command: in tables, in column files.
TABLE = {"sentence": "label", "columns": "no,such", "format": "jsonl"}
PLAIN = {"comments": None, "tabs": None, "columns": "a,b", "format": "jsonl"}


@pytest.mark.parametrize("name", [name for name in LINES if "sentence" in settings_of(name)])
def test_options_of_files_reach_the_reader(name: str, recorded: Callable[[list[str]], Outcome]) -> None:
    reached = set[str]()
    for line in lines_of(name):
        is_table = any(word.endswith(".csv") or word == "word.m" for word in line)
        if not is_table and any(word.endswith((".conllu", ".trees")) or word == "text.txt" for word in line):
            continue
        for option, value in (TABLE if is_table else PLAIN).items():
            off = "no-" if option == "tabs" and "heads.tsv" in line else ""
            way = [
                f"--{off}{option}",
                *([value.replace("label", "pos") if "heads.csv" in line else value] if value else []),
            ]
            plain, other = recorded(line)[0], recorded([*line, *way])[0]
            assert plain.code == 0
            changed = (plain.code, plain.out, plain.files) != (other.code, other.out, other.files)
            assert other.code == 2 if is_table else changed, f"{' '.join([*line, *way])} changes nothing"
            reached.add(option)
    assert reached == {*TABLE, *PLAIN}


# ------------------------------------------------------------ missing, empty and binary files

BAD = {
    "absent": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_bytes(b"\n \n\n"),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "device": lambda path: path.symlink_to("/dev/null"),
}
ENDINGS = (".csv", ".conllu", ".jsonl", ".parquet", ".feather", ".txt.gz", ".trees")


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", [name for name in LINES if "." in " ".join(LINES[name])])
def test_a_file_that_is_none_is_one_line(
    name: str, kind: str, recorded: Callable[[list[str]], Outcome], tmp_path: Path
) -> None:
    plain, *others = lines_of(name)
    lines = [(line, at) for line in (plain, *others) for at, word in enumerate(line) if Path(word).is_file()]
    for way in itertools.chain(*settings_of(name).values()):
        if len(way) > 1 and way[0] not in (*plain, "--model") and Path(way[1]).is_file():
            lines.append(([*plain, *way], len(plain) + 1))
    for line, at in lines:
        endings = ENDINGS if line == plain and "columns" in settings_of(name) else ()
        for ending in (Path(line[at]).suffix, *endings):
            path = tmp_path / f"bad{ending}"
            if not os.path.lexists(path):
                BAD[kind](path)
            done, _ = recorded([*line[:at], str(path), *line[at + 1 :]])
            shown = (line[:at], path.name, done.err)
            assert done.code in (0, 2), shown
            assert sum(text.startswith("trellis: ") for text in done.err.splitlines()) == (done.code == 2), shown
            assert "Traceback" not in done.err, shown
            assert done.code == 2 or kind in ("empty", "blank", "device") or "--lenient" in line, shown
