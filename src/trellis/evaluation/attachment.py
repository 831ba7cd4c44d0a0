"""How good dependency trees are: words with the right head, and with the right label too."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis._support.arrays import Bools, Ints, Longs
from trellis._support.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class AttachmentScore:
    """Counts over some words."""

    words: int
    heads: int  # with the right head
    both: int  # with the right head and the right label

    @property
    def uas(self) -> float:
        """Unlabelled attachment score, from 0 to 1."""
        return self.heads / self.words if self.words else 0.0

    @property
    def las(self) -> float:
        """Labelled attachment score, from 0 to 1."""
        return self.both / self.words if self.words else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The figures as a plain dict, ready for JSON."""
        return {"words": self.words, "uas": self.uas, "las": self.las}


@dataclass(frozen=True, slots=True)
class AttachmentReport:
    """All figures of an evaluation of trees."""

    n_sentences: int
    all: AttachmentScore
    no_punctuation: AttachmentScore  # without words that are punctuation only
    complete: float  # share of sentences with all heads right
    complete_labelled: float  # and all labels
    labels: Mapping[str, AttachmentScore]  # by the gold label
    is_labelled: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain dicts, ready for JSON."""
        return {
            "n_sentences": self.n_sentences,
            **self.all.to_dict(),
            "no_punctuation": self.no_punctuation.to_dict(),
            "complete": self.complete,
            "complete_labelled": self.complete_labelled,
            "labels": {name: score.to_dict() for name, score in self.labels.items()},
        }

    def __str__(self) -> str:
        if not self.all.words:
            return "no words to evaluate"
        rows = {"all words": self.all, "no punctuation": self.no_punctuation, **self.labels}
        width = max(map(len, rows))
        whole = f"{100 * self.complete:.2f}% with all heads right"
        if self.is_labelled:
            whole += f", {100 * self.complete_labelled:.2f}% with all labels too"
        head = f"{'':{width}}     UAS" + ("     LAS" if self.is_labelled else "") + "   words"
        lines = [f"sentences {self.n_sentences}, {whole}", "", head]
        for name, one in rows.items():
            las = f"  {100 * one.las:6.2f}" if self.is_labelled else ""
            lines.append(f"{name:{width}}  {100 * one.uas:6.2f}{las}  {one.words:6}")
        return "\n".join(lines)


def is_punctuation(word: str) -> bool:
    """Whether all characters of a word are punctuation, as Unicode has it."""
    return bool(word) and all(unicodedata.category(c).startswith("P") for c in word)


def attachment(
    words: Sequence[Sequence[str]],
    gold: Sequence[tuple[Sequence[int], Sequence[str] | None]],
    predicted: Sequence[tuple[Sequence[int], Sequence[str] | None]],
    *,
    subtypes: bool = True,
) -> AttachmentReport:
    """Compare trees, each given by its heads and labels (None: no labels).

    Without ``subtypes`` labels are compared up to the first ``:``, so that ``nsubj:pass`` counts as ``nsubj``.
    """
    sizes = [len(sentence) for sentence in words]
    for trees in (gold, predicted):
        if [len(heads) for heads, _ in trees] != sizes:
            raise ArgumentError("trees of other sentences: compare the same sentences")
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def flat(trees: Sequence[tuple[Sequence[int], Sequence[str] | None]]) -> tuple[Ints, list[str] | None]:
        heads = np.array([head for one, _ in trees for head in one], np.int32)
        if any(labels is None for _, labels in trees):
            return heads, None
        return heads, [label for _, labels in trees for label in labels or ()]

    punctuation = np.array([is_punctuation(word) for sentence in words for word in sentence], bool)
    return attachment_of(starts, punctuation, flat(gold), flat(predicted), subtypes=subtypes)


def attachment_of(
    starts: Longs,
    punctuation: Bools,
    gold: tuple[Ints, Sequence[str] | None],
    predicted: tuple[Ints, Sequence[str] | None],
    *,
    subtypes: bool = True,
) -> AttachmentReport:
    """The same on flat arrays over sentences that begin at starts [n_sentences + 1]."""
    right = np.asarray(gold[0] == predicted[0])
    labelled = gold[1] is not None and predicted[1] is not None
    gold_labels = _cut(gold[1] if labelled else None, len(right), subtypes)
    same = np.array(
        [
            a == b
            for a, b in zip(gold_labels, _cut(predicted[1] if labelled else None, len(right), subtypes), strict=True)
        ],
        bool,
    )
    both = right & same

    def score(chosen: Bools) -> AttachmentScore:
        return AttachmentScore(int(chosen.sum()), int(right[chosen].sum()), int(both[chosen].sum()))

    names = np.array(gold_labels, object)
    by_label = {name: score(names == name) for name in sorted(set(gold_labels))} if labelled else {}
    return AttachmentReport(
        len(starts) - 1,
        score(np.ones(len(right), bool)),
        score(~punctuation),
        _complete(right, starts),
        _complete(both, starts),
        dict(sorted(by_label.items(), key=lambda item: (-item[1].words, item[0]))),
        labelled,
    )


def _cut(labels: Sequence[str] | None, n: int, subtypes: bool) -> list[str]:
    if labels is None:
        return [""] * n
    return list(labels) if subtypes else [label.partition(":")[0] for label in labels]


def _complete(right: Bools, starts: Longs) -> float:
    from trellis.evaluation.report import sentence_accuracy

    return sentence_accuracy(right, starts)
