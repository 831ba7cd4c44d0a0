"""K-best lists of a tagger: label sequences as segments, costs of candidates, and the oracle."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import OUTSIDE, guess_scheme, split_label, starts_anew
from trellis.evaluation.tagging import RerankingReport, evaluate
from trellis.tasks.tagging.model import Tagger

Cost = Literal["auto", "tokens", "spans"]
MAX_K = 1_000_000


class Segment(NamedTuple):
    """A span, or one token outside all spans; if labels encode no spans, every token is a segment.

    Attributes
    ----------
    type
        Type of the span, or the label.
    begin
        First token.
    end
        Token after the last one.
    """

    type: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One label sequence of a k-best list.

    Attributes
    ----------
    sentence
        Columns that the tagger reads.
    labels
        One label per token.
    segments
        Spans and tokens outside spans, from the first token to the last.
    score
        Score of the tagger.
    rank
        Rank in the list, from 0.
    """

    sentence: Mapping[str, Sequence[str]]
    labels: tuple[str, ...]
    segments: tuple[Segment, ...]
    score: float
    rank: int


@dataclass(frozen=True, slots=True, eq=False)
class KBestList:
    """The k best label sequences of a tagger for one sentence, best first.

    Attributes
    ----------
    candidates
        The candidates.
    gold
        Gold labels, if known.
    """

    candidates: tuple[Candidate, ...]
    gold: tuple[str, ...] | None = None


# ------------------------------------------------------------ segments


@functools.lru_cache(1 << 16)
def _is_cut(left: str, right: str) -> bool:
    """Whether a segment boundary is between two neighbours."""
    return starts_anew(*split_label(left), *split_label(right))


@functools.lru_cache(1 << 16)
def _type(label: str) -> str:
    letter, kind = split_label(label)
    return OUTSIDE if letter == OUTSIDE else kind


def segments_of(labels: Sequence[str], cache: dict[Segment, Segment], *, spans: bool) -> tuple[Segment, ...]:
    """The segments of a label sequence; ``cache`` caches those of one sentence, so that equal ones are shared."""
    segments = [Segment(label, t, t + 1) for t, label in enumerate(labels)]
    if spans:
        begins = [0, *(t for t, pair in enumerate(pairwise(labels), 1) if _is_cut(*pair)), len(labels)]
        segments = [Segment(_type(labels[a]), a, b) for a, b in pairwise(begins) if a < b]
    return tuple(cache.setdefault(segment, segment) for segment in segments)


# ------------------------------------------------------------ lists


def text_columns(tagger: Tagger) -> tuple[str, ...]:
    """The columns available to features of whole sequences: all string columns that the tagger reads."""
    bag = tagger.model.vocabulary.bag
    return tuple(name for name in tagger.columns if bag is None or name != bag.column)


def kbest_lists(
    tagger: Tagger, sentences: Any, k: int, gold: Sequence[Sequence[str]] | None = None, n_threads: int | None = None
) -> list[KBestList]:
    """The k best label sequences of every sentence."""
    found = tagger.kbest_batch(sentences, k, n_threads=n_threads)
    columns = _columns(tagger, sentences)
    spans = guess_scheme(tagger.labels) is not None
    lists = []
    for i, (paths, sentence) in enumerate(zip(found, columns, strict=True)):
        cache: dict[Segment, Segment] = {}
        candidates = tuple(
            Candidate(sentence, tuple(labels), segments_of(labels, cache, spans=spans), score, rank)
            for rank, (labels, score) in enumerate(paths)
        )
        lists.append(KBestList(candidates, None if gold is None else tuple(gold[i])))
    return lists


def _columns(tagger: Tagger, sentences: Any) -> Sequence[Mapping[str, Sequence[str]]]:
    """The columns of every sentence; sentences are such as the tagger takes."""
    names = text_columns(tagger)
    if isinstance(sentences, Corpus):
        lists = [sentences.sentences(name) for name in names]
        return [dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True)] or [{} for _ in sentences]
    return [tagger._decoder.strings_of(sentence, names) for sentence in sentences]


# ------------------------------------------------------------ costs


CostOf = Callable[[Sequence[str], Candidate], float]  # cost of a candidate, given the gold labels


def cost_named(cost: str, labels: Iterable[str]) -> CostOf:
    """Cost function by name: wrong tokens, or missed and false spans. ArgumentError if labels encode no spans."""
    if cost not in get_args(Cost):
        raise ArgumentError(f"cost must be 'auto', 'tokens' or 'spans', not {cost!r}")
    marks_spans = guess_scheme(labels) is not None
    if cost == "spans" and not marks_spans:
        raise ArgumentError("cost 'spans' needs span labels such as B-NP; omit cost, or use 'tokens'")
    return wrong_tokens if cost == "tokens" or not marks_spans else wrong_spans


def wrong_tokens(gold: Sequence[str], z: Candidate) -> float:
    """The number of tokens with another label than the gold one."""
    return float(sum(a != b for a, b in zip(gold, z.labels, strict=True)))


def wrong_spans(gold: Sequence[str], z: Candidate) -> float:
    """The number of missed and false spans."""
    predicted, gold_set = [s for s in z.segments if z.labels[s.begin] != OUTSIDE], _spans(tuple(gold))
    return float(len(gold_set) + len(predicted) - 2 * sum(s in gold_set for s in predicted))


@functools.lru_cache(1)  # all candidates of a list have the same gold labels
def _spans(labels: tuple[str, ...]) -> frozenset[Segment]:
    return frozenset(s for s in segments_of(labels, {}, spans=True) if labels[s.begin] != OUTSIDE)


def report(
    lists: Sequence[KBestList], outputs: Sequence[Sequence[str]] | None = None, *, cost: Cost = "auto"
) -> RerankingReport:
    """Score choices from lists (default: the first candidates) beside the first and the cheapest ones (oracle)."""
    if any(item.gold is None for item in lists):
        raise ArgumentError("candidate lists without gold labels cannot be scored; create them from a labelled corpus")
    gold = [item.gold or () for item in lists]
    costs = cost_named(cost, sorted({label for labels in gold for label in labels}))
    best = [min(item.candidates, key=functools.partial(costs, y)) for item, y in zip(lists, gold, strict=True)]
    first = evaluate(gold, [item.candidates[0].labels for item in lists])
    oracle = evaluate(gold, [z.labels for z in best])
    return RerankingReport.of(first if outputs is None else evaluate(gold, outputs), first, oracle)
