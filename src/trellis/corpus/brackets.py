"""Files of trees in brackets, as the Penn Treebank writes them: read with the place of every mistake, and written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from trellis._support.arguments import file_path, instance, items
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.files import decoded, kept, message_name, read_bytes, write_bytes
from trellis.corpus.tree import ROOT, PhraseTree

MAX_DEPTH = 200  # nesting depth of brackets
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Treebank(Sequence[PhraseTree]):
    """A sequence of trees, with the errors that lenient reading skipped.

    Attributes
    ----------
    trees
        The trees.
    skipped
        Errors of skipped trees.
    """

    trees: list[PhraseTree]
    skipped: list[CorpusError] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, index: int) -> PhraseTree:  # type: ignore[override]
        return self.trees[index]


def read_trees(path: str | os.PathLike[str], *, lenient: bool = False) -> Treebank:
    """Read trees in brackets from a file, with traces and function tags (``PhraseTree.clean`` removes them).

    A tree may span several lines; empty lines may only stand between trees.

    Parameters
    ----------
    path
        Name of the file; ``-`` is standard input, ``.gz`` is decompressed.
    lenient
        Whether to skip invalid trees instead of raising CorpusError.

    Returns
    -------
    Treebank
        The trees.

    Raises
    ------
    CorpusError
        If a tree is invalid; the message names the line.
    """
    path = file_path("path", path)
    text = decoded(read_bytes(path), message_name(path))
    return parse_trees(text, name=message_name(path), lenient=lenient)


def parse_trees(text: str, *, name: str = "<text>", lenient: bool = False) -> Treebank:
    """Parse trees in brackets.

    Parameters
    ----------
    text
        The text.
    name
        Name of the text in error messages.
    lenient
        Whether to skip invalid trees instead of raising CorpusError.

    Returns
    -------
    Treebank
        The trees.

    Raises
    ------
    CorpusError
        If the text is invalid.

    Examples
    --------
    >>> import trellis
    >>> tree = trellis.parse_trees("(S (NP (D the) (N dog)) (VP (V barks)))")[0]
    >>> tree.spans()
    [('S', 0, 3), ('NP', 0, 2), ('VP', 2, 3)]
    """
    text = instance("text", text, str, "a string of bracketed trees")
    return Treebank(*kept(_read(text if text.strip() else "", name), lenient))


def write_trees(trees: Iterable[PhraseTree], path: str | os.PathLike[str]) -> None:
    """Write trees to a file, one per line, atomically.

    Parameters
    ----------
    trees
        The trees.
    path
        Name of the file.
    """
    sequence = items(trees)
    if sequence is None or not all(isinstance(tree, PhraseTree) for tree in sequence):
        raise ArgumentError(f"trees must be a list of trees, not {type(trees).__name__}")
    write_bytes(file_path("path", path), "".join(f"{tree}\n" for tree in sequence).encode())


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet."""

    label: str | None = None
    children: list[PhraseTree] = field(default_factory=list)
    word: str | None = None

    def __str__(self) -> str:
        return repr(self.label) if self.label else "a bracket"


def _read(text: str, name: str) -> Iterator[PhraseTree | CorpusError]:
    """Read trees and errors; after an error, text is skipped up to the next line that begins a tree."""
    open_, first_line, skipping = list[_Open](), 0, False

    def unclosed(when: str) -> CorpusError:
        brackets = "1 bracket is" if len(open_) == 1 else f"{len(open_)} brackets are"
        return CorpusError(name, first_line, f"{brackets} not closed before {when}; add the missing brackets")

    for number, ended in enumerate(text.removesuffix("\n").split("\n"), 1):
        line = ended.removesuffix("\r")
        if line.startswith("("):  # within a tree lines are indented
            skipping = False
            if open_:
                yield unclosed(f"the next tree begins in line {number}")
                open_.clear()
        try:
            if line.strip() and not skipping:
                for token in _TOKEN.findall(line):
                    first_line = first_line if open_ else number
                    if (tree := _take(token, open_)) is not None:
                        yield tree
            elif line and not skipping:
                raise ValueError("a line of whitespace only; remove the whitespace or the line")
            elif open_:
                raise ValueError(f"an empty line inside the tree that begins in line {first_line}; remove it")
        except ValueError as error:
            open_.clear()
            skipping = True
            yield CorpusError(name, number, str(error))
    if open_:
        yield unclosed("the file ends")


def _take(token: str, open_: list[_Open]) -> PhraseTree | None:
    """Add a token to the open brackets; return the tree if it closes one. ValueError describes an error."""
    top = open_[-1] if open_ else None
    if token == "(":
        if len(open_) >= MAX_DEPTH:
            raise ValueError(f"brackets nested deeper than {MAX_DEPTH}")
        open_.append(_Open())
    elif top is None:
        if token == ")":
            raise ValueError("unmatched closing bracket; remove it")
        raise ValueError(f"{token!r} is outside brackets; write (TAG word)")
    elif token == ")":
        open_.pop()
        is_empty_sentence = not open_ and top.label == ROOT
        if top.word is None and not top.children and not is_empty_sentence:
            defect = "an empty bracket" if top.label is None else f"{top} has no children"
            raise ValueError(f"{defect}; write (TAG word) or (LABEL (TAG word) ...)")
        tree = PhraseTree(top.label or "", tuple(top.children), top.word)
        if not open_:
            return tree
        if open_[-1].word is not None:
            raise ValueError(f"{open_[-1]} has a word and a bracket as children; give the word a tag: (TAG word)")
        open_[-1].children.append(tree)
    elif top.children or top.word is not None:
        raise ValueError(f"{token!r} has a word or a bracket as sibling; give it a tag of its own: (TAG word)")
    elif top.label is None:
        top.label = token
    else:
        top.word = token
    return None
