"""Online learners: perceptron, MIRA, passive-aggressive learning and AROW differ in direction and length of a step.

The loop itself is core/learn/online.cpp; experiments.reference.steps has it in NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from trellis.learning.learner import ALL_ABILITIES, Ability, Constraints, choice, flag, real, whole
from trellis.learning.mixing import Mixing
from trellis.learning.online import OnlineLearner, OnlineRun
from trellis.learning.problem import Problem

Update = Literal["standard", "early", "max-violation"]
Mix = Literal["uniform", "touched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBatchLearner(OnlineLearner):
    """Online learners that decode ``batch`` sentences by the same weights, on all threads, then step in order.

    ``update`` says on what they update where a beam search from left to right went wrong: "standard", on the whole
    output; "early", on what it was when the right one first fell out of the beam; "max-violation" (the default), where
    it exceeded the right one most.

    ``shards``: the number of parts that the examples are cut into. Each takes an epoch by itself from the same weights,
    then their changes are mixed (McDonald, Hall and Mann 2010): the mean over all shards ("uniform") or over those that
    changed the weight ("touched", the default). The result depends on the number of shards, not on threads or workers.
    """

    batch: int = 1
    update: Update | None = None
    shards: int = 1
    mix: Mix = "touched"

    rule: ClassVar[str]  # of native code, unless there is a parameter ``variant``
    constant: ClassVar[str] = ""  # the parameter that is the constant c of the rule

    constraints: ClassVar[Constraints] = {
        **OnlineLearner.constraints,
        "batch": whole(1, 2**16),
        "update": choice(*get_args(Update), default=None),
        "shards": whole(1, 2**20),
        "mix": choice(*get_args(Mix), only=("shards above 1", lambda p: p["shards"] > 1)),
    }

    @property
    def on_workers(self) -> bool:
        """On shards."""
        return self.shards > 1

    def begin(self, problem: Problem) -> OnlineRun:
        """The weights in training."""
        parameters = self.effective()  # with a seed where it shuffles
        del parameters["shuffle"]
        rule = parameters.pop("variant", None) or self.rule
        constant = parameters.pop(self.constant, 1.0)
        if parameters.pop("shards") > 1:
            return Mixing(problem, rule, self.shards, parameters.pop("mix"), c=constant, **parameters)
        return OnlineRun(problem, rule, c=constant, **parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perceptron(MiniBatchLearner):
    """Decode each sentence; where the best path is wrong, add the gold path's features and subtract its own.

    Collins 2002 (figure 1). ``average`` (section 2.5) gives the mean of the weights over all moments of training
    instead of the last ones: almost always better. ``vote`` (section 3.2) keeps the weights of all moments and tags
    with the path that most of them find the best, the one first voted for among equals; the other weights are for
    scores and k best. Nothing is to be tuned but the number of epochs; scores are not probabilities.
    """

    vote: bool = False

    rule = "perceptron"
    constraints: ClassVar[Constraints] = {**MiniBatchLearner.constraints, "vote": flag()}

    @property
    def abilities(self) -> frozenset[Ability]:
        """Votes are kept by labels alone."""
        return ALL_ABILITIES - {"parts", "histories", "beam", "segments", "trees"} if self.vote else ALL_ABILITIES


@dataclass(frozen=True, slots=True, kw_only=True)
class MIRA(MiniBatchLearner):
    """The smallest change after which the gold path beats the k best others by what they cost.

    Crammer and Singer 2003; by the k best paths, McDonald 2005. w' = argmin ½ |w' - w|² + C · xi  with
    score(gold) - score(y) >= cost(y) - xi  for each of the ``k`` paths y that are the best by score + cost. The cost is
    the number of wrong labels, or what the costs of labels say. With k = 1 the step is min(C, loss / |d|²) · d,
    d = Phi(gold) - Phi(y); else a small quadratic programme, solved to a relative 1e-9.
    """

    k: int = 1
    C: float = 0.1
    epochs: int = 15

    rule, constant = "MIRA", "C"
    reads_costs = True
    constraints: ClassVar[Constraints] = {
        "k": whole(1, 2**31 - 1),
        "C": real(above=True),
        **MiniBatchLearner.constraints,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PassiveAggressive(MiniBatchLearner):
    """Where the best path is wrong, the smallest change by which the gold path beats it by the root of its cost.

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006, prediction-based: y is the best path by score alone,
    loss = sqrt(cost(y)) - (score(gold) - score(y)), and the step is a · d, d = Phi(gold) - Phi(y), with
    a = loss / |d|² (``variant`` "PA"), min(C, loss / |d|²) ("PA-I") or loss / (|d|² + 1 / 2C) ("PA-II"). The
    max-loss update is MIRA(k=1).
    """

    variant: Literal["PA", "PA-I", "PA-II"] = "PA-I"
    C: float = 1.0

    rule, constant = "PA-I", "C"
    reads_costs = True
    constraints: ClassVar[Constraints] = {
        "variant": choice("PA", "PA-I", "PA-II"),
        "C": real(above=True, only=("PA-I and PA-II", lambda p: p["variant"] != "PA")),
        **MiniBatchLearner.constraints,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AROW(MiniBatchLearner):
    """Every weight has a variance V, 1 at first; steps go along V and make it smaller.

    Crammer, Kulesza and Dredze 2009, with a diagonal covariance. With y the best path by score + cost,
    d = Phi(gold) - Phi(y) and loss = cost(y) - (score(gold) - score(y)) > 0: w += loss / (d · V d + r) · V d, then
    1 / V += d² / r. Few epochs are enough. Not averaged, unless ``average`` says so: variances already keep weights
    from swinging.
    """

    r: float = 10.0
    average: bool = False

    rule, constant = "AROW", "r"
    reads_costs = True
    constraints: ClassVar[Constraints] = {"r": real(above=True), **MiniBatchLearner.constraints}
