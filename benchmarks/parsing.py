"""Dependency parsing: accuracy and speed on three treebanks; other parsers: parsing_peers.py.

Templates, C and the number of epochs were chosen on the dev files; each test file is parsed once per row. Gold tags,
punctuation counted, subtypes of labels ignored.
"""

from __future__ import annotations

import time
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from trellis import parsing
from trellis.features.arc_presets import ARC_PRESETS

Row = dict[str, Any]
Treebank = dict[str, trellis.Corpus]  # train, dev and test
SPLITS = ("train", "dev", "test")
# Where each part is, and the columns of a file that does not name its own.
TREEBANKS = {
    "wsj-sample": ("wsj-sample/{}.tsv", "word,pos,head"),
    "ud-english-ewt": ("ud-english-ewt/en_ewt-ud-{}.conllu", None),
    "ud-french-sequoia": ("ud-french-sequoia/fr_sequoia-ud-{}.conllu", None),
}


def run(setting: Setting) -> Result:
    """Train on train, keep the best epoch on dev, measure on test."""
    rows = [*_wsj(setting), *_ud(setting)]
    return Result(
        "dependency parsing, MIRA (C=0.01), test files; sentences per second and seconds are CPU time, one thread",
        rows,
        notes=["other parsers on the same files: `python -m benchmarks parsing_peers`"],
    )


def treebank_of(setting: Setting, name: str) -> Treebank:
    """The parts of a treebank; one that is packed is read as it is."""
    path, columns = TREEBANKS[name]
    found = [path.format(part) for part in SPLITS]
    packed = [one if (setting.data / one).exists() else f"{one}.gz" for one in found]
    return {part: trellis.read(setting.file(one), columns=columns) for part, one in zip(SPLITS, packed, strict=True)}


def _wsj(setting: Setting) -> list[Row]:
    read = treebank_of(setting, "wsj-sample")
    rows = [_row("wsj-sample", setting, read, f"order {order}", order=order, features="mst") for order in (1, 2)]
    rows.append(_row("wsj-sample", setting, read, "order 1, crossing", order=1, features="mst", projective=False))
    more = [*ARC_PRESETS["mst"], *_cluster_templates(str(setting.file("brown-clusters/bllip-clusters.gz")))]
    rows.append(_row("wsj-sample", setting, read, "order 2, clusters", order=2, features=more))
    return rows


def _cluster_templates(file: str) -> list[str]:
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


def _ud(setting: Setting) -> list[Row]:
    return [
        _row(name, setting, treebank_of(setting, name), "order 2", order=2, features="ud")
        for name in ("ud-english-ewt", "ud-french-sequoia")
    ]


def _row(corpus: str, setting: Setting, read: Treebank, what: str, **options: Any) -> Row:
    train = read["train"][:300] if setting.quick else read["train"]
    learner = trellis.MIRA(C=0.01, epochs=2 if setting.quick else 8, shuffle=True)
    begun, cpu = time.perf_counter(), time.process_time()
    parser = parsing.train(train, learner=learner, dev=read["dev"], **options)
    trained, trained_cpu = time.perf_counter() - begun, time.process_time() - cpu
    report = parser.evaluate(read["test"], subtypes=False)
    best = float("inf")
    for _ in range(setting.rounds):
        cpu = time.process_time()
        parser.parse_corpus(read["test"], n_threads=1)
        best = min(best, time.process_time() - cpu)
    scores: Row = {"UAS, %": 100 * report.all.uas}
    if parser.labels:
        scores["LAS, %"] = 100 * report.all.las
    scores |= {"dev, %": 100 * max(event["dev_score"] for event in parser.info["history"])}
    times = {"sentences/s": len(read["test"]) / best, "training, s": trained, "training, CPU s": trained_cpu}
    return {"corpus": corpus, "parser": f"trellis, {what}", **scores, **times}
