"""CSV: a row per token; sentences told apart by a column or by empty rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trellis
from trellis.corpus.columns import Layout
from trellis.corpus.csv_files import format_csv, parse_csv

KAGGLE = """Sentence #,Word,Tag
Sentence: 1,Thousands,O
,"Mr. ""A"", B",B-per
Sentence: 2,Iran,B-geo
,said,O
"""


def read(text: str, **how: Any) -> trellis.Corpus:
    return parse_csv(text.encode(), "a.csv", Layout(how.get("names"), sentence=how.get("sentence")))


def test_a_column_filled_on_first_rows_only() -> None:
    corpus = read(KAGGLE)
    assert list(corpus.columns) == ["Sentence #", "Word", "Tag"]
    assert corpus.sentences("Sentence #") == [["Sentence: 1"] * 2, ["Sentence: 2"] * 2]  # filled down
    assert corpus.sentences("Word") == [["Thousands", 'Mr. "A", B'], ["Iran", "said"]]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("w,y\na,A\nb,B\n\nc,C\n", {}),
        ("\ufeffw,y\r\na,A\r\nb,B\r\n,\r\nc,C\r\n", {}),
        ("w;y\na;A\nb;B\n;\nc;C", {}),
        ("n,w,y\n1,a,A\n1,b,B\n2,c,C\n", {"sentence": "n"}),
        (",sentence,w,y\n0,1,a,A\n1,1,b,B\n2,2,c,C\n", {}),  # with the numbers of rows that pandas writes
        ("sentence_id,w,y,z\n1,a,A,\n1,b,B,\n2,c,C,\n", {"names": ("w", "y")}),
    ],
)
def test_ways_to_tell_sentences_apart(text: str, how: Any) -> None:
    corpus = read(text, **how)
    assert (corpus.sentences("w"), corpus.sentences("y")) == ([["a", "b"], ["c"]], [["A", "B"], ["C"]])


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("w,y\na,A\nb\n", 3, "1 fields"),
        ('w,y\na,A\n"b,B\n', 3, "invalid CSV"),
        ("w,w\na,A\n", 1, "once"),
        ("sentence,w\n1,a\n2,b\n1,c\n", 4, "are not contiguous; sort the table by this column"),
        ("", None, "no tokens"),
        ("\n\n", None, "no tokens"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int | None, why: str) -> None:
    with pytest.raises(trellis.CorpusError, match=why) as error:
        read(text)
    assert error.value.line == line


def test_other_encodings_and_columns_are_told() -> None:
    with pytest.raises(trellis.CorpusError, match="iconv"):
        parse_csv("w\nM\xe4dchen\n".encode("latin-1"), "a.csv", Layout())
    with pytest.raises(trellis.CorpusError, match="no column 'x'"):
        read(KAGGLE, sentence="x")


words = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from(",;\"'\n "), min_size=1, max_size=5
).filter(lambda word: bool(word.strip()))


@given(st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=3), min_size=1, max_size=3))
def test_what_is_written_is_read_again(sentences: list[list[tuple[str, str]]]) -> None:
    corpus = trellis.read(sentences, columns="w,y")
    assert list(parse_csv(format_csv(corpus).encode(), "", Layout(("w", "y")))) == list(corpus)


def test_on_the_command_line(here: Path, call: Any) -> None:
    (here / "a.csv").write_text(KAGGLE.replace("Sentence #", "n"))
    (here / "words.txt").write_text("Word[0]\n")
    assert call("train a.csv --sentence n --target Tag --features words.txt --model m --quiet").code == 0
    assert call("predict -m m a.csv -o out.csv --quiet").code == 0
    assert (here / "out.csv").read_text().splitlines()[0] == "n,Word,Tag"  # no second column of sentences
    assert trellis.read("out.csv", sentence="n").sentences("Word") == read(KAGGLE).sentences("Word")
    assert call("predict -m m a.csv --quiet").out == (here / "out.csv").read_text()


def test_attributes_have_no_place(tmp_path: Path) -> None:
    with pytest.raises(trellis.CorpusError, match="jsonl"):
        trellis.write(trellis.read({"attributes": [[["a"]]], "y": [["A"]]}), tmp_path / "a.csv")


@pytest.mark.parametrize("word", ["a\r", "\r", "a\r\nb", 'a\n"b"', "a,b", "", " ", "\ufeffa"])
def test_odd_words_are_read_back(word: str, tmp_path: Path) -> None:
    corpus = trellis.read({"x": [[word, "b"], ["c"]], "y": [["A", word], ["B"]]})
    trellis.write(corpus, tmp_path / "a.csv")
    assert list(trellis.read(tmp_path / "a.csv", columns="x,y")) == list(corpus)
    assert (b"\r" in (tmp_path / "a.csv").read_bytes()) == ("\r" in word)  # lines end in LF
