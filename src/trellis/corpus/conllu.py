"""Documents in CoNLL-U: read with all that the format has, and written back byte by byte."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from trellis._support.arguments import file_path
from trellis._support.arrays import Longs
from trellis._support.errors import CorpusError
from trellis.corpus.columns import CONLLU, CONLLU_NAMES, parse_rows
from trellis.corpus.corpus import NOTHING, Column
from trellis.corpus.document import FIELDS, Document, lemmas_beside
from trellis.corpus.document_sentence import DocumentSentence, EmptyNode, MultiwordToken, Word
from trellis.corpus.files import NOT_UTF8, message_name, read_bytes
from trellis.corpus.spacing import NAMES, PARAGRAPH, Token, escape, gaps_of, plain_text, spacing_of

BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def read_document(text_or_path: str | os.PathLike[str]) -> Document:
    """The document of a file, or of a text."""
    if isinstance(text_or_path, str) and (not text_or_path or set("\n\t") & set(text_or_path)):
        source = "<text>"
        try:
            data = text_or_path.encode()
        except UnicodeEncodeError:
            raise CorpusError(source, None, NOT_UTF8) from None
    else:
        path = file_path("text_or_path", text_or_path)
        source, data = message_name(path), read_bytes(path)
    return _Reading(data, source).document()


class _Reading:
    """A file of CoNLL-U as it is read."""

    def __init__(self, data: bytes, source: str) -> None:
        corpus, places = parse_rows(data, source, CONLLU)
        self.data, self.source, self.corpus = data, source, corpus
        self.places: list[list[int]] = places.tolist()  # [n_extras, 2] begin and end in data
        self.text_places = dict[int, int]()  # by sentence: place of the comment # text

    def document(self) -> Document:
        starts = self.corpus.starts.tolist()
        words = self._words()
        sentences = [DocumentSentence(words[a:b], comments=[]) for a, b in itertools.pairwise(starts)]
        comments = self._add_extras(sentences)
        n_lines = self.data.count(b"\n")
        line_end = "\r\n" if n_lines and self.data.count(b"\r\n") == n_lines else "\n"
        return Document(self._place(sentences), sentences, comments, line_end, self.source)

    # ------------------------------------------------------------ words

    def _words(self) -> list[Word]:
        columns = {name: self.corpus.column(name) for name in CONLLU_NAMES}
        for name, column in columns.items():
            if "" in (values := column.values.tolist()):
                self._refuse_word(column.codes == values.index(""), f"column {name} is empty; write _")
        lengths = np.diff(self.corpus.starts)
        ids, expected = self._numbers(columns["id"], "id"), np.arange(1, self.corpus.n_tokens + 1)
        expected -= np.repeat(self.corpus.starts[:-1], lengths)
        if (wrong := ids != expected).any():
            t = int(wrong.argmax())
            found = columns["id"].slice(t, t + 1).tolist()[0]
            self._refuse_word(wrong, f"id {found}, expected {expected[t]}; ids count the words of a sentence from 1")
        heads = self._numbers(columns["head"], "head")
        if (wrong := heads > np.repeat(lengths, lengths)).any():
            t = int(wrong.argmax())
            self._refuse_word(wrong, f"head {heads[t]} is not in the sentence; its last word is before this number")
        lists: dict[str, list[Any]] = {name: _values(columns[name]) for name in FIELDS}
        lists["head"] = [None if head < 0 else head for head in heads.tolist()]
        lists["form"] = columns["form"].tolist()
        if NOTHING in columns["form"].values.tolist():
            lists["lemma"] = lemmas_beside(lists["form"], lists["lemma"])
        return list(map(Word, *lists.values()))

    def _numbers(self, column: Column, name: str) -> Longs:
        """[n_words] the column as numbers; -1 for _."""
        values = column.values.tolist()
        numbers = [-1 if value == NOTHING else _number(value) for value in values]
        for value, number in zip(values, numbers, strict=True):
            if number is None and name == "head":
                self._refuse_word(
                    column.codes == values.index(value), f"head {value!r} is no id of a word; write _ or an id"
                )
        return np.array([-1 if number is None else number for number in numbers], np.int64)[column.codes]

    def _refuse_word(self, wrong: Any, why: str) -> NoReturn:
        assert self.corpus.lines is not None
        raise CorpusError(self.source, int(self.corpus.lines[int(np.argmax(wrong))]), why)

    # ------------------------------------------------------------ comments, ranges, empty nodes

    def _add_extras(self, sentences: Sequence[DocumentSentence]) -> list[str]:
        """Give the sentences their other lines; comments after the last one are returned."""
        closing = list[str]()
        if (extras := self.corpus.extras) is None:
            return closing
        starts = self.corpus.starts.tolist()
        rows = zip(extras.sentences.tolist(), extras.tokens.tolist(), extras.lines, self.places, strict=True)
        for i, t, line, (begin, end) in rows:
            before = t - starts[i]  # words of the sentence before this line
            if not line.strip():  # more blank lines than one
                continue
            if line.startswith("#"):
                if i == len(sentences):
                    closing.append(line)
                    continue
                sentence = sentences[i]
                if before or sentence.multiwords or sentence.empty_nodes:
                    self._refuse(begin, "a comment within a sentence; comments stand before its first word")
                if line[1:].partition("=")[0].strip() == "text":
                    self.text_places.setdefault(i, begin)
                sentence.comments.append(line)
                continue
            fields = line.split("\t")
            if len(fields) != len(CONLLU_NAMES) or "" in fields:
                n = "an empty field" if "" in fields else "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                self._refuse(
                    begin, f"{n}, expected {len(CONLLU_NAMES)} (tab-separated), with _ where there is no value"
                )
            if i == len(sentences) or (not before and self._is_blank_after(end)):
                self._refuse(begin, f"{fields[0]} without words; remove the line, or the blank line after it")
            if "-" in fields[0]:
                self._add_range(sentences[i], fields, before, begin)
            else:
                self._add_empty_node(sentences[i], fields, before, begin)
        return closing

    def _is_blank_after(self, place: int) -> bool:
        """Whether the line after a place is blank."""
        begin = self.data.find(b"\n", place) + 1
        return not self.data[begin : self.data.find(b"\n", begin)].strip()

    def _add_range(self, sentence: DocumentSentence, fields: list[str], before: int, place: int) -> None:
        first, last = map(_number, fields[0].split("-"))
        done = sentence.multiwords[-1].last if sentence.multiwords else 0
        if first != before + 1 or first <= done or last is None or not first <= last <= len(sentence.words):
            why = "a range stands before its first word, ends in its sentence and overlaps no other"
            self._refuse(place, f"range {fields[0]}; {why}")
        form, feats, misc = fields[1], _value(fields[5]), _value(fields[9])
        for name, value in zip(CONLLU_NAMES, fields, strict=True):
            if value != NOTHING and name not in ("id", "form", "feats", "misc"):
                self._refuse(
                    place, f"range {fields[0]} has the {name} {value!r}; ranges have only form, feats and misc"
                )
        sentence.multiwords.append(MultiwordToken(first, last, form, feats, misc))

    def _add_empty_node(self, sentence: DocumentSentence, fields: list[str], before: int, place: int) -> None:
        nodes = sentence.empty_nodes
        number = nodes[-1].number + 1 if nodes and nodes[-1].after == before else 1
        in_range = bool(sentence.multiwords) and sentence.multiwords[-1].first == before + 1
        if fields[0] != f"{before}.{number}" or in_range:
            where = "before the range that begins there" if in_range else f"expected {before}.{number}"
            self._refuse(place, f"empty node {fields[0]}, {where}; empty nodes follow their word and count from 1")
        nodes.append(EmptyNode(before, number, *map(_value, fields[1:])))

    def _refuse(self, place: int, why: str) -> NoReturn:
        raise CorpusError(self.source, 1 + self.data.count(b"\n", 0, place), why)

    # ------------------------------------------------------------ text

    def _place(self, sentences: Sequence[DocumentSentence]) -> str:
        """The text; sentences and their words get their offsets in it."""
        spacing, parts, at = cache(spacing_of), list[str](), 0
        before, is_told = "", True  # whitespace before the next token, and whether SpacesAfter tells it
        for i, sentence in enumerate(sentences):
            tokens = sentence.tokens
            spacings = [spacing(token.misc) for token in tokens]
            if not is_told and (sentence.newdoc is not None or sentence.newpar is not None):
                before = PARAGRAPH
            shown = sentence.text if i in self.text_places else None
            gaps = gaps_of(tokens, spacings, shown)
            if isinstance(gaps, str):
                why = f"# text differs from the tokens at {gaps!r}; correct it, the form or SpaceAfter=No"
                self._refuse(self.text_places[i], why)
            for token, gap, space in zip(tokens, [*gaps, ""], spacings, strict=True):
                surface = token.form if space.surface is None else space.surface
                if space.paragraph and not before.strip(" ") and parts:
                    before = PARAGRAPH
                parts += before, space.before, surface
                token.start = at + len(before) + len(space.before)
                token.end = at = token.start + len(surface)
                before = gap
            sentence.start, sentence.end = tokens[0].start, at
            for token in sentence.multiwords:
                for word in sentence.words[token.first - 1 : token.last]:
                    word.start, word.end = token.start, token.end
            last = spacings[-1].after
            before, is_told = " " if last is None else last, bool(last)
        if is_told:
            parts.append(before)
        return "".join(parts)


def _number(text: str) -> int | None:
    """The number, if it is written in the usual way."""
    return int(text) if text.isdecimal() and text.isascii() and str(int(text)) == text else None


def _value(text: str) -> str | None:
    return None if text == NOTHING else text


def _values(column: Column) -> list[str | None]:
    values = list(map(_value, column.values.tolist()))
    return [values[code] for code in column.codes.tolist()]


# ------------------------------------------------------------ writing


def format_document(document: Document, name: str, first: int, begins: str) -> str:
    """The document as CoNLL-U, with comments and whitespace for sentences that were made from text."""
    blocks = list[str]()
    for i, sentence in enumerate(document.sentences):
        if not sentence.words:
            raise CorpusError(document.source, None, f"sentence {i} (counted from 0) has no words; remove it")
        tokens = sentence.tokens
        if sentence.comments is None:
            comments, miscs = _comments(document, i, tokens, name, first, begins), _miscs(document, i, tokens)
        else:
            comments, miscs = sentence.comments, [token.misc for token in tokens]
        rows = list(_rows(sentence, tokens, miscs))
        block = "\n".join([*comments, *rows, "", ""])
        tabs = sum(comment.count("\t") for comment in comments) + (len(CONLLU_NAMES) - 1) * len(rows)
        if block.count("\t") != tabs or block.count("\n") != len(comments) + len(rows) + 1 or "\r" in block:
            why = f"sentence {i} (counted from 0) has a tab or a line break in a field or comment; replace it"
            raise CorpusError(document.source, None, why)
        blocks.append(block)
    blocks += [f"{comment}\n" for comment in document.comments]
    return "".join(blocks).replace("\n", document.line_end)


def _rows(sentence: DocumentSentence, tokens: Sequence[Token], miscs: Iterable[str | None]) -> Iterator[str]:
    """The lines of a sentence; an empty node follows its word, and stands before a range that begins after it."""
    nodes = {after: list(some) for after, some in itertools.groupby(sentence.empty_nodes, lambda node: node.after)}
    yield from _node_rows(nodes.get(0, ()))
    i = 0
    for token, misc in zip(tokens, miscs, strict=True):
        if isinstance(token, Word):
            i += 1
            yield _row(i, token, misc)
            yield from _node_rows(nodes.get(i, ()))
            continue
        feats = token.feats or NOTHING
        yield f"{token.first}-{token.last}\t{token.form}\t_\t_\t_\t{feats}\t_\t_\t_\t{misc or NOTHING}"
        for i in range(token.first, token.last + 1):
            word = sentence.words[i - 1]
            yield _row(i, word, word.misc)
            yield from _node_rows(nodes.get(i, ()))


def _row(i: int, word: Word, misc: str | None) -> str:
    head = NOTHING if word.head is None else word.head
    return (
        f"{i}\t{word.form}\t{word.lemma or NOTHING}\t{word.upos or NOTHING}\t{word.xpos or NOTHING}\t"
        f"{word.feats or NOTHING}\t{head}\t{word.deprel or NOTHING}\t{word.deps or NOTHING}\t{misc or NOTHING}"
    )


def _node_rows(nodes: Iterable[EmptyNode]) -> Iterator[str]:
    for node in nodes:
        yield "\t".join([f"{node.after}.{node.number}", *(getattr(node, name) or NOTHING for name in FIELDS)])


def _comments(document: Document, i: int, tokens: Sequence[Token], name: str, first: int, begins: str) -> list[str]:
    """Comments of a sentence that was made from text."""
    comments, start = list[str](), tokens[0].start
    if i == 0 and begins == "document":
        comments += [f"# newdoc id = {name}" if name else "# newdoc", "# newpar"]
    elif begins == "paragraph" if i == 0 else _is_apart(document, i, start):
        comments.append("# newpar")
    return [
        *comments,
        f"# sent_id = {name}-{first + i}" if name else f"# sent_id = {first + i}",
        f"# text = {plain_text(tokens)}",
    ]


def _is_apart(document: Document, i: int, start: int | None) -> bool:
    """Whether there is an empty line before a sentence."""
    end = document.sentences[i - 1].tokens[-1].end
    return start is not None and end is not None and BLANK_LINE.search(document.text, end, start) is not None


def _miscs(document: Document, i: int, tokens: Sequence[Token]) -> list[str | None]:
    """MISC of the tokens of a sentence that was made from text, with the whitespace around them."""
    text = document.text
    is_last = i + 1 == len(document.sentences)
    final = len(text) if is_last else document.sentences[i + 1].tokens[0].start
    miscs = list[str | None]()
    for token, stop in zip(tokens, [*(token.start for token in tokens[1:]), final], strict=True):
        if token.start is None or token.end is None or stop is None:
            miscs.append(token.misc)
            continue
        gap, entries = text[token.end : stop], list[str]()
        if not miscs and i == 0 and token.start:
            entries.append(f"SpacesBefore={escape(text[: token.start])}")
        if text[token.start : token.end] != token.form:
            entries.append(f"SpacesInToken={escape(text[token.start : token.end])}")
        if not gap and not (is_last and stop == len(text)):
            entries.append("SpaceAfter=No")
        elif gap and (gap != " " or (is_last and stop == len(text))):
            entries.append(f"SpacesAfter={escape(gap)}")
        if token.misc and "Space" in token.misc:
            entries = [item for item in token.misc.split("|") if item.partition("=")[0] not in NAMES] + entries
        elif token.misc:
            entries.insert(0, token.misc)
        miscs.append("|".join(entries) or None)
    return miscs
