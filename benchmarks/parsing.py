"""Dependency parsing: accuracy and speed on three treebanks, beside UDPipe where it installs.

Templates, C and the number of epochs were chosen on the dev files; each test file is parsed once per row. Gold tags,
punctuation counted, subtypes of labels ignored.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from trellis import parsing
from trellis.features.arc_presets import ARC_PRESETS

Row = dict[str, Any]
SPLITS = ("train", "dev", "test")


def run(setting: Setting) -> Result:
    """Train on train, keep the best epoch on dev, measure on test."""
    rows = [*_wsj(setting), *_ud(setting)]
    return Result(
        "dependency parsing, MIRA (C=0.01), test files; sentences per second and seconds are CPU time, one thread",
        rows,
        notes=[
            "published or measured elsewhere: MaltParser wsj-sample UAS 85.7, EWT 85.9 / 83.1, Sequoia 88.2 / 86.0",
            "UDPipe 1.2, published: EWT 88.1 / 86.2, Sequoia 89.7 / 88.1",
        ],
    )


def _wsj(setting: Setting) -> list[Row]:
    read = {name: trellis.read(setting.file(f"wsj-sample/{name}.tsv"), columns="word,pos,head") for name in SPLITS}
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
    rows = list[Row]()
    for name, stem, gz in (("ud-english-ewt", "en_ewt", ".gz"), ("ud-french-sequoia", "fr_sequoia", "")):
        files = {one: setting.file(f"{name}/{stem}-ud-{one}.conllu{gz if one == 'train' else ''}") for one in SPLITS}
        read = {one: trellis.read(file) for one, file in files.items()}
        rows.append(_row(name, setting, read, "order 2", order=2, features="ud"))
        rows += _udpipe(name, read)
    return rows


def _row(corpus: str, setting: Setting, read: dict[str, trellis.Corpus], what: str, **options: Any) -> Row:
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


def _udpipe(name: str, read: dict[str, trellis.Corpus]) -> list[Row]:
    """UDPipe 1's parser by its own defaults, trained on the same files; nothing where it is not installed."""
    try:
        from ufal.udpipe import InputFormat, Pipeline, ProcessingError, Sentences, Trainer
    except ImportError:
        return []
    from ufal.udpipe import Model, Sentence

    def sentences(corpus: trellis.Corpus) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "part.conllu"
            trellis.write(corpus, file)
            reader, out, sentence = InputFormat.newConlluInputFormat(), Sentences(), Sentence()
            reader.setText(file.read_text())
            error = ProcessingError()
            while reader.nextSentence(sentence, error):
                out.append(sentence)
                sentence = Sentence()
            return out

    with tempfile.TemporaryDirectory() as folder:
        cpu, error = time.process_time(), ProcessingError()
        trained = Trainer.train(
            "morphodita_parsito", sentences(read["train"]), sentences(read["dev"]), "none", "none", "", error
        )
        seconds = time.process_time() - cpu
        file = Path(folder) / "model"
        file.write_bytes(trained)
        model = Model.load(str(file))
        gold = Path(folder) / "test.conllu"
        trellis.write(read["test"], gold)
        text, begun = gold.read_text(), time.process_time()
        parsed = Pipeline(model, "conllu", "none", Pipeline.DEFAULT, "conllu").process(text, error)
        took = time.process_time() - begun
        found = Path(folder) / "parsed.conllu"
        found.write_text(parsed)
        words = read["test"].sentences("form")
        trees = [_trees(trellis.read(one)) for one in (gold, found)]
        report = parsing.attachment(words, *trees, subtypes=False)
    n = len(read["test"])
    scores = {"UAS, %": 100 * report.all.uas, "LAS, %": 100 * report.all.las}
    return [{"corpus": name, "parser": "UDPipe 1", **scores, "sentences/s": n / took, "training, CPU s": seconds}]


def _trees(corpus: trellis.Corpus) -> list[tuple[list[int], list[str]]]:
    heads, labels = corpus.sentences("head"), corpus.sentences("deprel")
    return [([int(head) for head in one], names) for one, names in zip(heads, labels, strict=True)]
