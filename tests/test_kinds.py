"""The contract of `trellis.Model`: what holds for models of all kinds. A new kind is one more entry in kinds.py."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from kinds import DECLARED, HOSTILE, KINDS, Change, Kind, model_of

import trellis
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError, TrellisError
from trellis.learning.options import options_of
from trellis.tasks.model import FORMATS, TASKS


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of model."""
    found: Kind = request.param
    return found


@pytest.fixture
def model(kind: Kind) -> Any:
    """The model of a kind."""
    return model_of(kind.name)


def one_line(error: pytest.ExceptionInfo[BaseException]) -> str:
    """The message of an error, which is one line."""
    message = str(error.value)
    assert message
    assert "\n" not in message
    return message


def answers(kind: Kind, model: Any) -> list[Any]:
    """What a model says of the inputs of its kind."""
    return [model.kbest(x, 3) for x in (*kind.inputs, kind.token, kind.empty[0])]


def test_every_task_has_a_kind() -> None:
    assert {kind.model.task for kind in KINDS} == set(TASKS) == set(FORMATS.values())
    assert sorted(kind.model.task for kind in DECLARED) == sorted(TASKS)


# ------------------------------------------------------------ copies, files, comparison


def from_a_file(kind: Kind, model: Any, folder: Path) -> list[Any]:
    """The model loaded from its file in every way."""
    model.save(folder / "model")
    with (folder / "model").open("rb") as file:
        opened = trellis.load(file, **kind.needs)
    return [
        trellis.load(folder / "model", **kind.needs),
        trellis.load(str(folder / "model"), copy=False, **kind.needs),
        kind.model.load(folder / "model", **kind.needs),
        trellis.Model.load(folder / "model", **kind.needs),
        opened,
    ]


def test_copies_are_equal_and_give_the_same_outputs(kind: Kind, model: Any, tmp_path: Path) -> None:
    expected, data = answers(kind, model), model.to_bytes()
    copies = [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)]
    copies += [kind.model.from_bytes(data, **kind.needs), trellis.Model.from_bytes(bytearray(data), **kind.needs)]
    for again in (*copies, *from_a_file(kind, model, tmp_path)):
        assert type(again) is kind.model
        assert again == model
        assert hash(again) == hash(model)
        assert again.to_bytes() == data
        assert answers(kind, again) == expected
        assert (again.info, again.training) == (model.info, model.training)
    assert (tmp_path / "model").read_bytes() == data


def test_equality_is_by_content(kind: Kind, model: Any) -> None:
    again, other = kind.train(), kind.train(kind.other)
    assert again == model
    assert hash(again) == hash(model)
    assert other != model
    assert kind.train(info={"note": 1}) != model
    assert len({model, again, other}) == 2
    assert model != model.to_bytes()
    assert all(model != model_of(one.name) for one in KINDS if one is not kind)


def test_the_number_of_threads_changes_nothing(kind: Kind, model: Any) -> None:
    assert kind.train(n_threads=1) == kind.train(n_threads=2) == model


