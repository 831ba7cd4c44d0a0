"""Chains: from weights to potentials, from potentials to the best path, the k best, log Z and marginals.

A tagger gives every token one of L labels. What it knows about a sentence of T tokens is its *potentials*,
the scores of label choices (minus infinity forbids a choice):

    emit[t, z]           label z at token t
    edge[y, z]           label z after label y; or edge[t, y, z], another table at every token
    tri[x, y, z]         label z after x, y; None in a chain of order 1. At order n it has n + 1 axes
    end[z]               last label z; None for nothing

NULL, the label before the sentence, has index L: edge is [L+1, L], tri is [L+1, L+1, L], with one more axis [L+1] in
front for every further label back. With x, y, z = path[t-2], path[t-1], path[t], the score of a path is

    score(path) = sum_t ( tri[x, y, z] + edge[y, z] + emit[t, z] ) + end

Every algorithm below walks the sentence once and keeps a score for each *history*: what the next score can
still see of the labels so far. That is the last label at order 1, an array s[y], the last two at order 2,
an array s[x, y], the last n at order n. One step (`extend`) appends a label z as a last axis; then the first axis,
the label now out of sight, is reduced: by max for the best path, by log-sum-exp for log Z. So the same lines serve
every order. Where only some label n-grams have a score, `ngram_table` makes the table of them.

Ties: the lowest label wins, decided from the last label backwards. A sentence without tokens has one path, of
score 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Potentials:
    """The scores of one sentence's label choices."""

    emit: Doubles  # [T, L]
    edge: Doubles  # [L+1, L], or [T, L+1, L]
    tri: Doubles | None = None  # [L+1, L+1, L]; at order n [L+1, .., L+1, L] with n + 1 axes
    end: Doubles | None = None  # [L] of the last label

    @property
    def order(self) -> int:
        """How many labels back a score can see."""
        return 1 if self.tri is None else self.tri.ndim - 1

    def edge_at(self, t: int) -> Doubles:
        """The edge scores [L+1, L] into token t."""
        return self.edge[t] if self.edge.ndim == 3 else self.edge


def restrict(emit: Doubles, allowed: Sequence[Sequence[int]]) -> Doubles:
    """Allow only some labels at each token (a tag dictionary): all others score minus infinity."""
    restricted = np.full_like(emit, -np.inf)
    for t, labels in enumerate(allowed):
        restricted[t, list(labels)] = emit[t, list(labels)]
    return restricted


def ngram_table(scores: Mapping[tuple[int, ...], float], n_labels: int, order: int) -> Doubles:
    """The table of a chain of that order in which label n-grams of up to order + 1 labels have these scores.

    tri[.., x, y, z] = sum of the scores of all n-grams that (.., x, y, z) ends in. NULL may only be the first of one.
    """
    tri = np.zeros((n_labels + 1,) * order + (n_labels,))
    for ngram, score in scores.items():
        histories = (slice(None),) * (order + 1 - len(ngram))  # all that may stand before it
        tri[histories + ngram] += score
    return tri


# ------------------------------------------------------------ one step


def no_history(p: Potentials) -> Doubles:
    """Scores of histories before the first token: all NULL, for nothing."""
    s = np.full((p.emit.shape[1] + 1,) * p.order, -np.inf, p.emit.dtype)
    s[(-1,) * p.order] = 0.0
    return s


def extend(p: Potentials, t: int, s: Doubles) -> Doubles:
    """c[.., y, z] = ((s[.., y] + tri[x, y, z]) + edge[y, z]) + emit[t, z].

    Float sums depend on their order; this is the order in which every kernel adds, so that scores agree to
    the bit.
    """
    c = s[..., None] if p.tri is None else s[..., None] + p.tri
    longer: Doubles = (c + p.edge_at(t)) + p.emit[t]
    return longer


def with_null(s: Doubles) -> Doubles:
    """Histories as the next step wants them: NULL joins the last axis, impossible now."""
    return np.concatenate([s, np.full((*s.shape[:-1], 1), -np.inf, s.dtype)], axis=-1)


