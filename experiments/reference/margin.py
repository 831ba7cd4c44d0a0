"""Large margins: the gold path must beat every other path y by cost(y), or pay C per sentence for what is missing.

    min over w of  ½ |w|² + sum_i C xi_i    with    w · d(i, y) >= cost(i, y) - xi_i,    d(i, y) = Phi(gold_i) - Phi(y)

Its dual has a weight alpha(i, y) >= 0 per wrong path, sum_y alpha(i, y) <= C, and w = sum alpha(i, y) d(i, y):

    max over alpha of  sum alpha cost - ½ |w|²

Both solvers go from sentence to sentence, ask for the path that violates its margin most, and change the alphas of
this one sentence: a working set of paths at a time, or one step towards the new path (Frank-Wolfe).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.reference.chains import Doubles, Potentials, kbest, viterbi


def most_violated(p: Potentials, gold: Sequence[int], cost: Doubles | None) -> list[int]:
    """argmax of cost(y) + score(y), cost(y) being the sum of cost[t, z]: costs simply join the potentials.

    None is the zero-one cost, 1 for every wrong path: the best path, or the second best if the best is gold.
    """
    if cost is not None:
        return viterbi(replace(p, emit=p.emit + cost))[0]
    return next((path for path, _ in kbest(p, 2) if path != list(gold)), list(gold))


def sizes_in_the_dual(w: Doubles, d: Doubles, costs: Doubles, C: float) -> Doubles:
    """The alphas [n] of the paths of one working set, d [n, F]: max a · l - ½ |a d|² over a >= 0, sum a <= C.

    l = costs - d w is what each margin lacks under the weights w of all other sentences (HM-SVM), or under the weights
    so far (MIRA). Every set of alphas above zero is tried, with sum a = C and with less.
    """
    losses, gram = costs - d @ w, d @ d.T
    best, most = np.zeros(len(d)), 0.0
    for bits, tight in itertools.product(range(1, 2 ** len(d)), (False, True)):
        used = [i for i in range(len(d)) if bits >> i & 1]
        n = len(used)
        matrix, right = gram[np.ix_(used, used)], losses[used]
        if tight:  # the slope is the same for all of them, and the sum is C
            matrix = np.block([[matrix, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
            right = np.append(right, C)
        if np.linalg.matrix_rank(matrix) < len(matrix):
            continue  # a smaller set does as well
        a = np.zeros(len(d))
        a[used] = np.linalg.solve(matrix, right)[:n]
        value = float(a @ losses - 0.5 * a @ gram @ a)
        if a.min() >= 0 and a.sum() <= C * (1 + 1e-12) and value > most:
            best, most = a, value
    return best


def frank_wolfe_step(
    w: Doubles, v: Doubles, cost: float, d: Doubles, cost_of_path: float, C: float
) -> tuple[float, float]:
    """How far to go, 0 to 1, from a sentence's mixture of paths (mean d ``v``, mean cost) to one path; and the gap.

    C times gap = (cost_of_path - w·d) - (cost - w·v) bounds what this sentence can still gain. The dual is quadratic
    along the step: greatest at gap / (C |d - v|²), or at its end.
    """
    gap, norm = float((cost_of_path - w @ d) - (cost - w @ v)), float((d - v) @ (d - v))
    return (min(1.0, gap / (C * norm)) if norm else 1.0), gap
