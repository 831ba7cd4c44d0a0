"""Small corpora and every kind of model, for the tests of features, learners, taggers and model files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Corpus
from trellis.learning.options import grouped
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import TaggingOptions

LETTERS = "aAbB1-."


def random_corpus(
    seed: int,
    n_sentences: int = 12,
    *,
    n_words: int = 9,
    n_labels: int = 3,
    longest: int = 6,
    bag: bool = False,
    parts: bool = False,
) -> Corpus:
    """Columns word, pos, label (and attributes); labels depend on what is seen, with some noise."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list(LETTERS), rng.integers(1, 5))) for _ in range(n_words)]
    columns: dict[str, list[list[Any]]] = {"word": [], "pos": [], "label": []}
    if bag:
        columns["attributes"] = []
    for i in range(n_sentences):
        n = int(rng.integers(1 if i == 0 else 0, longest + 1))
        chosen = rng.integers(0, n_words, n)
        columns["word"].append([words[w] for w in chosen])
        columns["pos"].append([f"P{(w * 7) % 4}" for w in chosen])
        noise = rng.integers(0, 3, n)
        before = np.concatenate([[0], chosen[:-1]]) if n else chosen
        columns["label"].append(
            [f"L{(w + b + (e == 0)) % n_labels}" for w, b, e in zip(chosen, before, noise, strict=True)]
        )
        if bag:
            columns["attributes"].append(
                [
                    {f"x{k}": float(rng.integers(-4, 5)) / 4 for k in rng.choice(5, rng.integers(0, 4), replace=False)}
                    for _ in chosen
                ]
            )
    if parts:  # neighbours share the first part, every other one the second
        columns["label"] = [[f"L{int(z[1:]) // 2}|k={int(z[1:]) % 2}" for z in row] for row in columns["label"]]
    return trellis.read(columns)


def learners(epochs: int) -> dict[str, Any]:
    """Learners of every kind that go by epochs."""
    return {
        "perceptron": trellis.Perceptron(epochs=epochs),
        "voted": trellis.Perceptron(epochs=epochs, vote=True),
        "mira": trellis.MIRA(epochs=epochs, k=2),
        "pa": trellis.PassiveAggressive(epochs=epochs),
        "arow": trellis.AROW(epochs=epochs),
        "crf": trellis.CRF(epochs=epochs),
        "crf l1": trellis.CRF(c1=0.1, epochs=epochs),
        "crf adagrad": trellis.CRF(solver="adagrad", epochs=epochs),
        "maxent": trellis.MaxEnt(epochs=epochs),
        "maxent gis": trellis.MaxEnt(solver="gis", epochs=epochs),
        "exponential": trellis.ExponentialLoss(epochs=epochs),
        "boost": trellis.SequenceBoost(epochs=epochs),
        "hmsvm": trellis.HMSVM(epochs=epochs),
        "kernel perceptron": trellis.KernelPerceptron(epochs=epochs),
    }


def unreadable(path: Path, content: bytes, why: str) -> CorpusError:
    """The error, with these words in it, that reading a file with this content gives."""
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=re.escape(why)) as caught:
        trellis.read(path)
    return caught.value


@dataclass(frozen=True)
class Kind:
    """One kind of model: what to look at and how to train."""

    templates: tuple[str, ...] = ("word[0]", "word[-1]", "word[0] & word[1]", "bias")
    options: dict[str, Any] = field(default_factory=dict)
    bag: bool = False
    n_words: int = 9
    n_labels: int = 3
    parts: bool = False

    def corpus(self, seed: int = 0, n_sentences: int = 12) -> Corpus:
        sizes = {"n_words": self.n_words, "n_labels": self.n_labels}
        return random_corpus(seed, n_sentences, bag=self.bag, parts=self.parts, **sizes)

    def train(self, corpus: Corpus | None = None, **options: Any) -> Tagger:
        """A tagger with whole weights, unless options say otherwise; those of groups by the names of the fields."""
        usual = {"learner": trellis.Perceptron(epochs=3, average=False), "features": list(self.templates)}
        values = grouped(TaggingOptions, {"target": "label", **usual, **self.options, **options})
        return trellis.train(self.corpus() if corpus is None else corpus, **values)


FILES = Path(__file__).parent / "files"

KINDS = {
    "plain": Kind(),
    "many labels": Kind(("word[0]", "pos[-1]", "pos[0] & pos[1]", "bias"), n_labels=21, n_words=60),
    "order 0": Kind(options={"order": 0}),
    "order 2": Kind(options={"order": 2}),
    "functions": Kind(
        (
            "suffix(word[0], 2)",
            "prefix(lower(word[1]), 1) & pos[0]",
            "shape(word[-2])",
            "is_first & has_digit(word[0])",
            "is_last",
            "lower(word[0]) & shape(word[0])",
        )
    ),
    "edges": Kind(("word[0]", "label[-1] & pos[0]", "label[-1] & word[-1] & suffix(word[0], 1)")),
    "edges 2": Kind(("word[0]", "label[-1] & pos[1]", "pos[0] & pos[1]"), {"order": 2}),
    "edges cut-off": Kind(("word[0]", "label[-1] & word[0]", "label[-1] & pos[-1]"), {"min_count": 3}),
    "tag dictionary": Kind(options={"tag_dictionary": 3}),
    "tag dictionary 2": Kind(options={"tag_dictionary": 2, "order": 2}),
    "bag": Kind(("attributes[0]",), bag=True),
    "bag and columns": Kind(("word[0]", "attributes[0]", "word[-1] & pos[0]", "bias"), bag=True),
    "pairs seen": Kind(options={"pairs": "seen"}),
    "cut-off": Kind(options={"min_count": 3}),
    "seen cut-off": Kind(options={"min_count": 2, "pairs": "seen"}),
    "shared": Kind(("near: word[-1]", "near: word[1]", "two: pos[-1] & pos[0]", "two: pos[0] & pos[1]", "word[0]")),
    "folds": Kind(
        (
            " & ".join(f"word[{i}]" for i in range(-6, 7)),
            "label[-1] & " + " & ".join(f"lower(word[{i}])" for i in range(-6, 6)),
            "far: " + " & ".join(f"word[{i}]" for i in range(-7, 6)),
            "far: " + " & ".join(f"word[{i}]" for i in range(-8, 5)),
            "word[0]",
        ),
        n_words=60,
    ),
    "files": Kind(
        (
            f'cluster(word[0], "{FILES}/clusters.tsv")',
            f'cluster(lower(word[-1]), "{FILES}/clusters.tsv", 2)',
            f'listed(word[0], "{FILES}/names.txt") & pos[0]',
            "pos[1]",
        )
    ),
}

# Models with weights on parts of labels, which not every learner has.
PARTS: dict[str, Any] = {"parts": True, "n_labels": 7}
PART_KINDS = {
    "parts": Kind(options={"label_parts": "|"}, **PARTS),
    "parts 2": Kind(("word[0]", "label[-1] & pos[1]", "pos[0] & pos[1]"), {"label_parts": "|", "order": 2}, **PARTS),
    "parts and a dictionary": Kind(options={"label_parts": "|", "tag_dictionary": 2}, **PARTS),
    "parts and bags": Kind(("word[0]", "attributes[0]"), {"label_parts": "|"}, bag=True, **PARTS),
    "parts seen": Kind(options={"label_parts": "|", "pairs": "seen", "min_count": 2}, **PARTS),
}