def finish(p: Potentials, s: Doubles) -> Doubles:
    """Scores of the last histories, [z] or [y, z], with the end's score."""
    return s[..., :-1] if p.end is None else s[..., :-1] + p.end


# ------------------------------------------------------------ paths


def path_score(p: Potentials, path: Sequence[int]) -> float:
    """score(path) = sum_t (tri + edge + emit) + end, added from left to right."""
    history, score = (p.emit.shape[1],) * p.order, 0.0
    for t, z in enumerate(path):
        if p.tri is not None:
            score += float(p.tri[(*history, z)])
        score += float(p.edge_at(t)[history[-1], z])
        score += float(p.emit[t, z])
        history = (*history[1:], z)
    if p.end is not None and len(path):
        score += float(p.end[history[-1]])
    return score


def viterbi(p: Potentials) -> tuple[list[int], float]:
    """The best path and its score: s'[.., z] = max over the first axis of extend(s), traced back.

    If every path is forbidden the score is minus infinity, and the path is the one the recursion meets.
    """
    T = len(p.emit)
    if T == 0:
        return [], 0.0
    s, best_first = no_history(p), []
    for t in range(T):
        c = extend(p, t, s)
        best_first.append(c.argmax(axis=0))  # argmax takes the lowest of equals
        s = with_null(c.max(axis=0))
    final = finish(p, s)
    # Transposed, so that the last label decides a tie first.
    history = np.unravel_index(final.T.argmax(), final.T.shape)[::-1]
    path = [int(z) for z in history]
    for t in range(T - 1, p.order - 1, -1):
        path.insert(0, int(best_first[t][tuple(path[: p.order])]))
    return path[-T:], float(final[history])  # of one token, the history at order 2 is NULL and its label


def kbest(p: Potentials, k: int) -> list[tuple[list[int], float]]:
    """The k best paths, best first: keep the k best prefixes of every history.

    Equal scores are ordered by the reversed path, lowest first. Forbidden paths (score minus infinity) are
    left out, except that the first path is always the one that `viterbi` gives.
    """
    L = p.emit.shape[1]
    Prefix = tuple[float, tuple[int, ...]]
    beams: dict[tuple[int, ...], list[Prefix]] = {(L,) * p.order: [(0.0, ())]}
    for t in range(len(p.emit)):
        grown: dict[tuple[int, ...], list[Prefix]] = {}
        for history in sorted(beams):  # ascending, and sorting is stable: the lower predecessor stays ahead
            for s, prefix in beams[history]:
                for z in range(L):
                    score = s if p.tri is None else s + p.tri[(*history, z)]
                    score = (score + p.edge_at(t)[history[-1], z]) + p.emit[t, z]
                    grown.setdefault((*history[1:], z), []).append((score, (*prefix, z)))
        beams = {h: sorted(prefixes, key=lambda one: -one[0])[:k] for h, prefixes in grown.items()}
    ends = []
    for history in sorted(beams, key=lambda h: h[::-1]):
        extra = 0.0 if p.end is None or not len(p.emit) else p.end[history[-1]]
        ends += [(float(s + extra), list(path)) for s, path in beams[history]]
    ends.sort(key=lambda one: -one[0])
    return [(path, s) for i, (s, path) in enumerate(ends[:k]) if i == 0 or s > -np.inf]


# ------------------------------------------------------------ sums over paths


def log_sum_exp(a: Doubles, axis: int | tuple[int, ...]) -> Doubles:
    """log sum exp(a) without overflow; minus infinity where all terms are."""
    top = a.max(axis=axis, keepdims=True)
    top = np.where(top == -np.inf, 0.0, top)
    with np.errstate(divide="ignore"):
        total: Doubles = np.log(np.exp(a - top).sum(axis=axis)) + top.squeeze(axis)
    return total


class Marginals(NamedTuple):
    """What forward-backward knows about all paths, each with probability exp(score) / Z."""

    log_z: float
    node: Doubles  # [T, L]        P(z at t)
    edge: Doubles  # [T, L+1, L]   P(y at t-1, z at t); at t = 0 only the row of NULL is not 0


