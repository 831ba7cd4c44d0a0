"""Labels with parts: two columns as one, figures per part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trellis
from trellis.errors import ArgumentError, CorpusError, LearnerError

WORDS = {
    "the": ("DET", "Definite=Def"),
    "dog": ("NOUN", "Number=Sing"),
    "dogs": ("NOUN", "Number=Plur"),
    "!": ("PUNCT", "_"),
}
SENTENCES = (("the", "dog", "!"), ("the", "dogs"), ("dogs", "!"))


def conllu(words: dict[str, tuple[str, str]] = WORDS) -> str:
    """Sentences with comments, a range, and a note on every word."""
    out = list[str]()
    for i, sentence in enumerate(SENTENCES):
        out.append(f"# sent_id = {i}\n1-2\tboth" + "\t_" * 8)
        for k, word in enumerate(sentence, 1):
            upos, feats = words[word]
            out.append(f"{k}\t{word}\t{word}\t{upos}\tX\t{feats}\t0\troot\t_\tNote={k}")
        out.append("")
    return "\n".join(out) + "\n"


UNLABELLED = conllu(dict.fromkeys(WORDS, ("_", "_")))
LABELS = [["DET|Definite=Def", "NOUN|Number=Sing", "PUNCT"], ["DET|Definite=Def", "NOUN|Number=Plur"]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "gold.conllu").write_text(conllu())
    return tmp_path / "gold.conllu"


# ---- two columns as one


def test_two_columns_are_one_target(file: Path) -> None:
    corpus = trellis.read(file)
    assert corpus.sentences("upos+feats")[:2] == LABELS
    tagger = trellis.train(corpus, target="upos+feats")
    assert sorted(tagger.labels) == ["DET|Definite=Def", "NOUN|Number=Plur", "NOUN|Number=Sing", "PUNCT"]
    # Neither of the two is looked at.
    assert not {"upos", "feats"} & set(tagger.columns)
    assert tagger.tag_corpus(corpus).tolist() == corpus.column("upos+feats").tolist()


def test_writing_brings_both_columns_back(file: Path, tmp_path: Path) -> None:
    tagger = trellis.train(file, target="upos+feats")
    (tmp_path / "bare.conllu").write_text(UNLABELLED)
    bare = trellis.read(tmp_path / "bare.conllu")
    trellis.write(bare.with_column("upos+feats", tagger.tag_corpus(bare)), tmp_path / "tagged.conllu")
    assert (tmp_path / "tagged.conllu").read_text() == conllu()


@pytest.mark.parametrize("target", ["xpos+feats", "upos+xpos", "lemma+upos", "upos+misc"])
def test_any_two_columns(file: Path, target: str) -> None:
    corpus = trellis.read(file)
    joined = corpus.column(target)
    assert list(corpus.with_column(target, joined)) == list(corpus)


def test_a_column_of_that_very_name_comes_first() -> None:
    corpus = trellis.read({"word": [["a"]], "x": [["1"]], "word+x": [["own"]]})
    assert corpus.sentences("word+x") == [["own"]]
    changed = corpus.with_column("word+x", corpus.column("x"))
    assert changed[0] == {"word": ["a"], "x": ["1"], "word+x": ["1"]}


def test_the_first_column_must_not_have_the_separator() -> None:
    corpus = trellis.read({"form": [["a"]], "feats": [["A=1|B=2"]], "upos": [["X"]]})
    with pytest.raises(CorpusError, match=r"column 'feats' has the value 'A=1\|B=2'; only the second column"):
        corpus.column("feats+upos")
    with pytest.raises(CorpusError, match="no column 'xpos'"):
        corpus.column("xpos+feats")


def test_a_missing_first_part_is_no_label(tmp_path: Path) -> None:
    (tmp_path / "bare.conllu").write_text(UNLABELLED)
    with pytest.raises(CorpusError, match=r"bare.conllu:3: no label in column 'upos\+feats'"):
        trellis.train(tmp_path / "bare.conllu", target="upos+feats")
    with pytest.raises(LearnerError, match="partial labels"):
        trellis.train(tmp_path / "bare.conllu", target="upos+feats", partial=True)


def test_the_command_line_fills_both_columns(file: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    (file.parent / "bare.conllu").write_text(UNLABELLED)
    assert call("train gold.conllu --target upos+feats --model m -q").code == 0
    assert call("tag --model m bare.conllu -o tagged.conllu -q").code == 0
    assert (file.parent / "tagged.conllu").read_text() == conllu()
    assert call("tag --model m bare.conllu -o tagged.tsv --kbest 2 -q").code == 0
    first = (file.parent / "tagged.tsv").read_text().splitlines()[0].split("\t")
    assert (first[3], first[5]) == ("DET", "Definite=Def")
    assert len(first) == 12  # and both columns of the second path


# ---- figures


def test_figures_of_parts_by_hand() -> None:
    gold = [["N|Case=Nom|Number=Sing", "V|Number=Sing"], ["X", "N|Case=Acc"]]
    predicted = [["N|Case=Acc|Number=Sing", "N|Number=Sing"], ["X|Case=Acc", "N|Case=Acc"]]
    report = trellis.evaluate(gold, predicted, label_parts="|")
    assert report.to_dict()["parts"] == {
        "accuracy": {"first part": 3 / 4, "other parts": 2 / 4},
        "features": {
            "Case": {"precision": 1 / 3, "recall": 0.5, "f1": 0.4, "gold": 2, "predicted": 3, "correct": 1},
            "Number": {"precision": 1.0, "recall": 1.0, "f1": 1.0, "gold": 2, "predicted": 2, "correct": 2},
        },
    }
    assert str(report).splitlines() == [
        "sentences 2, 0.00% without a mistake",
        "tokens    4, 25.00% right",
        "  first part   75.00% right",
        "  other parts  50.00% right",
        "",
        "        precision  recall      F1    gold   found   right",
        "Case        33.33   50.00   40.00       2       3       1",
        "Number     100.00  100.00  100.00       2       2       2",
    ]
    assert trellis.evaluate(gold, predicted).parts is None
    with pytest.raises(ArgumentError, match="label_parts must be what separates"):
        trellis.evaluate(gold, predicted, label_parts="")


def test_figures_of_two_columns_have_their_names(file: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    tagger = trellis.train(file, target="upos+feats")
    report = tagger.evaluate(file)
    assert report.parts is not None
    assert report.parts.accuracy == {"upos": 1.0, "feats": 1.0}
    assert [*report.parts.features] == ["Definite", "Number"]
    tagger.save("m")
    done = call("evaluate --model m gold.conllu --json")
    assert json.loads(done.out)["parts"] == report.to_dict()["parts"]
    # Two columns of a file, with and without a separator of their own.
    assert "upos   100.00% right" in call("evaluate gold.conllu --gold upos+feats --predicted upos+feats").out
    done = call("evaluate gold.conllu --gold feats --predicted feats --label-parts |")
    assert "first part" in done.out
    assert "Number" not in done.out
