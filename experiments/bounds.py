"""The theorems of Collins 2002 (sections 3 and 5), measured on a corpus.

With R the largest |Phi(x_i, gold) - Phi(x_i, z)| there is, U weights of length 1 and m_i the margin of sentence i,
U . Phi(x_i, gold) less the best U . Phi(x_i, z) of another z:

    theorem 1   mistakes, in all passes     <= R² / delta²                  where all m_i >= delta > 0
    theorem 2   mistakes, in the first pass <= (R + D)² / delta²            for every U and delta
    theorem 3   errors of voting after one pass, on average <= 2 / (n + 1) times theorem 2's bound

with eps_i = max(0, delta - m_i) and D = sqrt(sum_i eps_i²) (definition 2). A mistake is a sentence whose best path is
wrong. Every U and delta give a bound that holds; the least one found is told.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis._support.arguments import whole_number
from trellis._support.arrays import Doubles, Ints, Lists
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import Corpus, columns_named
from trellis.corpus.read import read
from trellis.engine.weights import ChainWeights
from trellis.features.vocabulary import feature_set
from trellis.learners.dual import HMSVM
from trellis.learners.online import Perceptron
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.learner import Learner
from trellis.learning.run import Event, Observer
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.train import train

MOST_PATHS = 20_000  # of one sentence, so that R is found by looking at all of them
SLACK = 1e4  # C of the margin's quadratic programme: slack costs so much that there is none where data fit
SEARCH = 2000  # values of delta that are tried


@dataclass(frozen=True, slots=True)
class Margins:
    """Margins of sentences by weights of length 1, and the bounds that follow."""

    weights: str  # which weights
    margins: Doubles  # [n_sentences]; infinite where a sentence has one path only
    delta: float  # the one with the least bound of theorem 2
    deviation: float  # D at that delta
    bound: float  # theorem 2's bound on mistakes in the first pass

    @property
    def least(self) -> float:
        """The margin of all sentences: above 0 where the weights separate the data."""
        return float(self.margins.min())


@dataclass(frozen=True, slots=True)
class Study:
    """Measurements on a corpus, and the bounds of the theorems."""

    n_sentences: int
    radius: float  # R
    radius_is_exact: bool  # by looking at all paths; else it is an upper bound of R
    mistakes: list[int]  # in each pass of the perceptron
    separable: bool  # whether weights were found that label every sentence correctly
    margins: list[Margins]  # by the weights that were tried, the least bound first
    most_margin: float | None  # no weights have a greater one; None where data do not fit
    held_out_error: float | None = None  # share of held-out sentences that voting gets wrong after one pass

    @property
    def delta(self) -> float | None:
        """The largest margin found."""
        return max(one.least for one in self.margins) if self.separable else None

    @property
    def bound_1(self) -> float | None:
        """Theorem 1: mistakes in all passes; None where the data are not separable."""
        return None if self.delta is None else self.radius**2 / self.delta**2

    @property
    def bound_2(self) -> float:
        """Theorem 2: mistakes in the first pass."""
        return self.margins[0].bound

    @property
    def bound_3(self) -> float:
        """Theorem 3: the share of new sentences that voting gets wrong after one pass."""
        return 2 / (self.n_sentences + 1) * self.bound_2

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of a table: quantity, value, meaning."""
        exact = "exactly, by looking at all paths" if self.radius_is_exact else "an upper bound"
        best = self.margins[0]
        rows = [
            ("sentences", f"{self.n_sentences:,}", ""),
            ("R", f"{self.radius:.4g}", f"the most that two outputs of a sentence differ; {exact}"),
            ("mistakes, first pass", f"{self.mistakes[0]:,}", "sentences the perceptron got wrong when it met them"),
            ("mistakes, all passes", f"{sum(self.mistakes):,}", f"in {len(self.mistakes)} passes"),
        ]
        if self.delta is None:
            rows.append(("margin", "none", "no weights found get every sentence right"))
        else:
            most = "" if self.most_margin is None else f"; none is above {self.most_margin:.4g}"
            rows.append(
                ("margin", f"{self.delta:.4g}", f"every sentence wins by that much, with weights of length 1{most}")
            )
            rows.append(("theorem 1", f"{self.bound_1:,.4g}", "at most so many mistakes, in however many passes"))
        rows += [
            ("delta, D", f"{best.delta:.4g}, {best.deviation:.4g}", f"of the {best.weights} weights"),
            ("theorem 2", f"{self.bound_2:,.4g}", "at most so many mistakes in the first pass"),
            ("theorem 3", f"{100 * self.bound_3:.4g}%", "of new sentences wrong at most, by voting after one pass"),
        ]
        if self.held_out_error is not None:
            rows.append(("held out", f"{100 * self.held_out_error:.4g}%", "of held-out sentences wrong, by voting"))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "sentences": self.n_sentences,
            "R": self.radius,
            "R_is_exact": self.radius_is_exact,
            "mistakes": self.mistakes,
            "margin": self.delta,
            "most_margin": self.most_margin,
            "delta": self.margins[0].delta,
            "D": self.margins[0].deviation,
            "theorem_1": self.bound_1,
            "theorem_2": self.bound_2,
            "theorem_3": self.bound_3,
            "held_out_error": self.held_out_error,
        }


