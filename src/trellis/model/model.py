"""A trained model as data: everything a tagger needs, nothing of how it was trained but its history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trellis.arrays import LabelSets
from trellis.corpus.columns import CONLLU_NAMES, Naming
from trellis.errors import CorpusError
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

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads; free-form attributes are the last of them."""
        bag = () if self.vocabulary.bag is None else (self.vocabulary.bag[0],)
        return (*(column.name for column in self.vocabulary.columns), *bag)

    def naming(self, source: str, hint: str = "with trellis.read(file, columns=...)") -> Naming:
        """Names of a file's columns by their number: all of training; all but the target; those that it reads."""
        trained = tuple(self.info.get("corpus", {}).get("columns", (*self.columns, self.target)))
        without = tuple(name for name in trained if name != self.target)
        inputs = tuple(name for name in trained if name in self.columns)

        def name(n_columns: int) -> tuple[str, ...]:
            for names in (trained, without, inputs):
                if len(names) == n_columns:
                    return names
            ten = "the ten of CoNLL-U"
            shown = ten if trained == CONLLU_NAMES else f"{len(trained)} ({', '.join(trained)})"
            found = "1 column" if n_columns == 1 else f"{n_columns} columns"
            why = f"{found}, but the model learned from {shown}; name those of this file {hint}"
            raise CorpusError(source, None, why)

        return name

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"no family {self.family!r} of models")
