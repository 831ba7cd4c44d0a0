"""sklearn-crfsuite's estimator: the same parameters, methods and attributes, on our engine."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Self

import trellis
from trellis.interfaces.compat import pycrfsuite
from trellis.interfaces.compat.crfsuite_file import write_crfsuite
from trellis.interfaces.compat.crfsuite_log import TrainLog
from trellis.interfaces.compat.crfsuite_parameters import PARAMETERS, PYTHON_NAMES
from trellis.interfaces.compat.model_files import write_file
from trellis.interfaces.sklearn.sequences import Objects, SequenceEstimator, as_objects, constructor
from trellis.learning.run import interrupts_raise

# The parameters of all algorithms, by their names in Python.
_IN_PYTHON = {name: alias for alias, name in reversed(PYTHON_NAMES.items())}
_NAMES = list(dict.fromkeys(_IN_PYTHON.get(name, name) for known in PARAMETERS.values() for name in known))
_NO_EFFECT = {"keep_tempfiles": False, "trainer_cls": None}


class CRF(SequenceEstimator):
    """Linear-chain model over feature dicts with the interface of ``sklearn_crfsuite.CRF``.

    Parameters have the meaning and defaults of CRFsuite. A parameter without effect here gives a warning.

    Parameters
    ----------
    algorithm : str, default=None
        ``"lbfgs"`` (default), ``"l2sgd"``, ``"ap"``, ``"pa"`` or ``"arow"``.
    min_freq : float, default=None
        Minimum number of occurrences of a feature.
    all_possible_states : bool, default=None
        Whether attributes have weights for labels they do not occur with.
    all_possible_transitions : bool, default=None
        Whether label pairs that do not occur have weights.
    c1 : float, default=None
        Weight of the L1 penalty.
    c2 : float, default=None
        Weight of the L2 penalty.
    max_iterations : int, default=None
        Maximum number of passes.
    num_memories, linesearch, max_linesearch : default=None
        Parameters of CRFsuite's L-BFGS.
    epsilon, period, delta : default=None
        Stopping criteria of CRFsuite.
    calibration_eta, calibration_rate : float, default=None
        Start and factor of the calibration of the learning rate of ``"l2sgd"``.
    calibration_samples, calibration_candidates, calibration_max_trials : int, default=None
        Extent of this calibration.
    pa_type, c, error_sensitive : default=None
        Variant, aggressiveness and cost of ``"pa"``.
    averaging : bool, default=None
        Whether ``"ap"`` and ``"pa"`` average the weights.
    variance, gamma : float, default=None
        Initial variance and regularisation of ``"arow"``.
    verbose : bool, default=False
        Whether to print the training log.
    model_filename : str, default=None
        File that ``fit`` writes the model to, in CRFsuite's format.
    keep_tempfiles, trainer_cls : default=None
        Without effect.

    Examples
    --------
    >>> from trellis.interfaces.sklearn import CRF
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]]
    >>> crf = CRF(c2=0.1).fit(X, [["D", "N"], ["D", "N"]])
    >>> list(crf.predict(X)[0])
    ['D', 'N']
    """

    algorithm: str | None
    verbose: bool
    model_filename: str | None
    training_log_: TrainLog | None = None

    __init__ = constructor(
        {"algorithm": None, **dict.fromkeys(_NAMES), "verbose": False, "model_filename": None, **_NO_EFFECT}
    )

    @interrupts_raise()
    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train on sentences of feature dicts.

        Parameters
        ----------
        X
            Sentences; a token is a dict or a list of attributes.
        y
            One list of labels per sentence.
        X_dev : default=None
            Held-out sentences; the best pass on them is used.
        y_dev : default=None
            Their labels.

        Returns
        -------
        self
            Fitted estimator.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("give X_dev and y_dev, or neither")
        for name in _NO_EFFECT:
            if getattr(self, name):
                warnings.warn(f"{name} has no effect in trellis; omit it", UserWarning, stacklevel=2)
        values = {name: value for name in _NAMES if (value := getattr(self, name)) is not None}
        trainer, labels = pycrfsuite.Trainer(self.algorithm, values, self.verbose), [list(row) for row in y]
        dev = None if X_dev is None else pycrfsuite.corpus_of(X_dev, y_dev)
        tagger, log = trainer.fit(pycrfsuite.corpus_of(X, labels), dev)
        order = pycrfsuite.in_order(labels)
        if self.model_filename is not None:
            write_file(tagger.model, self.model_filename, order)
        self._model, self._labels, self.training_log_ = tagger, order, log
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
        return as_objects(self._fitted().tag_batch([pycrfsuite._tokens(sentence) for sentence in X]))

    def predict_single(self, xseq: Any) -> list[str]:
        """Predict the labels of one sentence.

        Parameters
        ----------
        xseq
            The sentence.

        Returns
        -------
        list of str
            One label per token.
        """
        return self._fitted().tag(pycrfsuite._tokens(xseq))

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """Predict the marginal probabilities of labels.

        Parameters
        ----------
        X
            Sentences.

        Returns
        -------
        list of list of dict
            For each token the probability of each label.
        """
        posteriors = self._fitted().marginals_batch([pycrfsuite._tokens(sentence) for sentence in X])
        return [
            [{label: token.get(label, 0.0) for label in self.classes_ or ()} for token in row] for row in posteriors
        ]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Predict the marginal probabilities of labels of one sentence.

        Parameters
        ----------
        xseq
            The sentence.

        Returns
        -------
        list of dict
            For each token the probability of each label.
        """
        return self.predict_marginals([xseq])[0]

    @property
    def tagger_(self) -> pycrfsuite.Tagger | None:
        """The model with the interface of python-crfsuite; None before ``fit``."""
        model = self._tagger_or_none()
        return None if model is None else pycrfsuite.Tagger(model)

    @property
    def classes_(self) -> list[str] | None:
        """Labels in the order of training; None before ``fit``."""
        model = self._tagger_or_none()
        return None if model is None else list(getattr(self, "_labels", model.labels))

    @property
    def size_(self) -> int | None:
        """Size of the model in bytes, in CRFsuite's format."""
        model = self._tagger_or_none()
        return None if model is None else len(write_crfsuite(model.model, self.classes_))

    @property
    def attributes_(self) -> list[str] | None:
        """Attributes that have a weight."""
        return None if (parsed := self._parsed()) is None else list(parsed.attributes)

    @property
    def num_attributes_(self) -> int | None:
        """Number of attributes."""
        return None if (parsed := self._parsed()) is None else len(parsed.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by attribute and label."""
        return None if (parsed := self._parsed()) is None else parsed.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights of label pairs."""
        return None if (parsed := self._parsed()) is None else parsed.transitions

    def _parsed(self) -> pycrfsuite.ParsedDump | None:
        model = self._tagger_or_none()
        return None if model is None else pycrfsuite.parsed(model, self.classes_ or model.labels)

    def _tagger_or_none(self) -> trellis.Tagger | None:
        """The model of ``fit``, or of the file ``model_filename`` if it exists."""
        model: trellis.Tagger | None = getattr(self, "_model", None)
        if model is None and self.model_filename is not None and Path(self.model_filename).exists():
            model = self._model = trellis.Tagger.load(self.model_filename)
        return model
