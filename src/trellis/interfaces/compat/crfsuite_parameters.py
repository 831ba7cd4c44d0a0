"""CRFsuite's algorithms and their parameters, and the corresponding learners."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import trellis

LONG_NAMES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}  # of algorithms
# Names in python-crfsuite and sklearn-crfsuite of parameters that are not valid keyword names.
PYTHON_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    **{f"calibration_{name}": f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
    "pa_type": "type",
    "minfreq": "feature.minfreq",
}


class Parameter(NamedTuple):
    """Type, default and description of a parameter."""

    kind: Callable[[Any], Any]
    default: Any
    what: str


def _flag(value: Any) -> bool:
    return value.strip() not in ("0", "false", "False", "") if isinstance(value, str) else bool(value)


_FEATURES = {
    "feature.minfreq": Parameter(float, 0.0, "Minimum frequency of features."),
    "feature.possible_states": Parameter(
        _flag, False, "Weights also for attribute-label pairs that do not occur in training."
    ),
    "feature.possible_transitions": Parameter(
        _flag, False, "Weights also for label pairs that do not occur in training."
    ),
}
_C1 = Parameter(float, 0.0, "Coefficient of L1 regularisation.")
_C2 = Parameter(float, 1.0, "Coefficient of L2 regularisation.")
_NO_LIMIT = 2147483647
_NO_EFFECT = "No effect in trellis."


def _iterations(default: int) -> Parameter:
    return Parameter(int, default, "Maximum number of iterations.")


def _unused(kind: Callable[[Any], Any], default: Any, description: str) -> Parameter:
    return Parameter(kind, default, f"{description} {_NO_EFFECT}")


_EPSILON = _unused(float, 0.0, "Error ratio at which training stops.")
PARAMETERS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": _C1,
        "c2": _C2,
        "max_iterations": _iterations(_NO_LIMIT),
        "num_memories": _unused(int, 6, "Number of past steps that L-BFGS stores."),
        "epsilon": _unused(float, 1e-5, "Gradient norm at which training stops."),
        "period": _unused(int, 10, "Number of epochs over which progress is measured."),
        "delta": Parameter(float, 1e-5, "Relative progress over ten epochs below which training stops."),
        "linesearch": _unused(str, "MoreThuente", "Line search method of L-BFGS."),
        "max_linesearch": _unused(int, 20, "Maximum number of line search steps."),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": _iterations(1000),
        "period": _unused(int, 10, "Number of epochs over which progress is measured."),
        "delta": _unused(float, 1e-6, "Relative progress below which training stops."),
        "calibration.eta": _unused(float, 0.1, "Initial learning rate of the calibration."),
        "calibration.rate": _unused(float, 2.0, "Factor between learning rates of the calibration."),
        "calibration.samples": _unused(float, 1000, "Number of sentences for the calibration of the learning rate."),
        "calibration.candidates": _unused(int, 10, "Number of good learning rates to find."),
        "calibration.max_trials": _unused(int, 20, "Maximum number of learning rates to try."),
    },
    "ap": {**_FEATURES, "max_iterations": _iterations(100), "epsilon": _EPSILON},
    "pa": {
        **_FEATURES,
        "type": Parameter(int, 1, "0: PA without slack, 1: PA-I, 2: PA-II."),
        "c": Parameter(float, 1.0, "Aggressiveness: maximum step length, or for type 2 the penalty of slack."),
        "error_sensitive": _unused(
            _flag, True, "Whether the cost of a sentence depends on its number of wrong labels."
        ),
        "averaging": Parameter(_flag, True, "Whether to average the weights over all updates."),
        "max_iterations": _iterations(100),
        "epsilon": _EPSILON,
    },
    "arow": {
        **_FEATURES,
        "variance": _unused(float, 1.0, "Initial variance of the weights."),
        "gamma": Parameter(float, 1.0, "Regularisation: larger values give smaller steps."),
        "max_iterations": _iterations(100),
        "epsilon": _EPSILON,
    },
}
# L-BFGS stops by itself; for stochastic passes this number is enough, whatever their limit is.
ENOUGH = {"lbfgs": 1000, "l2sgd": 30}


def training_options(algorithm: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of ``trellis.train`` that correspond to an algorithm with these parameters.

    Issues a warning for parameters without effect here that differ from their defaults.
    """
    for name, parameter in PARAMETERS[algorithm].items():
        if parameter.what.endswith(_NO_EFFECT) and values[name] != parameter.default:
            warnings.warn(f"{name} has no effect in trellis; omit it", UserWarning, stacklevel=4)
    pairs: Any = "all" if values["feature.possible_states"] else "seen"
    features = trellis.Features("attributes", min_count=max(0, math.ceil(values["feature.minfreq"])), pairs=pairs)
    search = trellis.Search(prune=False)
    return {"learner": _learner(algorithm, values), "features": features, "order": 1, "search": search}


def _learner(algorithm: str, values: Mapping[str, Any]) -> trellis.Learner:
    epochs = min(max(1, values["max_iterations"]), ENOUGH.get(algorithm, _NO_LIMIT))
    if algorithm == "ap":  # CRFsuite shuffles the sentences before every pass, and so do online learners by default
        return trellis.Perceptron(epochs=epochs)
    if algorithm == "arow":
        return trellis.AROW(epochs=epochs, r=values["gamma"])
    if algorithm == "pa":
        if values["type"] not in (0, 1, 2):
            raise ValueError(f"type must be 0, 1 or 2, not {values['type']}")
        variant: Any = ("PA", "PA-I", "PA-II")[values["type"]]
        C = {} if variant == "PA" else {"C": values["c"]}
        return trellis.PassiveAggressive(epochs=epochs, average=values["averaging"], variant=variant, **C)
    transitions: Any = "all" if values["feature.possible_transitions"] else "seen"
    solver: dict[str, Any] = {"solver": "adagrad"}
    if algorithm == "lbfgs":
        solver = {"c1": values["c1"], "tolerance": max(values["delta"], 1e-12)}
    return trellis.CRF(transitions=transitions, start=False, c2=values["c2"], epochs=epochs, **solver)
