"""Dependency trees of a corpus as arrays, read from the columns of heads and labels; errors name the line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arguments import items
from trellis._support.arrays import Ints
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.files import kept
from trellis.corpus.objects import with_labels
from trellis.corpus.read import TrainingFile, read_examples, read_like
from trellis.corpus.stream import CorpusStream

HEAD, LABEL = "head", "deprel"  # columns of trees


@dataclass(frozen=True, slots=True, eq=False)
class DependencyTreebank:
    """A corpus with its trees."""

    corpus: Corpus
    heads: Ints  # [n_tokens] within the sentence, from 1; 0 the root
    labels: Column | None  # of arcs
    skipped: list[CorpusError] = field(default_factory=list)  # errors of sentences skipped by lenient reading


def gold_corpus(source: Any, y: Any = None, like: TrainingFile | None = None) -> Corpus:
    """A corpus with trees: what ``trellis.read`` takes, a stream, or sentences and trees ``y``, also as a pair of both.

    A tree in ``y`` is a ``DependencyTree``, a list of heads or a pair of heads and labels. Heads may be integers.
    """
    if isinstance(source, CorpusStream):
        return source.corpus()
    if y is None and isinstance(source, tuple) and len(source) == 2:
        source, y = source
    if y is None:
        if isinstance(source, Mapping) and HEAD in source:
            source = {**source, HEAD: [_heads(heads) for heads in items(source[HEAD]) or []]}
        return read_like(source, like)
    trees = items(y)
    if trees is None:
        raise ArgumentError(f"y must have a tree of every sentence, such as its heads, not {type(y).__name__}")
    pairs = [_heads_and_labels(tree) for tree in trees]
    corpus = read_examples(source, [_heads(heads) for heads, _ in pairs], target=HEAD, like=like)
    labels = [labels for _, labels in pairs]
    return corpus if all(own is None for own in labels) else with_labels(corpus, LABEL, labels)


def _heads_and_labels(tree: Any) -> tuple[Any, Any]:
    if hasattr(tree, "heads"):
        return tree.heads, tree.labels
    return tree if isinstance(tree, tuple) and len(tree) == 2 and items(tree[0]) is not None else (tree, None)


def _heads(heads: Any) -> Any:
    """Heads as strings of a column."""
    numbers = items(heads)
    return heads if numbers is None else [head if isinstance(head, str) else f"{head}" for head in numbers]


def read_dependencies(corpus: Corpus, *, labelled: bool | None = None, lenient: bool = False) -> DependencyTreebank:
    """The trees of a corpus, from its columns ``head`` and ``deprel``.

    ``labelled`` None: with labels if there is such a column. A sentence without a valid tree is a CorpusError that
    names its line; with ``lenient`` it is skipped and counted.
    """
    labelled = LABEL in corpus.columns if labelled is None else labelled
    column = corpus.column(HEAD)
    numbers = np.array([_number(value) for value in column.values] or [-1], np.int64)[column.codes]
    lengths = np.diff(corpus.starts)
    heads = np.where((numbers >= 0) & (numbers <= np.repeat(lengths, lengths)), numbers, -1).astype(np.int32)
    sentences, skipped = kept(
        (
            i if _is_tree(heads, a, b) else _error(corpus, column, heads, i)
            for i, (a, b) in enumerate(pairwise(corpus.starts))
        ),
        lenient,
    )
    if skipped and not sentences:
        raise CorpusError(corpus.source, None, "no sentence has a valid tree")
    if skipped:
        good = read_dependencies(corpus.take(sentences), labelled=labelled)
        return replace(good, skipped=skipped)
    return DependencyTreebank(corpus, heads, corpus.column(LABEL) if labelled else None)


def _number(value: str) -> int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else -1


def _is_tree(heads: Ints, begin: int, end: int) -> bool:
    one = np.ascontiguousarray(heads[begin:end])
    return bool((one >= 0).all()) and _core.is_tree(one)


def _error(corpus: Corpus, column: Column, heads: Ints, sentence: int) -> CorpusError:
    """Error of a sentence's tree, with its line."""
    begin, end = int(corpus.starts[sentence]), int(corpus.starts[sentence + 1])

    def at(token: int, why: str) -> CorpusError:
        line = None if corpus.lines is None else int(corpus.lines[token])
        place = "" if line is not None else f"sentence {sentence + 1}, word {token - begin + 1}: "
        return CorpusError(corpus.source, line, f"{place}{why}; correct it, or skip such sentences with lenient=True")

    n = end - begin
    for token in range(begin, end):
        if heads[token] < 0:
            value = column.values[int(column.codes[token])]
            return at(token, f"head {value!r} is not a number from 0 to {n}, the length of the sentence")
    roots = [t for t in range(begin, end) if heads[t] == 0]
    if len(roots) > 1:
        return at(roots[1], f"a second root (word {roots[1] - begin + 1}; the first is word {roots[0] - begin + 1})")
    for token in range(begin, end):
        seen, word = set[int](), token - begin + 1
        while word and word not in seen:
            seen.add(word)
            word = int(heads[begin + word - 1])
        if word:
            return at(token, f"not a tree: cycle in the heads at word {token - begin + 1}")
    return at(begin, "no root: no word has head 0")
