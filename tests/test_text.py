"""Raw text: sentences, words and their places; labels on it from Python and on the command line."""

from __future__ import annotations

import json
import pydoc_data.topics
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import refused
from hypothesis import given
from hypothesis import strategies as st

import trellis
from trellis.interfaces.cli import pieces

SENTENCES = [
    ("Ann's dog didn't bark. It ran!", "Ann 's dog did n't bark . | It ran !"),
    ("Mr. Smith of the U.S. Senate met J. R. Tolkien.", "Mr. Smith of the U.S. Senate met J. R. Tolkien ."),
    ("He came at 3:30 p.m. The end.", "He came at 3:30 p.m. | The end ."),
    ('"Did it?" she asked. (Yes.) OK...', '" Did it ? " she asked . | ( Yes . ) | OK ...'),
    ("It costs $5.20 (10%), and/or 1,000.50.", "It costs $ 5.20 ( 10 % ) , and / or 1,000.50 ."),
    ("See https://a.org/b?c=d. Mail me@x.org!", "See https://a.org/b?c=d . | Mail me@x.org !"),
    ("L'homme qu'il a vu aujourd'hui.", "L' homme qu' il a vu aujourd'hui ."),
    ("state-of-the-art C++ @you #now", "state-of-the-art C++ @you #now"),
    ("我爱北京。天安门！", "我 爱 北 京 。 | 天 安 门 ！"),
    ("नमस्ते दुनिया। यह है।", "नमस्ते दुनिया । | यह है ।"),
    ("مرحبا، كيف؟", "مرحبا ، كيف ؟"),
    ("it ran. then e.g. it sat.", "it ran . | then e.g. it sat ."),
    ("Straße 12b – Köln…", "Straße 12b – Köln …"),
    ("a\n\nb c\r\n\r\nd\ne", "a | b c | d e"),
    ("\ufeffThe dog", "The dog"),
    ("", ""),
]


def words(sentences: list[list[trellis.Token]]) -> str:
    return " | ".join(" ".join(token.text for token in sentence) for sentence in sentences)


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_sentences_and_words(text: str, expected: str) -> None:
    assert words(trellis.tokenize(text)) == expected


def test_every_line_can_be_a_sentence() -> None:
    assert (
        words(trellis.tokenize("12 Main St. Chicago\nIL. Then\r\nend", lines=True))
        == "12 Main St. Chicago | IL . Then | end"
    )


def check_places(text: str, sentences: list[list[trellis.Token]]) -> None:
    """Words are what stands at their places, one after the other, and nothing is left out but blanks."""
    at = 0
    for token in (token for sentence in sentences for token in sentence):
        assert text[token.start : token.end] == token.text != ""
        assert not re.sub(r"[\s\u200b\ufeff]", "", text[at : token.start])
        at = token.end
    assert not re.sub(r"[\s\u200b\ufeff]", "", text[at:])
    assert all(sentences)


@given(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("aB1 .'’-\n!?@/"), max_size=60), st.booleans()
)
def test_nothing_but_blanks_is_left_out(text: str, lines: bool) -> None:
    check_places(text, trellis.tokenize(text, lines=lines))


def test_a_real_text() -> None:
    text = pydoc_data.topics.topics["assignment"]
    check_places(text, trellis.tokenize(text))


@pytest.mark.parametrize(
    "unit", ["a.", "1.", "a@", "a'", "http://", "a-", "'", "!)", "中", "Mr. ", "a.a", "http://a.", "?!."]
)
def test_long_runs_take_no_longer_than_they_are_long(unit: str) -> None:
    """A pattern that looks back again and again would take hours."""
    for text in (unit * 50_000, unit * 50_000 + "b", "http://a" + unit * 50_000 + "b"):
        check_places(text, trellis.tokenize(text))


def test_text_must_be_text() -> None:
    with pytest.raises(trellis.ArgumentError, match="string"):
        trellis.tokenize(["a"])  # type: ignore[arg-type]


# ------------------------------------------------------------ labels


@pytest.fixture(scope="module")
def chunker() -> trellis.Tagger:
    corpus = {
        "word": [["The", "dog", "did", "n't", "see", "Ann", "."], ["Ann", "ran", "!"]] * 3,
        "chunk": [["B-NP", "I-NP", "B-VP", "I-VP", "I-VP", "B-NP", "O"], ["B-NP", "B-VP", "O"]] * 3,
    }
    return trellis.train(corpus, target="chunk", learner=trellis.CRF(epochs=30))


TEXT = "The dog didn't see Ann.\n  Ann ran!"


