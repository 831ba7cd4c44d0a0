"""CRFsuite's algorithms and their parameters, and the learners that take their place."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import trellis

LONG_NAMES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}  # of algorithms
# What python-crfsuite and sklearn-crfsuite call parameters whose names a keyword cannot have.
PYTHON_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    **{f"calibration_{name}": f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
    "pa_type": "type",
    "minfreq": "feature.minfreq",
}


class Parameter(NamedTuple):
    """Its kind, its default, and what it is for."""

    kind: Callable[[Any], Any]
    default: Any
    what: str


def _flag(value: Any) -> bool:
    return value.strip() not in ("0", "false", "False", "") if isinstance(value, str) else bool(value)


_FEATURES = {
    "feature.minfreq": Parameter(float, 0.0, "How often a feature must occur to be kept."),
    "feature.possible_states": Parameter(_flag, False, "Weights also for attributes with labels never seen together."),
    "feature.possible_transitions": Parameter(_flag, False, "Weights also for label pairs that never occur."),
}
_C1 = Parameter(float, 0.0, "How strongly absolute weights are penalised (L1).")
_C2 = Parameter(float, 1.0, "How strongly squared weights are penalised (L2).")
_NO_LIMIT = 2147483647


def _iterations(default: int) -> Parameter:
    return Parameter(int, default, "The most passes.")


def _unused(kind: Callable[[Any], Any], default: Any, what: str) -> Parameter:
    return Parameter(kind, default, f"{what} Without effect here.")


_EPSILON = _unused(float, 0.0, "Ratio of errors at which training ends.")
PARAMETERS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": _C1,
        "c2": _C2,
        "max_iterations": _iterations(_NO_LIMIT),
        "num_memories": _unused(int, 6, "Steps that L-BFGS remembers."),
        "epsilon": _unused(float, 1e-5, "Length of the gradient at which training ends."),
        "period": _unused(int, 10, "Over how many passes progress is measured."),
        "delta": Parameter(float, 1e-5, "Relative progress over ten passes below which training ends."),
        "linesearch": _unused(str, "MoreThuente", "How L-BFGS looks for the length of a step."),
        "max_linesearch": _unused(int, 20, "The most lengths that are tried."),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": _iterations(1000),
        "period": _unused(int, 10, "Over how many passes progress is measured."),
        "delta": _unused(float, 1e-6, "Relative progress below which training ends."),
        "calibration.eta": _unused(float, 0.1, "First rate that is tried."),
        "calibration.rate": _unused(float, 2.0, "Factor between rates that are tried."),
        "calibration.samples": _unused(float, 1000, "Sentences that rates are tried on."),
        "calibration.candidates": _unused(int, 10, "How many good rates are looked for."),
        "calibration.max_trials": _unused(int, 20, "The most rates that are tried."),
    },
    "ap": {**_FEATURES, "max_iterations": _iterations(100), "epsilon": _EPSILON},
    "pa": {
        **_FEATURES,
        "type": Parameter(int, 1, "0: PA without slack, 1: PA-I, 2: PA-II."),
        "c": Parameter(float, 1.0, "The longest step, or of type 2 how slack is penalised."),
        "error_sensitive": _unused(_flag, True, "Whether a wrong sentence costs by its wrong labels."),
        "averaging": Parameter(_flag, True, "Whether weights are averaged over all steps."),
        "max_iterations": _iterations(100),
        "epsilon": _EPSILON,
    },
    "arow": {
        **_FEATURES,
        "variance": _unused(float, 1.0, "What weights vary by at first."),
        "gamma": Parameter(float, 1.0, "The larger, the smaller the steps."),
        "max_iterations": _iterations(100),
        "epsilon": _EPSILON,
    },
}
# L-BFGS ends by itself; stochastic passes are enough after so many, whatever their limit is.
ENOUGH = {"lbfgs": 1000, "l2sgd": 30}


def training_options(algorithm: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of ``trellis.train`` that correspond to an algorithm with these parameters.

    A parameter that is not the default and has no meaning here is warned of.
    """
    for name, parameter in PARAMETERS[algorithm].items():
        if parameter.what.endswith("Without effect here.") and values[name] != parameter.default:
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
