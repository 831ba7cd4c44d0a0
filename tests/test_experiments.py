"""The experiments of the papers, each run on small corpora that are made here; and what keeps and shows figures."""

from __future__ import annotations

import json

import pytest
from command_line import refused
from small_corpora import make_corpora, make_treebank

import experiments
from benchmarks.papers_page import figures
from experiments import steps
from experiments.__main__ import main
from experiments.data import MissingCorpusError, ptb
from experiments.report import Finding, Report, Table, as_markdown, as_text
from experiments.steps import Figures, ResultFile, Setting, Step, run_steps
from trellis._support.errors import ArgumentError, CorpusError


@pytest.fixture(scope="session")
def corpora(tmp_path_factory):
    return make_corpora(tmp_path_factory.mktemp("corpora"))


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_experiments_run_and_report(name, corpora, tmp_path):
    run = experiments.run(name, data=corpora, quick=True, results=tmp_path)
    assert run.report.tables
    assert all(len(row) == len(table.columns) for table in run.report.tables for row in table.rows)
    assert run.report.findings
    kept = json.loads((tmp_path / "quick" / f"{name}.json").read_text())
    assert kept["complete"]
    assert kept["command"] == f"python -m experiments {name} --quick"
    assert {"version", "machine", "seconds"} <= kept.keys()
    assert as_text(run.report).startswith(run.report.tables[0].title)
    again = experiments.experiment(name).report(kept_figures(kept))  # from JSON alone, as pages are made
    assert as_markdown(again, "img") == as_markdown(run.report, "img")


def kept_figures(kept) -> dict[str, Figures]:
    return {name: step["figures"] for name, step in kept["steps"].items()}


def test_two_jobs_give_the_same_figures(corpora):
    one, two = (experiments.run("label-bias", data=corpora, quick=True, jobs=jobs) for jobs in (1, 2))
    assert one.file.figures() == two.file.figures()


def test_a_whole_treebank_takes_the_place_of_the_sample(tmp_path):
    folder = make_treebank(tmp_path / "wsj")
    train, dev, test = ptb(folder)
    assert (len(train), len(dev), len(test)) == (38, 6, 6)
    assert "-NONE-" not in train.column("pos").values
    run = experiments.run("collins-pos", data=tmp_path, ptb=folder, quick=True)
    assert "Penn Treebank" in run.report.tables[0].title
    (folder / "19" / "wsj_1901.mrg").unlink()
    with pytest.raises(CorpusError, match="files of section 19"):
        ptb(folder)


def doubled(setting: Setting, n: int) -> Figures:
    CALLS.append(n)
    if n == 3 and STOP:
        raise KeyboardInterrupt
    return {"n": 2 * n}


CALLS: list[int] = []
STOP: list[bool] = []


def plan(setting: Setting, done: dict[str, Figures]) -> list[Step]:
    """Grows by one step when the others are done."""
    first = [Step(f"step {n}", doubled, {"n": n}) for n in (1, 2, 3)]
    return [*first, Step("last", doubled, {"n": done["step 3"]["n"]})] if "step 3" in done else first


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    setting, path = Setting(tmp_path), tmp_path / "sub" / "kept.json"
    STOP.append(True)
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        run_steps(plan, setting, ResultFile.open(path, {"quick": False}))
    STOP.clear()
    assert CALLS == [1, 2, 3]
    assert not json.loads(path.read_text())["complete"]
    kept = ResultFile.open(path, {"quick": False})
    run_steps(plan, setting, kept)
    assert CALLS == [1, 2, 3, 3, 6]
    assert kept.figures() == {"step 1": {"n": 2}, "step 2": {"n": 4}, "step 3": {"n": 6}, "last": {"n": 12}}
    assert not ResultFile.open(path, {"quick": True}).steps  # not of the same kind
    assert not ResultFile.open(path, {"quick": False}, again=True).steps


def test_figures_of_another_version_are_not_taken_over(tmp_path, monkeypatch):
    path = tmp_path / "kept.json"
    run_steps(plan, Setting(tmp_path), ResultFile.open(path, {}))
    assert ResultFile.open(path, {}).steps
    monkeypatch.setattr(steps.trellis, "__version__", "99")
    assert not ResultFile.open(path, {}).steps


def test_what_is_no_file_of_figures_is_rejected(tmp_path):
    path = tmp_path / "kept.json"
    for text in ("", "[]", "{}", '{"steps": {"a": {}}}', '{"steps": [1]}'):
        path.write_text(text)
        with pytest.raises(CorpusError, match="not a file of figures"):
            ResultFile.open(path, {})


