"""Hidden Markov support vector machines (Altun, section 4): the largest margin between gold and other sequences.

Advantages: a convex problem with a certificate, kernels over what is observed, a model made of few sequences.
Disadvantage: with a kernel, time and memory grow with the square of the number of tokens.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from trellis import _core
from trellis.errors import LearnerError
from trellis.learning.checks import check_choice
from trellis.learning.dual_run import DualRun, check_kernel, told
from trellis.learning.events import Event, Observer
from trellis.learning.frank_wolfe import fit_frank_wolfe
from trellis.learning.online import check, check_epochs
from trellis.learning.problem import Problem
from trellis.learning.progress import State, begin, go_on, stopping
from trellis.model.kernels import KernelFunction
from trellis.model.weights import ChainWeights


@dataclass(frozen=True, slots=True)
class HMSVM:
    """min ½ |w|² + C sum_i xi_i  with  score(gold) - score(y) >= cost(y) - xi_i  for every y but the gold one.

    ``cost`` is 1 ("zero-one") or the number of wrong labels ("hamming"; or what label costs say). ``kernel`` compares
    what is observed at two tokens: "linear", "poly" ((gamma <a, b> + coef0)^degree), "rbf" (exp(-gamma |a - b|²)) or a
    function of two Observations. ``gamma`` is 1 if left out, of "rbf" one over the mean of |x|².

    ``solver`` "dual" is algorithm 3 of Altun: a working set of sequences for each sentence, one quadratic programme a
    visit, passes until no sentence is away from its optimum by more than ``tolerance``, or ``epochs`` passes; then the
    primal is at most C · n · tolerance above its least value. ``memory`` (MB) bounds what kernel values are kept.
    "frank-wolfe" solves the same problem with the linear kernel until the duality gap is ``tolerance`` of the primal;
    with ``average`` its weights are the mean over all steps, better where passes are few. docs/frank-wolfe.md.
    ``seed`` shuffles: sentences are taken in another order each pass.
    """

    C: float = 1.0
    kernel: str | KernelFunction = "linear"
    degree: int = 2
    gamma: float | None = None
    coef0: float = 1.0
    cost: Literal["zero-one", "hamming"] = "zero-one"
    solver: Literal["dual", "frank-wolfe"] = "dual"
    tolerance: float = 0.01
    epochs: int = 1000
    average: bool = True
    memory: float = 1024.0
    seed: int = 0

    reads_costs: ClassVar[bool] = True
    begins_anew: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check("C", self.C)
        check("tolerance", self.tolerance)
        check_epochs(self.epochs, self.seed)
        check_choice(self, "cost", "zero-one", "hamming")
        check_choice(self, "solver", "dual", "frank-wolfe")
        check_kernel(self)
        if self.solver == "frank-wolfe" and self.kernel != "linear":
            raise LearnerError('solver "frank-wolfe" keeps weights: it needs kernel="linear"')

    def __repr__(self) -> str:
        return told(self)

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        if problem.label_costs is not None and self.cost != "hamming":
            raise LearnerError('label_costs need cost="hamming"')
        if self.solver == "frank-wolfe":
            return fit_frank_wolfe(
                problem,
                C=self.C,
                cost=self.cost,
                epochs=self.epochs,
                tolerance=self.tolerance,
                average=self.average,
                seed=self.seed,
                observer=observer,
            )
        return self._fit_dual(problem, observer)

    def _fit_dual(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        run = DualRun(problem, self)
        solved = False

        def restore(state: State) -> None:
            nonlocal solved
            run.restore(state)
            solved = bool(state["solved"][0])

        progress = begin(problem, restore)
        with stopping():
            while not solved and progress.done < self.epochs:
                number, begun = progress.done + 1, time.perf_counter()
                order = _core.shuffled(problem.n_sentences, (self.seed * 1_000_003 + number) % 2**64)
                mistakes, updates, violation, gap = run.native.margin_pass(
                    order, self.C, self.tolerance, self.cost == "hamming", problem.n_threads
                )
                solved = updates == 0
                event = Event(
                    number,
                    self.epochs,
                    len(problem.gold),
                    time.perf_counter() - begun,
                    mistakes,
                    updates,
                    # The primal at the pass that changes nothing; before, the dual and what it lacked at each visit.
                    objective=run.native.dual + gap,
                    gradient_norm=violation,
                )
                if not go_on(
                    problem,
                    progress,
                    event,
                    run.result,
                    lambda: run.state() | {"solved": np.array([solved], np.int64)},  # noqa: B023
                    observer,
                ):
                    break
        return run.attached(progress.best or run.result()), progress.history
