from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import classification_report  # type: ignore[import-untyped]
from seqeval.metrics.sequence_labeling import get_entities  # type: ignore[import-untyped]

import trellis
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Strings
from trellis.corpus.schemes import spans
from trellis.evaluation.report import evaluate, evaluate_columns
from trellis.evaluation.spans import SpanReading

LETTERS = {"BIO": "BI", "IOBES": "BIES", "IOE": "IE"}
ORDERLY = settings(derandomize=True, deadline=None, max_examples=100)


def labels_from(letters: str) -> list[str]:
    return ["O", *(f"{letter}-{kind}" for letter in letters for kind in ("X", "Y", "LONG-TYPE"))]


def seqeval_figures(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, dict[str, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report: dict[str, dict[str, float]] = classification_report(gold, predicted, output_dict=True)
    return report


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("seed", range(10))
def test_scores_equal_seqeval_on_random_and_mostly_illegal_labels(letters: str, seed: int) -> None:
    random.seed(seed)
    labels = labels_from(LETTERS[letters])
    gold = [random.choices(labels, k=random.randrange(1, 12)) for _ in range(40)]
    predicted = [[x if random.random() < 0.7 else random.choice(labels) for x in row] for row in gold]
    theirs, ours = seqeval_figures(gold, predicted), evaluate(gold, predicted).spans
    assert ours is not None
    for name, score in [("micro avg", ours.micro), *ours.types.items()]:
        assert theirs[name]["precision"] == pytest.approx(score.precision, rel=1e-12)
        assert theirs[name]["recall"] == pytest.approx(score.recall, rel=1e-12)
        assert theirs[name]["f1-score"] == pytest.approx(score.f1, rel=1e-12)
        assert theirs[name]["support"] == score.gold
    assert set(theirs) == {*ours.types, "micro avg", "macro avg", "weighted avg"}


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
        "n_sentences": 3,
        "n_tokens": 6,
        "token_accuracy": 5 / 6,
        "sentence_accuracy": 2 / 3,
        "spans": {
            **{"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3, "gold": 3, "predicted": 3, "correct": 2},
            "types": {
                "NP": {"precision": 0.5, "recall": 0.5, "f1": 0.5, "gold": 2, "predicted": 2, "correct": 1},
                "VP": {"precision": 1.0, "recall": 1.0, "f1": 1.0, "gold": 1, "predicted": 1, "correct": 1},
            },
        },
    }
    json.dumps(report.to_dict())
    assert str(report).splitlines() == [
        "sentences 3, 66.67% without a mistake",
        "tokens    6, 83.33% right",
        "",
        "           precision  recall      F1    gold   found   right",
        "all spans      66.67   66.67   66.67       3       3       2",
        "NP             50.00   50.00   50.00       2       2       1",
        "VP            100.00  100.00  100.00       1       1       1",
    ]


def test_labels_that_mark_no_spans() -> None:
    report = evaluate([["NN", "VB"]], [["NN", "XX"]])
    assert report.spans is None
    assert report.token_accuracy == 0.5
    assert "spans" not in report.to_dict()
    assert "F1" not in str(report)
    assert evaluate([["B-X"]], [["B-X"]], spans=False).spans is None


def test_nothing_at_all() -> None:
    report = evaluate([], [])
    assert (report.n_sentences, report.token_accuracy, report.sentence_accuracy) == (0, 0.0, 0.0)
    empty = evaluate([["O"]], [["O"]], spans=True).spans
    assert empty is not None
    assert (empty.micro.precision, empty.micro.recall, empty.micro.f1, empty.types) == (0.0, 0.0, 0.0, {})


def test_a_slice_of_a_corpus_whose_values_are_shared() -> None:
    values = Strings.of(["B-Y", "O", "B-X"])
    gold, predicted = Column(np.array([1, 2], np.int32), values), Column(np.array([2, 2], np.int32), values)
    report = evaluate_columns(gold, predicted, np.array([0, 1, 2]))
    assert report.spans is not None
    assert list(report.spans.types) == ["X"]
    assert (report.token_accuracy, report.sentence_accuracy) == (0.5, 0.5)


def test_refusals() -> None:
    with pytest.raises(CorpusError, match="'gold' has 1 tokens, column 'predicted' 2"):
        evaluate([["O"]], [["O", "O"]])
    with pytest.raises(CorpusError, match="'NN' marks no span"):
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
        for question in (tagger.evaluate, tagger.details, tagger.reliability, tagger.calibrated):
            with pytest.raises(
                trellis.CorpusError, match=f"{place}no label in column 'upos'; add it or remove the sent"
            ):
                question(corpus)  # type: ignore[operator]
