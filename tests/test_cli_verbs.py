"""Every verb of the command line with a model of every task: an answer, or one line that names the tasks with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import COLUMNS, call_within, refused
from test_cli_parsing import TREES
from test_cli_trees import TEXT
from test_structured import SENTENCES, Listed

import trellis
from trellis.tasks.model import TASKS

ANSWERS = ("tag", "parse", "trees", "words", "rerank")
# The tasks that a verb has an answer for, and its line; SENTENCE, FILE and NEW stand for what suits the task.
VERBS = {
    "predict FILE": ANSWERS,
    "predict FILE --json --kbest 2": ANSWERS,
    "evaluate FILE": ANSWERS,
    "evaluate FILE --json": ANSWERS,
    "explain SENTENCE": ANSWERS,
    "explain SENTENCE --json": ANSWERS,
    "compare -m MODEL FILE": ANSWERS,
    "draw SENTENCE": ("tag", "parse", "trees"),
    "info": (*ANSWERS, "structured"),
    "info --json": (*ANSWERS, "structured"),
    "dump": ("tag", "words", "rerank", "structured"),
    "report FILE -o NEW.html": ("tag",),
    "calibrate FILE -o NEW": ("tag",),
    "convert -o NEW": ANSWERS,
}
FILES = {"tag": "test.txt", "rerank": "test.txt", "parse": "test.conllu", "trees": "test.trees", "words": "words.txt"}
WORDS = {
    "tag": "the/DT dog/NN",
    "rerank": "the/DT dog/NN",
    "parse": "the/DET dog/NOUN",
    "trees": "rain fell .",
    "words": "adog",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file and a model of every task."""
    folder = tmp_path_factory.mktemp("verbs")
    contents = {"test.txt": COLUMNS, "test.conllu": TREES, "test.trees": TEXT, "words.txt": "a dog\nthe cat\na cat\n"}
    for name, content in {**contents, "arcs.txt": "upos[head] & upos[dep]\nform[dep]\n"}.items():
        (folder / name).write_text(content)
    columns = "--columns word,pos,chunk --features chunking"
    more = {
        "tag": columns,
        "rerank": f"{columns} --reranker-folds 2 --kbest 3",
        "parse": "--features arcs.txt --order 1",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for task, path in FILES.items():
            done = call_within(f"train --task {task} {path} --epochs 2 -m {task}.model -q {more.get(task, '')}")
            assert (done.code, done.err) == (0, "")
        trellis.StructuredModel.train(SENTENCES, problem=Listed()).save("structured.model")
    return folder


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_every_task(verb: str, task: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    line = verb.replace("SENTENCE", WORDS.get(task, "a b")).replace("FILE", FILES.get(task, "test.txt"))
    done = call_within(f"{line} -m {task}.model".replace("NEW", "new").replace("MODEL", f"{task}.model"))
    if task in VERBS[verb]:
        assert done.code == 0, done.err
        assert done.out or "NEW" in verb
        assert "Traceback" not in done.err
    else:
        refused(done, f"a {TASKS[task].noun}")
        if verb != "convert -o NEW":
            assert all(f"{TASKS[other].noun}s" in done.err for other in VERBS[verb])


def test_structured_models_have_no_files_of_data(folder: Path) -> None:
    refused(call_within("train --task structured x -m y"), "structured models learn from Python objects")
    refused(call_within("cross-validate --task structured x"), "structured models learn from Python objects")
