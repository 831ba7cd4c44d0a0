"""Grammars read off trees: binarised with horizontal and vertical Markovization, with counts of rules.

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

TAG, PART = "/", "@"  # prefixes of the symbols of tags, and of parts of phrases
Chain = tuple[str, ...]
Step = tuple[int, int, int, int]  # rule, first word, split point or 0, word after the last


@dataclass(frozen=True, slots=True)
class Markov:
    """Markovization of a grammar's symbols.

    Parameters
    ----------
    vertical
        Number of ancestors in a symbol, including the node.
    horizontal
        Number of preceding siblings in the symbol of a partial phrase.
    """

    vertical: int = 1
    horizontal: int = 0

    def symbol(self, label: str, above: Sequence[str]) -> str:
        """Make the symbol of a phrase.

        Parameters
        ----------
        label
            Its label.
        above
            Labels of its ancestors, nearest first.

        Returns
        -------
        str
            The symbol.
        """
        return "^".join((label, *above[: self.vertical - 1]))

    def part(self, symbol: str, siblings: Sequence[str]) -> str:
        """Make the symbol of the rest of a phrase.

        Parameters
        ----------
        symbol
            Symbol of the phrase.
        siblings
            Labels of the preceding children.

        Returns
        -------
        str
            The symbol.
        """
        context = siblings[len(siblings) - min(len(siblings), self.horizontal) :]
        return f"{PART}{symbol}|{','.join(context)}" if self.horizontal else f"{PART}{symbol}"


def coarse_symbol(symbol: str) -> str:
    """The symbol without Markovization."""
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
    """The rules of a tree, or of a phrase below ancestors, in pre-order."""
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
    """Symbols and rules with their counts in the treebank.

    Attributes
    ----------
    markov
        Markovization.
    phrases
        Symbols of phrases; the first is the root.
    tags
        Part-of-speech tags.
    binary
        [n_binary, 3] parent, left and right child.
    unary
        [n_unary, 2] top and bottom.
    chains
        [n_unary] symbols from top to bottom.
    counts
        [n_rules].
    labels
        [n_unary] labels of the phrases that a chain stands for.
    number
        Number of each rule.
    """

    markov: Markov
    phrases: tuple[str, ...]
    tags: tuple[str, ...]
    binary: Ints
    unary: Ints
    chains: tuple[Chain, ...]
    counts: Longs
    labels: tuple[tuple[str, ...], ...]
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
        """Make a grammar from rules.

        Parameters
        ----------
        markov
            Markovization.
        phrases
            Symbols of phrases; the first is the root.
        tags
            Part-of-speech tags.
        binary
            Binary rules by numbers of symbols.
        chains
            Unary chains by symbols.
        counts
            Counts of all rules.

        Returns
        -------
        Grammar
            The grammar.

        Raises
        ------
        KeyError
            If a symbol is unknown.
        """
        symbols = [*phrases, *(TAG + tag for tag in tags)]
        number = {symbol: i for i, symbol in enumerate(symbols)}
        ends = [[number[chain[0]], number[chain[-1]]] for chain in chains]
        labels = tuple(tuple(coarse_symbol(s) for s in chain if s[0] not in (TAG, PART)) for chain in chains)
        rules = {(True, tuple(symbols[s] for s in rule)): i for i, rule in enumerate(binary.tolist())}
        rules |= {(False, chain): len(binary) + i for i, chain in enumerate(chains)}
        unary = np.array(ends, np.int32).reshape(-1, 2)
        return cls(markov, phrases, tags, binary, unary, chains, counts, labels, rules)

    def content(self) -> tuple[Arrays, dict[str, Any]]:
        """Convert to arrays and a header, for files.

        Returns
        -------
        tuple[Arrays, dict[str, Any]]
            Arrays by name, and header.
        """
        header = {
            "markov": [self.markov.vertical, self.markov.horizontal],
            "phrases": list(self.phrases),
            "tags": list(self.tags),
            "chains": [list(chain) for chain in self.chains],
        }
        return {"binary": self.binary, "counts": self.counts}, header

    @classmethod
    def of_content(cls, header: Mapping[str, Any], binary: Ints, counts: Longs) -> Grammar:
        """Make the grammar from the result of ``content``.

        Parameters
        ----------
        header
            The header.
        binary
            Binary rules.
        counts
            Counts of all rules.

        Returns
        -------
        Grammar
            The grammar.

        Raises
        ------
        ValueError, LookupError
            If it is damaged.
        """
        phrases, tags = (tuple(map(str, header[part])) for part in ("phrases", "tags"))
        chains = tuple(tuple(map(str, chain)) for chain in header["chains"])
        grammar = cls.of(Markov(*map(int, header["markov"])), phrases, tags, binary, chains, counts)
        if counts.dtype != np.int64 or counts.shape != (grammar.n_rules,) or (counts < 1).any():
            raise ValueError("counts do not match the rules")
        return grammar

    @property
    def n_rules(self) -> int:
        """Number of rules, including those of tags."""
        return len(self.binary) + len(self.unary) + len(self.tags)

    @property
    def symbols(self) -> list[str]:
        """All symbols, tags last."""
        return [*self.phrases, *(TAG + tag for tag in self.tags)]

    def native(self) -> _core.PhraseGrammar:
        """Convert to a checked native grammar.

        Returns
        -------
        _core.PhraseGrammar
            Native grammar.

        Raises
        ------
        ValueError
            If the rules are inconsistent.
        """
        return _core.PhraseGrammar(len(self.phrases), len(self.phrases) + len(self.tags), 0, self.binary, self.unary)

    def log_probabilities(self) -> Doubles:
        """Compute log probabilities of rules, given the parent of binary and the top of unary rules; 0 for tags.

        Returns
        -------
        Doubles
            [n_rules].
        """
        n_binary, n = len(self.binary), len(self.phrases) + len(self.tags)
        out = np.zeros(self.n_rules)
        for first, parents in ((0, self.binary[:, 0]), (n_binary, self.unary[:, 0])):
            counts = self.counts[first : first + len(parents)].astype(np.float64)
            totals = np.bincount(parents, counts, n)
            out[first : first + len(parents)] = log(counts) - log(totals[parents])
        return out

    def is_chain(self, u: int) -> bool:
        """Check whether a unary rule stands for labels above one another, or above a tag.

        Parameters
        ----------
        u
            Number of the rule.

        Returns
        -------
        bool
            False if a phrase is its own top.
        """
        top, bottom = self.unary[u].tolist()
        return top != bottom or len(self.labels[u]) > 1

    def name(self, rule: int) -> str:
        """Format a rule.

        Parameters
        ----------
        rule
            Number of the rule.

        Returns
        -------
        str
            Text.
        """
        symbols, u = self.symbols, rule - len(self.binary)
        if u < 0:
            parent, left, right = (symbols[s] for s in self.binary[rule].tolist())
            return f"{parent} -> {left} {right}"
        top, bottom = (symbols[s] for s in self.unary[u].tolist())
        return " -> ".join([*self.labels[u], *([bottom] if bottom[0] == TAG else [])]) if self.is_chain(u) else top

    def coarse_of(self, coarse: Grammar) -> Ints:
        """Map symbols to those of a grammar without Markovization.

        Parameters
        ----------
        coarse
            The coarse grammar.

        Returns
        -------
        Ints
            [n_symbols].
        """
        number = {symbol: i for i, symbol in enumerate(coarse.symbols)}
        return np.array([number[coarse_symbol(symbol)] for symbol in self.symbols], np.int32)

    def steps(self, rules: Iterable[Anchored]) -> list[Step]:
        """Number rules over spans.

        Parameters
        ----------
        rules
            Rules over spans.

        Returns
        -------
        list[Step]
            Numbered rules, with those of tags.

        Raises
        ------
        KeyError
            If there is no such rule.
        """
        out, first_tag = list[Step](), self.n_rules - len(self.tags)
        for rule in rules:
            out.append((self.number[rule.binary, rule.symbols], rule.begin, rule.split, rule.end))
            if rule.symbols[-1][0] == TAG and not rule.binary:
                out.append((first_tag + self.tags.index(rule.symbols[-1][1:]), rule.begin, 0, rule.end))
        return out


def read_grammar(trees: Sequence[PhraseTree], markov: Markov) -> Grammar:
    """The grammar of clean trees."""
    binary, unary, tags = Counter[Chain](), Counter[Chain](), Counter[str]()
    phrases = {ROOT: None}
    for part in (part for tree in trees for part in derive(tree, markov)):
        (binary if part.binary else unary)[part.symbols] += 1
        symbols = part.symbols[:1] if part.binary else part.symbols
        phrases.update(dict.fromkeys(symbol for symbol in symbols if symbol[0] != TAG))
        if not part.binary and symbols[-1][0] == TAG:
            tags[symbols[-1][1:]] += 1
    numbers = {symbol: i for i, symbol in enumerate([*phrases, *(TAG + tag for tag in tags)])}
    rules = np.array([[numbers[s] for s in rule] for rule in binary], np.int32).reshape(-1, 3)
    counts = np.array([*binary.values(), *unary.values(), *tags.values()], np.int64)
    return Grammar.of(markov, tuple(phrases), tuple(tags), rules, tuple(unary), counts)


def build_tree(
    grammar: Grammar, steps: Sequence[Sequence[int]], words: Sequence[str], pos: Sequence[str] | None
) -> PhraseTree:
    """The tree of rules over spans, given from the top down; ``pos`` are tags to write instead of the grammar's."""
    n_binary, n_unary = len(grammar.binary), len(grammar.unary)
    children_of = list[list[PhraseTree]]()  # the children, from right to left
    for rule, begin, _, _ in reversed(steps):
        if rule < n_binary:
            left, right = children_of.pop(), children_of.pop()
            children_of.append(left + right)
        elif rule < n_binary + n_unary:
            children = children_of.pop()
            for label in reversed(grammar.labels[rule - n_binary]):
                children = [PhraseTree(label, tuple(children))]
            children_of.append(children)
        else:
            tag = grammar.tags[rule - n_binary - n_unary] if pos is None else pos[begin]
            children_of.append([PhraseTree(tag, (), words[begin])])
    (top,) = children_of.pop()
    return top