def test_spans_have_places(chunker: trellis.Tagger) -> None:
    found = chunker.tag_text(TEXT)
    assert [(span.label, span.text, span.start, span.end) for span in found.spans] == [
        ("NP", "The dog", 0, 7),
        ("VP", "didn't see", 8, 18),
        ("NP", "Ann", 19, 22),
        ("NP", "Ann", 26, 29),
        ("VP", "ran", 30, 33),
    ]
    assert str(found) == "[NP The dog] [VP did n't see] [NP Ann] .\n[NP Ann] [VP ran] !"
    assert (len(found), found[1].labels) == (2, ["B-NP", "B-VP", "O"])
    assert all(span.confidence is None for span in found.spans)


def test_confidence_is_that_of_lists(chunker: trellis.Tagger) -> None:
    found = chunker.tag_text(TEXT, confidence=True)
    for sentence in found:
        tokens = [token.text for token in sentence.tokens]
        assert [span.confidence for span in sentence.spans or ()] == [p for _, p in chunker.tag_spans(tokens)]
        node = chunker.marginals(tokens)
        assert sentence.confidences == [node[t][label] for t, label in enumerate(sentence.labels)]
    record = found.to_dicts(offset=100)[1]
    assert (record["text"], record["start"], record["end"]) == ("Ann ran!", 126, 134)
    assert record["tokens"][1] == {
        "text": "ran",
        "start": 130,
        "end": 133,
        "label": "B-VP",
        "confidence": record["tokens"][1]["confidence"],
    }
    span = found[1].spans[1]  # type: ignore[index]
    assert record["spans"][1] == {**span._asdict(), "start": 130, "end": 133}
    assert (span.start_token, span.end_token, span.start, span.end) == (1, 2, 30, 33)
    json.dumps(found.to_dicts())


def test_labels_without_spans() -> None:
    tagger = trellis.train({"word": [["the", "dog"]] * 2, "pos": [["DT", "NN"]] * 2}, target="pos")
    found = tagger.tag_text("the dog")
    assert (str(found), found.spans, found[0].spans) == ("the/DT dog/NN", [], None)
    assert "spans" not in found.to_dicts()[0]


def test_a_model_that_reads_more_than_words_is_refused() -> None:
    corpus = {"word": [["a"]], "pos": [["X"]], "y": [["Y"]]}
    tagger = trellis.train(corpus, target="y", features=["word[0]", "pos[0]"])
    with pytest.raises(trellis.ArgumentError, match="word, pos"):
        tagger.tag_text("a")


# ------------------------------------------------------------ on the command line


@pytest.fixture
def model(chunker: trellis.Tagger, here: Path) -> Path:
    chunker.save(here / "c.trellis")
    (here / "text.txt").write_text(TEXT)
    return here


def test_text_with_its_labels(model: Path, call: Any) -> None:
    assert (
        call("predict -m c.trellis --text --inline text.txt").out
        == "[NP The dog] [VP did n't see] [NP Ann] .\n[NP Ann] [VP ran] !\n"
    )
    assert call("predict -m c.trellis --text text.txt").out.split("\n\n")[1] == "Ann B-NP\nran B-VP\n! O"
    assert call("predict -m c.trellis --words --inline", "Ann ran\nThe dog").out == "[NP Ann] [VP ran]\n[NP The dog]\n"


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_json_has_places_whatever_the_pieces(
    model: Path, call: Any, chunker: trellis.Tagger, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", piece)
    text = "Ann ran! " * 5 + "Die Tür.\n\nThe dog did n't\nsee Ann . Ann"
    (model / "long.txt").write_text(text)
    found = [json.loads(line) for line in call("predict -m c.trellis --text --json long.txt").out.splitlines()]
    assert found == chunker.tag_text(text).to_dicts()
    sure = call("predict -m c.trellis --text --json --confidence long.txt").out.splitlines()
    whole = chunker.tag_text(text, confidence=True).to_dicts()
    assert [json.loads(line)["tokens"][0]["confidence"] for line in sure] == pytest.approx(
        [record["tokens"][0]["confidence"] for record in whole]
    )


def test_a_sentence_without_end_is_cut(model: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 8)
    monkeypatch.setattr(pieces, "LONGEST", 16)
    assert call("predict -m c.trellis --text --inline", "Ann " * 30).out.replace("\n", " ").count("Ann") == 30


def test_options_that_do_not_go_together(model: Path, call: Any) -> None:
    refused(call("predict -m c.trellis --inline text.txt"), "--inline", "--text")
    refused(call("predict -m c.trellis --text --inline --json text.txt"), "--inline")
    refused(call("predict -m c.trellis --crf-test --json text.txt"), "--crf-test")
    refused(call("predict -m c.trellis --confidence text.txt -o out.parquet"), "--confidence", "--json")
