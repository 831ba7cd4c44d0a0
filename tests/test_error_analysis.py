"""Figures per label, confusions, partial matches, lists of mistakes, two models compared: against counts by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, refused

from trellis.evaluation.error_analysis import error_analysis

Call = Callable[..., Done]

GOLD = [["B-PER", "I-PER", "O", "B-LOC", "O"], ["B-ORG", "I-ORG", "I-ORG", "O", "B-PER"], ["O", "O"]]
FOUND = [["B-PER", "I-PER", "O", "B-ORG", "O"], ["B-ORG", "I-ORG", "O", "O", "O"], ["B-LOC", "O"]]


def test_labels_and_confusions_by_hand() -> None:
    found = error_analysis(GOLD, FOUND, known=[[True] * 5, [True, True, False, False, False], [False, False]])
    assert (found.rows["O"].gold, found.rows["O"].predicted, found.rows["O"].correct) == (5, 6, 4)
    assert found.rows["B-PER"].recall == 0.5
    assert found.confusions[0].times == 1
    assert {(one.gold, one.predicted) for one in found.confusions} == {
        ("B-LOC", "B-ORG"),
        ("I-ORG", "O"),
        ("B-PER", "O"),
        ("O", "B-LOC"),
    }
    assert found.known_words == (pytest.approx(6 / 7), 7)
    assert found.unknown_words == (pytest.approx(2 / 5), 5)
    there = [score.f1 for label, score in found.rows.items() if score.gold]
    assert found.macro_f1 == pytest.approx(sum(there) / len(there))


def test_spans_that_match_in_part_by_hand() -> None:
    # gold PER(0,2) LOC(3,4) | ORG(5,8) PER(9,10); found PER(0,2) ORG(3,4) | ORG(5,7) | LOC(10,11)
    found = error_analysis(GOLD, FOUND).partial
    assert found is not None
    as_counts = {
        name: (one.correct, one.incorrect, one.partial, one.missed, one.spurious) for name, one in found.items()
    }
    assert as_counts == {
        "strict": (1, 2, 0, 1, 1),
        "exact": (2, 1, 0, 1, 1),
        "partial": (2, 0, 1, 1, 1),
        "type": (2, 1, 0, 1, 1),
    }
    assert found["partial"].score.precision == found["partial"].score.recall == 2.5 / 4
    assert found["strict"].score.f1 == 0.25


@pytest.mark.parametrize(
    ("gold", "found", "counts"),
    [
        (["B-A", "I-A", "I-A", "I-A"], ["B-A", "B-A", "I-A", "O"], (0, 0, 1, 0, 1)),  # two on one: the first has it
        (["B-A", "B-A"], ["B-A", "I-A"], (0, 0, 1, 1, 0)),  # one on two
        (["O", "O"], ["O", "B-A"], (0, 0, 0, 0, 1)),
        (["B-A", "O"], ["O", "O"], (0, 0, 0, 1, 0)),
        (["B-A", "I-A", "B-B"], ["B-A", "B-B", "I-B"], (0, 0, 2, 0, 0)),
    ],
)
def test_each_span_has_one_partner(gold: list[str], found: list[str], counts: tuple[int, ...]) -> None:
    spans = error_analysis([gold], [found]).partial
    if spans is None:  # no label of gold marks a span
        spans = error_analysis([gold, ["B-A"]], [found, ["O"]]).partial
        counts = (*counts[:3], counts[3] + 1, counts[4])
    assert spans is not None
    one = spans["partial"]
    assert (one.correct, one.incorrect, one.partial, one.missed, one.spurious) == counts


def test_labels_without_spans() -> None:
    found = error_analysis([["D", "N"]], [["D", "V"]])
    assert found.partial is None
    assert found.known_words is None
    assert "D     100.00  100.00  100.00        1" in str(found)
    assert found.to_dict()["confusions"] == [["N", "V", 1]]


def test_the_commands(chunk: Path, call: Call) -> None:
    text = (
        Path("test.txt").read_text().replace("dog NN I-NP", "dog NN O", 1).replace("the DT B-NP\n", "some DT B-NP\n", 1)
    )
    Path("wrong.txt").write_text(text)
    done = call("evaluate --model chunk.trellis wrong.txt --error-analysis --errors errors.tsv")
    assert done.code == 0
    assert "macro avg" in done.out
    assert "unknown words" in done.out
    assert "strict" in done.out
    lines = Path("errors.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["sentence", "token", "word", "gold", "predicted", "context"]
    assert lines[1].split("\t")[:5] == ["1", "2", "dog", "O", "I-NP"]
    assert lines[1].endswith("some [dog] sees")
    figures = json.loads(call("evaluate --model chunk.trellis wrong.txt --error-analysis --json").out)["error_analysis"]
    assert figures["rows"]["O"]["recall"] == 0.0
    assert figures["partial"]["strict"]["missed"] == 0
    done = call("evaluate wrong.txt --columns word,pos,gold,label --gold gold --predicted label")
    assert done.code == 2  # three columns
    refused(call("evaluate --model chunk.trellis wrong.txt --errors wrong.txt"), "would overwrite")
    refused(call("evaluate --model chunk.trellis wrong.txt --errors none/x"), "no such folder")


def test_two_models_compared(chunk: Path, call: Call) -> None:
    assert call("train train.txt --columns word,pos,chunk --target chunk --learner hmm --model other --quiet").code == 0
    done = call("compare -m chunk.trellis -m other test.txt --differences differ.tsv")
    assert done.code == 0
    assert "McNemar" in done.out
    assert Path("differ.tsv").read_text().startswith("sentence\ttoken\tword\tgold\tA\tB\tcontext")
    figures = json.loads(call("compare -m chunk.trellis -m chunk.trellis test.txt --json").out)
    assert figures["mcnemar"]["p"] == figures["randomisation"]["p"] == 1.0
    assert figures["measure"] == "span F1"
    refused(call("compare -m chunk.trellis -m nothing test.txt"), "nothing")
    assert call("train train.txt --columns word,pos,chunk --target pos --model pos --quiet").code == 0
    refused(call("compare -m chunk.trellis -m pos test.txt"), "predicts 'chunk' and pos predicts 'pos'")


def test_a_table_keeps_its_fields(here: Path, call: Call) -> None:
    rows = [{"word": ["a\tb", "c\nd"], "label": ["X", "Y"]}, {"word": ["a\tb"], "label": ["Y"]}]
    Path("odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("train odd.jsonl --model odd --epochs 2 --quiet").code == 0
    assert call("evaluate --model odd odd.jsonl --errors errors.tsv").code == 0
    assert call("dump -m odd --output w.tsv").code == 0
    for name, n in (("errors.tsv", 6), ("w.tsv", 3)):
        assert {len(line.split("\t")) for line in Path(name).read_text().splitlines()} == {n}


def test_weights_learners_and_presets_as_tables(chunk: Path, call: Call) -> None:
    lines = call("dump -m chunk.trellis").out.splitlines()
    assert lines[0] == "feature\tlabel\tweight"
    assert len(lines) > 20
    sizes = [abs(float(line.split("\t")[2])) for line in lines[1:]]
    assert sizes == sorted(sizes, reverse=True)
    assert call("dump -m chunk.trellis --top 3 --output w.tsv").code == 0
    assert Path("w.tsv").read_text().splitlines() == lines[:4]
    refused(call("dump -m chunk.trellis --output chunk.trellis"), "would overwrite")
    shown = " ".join(call("learners").out.split())
    assert (
        "mira k=1, C=0.1, epochs=15, average=True, shuffle=True, seed=0, batch=1, update, shards=1, mix=touched pa"
        in shown
    )
    assert "c2" in call("learners CRF").out
    assert call("train train.txt --learner HMM --features hmm --model m --quiet").code == 0
    refused(call("learners svm"), "unknown learner 'svm'")
    assert "ratnaparkhi-pos" in call("features").out
    assert "word[-1]" in call("features default").out.splitlines()
    refused(call("features mine"), "unknown preset 'mine'")


def test_cross_validation(here: Path, call: Call) -> None:
    given = "cross-validate train.txt --columns word,pos,chunk --target chunk --features chunking --epochs 3"
    done = call(f"{given} --folds 3")
    assert done.code == 0
    assert "F1 " in done.out
    assert "fold 3 of 3" in done.err
    figures = json.loads(call(f"{given} --folds 4 --mix 1 --json --quiet").out)
    assert len(figures["token accuracy"]["parts"]) == 4
    assert figures["token accuracy"]["mean"] == pytest.approx(sum(figures["token accuracy"]["parts"]) / 4)
    refused(call(f"{given} --folds 100 --quiet"), "--folds must be")
    refused(call("cross-validate nothing.txt"), "nothing.txt")


def test_two_columns_looked_at_closely(here: Path, call: Call) -> None:
    Path("tagged.txt").write_text("Ann NNP B-NP B-NP\nran VBD O B-VP\n\nBob NNP B-NP O\n")
    done = call(
        "evaluate --gold tagged.txt --predicted tagged.txt --columns word,pos,gold,found --error-analysis"
        " --errors errors.tsv"
    )
    assert done.code == 0
    assert "known words" not in done.out  # no model, so nobody knows
    assert [line.split("\t")[:5] for line in Path("errors.tsv").read_text().splitlines()[1:]] == [
        ["1", "2", "ran", "O", "B-VP"],
        ["2", "1", "Bob", "B-NP", "O"],
    ]


def test_weights_of_labels_on_the_command_line(here: Path, call: Call) -> None:
    Path("two.txt").write_text("x A\n\nx A\n\nx B\n")
    for option, label in (("", "A"), ("--label-weights B=5", "B")):
        assert call(f"train two.txt --learner crf --model m --quiet {option}").code == 0
        assert call("predict --model m", "x\n").out.split() == ["x", label]
    refused(call("train two.txt --model m --label-weights B"), "LABEL=NUMBER")
    refused(call("train two.txt --model m --quiet --label-weights C=2"), "unknown label 'C'")
