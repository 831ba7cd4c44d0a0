"""Options of the trainings of all tasks: one declaration, the same checks, records and checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_parsing import TEMPLATES, treebank
from test_structured import SENTENCES, Listed, ListedWithCosts
from test_tree_parser import TREES

import trellis
from trellis._support.errors import ArgumentError, LearnerError, ModelError
from trellis.learning.options import TrainingOptions, markdown_table, options_of
from trellis.tasks import parsing, reranking, structured, trees
from trellis.tasks.parsing.options import ParsingOptions
from trellis.tasks.reranking.options import RerankingOptions
from trellis.tasks.structured.options import StructuredOptions
from trellis.tasks.tagging.options import TaggingOptions
from trellis.tasks.trees.options import TreeOptions
from trellis.tasks.words.options import WordsOptions
from trellis.tasks.words.train import train as train_words


def corpus_of(*sentences: str) -> trellis.Corpus:
    """Words, each with its first letter as its label."""
    words = [sentence.split() for sentence in sentences]
    return trellis.read({"word": words, "label": [[word[0].upper() for word in s] for s in words]})


CORPUS = corpus_of("ab bc", "bc ab ca", "ab", "ca ab", "bb ca", "cc bb ab")
LINES = [["a", "bc"], ["bc", "d"], ["ab", "c"], ["d"]]


def tagger_of(part: trellis.Corpus) -> trellis.Tagger:
    return trellis.train(part, target="label", learner=trellis.Perceptron(epochs=2))


def other_tagger_of(part: trellis.Corpus) -> trellis.Tagger:
    return trellis.train(part, target="label", learner=trellis.Perceptron(epochs=1), features=["word[0]"])


def share_right(outputs: list[Any], right: list[Any]) -> float:
    return float(np.mean([a == b for a, b in zip(outputs, right, strict=True)]))


def half_right(outputs: list[Any], right: list[Any]) -> float:
    return share_right(outputs, right) / 2


@dataclass(frozen=True)
class Task:
    """A training: its data at first and then, and of every option what it is at first and then."""

    train: Callable[..., Any]
    options: type
    data: tuple[Any, Any]
    values: dict[str, tuple[Any, Any]]

    def first(self) -> dict[str, Any]:
        return {name: value for name, (value, _) in self.values.items()}

    def trained(self, **options: Any) -> Any:
        return self.train(self.data[0], **{**self.first(), **options})


A_MODEL = "a model of the same task"
SHARED: dict[str, tuple[Any, Any]] = {
    "learner": (trellis.Perceptron(epochs=3), trellis.Perceptron(epochs=3, average=False)),
    "patience": (8, 9),
    "checkpoint_every": (1, 2),
    "observer": (None, print),
    "verbose": (False, True),
    "n_threads": (1, 2),
    "info": (None, {"note": "another"}),
}
TASKS = {
    "parser": Task(
        parsing.train,
        ParsingOptions,
        (treebank(8, 1), treebank(8, 2)),
        SHARED
        | {
            "features": (TEMPLATES, TEMPLATES[1:]),
            "order": (1, 2),
            "projective": (True, False),
            "labelled": (True, False),
            "filter": (None, "pos[head] & pos[dep]"),
            "lenient": (False, True),
            "sample_weight": (None, [1.0, 2.0] * 4),
            "init": (None, A_MODEL),
            "dev": (treebank(4, 3), treebank(4, 4)),
            "metric": ("uas", "las"),
        },
    ),
    "tree parser": Task(
        trees.train,
        TreeOptions,
        (TREES, TREES[1:]),
        SHARED
        | {
            "features": ("spans", "rules"),
            "vertical": (1, 2),
            "horizontal": (0, 1),
            "prune": (1e-4, 1e-3),
            "tagger": (None, tagger_of(CORPUS)),
            "lenient": (False, True),
            "sample_weight": (None, [2.0, *[1.0] * (len(TREES) - 1)]),
            "init": (None, A_MODEL),
            "dev": (TREES[:2], TREES[2:]),
            "metric": ("auto", "f1"),
        },
    ),
    "segmenter": Task(
        train_words,
        WordsOptions,
        (LINES, LINES[1:]),
        SHARED
        | {
            "features": (["character[0]"], ["character[0]", "character[-1]"]),
            "order": (1, 2),
            "cutoff": (0, 1),
            "pairs": ("all", "seen"),
            "tag_dictionary": (False, 1),
            "beam": (None, 2),
            "prune": (False, trellis.Pruning(0.9)),
            "segments": (False, True),
            "label_weights": (None, {"S": 2.0}),
            "label_costs": (None, {"S": 2.0}),
            "bagging": (1, 2),
            "lenient": (False, True),
            "sample_weight": (None, [1.0, 2.0, 1.0, 1.0]),
            "init": (None, A_MODEL),
            "dev": (LINES[:2], LINES[2:]),
            "metric": ("token", "sentence"),
        },
    ),
    "reranker": Task(
        reranking.train,
        RerankingOptions,
        (CORPUS, CORPUS[:5]),
        SHARED
        | {
            "tagger": (tagger_of, other_tagger_of),
            "k": (3, 4),
            "folds": (2, 3),
            "features": (["score", "counts"], ["score"]),
            "cost": ("auto", "tokens"),
            "sample_weight": (None, [1.0, 2.0] * 3),
            "init": (None, A_MODEL),
            "dev": (CORPUS[:3], CORPUS[3:]),
            "metric": ("token", "sentence"),
        },
    ),
    "structured model": Task(
        structured.train,
        StructuredOptions,
        (SENTENCES, SENTENCES[1:]),
        SHARED
        | {
            "problem": (Listed(), ListedWithCosts()),
            "beam": (None, 3),
            "sample_weight": (None, [1.0, 2.0, 1.0, 1.0]),
            "init": (None, {"D": 1.0}),
            "dev": (SENTENCES[:2], SENTENCES[2:]),
            "metric": (share_right, half_right),
        },
    ),
}
CHANGES = [(task, name) for task, one in TASKS.items() for name in one.values]
# By their results, which a checkpoint has: costs are those of tokens where labels mark no spans.
SAME_RESULT = ("reranker", "cost")
# Before the checkpoint is read.
REJECTED = {
    ("segmenter", "beam"): "beam has an effect only above order 2",
    ("segmenter", "bagging"): "a checkpoint has no place beside it",
    ("structured model", "beam"): "beam has an effect only where a problem has choices",
}


def learnt(model: trellis.Model) -> Any:
    """All of a model but its notes and its record."""
    tensors, header = model._content()
    rest = {key: value for key, value in header.items() if key not in ("info", "training", "cost", "tagger")}
    return {name: array.tobytes() for name, array in tensors.items() if name != "tagger"}, json.dumps(rest)


@pytest.mark.parametrize("task", TASKS)
def test_every_option_is_changed_once(task: str) -> None:
    one = TASKS[task]
    assert {*one.values, "checkpoint"} == {*options_of(one.options)}


@pytest.mark.parametrize(("task", "name"), CHANGES)
def test_a_checkpoint_is_of_one_training(task: str, name: str, tmp_path: Path) -> None:
    """With one option changed it is rejected; or epochs are the same, and so is the model."""
    one, path = TASKS[task], tmp_path / "checkpoint"
    changed = {**one.first(), name: one.values[name][1]}
    same: dict[str, Any] = {}
    if name == "labelled":
        same = {"features": TEMPLATES[:6], "metric": "uas"}
    elif changed.get("init") == A_MODEL:
        same = {"features": None, "learner": trellis.MIRA(epochs=2)} if task == "segmenter" else {}
        changed["init"] = one.trained(checkpoint_every=None, **same)
    elif name == "label_costs":
        same = {"learner": trellis.MIRA(epochs=2)}
    first = one.trained(checkpoint=path, **same)

    def again() -> Any:
        return one.train(one.data[0], **{**changed, **same, "checkpoint": path})

    if options_of(one.options)[name].role == "run" or (task, name) == SAME_RESULT:
        assert learnt(again()) == learnt(first)
        return
    with pytest.raises((ModelError, LearnerError, ArgumentError)) as caught:
        again()
    reason = REJECTED.get((task, name), "a checkpoint of another training")
    assert reason in str(caught.value)


@pytest.mark.parametrize("task", TASKS)
def test_a_checkpoint_is_of_its_data(task: str, tmp_path: Path) -> None:
    one = TASKS[task]
    one.trained(checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ModelError, match="a checkpoint of another training"):
        one.train(one.data[1], **{**one.first(), "checkpoint": tmp_path / "checkpoint"})


@pytest.mark.parametrize("task", TASKS)
def test_a_training_continues_with_more_epochs(task: str, tmp_path: Path) -> None:
    one, path, learner = TASKS[task], tmp_path / "checkpoint", TASKS[task].values["learner"][0]
    more = replace(learner, epochs=5)
    one.trained(checkpoint=path)
    assert learnt(one.trained(learner=more, checkpoint=path)) == learnt(
        one.trained(learner=more, checkpoint_every=None)
    )
    with pytest.raises(ModelError, match="a checkpoint after 5 epochs, more than the 3 of this training"):
        one.trained(checkpoint=path)


# ------------------------------------------------------------ the record


@pytest.mark.parametrize("task", TASKS)
def test_notes_and_record(task: str, tmp_path: Path) -> None:
    one = TASKS[task]
    notes = {"history": "mine", "learner": 1, "corpus": [1], "n": np.int64(1)}
    model = one.trained(checkpoint_every=None, info=notes)
    assert model.info == {**notes, "n": 1}
    record = model.training
    assert record["version"] == trellis.__version__
    assert record["date"] == "2027-01-15"  # SOURCE_DATE_EPOCH of tests
    assert record["learner"]["name"] == "Perceptron"
    assert record["dev_score"] == max(event["dev_score"] for event in record["history"])
    assert len(record["history"]) == 3
    needs = {"problem": Listed()} if task == "structured model" else {}
    model.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model", **needs)
    assert (again.info, again.training) == (model.info, record)
    other = one.train(one.data[1], **{**one.first(), "checkpoint_every": None})
    assert other.training["digest"] != record["digest"]
    assert one.trained(checkpoint_every=None).training == record

    def never(event: trellis.Event) -> None:
        raise AssertionError("training began")

    for info in (5, {"a": object()}, {"a": "\ud800"}):
        with pytest.raises(LearnerError, match="info must be"):
            one.trained(checkpoint_every=None, info=info, observer=never)


@pytest.mark.parametrize("task", TASKS)
def test_the_record_has_options_that_are_not_their_defaults(task: str) -> None:
    one = TASKS[task]
    model, declared = one.trained(checkpoint_every=None), options_of(one.options)
    expected = {
        name
        for name, value in one.first().items()
        if declared[name].role == "setting"
        and (value is not None or declared[name].nullable)
        and value != declared[name].default
    }
    recorded = model.training["options"]
    # A segmenter is a tagger, of a target and a scheme of its own.
    assert {*recorded} - ({"target", "scheme"} if task == "segmenter" else set()) == expected
    assert model.training["metric"] == recorded.get("metric", "auto")


@pytest.mark.parametrize("task", TASKS)
def test_verbose_prints_one_line_per_epoch(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    TASKS[task].trained(checkpoint_every=None, verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"epoch {n} of 3" for n in (1, 2, 3)]
    TASKS[task].trained(checkpoint_every=None)
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------ checks


ALL = {**{task: one.options for task, one in TASKS.items()}, "tagger": TaggingOptions}


@pytest.mark.parametrize("task", TASKS)
def test_wrong_options_are_one_line(task: str) -> None:
    one = TASKS[task]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"patiense": 3}, "no option 'patiense'; did you mean 'patience'\\?"),
        ({"xyz": 3}, "no option 'xyz'; the options are "),
        ({"patience": 0}, "patience must be a whole number from 1 on, not 0"),
        ({"patience": 3, "dev": None, "metric": None}, "needs a dev corpus"),
        ({"metric": "f2"}, "metric must be"),
        ({"checkpoint": 5}, "checkpoint must be the path of a file, not 5"),
        ({"checkpoint_every": 2}, "needs a checkpoint"),
        ({"observer": 3}, "observer must be a function"),
        ({"verbose": "yes"}, "verbose must be True or False"),
        ({"n_threads": 0}, "n_threads must be a whole number from 1"),
        ({"sample_weight": [1.0]}, "sample_weight needs one number per"),
        ({"sample_weight": "x"}, "sample_weight must be one number per"),
        ({"sample_weight": [-1.0] * len(one.data[0])}, "sample_weight must be numbers from 0"),
        ({"sample_weight": [0.0] * len(one.data[0])}, "nothing is left to train on"),
        ({"learner": 3}, "learner must be a learner"),
    ]
    if one.values["metric"][0] != "auto":
        wrong += [({"dev": None, "patience": None}, "metric compares epochs by their dev scores")]
    for options, message in wrong:
        with pytest.raises((LearnerError, ArgumentError), match=message) as caught:
            one.trained(**{"checkpoint_every": None, **options})
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("task", TASKS)
def test_a_weight_of_zero_leaves_an_example_out_of_the_steps(task: str) -> None:
    """Updates are fewer, and weights of one change nothing."""
    one = TASKS[task]
    n = len(one.data[0])
    plain, ones = (one.trained(checkpoint_every=None, sample_weight=w) for w in (None, [1.0] * n))
    assert learnt(plain) == learnt(ones)
    few = one.trained(checkpoint_every=None, sample_weight=[1.0] + [0.0] * (n - 1))
    assert all(event["updates"] <= 1 for event in few.training["history"])


@pytest.mark.parametrize("task", ALL)
def test_options_are_declared_once(task: str) -> None:
    declared = options_of(ALL[task])
    assert {*TrainingOptions.__annotations__} <= {*declared}
    table = markdown_table(ALL[task]).splitlines()
    assert len(table) == 2 + len(declared)
    for option in declared.values():
        assert option.help
        assert not option.help.endswith(".")
        assert option.role in ("setting", "data", "run")


def test_texts_of_the_command_line() -> None:
    declared = options_of(TaggingOptions)
    texts = {"order": "2", "tag_dictionary": "smoothed", "prune": "off", "segments": "8", "label_weights": "A=B=2.5"}
    values = {"order": 2, "tag_dictionary": "smoothed", "prune": False, "segments": trellis.Segments(8)}
    values["label_weights"] = ("A=B", 2.5)
    assert {name: declared[name].parse(text) for name, text in texts.items()} == values
    assert declared["prune"].parse("0.9,0.8") == trellis.Pruning((0.9, 0.8))
    assert declared["tag_dictionary"].parse("3") == 3
    assert options_of(TreeOptions)["prune"].parse("0.5") == 0.5
    assert [name for name, option in declared.items() if option.metavar == "N"] == [
        *("order", "cutoff", "beam", "bagging", "patience", "checkpoint_every", "n_threads")
    ]
