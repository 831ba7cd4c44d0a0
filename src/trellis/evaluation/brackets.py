"""Labelled bracket scores of trees, as by evalb (COLLINS.prm).

Words with a gold tag of punctuation are removed from both trees, and phrases that are then empty. The root and tags are
not brackets; PRT counts as ADVP. Brackets are a multiset of (label, first word, last word).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from trellis._support.errors import ArgumentError
from trellis.corpus.tree import ROOTS, PhraseTree
from trellis.display.tables import Figure, Row
from trellis.evaluation.scores import Score, ScoreReport

PUNCTUATION = frozenset([",", ":", "``", "''", "."])
SAME = {"PRT": "ADVP"}
Bracket = tuple[str, int, int]


@dataclass(frozen=True, slots=True, repr=False)
class BracketReport(ScoreReport):
    """Labelled bracket scores of parses; rows are labels.

    Attributes
    ----------
    micro
        Score of all brackets.
    rows
        Scores by label.
    n_sentences
        Number of sentences.
    n_words
        Number of words without punctuation.
    complete_match
        Fraction of sentences with all brackets correct.
    tag_accuracy
        Fraction of words with the correct tag.
    """

    micro: Score
    rows: Mapping[str, Score]
    n_sentences: int
    n_words: int
    complete_match: float
    tag_accuracy: float
    counts: ClassVar[tuple[str, ...]] = ("n_words", "n_sentences")

    def summary(self) -> Mapping[str, Row]:
        """Compute the figures of all brackets, of tags and of whole sentences.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        return {
            **ScoreReport.summary(self),
            "tag accuracy": Figure(self.tag_accuracy, self.n_words),
            "complete match": Figure(self.complete_match, self.n_sentences),
        }


def evaluate_trees(
    gold: Iterable[PhraseTree], parsed: Iterable[PhraseTree], *, longest: int | None = None
) -> BracketReport:
    """Compare parses with gold trees.

    Parameters
    ----------
    gold
        Gold trees.
    parsed
        Parses of the same words.
    longest
        Maximum number of words of a sentence; longer ones are not counted.

    Returns
    -------
    BracketReport
        Labelled precision, recall and F1.

    Examples
    --------
    >>> import trellis
    >>> from trellis.evaluation.brackets import evaluate_trees
    >>> trees = trellis.parse_trees("(S (NP (D the) (N dog)) (VP (V barks)))")
    >>> evaluate_trees(trees, trees).f1
    1.0
    """
    pairs = [list(gold), list(parsed)]
    if len(pairs[0]) != len(pairs[1]):
        raise ArgumentError(
            f"{len(pairs[0])} gold trees and {len(pairs[1])} predicted trees; compare the same sentences"
        )
    truth, guess, right = Counter[str](), Counter[str](), Counter[str]()
    sentences = complete = words = right_tags = 0
    for number, (tree, parse) in enumerate(zip(*pairs, strict=True), 1):
        tree, parse = tree.clean() or tree, parse.clean() or parse
        if tree.words != parse.words:
            raise ArgumentError(
                f"sentence {number}: the words of the predicted tree differ from those of the gold tree"
            )
        if longest is not None and len(tree.words) > longest:
            continue
        pos = tree.pos
        gold_brackets, parse_brackets = brackets(tree, pos), brackets(parse, pos)
        common = gold_brackets & parse_brackets
        for counts, totals in ((gold_brackets, truth), (parse_brackets, guess), (common, right)):
            for (label, _, _), n in counts.items():
                totals[label] += n
        sentences += 1
        complete += gold_brackets == parse_brackets
        tags = [(a, b) for a, b in zip(pos, parse.pos, strict=True) if a not in PUNCTUATION]
        words, right_tags = words + len(tags), right_tags + sum(a == b for a, b in tags)
    by_label = {label: Score(truth[label], guess[label], right[label]) for label in sorted({*truth, *guess})}
    overall = Score(truth.total(), guess.total(), right.total())
    shares = complete / max(1, sentences), right_tags / max(1, words)
    return BracketReport(overall, by_label, sentences, words, *shares)


def brackets(tree: PhraseTree, pos: Sequence[str]) -> Counter[Bracket]:
    """The brackets of a tree over words without punctuation, which is identified by the tags ``pos``."""
    place = [0]  # index of every word among the words that are not punctuation
    for tag in pos:
        place.append(place[-1] + (tag not in PUNCTUATION))
    spans = ((SAME.get(label, label), place[begin], place[end]) for label, begin, end in tree.spans())
    return Counter(span for span in spans if span[0] not in ROOTS and span[1] < span[2])
