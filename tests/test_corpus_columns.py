"""Files of columns: the native parser against a plain Python twin."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import unreadable

import trellis
from trellis._support.errors import CorpusError
from trellis.corpus import stream
from trellis.corpus.columns import (
    CONLLU,
    Layout,
    append_labels,
    default_names,
    parse_names,
    parse_text,
    replace_labels,
)
from trellis.corpus.corpus import Column, Strings
from trellis.corpus.stream import Piece, map_pieces, pieces_of_file, pieces_of_path

ORDERLY = settings(derandomize=True, deadline=None, max_examples=300)
LAYOUTS = [
    Layout(tabs=tabs, comments=comments, ids=ids)
    for tabs in (False, True)
    for comments in (False, True)
    for ids in (False, True)
]


class TwinError(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


def twin_kind(line: str, layout: Layout) -> str:
    """What a line is, said plainly."""
    if not line.strip(" \t"):
        return "blank"
    if layout.comments and line.startswith("#"):
        return "aside"
    content = line if layout.tabs else line.lstrip(" \t")
    if layout.ids and re.fullmatch("[0-9]+[-.][0-9]+", content.split("\t")[0]):
        return "aside"
    first = content.split("\t")[0] if layout.tabs else re.split("[ \t]", content)[0]
    return "divider" if first == "-DOCSTART-" else "token"


def twin_lines(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def twin_parse(text: str, layout: Layout) -> tuple[list[list[list[str]]], list[int], list[tuple[int, int, str]]]:
    """Sentences of rows of fields, the line of every token, the lines that are no tokens."""
    sentences: list[list[list[str]]] = [[]]
    numbers: list[int] = []
    asides: list[tuple[int, int, str]] = []
    width = None
    for number, line in enumerate(twin_lines(text), start=1):
        kind = twin_kind(line, layout)
        if kind == "divider" and sentences[-1]:
            sentences.append([])
        if kind in ("aside", "divider") or (kind == "blank" and not sentences[-1]):
            asides.append((len(sentences) - 1, len(numbers), line))
        if kind == "blank" and sentences[-1]:
            sentences.append([])
        if kind != "token":
            continue
        fields = line.split("\t") if layout.tabs else [f for f in re.split("[ \t]+", line) if f]
        width = len(fields) if width is None else width
        if len(fields) != width:
            raise TwinError(number)
        sentences[-1].append(fields)
        numbers.append(number)
    return [s for s in sentences if s], numbers, asides


LINES = st.lists(
    st.text(
        alphabet=st.sampled_from(["a", "b", "é", " ", "\t", "#", "-", ".", "1", "\r", "\u3000", "😀"]),
        max_size=6,
    )
    | st.sampled_from(["", " ", "-DOCSTART-", "-DOCSTART- x", "-DOCSTARTx", "# c", "1-2\ta", "a b", "c\td"]),
    max_size=8,
)
TEXTS = st.tuples(st.sampled_from(["", "\ufeff"]), LINES, st.sampled_from(["\n", "\r\n"]), st.booleans()).map(
    lambda parts: parts[0] + parts[2].join(parts[1]) + (parts[2] if parts[3] else "")
)


@ORDERLY
@given(TEXTS, st.sampled_from(LAYOUTS))
def test_the_parser_does_what_its_twin_does(text: str, layout: Layout) -> None:
    try:
        sentences, numbers, asides = twin_parse(text, layout)
    except TwinError as error:
        with pytest.raises(CorpusError, match=f"file:{error.line}: "):
            parse_text(text.encode(), "file", layout)
        return
    corpus = parse_text(text.encode(), "file", layout)
    rows = [list(zip(*s.values(), strict=True)) for s in corpus]
    assert rows == [[tuple(fields) for fields in s] for s in sentences]
    assert corpus.lines is not None
    assert corpus.lines.tolist() == numbers
    extras = corpus.extras
    kept = [] if extras is None else list(zip(extras.sentences, extras.tokens, extras.lines, strict=True))
    assert kept == asides


def stream_of(raw: bytes, layout: Layout, piece_bytes: int) -> Iterator[Piece]:
    return pieces_of_file(io.BytesIO(raw), "file", layout, piece_bytes)


@ORDERLY
@given(TEXTS, st.sampled_from([*(a for a in LAYOUTS if not a.ids), CONLLU]), st.integers(1, 12))
def test_a_stream_gives_what_the_whole_gives(text: str, layout: Layout, piece_bytes: int) -> None:
    raw = text.encode()
    try:
        whole = parse_text(raw, "file", layout)
    except CorpusError as error:
        with pytest.raises(CorpusError, match=f"file:{error.line}: "):
            list(stream_of(raw, layout, piece_bytes))
        return
    pieces = list(stream_of(raw, layout, piece_bytes))
    assert b"".join(piece.text for piece in pieces) == raw
    assert [s for piece in pieces for s in piece.corpus] == list(whole)
    mark = Strings.of(["X"])
    marked = [
        append_labels(p.text, Column(np.zeros(p.corpus.n_tokens, np.int32), mark), p.layout, first_line=p.first_line)
        for p in pieces
    ]
    everywhere = Column(np.zeros(whole.n_tokens, np.int32), mark)
    assert b"".join(marked) == append_labels(raw, everywhere, layout)
    lines = [piece.corpus.lines for piece in pieces]
    assert whole.lines is not None
    assert [n for part in lines if part is not None for n in part.tolist()] == whole.lines.tolist()


@ORDERLY
@given(TEXTS, st.sampled_from(LAYOUTS))
def test_appended_labels_stand_at_the_end_of_every_token(text: str, layout: Layout) -> None:
    lines = re.findall("[^\n]*\n|[^\n]+", text)
    expected, labels = [], []
    for i, line in enumerate(lines):
        content = line.removesuffix("\n").removesuffix("\r")
        bare = content.removeprefix("\ufeff") if i == 0 else content
        if twin_kind(bare, layout) == "token":
            labels.append(i % 3)
            content += ("\t" if layout.tabs or "\t" in content else " ") + f"é{i % 3}"
        expected.append(content + line[len(line.removesuffix("\n").removesuffix("\r")) :])
    column = Column(np.array(labels, np.int32), Strings.of(["é0", "é1", "é2"]))
    assert append_labels(text.encode(), column, layout).decode() == "".join(expected)


def test_append_refuses_what_does_not_fit() -> None:
    one = Column(np.zeros(1, np.int32), Strings.of(["X"]))
    with pytest.raises(ValueError, match="another number of tokens"):
        append_labels(b"a\nb\n", one, Layout())
    with pytest.raises(ValueError, match="code out of range"):
        append_labels(b"a\n", Column(np.ones(1, np.int32), Strings.of(["X"])), Layout())
    with pytest.raises(ValueError, match="starts must be in order"):
        append_labels(b"a\n", Column(one.codes, Strings(one.values.data, np.array([0, 9]))), Layout())


def test_names() -> None:
    assert default_names(1) == ("word",)
    assert default_names(2) == ("word", "label")
    assert default_names(3) == ("word", "pos", "label")
    assert default_names(5) == ("word", "pos", "column3", "column4", "label")
    assert parse_names(" word, pos") == ("word", "pos")
    assert parse_names(["a"]) == ("a",)
    for wrong in ("a,,b", "a,a"):
        with pytest.raises(CorpusError, match="names must be unique"):
            parse_names(wrong)


def test_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "small.txt"
    path.write_text("the DT B-NP\ncat NN I-NP\n\nsat VBD B-VP\n")
    corpus = trellis.read(path)
    assert (len(corpus), corpus.n_tokens, corpus.source) == (2, 3, str(path))
    assert corpus[0] == {"word": ["the", "cat"], "pos": ["DT", "NN"], "label": ["B-NP", "I-NP"]}
    assert list(trellis.read(str(path), columns="form,tag,chunk").columns) == ["form", "tag", "chunk"]
    with path.open("rb") as file:
        assert list(trellis.read(file)) == list(corpus)
    assert list(trellis.read(io.BytesIO(path.read_bytes()))) == list(corpus)


def test_tsv_fields_may_hold_blanks(tmp_path: Path) -> None:
    path = tmp_path / "small.tsv"
    path.write_text("New York\tB-LOC\n")
    assert trellis.read(path)[0] == {"word": ["New York"], "label": ["B-LOC"]}
    with pytest.raises(CorpusError, match=r"3 fields \(whitespace-separated\)"):
        trellis.read(path, tabs=False, columns="word,label")


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        (b"a B\nb\n", 2, "1 field (whitespace-separated), expected 2 like the first row of the file"),
        (b"a B\n\n\nb C D\n", 4, "3 fields (whitespace-separated), expected 2"),
        (b"a B\nb \xff\n", 2, "not valid UTF-8; convert the file"),
        (b"", None, "no tokens; the file must have at least one sentence"),
        (b"\n \n-DOCSTART- O\n", None, "no tokens; the file must have at least one sentence"),
    ],
)
def test_bad_files_say_where_and_why(tmp_path: Path, content: bytes, line: int | None, why: str) -> None:
    path = tmp_path / "bad.txt"
    error = unreadable(path, content, why)
    assert (error.path, error.line) == (str(path), line)
    assert str(error).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_names_asked_for_fix_the_number_of_fields(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("a B\n")
    with pytest.raises(CorpusError, match=r"2 fields .* expected 3 \(word, pos, label\)"):
        trellis.read(path, columns="word,pos,label")


def test_an_unknown_column_lists_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "small.txt"
    path.write_text("a B\n")
    with pytest.raises(CorpusError, match="no column 'pos'; the columns are word, label"):
        trellis.read(path).column("pos")


def test_later_pieces_of_a_stream_must_be_like_the_first() -> None:
    file = io.BytesIO(b"a B\n\nb C\n\nc\n")
    with pytest.raises(CorpusError, match="expected 2") as caught:
        list(pieces_of_file(file, "<stream>", Layout(), 4))
    assert (caught.value.path, caught.value.line) == ("<stream>", 5)


def test_a_stream_of_conllu(tmp_path: Path) -> None:
    row = "\t".join(["{}", "w", *"_" * 8])
    path = tmp_path / "a.conllu.gz"
    text = "# one\n" + "\n".join(row.format(i) for i in ("1-2", "1", "2", "2.1")) + "\n\n"
    path.write_bytes(gzip.compress((text * 3).encode()))
    pieces = list(pieces_of_path(str(path), CONLLU, len(text)))
    assert [piece.corpus.n_tokens for piece in pieces] == [2, 2, 2]
    assert [piece.first_line for piece in pieces] == [1, 7, 13]


def test_streams_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("New York\tB\n\nthe\tO\n")
    pieces = list(pieces_of_path(str(path), Layout(("form", "ner"), tabs=True), 10))
    assert [s for piece in pieces for s in piece.corpus] == [
        {"form": ["New York"], "ner": ["B"]},
        {"form": ["the"], "ner": ["O"]},
    ]
    with pytest.raises(CorpusError, match="no such file"):
        list(pieces_of_path(str(tmp_path / "no.txt"), Layout()))


def test_an_input_that_pauses_is_cut_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            asked.append(size or 0)
            return super().read1(5)

    text = b"a X\n" * 100 + b"\nb Y\n\nc Z\n"
    monkeypatch.setattr(stream, "_has_more", lambda file: False)
    pieces = list(pieces_of_file(Slow(text), "slow", Layout(), 1 << 16))
    assert [piece.text for piece in pieces] == [b"a X\n" * 100 + b"\n", b"b Y\n\n", b"c Z\n"]
    assert [piece.first_line for piece in pieces] == [1, 102, 104]
    assert max(asked) == 1 << 16  # however often it pauses


def test_pieces_on_threads_come_in_order(tmp_path: Path) -> None:
    text = b"".join(b"w%d X\n" % i * (i % 7 + 1) + b"\n" for i in range(300))
    (tmp_path / "a").write_bytes(text)
    for n_threads, piece_bytes in ((1, 1 << 20), (2, 64), (7, 1)):
        pieces = list(map_pieces(lambda piece: piece, str(tmp_path / "a"), Layout(), n_threads, piece_bytes))
        assert b"".join(piece.text for piece in pieces) == text
        assert [len(pieces) > 1, pieces[0].first_line] == [piece_bytes < 100, 1]
        assert all(tuple(piece.corpus.columns) == ("word", "label") for piece in pieces)

    def fail(piece: Piece) -> int:
        if piece.first_line > 400:
            raise ValueError(f"line {piece.first_line}")
        return piece.first_line

    done, lines = list[int](), map_pieces(fail, str(tmp_path / "a"), Layout(), 2, 16)
    with pytest.raises(ValueError, match="line 40"):
        done.extend(lines)  # what came before the error stays
    assert done == sorted(done)
    assert 390 < done[-1] <= 400


def test_what_fails_outside_a_stream_is_not_blamed_on_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n\nb\n")
    with pytest.raises(BrokenPipeError):  # noqa: PT012
        for _ in pieces_of_path(str(path), Layout()):
            raise BrokenPipeError


def test_replaced_labels_leave_every_other_byte() -> None:
    layout = Layout(("id", "form", "upos"), tabs=True, comments=True, ids=True)
    text = "\ufeff# c\r\n1-2\tab\t_\r\n1\ta\t\r\n2\tb\tX\n\n3.1\tc\t_\n3\tc\tlong"
    column = Column(np.array([0, 1, 0], np.int32), Strings.of(["é", "NOUN"]))
    replaced = replace_labels(text.encode(), "upos", column, layout).decode()
    assert replaced == "\ufeff# c\r\n1-2\tab\t_\r\n1\ta\té\r\n2\tb\tNOUN\n\n3.1\tc\t_\n3\tc\té"
    blanks = replace_labels(b" a  b \n", "y", Column(column.codes[:1], column.values), Layout(("x", "y")))
    assert blanks.decode() == " a  é \n"
    with pytest.raises(ValueError, match="lacks this field"):
        replace_labels(b"a\n", "y", Column(column.codes[:1], column.values), Layout(("x", "y")))
    with pytest.raises(ValueError, match="another number of tokens"):
        replace_labels(b"a b\n", "y", column, Layout(("x", "y")))
