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
    """Base class of online learners that can decode several sentences with the same weights.

    Parameters
    ----------
    batch
        Number of sentences decoded with the same weights, in parallel; the steps follow in order. 1 is the algorithm of
        the papers.
    update
        With a beam search from left to right, the prefix to update on after a search error: ``"standard"``, the whole
        output; ``"early"``, where the gold output leaves the beam; ``"max-violation"`` (default), where it is most
        behind.
    shards
        Number of parts of the corpus that are trained independently for an epoch and then mixed (McDonald, Hall and
        Mann 2010).
    mix
        How shards are mixed: ``"touched"``, mean over the shards that changed a weight; ``"uniform"``, over all shards.
    epochs
        Number of passes over the corpus.
    average
        Use the mean of the weights over all steps instead of the last weights.
    shuffle
        Visit the sentences in another order in each epoch.
    seed
        Seed of the order.
    """

    batch: int = 1
    update: Update | None = None
    shards: int = 1
    mix: Mix = "touched"

    rule: ClassVar[str]  # of native code, unless there is a parameter ``variant``
    constant: ClassVar[str] = ""  # name of the parameter for the constant c of the rule

    constraints: ClassVar[Constraints] = {
        **OnlineLearner.constraints,
        "batch": whole(1, 2**16),
        "update": choice(*get_args(Update), default=None),
        "shards": whole(1, 2**20),
        "mix": choice(*get_args(Mix), only=("shards above 1", lambda p: p["shards"] > 1)),
    }

    @property
    def on_workers(self) -> bool:
        """Whether workers can train it: on shards."""
        return self.shards > 1

    def begin(self, problem: Problem) -> OnlineRun:
        """The weights in training."""
        parameters = self.effective()  # with a seed if it shuffles
        del parameters["shuffle"]
        rule = parameters.pop("variant", None) or self.rule
        constant = parameters.pop(self.constant, 1.0)
        if parameters.pop("shards") > 1:
            return Mixing(problem, rule, self.shards, parameters.pop("mix"), c=constant, **parameters)
        return OnlineRun(problem, rule, c=constant, **parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perceptron(MiniBatchLearner):
    """Structured perceptron: if the best path is wrong, add the gold path's features and subtract its own.

    Collins 2002, figure 1. Choose it for a good model in seconds; only the number of epochs needs tuning. Its scores
    are not probabilities, and it does not accept label costs.

    Parameters
    ----------
    vote
        Keep the weights of all steps and predict the path that most of them prefer (Collins 2002, section 3.2); slow.
        Scores and k-best lists use the averaged weights.
    epochs
        Number of passes over the corpus.
    average
        Use the mean of the weights over all steps instead of the last weights.
    shuffle
        Visit the sentences in another order in each epoch.
    seed
        Seed of the order.
    batch
        Number of sentences decoded with the same weights, in parallel; the steps follow in order. 1 is the algorithm of
        the papers.
    update
        With a beam search from left to right, the prefix to update on after a search error: ``"standard"``, the whole
        output; ``"early"``, where the gold output leaves the beam; ``"max-violation"`` (default), where it is most
        behind.
    shards
        Number of parts of the corpus that are trained independently for an epoch and then mixed (McDonald, Hall and
        Mann 2010).
    mix
        How shards are mixed: ``"touched"``, mean over the shards that changed a weight; ``"uniform"``, over all shards.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> tagger = trellis.train(X, y, learner=trellis.Perceptron(epochs=5))
    >>> tagger.predict(["a", "dog"])
    ['D', 'N']
    """

    vote: bool = False

    rule = "perceptron"
    constraints: ClassVar[Constraints] = {**MiniBatchLearner.constraints, "vote": flag()}

    @property
    def abilities(self) -> frozenset[Ability]:
        """Abilities; fewer with votes, which support labels only."""
        return ALL_ABILITIES - {"parts", "histories", "beam", "segments", "trees"} if self.vote else ALL_ABILITIES


@dataclass(frozen=True, slots=True, kw_only=True)
class MIRA(MiniBatchLearner):
    """MIRA: the smallest change of the weights after which the gold path beats the k best paths by their cost.

    Crammer and Singer 2003; with k best paths McDonald 2005. The cost is the number of wrong labels, or the sum of
    label costs. A step solves w' = argmin ½ |w' - w|² + C · xi with score(gold) - score(y) >= cost(y) - xi for the
    ``k`` best paths y by score + cost; for k = 1 it is min(C, loss / |d|²) · d, d = Phi(gold) - Phi(y).

    The default learner: choose it for a good model in seconds without tuning, or for costs of mistakes; ``k`` above 1
    is slower and slightly more accurate. Its scores are not probabilities.

    Parameters
    ----------
    k
        Number of best paths that the gold path must beat.
    C
        Maximum size of a step; larger values fit the training data more closely.
    epochs
        Number of passes over the corpus.
    average
        Use the mean of the weights over all steps instead of the last weights.
    shuffle
        Visit the sentences in another order in each epoch.
    seed
        Seed of the order.
    batch
        Number of sentences decoded with the same weights, in parallel; the steps follow in order. 1 is the algorithm of
        the papers.
    update
        With a beam search from left to right, the prefix to update on after a search error: ``"standard"``, the whole
        output; ``"early"``, where the gold output leaves the beam; ``"max-violation"`` (default), where it is most
        behind.
    shards
        Number of parts of the corpus that are trained independently for an epoch and then mixed (McDonald, Hall and
        Mann 2010).
    mix
        How shards are mixed: ``"touched"``, mean over the shards that changed a weight; ``"uniform"``, over all shards.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> tagger = trellis.train(X, y, learner=trellis.MIRA(k=5))
    >>> tagger.predict(["a", "dog"])
    ['D', 'N']
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
    """Passive-aggressive: the smallest change by which the gold path beats the best path by the root of its cost.

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006, prediction-based: y is the best path by score alone, loss =
    sqrt(cost(y)) - (score(gold) - score(y)), d = Phi(gold) - Phi(y). Choose it for the perceptron's speed with steps as
    long as the error is large; the max-loss update is ``MIRA(k=1)``.

    Parameters
    ----------
    variant
        Length of the step along d: ``"PA"``, loss / |d|²; ``"PA-I"``, min(C, loss / |d|²); ``"PA-II"``, loss / (|d|² +
        1 / 2C).
    C
        Aggressiveness of PA-I and PA-II; larger values fit the training data more closely.
    epochs
        Number of passes over the corpus.
    average
        Use the mean of the weights over all steps instead of the last weights.
    shuffle
        Visit the sentences in another order in each epoch.
    seed
        Seed of the order.
    batch
        Number of sentences decoded with the same weights, in parallel; the steps follow in order. 1 is the algorithm of
        the papers.
    update
        With a beam search from left to right, the prefix to update on after a search error: ``"standard"``, the whole
        output; ``"early"``, where the gold output leaves the beam; ``"max-violation"`` (default), where it is most
        behind.
    shards
        Number of parts of the corpus that are trained independently for an epoch and then mixed (McDonald, Hall and
        Mann 2010).
    mix
        How shards are mixed: ``"touched"``, mean over the shards that changed a weight; ``"uniform"``, over all shards.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> trellis.train(X, y, learner=trellis.PassiveAggressive(epochs=5)).predict(["a", "dog"])
    ['D', 'N']
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
    """AROW: each weight has a variance, which scales its steps and decreases with every step.

    Crammer, Kulesza and Dredze 2009, with a diagonal covariance V that starts at 1. With y the best path by score +
    cost, d = Phi(gold) - Phi(y) and loss = cost(y) - (score(gold) - score(y)) > 0: w += loss / (d · V d + r) · V d,
    then 1 / V += d² / r. Choose it for many rare features, if you can try a few values of ``r``.

    Parameters
    ----------
    r
        Regularisation; larger values make smaller steps.
    average
        Use the mean of the weights over all steps instead of the last weights.
    epochs
        Number of passes over the corpus.
    shuffle
        Visit the sentences in another order in each epoch.
    seed
        Seed of the order.
    batch
        Number of sentences decoded with the same weights, in parallel; the steps follow in order. 1 is the algorithm of
        the papers.
    update
        With a beam search from left to right, the prefix to update on after a search error: ``"standard"``, the whole
        output; ``"early"``, where the gold output leaves the beam; ``"max-violation"`` (default), where it is most
        behind.
    shards
        Number of parts of the corpus that are trained independently for an epoch and then mixed (McDonald, Hall and
        Mann 2010).
    mix
        How shards are mixed: ``"touched"``, mean over the shards that changed a weight; ``"uniform"``, over all shards.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> trellis.train(X, y, learner=trellis.AROW(epochs=3)).predict(["a", "dog"])
    ['D', 'N']
    """

    r: float = 10.0
    average: bool = False

    rule, constant = "AROW", "r"
    reads_costs = True
    constraints: ClassVar[Constraints] = {"r": real(above=True), **MiniBatchLearner.constraints}
