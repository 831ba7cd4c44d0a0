"""sklearn-crfsuite's estimator: the same parameters, methods and attributes, on our engine."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Self

from sklearn.exceptions import NotFittedError

import trellis
from trellis._support.errors import ModelError
from trellis._support.replacing import replacing
from trellis.interfaces.compat import pycrfsuite
from trellis.interfaces.compat.crfsuite_file import write_crfsuite
from trellis.interfaces.compat.crfsuite_log import TrainLog
from trellis.interfaces.compat.crfsuite_parameters import ALGORITHMS, PARAMETERS
from trellis.interfaces.sklearn.sequences import Objects, SequenceEstimator, as_objects, token_accuracy

# The names of parameters here, and in CRFsuite.
_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    **{name: name for name in ("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta")},
    **{
        name: name
        for name in ("linesearch", "max_linesearch", "c", "error_sensitive", "averaging", "variance", "gamma")
    },
    **{f"calibration_{name}": f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
    "pa_type": "type",
}


class CRF(SequenceEstimator):
    """A linear-chain model over feature dicts, as ``sklearn_crfsuite.CRF``.

    ``algorithm`` is lbfgs (default), l2sgd, ap, pa or arow; every other parameter means what it means in CRFsuite. One
    that has no effect here gives a warning. ``model_filename`` is where ``fit`` writes a model file of CRFsuite.
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool | None = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train on sentences of feature dicts; with X_dev, y_dev the best pass on them is kept."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("give X_dev and y_dev, or neither")
        algorithm, given = self._asked()
        labels = [list(some) for some in y]
        dev = None if X_dev is None else pycrfsuite.corpus_of(X_dev, y_dev)
        say = _print if self.verbose else _nothing
        tagger, log = pycrfsuite.trained(algorithm, given, pycrfsuite.corpus_of(X, labels), dev, say)
        order = pycrfsuite.in_order(labels)
        if self.model_filename is not None:
            place, data = self.model_filename, write_crfsuite(tagger.model, order)
            with replacing(place, lambda why: ModelError(f"cannot write {place}: {why}")) as temporary:
                temporary.write_bytes(data)
        self._model, self._labels, self.training_log_ = tagger, order, log
        return self

    def _asked(self) -> tuple[str, dict[str, Any]]:
        """CRFsuite's algorithm, and its parameters that are not the default ones."""
        algorithm = ALGORITHMS.get((self.algorithm or "lbfgs").lower())
        if algorithm is None:
            raise ValueError(f"no algorithm {self.algorithm!r}; there are {', '.join(ALGORITHMS)}")
        for name in ("keep_tempfiles", "trainer_cls"):
            if getattr(self, name):
                warnings.warn(f"{name} has no effect in trellis; omit it", UserWarning, stacklevel=3)
        given = dict[str, Any]()
        for name, theirs in _NAMES.items():
            value = getattr(self, name)
            if value is None:
                continue
            parameter = PARAMETERS[algorithm].get(theirs)
            if parameter is None:
                raise ValueError(f"{algorithm} has no parameter {name!r}; omit it or choose another algorithm")
            given[theirs] = parameter.kind(value)
        return algorithm, given

    def predict(self, X: Any) -> Objects:
        """The labels of every sentence: an array of lists."""
        return as_objects(self._fitted().tag_batch([pycrfsuite._tokens(sentence) for sentence in X]))

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sentence."""
        return self._fitted().tag(pycrfsuite._tokens(xseq))

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """Of every token the probabilities of all labels."""
        posteriors = self._fitted().marginals_batch([pycrfsuite._tokens(sentence) for sentence in X])
        return [
            [{label: token.get(label, 0.0) for label in self.classes_ or ()} for token in one] for one in posteriors
        ]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The same for one sentence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Any) -> float:
        """The share of labels that are right."""
        return token_accuracy(y, self.predict(X))

    @property
    def tagger_(self) -> pycrfsuite.Tagger | None:
        """The model behind python-crfsuite's interface; None before ``fit``."""
        model = self._known()
        if model is None:
            return None
        tagger = pycrfsuite.Tagger()
        tagger._tagger = model
        return tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels, in the order in which training had them; None before ``fit``."""
        model = self._known()
        return None if model is None else list(getattr(self, "_labels", model.labels))

    @property
    def size_(self) -> int | None:
        """How many bytes the model takes as a file of CRFsuite."""
        model = self._known()
        return None if model is None else len(write_crfsuite(model.model, self.classes_))

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have a weight."""
        known = self._parsed()
        return None if known is None else list(known.attributes)

    @property
    def num_attributes_(self) -> int | None:
        """How many they are."""
        attributes = self.attributes_
        return None if attributes is None else len(attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights by attribute and label."""
        known = self._parsed()
        return None if known is None else known.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights of label pairs."""
        known = self._parsed()
        return None if known is None else known.transitions

    def __sklearn_is_fitted__(self) -> bool:
        return self._known() is not None

    def _parsed(self) -> pycrfsuite.ParsedDump | None:
        model = self._known()
        return None if model is None else pycrfsuite.parsed(model, self.classes_ or model.labels)

    def _known(self) -> trellis.Tagger | None:
        """The model of ``fit``, or that of ``model_filename`` where it is there already."""
        model: trellis.Tagger | None = getattr(self, "_model", None)
        if model is None and self.model_filename is not None and Path(self.model_filename).exists():
            model = self._model = trellis.Tagger.load(self.model_filename)
        return model

    def _fitted(self) -> trellis.Tagger:
        model = self._known()
        if model is None:
            raise NotFittedError("this CRF is not fitted yet; call fit first")
        return model

    training_log_: TrainLog | None = None


def _nothing(line: str) -> None:
    """The library never prints unless it is told to."""


def _print(line: str) -> None:
    print(line, end="", flush=True)  # noqa: T201 - what ``verbose`` asks for