def study(
    corpus: Any,
    *,
    target: str,
    features: Any = None,
    order: int | None = None,
    epochs: int = 10,
    held_out: Any = None,
    n_threads: int | None = None,
    observer: Observer | None = None,
) -> Study:
    """Train the perceptron on a corpus and measure the quantities in the theorems.

    The weights U whose bounds are told are those of the perceptron, their average and those of the greatest margin, by
    a hidden Markov SVM. ``epochs`` are passes of the perceptron; with ``held_out``, another corpus, a voted perceptron
    is trained for one pass and tested on it. The other arguments are those of ``trellis.train``.
    """
    corpus, epochs = read(corpus), whole_number("epochs", epochs, 1)
    tested = None if held_out is None else read(held_out)
    if tested is not None and tested.n_tokens == 0:
        raise CorpusError(tested.source, None, "no sentences to test on; leave held_out out")
    columns = [name for name in corpus.columns if name not in columns_named(target, list(corpus.columns))]
    far = None if features is None else feature_set(features, columns).far
    if far is not None:
        raise LearnerError(
            f"template {str(far)!r} is about a label further back, which only a beam can see, and the theorems are "
            "about exact search; omit it"
        )
    given: dict[str, Any] = {"target": target, "features": features, "order": order, "n_threads": n_threads}
    watched = _Watched(Perceptron(epochs=epochs, average=False, shuffle=False))
    plain = train(corpus, learner=watched, observer=observer, **given)
    problem, mistakes = watched.problem, [event.updates or 0 for event in watched.events]
    duals: list[float] = []
    svm = HMSVM(solver="frank-wolfe", C=SLACK, tolerance=1e-3, epochs=200, average=False)
    taggers = {
        "perceptron's": plain,
        "averaged": train(corpus, learner=Perceptron(epochs=epochs, shuffle=False), **given),
        "greatest margin's": train(corpus, learner=svm, observer=lambda e: duals.append(e.dual or 0.0), **given),
    }
    radius, exact = radius_of(problem)
    found = [_margins(name, tagger, corpus, target, radius) for name, tagger in taggers.items()]
    separable = any(one.least > 0 for one in found)
    error = None
    if tested is not None:
        voted = train(corpus, learner=Perceptron(epochs=1, vote=True, shuffle=False), **given)
        error = 1 - voted.evaluate(tested, target=target).sentence_accuracy
    return Study(
        problem.n_sentences,
        radius,
        exact,
        mistakes,
        separable,
        sorted(found, key=lambda one: one.bound),
        # The dual is never above ½ / delta² of the greatest margin.
        1 / math.sqrt(2 * max(duals)) if separable and max(duals) > 0 else None,
        error,
    )


