"""Files of trees in brackets, as the Penn Treebank writes them: read with the place of every mistake, and written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from trellis._support.arguments import file_path, instance, items
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.files import decoded, message_name, read_bytes, write_bytes
from trellis.corpus.tree import ROOT, PhraseTree

MAX_DEPTH = 200  # brackets within brackets
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Treebank(Sequence[PhraseTree]):
    """Trees, and what was skipped on the way to them."""

    trees: list[PhraseTree]
    skipped: list[CorpusError] = field(default_factory=list)  # by lenient reading

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, index: int) -> PhraseTree:  # type: ignore[override]
        return self.trees[index]


def read_trees(path: str | os.PathLike[str], *, lenient: bool = False) -> Treebank:
    """The trees of a file, as they stand there: traces and function tags too (``PhraseTree.clean`` takes them out).

    A tree may go over several lines; empty lines stand between trees only. ``-`` is standard input, ``.gz`` is
    unpacked. What is not a tree is a CorpusError that names the line; with ``lenient`` it is skipped and noted.
    """
    path = file_path("path", path)
    return parse_trees(decoded(read_bytes(path), message_name(path)), name=message_name(path), lenient=lenient)


def parse_trees(text: str, *, name: str = "<text>", lenient: bool = False) -> Treebank:
    """The trees in a text; ``name`` is what errors call it."""
    found, text = Treebank([]), instance("text", text, str, "a string of trees in brackets")
    for error in _Reader(name).read_lines(text if text.strip() else "", found.trees):
        if not lenient:
            raise error
        found.skipped.append(error)
    return found


def write_trees(trees: Iterable[PhraseTree], path: str | os.PathLike[str]) -> None:
    """Write trees, one per line; the file is there whole or not at all."""
    listed = items(trees)
    if listed is None or not all(isinstance(tree, PhraseTree) for tree in listed):
        raise ArgumentError(f"trees must be a list of trees, not {type(trees).__name__}")
    write_bytes(file_path("path", path), "".join(f"{tree}\n" for tree in listed).encode())


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet."""

    label: str | None = None
    children: list[PhraseTree] = field(default_factory=list)
    word: str | None = None

    def __str__(self) -> str:
        return repr(self.label) if self.label else "a bracket"


class _Reader:
    """Trees line by line; what is open is kept from one line to the next."""

    def __init__(self, name: str) -> None:
        self.name, self.begun, self.open = name, 0, list[_Open]()
        self.skipping = False  # after a mistake, until a line begins a tree

    def unclosed(self, when: str) -> CorpusError:
        n = len(self.open)
        what = "1 bracket is" if n == 1 else f"{n} brackets are"
        return CorpusError(self.name, self.begun, f"{what} not closed before {when}; close the tree")

    def read_lines(self, text: str, trees: list[PhraseTree]) -> Iterator[CorpusError]:
        """Adds the trees of a text; mistakes come one after the other, and what they spoil is skipped."""
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            yield from self._read(number, line.removesuffix("\r"), trees)
        if self.open:
            yield self.unclosed("the file ends")

    def _read(self, number: int, line: str, trees: list[PhraseTree]) -> Iterator[CorpusError]:
        if line.startswith("("):  # within a tree lines are indented
            self.skipping = False
            if self.open:
                yield self.unclosed(f"the next tree begins in line {number}")
                self.open.clear()
        try:
            if line.strip() and not self.skipping:
                for token in _TOKEN.findall(line):
                    self._take(token, trees, number)
            elif line and not self.skipping:
                raise _NoTreeError("a line of blanks only; empty it or remove it")
            elif self.open:
                raise _NoTreeError(f"an empty line inside the tree that begins in line {self.begun}; remove it")
        except _NoTreeError as error:
            self.open.clear()
            self.skipping = True
            yield CorpusError(self.name, number, str(error))

    def _take(self, token: str, trees: list[PhraseTree], number: int) -> None:
        if token == ")":
            if not self.open:
                raise _NoTreeError("a closing bracket without an opening one; remove it")
            bracket = self.open.pop()
            is_empty_sentence = not self.open and bracket.label == ROOT
            if bracket.word is None and not bracket.children and not is_empty_sentence:
                what = "an empty bracket" if bracket.label is None else f"{bracket} stands over nothing"
                raise _NoTreeError(f"{what}; write (TAG word) or (LABEL (TAG word) ...)")
            tree = PhraseTree(bracket.label or "", tuple(bracket.children), bracket.word)
            if self.open and self.open[-1].word is not None:
                raise _NoTreeError(f"{self.open[-1]} stands over a word and a bracket; give the word a tag")
            (self.open[-1].children if self.open else trees).append(tree)
        elif token == "(":
            if not self.open:
                self.begun = number
            if len(self.open) >= MAX_DEPTH:
                raise _NoTreeError(f"brackets nested deeper than {MAX_DEPTH}")
            self.open.append(_Open())
        elif not self.open:
            raise _NoTreeError(f"{token!r} stands outside brackets; put it into (TAG word)")
        else:
            top = self.open[-1]
            if top.children or top.word is not None:
                raise _NoTreeError(f"{token!r} stands beside another word or a bracket; give it a tag of its own")
            if top.label is None:
                top.label = token
            else:
                top.word = token


class _NoTreeError(Exception):
    """What is wrong with a line."""