@pytest.mark.parametrize("figures_kept", [None, {}, {"errors": "x"}, {"errors": []}])
def test_damaged_figures_are_said(figures_kept, tmp_path):
    path = tmp_path / "quick" / "label-bias.json"
    experiments.run("label-bias", quick=True, results=tmp_path)
    kept = json.loads(path.read_text())
    kept["steps"]["MEMM"]["figures"] = figures_kept
    path.write_text(json.dumps(kept))
    with pytest.raises(CorpusError, match="its figures are damaged"):
        experiments.run("label-bias", quick=True, results=tmp_path)
    path.write_text(json.dumps(kept | {"experiment": "typos"}))
    assert experiments.run("label-bias", quick=True, results=tmp_path).report.findings  # not its own: run again


def test_missing_corpora_are_named(tmp_path):
    with pytest.raises(MissingCorpusError, match=r"conll2000: absent: train.txt .* --data or TRELLIS_DATA"):
        experiments.run("sha-pereira", data=tmp_path)
    (tmp_path / "typos").mkdir()
    with pytest.raises(MissingCorpusError, match="absent: train10"):
        experiments.run("typos", data=tmp_path, quick=True)
    with pytest.raises(ArgumentError, match="no experiment 'x'; there are collins-chunking"):
        experiments.run("x", data=tmp_path)
    with pytest.raises(ArgumentError, match="no such folder"):
        experiments.run("collins-pos", data=tmp_path, ptb=tmp_path / "none")


def test_the_command_lists_runs_and_reports(corpora, tmp_path, call):
    assert "label-bias" in call("", main=main).out
    given = f"--data {corpora} --quick --results {tmp_path / 'results'}"
    done = call(f"label-bias {given} --report {tmp_path / 'page'}", main=main)
    assert done.code == 0
    assert "States wrong on 500 words" in done.out
    assert "label-bias: 3 of 3 steps done" in done.err
    page = (tmp_path / "page" / "index.html").read_text()
    assert "<table>" in page
    assert "holds: the MEMM is far worse than the CRF" in page
    again = call(f"label-bias {given} --json", main=main)
    assert json.loads(again.out)["label-bias"]["steps"]["CRF"]["figures"]["errors"]
    assert "steps done" not in again.err  # all of it was kept


def test_all_leaves_out_what_has_no_corpus(tmp_path, call):
    done = call(f"all --quick --data {tmp_path} --results {tmp_path / 'results'}", main=main)
    assert done.code == 0
    assert "States wrong on 500 words" in done.out
    assert "typos: skipped:" in done.err


def test_mistakes_of_the_command_are_one_line(tmp_path, call):
    refused(call("nothing", main=main), "no experiment 'nothing'")
    refused(call(f"typos --data {tmp_path}", main=main), "typos: absent")
    refused(call("label-bias --jobs 0", main=main), "at least 1")
    (tmp_path / "file").write_text("")
    refused(call(f"label-bias --quick --report {tmp_path}/file/page", main=main), "--report")


def test_markdown_escapes_and_says_what_does_not_hold():
    report = Report([Table("t", ["a", "b"], [["x|y", 1.5], ["z", None]])], [Finding("c", False, "1, 2")])
    text = as_markdown(report, "img")
    assert r"| x\|y | 1.50 |" in text
    assert "| z | – |" in text
    assert "**Does not hold**: c (1, 2)." in text


# What the papers found and our figures confirm: read off the results that are kept with the project.
HOLD = {
    "collins-chunking": ["averaged better than not averaged", "all features than with cc=5", "best maximum entropy"],
    "collins-pos": ["averaged better than not averaged", "all features than with cc=5"],
    "sha-pereira": ["the CRF is better than the MEMM"],
    "altun-bounds": ["frequent features: the tight bound chooses the same feature again less often"],
    "label-bias": ["the MEMM is far worse"],
    "theory": ["theorem 1", "theorem 2", "theorem 3"],
    "typos": ["averaging helps", "goes below 0.022"],
}


@pytest.mark.parametrize("name", HOLD)
def test_findings_that_hold_on_real_data(name):
    report = experiments.experiment(name).report(figures(name))
    for part in HOLD[name]:
        found = [finding for finding in report.findings if part in finding.claim]
        assert found, part
        assert all(finding.holds for finding in found), part


def test_results_are_whole_and_of_full_runs():
    folder = experiments.RESULTS
    for path in folder.glob("*.json"):
        kept = json.loads(path.read_text())
        assert kept["complete"], path.name
        assert not kept["quick"], path.name
        assert kept["experiment"] in experiments.EXPERIMENTS