class _Watched(Learner):
    """A learner, and the problem that it was given."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.events: list[Event] = []

    @property
    def abilities(self) -> Any:
        """Those of the learner."""
        return self.learner.abilities

    def fit(self, problem: ChainProblem, observer: Observer | None = None) -> tuple[ChainWeights, list[Event]]:
        """Train, and keep the problem."""
        self.problem = problem
        weights, self.events = self.learner.fit(problem, observer)
        return weights, self.events


# ------------------------------------------------------------ margins


def _margins(name: str, tagger: Tagger, corpus: Corpus, target: str, radius: float) -> Margins:
    """m_i of all sentences, and the delta with the least bound."""
    length = math.sqrt(tagger.model.weights.squares())
    if length == 0:
        raise LearnerError("the weights are all zero: every sentence is right before anything is learnt")
    best = tagger.kbest_batch(corpus, 2)
    golds = corpus.sentences(target)
    margins = np.empty(len(golds))
    for i, (paths, gold) in enumerate(zip(best, golds, strict=True)):
        others = [score for path, score in paths if path != list(gold)]
        own = next((score for path, score in paths if path == list(gold)), None)
        own = tagger.score(corpus[i], list(gold)) if own is None and gold else own
        margins[i] = np.inf if not others or own is None else (own - others[0]) / length
    return Margins(name, margins, *best_bound(margins, radius))


def best_bound(margins: Doubles, radius: float) -> tuple[float, float, float]:
    """The delta with the least (R + D)² / delta² among many, its D, and that bound."""
    finite = margins[np.isfinite(margins)]
    most = max(float(np.abs(finite).max(initial=0.0)), 1e-12)
    tried = np.concatenate([np.geomspace(1e-3 * most, 100 * most, SEARCH), finite[finite > 0]])
    deviations = np.sqrt((np.maximum(0.0, tried[:, None] - finite[None, :]) ** 2).sum(axis=1))
    bounds = (radius + deviations) ** 2 / tried**2
    least = int(bounds.argmin())
    return float(tried[least]), float(deviations[least]), float(bounds[least])


# ------------------------------------------------------------ R


def radius_of(problem: ChainProblem) -> tuple[float, bool]:
    """R, and whether it is exact: by looking at all paths where they are few, else an upper bound.

    With K[s, t] the inner product of what is observed at tokens s and t, and the n-grams of labels there,

        |Phi(gold) - Phi(z)|² = sum_st K[s, t] ([gold_s = gold_t] - [gold_s = z_t] - [z_s = gold_t] + [z_s = z_t])

    summed over attributes with labels, over label n-grams, and over attributes with label n-grams.
    """
    squares, exact = 0.0, True
    starts, n_labels = problem.starts, problem.n_labels
    for begin, end in itertools.pairwise(starts.tolist()):
        if begin == end:
            continue
        gold = problem.gold[begin:end]
        kernels = list(_kernels(problem, begin, end))
        if n_labels ** (end - begin) <= MOST_PATHS:
            paths = np.array(list(itertools.product(range(n_labels), repeat=end - begin)), np.int32)
            distances = np.sum([_distances(k, m, gold, paths, n_labels) for k, m in kernels], axis=0)
            squares = max(squares, float(distances.max()))
        else:
            exact = False
            squares = max(squares, sum(_most(k, m, gold, n_labels) for k, m in kernels))
    return math.sqrt(squares), exact


def _kernels(problem: ChainProblem, begin: int, end: int) -> Iterator[tuple[Doubles, int]]:
    """Inner products of tokens, and with how many labels what they have in common counts."""
    yield _products(problem.corpus.lists, begin, end), 1
    if problem.corpus.edge_lists is not None:
        histories = problem.corpus.histories
        lengths = np.ones(problem.corpus.n_edge_attributes, int) if histories is None else histories.astype(int)
        for length in sorted(set(lengths.tolist())):
            yield _products(problem.corpus.edge_lists, begin, end, lengths == length), length + 1
    n = end - begin
    for length in range(2, problem.order + 2):
        yield np.ones((n, n)), length


def _products(lists: Lists, begin: int, end: int, kept: Any = None) -> Doubles:
    starts, ids, values = lists
    rows = []
    for t in range(begin, end):
        row: dict[int, float] = {}
        for i in range(starts[t], starts[t + 1]):
            j, value = int(ids[i]), float(values[i]) if len(values) else 1.0
            if kept is None or kept[j]:
                row[j] = row.get(j, 0.0) + value
        rows.append(row)
    return np.array([[sum(v * b.get(j, 0.0) for j, v in a.items()) for b in rows] for a in rows])


def _grams(paths: Ints, length: int, n_labels: int) -> Any:
    """The number of the label n-gram at each token, labels before the sentence among them."""
    n = paths.shape[-1]
    codes = np.zeros(paths.shape, object if (n_labels + 1) ** length > 2**62 else np.int64)
    for back in range(length):
        shifted = np.full(paths.shape, n_labels)
        if back < n:
            shifted[..., back:] = paths[..., : n - back]
        codes = codes * (n_labels + 1) + shifted
    return codes


def _distances(kernel: Doubles, length: int, gold: Ints, paths: Ints, n_labels: int) -> Doubles:
    g, z = _grams(gold, length, n_labels), _grams(paths, length, n_labels)
    own = float((kernel * (g[:, None] == g[None, :])).sum())
    crossed = np.einsum("st,pst->p", kernel, (g[None, :, None] == z[:, None, :]).astype(float))
    other = np.einsum("st,pst->p", kernel, (z[:, :, None] == z[:, None, :]).astype(float))
    distances: Doubles = own - 2 * crossed + other
    return distances


def _most(kernel: Doubles, length: int, gold: Ints, n_labels: int) -> float:
    """An upper bound: |Phi(z)|² is greatest where all labels are one; gold and z share nothing at best."""
    g = _grams(gold, length, n_labels)
    own, other = float((kernel * (g[:, None] == g[None, :])).sum()), float(np.abs(kernel).sum())
    if (kernel >= 0).all():
        return own + other
    return (math.sqrt(own) + math.sqrt(other)) ** 2


def draw_mistakes(study: Study, path: str) -> None:
    """Mistakes up to each pass beside the bounds; the greater of them by the power of ten."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    passes = range(1, len(study.mistakes) + 1)
    axes.set(title="mistakes of the perceptron", xlabel="pass", ylabel="sentences", yscale="log")
    axes.plot(passes, list(itertools.accumulate(study.mistakes)), "o-", ms=3, label="mistakes so far")
    axes.plot(1, study.bound_2, "v", label="theorem 2: in the first pass")
    if study.bound_1 is not None:
        axes.axhline(study.bound_1, color="tab:red", ls="--", label="theorem 1: in all passes")
    axes.set_ylim(bottom=1)
    axes.set_xticks(passes if len(passes) <= 12 else passes[:: len(passes) // 6])
    axes.legend(loc="best")
    figure.savefig(path)
