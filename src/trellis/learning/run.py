"""A training problem, and the one loop that solves it: epochs, dev scores, best weights, checkpoints, an observer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Doubles, Floats, Ints, LabelSets, Longs
from trellis._support.errors import LearnerError, ModelError
from trellis.corpus.label_parts import LabelParts
from trellis.engine.weights import MANY_LABELS, ChainWeights, Ngrams, Rows
from trellis.features.vocabulary import Sources

if TYPE_CHECKING:
    from trellis.learning.checkpoint import Checkpoint
    from trellis.learning.feature_problem import FeatureProblem, FeatureWeights
    from trellis.learning.site_problem import SiteProblem, SiteWeights

State = Mapping[str, npt.NDArray[Any]]
LOG = logging.getLogger("trellis")  # every epoch at level INFO; silent unless the program asks for it


# ------------------------------------------------------------ the problem


@dataclass(frozen=True, slots=True)
class FeatureNames:
    """What the numbers of a problem stand for."""

    labels: tuple[str, ...]
    attributes: Mapping[int, str]
    edge_attributes: Mapping[int, str]


COST_AUGMENTED = ("MIRA", "AROW")  # rules whose best outputs are those by score plus cost
# A pair of listed labels costs about as much as so many of a table, which are summed as vectors.
LISTED_PAIR = 20


def is_sparse(n_labels: int, order: int, *, needed: bool) -> bool:
    """Whether there is no table of all label triples.

    It is so above order 2, where it would be large, and where it is ``needed``: attributes have weights with triples,
    or pairs of labels are pruned.
    """
    return order > 2 or (order == 2 and (n_labels > MANY_LABELS or needed))


class ExampleOrder:
    """In which order examples are taken, and how much each counts: the same for every structure."""

    __slots__ = ()
    sentence_weights: Doubles | None

    @property
    def unit(self) -> str:
        """What examples are made of."""
        return "tokens"

    @property
    def n_sentences(self) -> int:
        """How many examples there are."""
        raise NotImplementedError

    def sentence_order(self, number: int, seed: int | None) -> Longs:
        """The order of the sentences in epoch ``number``: shuffled by ``seed``, or as they stand."""
        if seed is None:
            return np.arange(self.n_sentences, dtype=np.int64)
        return _core.shuffled(self.n_sentences, (seed * 1_000_003 + number) % 2**64)

    def weigh(self, losses: Doubles) -> Doubles:
        """The loss of every sentence, as much as it counts."""
        return losses if self.sentence_weights is None else losses * self.sentence_weights


@dataclass(frozen=True, slots=True)
class Problem(ExampleOrder):
    """A training problem."""

    corpus: _core.Encoded
    starts: Longs  # [n_sentences + 1]
    gold: Ints  # [n_tokens], -1 where a label is not fully known (then `partial` says what it may be)
    n_labels: int
    order: int  # 0: label pairs have no weights; 1; 2
    n_threads: int
    # Where given, an attribute has weights only for the labels (and parts of labels) of its row.
    seen: Rows | None = None
    # The same for edge attributes, with places in the matrix of label pairs and after them n-grams.
    seen_edges: Rows | None = None
    ngrams: Ngrams | None = None  # those that ``seen_edges`` has columns for
    score_dev: Callable[[ChainWeights], float] | None = None
    # The labels of some sentences, given by their numbers, by the tagger that weights make.
    tag: Callable[[ChainWeights, Longs], Ints] | None = None
    checkpoint: Checkpoint | None = None  # the file that training resumes from
    patience: int | None = None  # epochs without a better dev score after which to stop
    partial: LabelSets | None = None  # labels that are consistent with what is known, for every token
    sentence_weights: Doubles | None = None  # [n_sentences] how much each counts
    label_costs: Floats | None = None  # [n_labels, n_labels] of gold label and another, 0 on the diagonal
    edge_base: Floats | None = None  # [n_labels + 1, stride] 0, or minus infinity where forbidden
    end_base: Floats | None = None  # [stride] the same for last labels
    initial: ChainWeights | None = None  # where to start (warm start), in the numbering of this corpus
    sources: Sources | None = None  # where attributes come from, for learners that say ``reads_sources``
    beam: int = 0  # states per token that best paths are looked for in, for learners with the ability "beam"; 0: all
    label_parts: LabelParts | None = None  # for learners with the ability "parts"
    names: FeatureNames | None = None  # what numbers stand for, for learners that say ``reads_names``
    # Of a stream: the problem of each block, read anew; the corpus above has then no tokens.
    blocks: Callable[[], Iterator[Problem]] | None = None

    def in_blocks(self) -> Iterator[Problem]:
        """The problem block by block; itself where it is no stream."""
        return iter([self]) if self.blocks is None else self.blocks()

    @property
    def is_sparse(self) -> bool:
        """Whether label n-grams of three labels and more have weights only where training needs them."""
        pruned = self.corpus.sets is not None and self.corpus.sets[3] is not None
        return is_sparse(self.n_labels, self.order, needed=self.corpus.has_runs or pruned)

    @property
    def has_few_labels(self) -> bool:
        """Whether tokens may have so few of many labels that sums are faster by their lists than over all pairs."""
        if self.corpus.sets is None or self.n_labels <= MANY_LABELS:
            return False
        set_of, starts, *_ = self.corpus.sets
        sizes = np.diff(starts)[set_of].astype(np.float64)
        return bool((sizes[1:] * sizes[:-1]).mean() * LISTED_PAIR < self.n_labels**2) if len(sizes) > 1 else False

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.starts) - 1

    @property
    def n_columns(self) -> int:
        """How many columns rows of weights have: labels, and their parts."""
        return self.n_labels if self.label_parts is None else self.label_parts.n_columns

    @property
    def end(self) -> Floats | None:
        """[stride] what last labels give and no learner changes: minus infinity, or what a warm start brings."""
        given = None if self.initial is None else self.initial.end
        if self.end_base is None or given is None:
            return self.end_base if given is None else given
        return self.end_base + given

    def token_weights(self) -> Doubles:
        """How much each token counts: as its sentence does."""
        lengths = np.diff(self.starts)
        weights = np.ones(self.n_sentences) if self.sentence_weights is None else self.sentence_weights
        return np.repeat(weights, lengths)

    def label_triples(self) -> tuple[Longs, Longs, Longs]:
        """The gold label of every token with the two before it, NULL before the sentence; -1 where not fully known."""
        z = self.gold.astype(np.int64)
        before = [z]
        for back in (1, 2):
            shifted = np.full(len(z), self.n_labels, np.int64)
            shifted[back:] = z[:-back]
            position = np.arange(len(z)) - np.repeat(self.starts[:-1], np.diff(self.starts))
            shifted[position < back] = self.n_labels
            before.append(shifted)
        return before[2], before[1], before[0]


# ------------------------------------------------------------ the loop


@dataclass(frozen=True, slots=True)
class Event:
    """One epoch done. The library never prints: an observer does with events what it likes."""

    epoch: int  # from 1
    epochs: int = 0  # how many there will be at most
    tokens: int = 0  # tokens seen in it
    seconds: float | None = None  # what this one took; not kept in a model
    mistakes: int | None = None  # tokens whose label in the best path was wrong when they were seen
    # The same of the best path by score plus cost, for learners that look at no other: more than the mistakes. Zero
    # where every wrong path scores less than the gold path by at least its cost.
    violations: int | None = None
    updates: int | None = None  # sentences that changed the weights
    objective: float | None = None  # what is minimised
    dual: float | None = None  # lower bound of the objective
    gap: float | None = None  # objective less dual; an estimate where there is no objective
    gradient_norm: float | None = None
    step: float | None = None  # length of the step
    nonzero: int | None = None  # weights that are not zero
    dev_score: float | None = None  # on the dev corpus, from 0 to 1
    feature: str | None = None  # what a round of boosting chose, and with which label or labels
    label: str | None = None
    best: bool = False  # whether the dev score is the best so far
    unit: str = "tokens"  # what ``tokens``, ``mistakes`` and ``violations`` count

    def to_dict(self) -> dict[str, object]:
        """For the history inside a model, which is the same for the same training: without the time it took."""
        idle = {"seconds"} if self.unit != "tokens" else {"seconds", "unit"}
        return {key: value for key, value in asdict(self).items() if value is not None and key not in idle}

    def wrong_text(self) -> str | None:
        """The share that was wrong, in words; None where nothing is counted."""
        for n, what in ((self.mistakes, "wrong"), (self.violations, "violating the margin")):
            if n is not None:
                return f"{100 * n / max(1, self.tokens):.2f}% of {self.unit} {what} in training"
        return None

    def text(self) -> str:
        """One line for a log."""
        said = [f"epoch {self.epoch}" + (f" of {self.epochs}" if self.epochs else "")]
        if (wrong := self.wrong_text()) is not None:
            said.append(wrong)
        if self.objective is not None:
            said.append(f"objective {self.objective:.6g}")
        if self.dev_score is not None:
            said.append(f"{100 * self.dev_score:.2f} on dev" + (", the best so far" if self.best else ""))
        if self.seconds is not None:
            said.append(f"{self.seconds:.2f} s")
        return ", ".join(said)


Observer = Callable[[Event], None]


def check_observer(observer: Any) -> None:
    """LearnerError if it cannot be called."""
    if observer is not None and not callable(observer):
        raise LearnerError(f"observer must be a function that takes an event, not {observer!r}")


def wrong_parts(rule: str, n: int) -> dict[str, Any]:
    """How an event names ``n`` wrong parts that an online learner of this rule came upon."""
    return {"violations" if rule in COST_AUGMENTED else "mistakes": n}


class StopTrainingError(Exception):
    """Raised by an observer: training ends here, and the best weights so far are what it gives."""


class Watched:
    """An observer of several trainings that remembers whether it ended one: then no other is begun."""

    __slots__ = ("observer", "stopped")

    def __init__(self, observer: Observer | None) -> None:
        self.observer, self.stopped = observer, False

    def __call__(self, event: Event) -> None:
        """Pass the event on."""
        try:
            if self.observer is not None:
                self.observer(event)
        except StopTrainingError:
            self.stopped = True
            raise


class Work:
    """A training under way, as a learner gives it to the loop."""

    epochs: int  # at most
    score_every: int = 1  # epochs between scores on the dev corpus

    def step(self, number: int) -> Event | None:
        """Epoch ``number``, from 1; None if there is nothing left to gain. The loop fills in what all events have."""
        raise NotImplementedError

    def weights(self) -> Any:
        """The weights to predict with, were the training over now; of a chain `ChainWeights`."""
        raise NotImplementedError

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        return {}

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""

    def restored(self, best: ChainWeights) -> ChainWeights:
        """Weights from a checkpoint, with what no file can hold."""
        return best


@contextmanager
def restoring() -> Iterator[None]:
    """LearnerError where a state turns out not to be one of this training."""
    try:
        yield
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        why = str(error).partition("\n")[0]
        raise LearnerError(
            f"the state is not one of this training, with these settings on this corpus ({why})"
        ) from error


@dataclass(slots=True)
class Progress:
    """Where a training stands after some epochs."""

    done: int = 0
    state: State = field(default_factory=dict)  # of the learner
    history: list[Event] = field(default_factory=list)
    best: ChainWeights | FeatureWeights | SiteWeights | None = None  # on the dev corpus
    best_score: float = -1.0
    since_best: int = 0

    def note(self, event: Event, weights: ChainWeights | FeatureWeights | SiteWeights | None) -> Event:
        """Add an event to the history; with a dev score, keep the weights if they are the best so far."""
        self.done = event.epoch
        if event.dev_score is not None:
            if event.dev_score > self.best_score:
                self.best, self.best_score, self.since_best = weights, event.dev_score, 0
                event = replace(event, best=True)
            else:
                self.since_best += 1
        self.history.append(event)
        return event


def run(
    problem: Problem | FeatureProblem | SiteProblem, work: Work, observer: Observer | None = None
) -> tuple[Any, list[Event]]:
    """All epochs, from a checkpoint if there is one: the weights to tag with and the history.

    With a dev corpus they are the weights of the best epoch, the first among equals.
    """
    progress = _begin(problem, work)
    try:
        while progress.done < work.epochs and not _is_tired(problem, progress):
            event = _epoch(problem, work, progress)
            if event is None:
                break
            if LOG.isEnabledFor(logging.INFO):
                LOG.info("%s", event.text())
            if observer is not None:
                observer(event)
    except StopTrainingError:
        pass
    return progress.best or work.weights(), progress.history


def _begin(problem: Problem | FeatureProblem | SiteProblem, work: Work) -> Progress:
    saved = None if problem.checkpoint is None else problem.checkpoint.read()
    if saved is None or problem.checkpoint is None:
        return Progress()
    work.restore(saved.state)
    if saved.done > work.epochs:
        raise ModelError(
            f"{problem.checkpoint.path}: a checkpoint after {saved.done} epochs, more than the {work.epochs} of this "
            "training; ask for more epochs, delete it or name another file"
        )
    saved.history = [replace(event, epochs=work.epochs) for event in saved.history]
    if isinstance(saved.best, ChainWeights):
        assert isinstance(problem, Problem)
        best = replace(saved.best, parts=problem.label_parts)
        with restoring():
            best.check(problem.n_labels, problem.corpus.n_attributes, problem.corpus.n_edge_attributes)
        saved.best = work.restored(best)
    return saved


def _is_tired(problem: Problem | FeatureProblem | SiteProblem, progress: Progress) -> bool:
    return problem.patience is not None and progress.since_best >= problem.patience


def _epoch(problem: Problem | FeatureProblem | SiteProblem, work: Work, progress: Progress) -> Event | None:
    """One epoch with what goes around it; None if there is nothing left to gain."""
    number, begun = progress.done + 1, time.perf_counter()
    event = work.step(number)
    if event is None:
        return None
    seconds, tokens = time.perf_counter() - begun, event.tokens or len(problem.gold)
    event, scored = replace(event, epochs=work.epochs, tokens=tokens, seconds=seconds, unit=problem.unit), None
    if problem.score_dev is not None and (number % work.score_every == 0 or number == work.epochs):
        scored = work.weights()
        event = replace(event, dev_score=problem.score_dev(scored))
    event = progress.note(event, scored)
    kept = problem.checkpoint
    if kept is not None and (number % kept.every == 0 or _is_tired(problem, progress)):
        progress.state = work.state()
        kept.write(progress)
    return event
