"""A trained model as data: everything a tagger needs, nothing of how it was trained but its history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trellis.arrays import LabelSets
from trellis.features.vocabulary import Vocabulary
from trellis.model.weights import ChainWeights

START = "<start>"  # the label before the sentence
# What the score of a path is: just a score (perceptron and its kin); a log-probability but for log Z (CRF); a sum of
# log-probabilities of labels given those before (maximum entropy); a joint log-probability with the words (HMM).
FAMILIES = ("scores", "log-linear", "local", "joint")


@dataclass(frozen=True, slots=True)
class Model:
    """Labels, vocabulary and weights, with how they came to be."""

    labels: tuple[str, ...]
    target: str  # the column it labels
    order: int
    vocabulary: Vocabulary
    weights: ChainWeights
    # Of every value of the first column; the first set is that of other words.
    dictionary: LabelSets | None = None
    info: dict[str, Any] = field(default_factory=dict)  # learner, history, version, sizes: for people
    family: str = "scores"  # what scores mean, see FAMILIES
    temperature: float = 1.0  # by which scores are divided before they become probabilities

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"no family {self.family!r} of models")
