from __future__ import annotations

import json
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import classification_report as span_report  # type: ignore[import-untyped]
from seqeval.metrics.sequence_labeling import get_entities  # type: ignore[import-untyped]
from sklearn.metrics import classification_report

import trellis
from trellis._support.errors import ArgumentError, CorpusError, LearnerError
from trellis.corpus.corpus import Column, Strings
from trellis.corpus.schemes import SpanReading, spans
from trellis.evaluation.report import StructuredReport
from trellis.evaluation.tagging import evaluate, evaluate_columns

LETTERS = {"BIO": "BI", "IOBES": "BIES", "IOE": "IE"}
ORDERLY = settings(derandomize=True, deadline=None, max_examples=100)


def labels_from(letters: str) -> list[str]:
    return ["O", *(f"{letter}-{kind}" for letter in letters for kind in ("X", "Y", "LONG-TYPE"))]


def seqeval_figures(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, dict[str, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report: dict[str, dict[str, float]] = span_report(gold, predicted, output_dict=True)
    return report


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("seed", range(10))
def test_scores_equal_seqeval_on_random_and_mostly_illegal_labels(letters: str, seed: int) -> None:
    random.seed(seed)
    labels = labels_from(LETTERS[letters])
    gold = [random.choices(labels, k=random.randrange(1, 12)) for _ in range(40)]
    predicted = [[x if random.random() < 0.7 else random.choice(labels) for x in row] for row in gold]
    theirs, ours = seqeval_figures(gold, predicted), evaluate(gold, predicted)
    frame = ours.to_frame().rename(columns={"f1": "f1-score"}).drop(["token accuracy", "sentence accuracy"])
    for name, row in frame.iterrows():
        assert theirs[name] == pytest.approx(dict(row), rel=1e-12)
    assert set(theirs) == {*frame.index, "weighted avg"}


@pytest.mark.parametrize("seed", range(3))
def test_labels_equal_scikit_learn(seed: int) -> None:
    random.seed(seed)
    gold = [random.choices("ABCD", k=random.randrange(1, 12)) for _ in range(20)]
    predicted = [[x if random.random() < 0.6 else random.choice("ABCE") for x in row] for row in gold]
    flat = [[label for row in side for label in row] for side in (gold, predicted)]
    theirs = classification_report(*flat, output_dict=True, zero_division=0.0)
    report = evaluate(gold, predicted)
    frame = report.to_frame().rename(columns={"f1": "f1-score"})
    for name in ("A", "B", "C", "D", "E", "macro avg"):
        assert theirs[name] == pytest.approx(dict(frame.loc[name]), rel=1e-12)
    assert report.accuracy == report.precision == report.recall == report.f1 == report.headline
    assert report.accuracy == pytest.approx(theirs["accuracy"])


@ORDERLY
@given(st.sampled_from(list(LETTERS)).flatmap(lambda k: st.lists(st.sampled_from(labels_from(LETTERS[k])))))
def test_spans_equal_seqeval(labels: list[str]) -> None:
    theirs = [(kind, begin, end + 1) for kind, begin, end in get_entities(labels)]
    assert [tuple(span) for span in spans(labels)] == theirs


@ORDERLY
@given(st.lists(st.lists(st.sampled_from([*labels_from("BIES"), "B", "I", "L-X", "U-X"]), max_size=6)))
def test_all_sentences_at_once_give_what_each_gives(sentences: list[list[str]]) -> None:
    values = sorted({label for row in sentences for label in row})
    codes = np.array([values.index(label) for row in sentences for label in row], np.int32)
    starts = np.cumsum([0, *(len(row) for row in sentences)])
    reading = SpanReading.of(values, ["B-ANOTHER"])
    table = reading.find(codes, starts)
    found = list(zip([reading.types[i] for i in table.types], table.begins, table.ends, strict=True))
    expected = [
        (kind, begin + start, end + start)
        for row, start in zip(sentences, starts.tolist(), strict=False)
        for kind, begin, end in spans(row)
    ]
    assert found == expected


def test_a_small_report_by_hand() -> None:
    gold = [["B-NP", "I-NP", "O"], ["B-VP", "B-NP"], ["O"]]
    predicted = [["B-NP", "O", "O"], ["B-VP", "B-NP"], ["O"]]
    report = evaluate(gold, predicted)
    assert report.to_dict() == {
        "name": "F1",
        "headline": 2 / 3,
        "n_sentences": 3,
        "n_tokens": 6,
        "micro_avg": {"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3, "support": 3, "predicted": 3, "correct": 2},
        "macro_avg": {"precision": 0.75, "recall": 0.75, "f1": 0.75, "support": 3},
        "token_accuracy": 5 / 6,
        "sentence_accuracy": 2 / 3,
        "rows": {
            "NP": {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2, "predicted": 2, "correct": 1},
            "VP": {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1, "predicted": 1, "correct": 1},
        },
    }
    json.dumps(report.to_dict())
    assert str(report).splitlines() == [
        "                   precision  recall      F1  support",
        "",
        "               NP      50.00   50.00   50.00        2",
        "               VP     100.00  100.00  100.00        1",
        "",
        "        micro avg      66.67   66.67   66.67        3",
        "        macro avg      75.00   75.00   75.00        3",
        "   token accuracy                      83.33        6",
        "sentence accuracy                      66.67        3",
    ]
    assert repr(report) == str(report)
    assert all(f'<td class="n">{cell}</td>' in report._repr_html_() for cell in ("75.00", "66.67", "83.33", "6"))
    metrics = {metric: report.figure(metric) for metric in report.metrics}
    assert metrics == {"auto": 2 / 3, "token": 5 / 6, "sentence": 2 / 3, "span": 2 / 3}
    with pytest.raises(ArgumentError, match="metric must be one of 'auto', 'token', 'sentence', 'span', not 'las'"):
        report.figure("las")


def test_a_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ArgumentError, match="to_frame needs pandas: pip install"):
        evaluate([["O"]], [["O"]]).to_frame()


def test_structured_outputs() -> None:
    report = StructuredReport(4, 3, 2.0)
    assert (report.name, report.headline, report.figure("accuracy")) == ("accuracy", 0.75, 0.75)
    assert str(report).splitlines() == [
        "           value  support",
        "",
        " accuracy  75.00        4",
        "mean cost    0.5        4",
    ]
    assert report.to_dict()["mean_cost"] == report.to_frame()["value"]["mean cost"] == 0.5
    assert "mean_cost" not in StructuredReport(4, 3).to_dict()
    assert str(StructuredReport(0, 0)) == "no examples to evaluate"


def test_labels_that_mark_no_spans() -> None:
    report = evaluate([["NN", "VB"]], [["NN", "XX"]])
    assert not report.has_spans
    assert report.token_accuracy == 0.5
    assert "micro_avg" not in report.to_dict()
    assert (report.name, report.headline) == ("accuracy", 0.5)
    with pytest.raises(LearnerError, match="needs span labels"):
        report.figure("span")
    assert evaluate([["B-X"]], [["B-X"]], spans=False).name == "accuracy"


def test_nothing_at_all() -> None:
    report = evaluate([], [])
    assert (report.n_sentences, report.token_accuracy, report.sentence_accuracy) == (0, 0.0, 0.0)
    empty = evaluate([["O"]], [["O"]], spans=True)
    assert (empty.precision, empty.recall, empty.f1, empty.rows) == (0.0, 0.0, 0.0, {})


def test_a_slice_of_a_corpus_whose_values_are_shared() -> None:
    values = Strings.of(["B-Y", "O", "B-X"])
    gold, predicted = Column(np.array([1, 2], np.int32), values), Column(np.array([2, 2], np.int32), values)
    report = evaluate_columns(gold, predicted, np.array([0, 1, 2]))
    assert list(report.rows) == ["X"]
    assert (report.token_accuracy, report.sentence_accuracy) == (0.5, 0.5)


def test_refusals() -> None:
    with pytest.raises(CorpusError, match="'gold' has 1 tokens, column 'predicted' has 2"):
        evaluate([["O"]], [["O", "O"]])
    with pytest.raises(CorpusError, match="'NN' is not a span label"):
        evaluate([["B-X"]], [["NN"]])
    column = Column(np.zeros(1, np.int32), Strings.of(["O"]))
    with pytest.raises(CorpusError, match="1 gold labels, 0 predicted"):
        evaluate_columns(column, column.slice(0, 0), np.array([0, 1]))


def test_a_missing_gold_label_is_no_mistake_of_the_tagger(tmp_path: Path) -> None:
    """It is an error that names the line, as in training."""
    tagger = trellis.train({"form": [["a", "b"]] * 3, "upos": [["A", "B"]] * 3}, target="upos", features=["form[0]"])
    path = tmp_path / "dev.conllu"
    path.write_text("1\ta\t_\tA" + "\t_" * 6 + "\n2\tb\t_\t_" + "\t_" * 6 + "\n")
    for corpus, place in ((str(path), r"dev\.conllu:2: "), ({"form": [["a", "b"]], "upos": [["A", ""]]}, "")):
        for question in (tagger.evaluate, tagger.error_analysis, tagger.reliability, tagger.calibrated):
            with pytest.raises(
                trellis.CorpusError, match=f"{place}no label in column 'upos'; add it or remove the sent"
            ):
                question(corpus)  # type: ignore[operator]
