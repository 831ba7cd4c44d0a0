"""K-best lists of a tagger: label sequences as segments, what a wrong one costs, and the best choice there is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import OUTSIDE, guess_scheme, split_label, starts_anew
from trellis.evaluation.tagging import RerankingReport, evaluate
from trellis.tasks.tagging.model import Tagger

Cost = Literal["auto", "tokens", "spans"]
MAX_K = 1_000_000


class Segment(NamedTuple):
    """The tokens begin..end (end not included) and what they are: a span, or one token outside all spans.

    Where labels mark no spans, every token is a segment and its label the type.
    """

    type: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One label sequence of a list."""

    sentence: Mapping[str, Sequence[str]]  # by column, those that the tagger reads
    labels: tuple[str, ...]
    segments: tuple[Segment, ...]  # one after the other, from the first token to the last
    score: float  # of the tagger
    rank: int  # in its list, from 0


@dataclass(frozen=True, slots=True, eq=False)
class KBestList:
    """What a tagger offers for a sentence, best first."""

    candidates: tuple[Candidate, ...]
    gold: tuple[str, ...] | None = None  # the right labels, where they are known


# ------------------------------------------------------------ segments


class _Cuts(dict[tuple[str, str], bool]):
    """Whether something ends or begins between two neighbours; each pair of labels is looked at once."""

    def __missing__(self, pair: tuple[str, str]) -> bool:
        self[pair] = starts_anew(*split_label(pair[0]), *split_label(pair[1]))
        return self[pair]


class Reading:
    """Reads labels as segments."""

    def __init__(self, *, spans: bool) -> None:
        self.spans = spans
        self._cuts = _Cuts()
        self._types: dict[str, str] = {}

    def segments(self, labels: Sequence[str], known: dict[Segment, Segment]) -> tuple[Segment, ...]:
        """The segments of a label sequence; ``known`` keeps those of one sentence, so that equal ones are the same."""
        if not self.spans:
            found = [Segment(label, t, t + 1) for t, label in enumerate(labels)]
            return tuple(known.setdefault(one, one) for one in found)
        cuts = self._cuts
        begins = [0, *(t for t, pair in enumerate(pairwise(labels), 1) if cuts[pair]), len(labels)]
        found = [Segment(self._type(labels[a]), a, b) for a, b in pairwise(begins) if a < b]
        return tuple(known.setdefault(one, one) for one in found)

    def _type(self, label: str) -> str:
        if label not in self._types:
            letter, kind = split_label(label)
            self._types[label] = OUTSIDE if letter == OUTSIDE else kind
        return self._types[label]


# ------------------------------------------------------------ lists


def text_columns(tagger: Tagger) -> tuple[str, ...]:
    """The columns of a sentence that features of a whole sequence can look at: all that the tagger reads as strings."""
    bag = tagger.model.vocabulary.bag
    return tuple(name for name in tagger.columns if bag is None or name != bag.column)


def kbest_lists(
    tagger: Tagger, sentences: Any, k: int, gold: Sequence[Sequence[str]] | None = None, n_threads: int | None = None
) -> list[KBestList]:
    """The k best label sequences of every sentence."""
    found = tagger.kbest_batch(sentences, k, n_threads=n_threads)
    columns = _columns(tagger, sentences)
    reading = Reading(spans=guess_scheme(tagger.labels) is not None)
    lists = []
    for i, (paths, sentence) in enumerate(zip(found, columns, strict=True)):
        known: dict[Segment, Segment] = {}
        candidates = tuple(
            Candidate(sentence, tuple(labels), reading.segments(labels, known), score, rank)
            for rank, (labels, score) in enumerate(paths)
        )
        lists.append(KBestList(candidates, None if gold is None else tuple(gold[i])))
    return lists


def _columns(tagger: Tagger, sentences: Any) -> Sequence[Mapping[str, Sequence[str]]]:
    """The columns of every sentence; sentences are such as the tagger takes."""
    names = text_columns(tagger)
    if isinstance(sentences, Corpus):
        lists = [sentences.sentences(name) for name in names]
        return [dict(zip(names, one, strict=True)) for one in zip(*lists, strict=True)] or [{} for _ in sentences]
    return [tagger._decoder.strings_of(sentence, names) for sentence in sentences]


# ------------------------------------------------------------ costs


CostOf = Callable[[Sequence[str], Candidate], float]  # of a candidate where other labels are right


def check_cost(cost: str) -> None:
    """ArgumentError if there is none of that name."""
    if cost not in ("auto", "tokens", "spans"):
        raise ArgumentError(f"cost must be 'auto', 'tokens' or 'spans', not {cost!r}")


def cost_named(cost: str, labels: Iterable[str]) -> CostOf:
    """Wrong tokens, or missed and false spans; ArgumentError where labels mark no spans."""
    check_cost(cost)
    marks_spans = guess_scheme(labels) is not None
    if cost == "spans" and not marks_spans:
        raise ArgumentError("cost 'spans' counts spans, and the labels mark none; leave cost out, or give 'tokens'")
    return wrong_tokens if cost == "tokens" or not marks_spans else SpanCost()


def wrong_tokens(gold: Sequence[str], z: Candidate) -> float:
    """The number of tokens with another label than the gold one."""
    return float(sum(a != b for a, b in zip(gold, z.labels, strict=True)))


class SpanCost:
    """The number of missed and false spans; an object, as a local function could not be pickled."""

    def __init__(self) -> None:
        self._reading = Reading(spans=True)
        # The spans of the last gold labels: all candidates of a list have the same.
        self._last: tuple[tuple[str, ...], frozenset[Segment]] = ((), frozenset())

    def __call__(self, gold: Sequence[str], z: Candidate) -> float:
        """The cost of a candidate where these labels are right."""
        labels = tuple(gold)
        if labels != self._last[0]:
            spans = (one for one in self._reading.segments(labels, {}) if labels[one.begin] != OUTSIDE)
            self._last = (labels, frozenset(spans))
        predicted, wanted = [one for one in z.segments if z.labels[one.begin] != OUTSIDE], self._last[1]
        return float(len(wanted) + len(predicted) - 2 * sum(one in wanted for one in predicted))


def report(
    lists: Sequence[KBestList], chosen: Sequence[Sequence[str]] | None = None, *, cost: Cost = "auto"
) -> RerankingReport:
    """Score choices from lists (default: the first candidates) beside the first and the cheapest ones (oracle)."""
    if any(one.gold is None for one in lists):
        raise ArgumentError("lists without the right labels cannot be scored; make them of a labelled corpus")
    gold = [one.gold or () for one in lists]
    costs = cost_named(cost, sorted({label for labels in gold for label in labels}))
    best = [min(one.candidates, key=functools.partial(costs, y)) for one, y in zip(lists, gold, strict=True)]
    first = evaluate(gold, [one.candidates[0].labels for one in lists])
    oracle = evaluate(gold, [z.labels for z in best])
    return RerankingReport.of(first if chosen is None else evaluate(gold, chosen), first, oracle)
