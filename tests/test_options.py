"""Options of training: declared once per task, checked alike, kept in the record of the model."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import CHECKPOINT, DECLARED, Kind

import trellis
from trellis._support.errors import ArgumentError, LearnerError
from trellis.learning.options import TrainingOptions, flat_options_of, options_of
from trellis.tasks.tagging.options import TaggingOptions
from trellis.tasks.trees.options import TreeOptions


@pytest.fixture(params=DECLARED, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """A kind of every task."""
    found: Kind = request.param
    return found


def test_options_are_declared_once(kind: Kind) -> None:
    declared = options_of(kind.table)
    assert {*TrainingOptions.__annotations__} <= {*declared}
    for option in (*declared.values(), *flat_options_of(kind.table).values()):
        assert option.help
        assert not option.help.endswith(".")
        assert option.role in ("setting", "data", "run")


def test_the_record_has_options_that_are_not_their_defaults(kind: Kind) -> None:
    declared = flat_options_of(kind.table)
    for name, change in kind.changes.items():
        if declared[name].role != "setting" or change.why != CHECKPOINT or name in kind.no_effect:
            continue
        for value in (change.first, change.then):
            record = kind.train(**{**change.beside, name: value}).training
            is_default = value is None or value == declared[name].default
            assert is_default or name in record["options"], (name, value)


def test_verbose_prints_one_line_per_epoch(kind: Kind, capsys: pytest.CaptureFixture[str]) -> None:
    kind.train(verbose=True)
    lines = capsys.readouterr().err.splitlines()
    epochs = [line.split(",")[0].rpartition(": ")[2] for line in lines]
    n_models = len({line.partition("epoch")[0] for line in lines}) if kind.several else 1
    assert epochs == n_models * [f"epoch {n} of 3" for n in (1, 2, 3)]
    kind.train()
    assert capsys.readouterr().err == ""


def test_wrong_options_are_one_line(kind: Kind) -> None:
    n = len(kind.data)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"patiense": 3}, "unknown option 'patiense'; did you mean 'patience'\\?"),
        ({"xyz": 3}, "unknown option 'xyz'; the options are "),
        ({"patience": 0, "dev": kind.other}, "patience must be a whole number of at least 1, not 0"),
        ({"patience": 3}, "needs a dev corpus"),
        ({"metric": "f2", "dev": kind.other}, "metric must be"),
        ({"metric": kind.changes["metric"].then}, "metric needs a dev corpus: dev="),
        ({"checkpoint": 5}, "checkpoint must be the path of a file, not 5"),
        ({"checkpoint_every": 2}, "checkpoint_every needs checkpoint="),
        ({"observer": 3}, "observer must be a function"),
        ({"verbose": "yes"}, "verbose must be True or False"),
        ({"n_threads": 0}, "n_threads must be a whole number of at least 1"),
        ({"sample_weight": [1.0]}, "sample_weight needs one number per"),
        ({"sample_weight": "x"}, "sample_weight must be one number per"),
        ({"sample_weight": [-1.0] * n}, "sample_weight must be numbers from 0"),
        ({"sample_weight": [0.0] * n}, "no training data remains"),
        ({"learner": 3}, "learner must be a learner"),
    ]
    for options, message in wrong:
        idle = next((name for name in options if name in kind.no_effect), None)
        message = f"{idle} (must|needs|has no effect)" if idle else message
        with pytest.raises((LearnerError, ArgumentError), match=message) as caught:
            kind.train(**options)
        assert "\n" not in str(caught.value)


def test_texts_of_the_command_line() -> None:
    declared = flat_options_of(TaggingOptions)
    texts = {"order": "2", "tag_dictionary": "smoothed", "prune": "off", "segments": "8", "label_weights": "A=B=2.5"}
    values = {"order": 2, "tag_dictionary": "smoothed", "prune": False, "segments": trellis.Segments(8)}
    values["label_weights"] = ("A=B", 2.5)
    assert {name: declared[name].parse(text) for name, text in texts.items()} == values
    assert declared["prune"].parse("0.9,0.8") == (0.9, 0.8)
    assert declared["tag_dictionary"].parse("3") == 3
    assert options_of(TreeOptions)["prune"].parse("0.5") == 0.5
    assert [name for name, option in declared.items() if option.metavar == "N"] == [
        *("min_count", "order", "beam", "bagging", "patience", "checkpoint_every", "n_threads")
    ]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"epochs": 3}, "epochs is a parameter of the learner: learner=trellis.MIRA(epochs=3)"),
        ({"c2": 0.1, "learner": trellis.CRF()}, "c2 is a parameter of the learner: learner=trellis.CRF(c2=0.1)"),
        ({"beam": 8}, "give search=trellis.Search(beam=8)"),
        ({"label_parts": "|"}, "give labels=trellis.Labels(parts='|')"),
        ({"sentence": "id"}, "sentence is an option of reading: train on trellis.read(data, sentence='id')"),
    ],
)
def test_options_of_another_place(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        trellis.train({"word": [["a"]], "label": [["A"]]}, **options)
    name = next(name for name in options if name != "learner")
    assert str(caught.value) == f"unknown option {name!r}; {hint}"


def test_groups_are_checked() -> None:
    data: Any = {"word": [["a"]], "label": [["A"]]}
    for wrong in ({"search": 8}, {"labels": "iob2"}):
        [(name, value)] = wrong.items()
        kind = "Search" if name == "search" else "Labels"
        with pytest.raises(LearnerError, match=rf"^{name} must be a trellis\.{kind}, not {value!r}$"):
            trellis.train(data, **wrong)
    with pytest.raises(trellis.TrellisError):
        trellis.train(data, features=[])
    plain, grouped = (
        trellis.train(data, features=["word[0]"]),
        trellis.train(data, features=trellis.Features(["word[0]"])),
    )
    assert plain == grouped