def log_partition(p: Potentials) -> float:
    """log Z = log of the sum over all paths of exp(score(path)): Viterbi with log-sum-exp in place of max."""
    if len(p.emit) == 0:
        return 0.0
    s = no_history(p)
    for t in range(len(p.emit)):
        s = with_null(log_sum_exp(extend(p, t, s), axis=0))
    return float(log_sum_exp(finish(p, s).ravel(), axis=0))


def joints(p: Potentials) -> Iterator[tuple[int, Doubles]]:
    """P(.., y, z at t), one array [.., y, z] per token from the last to the first; nothing if no path is allowed.

    alpha is the log sum over all prefixes that end in a history, beta over all continuations of it:

        P(.., y, z at t) = exp( extend(alpha)[.., y, z] + beta[.., z] - log Z )
    """
    T, L = p.emit.shape
    log_z = log_partition(p)
    if T == 0 or log_z == -np.inf:
        return
    alphas = [no_history(p)]
    for t in range(T - 1):
        alphas.append(with_null(log_sum_exp(extend(p, t, alphas[t]), axis=0)))
    beta = finish(p, np.zeros((L + 1,) * p.order))
    for t in range(T - 1, -1, -1):
        yield t, np.exp(extend(p, t, alphas[t]) + beta - log_z)
        # The step alone, without what came before it; NULL cannot be the label of a token.
        step = extend(p, t, np.zeros((L + 1,) * p.order))
        beta = log_sum_exp(step + beta, axis=-1)[..., :L]


def marginals(p: Potentials) -> Marginals:
    """Forward-backward. If every path is forbidden, log Z is minus infinity and all marginals are 0."""
    T, L = p.emit.shape
    edge = np.zeros((T, L + 1, L))
    for t, joint in joints(p):
        edge[t] = joint.reshape(-1, L + 1, L).sum(axis=0)
    return Marginals(log_partition(p), edge.sum(axis=1), edge)


# ------------------------------------------------------------ from weights to potentials


@dataclass(frozen=True, slots=True)
class DenseWeights:
    """The parameters alpha, one for every feature: also the shape of Phi, which counts features."""

    emit: Doubles  # [n_features, L]
    edge: Doubles  # [L+1, L]
    tri: Doubles | None  # [L+1, L+1, L]

    @staticmethod
    def zeros(n_features: int, n_labels: int, order: int) -> DenseWeights:
        """All parameters zero."""
        L = n_labels
        tri = np.zeros((L + 1, L + 1, L)) if order == 2 else None
        return DenseWeights(np.zeros((n_features, L)), np.zeros((L + 1, L)), tri)

    def tables(self) -> Iterator[Doubles]:
        """Every table of parameters there is."""
        yield from (table for table in (self.emit, self.edge, self.tri) if table is not None)


Tokens = Sequence[Sequence[int]]  # the features that hold at each token


def potentials(weights: DenseWeights, tokens: Tokens) -> Potentials:
    """emit[t, z] = sum of weights[f, z] over the features f of token t: all that is seen of a word."""
    emit = np.zeros((len(tokens), weights.emit.shape[1]))
    for t, features in enumerate(tokens):
        for f in features:
            emit[t] += weights.emit[f]
    return Potentials(emit, weights.edge, weights.tri)


def add_features_of(tokens: Tokens, path: Sequence[int], weights: DenseWeights, by: float) -> None:
    """alpha += by * Phi(x, path), where Phi_s = sum_t phi_s(history, label) counts feature s (equation 1)."""
    x = y = weights.emit.shape[1]
    for features, z in zip(tokens, path, strict=True):
        for f in features:
            weights.emit[f, z] += by
        weights.edge[y, z] += by
        if weights.tri is not None:
            weights.tri[x, y, z] += by
        x, y = y, z


def features_of(tokens: Tokens, path: Sequence[int], n_features: int, n_labels: int, order: int) -> DenseWeights:
    """Phi(x, path): how often each feature occurs in a labelled sentence. Its score is Phi . alpha."""
    phi = DenseWeights.zeros(n_features, n_labels, order)
    add_features_of(tokens, path, phi, 1.0)
    return phi
