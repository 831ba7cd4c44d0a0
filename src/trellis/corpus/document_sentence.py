"""Sentences of documents: words, multiword tokens and empty nodes, as in Universal Dependencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trellis._support.errors import ArgumentError

if TYPE_CHECKING:
    from trellis.display.svg import Picture


@dataclass(slots=True)
class Word:
    """A syntactic word. Fields without value are None; the word's id is its position in the sentence, from 1.

    Attributes
    ----------
    form
        The word.
    lemma
        Its lemma.
    upos
        Universal part of speech.
    xpos
        Part of speech of the language's own tag set.
    feats
        Morphological features, ``Case=Nom|Number=Sing``.
    head
        Id of the head; 0 for the root.
    deprel
        Relation to the head.
    deps
        Enhanced dependencies.
    misc
        Other annotation, such as ``SpaceAfter=No``.
    start
        Offset in the text of the first character of its token.
    end
        Offset after the last character of its token.
    """

    form: str
    lemma: str | None = None
    upos: str | None = None
    xpos: str | None = None
    feats: str | None = None
    head: int | None = None
    deprel: str | None = None
    deps: str | None = None
    misc: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(slots=True)
class MultiwordToken:
    """A token of several words, such as French *du* for *de le*.

    Attributes
    ----------
    first
        Id of the first word.
    last
        Id of the last word.
    form
        The token.
    feats
        Features of the token, such as ``Typo=Yes``.
    misc
        Other annotation, such as ``SpaceAfter=No``.
    start
        Offset of its first character in the text.
    end
        Offset after its last character.
    """

    first: int
    last: int
    form: str
    feats: str | None = None
    misc: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(slots=True)
class EmptyNode:
    """A node of the enhanced dependencies that is no word of the text; its id is ``after.number``.

    Attributes
    ----------
    after
        Id of the word before it; 0 at the beginning of the sentence.
    number
        Number among the empty nodes at this place, from 1.
    form
        The word that it stands for.
    lemma
        Its lemma.
    upos
        Universal part of speech.
    xpos
        Part of speech of the language's own tag set.
    feats
        Morphological features.
    head
        Unused by Universal Dependencies.
    deprel
        Unused by Universal Dependencies.
    deps
        Enhanced dependencies.
    misc
        Other annotation.
    """

    after: int
    number: int
    form: str | None = None
    lemma: str | None = None
    upos: str | None = None
    xpos: str | None = None
    feats: str | None = None
    head: str | None = None
    deprel: str | None = None
    deps: str | None = None
    misc: str | None = None


@dataclass(slots=True, repr=False)
class DocumentSentence:
    """A sentence of a document.

    Attributes
    ----------
    words
        Its words.
    multiwords
        Its multiword tokens, from left to right.
    empty_nodes
        Its empty nodes, in the order of their ids.
    comments
        Its comment lines in CoNLL-U, each with its ``#``. None for sentences made from text: ``to_conllu`` writes their
        comments and their whitespace.
    start
        Offset of its first character in the text.
    end
        Offset after its last character.
    """

    words: list[Word]
    multiwords: list[MultiwordToken] = field(default_factory=list)
    empty_nodes: list[EmptyNode] = field(default_factory=list)
    comments: list[str] | None = None
    start: int | None = None
    end: int | None = None

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    def __getitem__(self, i: int) -> Word:
        return self.words[i]

    @property
    def tokens(self) -> list[Word | MultiwordToken]:
        """Tokens of the text: multiword tokens, and the words outside of them."""
        if not self.multiwords:
            return list(self.words)
        found, done = list[Word | MultiwordToken](), 0
        for token in self.multiwords:
            found += self.words[done : token.first - 1]
            found.append(token)
            done = token.last
        return found + self.words[done:]

    @property
    def sent_id(self) -> str | None:
        """Name of the sentence, by its comment ``# sent_id``; None without one."""
        return self._comment("sent_id")

    @property
    def text(self) -> str:
        """Text of the sentence: its comment ``# text``, or else its tokens, with one space where they stand apart."""
        comment = self._comment("text")
        if comment is not None:
            return comment
        from trellis.corpus.spacing import plain_text

        return plain_text(self.tokens)

    @property
    def newdoc(self) -> str | None:
        """Name of the document that begins here ("" without a name); None if none begins."""
        return self._beginning("newdoc")

    @property
    def newpar(self) -> str | None:
        """Name of the paragraph that begins here ("" without a name); None if none begins."""
        return self._beginning("newpar")

    def _comment(self, name: str) -> str | None:
        """Value of the first comment ``# name = value``."""
        for comment in self.comments or ():
            key, equals, value = comment[1:].partition("=")
            if equals and key.strip() == name:
                return value.strip(" \t")
        return None

    def _beginning(self, name: str) -> str | None:
        for comment in self.comments or ():
            if name in comment:
                key, _, value = comment[1:].partition("=")
                if key.split() in ([name], [name, "id"]):
                    return value.strip()
        return None

    @property
    def has_tree(self) -> bool:
        """Whether every word has a head in the sentence."""
        return all(word.head is not None and 0 <= word.head <= len(self.words) for word in self.words)

    def draw(self) -> Picture:
        """Draw the dependency tree.

        Returns
        -------
        Picture
            SVG.
        """
        from trellis.display.dependencies import draw_dependencies

        if not self.has_tree:
            raise ArgumentError("the sentence has words without head; parse it first")
        heads, labels = [word.head or 0 for word in self.words], [word.deprel or "" for word in self.words]
        return draw_dependencies([word.form for word in self.words], heads, labels, None)

    def _repr_html_(self) -> str:
        from trellis.display.documents import sentence_html

        return sentence_html(self)

    def __str__(self) -> str:
        """The words with their tags, on one line."""
        return " ".join(word.form if word.upos is None else f"{word.form}/{word.upos}" for word in self.words)

    def __repr__(self) -> str:
        return f"DocumentSentence({str(self)!r})"
