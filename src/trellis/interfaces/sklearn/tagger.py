"""Any of our learners as an estimator of scikit-learn."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

import trellis
from trellis._support.errors import ArgumentError
from trellis.corpus.objects import with_labels
from trellis.interfaces.sklearn.sequences import Objects, SequenceEstimator, as_objects, constructor, inputs_of
from trellis.learners import learner_named, learner_of
from trellis.learning.options import TrainingOptions, groups_of, options_of
from trellis.learning.run import interrupts_raise
from trellis.tasks.tagging.options import TaggingOptions

_PREFIX = "learner__"
# The options of a tagger's training that say what is learnt; the others are scikit-learn's own business.
_OPTIONS = {
    # Defaults are plain values here: None for the default learner and for default groups of options.
    name: None if isinstance(option.default, trellis.Learner) or name in groups_of(TaggingOptions) else option.default
    for name, option in options_of(TaggingOptions).items()
    if name not in ("target", *options_of(TrainingOptions))
}
_FIRST = ("learner", "features", "order")  # may be given by position


class SequenceTagger(SequenceEstimator):
    """A tagger with ``fit`` and ``predict``.

    X is a list of sentences, y a list of lists of labels. A token is a string, a tuple of strings (``columns`` names
    its parts: word, pos, ...), or its attributes as a dict or a list. X may also be a frame: a row is a sentence, and a
    cell the list of its tokens' values. All parameters are those of ``trellis.train``; those of the learner are reached
    as ``learner__c2``. ``n_jobs`` is the number of threads (default: all cores), ``random_state`` the seed of learners
    that have one.
    """

    learner: trellis.Learner | str | None
    features: Any
    columns: Sequence[str] | None
    n_jobs: int | None
    random_state: Any

    __init__ = constructor(
        {**{name: _OPTIONS[name] for name in _FIRST}, **_OPTIONS, "columns": None, "n_jobs": None, "random_state": None}
    )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its parameters; ``deep``: with those of the learner."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self.learner, trellis.Learner):
            params |= {f"{_PREFIX}{field.name}": getattr(self.learner, field.name) for field in _fields(self.learner)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a parameter of the learner makes a new learner."""
        inner = {name.removeprefix(_PREFIX): params.pop(name) for name in list(params) if name.startswith(_PREFIX)}
        super().set_params(**params)
        if inner:
            learner = learner_named(self.learner)() if isinstance(self.learner, str) else self.learner
            if not isinstance(learner, trellis.Learner):
                raise ValueError(f"{_PREFIX}{next(iter(inner))}: no learner; set learner first")
            known = {field.name for field in _fields(learner)}
            if unknown := set(inner) - known:
                what = f"{type(learner).__name__} has no parameter {min(unknown)!r}"
                names = f"its parameters are {', '.join(sorted(known))}" if known else "it has no parameters"
                raise ValueError(f"{what}; {names}")
            self.learner = replace(learner, **inner)  # type: ignore[type-var]
        return self

    @interrupts_raise()
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train; ``sample_weight`` is how much each sentence counts. Ctrl-C also ends a search that calls this."""
        corpus = with_labels(inputs_of(X, self.columns), "label", y)
        options: dict[str, Any] = {name: getattr(self, name) for name in _OPTIONS}
        if self.features is None and "attributes" in corpus.columns:
            options["features"] = "attributes"
        if self.random_state is not None:
            default = options_of(TaggingOptions)["learner"].default
            learner = default if self.learner is None else learner_of(self.learner)
            options["learner"] = _seeded(learner, self.random_state)
        options |= {"sample_weight": sample_weight, "n_threads": self.n_jobs}
        self.tagger_ = trellis.train(corpus, target="label", **options)
        self.classes_ = np.array(self.tagger_.labels, dtype=object)
        return self

    def predict(self, X: Any) -> Objects:
        """The labels of every sentence: an array of lists."""
        return as_objects(self._fitted().tag_batch(self._sentences(X), n_threads=self.n_jobs))

    def predict_proba(self, X: Any) -> Objects:
        """Of every sentence an array [n_tokens, n_classes] of probabilities, in the order of ``classes_``."""
        posteriors = self._fitted().marginals_batch(self._sentences(X), n_threads=self.n_jobs)
        return as_objects(posterior.node for posterior in posteriors)

    def _sentences(self, X: Any) -> trellis.Corpus | list[list[str]]:
        """A corpus; lists where no sentence has a token, which would tell what a token is."""
        corpus = inputs_of(X, self.columns)
        if not corpus.n_tokens:
            return [[] for _ in range(len(corpus))]
        missing = [name for name in self._fitted().columns if name not in corpus.columns]
        if missing:
            raise ArgumentError(f"X has no column {missing[0]!r}, which the tagger was fitted on")
        return corpus


def _seeded(learner: trellis.Learner, random_state: Any) -> trellis.Learner:
    """The learner with the seed that ``random_state`` gives; one that uses no seed as it is."""
    if not is_dataclass(learner) or "seed" not in learner.effective():
        return learner
    is_number = isinstance(random_state, numbers.Integral)
    seed = int(random_state) if is_number else int(check_random_state(random_state).randint(2**31))
    return replace(learner, seed=seed)


def _fields(learner: trellis.Learner) -> tuple[Any, ...]:
    """The parameters of a learner; a learner of one's own that is not a dataclass has no parameters."""
    return fields(learner) if is_dataclass(learner) else ()
