"""Words of text without blanks: text in and out, what is read, scores, and the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import Done
from hypothesis import given, settings
from hypothesis import strategies as st

import trellis
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError
from trellis.corpus.unspaced import LABELS, characters, narrow, read_segmented, to_points, to_text, word_labels
from trellis.evaluation.words import compare_words

few = settings(max_examples=150, deadline=None)
LINES = [
    "我们 是 学生",
    "学生 们 读书",
    "他 是 我们 的 老师",
    "老师 读书 ， ２０２６年",
    "他们 的 书",
    "我 的 学生",
] * 3
# Everything that could go wrong: blanks of all kinds, line ends, marks, characters of one to four bytes.
TEXTS = st.text(alphabet="我们是学生读书，。2２Ａa \t\n\r\u3000\u00a0\u2028\x1c\x85\ufeff\u200b\x00é😀", max_size=40)


@pytest.fixture(scope="module")
def segmenter() -> trellis.Segmenter:
    return trellis.Segmenter.train(LINES, n_threads=1)


# ---------------------------------------------------------------------------- text


def blanks(text: str) -> list[bool]:
    return [c.isspace() or c == "\ufeff" for c in text]


@few
@given(TEXTS)
def test_only_blanks_are_put_in(segmenter: trellis.Segmenter, text: str) -> None:
    out = segmenter.segment_text(text)
    # Compare both: the output may only have additional spaces between two adjacent characters.
    at, is_blank = 0, blanks(text)
    for i, c in enumerate(out):
        if at < len(text) and c == text[at] and not (c == " " and out[i - 1 : i] and not is_blank[at]):
            at += 1
            continue
        assert c == " "
        assert 0 < at < len(text)
        assert not is_blank[at - 1]
        assert not is_blank[at]
    assert at == len(text)
    assert segmenter.segment_bytes(text.encode()) == out.encode()
    words = segmenter.segment(text)
    assert words == out.replace("\ufeff", " ").split()
    assert "".join(words) == "".join(c for c, blank in zip(text, is_blank, strict=True) if not blank)


@few
@given(st.lists(TEXTS, max_size=5))
def test_many_texts_are_each_by_itself(segmenter: trellis.Segmenter, texts: list[str]) -> None:
    assert segmenter.segment_batch(texts, n_threads=2) == [segmenter.segment(text) for text in texts]


@few
@given(st.binary(max_size=40))
def test_any_bytes_come_out_again(segmenter: trellis.Segmenter, text: bytes) -> None:
    assert segmenter.segment_bytes(text).replace(b" ", b"") == text.replace(b" ", b"")


def test_words(segmenter: trellis.Segmenter) -> None:
    assert segmenter.segment("我们是学生") == ["我们", "是", "学生"]
    assert segmenter.segment_text("我们是\u3000学生\r\n\n他的书") == "我们 是\u3000学生\r\n\n他 的 书"
    assert segmenter.segment("") == []
    assert segmenter.segment(" \n") == []
    assert segmenter.segment_batch([]) == []
    assert segmenter.segment_text("") == ""


def test_long_texts_are_coded_as_short_ones(segmenter: trellis.Segmenter) -> None:
    line = "我们是学生，他２ "
    assert segmenter.segment_text(line * 3000) == segmenter.segment_text(line) * 3000
    points = to_points(line * 3000)
    long, short = characters(points), characters(points[: len(line)])
    assert long.values.tolist() == short.values.tolist()
    assert long.codes[: len(line)].tolist() == short.codes.tolist()


def test_full_width_is_read_as_half_width() -> None:
    assert to_text(narrow(to_points("Ａ９！～我a\u3000"))) == "A9!~我a\u3000"


@few
@given(st.lists(st.integers(1, 5), min_size=1))
def test_labels_of_words(lengths: list[int]) -> None:
    expected = [z for n in lengths for z in ("S" if n == 1 else f"B{'M' * (n - 2)}E")]
    assert [LABELS[z] for z in word_labels(np.array(lengths))] == expected


# ---------------------------------------------------------------------------- what is read


def test_files_and_lists_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeff我们  是\r\n\r\n\n\u3000学生 \t们\n末尾 无 换行".encode())
    expected = [["我们", "是"], ["学生", "们"], ["末尾", "无", "换行"]]
    assert read_segmented(path).lines == expected
    assert read_segmented(str(path)).lines == read_segmented(expected).lines
    assert read_segmented([" ".join(words) for words in expected]).lines == expected
    corpus = read_segmented(path).corpus()
    assert corpus.sentences("character") == [[*"我们是"], [*"学生们"], [*"末尾无换行"]]
    assert corpus.sentences("label") == [[*"BES"], [*"BES"], [*"BESBE"]]
    path.write_bytes(b"")
    assert read_segmented(path).lines == []


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        ("我 们\n  \n".encode(), 2, "a line of whitespace only; delete it, or skip such lines with lenient=True"),
        (b"a b\n\nc \xff d\n", 3, "not valid UTF-8"),
    ],
)
def test_lines_that_cannot_be_read(content: bytes, line: int, why: str, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=f"words.txt:{line}: {why}"):
        trellis.Segmenter.train(path)
    text = read_segmented(path, lenient=True)
    assert (len(text), [error.line for error in text.skipped]) == (1, [line])


@pytest.mark.parametrize("line", [["a b"], [""], [3], 3, "\udc80", ["\udc80"], b"\xff"])
def test_lists_that_are_no_words(line: object) -> None:
    with pytest.raises(CorpusError):
        read_segmented([["a"], line])  # type: ignore[list-item]


def test_arguments(segmenter: trellis.Segmenter, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="a file or a list of lines"):
        read_segmented(3)  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="no such file"):
        trellis.Segmenter.train(tmp_path / "nowhere.txt")
    with pytest.raises(CorpusError, match="no sentences"):
        trellis.Segmenter.train([])
    least = trellis.Segmenter.train(LINES, features=trellis.Features(min_count=2))
    usual = trellis.Segmenter.train(LINES, features=trellis.Features("segmentation", min_count=2))
    assert least.tagger.model.vocabulary.templates == usual.tagger.model.vocabulary.templates
    with pytest.raises(ArgumentError, match="unknown option 'labels'"):
        trellis.Segmenter.train(LINES, labels=trellis.Labels(scheme="iob2"))
    with pytest.raises(ArgumentError, match="a text must be a string, not"):
        segmenter.segment(b"abc")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a list of strings"):
        segmenter.segment_batch("abc")
    with pytest.raises(CorpusError, match="surrogate"):
        segmenter.segment("\udc80")
    with pytest.raises(ModelError, match="not a word segmentation model; train one with Segmenter"):
        trellis.Segmenter(trellis.train({"word": [["a"]], "pos": [["N"]]}, target="pos"))


# ---------------------------------------------------------------------------- models


def test_one_file(segmenter: trellis.Segmenter, tmp_path: Path) -> None:
    segmenter.save(tmp_path / "words.trellis")
    copy = trellis.Segmenter.load(tmp_path / "words.trellis")
    wide = {word for line in LINES for word in line.split()}
    assert copy.known_words == wide - {"２０２６年", "，"} | {"2026年", ","}
    text = "他们读书，２０２７年的学生"
    assert copy.segment_text(text) == segmenter.segment_text(text)
    assert "他们" in copy.segment(text)


@pytest.mark.parametrize(
    "more", [{"segments": trellis.Segments(5)}, {"learner": trellis.CRF()}, {"order": 2}, {"dev": LINES}], ids=str
)
def test_other_models(more: dict[str, object]) -> None:
    found = trellis.Segmenter.train(LINES, **more)
    assert found.segment("我们是学生") == ["我们", "是", "学生"]
    assert found.segment_text("") == ""


def test_words_of_one_kind() -> None:
    single = trellis.Segmenter.train(["a b c", "b a"])
    assert single.segment("cab") == ["c", "a", "b"]
    pairs = trellis.Segmenter.train([["ab", "cd"]] * 3 + [["x"]])
    assert pairs.segment("abcd") == ["ab", "cd"]
    assert "".join(pairs.segment("abc")) == "abc"
    with pytest.raises(CorpusError, match="no word of one character"):
        trellis.Segmenter.train([["ab", "cd"]])


# ---------------------------------------------------------------------------- scores


def test_scores_counted_by_hand() -> None:
    found = compare_words([["ab", "c", "Ｄ"], ["e"]], [["a", "bc", "Ｄ"], ["e"]], {"ab", "D"})
    assert (found.micro.gold, found.micro.predicted, found.micro.correct) == (4, 4, 2)
    assert (found.known, found.unknown) == ((0.5, 2), (0.5, 2))
    assert found.f1 == 0.5
    assert found.to_dict()["rows"]["unknown words"] == {"recall": 0.5, "support": 2}
    assert (found.n_sentences, found.n_words) == (2, 4)
    empty = compare_words([], [], set())
    assert empty.known == empty.unknown == (0, 0)
    assert str(empty) == "no words to evaluate"


def test_other_texts_cannot_be_compared() -> None:
    with pytest.raises(CorpusError, match="1 lines, 0 predicted"):
        compare_words([["a"]], [], set())
    with pytest.raises(CorpusError, match="the text differs from that of the gold words; compare the same text"):
        compare_words([["a"]], [["b"]], set())


def test_evaluate(segmenter: trellis.Segmenter) -> None:
    assert segmenter.evaluate(LINES).f1 == 1
    scores = segmenter.evaluate([["我", "们"], ["学生"]])
    assert scores.n_words == 3
    assert scores.unknown.support == 0
    plain = trellis.Segmenter.train(LINES, features=["character[0]", "character[1]"])
    assert plain.evaluate(LINES).known == (0, 0)


# ---------------------------------------------------------------------------- commands


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("\n".join(LINES))
    (tmp_path / "text.txt").write_bytes("我们是学生\r\n\n \u3000\n他的书".encode())
    return tmp_path


def test_commands(words: Path, call: Callable[..., Done]) -> None:
    done = call("train --task words words.txt --dev words.txt --epochs 5 --model m --json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["known words"] == 13
    assert "18 lines" in done.err
    assert "% of characters" in done.err
    assert "% of characters" in call("info -m m").out
    done = call("predict --model m text.txt --output out.txt")
    assert (done.code, done.out) == (0, "")
    assert (words / "out.txt").read_bytes() == "我们 是 学生\r\n\n \u3000\n他 的 书".encode()
    done = call("evaluate --model m words.txt --json")
    assert json.loads(done.out)["micro_avg"]["f1"] == 1
    done = call("evaluate --model m words.txt")
    assert "micro avg     100.00  100.00  100.00       63" in done.out
    (words / "empty").write_bytes(b"")
    assert call("predict --model m empty -o out.txt").code == 0
    assert (words / "out.txt").read_bytes() == b""


def test_bad_lines_of_commands(words: Path, call: Callable[..., Done]) -> None:
    bad = words / "bad.txt"
    bad.write_bytes("我们 是 学生\n".encode() * 3 + b"\xff\n \n" + "他的".encode() + b"\xfe\n")
    done = call("train --task words bad.txt --model m")
    why = "not valid UTF-8; convert the file, for example with iconv -t UTF-8"
    assert (done.code, done.err) == (2, f"trellis: bad.txt:4: {why}\n")
    assert not (words / "m").exists()
    done = call("train --task words bad.txt --model m --lenient")
    assert done.code == 0
    assert "skipped 3 with errors; the first: bad.txt:4: not valid UTF-8" in done.err
    assert "\n3 lines, 9 words from bad.txt\n" in done.err
    done = call("predict --model m bad.txt -o out.txt")
    assert done.code == 2
    assert "bad.txt:4: not valid UTF-8" in done.err
    assert not (words / "out.txt").exists()
    done = call("predict --model m bad.txt -o out.txt --lenient")
    assert done.code == 0
    assert "2 lines with invalid UTF-8" in done.err
    assert (words / "out.txt").read_bytes().replace(b" ", b"") == bad.read_bytes().replace(b" ", b"")
    done = call("evaluate --model m bad.txt")
    assert done.code == 2
    done = call("evaluate --model m bad.txt --lenient --json")
    assert "skipped 3 with errors" in done.err
    done = call("predict --model m bad.txt -o bad.txt")
    assert (done.code, "would overwrite" in done.err) == (2, True)


def test_terms_of_an_explanation_are_at_the_characters_of_the_text() -> None:
    segmenter = trellis.Segmenter.train([["a", "bc"], ["bc", "d"]], features=["character[0]"])
    text = "\ufeffab c\uff42\u3000d"
    found = segmenter.explain(text)
    assert found.output == segmenter.segment(text)
    at = {term.where[0]: term.feature for term in found.terms if term.feature.startswith("character")}
    assert at == {i: f"character[0]={letter}" for i, letter in ((1, "a"), (2, "b"), (4, "c"), (5, "b"), (7, "d"))}


def test_epochs_are_compared_by_words() -> None:
    dev = LINES[:3]
    trained = trellis.Segmenter.train(LINES[3:], dev=dev, metric="f1")
    assert trained.training["dev_score"] == trained.evaluate(dev).f1
    assert trained.training["metric"] == trained.training["options"]["metric"] == "f1"
    usual = trellis.Segmenter.train(LINES[3:], dev=dev).training
    assert (usual["dev_score"], usual["history"]) == (trained.training["dev_score"], trained.training["history"])
    with pytest.raises(LearnerError, match="metric must be 'auto' or 'f1', not 'token'"):
        trellis.Segmenter.train(LINES, dev=dev, metric="token")


def test_a_corpus_or_a_table_of_words() -> None:
    lines = [["a", "bc"], ["bc", "d"], ["ab", "c"], ["d"]]
    segmenter, corpus = trellis.Segmenter.train(lines), trellis.read({"word": lines})
    pandas = pytest.importorskip("pandas")
    for data in (corpus, pandas.DataFrame({"word": lines})):
        assert trellis.Segmenter.train(data) == segmenter
        scored = trellis.Segmenter.train(lines, dev=data)
        assert scored.training["dev_score"] == scored.evaluate(lines).headline
        assert segmenter.evaluate(data).to_dict() == segmenter.evaluate(lines).to_dict()
    with pytest.raises(trellis.CorpusError, match="no column 'word'"):
        trellis.Segmenter.train(trellis.read({"character": lines}))


def test_the_score_on_dev_is_that_of_words_where_all_have_one_character() -> None:
    dev = [["a", "d"], ["d"]]
    for metric in ("auto", "f1"):
        segmenter = trellis.Segmenter.train([["a", "bc"], ["bc", "d"], ["d"]], dev=dev, metric=metric)
        assert segmenter.training["dev_score"] == segmenter.evaluate(dev).headline
        assert segmenter.training["metric"] == metric
