"""Labelled brackets of trees compared as evalb compares them (COLLINS.prm).

Words whose gold tag is punctuation are taken out of both trees, and phrases that are then empty; the root is no
bracket, nor are tags; PRT counts as ADVP. Brackets are a multiset of (label, first word, last word).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trellis._support.errors import ArgumentError
from trellis.corpus.tree import ROOTS, PhraseTree
from trellis.evaluation.report import score_figures, score_table
from trellis.evaluation.spans import Score

PUNCTUATION = frozenset([",", ":", "``", "''", "."])
SAME = {"PRT": "ADVP"}
Bracket = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class BracketReport:
    """Labelled bracket scores of parses against right trees."""

    overall: Score
    by_label: dict[str, Score]
    sentences: int
    complete: int  # sentences whose brackets are all right
    words: int
    right_tags: int  # without punctuation

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall of all brackets."""
        return self.overall.f1

    @property
    def complete_match(self) -> float:
        """The share of sentences whose brackets are all right."""
        return self.complete / self.sentences if self.sentences else 0.0

    @property
    def tag_accuracy(self) -> float:
        """The share of words whose tag is right."""
        return self.right_tags / self.words if self.words else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain dicts, ready for JSON."""
        return {
            "n_sentences": self.sentences,
            "complete_match": self.complete_match,
            "n_words": self.words,
            "tag_accuracy": self.tag_accuracy,
            "brackets": score_figures(self.overall),
            "labels": {label: score_figures(score) for label, score in self.by_label.items()},
        }

    def __str__(self) -> str:
        if not self.sentences:
            return "no sentences to evaluate"
        return "\n".join(
            [
                f"sentences {self.sentences}, {100 * self.complete_match:.2f}% with all brackets right",
                f"words     {self.words} without punctuation, {100 * self.tag_accuracy:.2f}% with the right tag",
                *score_table({"all brackets": self.overall, **self.by_label}),
            ]
        )


def evaluate_trees(
    gold: Iterable[PhraseTree], parsed: Iterable[PhraseTree], *, longest: int | None = None
) -> BracketReport:
    """Compare parses with right trees, both of the same words; with ``longest`` only sentences of so many words."""
    pairs = [list(gold), list(parsed)]
    if len(pairs[0]) != len(pairs[1]):
        raise ArgumentError(f"{len(pairs[0])} right trees and {len(pairs[1])} parses; compare the same sentences")
    wanted, found, right = Counter[str](), Counter[str](), Counter[str]()
    sentences = complete = words = right_tags = 0
    for number, (tree, parse) in enumerate(zip(*pairs, strict=True), 1):
        tree, parse = tree.clean() or tree, parse.clean() or parse
        if tree.words != parse.words:
            raise ArgumentError(f"sentence {number}: the parse has other words than the right tree")
        if longest is not None and len(tree.words) > longest:
            continue
        pos = tree.pos
        gold_brackets, parse_brackets = brackets(tree, pos), brackets(parse, pos)
        common = gold_brackets & parse_brackets
        for counts, to in ((gold_brackets, wanted), (parse_brackets, found), (common, right)):
            for (label, _, _), n in counts.items():
                to[label] += n
        sentences += 1
        complete += gold_brackets == parse_brackets
        tags = [(a, b) for a, b in zip(pos, parse.pos, strict=True) if a not in PUNCTUATION]
        words, right_tags = words + len(tags), right_tags + sum(a == b for a, b in tags)
    by_label = {label: Score(wanted[label], found[label], right[label]) for label in sorted({*wanted, *found})}
    overall = Score(wanted.total(), found.total(), right.total())
    return BracketReport(overall, by_label, sentences, complete, words, right_tags)


def brackets(tree: PhraseTree, pos: Sequence[str]) -> Counter[Bracket]:
    """The brackets of a tree that count, over words without punctuation; ``pos`` are the tags that say what is."""
    place = [0]  # of every word among those that count
    for tag in pos:
        place.append(place[-1] + (tag not in PUNCTUATION))
    spans = ((SAME.get(label, label), place[begin], place[end]) for label, begin, end in tree.spans())
    return Counter(one for one in spans if one[0] not in ROOTS and one[1] < one[2])
