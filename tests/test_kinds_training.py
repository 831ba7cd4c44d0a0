"""The contract of `trellis.Model.train`: what holds for the trainings of models of all kinds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from contract import answers, kind, model, one_line
from kinds import DECLARED, KINDS, Change, Kind, model_of

import trellis
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError, TrellisError
from trellis.learning.options import flat_options_of

__all__ = ["kind", "model"]


def test_notes_and_record(kind: Kind, tmp_path: Path) -> None:
    notes = {"history": "mine", "learner": 1, "sentences": None, "corpus": [1], "user": {}}
    model = kind.train(info=notes)
    assert model.info == notes
    assert model.training["version"] == trellis.__version__
    assert model.training["digest"] != kind.train(kind.other).training["digest"]
    assert json.loads(json.dumps(model.training)) == model.training
    name = kind.learner if isinstance(kind.learner, str) else type(kind.learner).__name__
    assert model.training["learner"]["name"] == name
    model.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model", **kind.needs)
    assert (again.info, again.training) == (notes, model.training)
    for info in (5, {"a": object()}, {"a": "\ud800"}, {"a": math.nan}):
        with pytest.raises(LearnerError, match="info must be") as error:
            kind.train(info=info)
        one_line(error)


def effective(kind: Kind, name: str, value: Any) -> bool:
    """Whether an option has an effect on the kind; if not, that is said in one line."""
    if name not in kind.no_effect:
        return True
    with pytest.raises(LearnerError, match=name) as error:
        kind.train(**{name: value})
    one_line(error)
    return False


def plain(epochs: int) -> trellis.Perceptron:
    """A learner whose weights depend on nothing but those of the epoch before."""
    return trellis.Perceptron(epochs=epochs, average=False, shuffle=False)


def test_stopping_keeps_the_best_epoch(kind: Kind) -> None:
    """StopTrainingError in the observer, which is how Ctrl-C ends a training, is like a training of fewer epochs."""
    events = list[trellis.Event]()

    def stop(event: trellis.Event) -> None:
        events.append(event)
        if len(events) == 3:
            raise trellis.StopTrainingError

    if not kind.has_epochs:
        assert kind.train(observer=stop).training["history"] == events == []
        return
    for options in ({}, {"dev": kind.other}):
        events.clear()
        stopped = kind.train(learner=plain(5), observer=stop, **options)
        assert len(events) == len(stopped.training["history"]) == 3
        assert answers(kind, stopped) == answers(kind, kind.train(learner=plain(3), **options))

    def interrupt(event: trellis.Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kind.train(observer=interrupt)


def test_the_best_epoch_on_dev_is_kept(kind: Kind) -> None:
    if not effective(kind, "dev", kind.other):
        return
    events = list[trellis.Event]()
    model = kind.train(learner=plain(4), dev=kind.other, observer=events.append)
    scores = [event.dev_score or 0.0 for event in events]
    best = scores.index(max(scores)) + 1
    assert answers(kind, model) == answers(kind, kind.train(learner=plain(best)))
    assert model.evaluate(kind.other).headline == pytest.approx(max(scores))
    assert model.training["dev_score"] == max(scores)
    patient = kind.train(learner=plain(4), dev=kind.other, patience=1)
    assert len(patient.training["history"]) == next((n for n in range(1, 4) if scores[n] <= max(scores[:n])), 3) + 1


def test_warm_start(kind: Kind, model: Any) -> None:
    """An epoch and one more from its model are two."""
    if not effective(kind, "init", model):
        return
    first = kind.train(learner=plain(1))
    again = kind.train(learner=plain(1), init=first)
    assert (answers(kind, again) == answers(kind, kind.train(learner=plain(2)))) == kind.resumes
    other = kind.train(kind.other, learner=plain(1))
    assert answers(kind, kind.train(learner=plain(1), init=other)) != answers(kind, first)
    for init in (next(model_of(one.name) for one in KINDS if one.model is not kind.model), 3):
        with pytest.raises((LearnerError, ArgumentError), match="init") as error:
            kind.train(init=init)
        one_line(error)


def test_sample_weights(kind: Kind, model: Any) -> None:
    n = len(kind.data)
    if not effective(kind, "sample_weight", [1.0] * n):
        return
    assert answers(kind, kind.train(sample_weight=[1.0] * n)) == answers(kind, model)
    few = kind.train(sample_weight=[1.0] + [0.0] * (n - 1))
    assert all(event["updates"] <= 1 for event in few.training["history"])
    for wrong in ([1.0], "x", [-1.0] * n, [0.0] * n, [math.inf] * n):
        with pytest.raises((LearnerError, ArgumentError), match="sample_weight") as error:
            kind.train(sample_weight=wrong)
        one_line(error)


def test_a_checkpoint_continues_with_more_epochs(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    if not effective(kind, "checkpoint", path):
        return
    kind.train(learner=plain(3), checkpoint=path)
    again = kind.train(learner=plain(5), checkpoint=path)
    assert answers(kind, again) == answers(kind, kind.train(learner=plain(5)))
    assert len(again.training["history"]) == 5
    with pytest.raises(ModelError, match="a checkpoint after 5 epochs, more than the 3 of this training") as error:
        kind.train(learner=plain(3), checkpoint=path)
    one_line(error)
    with pytest.raises(ModelError, match="a checkpoint of another training") as error:
        kind.train(kind.other, learner=plain(5), checkpoint=path)
    one_line(error)
    with pytest.raises(ModelError, match="a checkpoint; training continues from it with checkpoint="):
        trellis.load(path)


def changes_of(kind: Kind) -> dict[str, Change]:
    """Two values of every option of the task but the checkpoint itself."""
    n = len(kind.data)
    return {
        "learner": Change(plain(3), trellis.Perceptron(epochs=3)),
        "dev": Change(kind.data, kind.other),
        "patience": Change(8, 9, {"dev": kind.other}),
        "checkpoint_every": Change(1, 2),
        "observer": Change(None, lambda event: None),
        "verbose": Change(False, True),
        "n_threads": Change(1, 2),
        "sample_weight": Change(None, [2.0, *[1.0] * (n - 1)]),
        "init": Change(None, model_of(kind.name)),
        "info": Change(None, {"note": "another"}),
        **kind.changes,
    }


def learnt(model: trellis.Model) -> Any:
    """All of a model but its notes and records."""
    tensors, header = model._content()
    rest = {key: value for key, value in header.items() if key not in ("info", "training", "cost", "tagger")}
    return {name: array.tobytes() for name, array in tensors.items() if name != "tagger"}, json.dumps(rest)


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_every_option_is_changed_once(declared: Kind) -> None:
    assert {*changes_of(declared), "checkpoint"} == {*flat_options_of(declared.table)}


@pytest.mark.parametrize(
    ("declared", "name"),
    [(kind, name) for kind in DECLARED for name in flat_options_of(kind.table) if name != "checkpoint"],
    ids=str,
)
def test_every_option_is_in_the_digest_of_a_checkpoint(declared: Kind, name: str, tmp_path: Path) -> None:
    """With one option changed it is rejected; or epochs are the same, and so is the model."""
    change, option = changes_of(declared)[name], flat_options_of(declared.table)[name]
    same = {**change.beside, "checkpoint": tmp_path / "checkpoint"}
    first = declared.train(**{**same, name: change.first})
    if option.role == "run" or not change.why:
        assert learnt(declared.train(**{**same, name: change.then})) == learnt(first)
        return
    with pytest.raises((ModelError, LearnerError, ArgumentError), match=change.why) as error:
        declared.train(**{**same, name: change.then})
    one_line(error)


def test_empty_data_is_an_error(kind: Kind) -> None:
    for options in ({}, {"dev": kind.no_data}) if effective(kind, "dev", kind.other) else ({},):
        with pytest.raises((CorpusError, ArgumentError)) as error:
            kind.train(kind.data if options else kind.no_data, **options)
        one_line(error)


def test_unknown_options_are_named(kind: Kind) -> None:
    with pytest.raises(TrellisError, match="patiense") as error:
        kind.train(patiense=3)
    assert "patience" in one_line(error)