def test_a_file_of_another_task_is_rejected(kind: Kind, model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    for other in {one.model for one in KINDS if one.model is not kind.model}:
        for read in (
            lambda other=other: other.load(tmp_path / "model", **kind.needs),
            lambda other=other: other.from_bytes(model.to_bytes(), **kind.needs),
        ):
            with pytest.raises(ModelError, match="not a ") as error:
                read()
            one_line(error)


def test_what_no_file_can_hold(kind: Kind, model: Any, tmp_path: Path) -> None:
    """Missing needs and superfluous ones are errors that name them."""
    model.save(tmp_path / "model")
    for name in kind.needs:
        rest = {key: value for key, value in kind.needs.items() if key != name}
        with pytest.raises(ModelError, match=f"{name}=") as error:
            trellis.load(tmp_path / "model", **rest)
        one_line(error)
    for name in {"kernel", "problem", "functions", "xyz"} - set(kind.needs):
        with pytest.raises(ModelError, match=name) as error:
            trellis.load(tmp_path / "model", **{**kind.needs, name: [len]})
        one_line(error)


def test_damaged_files_are_rejected(kind: Kind, model: Any, tmp_path: Path) -> None:
    data = model.to_bytes()
    for damaged in (
        b"",
        data[:7],
        data[: len(data) // 2],
        data[:-1],
        data + b"x",
        data.replace(b"trellis", b"trellus"),
    ):
        (tmp_path / "model").write_bytes(damaged)
        with pytest.raises(ModelError, match="model: ") as error:
            trellis.load(tmp_path / "model", **kind.needs)
        one_line(error)
        with pytest.raises(ModelError) as error:
            kind.model.from_bytes(damaged, **kind.needs)
        one_line(error)
    for path in (None, 3):
        with pytest.raises(ArgumentError, match="path must be the path of a file"):
            model.save(path)


# ------------------------------------------------------------ outputs


def test_empty_input(kind: Kind, model: Any) -> None:
    assert model.predict_batch([]) == model.predict_batch(iter(())) == []
    for empty in kind.empty:
        assert model.predict(empty) == kind.nothing
        assert model.kbest(empty, 3) == [(kind.nothing, 0.0)]
        explanation = model.explain(empty)
        assert (explanation.output, explanation.score, explanation.second) == (kind.nothing, 0.0, None)
        assert (explanation.terms, explanation.difference, explanation.gap) == ([], [], math.inf)
        json.dumps(explanation.to_dict(), allow_nan=False)
    assert model.predict_batch([kind.empty[0], kind.token]) == [kind.nothing, model.predict(kind.token)]


def test_one_token(kind: Kind, model: Any) -> None:
    assert len(kind.token) == 1
    best, score = model.kbest(kind.token, 1)[0]
    assert best == model.predict(kind.token)
    assert math.isfinite(score)
    assert model.explain(kind.token).output == best


def test_forms_of_an_input(kind: Kind, model: Any) -> None:
    """The same input in another form has the same output, and what is no input is an error."""
    best, ranked = model.predict(kind.inputs[0]), model.kbest(kind.inputs[0], 3)
    for x in kind.forms:
        assert model.predict(x) == model.predict_batch([x])[0] == best
        assert model.kbest(x, 3) == ranked
        assert model.explain(x).score == pytest.approx(ranked[0][1], rel=1e-5, abs=1e-5)
    for wrong in (*kind.wrong, *([kind.corpus] if kind.wrong else [])):
        for ask in (model.predict, lambda x: model.kbest(x, 2), model.explain, lambda x: model.predict_batch([x, x])):
            with pytest.raises((ArgumentError, CorpusError)) as error:
                ask(wrong)
            one_line(error)
    for wrong in (3, None):
        with pytest.raises((ArgumentError, CorpusError)) as error:
            model.predict_batch(wrong)
        one_line(error)


def test_a_batch_is_its_inputs_one_by_one(kind: Kind, model: Any) -> None:
    inputs = [*kind.inputs, kind.token, kind.empty[0]] * 3
    expected = [model.predict(x) for x in inputs]
    for n_threads in (None, 1, 2):
        assert model.predict_batch(inputs, n_threads=n_threads) == expected
    assert model.predict_batch(tuple(inputs)) == model.predict_batch(iter(inputs)) == expected
    with pytest.raises(TrellisError, match="n_threads") as error:
        model.predict_batch(inputs, n_threads=0)
    one_line(error)


def test_kbest(kind: Kind, model: Any) -> None:
    for x in (*kind.inputs, kind.token):
        found = model.kbest(x, 3)
        assert isinstance(found, trellis.KBest)
        assert 1 <= len(found) <= 3
        assert all(isinstance(pair, tuple) and len(pair) == 2 and type(pair[1]) is float for pair in found)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        assert len({str(kind.distinct(output)) for output, _ in found}) == len(found)
        assert found[0][0] == model.predict(x)
        assert model.kbest(x, 1) == found[:1]
    assert any(len(model.kbest(x, 3)) > 1 for x in kind.inputs)
    for k in (0, -1, 1.5, "2", True):
        with pytest.raises(ArgumentError, match=r"^k must be") as error:
            model.kbest(kind.token, k)
        one_line(error)


def test_explanations_sum_to_the_score(kind: Kind, model: Any) -> None:
    for x in (*kind.inputs, kind.token):
        explanation, ranked = model.explain(x), model.kbest(x, 2)
        assert isinstance(explanation, trellis.Explanation)
        chain = [explanation] if explanation.second is None else [explanation, explanation.second]
        assert [one.output for one in chain] == [output for output, _ in ranked]
        assert [one.score for one in chain] == pytest.approx([score for _, score in ranked], rel=1e-5, abs=1e-5)
        for one in chain:
            assert all(isinstance(term, trellis.Term) and term.weight for term in one.terms)
            assert sum(term.weight for term in one.terms) == pytest.approx(one.score, rel=1e-5, abs=1e-5)
        if explanation.second is not None:
            difference = sum(term.weight for term in explanation.difference)
            assert difference == pytest.approx(explanation.gap, rel=1e-5, abs=1e-5)
            assert explanation.gap >= -1e-5
        data = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
        assert len(data["terms"]) == len(explanation.terms)
        assert str(explanation) == explanation.text()
        assert repr(explanation)
    assert any(model.explain(x).terms for x in kind.inputs)


def test_a_corpus(kind: Kind, model: Any) -> None:
    """It comes back with the predicted columns, and loses none."""
    if "predict_corpus" in kind.no_answer:
        return rejected(kind, lambda: model.predict_corpus(trellis.read({"word": [["a"]]})))
    corpus = kind.corpus
    found = model.predict_corpus(corpus)
    assert isinstance(found, trellis.Corpus)
    assert found.starts.tolist() == corpus.starts.tolist()
    assert set(corpus.columns) <= set(found.columns)
    expected = [kind.columns(output) for output in model.predict_batch(kind.sentences)]
    for n_threads in (None, 1, 2):
        found = model.predict_corpus(corpus, n_threads=n_threads)
        for name in expected[0]:
            assert found.sentences(name) == [columns[name] for columns in expected]
    assert len(model.predict_corpus(corpus[:0])) == 0
    for wrong in (3, None, "nowhere", [["a"]]):
        with pytest.raises(ArgumentError, match="corpus must be a Corpus") as error:
            model.predict_corpus(wrong)
        one_line(error)
    return None


def rejected(kind: Kind, ask: Callable[[], Any]) -> None:
    """One line that names this task and tasks that have an answer."""
    with pytest.raises(ArgumentError) as error:
        ask()
    message = one_line(error)
    noun = TASKS[kind.model.task].noun
    assert message.startswith(f"a {noun} has no ")
    assert any(f"{task.noun}s" in message for task in TASKS.values())
    assert f"{noun}s" not in message


def test_pictures(kind: Kind, model: Any) -> None:
    if "draw" in kind.no_answer:
        return rejected(kind, lambda: model.draw(kind.token))
    for x in (*kind.inputs, kind.token, *kind.empty, kind.hostile):
        picture = model.draw(x)
        assert isinstance(picture, trellis.Picture)
        assert ElementTree.fromstring(picture.to_svg()).tag.endswith("svg")
        assert picture._repr_svg_() == picture.to_svg()
    return None


def test_top_features(kind: Kind, model: Any) -> None:
    if "top_features" in kind.no_answer:
        return rejected(kind, model.top_features)
    everything = model.top_features(None)
    assert all(isinstance(term, trellis.Term) for term in everything)
    weights = [abs(term.weight) for term in everything]
    assert weights == sorted(weights, reverse=True)
    assert model.top_features() == everything[:20]
    assert model.top_features(n=3) == everything[:3]
    assert model.top_features(0) == []
    for n in (-1, 1.5, "2"):
        with pytest.raises(ArgumentError, match=r"^n must be") as error:
            model.top_features(n)
        one_line(error)
    return None


# ------------------------------------------------------------ reports


def test_reports(kind: Kind, model: Any) -> None:
    report = model.evaluate(kind.data)
    assert isinstance(report, trellis.Report)
    assert report.name
    assert 0 <= report.headline <= 1
    assert report.headline == report.figure("auto")
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (data["name"], data["headline"]) == (report.name, report.headline)
    frame = report.to_frame()
    assert len(frame)
    assert all(str(name) in str(report) for name in frame.index)
    assert "<table" in report._repr_html_()
    with pytest.raises(ArgumentError, match="metric must be one of"):
        report.figure("xyz")
    for n_threads in (1, 2):
        assert model.evaluate(kind.data, n_threads=n_threads).to_dict() == report.to_dict()


def test_a_report_of_nothing_has_no_percentages(kind: Kind, model: Any) -> None:
    report = model.evaluate(kind.no_data)
    assert str(report).startswith("no ")
    assert "%" not in str(report)
    assert report.headline == 0
    json.dumps(report.to_dict(), allow_nan=False)
    report.to_frame()
    report._repr_html_()


def test_data_without_the_right_outputs_is_an_error(kind: Kind, model: Any) -> None:
    for gold in (kind.no_gold, 3):
        with pytest.raises((CorpusError, ArgumentError)) as error:
            model.evaluate(gold)
        one_line(error)


# ------------------------------------------------------------ what it is


def test_summary_and_display(kind: Kind, model: Any) -> None:
    noun = TASKS[kind.model.task].noun
    assert repr(model).startswith(f"{kind.model.__name__}(")
    summary = json.loads(json.dumps(model.summary()))
    assert summary["task"] == noun
    noted = kind.train(info={"task": "mine", "learner": 1}).summary()
    assert (noted["task"], noted["learner"]) == (noun, summary["learner"])
    page = model._repr_html_()
    assert kind.model.__name__ in page
    assert "<table" in page
    if kind.has_epochs:
        assert model.plot_history().axes


def test_markup_is_escaped(kind: Kind) -> None:
    """Inputs and notes come from anywhere; pages show them as text."""
    model = kind.train(info={HOSTILE: HOSTILE})
    found, explanation = model.kbest(kind.hostile, 2), model.explain(kind.hostile)
    pages = [
        model._repr_html_(),
        found._repr_html_(),
        explanation._repr_html_(),
        model.evaluate(kind.data)._repr_html_(),
    ]
    outputs = [output for output, _ in found]
    pages += [output._repr_svg_() for output in outputs if hasattr(output, "_repr_svg_")]
    for page in pages:
        assert "<script" not in page
    assert "&lt;script&gt;" in pages[0]


# ------------------------------------------------------------ training


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
    assert {*changes_of(declared), "checkpoint"} == {*options_of(declared.table)}


@pytest.mark.parametrize(
    ("declared", "name"),
    [(kind, name) for kind in DECLARED for name in options_of(kind.table) if name != "checkpoint"],
    ids=str,
)
def test_every_option_is_in_the_digest_of_a_checkpoint(declared: Kind, name: str, tmp_path: Path) -> None:
    """With one option changed it is rejected; or epochs are the same, and so is the model."""
    change, option = changes_of(declared)[name], options_of(declared.table)[name]
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
