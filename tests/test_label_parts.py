"""Labels with parts: two columns as one, weights on parts, figures per part.

Learners with parts are compared with their twins in test_online, test_frank_wolfe and test_objective.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equal_models import learnt
from samples import PART_KINDS

import trellis
from trellis._support.errors import ArgumentError, CorpusError, LearnerError
from trellis.corpus.label_parts import LabelParts

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
    assert tagger.tag_column(corpus).tolist() == corpus.column("upos+feats").tolist()


def test_writing_brings_both_columns_back(file: Path, tmp_path: Path) -> None:
    tagger = trellis.train(file, target="upos+feats")
    (tmp_path / "bare.conllu").write_text(UNLABELLED)
    bare = trellis.read(tmp_path / "bare.conllu")
    trellis.write(bare.with_column("upos+feats", tagger.tag_column(bare)), tmp_path / "tagged.conllu")
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
        trellis.train(tmp_path / "bare.conllu", target="upos+feats", labels=trellis.Labels(partial=True))


def test_the_command_line_fills_both_columns(file: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    (file.parent / "bare.conllu").write_text(UNLABELLED)
    assert call("train gold.conllu --target upos+feats --model m -q").code == 0
    assert call("predict --model m bare.conllu -o tagged.conllu -q").code == 0
    assert (file.parent / "tagged.conllu").read_text() == conllu()


# ---- weights


def test_parts_that_labels_share() -> None:
    labels = ["N|Case=Nom|Number=Sing", "N|Case=Acc|Number=Sing", "V|Number=Sing", "X", "N|Case=Nom|Case=Nom"]
    parts = LabelParts.of(labels, "|")
    assert parts is not None
    assert parts.names == ("N", "Case=Nom", "Number=Sing")  # the others are of one label alone
    assert [parts.of_label(z) for z in range(5)] == [[5, 6, 7], [5, 7], [7], [], [5, 6]]
    assert parts.n_columns == 8
    index, columns = parts.with_parts(np.array([3, 1, 2], np.int32))
    assert sorted(zip(index.tolist(), columns.tolist(), strict=True)) == [
        (0, 3),
        (1, 1),
        (1, 5),
        (1, 7),
        (2, 2),
        (2, 7),
    ]
    assert LabelParts.of(["A|x", "B|y"], "|") is None


@pytest.mark.parametrize("name", PART_KINDS)
def test_scores_are_sums_over_labels_and_parts(name: str) -> None:
    """emit[t, z] = sum over attributes a of value(a) · (w[a, z] + sum over parts p of z of w[a, p])"""
    kind = PART_KINDS[name]
    tagger = kind.train(kind.corpus(2, 30), learner=trellis.Perceptron(epochs=3))
    weights, decoder = tagger.model.weights, tagger._decoder
    assert weights.parts is not None
    assert weights.rows.labels.max() >= len(tagger.labels)  # some part has a weight
    rows = np.zeros((weights.rows.n_attributes, weights.parts.n_columns))
    attribute = np.repeat(np.arange(len(rows)), np.diff(weights.rows.starts))
    rows[attribute, weights.rows.labels] = weights.rows.weights
    batch = decoder.encode(kind.corpus(3, 20))
    emit, *_ = decoder.native.potentials(batch, False, 1)
    starts, ids, values = decoder.attribute_lists(batch)
    for t, (begin, end) in enumerate(itertools.pairwise(starts.tolist())):
        here = ids[begin:end]
        row = (values[begin:end] if len(values) else np.ones(len(here))) @ rows[here]
        for z in range(len(tagger.labels)):
            assert emit[t, z] == pytest.approx(row[z] + row[weights.parts.of_label(z)].sum(), abs=1e-4)


ABLE = {
    "perceptron": trellis.Perceptron(epochs=5),
    "pa": trellis.PassiveAggressive(epochs=5),
    "mira": trellis.MIRA(epochs=5, k=2),
    "arow": trellis.AROW(epochs=5),
    "crf": trellis.CRF(epochs=20),
    "crf l1": trellis.CRF(c1=0.1, epochs=20),
    "adagrad": trellis.CRF(solver="adagrad", epochs=5),
    "exponential": trellis.ExponentialLoss(epochs=20),
    "maxent": trellis.MaxEnt(epochs=20),
    "frank-wolfe": trellis.HMSVM(solver="frank-wolfe", epochs=20),
}


@pytest.mark.parametrize("name", ABLE)
def test_a_rare_label_learns_from_its_parts(name: str) -> None:
    """No verb in -s was seen in the past, no noun in -x at all; suffix and prefix say what each part is."""
    words = {"ua": "N|n=1", "us": "N|n=2", "va": "V|n=1", "vs": "V|n=2", "wa": "W|n=1"}
    corpus = trellis.read({"word": [[word] for word in words] * 4, "label": [[label] for label in words.values()] * 4})
    more = {"word": [["ws"]], "label": [["W|n=2"]]}
    both = trellis.read({key: corpus.sentences(key) + more[key] for key in more})
    settings: Any = {"target": "label", "features": ["prefix(word[0], 1)", "suffix(word[0], 1)"], "order": 0}
    tagger = trellis.train(both, learner=ABLE[name], labels=trellis.Labels(parts="|"), **settings)
    assert tagger.tag(["ws"]) == ["W|n=2"]
    assert tagger.evaluate(both).part_accuracy
    # What parts say is the same for all labels that have them: W and n=2 are for W|n=2 what they are for others.
    parts = [term for term in tagger.explain(["ws"]).tokens[0].terms["W|n=2"] if term.label in ("W", "n=2")]
    assert sum(term.weight for term in parts) > 0


@pytest.mark.parametrize(
    "learner",
    [
        trellis.Perceptron(vote=True),
        trellis.HMM(),
        trellis.SequenceBoost(),
        trellis.HMSVM(),
        trellis.KernelPerceptron(),
        trellis.MaxEnt(solver="gis"),
    ],
    ids=repr,
)
def test_learners_without_parts_say_so(learner: trellis.Learner) -> None:
    with pytest.raises(
        LearnerError,
        match="does not support label parts; use an online learner without vote, CRF",
    ):
        PART_KINDS["parts"].train(learner=learner)


def test_what_has_no_effect_is_an_error() -> None:
    corpus = {"word": [["a", "b"]], "label": [["X|1", "Y|2"]]}
    with pytest.raises(LearnerError, match="no two labels share a part"):
        trellis.train(corpus, target="label", labels=trellis.Labels(parts="|"))
    with pytest.raises(LearnerError, match="partial labels"):
        trellis.train(
            corpus,
            target="label",
            labels=trellis.Labels(parts="|", partial=True),
        )
    shared = {"word": [["a", "b", "c"]], "label": [["X|1", "Y|1", ""]]}
    assert trellis.train(
        shared,
        target="label",
        labels=trellis.Labels(parts="|", partial="missing"),
    ).labels == ("X|1", "Y|1")
    for wrong in ("", 3):
        with pytest.raises(ArgumentError, match="label_parts must be the separator"):
            trellis.train(corpus, target="label", labels=trellis.Labels(parts=wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("pairs", ["seen", "all"])
@pytest.mark.parametrize("name", [name for name in ABLE if name != "frank-wolfe"])
def test_warm_starts_score_as_the_older_model(name: str, pairs: Any) -> None:
    """New labels bring new parts, and make parts of what one label alone had; old weights stay where they belong."""
    kind, learner = PART_KINDS["parts"], ABLE[name]
    corpus = kind.corpus(2, 20)
    older = kind.train(corpus, learner=learner, pairs=pairs)
    labels = [["L0|new=1", "L9|new=1", "L3|k=0|new=2"][: len(row)] for row in corpus.sentences("label")]
    words, pos = ([row[:3] for row in corpus.sentences(column)] for column in ("word", "pos"))
    new = trellis.read({"word": words, "pos": pos, "label": labels})

    class BeforeTheFirstStep(trellis.Learner):
        family, default_pairs, abilities = learner.family, learner.default_pairs, frozenset({"parts"})

        def fit(self, problem: Any, observer: Any = None) -> Any:
            return learner.begin(problem).weights(), []

    started = trellis.train(new, learner=BeforeTheFirstStep(), init=older, features=trellis.Features(pairs=pairs))
    assert len(started.labels) > len(older.labels)
    assert len(started.model.row_names) > len(older.model.row_names)
    for sentence in zip(words, pos, strict=True):
        rows = list(zip(*sentence, strict=True)) if len(older.columns) == 2 else list(sentence[0])
        before, now = older.explain(rows), started.explain(rows)
        for one, other in zip(before.tokens, now.tokens, strict=True):
            for label, score in one.scores.items():
                assert other.scores[label] == pytest.approx(score, abs=1e-4)
    again = trellis.train(new, learner=learner, init=older, features=trellis.Features(pairs=pairs))
    assert again.model.weights.parts is not None
    with pytest.raises(LearnerError, match=r"label_parts='/' conflicts with the initial model \('\|'\)"):
        trellis.train(new, learner=learner, init=older, labels=trellis.Labels(parts="/"))


def test_checkpoints_keep_parts(tmp_path: Path) -> None:
    """A checkpoint contains the best epoch with its parts; a checkpoint without parts belongs to another training."""
    kind = PART_KINDS["parts"]
    corpus, dev = kind.corpus(2, 20), kind.corpus(3, 20)

    def stop(event: trellis.Event) -> None:
        if event.epoch == 4:
            raise trellis.StopTrainingError

    settings: Any = {"learner": trellis.Perceptron(epochs=6), "dev": dev}
    kind.train(corpus, checkpoint=tmp_path / "c", observer=stop, **settings)
    resumed = kind.train(corpus, checkpoint=tmp_path / "c", **settings)
    straight = kind.train(corpus, **settings)
    assert resumed.model.weights.parts is not None
    assert resumed.model.weights.rows.weights.tobytes() == straight.model.weights.rows.weights.tobytes()
    assert resumed.tag_column(dev).tolist() == straight.tag_column(dev).tolist()
    with pytest.raises(trellis.ModelError, match="a checkpoint of another training"):
        kind.train(corpus, checkpoint=tmp_path / "c", **settings, label_parts=None)


def test_a_stream_of_blocks_gives_the_same_bytes(tmp_path: Path) -> None:
    """Also of two columns as one: labels are numbered by first appearance, block by block as at once."""
    kind = PART_KINDS["parts"]
    corpus = kind.corpus(2, 40)
    upos, feats = corpus.column("label").split()
    file = tmp_path / "train.jsonl"
    trellis.write(corpus.with_column("upos", upos).with_column("feats", feats), file)
    models = [
        trellis.train(source, target="upos+feats", features=["word[0]", "word[-1]"], labels=trellis.Labels(parts="|"))
        for source in (trellis.read(file), trellis.stream(file, block_bytes=300))
    ]
    assert learnt(models[0]) == learnt(models[1])
    assert models[0].model.weights.parts is not None


def test_the_command_line_has_parts(file: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert call("train gold.conllu --target upos+feats --label-parts | --model m -q --learner perceptron").code == 0
    assert trellis.load("m").model.row_names[4:] == ("NOUN",)
    assert json.loads(call("info -m m --json").out)["label_parts"] == ["NOUN"]
    assert "label parts   1: NOUN" in call("info -m m").out
    assert "(NOUN)" in call("explain -m m dogs").out


# ---- figures


def test_figures_of_parts_by_hand() -> None:
    gold = [["N|Case=Nom|Number=Sing", "V|Number=Sing"], ["X", "N|Case=Acc"]]
    predicted = [["N|Case=Acc|Number=Sing", "N|Number=Sing"], ["X|Case=Acc", "N|Case=Acc"]]
    report = trellis.evaluate(gold, predicted, label_parts="|")
    assert report.to_dict()["rows"] == {
        "Case": {"precision": 1 / 3, "recall": 0.5, "f1": 0.4, "support": 2, "predicted": 3, "correct": 1},
        "Number": {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 2, "predicted": 2, "correct": 2},
    }
    assert str(report).splitlines() == [
        "                      precision  recall      F1  support",
        "",
        "                Case      33.33   50.00   40.00        2",
        "              Number     100.00  100.00  100.00        2",
        "",
        " first part accuracy                      75.00        4",
        "other parts accuracy                      50.00        4",
        "      token accuracy                      25.00        4",
        "   sentence accuracy                       0.00        2",
    ]
    assert trellis.evaluate(gold, predicted).part_accuracy == {}
    with pytest.raises(ArgumentError, match="label_parts must be the separator"):
        trellis.evaluate(gold, predicted, label_parts="")


def test_figures_of_two_columns_have_their_names(file: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    tagger = trellis.train(file, target="upos+feats")
    report = tagger.evaluate(file)
    assert report.part_accuracy == {"upos": 1.0, "feats": 1.0}
    assert [*report.rows] == ["Definite", "Number"]
    tagger.save("m")
    done = call("evaluate --model m gold.conllu --json")
    assert json.loads(done.out) == report.to_dict()
    # Columns of two files, with and without a separator of their own.
    copied = Path("copy.conllu")
    copied.write_bytes(file.read_bytes())
    done = call("evaluate --gold gold.conllu --predicted copy.conllu --target upos+feats --json")
    assert json.loads(done.out)["upos_accuracy"] == 1
    done = call("evaluate --gold gold.conllu --predicted copy.conllu --target feats --label-parts |")
    assert "first part" in done.out
    assert "Number" not in done.out


def test_a_separator_has_a_character() -> None:
    with pytest.raises(trellis._support.errors.ArgumentError, match=r"such as '\|', not ''"):
        trellis.train({"word": [["a"]], "label": [["A|b"]]}, target="label", labels=trellis.Labels(parts=""))
