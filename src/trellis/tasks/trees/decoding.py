"""From words to rules over spans: sentences encoded, tags found where none are given, native calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from trellis._support.arrays import Doubles, Floats, Ints, Longs, starts_of
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.features.extraction import Coded
from trellis.features.templates import PHRASE_MEASURES, Template
from trellis.tasks.explanation import Term
from trellis.tasks.trees.grammar import Grammar
from trellis.tasks.trees.weights import PhraseModel, pcfg, rule_columns

LONGEST = 400  # words of a sentence, as in bind/phrases.hpp
FLAT = "X"  # the tag of words whose sentence has no tree and no tags

Found = tuple[Grammar, list[list[int]], float]  # rules over spans by the numbers of a grammar, with their score


class TaggedWords(NamedTuple):
    """Words with the tags that they may have, as native code takes them."""

    starts: Longs  # [n_sentences + 1]
    tag_starts: Longs  # [n_words + 1]
    tags: Ints
    scores: Floats


@dataclass(frozen=True, slots=True)
class Words:
    """Sentences as the parser takes them."""

    word: Column
    tags: Column | None  # as given or by a tagger
    starts: Longs  # [n_sentences + 1]
    tagged: TaggedWords
    columns: list[Coded]  # for templates

    def __len__(self) -> int:
        return len(self.starts) - 1

    def strings(self, i: int) -> list[str]:
        """The words of a sentence."""
        return self.word.slice(*self.starts[i : i + 2]).tolist()

    def given_tags(self, i: int) -> list[str] | None:
        """Its tags, if they are known before parsing."""
        return None if self.tags is None else self.tags.slice(*self.starts[i : i + 2]).tolist()


class Decoder:
    """A model made ready for native code."""

    def __init__(self, model: PhraseModel) -> None:
        self.model, self.native = model, model.native()
        self.reader = model.vocabulary.reader
        self.reads = [column.name for column in model.vocabulary.columns]
        self.number = {tag: len(model.grammar.phrases) + i for i, tag in enumerate(model.grammar.tags)}

    @cached_property
    def coarse(self) -> Decoder:
        """The coarse grammar as a PCFG: for tags, and for sentences that the other one cannot derive."""
        return Decoder(pcfg(self.model.coarse, self.model.coarse, self.model.lexicon, self.model.prune))

    def words(self, word: Column, tags: Column | None, starts: Longs, n_threads: int) -> Words:
        """Encode sentences; where templates read tags and there are none, the coarse grammar finds them."""
        lengths = np.diff(starts)
        if len(lengths) and lengths.max() > LONGEST:
            i = int(lengths.argmax())
            raise CorpusError(
                "", None, f"sentence {i + 1} has {lengths[i]:,} words; a parser takes {LONGEST}: split it"
            )
        if tags is None and self.reads:
            tags = self.coarse.best_tags(self.coarse.words(word, None, starts, n_threads), n_threads)
        corpus = Corpus({"word": word, **({} if tags is None else {"pos": tags})}, starts, "")
        columns = self.reader.read(corpus) if self.reads else []
        return Words(word, tags, starts, self._tagged(word, tags, starts), columns)

    def _tagged(self, word: Column, tags: Column | None, starts: Longs) -> TaggedWords:
        """What words may be: the tag given, or where it is unknown or there is none what the lexicon says."""
        lexicon, known = self.model.lexicon, dict[tuple[int, int], tuple[list[int], list[float]]]()
        numbers, scores, sizes = list[int](), list[float](), list[int]()
        codes = np.zeros(len(word.codes), np.int32) if tags is None else tags.codes
        names = [""] if tags is None else list(tags.values)
        for w, t in zip(word.codes.tolist(), codes.tolist(), strict=True):
            if (w, t) not in known:
                given = self.number.get(names[t]) if tags is not None else None
                found = [(given, 0.0)] if given is not None else lexicon.scores(word.values[w])
                pairs = [(self.number[tag] if isinstance(tag, str) else tag, score) for tag, score in found]
                known[w, t] = [number for number, _ in pairs], [score for _, score in pairs]
            some, own = known[w, t]
            numbers += some
            scores += own
            sizes.append(len(some))
        return TaggedWords(starts, starts_of(sizes), np.array(numbers, np.int32), np.array(scores, np.float32))

    def parse(self, words: Words, k: int, n_threads: int) -> list[list[Found]]:
        """Of each sentence up to k trees, best first; none where no grammar derives it."""
        out = self._own(words, k, n_threads)
        if self.model.grammar is not self.model.coarse:
            for i in [i for i, found in enumerate(out) if not found]:
                out[i] = self.coarse._own(self._coarse_words(words, i), k, 1)[0]
        return out

    def _own(self, words: Words, k: int, n_threads: int) -> list[list[Found]]:
        found = self.native.parse(words.tagged, words.columns, k, n_threads)
        counts, scores, starts, steps = (array.tolist() for array in found)
        trees = [
            (self.model.grammar, steps[a:b], score) for a, b, score in zip(starts, starts[1:], scores, strict=False)
        ]
        return [trees[end - n : end] for n, end in zip(counts, accumulate(counts), strict=True)]

    def _coarse_words(self, words: Words, i: int) -> Words:
        begin, end = int(words.starts[i]), int(words.starts[i + 1])
        tags = None if words.tags is None else words.tags.slice(begin, end)
        return self.coarse.words(words.word.slice(begin, end), tags, np.array([0, end - begin], np.int64), 1)

    def derived(self, words: Words, k: int) -> list[tuple[Found, list[Term]]]:
        """Of one sentence up to k trees as ``parse`` gives them, with the terms of their scores."""
        found = self._own(words, k, 1)[0]
        if not found and self.model.grammar is not self.model.coarse:
            return self.coarse.derived(self._coarse_words(words, 0), k)
        return [(one, self._terms(words, one[1])) for one in found]

    def best_tags(self, words: Words, n_threads: int) -> Column:
        """The tags of the best trees."""
        grammar, numbers = self.model.grammar, dict[str, int]()
        first_tag, codes = grammar.n_rules - len(grammar.tags), np.zeros(len(words.word.codes), np.int32)
        for i, found in enumerate(self.parse(words, 1, n_threads)):
            begin, end = int(words.starts[i]), int(words.starts[i + 1])
            tags = (
                [self.model.lexicon.scores(word)[0][0] for word in words.strings(i)]
                if not found
                else [""] * (end - begin)
            )
            for rule, at, _, _ in found[0][1] if found else ():
                if rule >= first_tag:
                    tags[at] = grammar.tags[rule - first_tag]
            codes[begin:end] = [numbers.setdefault(tag, len(numbers)) for tag in tags]
        return Column(codes, Strings.of(numbers))

    def marginals(self, words: Words) -> tuple[float, Ints, Doubles, Doubles]:
        """Of one sentence: log Z, rules over spans, their scores and how often they are in a tree."""
        return self.native.marginals(words.tagged, words.columns)

    def _terms(self, words: Words, derivation: Sequence[Sequence[int]]) -> list[Term]:
        """What the scores of rules over spans and of tags over words are made of, by name."""
        model, grammar, strings = self.model, self.model.grammar, words.strings(0)
        n_rules = grammar.n_rules - len(grammar.tags)
        steps = [step for step in derivation if step[0] < n_rules]
        columns, _ = rule_columns(grammar)
        sites = np.array([site for _, i, k, j in steps for site in ((i, j), (k, 0))], np.int32).reshape(-1, 2)
        starts, templates, ids = self.native.attributes(words.tagged, words.columns, sites)
        weights = [
            dict(zip(model.rows.labels[a:b].tolist(), model.rows.weights[a:b].tolist(), strict=True))
            for a, b in zip(model.rows.starts[ids], model.rows.starts[ids + 1], strict=True)
        ]
        values = {"word": strings, "pos": words.given_tags(0) or []}
        terms = list[Term]()
        for s, (rule, i, k, j) in enumerate(steps):
            where, label = (i, j), grammar.name(rule)
            terms.append(Term("rule", float(model.base[rule]), where, label))
            for site in (2 * s, 2 * s + 1) if k else (2 * s,):
                for at in range(int(starts[site]), int(starts[site + 1])):
                    name = self._named(model.vocabulary.templates[templates[at]], values, (i, j - 1, k))
                    for c in columns[rule].tolist():
                        if c in weights[at]:
                            with_ = grammar.phrases[c] if c < len(grammar.phrases) else "rule"
                            terms.append(Term(f"{name} with {with_}", weights[at][c], where, label))
        _, tag_starts, tags, scores = words.tagged
        for rule, i, _, j in (step for step in derivation if step[0] >= n_rules):
            own = slice(int(tag_starts[i]), int(tag_starts[i + 1]))
            score = scores[own][tags[own] == len(grammar.phrases) + rule - n_rules].item()
            terms.append(Term(f"word={strings[i]}", score, (i, j), grammar.tags[rule - n_rules]))
        return [term for term in terms if term.weight]

    def _named(self, template: Template, values: dict[str, list[str]], at: tuple[int, int, int]) -> str:
        """An attribute as a person reads it: ``pos[first]=DT & length=3``."""
        said, places = list[str](), dict(zip(("first", "last", "split"), at, strict=True))
        for look in template.looks:
            if look.place in PHRASE_MEASURES:
                n = at[1] - at[0] + 1
                said.append(f"length={n}" if look.place == "length" else "outline")
                continue
            words, place = values[look.column], places[look.place] + look.offset
            inside = 0 <= place < len(words)
            said.append(f"{look}={self.reader.said(look, words[place]) if inside else '_OUTSIDE'}")
        return " & ".join(said) or "bias"
