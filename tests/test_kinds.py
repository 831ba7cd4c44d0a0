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
from contract import answers, kind, model, one_line
from kinds import DECLARED, HOSTILE, KINDS, Kind, model_of

import trellis
from trellis._support.errors import ArgumentError, CorpusError, ModelError, TrellisError
from trellis.tasks.model import FORMATS, TASKS

__all__ = ["kind", "model"]


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
            with pytest.raises(ModelError, match=r"not a .* open it with trellis.load") as error:
                read()
            assert f"a {TASKS[kind.model.task].noun}" in one_line(error)


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
        if "kbest" in kind.no_answer:
            continue
        assert model.kbest(empty, 3) == [(kind.nothing, 0.0)]
        explanation = model.explain(empty)
        assert (explanation.output, explanation.score, explanation.second) == (kind.nothing, 0.0, None)
        assert (explanation.terms, explanation.difference, explanation.gap) == ([], [], math.inf)
        json.dumps(explanation.to_dict(), allow_nan=False)
    assert model.predict_batch([kind.empty[0], kind.token]) == [kind.nothing, model.predict(kind.token)]


def test_one_token(kind: Kind, model: Any) -> None:
    assert len(kind.token) == 1
    if "kbest" in kind.no_answer:
        assert len(model.predict(kind.token)) == 1
        return
    best, score = model.kbest(kind.token, 1)[0]
    assert best == model.predict(kind.token)
    assert math.isfinite(score)
    assert model.explain(kind.token).output == best


def test_forms_of_an_input(kind: Kind, model: Any) -> None:
    """The same input in another form has the same output, and what is no input is an error."""
    best = model.predict(kind.inputs[0])
    for x in kind.forms:
        assert model.predict(x) == model.predict_batch([x])[0] == best
        if "kbest" not in kind.no_answer:
            assert model.kbest(x, 3) == (ranked := model.kbest(kind.inputs[0], 3))
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
    if "kbest" in kind.no_answer:
        return rejected(kind, lambda: model.kbest(kind.token))
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
    assert model.kbest(kind.inputs[-1]) == model.kbest(kind.inputs[-1], 5)
    for k in (0, -1, 1.5, "2", True):
        with pytest.raises(ArgumentError, match=r"^k must be") as error:
            model.kbest(kind.token, k)
        one_line(error)
    return None


def test_explanations_sum_to_the_score(kind: Kind, model: Any) -> None:
    if "explain" in kind.no_answer:
        return rejected(kind, lambda: model.explain(kind.token))
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
    return None


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
    for wrong in (3, None, "nowhere"):
        with pytest.raises((ArgumentError, CorpusError)) as error:
            model.predict_corpus(wrong)
        one_line(error)
    return None


def test_files(kind: Kind, model: Any, tmp_path: Path) -> None:
    """Data may be the path of a file, whose columns are those of training."""
    name, text = kind.file
    path = tmp_path / name
    if not text:
        with pytest.raises(ArgumentError, match="must be a list") as error:
            model.evaluate(path)
        one_line(error)
        return
    path.write_text(text, encoding="utf-8")
    data = trellis.read(path, columns=kind.file_options[1]) if kind.file_options else path
    model = kind.train(data)
    for place in (path, str(path)):
        assert model.evaluate(place).to_dict() == model.evaluate(data).to_dict()
        predicted = model.predict_corpus(place)
        assert len(predicted)
        for column in kind.columns(model.predict(kind.token)):
            assert predicted.sentences(column) == model.predict_corpus(predicted).sentences(column)
    for ask in (model.evaluate, model.predict_corpus):
        with pytest.raises(CorpusError, match="nowhere") as error:
            ask(tmp_path / "nowhere.txt")
        one_line(error)


def test_inputs_and_outputs_apart(kind: Kind, model: Any) -> None:
    """``train(X, y)`` and ``evaluate(X, y)`` are the same as with both in one."""
    inputs, outputs = kind.apart(kind.data)
    assert answers(kind, kind.train(inputs, outputs)) == answers(kind, model)
    report, same = model.evaluate(inputs, outputs), model.evaluate(kind.data)
    assert (report.name, report.headline) == (same.name, same.headline)
    for wrong in (outputs[1:], 3):
        for ask in (kind.train, model.evaluate):
            with pytest.raises((ArgumentError, CorpusError)) as error:
                ask(inputs, wrong)
            one_line(error)


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
        assert ElementTree.fromstring(picture.svg).tag.endswith("svg")
        assert picture._repr_svg_() == picture.svg
    return None


def test_top_features(kind: Kind, model: Any) -> None:
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
    summary = model.summary()
    assert json.loads(json.dumps(summary)) == summary
    assert summary["task"] == noun
    noted = kind.train(info={"task": "mine", "learner": 1}).summary()
    assert (noted["task"], noted["learner"]) == (noun, summary["learner"])
    page = model._repr_html_()
    assert kind.model.__name__ in page
    assert "<table" in page
    if kind.has_epochs:
        assert ">epoch<" in model.plot_history().svg


def test_markup_is_escaped(kind: Kind) -> None:
    """Inputs and notes come from anywhere; pages show them as text."""
    model = kind.train(info={HOSTILE: HOSTILE})
    pages, outputs = [model._repr_html_(), model.evaluate(kind.data)._repr_html_()], [model.predict(kind.hostile)]
    if "kbest" not in kind.no_answer:
        found, explanation = model.kbest(kind.hostile, 2), model.explain(kind.hostile)
        pages += [found._repr_html_(), explanation._repr_html_()]
        outputs = [output for output, _ in found]
    pages += [output._repr_svg_() for output in outputs if hasattr(output, "_repr_svg_")]
    for page in pages:
        assert "<script" not in page
    assert "&lt;script&gt;" in pages[0]
