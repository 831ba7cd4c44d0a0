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
# The options of a tagger's training that affect the model; scikit-learn handles the others.
_OPTIONS = {
    # Defaults are plain values here: None for the default learner and for default groups of options.
    name: None if isinstance(option.default, trellis.Learner) or name in groups_of(TaggingOptions) else option.default
    for name, option in options_of(TaggingOptions).items()
    if name not in ("target", *options_of(TrainingOptions))
}
_FIRST = ("learner", "features", "order")  # positional parameters


class SequenceTagger(SequenceEstimator):
    """Sequence tagger as a scikit-learn estimator.

    ``X`` is a list of sentences, ``y`` a list of lists of labels. A token is a string, a tuple of strings, or its
    attributes as a dict or a list. ``X`` may also be a DataFrame with one sentence per row, whose cells are lists.
    Parameters of the learner are set as ``learner__c2``.

    Parameters
    ----------
    learner : Learner or str, default=None
        Learner or its name; None: ``MIRA()``.
    features : str, path, list of str or Features, default=None
        Preset, template file, list of templates, or a `Features`; None: preset ``"default"``, or the
        attributes if tokens have attributes.
    order : int, default=None
        Markov order: number of preceding labels; None: that of the templates.
    labels : Labels, default=None
        Scheme, parts, weights and costs of gold labels.
    search : Search, default=None
        Beam width, pruning and tag dictionary.
    segments : bool or Segments, default=False
        Train a semi-Markov model, with features of whole segments.
    bagging : int, default=1
        Number of trainings, each without a random tenth of the features; the model is their mean.
    documents : bool, default=False
        Use two passes, so that labels of the same word elsewhere in the document are features.
    workers : int or workers, default=None
        Ray processes, as for ``trellis.train``.
    columns : list of str, default=None
        Names of the parts of tuples; None: word; word, pos; word, pos, column3, ...
    n_jobs : int, default=None
        Number of threads; None: all cores.
    random_state : int or RandomState, default=None
        Seed of a learner that has one.

    Examples
    --------
    >>> from trellis.interfaces.sklearn import SequenceTagger
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> tagger = SequenceTagger(learner="crf").fit(X, y)
    >>> tagger.predict([["a", "dog"]])[0]
    ['D', 'N']
    >>> tagger.score(X, y)
    1.0
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
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the learner.

        Returns
        -------
        dict
            Values by name.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self.learner, trellis.Learner):
            params |= {f"{_PREFIX}{field.name}": getattr(self.learner, field.name) for field in _fields(self.learner)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator; a parameter of the learner makes a new learner.

        Parameters
        ----------
        **params : dict
            Values by name, such as ``learner__c2=0.1``.

        Returns
        -------
        self
            This estimator.
        """
        inner = {name.removeprefix(_PREFIX): params.pop(name) for name in list(params) if name.startswith(_PREFIX)}
        super().set_params(**params)
        if inner:
            learner = learner_named(self.learner)() if isinstance(self.learner, str) else self.learner
            if not isinstance(learner, trellis.Learner):
                raise ValueError(f"{_PREFIX}{next(iter(inner))}: no learner; set learner first")
            fields = {field.name for field in _fields(learner)}
            if unknown := set(inner) - fields:
                fault = f"{type(learner).__name__} has no parameter {min(unknown)!r}"
                names = f"its parameters are {', '.join(sorted(fields))}" if fields else "it has no parameters"
                raise ValueError(f"{fault}; {names}")
            self.learner = replace(learner, **inner)  # type: ignore[type-var]
        return self

    @interrupts_raise()
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train on sentences and their labels.

        Parameters
        ----------
        X
            Sentences.
        y
            One list of labels per sentence.
        sample_weight : array-like of shape (n_sentences,), default=None
            Weight of each sentence.

        Returns
        -------
        self
            Fitted estimator.
        """
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
        """Predict the labels of sentences.

        Parameters
        ----------
        X
            Sentences.

        Returns
        -------
        ndarray of shape (n_sentences,), dtype=object
            One list of labels per sentence.
        """
        return as_objects(self._fitted().tag_batch(self._sentences(X), n_threads=self.n_jobs))

    def predict_proba(self, X: Any) -> Objects:
        """Predict the marginal probabilities of labels.

        Parameters
        ----------
        X
            Sentences.

        Returns
        -------
        ndarray of shape (n_sentences,), dtype=object
            For each sentence an array [n_tokens, n_classes], in the order of ``classes_``.
        """
        posteriors = self._fitted().marginals_batch(self._sentences(X), n_threads=self.n_jobs)
        return as_objects(posterior.node for posterior in posteriors)

    def _sentences(self, X: Any) -> trellis.Corpus | list[list[str]]:
        """Convert to a corpus, or to lists if no sentence has a token from which the type of tokens is known."""
        corpus = inputs_of(X, self.columns)
        if not corpus.n_tokens:
            return [[] for _ in range(len(corpus))]
        missing = [name for name in self._fitted().columns if name not in corpus.columns]
        if missing:
            raise ArgumentError(f"X has no column {missing[0]!r}, which the tagger was fitted on")
        return corpus


def _seeded(learner: trellis.Learner, random_state: Any) -> trellis.Learner:
    """The learner with the seed of ``random_state``; learners without seed are unchanged."""
    if not is_dataclass(learner) or "seed" not in learner.effective():
        return learner
    is_number = isinstance(random_state, numbers.Integral)
    seed = int(random_state) if is_number else int(check_random_state(random_state).randint(2**31))
    return replace(learner, seed=seed)


def _fields(learner: trellis.Learner) -> tuple[Any, ...]:
    """The parameters of a learner; user-defined learners that are not dataclasses have none."""
    return fields(learner) if is_dataclass(learner) else ()
