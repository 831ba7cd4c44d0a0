"""docs/papers.md, its curves, and README's rows of the papers, all made from experiments/results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, RESULTS, experiment
from experiments.data import SOURCES
from experiments.page import draw
from experiments.report import as_markdown
from experiments.steps import Figures, read_results

HEAD = """# The papers' tables, rerun

The folder `experiments` of a clone reruns the experiments of the papers that trellis implements. In the clone,
`python -m experiments` lists them, `python -m experiments NAME` runs one and prints its tables with the printed figures
beside ours, and `python -m experiments all --report DIR` writes all of them as one page for a browser.

    python -m experiments collins-chunking --data corpora
    python -m experiments all --data corpora --quick --jobs 2 --report report

- `--quick` takes a part of the data and fewer passes: about a minute each. Its figures say that it runs, little more.
- `--jobs N` runs so many steps at a time. Every step is seeded: the same version gives the same figures.
- Finished steps are stored in `--results` (default: `experiments/results`), a JSON file per experiment. An interrupted
  run resumes; `--again` starts anew.
- `--data` or `TRELLIS_DATA` names the folder of corpora. [Below](#the-corpora) is what they are and where to get them.

Whatever is chosen (epochs, constants, orders) is chosen on development data, and each table says on which. Two systems
are compared by McNemar's test on tokens and by approximate randomisation of their scores; intervals are of 10,000
bootstraps. The same tests are in Python, for your own taggers:

```python
import numpy as np
from trellis.evaluation.significance import bootstrap, mcnemar, randomisation

right_a = np.array([1, 1, 1, 0, 1, 1, 1, 1, 1, 1], bool)  # which tokens system A has right
right_b = np.array([1, 0, 0, 0, 1, 0, 0, 1, 0, 1], bool)
test = mcnemar(right_a, right_b)
assert (test.a, test.b) == (5, 0) and round(test.p, 4) == 0.0625

a = [[9, 10, 10], [7, 9, 8], [5, 5, 6], [8, 8, 9]]  # of each sentence: spans that are correct, predicted, gold
b = [[8, 10, 10], [6, 9, 8], [5, 6, 6], [7, 8, 9]]
print(randomisation(a, b).p, bootstrap(a))
```

And so are the experiments, in a clone:

```python
import experiments

run = experiments.run("label-bias", quick=True)
for finding in run.report.findings:
    print(finding)
    assert finding.holds
```

This page is made from `experiments/results` by `python -m benchmarks report`; no figure on it is typed.
"""


def kept(name: str) -> dict[str, Any]:
    """The file of an experiment that was run to its end, or nothing."""
    path = RESULTS / f"{name}.json"
    found = read_results(path) if path.exists() else {}
    return found if found.get("complete") else {}


def figures(name: str) -> dict[str, Figures]:
    """The figures of an experiment's steps."""
    return {step: one["figures"] for step, one in kept(name).get("steps", {}).items()}


def papers_page() -> str:
    """The whole page."""
    parts = [HEAD, _findings()]
    for name in EXPERIMENTS:
        if not (found := kept(name)):
            continue
        one = experiment(name)
        paragraphs = [" ".join(part.split()) for part in (one.__doc__ or "").split("\n\n")[1:]]
        report = as_markdown(one.report(figures(name)), "img/papers")
        machine = found["machine"]
        about = f"`{found['command']}`: {found['seconds']:,.0f} s on {machine['cores']} cores ({machine['cpu']})."
        parts += [f"## {name}", f"*{one.TITLE}.*", *paragraphs, report, about]
    corpora = "\n".join(f"| `{folder}` | {what} |" for folder, what in SOURCES.items())
    parts += [
        "## The corpora",
        "None of them is part of trellis.",
        f"| folder | what is in it |\n| --- | --- |\n{corpora}",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _findings() -> str:
    """What the papers found, in one table: the ones that hold here, and those that do not."""
    rows = list[str]()
    for name in EXPERIMENTS:
        if kept(name):
            for finding in experiment(name).report(figures(name)).findings:
                verdict = "yes" if finding.holds else "**no**"
                rows.append(f"| {name} | {finding.claim} | {verdict} | {finding.seen} |")
    head = "| experiment | finding | holds here | seen |\n| --- | --- | --- | --- |\n"
    return "## What holds, and what does not\n\n" + head + "\n".join(rows)


def draw_papers(folder: Path) -> None:
    """The curves of all experiments."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS:
        if kept(name):
            for curves in experiment(name).report(figures(name)).curves:
                (folder / f"{curves.name}.svg").write_bytes(draw(curves))


def paper_rows() -> list[str]:
    """README's rows: what we reach beside what is published."""
    lines = list[str]()

    def add(name: str, work: str, ours: str, theirs: str) -> None:
        lines.append(f"| {work} | {ours} | {theirs} | | `python -m experiments {name}` |")

    if done := figures("collins-chunking"):
        add(
            "collins-chunking",
            "noun phrases, perceptron",
            f"F1 {done['test, perceptron']['score']:.2f}",
            "Collins 2002: 93.63",
        )
    if done := figures("sha-pereira"):
        scores = [done[f"test, {name}"]["score"] for name in ("CRF", "CRF, more templates")]
        ours = f"F1 {scores[0]:.2f}, with ten templates more {scores[1]:.2f}"
        add("sha-pereira", "noun phrases, CRF of order 2", ours, "Sha & Pereira 2003: 94.38")
    if done := figures("typos"):
        hmm = done["HMM, maximum likelihood, 10%"]["letters"]
        orders = {name: one for name, one in done.items() if name.startswith("order") and name.endswith("10%")}
        best = min(orders, key=lambda name: float(orders[name]["dev"]))
        ours = f"HMM {100 * hmm:.1f}%, perceptron of {best.split(',')[0]} {100 * orders[best]['letters']:.1f}%"
        add("typos", "typos, letters wrong", ours, "Grover & Ngo Ho: 4%")
    if done := figures("ocr"):
        errors = {
            name: sum(one["errors"]) / len(one["errors"]) for name, one in done.items() if name.startswith("large")
        }
        best = min(errors, key=errors.__getitem__)
        pairs = errors["large, HM-SVM, order 1"]
        ours = f"{best.removeprefix('large, ')}: {errors[best]:.2f}%; HM-SVM, order 1: {pairs:.1f}%"
        add("ocr", "handwritten letters wrong, ten folds", ours, "max-margin, order 1: 13%")
    peers = _peers()
    for name, one in figures("parsing").items():
        if "crossing" not in name and "clusters" not in name:
            scores_shown = f"UAS {one['UAS']:.2f}" + (f", LAS {one['LAS']:.2f}" if one["LAS"] is not None else "")
            ours = f"{scores_shown}, {one['sentences/s']:,.0f} sentences/s on one core"
            add("parsing", f"dependency trees, {name}", ours, peers.get(name, "–"))
    if done := figures("segmentation"):
        test = done["test, MIRA"]
        unknown = f"{test['unknown']:.1f}% ({test['unknown in any width']:.1f}% in any width)"
        ours = f"F1 {test['F1']:.2f}, recall of unknown words {unknown}"
        add("segmentation", "Chinese words, PKU", ours, "best published linear models 95.2 to 95.4")
    for name in ("PCFG, v2 h1", "perceptron, features of spans", "perceptron, features of spans, own tagger"):
        if one := figures("trees").get(name):
            ours = f"F1 {one['F1']:.2f}, {one['sentences/s']:,.0f} sentences/s on one core"
            add("trees", f"phrases of wsj-sample, {name}", ours, "")
    return lines


def _peers() -> dict[str, str]:
    """Other parsers on the same files, as parsing_peers measured them: the best one of each corpus."""
    from benchmarks.report import kept as benchmark

    out = dict[str, str]()
    for row in benchmark("parsing_peers").get("rows", []):
        scores = f"UAS {row['UAS, %']:.2f}" + (f", LAS {row['LAS, %']:.2f}" if "LAS, %" in row else "")
        shown = f"{row['parser']} {scores}, {row['sentences/s']:,.0f} sentences/s"
        orders = (1, 2) if "order" not in row["parser"] else (int(row["parser"][-1]),)
        for order in orders:
            key = f"{row['corpus']}, order {order}"
            out[key] = f"{out[key]}; {shown}" if key in out else shown
    return out
