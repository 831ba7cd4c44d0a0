"""Conditional random fields (Altun, section 2.3): the log loss of whole paths, with L2 and L1 penalties.

Advantages: probabilities; with an L1 penalty, small models. Disadvantage: slower to train than online learners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from trellis.learning.descent import BatchLearner, Descent, Passes, sparse_minimizer
from trellis.learning.learner import ALL_ABILITIES, Constraints, choice, real, whole
from trellis.learning.problem import Problem
from trellis.learning.sums import sums_of

_LBFGS = ("solver='lbfgs'", lambda p: p["solver"] == "lbfgs")
_PASSES = ("solver='adagrad' or warm_up above 0", lambda p: p["solver"] == "adagrad" or p["warm_up"] > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CRF(BatchLearner):
    """Conditional random field: minimise -sum_i log p(gold_i | x_i) + c2 · |w|² + c1 · |w|₁.

    The optimiser is L-BFGS, with proximal steps if c1 > 0. Choose it for probabilities; ``CRF(solver="adagrad")`` for
    large corpora, ``CRF(c1=1.0, c2=0.0)`` for small models.

    Parameters
    ----------
    c1
        Weight of the L1 penalty.
    c2
        Weight of the L2 penalty.
    epochs
        Maximum number of epochs (default: 1000; 10 for ``"adagrad"``).
    tolerance
        Training ends when the objective falls by less than this fraction over ten epochs; not for ``"adagrad"``.
    precision
        Precision of potentials, ``"single"`` or ``"double"``; sums are in double. ``"auto"``: single if there is a
        penalty and ``tolerance`` is at least 1e-6.
    solver
        ``"lbfgs"``, or ``"adagrad"`` for stochastic steps only: close to the optimum in a fraction of the time.
    warm_up
        Number of first epochs with stochastic steps (AdaGrad) before L-BFGS.
    rate
        Learning rate of stochastic steps.
    seed
        Seed of the order of sentences in stochastic steps.
    batch
        Number of sentences per stochastic step whose gradients are computed with the same weights.
    transitions
        Label pairs that have weights: ``"seen"`` in training, or ``"all"``.
    start
        Whether the first label of a sentence has weights of its own.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> tagger = trellis.train(X, y, learner=trellis.CRF(c2=0.1))
    >>> tagger.predict(["a", "dog"])
    ['D', 'N']
    >>> tagger.probability_kind
    'probability'
    """

    c1: float = 0.0
    c2: float = 1.0
    epochs: int | None = None
    tolerance: float = 1e-5
    precision: Literal["auto", "single", "double"] = "auto"
    solver: Literal["lbfgs", "adagrad"] = "lbfgs"
    warm_up: int = 3
    rate: float = 0.2
    seed: int = 0
    batch: int = 8

    constraints: ClassVar[Constraints] = {
        **BatchLearner.constraints,
        "c1": real(),
        "c2": real(),
        "precision": choice("auto", "single", "double"),
        "solver": choice("lbfgs", "adagrad"),
        "epochs": whole(1, default=lambda p: 1000 if p["solver"] == "lbfgs" else 10),
        "tolerance": real(only=_LBFGS),
        "warm_up": whole(only=_LBFGS),
        "rate": real(only=_PASSES),
        "seed": whole(only=_PASSES),
        "batch": whole(1, 2**16, only=_PASSES),
    }

    abilities = ALL_ABILITIES - {"beam"}  # sums go over all paths

    @property
    def on_workers(self) -> bool:
        """Whether workers can train it: with L-BFGS."""
        return self.solver == "lbfgs"

    def begin(self, problem: Problem) -> Descent:
        """The weights in training."""
        parameters = self.effective()
        single = self.precision == "single"
        if self.precision == "auto":
            single = self.c1 + self.c2 > 0 and parameters.get("tolerance", 1.0) >= 1e-6
        vector = problem.vector(self)
        sums, passes = sums_of(problem, vector, self.c2, single=single), None
        # After a warm start no passes are needed before L-BFGS.
        if "rate" in parameters and (problem.initial is None or self.solver == "adagrad"):
            n = parameters.get("warm_up", parameters["epochs"])
            rest = (parameters["rate"], parameters["seed"], n, self.solver == "lbfgs", parameters["batch"])
            passes = Passes(problem, sums.parts.first, self.c1, self.c2, *rest)
        sparse = None if self.c1 == 0 else sparse_minimizer(problem, vector, sums, self.c1)
        return Descent(
            problem,
            vector,
            sums.log_loss,
            epochs=parameters["epochs"],
            tolerance=parameters.get("tolerance", 0.0),
            passes=passes,
            minimizer=sparse,
        )
