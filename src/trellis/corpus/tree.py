"""Constituency trees: labels over words, as brackets and as Python objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trellis.display.svg import Picture

ROOT = "TOP"
ROOTS = ("", ROOT, "ROOT", "S1")  # root labels in treebanks
TRACE = "-NONE-"
_TAGS = re.compile(
    r"(.[^-=|]*).*", re.DOTALL
)  # function tags and indices after a label's name: NP-SBJ-1, NP=2, ADVP|PRT


@dataclass(frozen=True, slots=True)
class PhraseTree:
    """A constituency tree: a label over children, or a part-of-speech tag over a word.

    Attributes
    ----------
    label
        Label of the phrase, or the tag.
    children
        Subtrees.
    word
        The word of a tag; None for a phrase.
    """

    label: str
    children: tuple[PhraseTree, ...] = ()
    word: str | None = None

    @property
    def is_tag(self) -> bool:
        """Whether this node is a part-of-speech tag over a word."""
        return self.word is not None

    def nodes(self) -> Iterator[PhraseTree]:
        """Iterate over all nodes, parents before children, from left to right.

        Yields
        ------
        PhraseTree
            A subtree.
        """
        open_ = [self]
        while open_:
            node = open_.pop()
            yield node
            open_.extend(reversed(node.children))

    def tags(self) -> list[PhraseTree]:
        """List the part-of-speech nodes.

        Returns
        -------
        list[PhraseTree]
            The nodes above the words, from left to right.
        """
        return [node for node in self.nodes() if node.is_tag]

    @property
    def words(self) -> list[str]:
        """The words, from left to right."""
        return [tag.word for tag in self.tags() if tag.word is not None]

    @property
    def pos(self) -> list[str]:
        """Part-of-speech tags of the words."""
        return [tag.label for tag in self.tags()]

    def spans(self) -> list[tuple[str, int, int]]:
        """List the phrases, parents before children.

        Returns
        -------
        list[tuple[str, int, int]]
            Label, first word, and the word after the last one.
        """
        phrases, at, open_ = list[tuple[str, int, int]](), 0, list[PhraseTree | int]([self])
        while open_:
            node = open_.pop()
            if isinstance(node, int):  # end of the phrase
                phrases[node] = (*phrases[node][:2], at)
            elif node.is_tag:
                at += 1
            else:
                open_ += [len(phrases), *reversed(node.children)]
                phrases.append((node.label, at, at))
        return phrases

    def pieces(self) -> list[str]:
        """Format the brackets as one string per word, as in the columns of the CoNLL tasks: ``(S(NP*``, ``*)``.

        Returns
        -------
        list[str]
            One string per word.
        """
        prefixes, closed = [""] * len(self.words), [""] * len(self.words)
        for label, begin, end in self.spans():
            if begin < end:
                prefixes[begin] += f"({label}"
                closed[end - 1] += ")"
        return [f"{left}*{right}" for left, right in zip(prefixes, closed, strict=True)]

    def clean(self) -> PhraseTree | None:
        """Normalise the tree for training: no traces, no function tags (NP for NP-SBJ-1), TOP as root.

        Returns
        -------
        PhraseTree | None
            The tree; None if it has only traces.
        """
        tree = _without_traces(self)
        if tree is None:
            return None
        if tree.is_tag or self.label not in ROOTS:
            return PhraseTree(ROOT, (tree,))
        return PhraseTree(ROOT, tree.children)

    def __str__(self) -> str:
        """The tree in brackets, on one line."""
        if self.word is not None:
            return f"({self.label} {escaped(self.word)})"
        return f"({' '.join((self.label, *map(str, self.children)))})"

    def draw(self) -> Picture:
        """Draw the tree, root at the top, words below.

        Returns
        -------
        Picture
            SVG; printed, it is drawn in characters.
        """
        from trellis.display.phrase_trees import draw_phrases

        return draw_phrases(self)

    def _repr_svg_(self) -> str:
        return self.draw().svg


def escaped(word: str) -> str:
    """Escape ( and ) in a word as in the Penn Treebank."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def _without_traces(tree: PhraseTree) -> PhraseTree | None:
    if tree.is_tag:
        return None if tree.label == TRACE else tree
    children = tuple(child_tree for child in tree.children if (child_tree := _without_traces(child)) is not None)
    return PhraseTree(_TAGS.sub(r"\1", tree.label), children) if children else None
