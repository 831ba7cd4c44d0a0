"""One dependency tree as its user meets it: heads, labels, probabilities; a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trellis.display.svg import Picture


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """A tree over the words of a sentence.

    ``heads[i]`` is the number of the head of word i, counted from 1, and 0 where the word is the root.
    """

    words: Sequence[str]
    heads: Sequence[int]
    labels: Sequence[str] | None = None  # of arcs; None where the parser has none
    score: float = 0.0
    probabilities: Sequence[float] | None = None  # of arcs, where they were asked for

    def __len__(self) -> int:
        return len(self.words)

    @property
    def root(self) -> int:
        """The number of the root's word, counted from 1; 0 of an empty sentence."""
        return next((i for i, head in enumerate(self.heads, 1) if head == 0), 0)

    def arcs(self) -> Iterator[tuple[int, int, str]]:
        """(head, dependent, label) of every word, counted from 1."""
        for i, head in enumerate(self.heads, 1):
            yield head, i, "" if self.labels is None else self.labels[i - 1]

    def dependents(self, head: int) -> list[int]:
        """The words that have this one as their head, counted from 1; of 0 the root's word."""
        return [i for i, one in enumerate(self.heads, 1) if one == head]

    def to_dict(self) -> dict[str, list[int] | list[str]]:
        """As plain data: ``heads``, and ``deprels`` where arcs have labels."""
        deprels = {} if self.labels is None else {"deprels": list(self.labels)}
        return {"heads": list(self.heads), **deprels}

    def draw(self) -> Picture:
        """A picture: arcs above the words, as thick as they are probable."""
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
