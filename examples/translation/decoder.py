"""Beam search for the best translation: hypotheses in stacks by how many source words they have translated.

A hypothesis goes on by any phrase over words that are not translated yet, within ``distortion`` words of the first of
them and of where it stands. Hypotheses that everything to come sees alike are one (recombination): those that have
translated the same words, stand at the same place and have the same last words. The best ``beam`` of each stack go on,
by their score and an estimate of what the rest will bring. What was recombined stays as an edge of a lattice, of which
`trellis.Hypergraph` gives the k best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import trellis
from examples.translation.corpus import Words
from examples.translation.features import UNIT, Derivation, FeatureSet, Step, orientation
from examples.translation.language_model import BEGIN, END
from examples.translation.phrases import PhrasePair, PhraseTable
from trellis import Weights


class Known(NamedTuple):
    """A phrase pair, with what never changes."""

    pair: PhrasePair
    features: dict[str, float]
    words: tuple[int, ...]  # numbers of the language model
    alone: float  # log probability of the words without those before


@dataclass(slots=True)
class Option:
    """A phrase pair at a place, with all of its score that needs no context."""

    step: Step
    number: int
    words: tuple[int, ...]  # numbers of the language model
    scores: tuple[float, float, float]  # by orientation
    estimate: float  # of its score with the language model, were nothing before it


@dataclass(slots=True, eq=False)
class Hypothesis:
    """What was translated so far; the best way to it, and all others."""

    score: float
    total: float  # with the estimate of the rest
    covered: int
    context: int  # of the language model
    start: int  # of the last phrase
    end: int
    last: str  # word
    n_words: int
    edges: list[tuple[Hypothesis, Option | None, float]] = field(default_factory=list)  # the best one first


@dataclass(frozen=True, slots=True)
class Decoder:
    """Translates by a phrase table, features and weights."""

    table: PhraseTable
    features: FeatureSet
    beam: int = 10
    distortion: int = 5
    _known: dict[Words, list[Known]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def kbest(self, source: Words, weights: Weights, k: int, reference: Words | None = None) -> list[Derivation]:
        """The k best derivations, best first; with ``reference`` those that say just that, if there are any."""
        search = _Search(self, source, weights, k, reference)
        goal = search.run()
        if goal is None:
            return []
        return [search.best(goal)] if k == 1 else search.kbest(goal, k)

    def known(self, phrase: Words) -> list[Known]:
        """The translations of a source phrase; a word without any is translated by itself."""
        found = self._known.get(phrase)
        if found is None:
            pairs = self.table[phrase]
            if not pairs and len(phrase) == 1:
                pairs = [PhrasePair(phrase, phrase, 0, (0.0,) * 4, (0.0,) * 3)]
            model = self.features.language_model
            numbers = [tuple(map(model.number, pair.target)) for pair in pairs]
            found = self._known[phrase] = [
                Known(pair, self.features.of_pair(pair), words, model.inner_score(words))
                for pair, words in zip(pairs, numbers, strict=True)
            ]
        return found


class _Search:
    """One search: the weights of what it meets are asked for once."""

    def __init__(self, decoder: Decoder, source: Words, weights: Weights, k: int, reference: Words | None) -> None:
        self.decoder, self.source, self.weights, self.reference = decoder, source, weights, reference
        self.keeps_all = k > 1
        self.features, self.model = decoder.features, decoder.features.language_model
        self.of_model, self.of_distance = weights["language model"] / UNIT, weights["distance"] / UNIT
        self._bigrams: dict[tuple[str, str], float] = {}
        self._said: dict[int, tuple[float, int]] = {}
        self.n_options = 0
        # By start: each a place (end, bits) with its options, the best by estimate first.
        self.places: list[list[tuple[int, int, list[Option]]]] = []
        for start in range(len(source)):
            ends = range(start + 1, min(start + decoder.table.longest, len(source)) + 1)
            places = [(end, (1 << end) - (1 << start), self._options(start, end)) for end in ends]
            self.places.append([place for place in places if place[2]])
        self.rest = self._estimates()

    def _options(self, start: int, end: int) -> list[Option]:
        """What may be said of a place, the best by estimate first."""
        phrase, score = self.source[start:end], self.weights.score
        known = self.decoder.known(phrase)
        if not known:
            return []
        of_kind, options = self.weights["orientation"] / UNIT, list[Option]()
        moves = [score(dict.fromkeys(self.features.of_move(phrase, kind), 1.0)) for kind in range(3)]
        for pair, features, words, alone in known:
            static = score(features)
            one, two, three = (
                static + move + of_kind * log for move, log in zip(moves, pair.orientations, strict=True)
            )
            estimate = one + self.of_model * alone
            options.append(Option(Step(start, end, pair), self.n_options, words, (one, two, three), estimate))
            self.n_options += 1
        return sorted(options, key=lambda option: -option.estimate)

    def _estimates(self) -> list[list[float]]:
        """Of each span, the best that translating it could bring: rest[start][end]."""
        n = len(self.source)
        rest = [[-np.inf] * (n + 1) for _ in range(n + 1)]
        for start, places in enumerate(self.places):
            for end, _, options in places:
                rest[start][end] = options[0].estimate
        for size in range(2, n + 1):
            for start in range(n - size + 1):
                end = start + size
                split = max(rest[start][m] + rest[m][end] for m in range(start + 1, end))
                rest[start][end] = max(rest[start][end], split)
        return rest

    def _rest_of(self, covered: int) -> float:
        """The estimate of all words that are not covered."""
        total, start, n = 0.0, 0, len(self.source)
        while start < n:
            if covered >> start & 1:
                start += 1
                continue
            end = start + 1
            while end < n and not covered >> end & 1:
                end += 1
            total += self.rest[start][end]
            start = end
        return total

    def _bigram(self, u: str, v: str) -> float:
        """The weight of a word after another."""
        found = self._bigrams.get((u, v))
        if found is None:
            names = self.features.of_bigram(u, v)
            found = self._bigrams[u, v] = self.weights.score(dict.fromkeys(names, 1.0)) if names else 0.0
        return found

    def _say(self, context: int, last: str, option: Option) -> tuple[float, int]:
        """What the words of an option score after others, and the context after them."""
        total, of_model = 0.0, self.of_model
        for word in option.words:
            p, context = self.model.score(context, word)
            total += of_model * p
        return total + self._bigram(last, option.step.pair.target[0]), context

    def _starts(self, h: Hypothesis) -> list[int]:
        """Where a phrase may begin: at the first word that is not translated, or not far from it and from the last."""
        gap, limit = (~h.covered & (h.covered + 1)).bit_length() - 1, self.decoder.distortion
        near = range(max(gap, h.end - limit), min(gap + limit, h.end + limit, len(self.source) - 1) + 1)
        return sorted({gap, *near})

    def run(self) -> Hypothesis | None:
        """The goal, with edges from all complete hypotheses; None if there are none."""
        n, decoder, reference = len(self.source), self.decoder, self.reference
        stacks: list[_Stack] = [_Stack(decoder.beam) for _ in range(n + 1)]
        stacks[0].found[()] = Hypothesis(0.0, 0.0, 0, self.model.start, 0, 0, BEGIN, 0)
        rest_of, n_options, said = dict[int, float](), self.n_options, self._said
        for size in range(n):
            for h in stacks[size].best():
                for start in self._starts(h):
                    moved = h.score + self.of_distance * abs(start - h.end)
                    for end, covers, options in self.places[start]:
                        if covers & h.covered:
                            break
                        stack = stacks[size + end - start]
                        covered = h.covered | covers
                        rest = rest_of.get(covered)
                        if rest is None:
                            rest = rest_of[covered] = self._rest_of(covered)
                        kind = orientation((h.start, h.end), start, end)
                        for option in options:
                            if moved + option.estimate + rest < stack.worst and reference is None:
                                break
                            n_words = 0
                            if reference is not None:
                                target = option.step.pair.target
                                n_words = h.n_words + len(target)
                                if reference[h.n_words : n_words] != target:
                                    continue
                            key = h.context * n_options + option.number
                            found = said.get(key)
                            if found is None:
                                found = said[key] = self._say(h.context, h.last, option)
                            score = moved + option.scores[kind] + found[0]
                            if score + rest <= stack.worst:
                                continue
                            stack.add(h, option, score, score + rest, covered, found[1], n_words, self.keeps_all)
        return self._goal(stacks[n].best())

    def _goal(self, complete: Sequence[Hypothesis]) -> Hypothesis | None:
        """The end of sentence after each."""
        goal = Hypothesis(-np.inf, -np.inf, 0, 0, 0, 0, END, 0)
        for h in complete:
            if self.reference is not None and h.n_words != len(self.reference):
                continue
            p = self.of_model * self.model.score(h.context, self.model.number(END))[0] + self._bigram(h.last, END)
            goal.edges.append((h, None, p))
        goal.edges.sort(key=lambda edge: -(edge[0].score + edge[2]))
        return goal if goal.edges else None

    def best(self, goal: Hypothesis) -> Derivation:
        """The best way to it."""
        steps, h = list[Step](), goal
        while h.edges:
            h, option, _ = h.edges[0]
            if option is not None:
                steps.append(option.step)
        return tuple(reversed(steps))

    def kbest(self, goal: Hypothesis, k: int) -> list[Derivation]:
        """The k best ways: paths of a lattice."""
        met, order = {goal}, [goal]
        for h in order:  # it grows
            for before, _, _ in h.edges:
                if before not in met:
                    met.add(before)
                    order.append(before)
        order = [*sorted(order[1:], key=lambda h: h.covered.bit_count()), goal]  # tails before heads
        numbers = {h: i for i, h in enumerate(order)}
        edges = [(numbers[h], numbers[before], option, p) for h in order for before, option, p in h.edges]
        heads, tails, options, scores = zip(*edges, strict=True)
        lattice = trellis.Hypergraph(heads, tails)
        found = list[Derivation]()
        for derivation in lattice.kbest(np.array(scores), k):
            steps = [options[e].step for e in derivation.edges if options[e] is not None]
            found.append(tuple(reversed(steps)))  # edges stand from the goal down
        return found


class _Stack:
    """Hypotheses that have translated as many source words."""

    def __init__(self, beam: int) -> None:
        self.beam = beam
        self.found: dict[object, Hypothesis] = {}
        self.worst = -np.inf  # what a further one must exceed

    def add(
        self,
        h: Hypothesis,
        option: Option,
        score: float,
        total: float,
        covered: int,
        context: int,
        n_words: int,
        keeps_all: bool,
    ) -> None:
        """A hypothesis that goes on from ``h``, or one more way to one that is there."""
        start, end, pair = option.step
        key = (covered, context, start, end, n_words)
        there = self.found.get(key)
        edge = (h, option, score - h.score)
        if there is None:
            self.found[key] = Hypothesis(score, total, covered, context, start, end, pair.target[-1], n_words, [edge])
            if len(self.found) >= 2 * self.beam:
                self._prune()
        elif score > there.score:
            there.score, there.total = score, total
            there.edges = [edge, *there.edges] if keeps_all else [edge]
        elif keeps_all:
            there.edges.append(edge)

    def _prune(self) -> None:
        kept = sorted(self.found.items(), key=lambda one: -one[1].total)[: self.beam]
        self.found = dict(kept)
        self.worst = kept[-1][1].total

    def best(self) -> list[Hypothesis]:
        """Those that go on."""
        return sorted(self.found.values(), key=lambda h: -h.total)[: self.beam]
