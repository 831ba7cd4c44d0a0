"""Dependency trees: heads, labels, probabilities, drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trellis.display.svg import Picture


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """A dependency tree over the words of a sentence.

    Attributes
    ----------
    words
        The words.
    heads
        Head of each word, counted from 1; 0 for the root.
    labels
        Label of each arc; None if the parser has none.
    score
        Score of the tree.
    probabilities
        Probability of each arc, if requested.
    """

    words: Sequence[str]
    heads: Sequence[int]
    labels: Sequence[str] | None = None
    score: float = 0.0
    probabilities: Sequence[float] | None = None

    def __len__(self) -> int:
        return len(self.words)

    @property
    def root(self) -> int:
        """Number of the root word, counted from 1; 0 for an empty sentence."""
        return next((i for i, head in enumerate(self.heads, 1) if head == 0), 0)

    def arcs(self) -> Iterator[tuple[int, int, str]]:
        """Iterate over the arcs.

        Yields
        ------
        tuple[int, int, str]
            Head, dependent and label, words counted from 1.
        """
        for i, head in enumerate(self.heads, 1):
            yield head, i, "" if self.labels is None else self.labels[i - 1]

    def dependents(self, head: int) -> list[int]:
        """List the dependents of a word.

        Parameters
        ----------
        head
            The word, counted from 1; 0 for the root.

        Returns
        -------
        list[int]
            Their numbers, counted from 1.
        """
        return [i for i, one in enumerate(self.heads, 1) if one == head]

    def to_dict(self) -> dict[str, list[int] | list[str]]:
        """Convert to plain data, ready for JSON.

        Returns
        -------
        dict[str, list[int] | list[str]]
            ``heads``, and ``deprels`` if arcs have labels.
        """
        deprels = {} if self.labels is None else {"deprels": list(self.labels)}
        return {"heads": list(self.heads), **deprels}

    def draw(self) -> Picture:
        """Draw the tree: arcs above the words, thicker arcs are more probable.

        Returns
        -------
        Picture
            SVG; printed, it is text.
        """
        from trellis.display.dependencies import draw_dependencies

        return draw_dependencies(self.words, self.heads, self.labels, self.probabilities)

    def _repr_svg_(self) -> str:
        return self.draw().svg

    def __str__(self) -> str:
        """The words, each on a line of its own below its head, indented."""
        lines, open_words = list[str](), [(word, 0) for word in reversed(self.dependents(0))]
        while open_words:
            word, level = open_words.pop()
            label = "" if self.labels is None else f" ({self.labels[word - 1]})"
            lines.append(f"{'  ' * level}{self.words[word - 1]}{label}")
            open_words.extend((below, level + 1) for below in reversed(self.dependents(word)))
        return "\n".join(lines)
