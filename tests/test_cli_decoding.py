"""The command line's ways of decoding: --decode, --scheme, --confidence, calibrate, explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import COLUMNS, refused

import trellis
from trellis.corpus import schemes

# Labels that do not follow from the words, and illegal ones among those that a model may find.
NOISY = "".join(
    f"{w} {z}\n" + ("\n" if i % 3 == 2 else "")
    for i, (w, z) in enumerate(
        zip("abcabdacdbcadbcabbcd" * 6, (["B-X", "I-X", "O"] * 2 + ["O", "O", "B-X"]) * 20, strict=False)
    )
)


@pytest.fixture
def noisy(here: Path, call) -> Path:
    (here / "noisy.txt").write_text(NOISY)
    line = "train noisy.txt --columns word,label --epochs 4 --model noisy.trellis --quiet"
    assert call(line).code == 0
    return here / "noisy.trellis"


def test_by_label(noisy: Path, call) -> None:
    tagger, corpus = trellis.load(noisy), trellis.read("noisy.txt", columns="word,label")
    for decode in ("viterbi", "posterior"):
        done = call(f"predict --model noisy.trellis noisy.txt --decode {decode} --quiet")
        assert done.code == 0
        found = [line.split()[-1] for line in done.out.splitlines() if line]
        assert found == tagger.tag_column(corpus, decode=decode).tolist()
        done = call(f"predict --model noisy.trellis noisy.txt --decode {decode} --json --quiet")
        assert [json.loads(line)["labels"] for line in done.out.splitlines()] == tagger.tag_batch(corpus, decode=decode)
        done = call(f"evaluate --model noisy.trellis noisy.txt --decode {decode} --json")
        assert json.loads(done.out) == tagger.evaluate(corpus, decode=decode).to_dict()
    for command in ("predict", "evaluate"):
        done = call(f"{command} --model noisy.trellis noisy.txt --decode best")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "--decode" in done.err


def test_scheme(noisy: Path, call) -> None:
    (Path("open.txt")).write_text("c\nb\n\nb\nc\nc\n\nd\nb\n")
    done = call("predict --model noisy.trellis open.txt --scheme iob2 --json --quiet")
    for line in done.out.splitlines():
        assert schemes.check(json.loads(line)["labels"], "iob2") is None
    assert call("evaluate --model noisy.trellis noisy.txt --scheme iob2").code == 0
    done = call("predict --model noisy.trellis open.txt --scheme iobes")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no valid iobes sequence of these labels; they look like iob2" in done.err
    done = call("predict --model noisy.trellis open.txt --scheme nonsense")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no scheme 'nonsense'" in done.err


def test_training_with_a_scheme(here: Path, call) -> None:
    line = "train train.txt --columns word,pos,chunk --target chunk --model kept.trellis --quiet"
    assert call(f"{line} --scheme iob2").code == 0
    assert trellis.load("kept.trellis").training["scheme"] == "iob2"
    Path("bad.txt").write_text("a O\nb I-X\n\nc B-X\n")
    done = call("train bad.txt --columns word,label --scheme iob2 --model bad.trellis --quiet")
    assert done.code == 2
    assert done.err.startswith("trellis: bad.txt:2: 'I-X' cannot follow 'O' in iob2")
    assert not Path("bad.trellis").exists()


def test_confidence(noisy: Path, call) -> None:
    done = call("predict --model noisy.trellis noisy.txt --json --confidence --quiet")
    tagger = trellis.load(noisy)
    for line, words in zip(
        done.out.splitlines(), trellis.read("noisy.txt", columns="word,label").sentences("word"), strict=True
    ):
        record = json.loads(line)
        node = tagger.marginals(words)
        assert record["labels"] == tagger.tag(words)
        assert record["confidence"] == pytest.approx([node[t][z] for t, z in enumerate(record["labels"])])
        expected = [{**span._asdict(), "confidence": p} for span, p in tagger.tag_spans(words)]
        assert record["spans"] == expected
    columns = [
        line.split() for line in call("predict --model noisy.trellis noisy.txt --confidence").out.splitlines() if line
    ]
    labels, sure = zip(*(row[-2:] for row in columns), strict=True)
    records = [json.loads(line) for line in done.out.splitlines()]
    assert list(labels) == [label for record in records for label in record["labels"]]
    assert [float(p) for p in sure] == pytest.approx([p for record in records for p in record["confidence"]], abs=1e-6)
    assert call("predict --model noisy.trellis noisy.txt --json --kbest 2 --confidence").code == 2


def test_calibrate(noisy: Path, call) -> None:
    done = call("calibrate --model noisy.trellis noisy.txt --output calibrated.trellis")
    assert done.code == 0
    assert done.out.count("ECE ") == 4
    assert "Calibration (spans), confidence" in done.out
    fitted = trellis.load("calibrated.trellis")
    corpus = trellis.read("noisy.txt", columns="word,label")
    assert fitted.temperature == trellis.load(noisy).calibrated(corpus).temperature != 1.0
    done = call("calibrate -m noisy.trellis noisy.txt -o again.trellis --json")
    figures = json.loads(done.out)
    assert figures["temperature"] == trellis.load("again.trellis").temperature == figures["after"]["temperature"]
    assert figures["before"]["temperature"] == 1.0
    assert call("calibrate -m noisy.trellis noisy.txt -o x.trellis --loss paths").code == 2
    assert not Path("x.trellis").exists()
    done = call("evaluate --model calibrated.trellis noisy.txt --calibration")
    assert done.out.count("ECE ") == 2
    done = call("evaluate --model calibrated.trellis noisy.txt --calibration --json")
    assert json.loads(done.out)["calibration"] == fitted.reliability(corpus).to_dict()
    assert call("evaluate noisy.txt --calibration").code == 2


def test_calibrate_in_place(noisy: Path, call) -> None:
    """As sort -o: the model is read whole, and replaced only once the new one is written."""
    assert call("calibrate -m noisy.trellis noisy.txt -o fitted.trellis").code == 0
    assert call("calibrate -m noisy.trellis noisy.txt -o noisy.trellis").code == 0
    assert Path("noisy.trellis").read_bytes() == Path("fitted.trellis").read_bytes()


def test_explain_with_options_between(noisy: Path, call) -> None:
    assert (
        call("explain -m noisy.trellis --labels 1 a b").out == call("explain -m noisy.trellis a b --labels 1").out != ""
    )


def test_explain_of_bytes_that_are_not_utf_8(noisy: Path, call) -> None:
    refused(call("explain -m noisy.trellis a\udcff"), r"token 0, 'a\udcff', holds a lone surrogate or bytes that are")


def test_explain(noisy: Path, chunk: Path, call) -> None:
    done = call("explain -m noisy.trellis a b")
    tagger = trellis.load(noisy)
    assert done.out == f"{tagger.explain(['a', 'b'])}\n"
    done = call("explain -m noisy.trellis a b --json")
    assert json.loads(done.out) == json.loads(json.dumps(tagger.explain(["a", "b"]).to_dict()))
    done = call("explain -m noisy.trellis --json", "a\nb\n\nc\n")
    assert [len(json.loads(line)["tokens"]) for line in done.out.splitlines()] == [2, 1]
    done = call("explain -m noisy.trellis a --scheme iob2 --labels 1 --top 1")
    assert "score difference to path 2" in done.out
    # A model that reads two columns.
    done = call("explain -m chunk.trellis the/DT dog/NN")
    assert "dog NN   I-NP" in done.out
    assert "pos[2]=_B+1" in done.out
    done = call("explain -m chunk.trellis the dog")
    refused(done, "'the': the model reads word/pos", "standard input")
    done = call("explain -m chunk.trellis", COLUMNS)
    assert done.out.count("score difference to path 2") == 12


def test_models_of_attributes(here: Path, call) -> None:
    lines = ['{"attributes": [["w:the", "first"], ["w:dog"]], "label": ["D", "N"]}'] * 3
    Path("bags.jsonl").write_text("".join(f"{line}\n" for line in lines))
    line = "train bags.jsonl --features attributes --target label --model bags.trellis --quiet"
    assert call(line).code == 0
    given = '{"attributes": [["w:the", "first"], ["w:dog"], ["w:dog"]]}\n'
    assert json.loads(call("predict -m bags.trellis", given).out)["label"] == ["D", "N", "N"]
    found = json.loads(call("predict -m bags.trellis --json --kbest 2", given).out)["kbest"]
    tagger = trellis.load("bags.trellis")
    assert [(one["labels"], one["score"]) for one in found] == tagger.kbest(json.loads(given), 2)
    explained = json.loads(call("explain -m bags.trellis --json", given).out)
    assert explained == json.loads(json.dumps(tagger.explain(json.loads(given)).to_dict()))
    assert "JSON lines with --format jsonl" in call("explain -m bags.trellis the").err
