"""Constituency trees: labels over words, as brackets and as Python objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trellis.display.svg import Picture

ROOT = "TOP"
ROOTS = ("", ROOT, "ROOT", "S1")  # what treebanks write above a sentence
TRACE = "-NONE-"
_TAGS = re.compile(
    r"(.[^-=|]*).*", re.DOTALL
)  # function tags and indices after a label's name: NP-SBJ-1, NP=2, ADVP|PRT


@dataclass(frozen=True, slots=True)
class PhraseTree:
    """A label over its children, which are trees; over a word it is the word's tag."""

    label: str
    children: tuple[PhraseTree, ...] = ()
    word: str | None = None  # of a tag; of a phrase None

    @property
    def is_tag(self) -> bool:
        """Whether it stands over a single word and nothing else."""
        return self.word is not None

    def nodes(self) -> Iterator[PhraseTree]:
        """Itself and all below it, each before its children, from the first word to the last."""
        open_ = [self]
        while open_:
            node = open_.pop()
            yield node
            open_.extend(reversed(node.children))

    def tags(self) -> list[PhraseTree]:
        """The tags with their words."""
        return [node for node in self.nodes() if node.is_tag]

    @property
    def words(self) -> list[str]:
        """The words, from the first to the last."""
        return [tag.word for tag in self.tags() if tag.word is not None]

    @property
    def pos(self) -> list[str]:
        """The tags of the words."""
        return [tag.label for tag in self.tags()]

    def spans(self) -> list[tuple[str, int, int]]:
        """The phrases: label, first word, and the word after the last one; a phrase before those within it."""
        found, at, open_ = list[tuple[str, int, int]](), 0, list[PhraseTree | int]([self])
        while open_:
            node = open_.pop()
            if isinstance(node, int):  # all below this phrase is done
                found[node] = (*found[node][:2], at)
            elif node.is_tag:
                at += 1
            else:
                open_ += [len(found), *reversed(node.children)]
                found.append((node.label, at, at))
        return found

    def pieces(self) -> list[str]:
        """The brackets as columns of the CoNLL tasks have them, a piece per word: ``(S(NP*``, ``*)``."""
        opened, closed = [""] * len(self.words), [""] * len(self.words)
        for label, begin, end in self.spans():
            if begin < end:
                opened[begin] += f"({label}"
                closed[end - 1] += ")"
        return [f"{left}*{right}" for left, right in zip(opened, closed, strict=True)]

    def clean(self) -> PhraseTree | None:
        """The tree as parsers learn it: no traces, no function tags (NP for NP-SBJ-1), TOP above all.

        None where nothing but traces is left.
        """
        kept = _without_traces(self)
        if kept is None:
            return None
        if kept.is_tag or self.label not in ROOTS:
            return PhraseTree(ROOT, (kept,))
        return PhraseTree(ROOT, kept.children)

    def __str__(self) -> str:
        """The tree in brackets, on one line."""
        if self.word is not None:
            return f"({self.label} {escaped(self.word)})"
        return f"({' '.join((self.label, *map(str, self.children)))})"

    def draw(self) -> Picture:
        """The tree as a picture, from the top down, words below; printed, it is drawn in characters."""
        from trellis.display.phrase_trees import draw_phrases

        return draw_phrases(self)

    def _repr_svg_(self) -> str:
        return self.draw().svg


def escaped(word: str) -> str:
    """A word as brackets can hold it: ( and ) are written as the Penn Treebank does."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def _without_traces(tree: PhraseTree) -> PhraseTree | None:
    if tree.is_tag:
        return None if tree.label == TRACE else tree
    children = tuple(kept for child in tree.children if (kept := _without_traces(child)) is not None)
    return PhraseTree(_TAGS.sub(r"\1", tree.label), children) if children else None
