"""A perceptron tagger of NLTK in our hands: the same labels, how much faster. It is trained by NLTK on CoNLL-2000."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from nltk.tag.perceptron import PerceptronTagger

import trellis
from benchmarks.common import Result, Setting, best_of, points, seconds, versus
from benchmarks.settings import POS_EPOCHS


def run(setting: Setting) -> Result:
    """Train, write the three files, read them, compare, time."""
    train, test = (
        trellis.read(setting.file(f"conll2000/{part}.txt"), columns="word,pos,chunk") for part in ("train", "test")
    )
    train = train[:500] if setting.quick else train
    words = test.sentences("word")
    theirs = PerceptronTagger(load=False)
    random.seed(1)  # it shuffles
    theirs.train([list(zip(s["word"], s["pos"], strict=True)) for s in train], nr_iter=POS_EPOCHS)
    with tempfile.TemporaryDirectory() as folder:
        parts = zip(("weights", "tagdict", "classes"), theirs.encode_json_obj(), strict=True)
        for name, part in parts:
            (Path(folder) / f"eng.{name}.json").write_text(json.dumps(part))
        theirs.model.weights = json.loads((Path(folder) / "eng.weights.json").read_text())
        ours = trellis.load(folder)
    labels = [[label for _, label in theirs.tag(sentence)] for sentence in words]
    pairs = [
        (a, b)
        for one, other in zip(labels, ours.tag_batch(words), strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    rows = [points("labels that are the same, %", 100 * sum(a == b for a, b in pairs) / len(pairs), 100.0, bar=0)]
    for threads in (1, 2):
        mine, real = best_of(
            setting.rounds,
            seconds(lambda threads=threads: ours.tag_batch(words, n_threads=threads)),
            seconds(lambda: [theirs.tag(sentence) for sentence in words]),
        )
        name = f"tagging, s, {threads} thread{'s' if threads > 1 else ''}"
        rows.append(versus(name, mine, real, better="less", bar=10 if threads == 2 else None))
    return Result("A perceptron tagger of NLTK on the 47,377 tokens of CoNLL-2000's test file", rows, "NLTK")
