"""Trees of a grammar by listing them all, for parsers of trees: no chart, no pruning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trellis.tasks.trees.grammar import Grammar, Step


def all_derivations(grammar: Grammar, tags: Sequence[str]) -> list[list[Step]]:
    """Every derivation of a sentence with these tags, as rules over spans from the top down."""
    n_binary, n_unary, n_phrases = len(grammar.binary), len(grammar.unary), len(grammar.phrases)

    def top(symbol: int, i: int, j: int) -> Iterator[list[Step]]:
        for u, (above, below) in enumerate(grammar.unary.tolist()):
            if above == symbol:
                for rest in bottom(below, i, j):
                    yield [(n_binary + u, i, 0, j), *rest]

    def bottom(symbol: int, i: int, j: int) -> Iterator[list[Step]]:
        if j - i == 1:
            if symbol >= n_phrases and grammar.tags[symbol - n_phrases] == tags[i]:
                yield [(n_binary + n_unary + symbol - n_phrases, i, 0, j)]
            return
        for r, (parent, left, right) in enumerate(grammar.binary.tolist()):
            if parent == symbol:
                for k in range(i + 1, j):
                    for one in top(left, i, k):
                        for other in top(right, k, j):
                            yield [(r, i, k, j), *one, *other]

    return list(top(0, 0, len(tags)))
