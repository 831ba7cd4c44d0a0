"""What all reports have in common; another kind of report joins by one entry."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import pytest

import trellis
from trellis import Document, DocumentSentence, Word
from trellis.corpus.brackets import parse_trees
from trellis.evaluation.attachment import attachment
from trellis.evaluation.brackets import evaluate_trees
from trellis.evaluation.error_analysis import error_analysis
from trellis.evaluation.report import StructuredReport
from trellis.evaluation.tagging import RerankingReport, evaluate
from trellis.evaluation.words import compare_words

SPANS = [["B-NP", "I-NP", "O"], ["B-VP"]], [["B-NP", "O", "O"], ["B-VP"]]
TAGS = [["D", "N", "V"], ["N"]], [["D", "N", "N"], ["N"]]
ARCS = [([2, 0, 2], ["det", "root", "punct"])], [([2, 0, 1], ["det", "root", "punct"])]
TREES = "(S (NP (DT the) (NN dog)) (VP (VB saw)))", "(S (NP (DT the)) (VP (NN dog) (VB saw)))"
WORDS = [Word("a", upos="DET", head=2, deprel="det"), Word("cat", upos="NOUN", head=0, deprel="root")]
DOCUMENTS = (
    Document("", [DocumentSentence(WORDS)]),
    Document("", [DocumentSentence([replace(WORDS[0], head=0), WORDS[1]])]),
)
REPORTS: dict[str, tuple[trellis.Report, str, float]] = {
    "spans": (evaluate(*SPANS), "F1", 1 / 2),
    "tags": (evaluate(*TAGS), "accuracy", 3 / 4),
    "parts": (evaluate([["N|Case=Nom"]], [["N|Case=Acc"]], label_parts="|"), "accuracy", 0.0),
    "arcs": (attachment([["a", "dog", "."]], *ARCS), "LAS", 2 / 3),
    "arcs without labels": (attachment([["a", "b"]], [([2, 0], None)], [([0, 1], None)]), "UAS", 0.0),
    "brackets": (evaluate_trees(*(parse_trees(text) for text in TREES)), "F1", 1 / 3),
    "words": (compare_words([["ab", "c", "d"]], [["a", "b", "c", "d"]], {"c"}), "F1", 4 / 7),
    "reranking": (RerankingReport.of(evaluate(*SPANS), evaluate(*SPANS), evaluate(SPANS[0], SPANS[0])), "F1", 1 / 2),
    "pipeline": (trellis.compare_documents(*DOCUMENTS), "LAS", 1 / 2),
    "structured": (StructuredReport(4, 3, 2.0), "accuracy", 3 / 4),
    "error analysis": (error_analysis(*TAGS), "macro F1", (1 + 4 / 5 + 0) / 3),
}


@pytest.mark.parametrize(("report", "name", "headline"), REPORTS.values(), ids=REPORTS)
def test_every_report(report: trellis.Report, name: str, headline: float) -> None:
    assert (report.name, report.headline) == (name, pytest.approx(headline))
    figures = report.to_dict()
    assert json.loads(json.dumps(figures)) == figures
    assert (figures["name"], figures["headline"]) == (name, report.headline)
    assert list(figures["rows"]) == list(report.rows)
    frame, lines = report.to_frame(), str(report).splitlines()
    assert list(frame.index) == [*report.rows, *report.summary()]
    for row in frame.index:
        line = next(line for line in lines if line.strip().startswith(f"{row} "))
        cells = frame.loc[row].dropna().tolist()
        assert line.split()[-1] == str(int(cells[-1]))
        assert all(f"{100 * cell:.2f}" in line for cell in cells[:-1]) or row == "mean cost"
    assert f">{100 * headline:.2f}<" in report._repr_html_()
    assert repr(report) == str(report)
    assert pickle.loads(pickle.dumps(report)) == copy.deepcopy(report) == report


@pytest.mark.parametrize("name", REPORTS)
def test_metrics(name: str) -> None:
    report = REPORTS[name][0]
    absent = {"tags": "span", "parts": "span", "arcs without labels": "las"}.get(name)
    for metric, attribute in report.metrics.items():
        if metric == absent:
            with pytest.raises(trellis.LearnerError, match="metric"):
                report.figure(metric)
        else:
            assert 0 <= report.figure(metric) == getattr(report, attribute) <= 1
    with pytest.raises(trellis.ArgumentError, match="metric must be one of 'auto'"):
        report.figure("nothing")


NOTHING: dict[str, Any] = {
    "tokens": evaluate([], []),
    "words": attachment([], [], []),
    "sentences": evaluate_trees([], []),
    "examples": StructuredReport(0, 0),
}


@pytest.mark.parametrize("what", NOTHING)
def test_nothing_to_evaluate(what: str) -> None:
    assert str(NOTHING[what]) == f"no {what} to evaluate"
    assert f"no {what} to evaluate" in NOTHING[what]._repr_html_()
    assert NOTHING[what].headline == 0
