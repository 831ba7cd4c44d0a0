"""McDonald et al. 2005 and 2006: dependency trees by MIRA over arcs, and over arcs with siblings.

The papers used the Penn Treebank, converted by head rules, sections 2-21 and 23, with UAS 90.9 (first order) and 91.5
(second). Our corpora are the free sample of that treebank, a twelfth of it, and two treebanks of Universal
Dependencies with labels. Tags are gold, punctuation counts, subtypes of labels do not. Neighbours on the same files:
MaltParser 1.9, MSTParser and UDPipe, as ``python -m benchmarks parsing_peers`` measures them. Templates, C and epochs
were chosen on dev files.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import trellis
from experiments import data
from experiments.data import Parts
from experiments.report import Cell, Finding, Report, Table
from experiments.steps import Figures, Setting, Step
from trellis.features.arcs import ARC_PRESETS

TITLE = "McDonald et al. 2005, 2006: dependency trees of first and second order"
DATA = ("wsj-sample", "ud-english-ewt", "ud-french-sequoia")
EPOCHS, QUICK_EPOCHS, C = 8, 2, 0.01
WSJ, EWT, SEQUOIA = DATA
STEMS = {EWT: "en_ewt", SEQUOIA: "fr_sequoia"}
# Options of Parser.train, by row.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{WSJ}, order 1": (WSJ, {"order": 1, "features": "mst"}),
    f"{WSJ}, order 2": (WSJ, {"order": 2, "features": "mst"}),
    f"{WSJ}, order 1, crossing arcs": (WSJ, {"order": 1, "features": "mst", "projective": False}),
    f"{WSJ}, order 2, clusters": (WSJ, {"order": 2, "features": "clusters"}),
    f"{EWT}, order 2": (EWT, {"order": 2, "features": "ud"}),
    f"{SEQUOIA}, order 2": (SEQUOIA, {"order": 2, "features": "ud"}),
}
# Attachment without and with labels, as published or as other programs reach it on these files.
NEIGHBOURS = {
    f"{WSJ}, order 1": "McDonald et al. 2005, whole treebank: 90.9",
    f"{WSJ}, order 2": "McDonald & Pereira 2006, whole treebank: 91.5",
    f"{EWT}, order 2": "UDPipe 1.2, published: 88.1, 86.2",
    f"{SEQUOIA}, order 2": "UDPipe 1.2, published: 89.7, 88.1",
}


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Each row once; the one with clusters only where their file is."""
    there = (setting.data / "brown-clusters").is_dir()
    epochs = QUICK_EPOCHS if setting.quick else EPOCHS
    names = [name for name in ROWS if there or "clusters" not in name]
    return [Step(name, trained, {"row": name, "epochs": epochs}) for name in names]


def treebank(setting: Setting, name: str) -> Parts:
    """A treebank by its folder."""
    return data.wsj(setting) if name == WSJ else data.ud(setting, name, STEMS[name])


def trained(setting: Setting, row: str, epochs: int) -> Figures:
    """Train on train, keep the best epoch on dev, measure on test; speed is CPU time on one thread."""
    name, options = ROWS[row]
    parts, given = treebank(setting, name), dict(options)
    if given["features"] == "clusters":
        file = data.find(setting, "brown-clusters", "bllip-clusters.gz")
        given["features"] = [*ARC_PRESETS["mst"], *cluster_templates(str(file))]
    learner = trellis.MIRA(C=C, epochs=epochs, shuffle=True)
    cpu = time.process_time()
    parser = trellis.Parser.train(parts.train, learner=learner, dev=parts.dev, n_threads=setting.n_threads, **given)
    seconds, cpu = time.process_time() - cpu, time.process_time()
    parser.parse_corpus(parts.test, n_threads=1)
    speed = len(parts.test) / (time.process_time() - cpu)
    found = parser.evaluate(parts.test, subtypes=False, n_threads=setting.n_threads)
    return {
        "UAS": 100 * found.uas,
        "LAS": 100 * found.las if parser.labels else None,
        "complete": 100 * found.sentences.uas,
        "dev": 100 * max(event["dev_score"] for event in parser.training["history"]),
        "sentences/s": speed,
        "training, CPU s": seconds,
    }


def cluster_templates(file: str) -> list[str]:
    """Clusters in the place of words (Koo, Carreras & Collins 2008): short and long prefixes of their bit paths."""

    def cluster(place: str, bits: str) -> str:
        return f'cluster(word[{place}], "{file}"{bits})'

    looks = list[str]()
    for bits in (", 4", ", 6", ""):
        head, dep = cluster("head", bits), cluster("dep", bits)
        looks += [f"{head} & {dep}", f"{head} & pos[dep]", f"pos[head] & {dep}"]
    head, sibling, dep = (cluster(place, ", 4") for place in ("head", "sibling", "dep"))
    siblings = [f"pos[head] & {sibling} & {dep}", f"{head} & {sibling} & {dep}"]
    return [
        *(f"{look} & {measure}" for look in looks for measure in ("direction", "distance")),
        *(f"{look} & direction" for look in siblings),
    ]


def report(done: Mapping[str, Figures]) -> Report:
    """Attachment on test, and whether siblings pay."""
    rows: list[list[Cell]] = [
        [name, one["UAS"], one["LAS"], one["complete"], NEIGHBOURS.get(name), int(one["sentences/s"])]
        for name, one in done.items()
    ]
    first, second = (done[f"{WSJ}, order {order}"]["UAS"] for order in (1, 2))
    findings = [
        Finding("siblings pay: second order is better than first", second > first, f"{second:.2f}, {first:.2f}")
    ]
    crossing = done[f"{WSJ}, order 1, crossing arcs"]["UAS"]
    findings.append(
        Finding(
            "English: projective trees are no worse than trees with crossing arcs",
            first >= crossing,
            f"{first:.2f}, {crossing:.2f}",
        )
    )
    columns = [
        "corpus and model",
        "UAS, %",
        "LAS, %",
        "complete trees, %",
        "neighbours (UAS, LAS)",
        "sentences/s, one core",
    ]
    table = Table(f"Test files; MIRA with C = {C}, best epoch on dev", columns, rows)
    return Report([table], findings)
