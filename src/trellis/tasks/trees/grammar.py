"""Grammars read off trees: binarised with horizontal and vertical markovisation, with counts of rules.

A phrase over a span has a *bottom*, a tag or what a binary rule makes, and a *top*, the bottom or a chain of unary
labels over it (core/engine/phrase_grammar.hpp). Rules are numbered: binary ones, unary ones, then one per tag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Arrays, Doubles, Ints, Longs
from trellis.corpus.tree import ROOT, PhraseTree
from trellis.engine.elementary import log

TAG, PART = "/", "@"  # what the symbols of tags, and of parts of phrases, begin with
Chain = tuple[str, ...]
Step = tuple[int, int, int, int]  # rule, first word, split point or 0, word after the last


@dataclass(frozen=True, slots=True)
class Markov:
    """What the symbols of a grammar remember.

    ``vertical`` 1: a phrase its own label; 2: its parent's too, and so on. ``horizontal``: the part of a phrase that is
    still to come remembers so many children before it.
    """

    vertical: int = 1
    horizontal: int = 0

    def symbol(self, label: str, above: Sequence[str]) -> str:
        """A phrase below others, the nearest first."""
        return "^".join((label, *above[: self.vertical - 1]))

    def part(self, symbol: str, before: Sequence[str]) -> str:
        """What is left of a phrase after some children, given by their labels."""
        kept = before[len(before) - min(len(before), self.horizontal) :]
        return f"{PART}{symbol}|{','.join(kept)}" if self.horizontal else f"{PART}{symbol}"


def coarse_symbol(symbol: str) -> str:
    """What a symbol is without markovisation."""
    return symbol if symbol[0] == TAG else symbol.split("|")[0].split("^")[0]


@dataclass(frozen=True, slots=True)
class Anchored:
    """A rule over a span: parent, left and right child, or a chain of symbols from top to bottom."""

    binary: bool
    symbols: tuple[str, ...]
    begin: int
    split: int  # 0 of a chain
    end: int


def derive(node: PhraseTree, markov: Markov, above: tuple[str, ...] = (), begin: int = 0) -> Iterator[Anchored]:
    """The rules of a tree, or of a phrase below others, from the top down, a left child before the right one."""
    chain, end = list[str](), begin + len(node.words)
    while not node.is_tag:
        chain.append(markov.symbol(node.label, above))
        above = (node.label, *above)
        if len(node.children) != 1:
            break
        (node,) = node.children
    if node.is_tag:
        yield Anchored(False, (*chain, TAG + node.label), begin, 0, end)
        return
    yield Anchored(False, tuple(chain), begin, 0, end)
    parent, labels = chain[-1], [child.label for child in node.children]
    for i, child in enumerate(node.children[:-1], 1):
        if i > 1:
            yield Anchored(False, (parent,), begin, 0, end)
        last, split = i + 1 == len(labels), begin + len(child.words)
        right = top_symbol(node.children[-1], above, markov) if last else markov.part(chain[-1], labels[:i])
        yield Anchored(True, (parent, top_symbol(child, above, markov), right), begin, split, end)
        yield from derive(child, markov, above, begin)
        parent, begin = right, split
    yield from derive(node.children[-1], markov, above, begin)


def top_symbol(node: PhraseTree, above: tuple[str, ...], markov: Markov) -> str:
    """The symbol at the top of a phrase or tag below others."""
    return TAG + node.label if node.is_tag else markov.symbol(node.label, above)


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """Symbols and rules with how often trees had them."""

    markov: Markov
    phrases: tuple[str, ...]  # symbols; the first is the root
    tags: tuple[str, ...]  # without the sign of their symbols
    binary: Ints  # [n_binary, 3] parent, left, right
    unary: Ints  # [n_unary, 2] top, bottom
    chains: tuple[Chain, ...]  # [n_unary] symbols from top to bottom
    counts: Longs  # [n_rules]
    labels: tuple[tuple[str, ...], ...]  # [n_unary] of phrases that a chain stands for; of parts and tags none
    number: Mapping[tuple[bool, tuple[str, ...]], int] = field(repr=False, compare=False)

    @classmethod
    def of(
        cls,
        markov: Markov,
        phrases: tuple[str, ...],
        tags: tuple[str, ...],
        binary: Ints,
        chains: tuple[Chain, ...],
        counts: Longs,
    ) -> Grammar:
        """The grammar of rules: binary ones by numbers of symbols, chains by symbols; KeyError for an unknown one."""
        symbols = [*phrases, *(TAG + tag for tag in tags)]
        number = {symbol: i for i, symbol in enumerate(symbols)}
        ends = [[number[chain[0]], number[chain[-1]]] for chain in chains]
        labels = tuple(tuple(coarse_symbol(s) for s in chain if s[0] not in (TAG, PART)) for chain in chains)
        rules = {(True, tuple(symbols[s] for s in rule)): i for i, rule in enumerate(binary.tolist())}
        rules |= {(False, chain): len(binary) + i for i, chain in enumerate(chains)}
        unary = np.array(ends, np.int32).reshape(-1, 2)
        return cls(markov, phrases, tags, binary, unary, chains, counts, labels, rules)

    def content(self) -> tuple[Arrays, dict[str, Any]]:
        """As arrays and a header, for files."""
        header = {
            "markov": [self.markov.vertical, self.markov.horizontal],
            "phrases": list(self.phrases),
            "tags": list(self.tags),
            "chains": [list(chain) for chain in self.chains],
        }
        return {"binary": self.binary, "counts": self.counts}, header

    @classmethod
    def of_content(cls, header: Mapping[str, Any], binary: Ints, counts: Longs) -> Grammar:
        """What ``content`` gave; ValueError or LookupError if it is damaged."""
        phrases, tags = (tuple(map(str, header[part])) for part in ("phrases", "tags"))
        chains = tuple(tuple(map(str, chain)) for chain in header["chains"])
        grammar = cls.of(Markov(*map(int, header["markov"])), phrases, tags, binary, chains, counts)
        if counts.dtype != np.int64 or counts.shape != (grammar.n_rules,) or (counts < 1).any():
            raise ValueError("counts do not match the rules")
        return grammar

    @property
    def n_rules(self) -> int:
        """How many there are, those of tags too."""
        return len(self.binary) + len(self.unary) + len(self.tags)

    @property
    def symbols(self) -> list[str]:
        """All of them, tags last."""
        return [*self.phrases, *(TAG + tag for tag in self.tags)]

    def native(self) -> _core.PhraseGrammar:
        """Checked for native code; ValueError if it makes no sense."""
        return _core.PhraseGrammar(len(self.phrases), len(self.phrases) + len(self.tags), 0, self.binary, self.unary)

    def log_probabilities(self) -> Doubles:
        """[n_rules] of binary rules given the parent, of unary ones given the top; of tags 0."""
        n_binary, n = len(self.binary), len(self.phrases) + len(self.tags)
        out = np.zeros(self.n_rules)
        for first, given in ((0, self.binary[:, 0]), (n_binary, self.unary[:, 0])):
            counts = self.counts[first : first + len(given)].astype(np.float64)
            totals = np.bincount(given, counts, n)
            out[first : first + len(given)] = log(counts) - log(totals[given])
        return out

    def is_chain(self, u: int) -> bool:
        """Whether unary rule u stands for labels over one another, or over a tag; else a phrase is its own top."""
        top, bottom = self.unary[u].tolist()
        return top != bottom or len(self.labels[u]) > 1

    def name(self, rule: int) -> str:
        """A rule as a person reads it."""
        symbols, u = self.symbols, rule - len(self.binary)
        if u < 0:
            parent, left, right = (symbols[s] for s in self.binary[rule].tolist())
            return f"{parent} -> {left} {right}"
        top, bottom = (symbols[s] for s in self.unary[u].tolist())
        return " -> ".join([*self.labels[u], *([bottom] if bottom[0] == TAG else [])]) if self.is_chain(u) else top

    def coarse_of(self, coarse: Grammar) -> Ints:
        """[n_symbols] which symbol of a grammar without markovisation each is a case of."""
        number = {symbol: i for i, symbol in enumerate(coarse.symbols)}
        return np.array([number[coarse_symbol(symbol)] for symbol in self.symbols], np.int32)

    def steps(self, rules: Iterable[Anchored]) -> list[Step]:
        """Rules over spans by their numbers, with those of tags; KeyError if there is none."""
        out, first_tag = list[Step](), self.n_rules - len(self.tags)
        for one in rules:
            out.append((self.number[one.binary, one.symbols], one.begin, one.split, one.end))
            if one.symbols[-1][0] == TAG and not one.binary:
                out.append((first_tag + self.tags.index(one.symbols[-1][1:]), one.begin, 0, one.end))
        return out


def read_grammar(trees: Sequence[PhraseTree], markov: Markov) -> Grammar:
    """The grammar of clean trees."""
    binary, unary, tags = Counter[Chain](), Counter[Chain](), Counter[str]()
    phrases = {ROOT: None}
    for one in (one for tree in trees for one in derive(tree, markov)):
        (binary if one.binary else unary)[one.symbols] += 1
        own = one.symbols[:1] if one.binary else one.symbols
        phrases.update(dict.fromkeys(symbol for symbol in own if symbol[0] != TAG))
        if not one.binary and own[-1][0] == TAG:
            tags[own[-1][1:]] += 1
    numbers = {symbol: i for i, symbol in enumerate([*phrases, *(TAG + tag for tag in tags)])}
    rules = np.array([[numbers[s] for s in rule] for rule in binary], np.int32).reshape(-1, 3)
    counts = np.array([*binary.values(), *unary.values(), *tags.values()], np.int64)
    return Grammar.of(markov, tuple(phrases), tuple(tags), rules, tuple(unary), counts)


def build_tree(
    grammar: Grammar, steps: Sequence[Sequence[int]], words: Sequence[str], pos: Sequence[str] | None
) -> PhraseTree:
    """The tree of rules over spans, given from the top down; ``pos`` are tags to write instead of the grammar's."""
    n_binary, n_unary = len(grammar.binary), len(grammar.unary)
    done = list[list[PhraseTree]]()  # what stands below, from right to left
    for rule, begin, _, _ in reversed(steps):
        if rule < n_binary:
            left, right = done.pop(), done.pop()
            done.append(left + right)
        elif rule < n_binary + n_unary:
            children = done.pop()
            for label in reversed(grammar.labels[rule - n_binary]):
                children = [PhraseTree(label, tuple(children))]
            done.append(children)
        else:
            tag = grammar.tags[rule - n_binary - n_unary] if pos is None else pos[begin]
            done.append([PhraseTree(tag, (), words[begin])])
    (top,) = done.pop()
    return top
