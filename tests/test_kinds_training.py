"""The contract of `trellis.Model.train`: what holds for the trainings of models of all kinds."""

from __future__ import annotations

import json
import math
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from contract import answers, kind, model, one_line
from kinds import CORPUS, DECLARED, KINDS, Change, Kind, model_of

import trellis
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError, TrellisError
from trellis.learning.options import flat_options_of
from trellis.learning.run import interrupts_raise

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
    """A learner whose weights depend only on those of the previous epoch."""
    return trellis.Perceptron(epochs=epochs, average=False, shuffle=False)


def test_stopping_keeps_the_best_epoch(kind: Kind) -> None:
    """StopTrainingError in the observer is like a training of fewer epochs."""
    events = list[trellis.Event]()

    def stop(event: trellis.Event) -> None:
        events.append(event)
        if event.epoch == 3:
            raise trellis.StopTrainingError

    if not kind.has_epochs:
        history = kind.train(observer=stop).training["history"]
        assert [event["epoch"] for event in history] == [event.epoch for event in events] == [1]
        return
    for options in ({}, {"dev": kind.other}):
        events.clear()
        stopped = kind.train(learner=plain(5), observer=stop, **options)
        assert len(events) == len(stopped.training["history"])
        assert {event.epochs for event in events} == {5}
        if kind.several:  # the models of folds are not stopped
            assert len(events) == 3 * len({event.part for event in events})
            continue
        assert len(events) == 3
        assert answers(kind, stopped) == answers(kind, kind.train(learner=plain(3), **options))


@pytest.mark.usefixtures("control_c")
def test_control_c_keeps_the_best_epoch(kind: Kind, tmp_path: Path) -> None:
    """It is like a training of fewer epochs; what raises it makes no difference."""

    def interrupt(event: trellis.Event) -> None:
        if event.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    def raise_interrupt(event: trellis.Event) -> None:
        if event.epoch == 2:
            raise KeyboardInterrupt

    if not kind.has_epochs:
        return
    if kind.several:  # no model is made of a training that was not finished
        for observer in (interrupt, raise_interrupt):
            with pytest.raises(KeyboardInterrupt):
                kind.train(observer=observer)
        return
    for options in ({}, {"dev": kind.other}):
        shorter = answers(kind, kind.train(learner=plain(2), **options))
        for observer in (interrupt, raise_interrupt):
            with pytest.warns(
                trellis.TrellisWarning, match="training stops after epoch 2 with the best model so far; "
            ):
                stopped = kind.train(learner=plain(5), observer=observer, **options)
            assert len(stopped.training["history"]) == 2
            assert answers(kind, stopped) == shorter
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if "checkpoint" not in kind.no_effect:
        path = tmp_path / "checkpoint"
        with pytest.warns(trellis.TrellisWarning, match="the same call continues from the checkpoint"):
            kind.train(learner=plain(4), observer=interrupt, checkpoint=path)
        again = kind.train(learner=plain(4), checkpoint=path)
        assert answers(kind, again) == answers(kind, kind.train(learner=plain(4)))


@pytest.mark.usefixtures("control_c")
def test_control_c_gives_up(kind: Kind) -> None:
    """A second time; and where the models of several trainings are asked for."""

    def interrupt(event: trellis.Event) -> None:
        signal.raise_signal(signal.SIGINT)

    def interrupt_twice(event: trellis.Event) -> None:
        interrupt(event)
        interrupt(event)

    if not kind.has_epochs:
        return
    if not kind.several:
        with pytest.warns(trellis.TrellisWarning, match="training stops after"), pytest.raises(KeyboardInterrupt):
            kind.train(observer=interrupt_twice)
    with interrupts_raise(), pytest.raises(KeyboardInterrupt):
        kind.train(observer=interrupt)


@pytest.mark.usefixtures("control_c")
def test_control_c_before_the_first_epoch_gives_up(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trellis.learning.run.sentence_order", lambda *_: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr("trellis.learning.online.sentence_order", lambda *_: signal.raise_signal(signal.SIGINT))
    if kind.has_epochs:
        with pytest.raises(KeyboardInterrupt):
            kind.train()


@pytest.mark.usefixtures("control_c")
def test_control_c_ends_a_call_that_trains_several_models() -> None:
    """No model is made of a training that was not finished."""

    def interrupt(event: trellis.Event) -> None:
        signal.raise_signal(signal.SIGINT)

    def train_tagger(part: trellis.Corpus) -> trellis.Tagger:
        return trellis.Tagger.train(part, target="label", learner=plain(3), observer=interrupt)

    for options in ({"bagging": 2}, {"documents": True}):
        with pytest.raises(KeyboardInterrupt):
            trellis.Tagger.train(CORPUS, target="label", learner=plain(3), observer=interrupt, **options)
    with pytest.raises(KeyboardInterrupt):
        trellis.Reranker.train(CORPUS, tagger=train_tagger, k=3, folds=2)


def test_control_c_is_left_alone_in_other_threads() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(trellis.Tagger.train, CORPUS, target="label", learner=plain(1)).result().labels


def test_the_best_epoch_on_dev_is_kept(kind: Kind) -> None:
    if not effective(kind, "dev", kind.other):
        return
    events = list[trellis.Event]()
    model = kind.train(learner=plain(4), dev=kind.other, observer=events.append)
    if kind.several:
        assert all(event.dev_score is not None for event in events)
        return
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
    with pytest.raises(ModelError, match="not a model but a checkpoint; resume training with checkpoint="):
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
    if not effective(declared, "checkpoint", tmp_path / "checkpoint"):
        return
    change, option = changes_of(declared)[name], flat_options_of(declared.table)[name]
    same = {**change.beside, "checkpoint": tmp_path / "checkpoint"}
    first = declared.train(**{**same, name: change.first})
    if not change.why or (option.role == "run" and name != "workers"):
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
