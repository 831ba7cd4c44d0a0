"""Models of CRF++ and Wapiti, held against what these tools answered (tests/files/other_tools/README.md)."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import trellis
from trellis._support.errors import ModelError
from trellis.interfaces.compat.pattern_models import _parts, _values

FILES = Path(__file__).parent / "files" / "other_tools"


def sentences() -> list[list[tuple[str, str]]]:
    blocks = (FILES / "test.txt").read_text().strip().split("\n\n")
    return [[(w, p) for w, p, _ in map(str.split, block.splitlines())] for block in blocks]


def answers(name: str) -> list[list[list[str]]]:
    """The fields of each token, without lines about sentences."""
    blocks = (FILES / name).read_text().strip().split("\n\n")
    return [[line.split() for line in block.splitlines() if not line.startswith("# ")] for block in blocks]


@pytest.mark.parametrize("name", ["crfpp.model", "crfpp.model.text"])
def test_crfpp_gives_the_same_labels_and_probabilities(name: str) -> None:
    tagger = trellis.load(FILES / name)
    assert tagger.columns == ("word", "pos")
    for sentence, theirs in zip(sentences(), answers("crfpp.output"), strict=True):
        assert tagger.tag(sentence) == [fields[3].rpartition("/")[0] for fields in theirs]
        posterior = tagger.marginals(sentence)
        for token, fields in zip(posterior, theirs, strict=True):
            for field in fields[4:]:
                label, _, probability = field.rpartition("/")
                assert token[label] == pytest.approx(float(probability), abs=2e-6)  # six digits are printed


def test_wapiti_gives_the_same_labels_and_probabilities() -> None:
    tagger = trellis.load(FILES / "wapiti.model")
    both = zip(sentences(), answers("wapiti.output"), answers("wapiti.probabilities"), strict=True)
    for sentence, theirs, scored in both:
        assert tagger.tag(sentence) == [fields[3] for fields in theirs]
        for token, fields in zip(tagger.marginals(sentence), scored, strict=True):
            label, _, probability = fields[-1].rpartition("/")
            assert token[label] == pytest.approx(float(probability), abs=2e-6)


def test_a_maximum_entropy_model_of_wapiti_is_normalised_label_by_label() -> None:
    tagger = trellis.load(FILES / "wapiti.memm")
    assert tagger.model.family == "local"
    for sentence, theirs in zip(sentences(), answers("wapiti.memm.output"), strict=True):
        assert tagger.tag(sentence) == [fields[3] for fields in theirs]


@pytest.mark.parametrize("name", ["crfpp.model", "crfpp.model.text", "wapiti.model"])
def test_they_are_ordinary_taggers(name: str, tmp_path: Path) -> None:
    tagger = trellis.load(FILES / name)
    tagger.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    assert again.tag_batch(sentences()) == tagger.tag_batch(sentences())
    assert trellis.Tagger.from_bytes((FILES / name).read_bytes()).tag_batch(sentences()) == again.tag_batch(sentences())
    assert tagger.top_features(5)
    assert tagger.explain(sentences()[0])
    assert tagger.tag([("new/word", "XX")]) == again.tag([("new/word", "XX")])


def test_an_observation_is_cut_in_all_ways() -> None:
    parts = _parts("U05:%x[-1,0]/%x[0,0]")
    assert list(_values(parts, "U05:a/b/c")) == [("a", "b/c"), ("a/b", "c")]
    assert list(_values(parts, "U05:a")) == []
    assert list(_values(parts, "U06:a/b")) == []
    assert list(_values(_parts("U13"), "U13")) == [()]
    assert list(_values(_parts("U13"), "U13U13")) == []
    assert list(_values(_parts("U1:%x[0,0]!"), "U1:x!!")) == [("x!",)]


def test_patterns_that_are_not_read_are_said(tmp_path: Path) -> None:
    pattern = "u:w=%x[@1,0]"
    text = (FILES / "wapiti.model").read_text().replace("11:u:w=%x[0,0],", f"{len(pattern)}:{pattern},")
    (tmp_path / "m").write_text(text)
    with pytest.raises(ModelError, match=r"m: .*an unsupported pattern: .*@1"):
        trellis.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["crfpp.model", "crfpp.model.text", "wapiti.model"])
def test_damaged_files_are_errors(name: str, tmp_path: Path) -> None:
    data, rng = (FILES / name).read_bytes(), random.Random(3)
    path = tmp_path / "bad"
    for cut in (70, len(data) // 3, len(data) // 2, len(data) - 9):
        path.write_bytes(data[:cut])
        with pytest.raises(ModelError, match=re.escape(str(path))):
            trellis.load(path)
    refusals = 0
    for _ in range(300):
        bad = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            bad[rng.randrange(8, len(bad))] ^= 1 << rng.randrange(8)
        try:
            trellis.Tagger.from_bytes(bytes(bad)).tag([("dog", "NN")])
        except (ModelError, trellis.ArgumentError, trellis.CorpusError):
            refusals += 1
    assert refusals > 10


def text_model(
    *, columns: str = "1", labels: str = "A\nB", template: str = "U0:%x[0,0]", feature: str = "0 U0:a"
) -> bytes:
    weights = "\n".join(["0.5"] * 4)
    head = f"version: 100\ncost-factor: 1\nmaxid: 4\nxsize: {columns}"
    return f"{head}\n\n{labels}\n\n{template}\n\n{feature}\n\n{weights}\n\n".encode()


def test_the_smallest_text_model() -> None:
    assert trellis.Tagger.from_bytes(text_model()).tag(["a"]) == ["A"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"columns": "300000000"}, "columns"),
        ({"columns": "0"}, "columns"),
        ({"template": "U0:" + "%x[0,0]" * 8, "feature": "0 U0:" + "a" * 30}, "too many ways"),
        ({"feature": "99999999999999999999 U0:a"}, "damaged"),
        ({"feature": "-2 U0:a"}, "damaged"),
        pytest.param({"feature": "x" * 5000 + " U0:a"}, "damaged: .{200}[.]{3}; copy it again$", id="long"),
        ({"feature": "3 U0:a"}, "damaged"),
        ({"feature": "0 U0:a\n1 U0:b"}, "a feature has no weights"),
        ({"labels": ""}, "no labels"),
        ({"labels": "A\nA"}, "the model has no labels, an empty label or a duplicate label"),
        ({"labels": "\n".join(f"L{i}" for i in range(9000))}, "9,000 labels"),
    ],
)
def test_hostile_files_are_rejected_at_once(given: dict[str, str], why: str) -> None:
    with pytest.raises(ModelError, match=why):
        trellis.Tagger.from_bytes(text_model(**given))


def test_another_encoding_is_named() -> None:
    with pytest.raises(ModelError, match="not UTF-8; convert its text model"):
        trellis.Tagger.from_bytes(text_model(feature="0 U0:é").decode().encode("latin-1"))


def test_a_weight_of_wapiti_that_is_no_number() -> None:
    text = (FILES / "wapiti.model").read_text()
    bad = re.sub(r"\n(\d+)=0x[^\n]*\n$", r"\n\1=0x1p5000\n", text)
    assert bad != text
    with pytest.raises(ModelError, match="damaged"):
        trellis.Tagger.from_bytes(bad.encode())


def test_a_pattern_file_of_wapiti_is_a_file_of_templates() -> None:
    """Trained with it, the same attributes come out as the imported model has, with those that have no weight."""
    blocks = (FILES / "train.txt").read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    columns = {name: [[row[i] for row in one] for one in rows] for i, name in enumerate(("word", "pos", "label"))}
    tagger = trellis.train(
        columns,
        target="label",
        features=trellis.Features(FILES / "wapiti.pattern", pairs="all"),
        learner=trellis.CRF(),
    )
    imported = trellis.load(FILES / "wapiti.model")
    names = [str(template) for template in imported.model.vocabulary.templates]
    assert [str(template) for template in tagger.model.vocabulary.templates] == names
    assert len(names) == 6  # four of labels, and one of labels and of pairs
    assert tagger.order == 1
    assert tagger.tag_batch(sentences()) == imported.tag_batch(sentences())


def test_templates_of_ours_are_not_taken_for_wapitis(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("bias\nupos[0]\n")
    data = {"upos": [["D", "N"]] * 3, "label": [["A", "B"]] * 3}
    tagger = trellis.train(data, target="label", features=tmp_path / "own")
    assert [str(template) for template in tagger.model.vocabulary.templates] == ["bias", "upos[0]"]


@pytest.mark.parametrize("option", ["--all-labels", "--confidence"])
def test_the_layout_of_crf_test(call: Any, option: str) -> None:
    """Byte for byte, but for the last digit of probabilities; -v1 is -v2 without the columns of all labels."""
    done = call(f"predict -m {FILES / 'crfpp.model'} {FILES / 'test.txt'} --crf-test {option} --quiet")
    theirs = (FILES / "crfpp.output").read_text().splitlines()
    if option == "--confidence":
        theirs = ["\t".join(line.split("\t")[:4]) for line in theirs]
    number = re.compile(r"\d\.\d{6}")
    assert [number.sub("#", line) for line in done.out.splitlines()] == [number.sub("#", line) for line in theirs]
    ours, expected = (list(map(float, number.findall("\n".join(lines)))) for lines in (done.out.splitlines(), theirs))
    assert ours == pytest.approx(expected, abs=2.1e-6)


def test_regular_expressions_of_wapiti() -> None:
    """%t, %m and capitals, also where a match cuts a character in two or stands outside the sentence."""
    tagger = trellis.load(FILES / "regex.model")
    blocks = (FILES / "regex.output").read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines() if not line.startswith("# ")] for block in blocks]
    again = trellis.Tagger.from_bytes(tagger.to_bytes())
    for sentence in rows:
        words = [(word, tag) for word, tag, *_ in sentence]
        assert tagger.tag(words) == again.tag(words) == [fields[3] for fields in sentence]
        for token, fields in zip(tagger.marginals(words), sentence, strict=True):
            label, _, probability = fields[4].rpartition("/")
            assert token[label] == pytest.approx(float(probability), abs=2e-6)


def test_training_with_such_patterns(here: Path, call: Any) -> None:
    done = call(f"train {FILES / 'regex.train'} --features {FILES / 'regex.pattern'} --learner crf --model m --quiet")
    assert done.code == 0
    tagger = trellis.load("m")
    names = {weight.feature for weight in tagger.top_features(1000)}
    assert 'match(word[0], "^.?.?")=An' in names
    assert 'matches(word[1], "^\\l")=true & pos[0]=N' in names
    assert tagger.evaluate(FILES / "regex.train").token_accuracy == 1


@pytest.mark.parametrize("name", ["crfpp.model", "wapiti.model", "wapiti.memm", "regex.model"])
def test_what_other_commands_say_of_such_a_model(call: Any, name: str) -> None:
    model = FILES / name
    assert "reads         word pos" in call(f"info -m {model}").out
    assert call(f"dump -m {model} --top 3").out.count("\n") == 4
    assert call(f"explain -m {model} the/DT dog/NN").code == 0
    assert "Tagger" in trellis.load(model)._repr_html_()
