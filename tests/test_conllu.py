"""Documents in CoNLL-U: every line read and written back, offsets in the text, and bad files."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
from pathlib import Path

import pytest

import trellis
from trellis import Document, DocumentSentence, EmptyNode, MultiwordToken, Word
from trellis.corpus.corpus import Column


def row(i: str, form: str, *fields: str) -> str:
    """A line; its fields are name:value, the others are _."""
    names = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
    given = {"id": i, "form": form} | {name: value for name, _, value in (field.partition(":") for field in fields)}
    return "\t".join(given.get(name, "_") for name in names) + "\n"


ALL = (
    "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"
    "# newdoc id = d1\n# newpar\n# sent_id = s1\n# text = Il va du parc.\n# text_en = He goes.\n#odd\n"
    + row("0.1", "tiens", "lemma:tenir", "deps:2:parataxis")
    + row("1", "Il", "lemma:il", "upos:PRON", "xpos:P", "feats:Gender=Masc|Number=Sing", "head:2", "deprel:nsubj")
    + row("2", "va", "upos:VERB", "head:0", "deprel:root", "deps:0:root|5:x", "misc:Gloss=goes")
    + row("2.1", "_", "deps:2:orphan")
    + row("3-4", "du", "feats:Typo=Yes", "misc:Odd Entry|x")
    + row("3", "de", "head:5", "deprel:case", "misc:SpaceAfter=No")
    + row("3.1", "e")
    + row("4", "le", "head:5", "deprel:det")
    + row("5", "parc", "head:2", "deprel:obl", "misc:SpaceAfter=No|Lang=fr")
    + row("6", ".", "head:2", "deprel:punct", r"misc:SpacesAfter=\s\n")
    + row("6.1", "a")
    + row("6.2", "b")
    + "\n# sent_id = s2\n"
    + row("1", "_", "lemma:_", "misc:SpaceAfter=No")
    + row("2", "10 000", "lemma:_")
    + "\n# newpar id = p2\n"
    + row("1", "C'est", r"misc:SpacesBefore=\t")
    + row("2", "fini", "misc:NewPar=Yes")
    + "\n"
    + row("1-1", "x", "misc:SpaceAfter=No")
    + row("1", "y", r"misc:SpacesInToken=z")
    + "\n"
    + row("1", "x  y".replace("  ", " "), r"misc:SpacesInToken=x\s\sy\\\p")
    + "\n# the end\n"
)
TEXT = "Il va du parc. \n_10 000\n\n\tC'est\n\nfini xx  y\\|"


@pytest.mark.parametrize("text", [ALL, ALL.replace("\n", "\r\n"), "", "# only\n", "# newdoc\n" + row("1", "a") + "\n"])
def test_what_is_read_is_written(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document.from_conllu(text)
    assert document.to_conllu() == text
    plain, packed = tmp_path / "a.conllu", tmp_path / "a.conllu.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    for path in (plain, str(packed), "-"):
        again = Document.from_conllu(path)
        assert again == document
        assert again.to_conllu() == text


def test_sloppy_files_are_written_well() -> None:
    text = row("1", "a") + "\n" + row("1", "b") + "\n"
    assert Document.from_conllu("\ufeff\n\n" + text.replace("\n\n", "\n \n\n").rstrip()).to_conllu() == text


def test_fields() -> None:
    first, second, third, fourth, _ = Document.from_conllu(ALL)
    assert (first.sent_id, first.text, first.newdoc, first.newpar) == ("s1", "Il va du parc.", "d1", "")
    assert (second.sent_id, second.newdoc, second.newpar, second.text) == ("s2", None, None, "_10 000")
    assert (third.sent_id, third.newpar) == (None, "p2")
    word = Word("Il", "il", "PRON", "P", "Gender=Masc|Number=Sing", 2, "nsubj", None, None, 0, 2)
    assert first[0] == first.words[0] == word
    assert first[1].head == 0
    assert [word.form for word in first] == ["Il", "va", "de", "le", "parc", "."]
    assert first.multiwords == [MultiwordToken(3, 4, "du", "Typo=Yes", "Odd Entry|x", 6, 8)]
    assert [token.form for token in first.tokens] == ["Il", "va", "du", "parc", "."]
    nodes = [(node.after, node.number, node.form, node.deps) for node in first.empty_nodes]
    assert nodes[:3] == [(0, 1, "tiens", "2:parataxis"), (2, 1, None, "2:orphan"), (3, 1, "e", None)]
    assert [(word.form, word.lemma) for word in second] == [("_", "_"), ("10 000", None)]
    assert [token.form for token in fourth.tokens] == ["x"]


def test_text_and_offsets() -> None:
    document = Document.from_conllu(ALL)
    assert document.text == TEXT
    for sentence in document.sentences[:4]:
        assert [document.text[token.start : token.end] for token in sentence.tokens] == [
            t.form for t in sentence.tokens
        ]
        assert (sentence.start, sentence.end) == (sentence.tokens[0].start, sentence.tokens[-1].end)
    first = document[0]
    assert [(word.start, word.end) for word in first.words[2:4]] == [(6, 8)] * 2
    assert document.text[document[4][0].start : document[4][0].end] == "x  y\\|"


@pytest.mark.parametrize(
    ("comment", "rows", "text"),
    [
        ("a\u00a0b  c", ["a", "b", "c"], "a\u00a0b  c"),  # whitespace is that of the comment
        ("a b", ["a|SpacesAfter=\\n", "b"], "a\nb"),  # SpacesAfter is exact
        ("👍🏽é b", ["👍🏽|SpaceAfter=No", "é", "b"], "👍🏽é b"),
    ],
)
def test_text_of_a_sentence(comment: str, rows: list[str], text: str) -> None:
    lines = [
        row(str(i), form, f"misc:{misc or '_'}")
        for i, (form, _, misc) in enumerate((r.partition("|") for r in rows), 1)
    ]
    document = Document.from_conllu(f"# text = {comment}\n" + "".join(lines) + "\n")
    assert document.text == text
    assert [text[token.start : token.end] for token in document[0].tokens] == [r.partition("|")[0] for r in rows]


def test_whitespace_between_sentences() -> None:
    def text(misc: str, comment: str) -> str:
        return Document.from_conllu(row("1", "a", f"misc:{misc}") + "\n" + comment + row("1", "b") + "\n").text

    assert [text("_", ""), text("SpaceAfter=No", ""), text("_", "# newpar = \n")] == ["a b", "ab", "a\n\nb"]
    assert [text("SpaceAfter=No", "# newdoc\n"), text(r"SpacesAfter=\n", "# newdoc\n")] == ["a\n\nb", "a\nb"]
    assert text(r"SpacesAfter=\q\u00a0", "") == "a\\q\u00a0b"  # an escape that nobody knows


BAD = [
    (row("1", "a") + row("3", "b"), 2, "id 3, expected 2"),
    (row("1", "a") + "\n" + row("2", "b"), 3, "id 2, expected 1"),
    (row("x", "a"), 1, "id x, expected 1"),
    (row("01", "a"), 1, "id 01, expected 1"),
    (row("1-3", "ab") + row("1", "a") + row("2", "b"), 1, "range 1-3; "),
    (row("2-1", "ab") + row("1", "a") + row("2", "b"), 1, "range 2-1; "),
    (row("1", "a") + row("1-2", "ab") + row("2", "b"), 2, "range 1-2; "),
    (row("1-2", "ab") + row("1", "a") + row("2-3", "bc") + row("2", "b") + row("3", "c"), 3, "range 2-3; "),
    (row("1-2", "ab", "upos:X") + row("1", "a") + row("2", "b"), 1, "range 1-2 has the upos 'X'"),
    (row("1-2", "ab") + "\n" + row("1", "a") + row("2", "b"), 1, "1-2 without words"),
    (row("1", "a") + "\n" + row("0.1", "b"), 3, "0.1 without words"),
    (row("1.1", "b") + row("1", "a"), 1, "empty node 1.1, expected 0.1"),
    (row("1", "a") + row("1.2", "b"), 2, "empty node 1.2, expected 1.1"),
    (row("1-2", "ab") + row("0.1", "c") + row("1", "a") + row("2", "b"), 2, "before the range"),
    (row("1", "a", "head:2"), 1, "head 2 is not in the sentence"),
    (row("1", "a") + row("2", "b", "head:-1"), 2, "head '-1' is no id"),
    (row("1", "a", "head:x"), 1, "head 'x' is no id"),
    (row("1", "a").replace("_\n", "\n"), 1, "column misc is empty"),
    (row("1-2", "").replace("_\n", "\n") + row("1", "a"), 1, "an empty field, expected 10"),
    (row("1", "a")[:-3] + "\n", 1, "9 fields"),
    (row("1-2", "a")[:-3] + "\n" + row("1", "a"), 1, "9 fields"),
    (row("1", "a") + "# late\n" + row("2", "b"), 2, "a comment within a sentence"),
    (row("1-1", "a") + "# late\n" + row("1", "b"), 2, "a comment within a sentence"),
    ("-DOCSTART-\n\n" + row("1", "b"), 1, "1 field"),
    ("# a\n# text = a c\n" + row("1", "a") + row("2", "b"), 2, "# text differs from the tokens at 'b'"),
    ("# text = ab\n" + row("1", "a") + row("2", "b"), 1, "# text differs from the tokens at 'a'"),
    (
        "# text = a b\n" + row("1", "a", "misc:SpaceAfter=No") + row("2", "b"),
        1,
        "# text differs from the tokens at 'a'",
    ),
    ("# text = a b\n" + row("1", "a"), 1, "# text differs from the tokens at 'a'"),
]


@pytest.mark.parametrize(("text", "line", "why"), BAD)
def test_bad_files(text: str, line: int, why: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text(text + "\n")
    with pytest.raises(trellis.CorpusError, match=why) as caught:
        Document.from_conllu(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert "\n" not in str(caught.value)


def test_bad_sources(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_bytes(row("1", "a").encode() + row("2", "é").encode("latin-1"))
    with pytest.raises(trellis.CorpusError, match="not valid UTF-8") as caught:
        Document.from_conllu(tmp_path / "a.conllu")
    assert caught.value.line == 2
    with pytest.raises(trellis.CorpusError, match="no such file"):
        Document.from_conllu("nowhere.conllu")
    with pytest.raises(trellis.CorpusError, match="not valid UTF-8"):
        Document.from_conllu("\ud800\n")
    with pytest.raises(trellis.ArgumentError, match="text_or_path"):
        Document.from_conllu(3)  # type: ignore[arg-type]


# ------------------------------------------------------------ documents made from text

WHITESPACE = [" ", " ", " ", "", "  ", "\n", "\n\n", "\t", " \r\n", "\u00a0", "\u3000", "\n \n", "\u2028", "\x85 "]


def made(rng: random.Random) -> Document:
    """A document with any whitespace, as a tokenizer makes it."""
    text, sentences = rng.choice(["", "", " ", "\n", "\u00a0 "]), list[DocumentSentence]()
    for _ in range(rng.randint(1, 4)):
        words, multiwords = list[Word](), list[MultiwordToken]()
        for _ in range(rng.randint(1, 4)):
            form, start = "".join(rng.choices("ab|\\_#é😀ע\u200b", k=rng.randint(1, 3))), len(text)
            text += form
            if rng.random() < 0.2:
                n = rng.randint(1, 3)
                multiwords.append(MultiwordToken(len(words) + 1, len(words) + n, form, start=start, end=len(text)))
                words += [Word("w", start=start, end=len(text)) for _ in range(n)]
            else:
                inner, outer = rng.choice([("", ""), ("", ""), (" x", "\r\nx")])
                text += outer
                misc = rng.choice([None, "A=b", "SpaceAfter=No", "SpaceAfter=No|A=b"])
                words.append(Word(form + inner, misc=misc, start=start, end=len(text)))
            text += rng.choice(WHITESPACE)
        sentences.append(DocumentSentence(words, multiwords))
    return Document(text, sentences)


def test_the_text_is_in_the_file() -> None:
    rng = random.Random(1)
    for _ in range(300):
        document = made(rng)
        written = document.to_conllu()
        again = Document.from_conllu(written)
        assert again.text == document.text
        assert again.to_conllu() == written
        for a, b in zip(document, again, strict=True):
            assert [(t.form, t.start, t.end) for t in a.tokens] == [(t.form, t.start, t.end) for t in b.tokens]
            assert b.text == a.text
            assert ["A=b" in (w.misc or "") for w in a] == ["A=b" in (w.misc or "") for w in b]


def test_comments_of_a_text() -> None:
    text = "Bark! Now.\n \nGo \n to."
    forms = [["Bark", "!"], ["Now", "."], ["Go"], ["to", "."]]
    at, sentences = 0, list[DocumentSentence]()
    for some in forms:
        words = list[Word]()
        for form in some:
            at = text.index(form, at)
            words.append(Word(form, start=at, end=at + len(form)))
        sentences.append(DocumentSentence(words))
    document = Document(text, sentences)
    lines = document.to_conllu("d").splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        *("# newdoc id = d", "# newpar", "# sent_id = d-1", "# text = Bark!", "# sent_id = d-2", "# text = Now."),
        *("# newpar", "# sent_id = d-3", "# text = Go", "# sent_id = d-4", "# text = to."),
    ]
    miscs = [line.split("\t")[9] for line in lines if line[:1].isdigit()]
    assert miscs == [
        "SpaceAfter=No",
        "_",
        "SpaceAfter=No",
        r"SpacesAfter=\n\s\n",
        r"SpacesAfter=\s\n\s",
        "SpaceAfter=No",
        "_",
    ]
    assert document.to_conllu().splitlines()[:3] == ["# newdoc", "# newpar", "# sent_id = 1"]
    assert [sentence.sent_id for sentence in document] == [None] * 4  # writing changes nothing


def test_a_document_without_offsets() -> None:
    document = Document("", [DocumentSentence([Word("a"), Word("b", misc="SpaceAfter=No"), Word("c")])])
    assert document[0].text == "a bc"
    assert Document.from_conllu(document.to_conllu()).text == "a bc"


def test_what_no_file_can_hold() -> None:
    for word in (Word("a\tb"), Word("a", misc="x\ny"), Word("a", lemma="\r")):
        with pytest.raises(trellis.CorpusError, match=r"sentence 0 .* has a tab or a line break"):
            Document("", [DocumentSentence([word])]).to_conllu()
    with pytest.raises(trellis.CorpusError, match=r"sentence 0 .* has no words"):
        Document("", [DocumentSentence([])]).to_conllu()


# ------------------------------------------------------------ corpora, plain data, display


def test_corpus() -> None:
    document = Document.from_conllu(ALL.replace("# newpar id = p2", "# newdoc"))
    corpus = document.to_corpus()
    assert corpus.sentences("form") == [[word.form for word in sentence] for sentence in document]
    assert corpus[0]["id"] == ["1", "2", "3", "4", "5", "6"]
    assert corpus[0]["head"] == ["2", "0", "5", "5", "2", "2"]
    assert corpus[0]["xpos"] == ["P", "_", "_", "_", "_", "_"]
    assert corpus.document_numbers().tolist() == [1, 1, 2, 2, 2]
    assert len(Document("").to_corpus()) == 0
    again = document.with_columns(corpus.columns)
    assert again == document
    assert again[0].words[0] is not document[0].words[0]


def test_predictions() -> None:
    document = Document.from_conllu(ALL)
    n = document.to_corpus().n_tokens
    tags = ["X|A=b"] + ["Y"] * (n - 1)
    for column in (tags, Column.of(tags)):
        new = document.with_columns({"upos+feats": column, "head": [0] * n, "lemma": ["_"] * n, "misc": [None] * n})
        assert (new[0][0].upos, new[0][0].feats, new[0][1].upos, new[0][1].feats) == ("X", "A=b", "Y", None)
        values = {(word.head, word.lemma, word.misc) for sentence in new for word in sentence}
        assert values == {(0, None, None), (0, "_", None)}  # _ is the lemma of the word _
    assert document.with_columns({"upos+feats": [None, *tags[1:]]})[0][0].upos is None
    assert new[0].multiwords == document[0].multiwords
    assert new[0].empty_nodes == document[0].empty_nodes == [*new[0].empty_nodes]
    assert isinstance(new[0].empty_nodes[0], EmptyNode)
    assert new[0].comments == document[0].comments
    assert document[0][0].upos == "PRON"
    for columns, why in (
        ({"upos": ["X"]}, "it has 1 values for"),
        ({"word": ["X"] * n}, "no column 'word'"),
        ({"upos": "X" * n}, "it has no list"),
        ({"head": ["x"] * n}, "column 'head' has the value 'x'"),
        ({"head": [True] * n}, "column 'head' has the value True"),
        ({"head": [-1] * n}, "column 'head' has the value -1"),
        ({"upos+feats": 5}, "it has no list"),
        ({"upos+feats": [5] * n}, "column 'upos\\+feats' has the value 5"),
        ({"xpos": ["\ud800"] * n}, "column 'xpos' has the value"),
        ({"upos": [1] * n}, "column 'upos' has the value 1"),
        ({"form": [None] * n}, "column 'form' has the value None"),
    ):
        with pytest.raises(trellis.ArgumentError, match=why):
            document.with_columns(columns)  # type: ignore[arg-type]


def test_a_tagger_and_a_parser_annotate_a_document() -> None:
    rows = row("1", "the", "upos:DET", "head:2", "deprel:det") + row("2", "dog", "upos:NOUN", "head:0", "deprel:root")
    document = Document.from_conllu(rows + "\n")
    corpus = document.to_corpus()
    tagger = trellis.train(corpus, target="upos", learner=trellis.Perceptron(epochs=2))
    parser = trellis.Parser.train(corpus, learner=trellis.Perceptron(epochs=2))
    blank = document.with_columns(dict.fromkeys(("upos", "head", "deprel"), [None] * 2))
    assert blank != document
    tagged = blank.with_columns(tagger.predict_corpus(blank.to_corpus()).columns)
    assert tagged.with_columns(parser.predict_corpus(tagged.to_corpus()).columns) == document


def test_plain_data() -> None:
    data = Document.from_conllu(ALL).to_json()
    assert json.loads(json.dumps(data)) == data
    first = data["sentences"][0]
    assert (data["text"], first["text"], first["start"], first["end"]) == (TEXT, "Il va du parc.", 0, 14)
    assert first["words"][0] == {
        **{"id": 1, "form": "Il", "lemma": "il", "upos": "PRON", "xpos": "P", "feats": "Gender=Masc|Number=Sing"},
        **{"head": 2, "deprel": "nsubj", "start": 0, "end": 2},
    }
    assert first["multiword_tokens"] == [{"first": 3, "last": 4, "form": "du", "start": 6, "end": 8}]


def test_display() -> None:
    document = Document.from_conllu(ALL * 2)
    assert str(document).splitlines()[0] == "Il/PRON va/VERB de le parc ."
    assert repr(document) == "Document(10 sentences, 24 words from <text>)"
    assert repr(document[1]) == "DocumentSentence('_ 10 000')"
    html = document._repr_html_()
    assert html.count("<svg") == 1  # of the sentences with trees among the first
    assert "5 more sentences" in html
    assert "<svg" in document[0]._repr_html_()
    assert "<table" in document[1]._repr_html_()
    assert "nsubj" in document[0].draw().svg
    with pytest.raises(trellis.ArgumentError, match="words without head"):
        document[1].draw()
