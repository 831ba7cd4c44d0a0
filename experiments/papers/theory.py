"""Collins 2002, sections 3 and 5: the perceptron's mistakes, counted, beside what theorems 1, 2 and 3 allow.

The paper proves its bounds and measures none of them. Here they are measured on noun phrases of CoNLL-2000, on parts
of speech of the Penn Treebank's sample, and on a corpus that is made: sentences of a small grammar, labelled without
noise, so that there is a margin and theorem 1 says something. docs/bounds.md says what each figure is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import trellis
from experiments.bounds import study
from experiments.data import chunks, wsj
from experiments.report import Cell, Curves, Finding, Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Collins 2002, theorems 1 to 3: mistakes counted beside their bounds"
DATA = ("conll2000", "wsj-sample")
PASSES, QUICK_PASSES = 10, 5
SENTENCES, QUICK_SENTENCES = 300, 60
MADE, CHUNKS, TAGS = "made, separable", "noun phrases", "parts of speech"


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """A study of each corpus."""
    passes, n = (QUICK_PASSES, QUICK_SENTENCES) if setting.quick else (PASSES, SENTENCES)
    return [Step(name, measured, {"corpus": name, "passes": passes, "n": n}) for name in (MADE, CHUNKS, TAGS)]


def made(n: int, seed: int) -> trellis.Corpus:
    """Sentences of determiner, adjectives, noun and verb; what may be noun or verb goes by the word before it."""
    rng = random.Random(seed)
    words, tags = list[list[str]](), list[list[str]]()
    for _ in range(n):
        kinds = ["D", *["A"] * rng.randrange(3), "N", "V"]
        lists = {
            "D": ["the", "a"],
            "A": ["big", "red", "old"],
            "N": ["dog", "walk", "run"],
            "V": ["barks", "walk", "run"],
        }
        tags.append(kinds)
        words.append([rng.choice(lists[kind]) for kind in kinds])
    return trellis.read({"word": words, "tag": tags})


def measured(setting: Setting, corpus: str, passes: int, n: int) -> Figures:
    """The study of one corpus, with as many sentences held out."""
    target, features, whole = "tag", ["word[0]"], made(2 * n, 1)
    if corpus == CHUNKS:
        target, features, whole = "label", ["word[0]", "pos[0]", "pos[-1]", "pos[1]"], chunks(setting).train
    elif corpus == TAGS:
        target, features, whole = "pos", ["word[0]", "suffix(word[0], 3)"], wsj(setting).train
    found = study(
        whole[:n],
        target=target,
        features=features,
        order=1,
        epochs=passes,
        held_out=whole[n : 2 * n],
        n_threads=setting.n_threads,
    )
    return dict(found.to_dict())


def report(done: Mapping[str, Figures]) -> Report:
    """Mistakes and bounds; whether any bound is broken."""
    rows, findings, lines = list[list[Cell]](), list[Finding](), dict[str, list[tuple[float, float]]]()
    for name, one in done.items():
        mistakes: list[int] = one["mistakes"]
        total = sum(mistakes)
        rows.append(_row(name, one))
        lines[name] = list(enumerate(map(float, accumulate(mistakes)), 1))
        if one["theorem_1"] is not None:
            seen = f"{total} mistakes, bound {one['theorem_1']:,.0f}"
            findings.append(Finding(f"{name}: theorem 1", total <= one["theorem_1"], seen))
        seen = f"{mistakes[0]} mistakes in the first pass, bound {one['theorem_2']:,.0f}"
        findings.append(Finding(f"{name}: theorem 2", mistakes[0] <= one["theorem_2"], seen))
        held_out = one["held_out_error"]
        if held_out is not None:
            seen = f"{100 * held_out:.1f}% of new sentences wrong, bound {100 * one['theorem_3']:,.0f}%"
            findings.append(
                Finding(f"{name}: theorem 3, with the bound of this corpus", held_out <= one["theorem_3"], seen)
            )
    columns = [
        "corpus",
        "R",
        "margin",
        "mistakes, first pass",
        "mistakes, all passes",
        "theorem 1",
        "theorem 2",
        "theorem 3, %",
    ]
    curves = [Curves("theory", "Mistakes of the perceptron, added up", "pass", "sentences", lines, log_y=True)]
    return Report([Table("Mistakes and bounds", columns, rows)], findings, curves)


def _row(name: str, one: Mapping[str, Any]) -> list[Cell]:
    mistakes = one["mistakes"]
    bounds = [None if one[key] is None else float(one[key]) for key in ("theorem_1", "theorem_2")]
    return [name, one["R"], one["margin"], mistakes[0], sum(mistakes), *bounds, 100 * one["theorem_3"]]
