"""A corpus that is being labelled: nothing is lost, everything can be undone, what is labelled can be learnt from."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

import trellis
from trellis.serve.lessons import lessons, path_features, viterbi
from trellis.serve.workbook import Workbook

TEXT = "Ann\nsaw\nRome\n\nBob\nran\n\n"


def book(folder: Path) -> Workbook:
    path = folder / "words.txt"
    if not path.exists():
        path.write_text(TEXT)
    return Workbook(str(path), trellis.read(path, columns="word"), "ner")


def test_what_was_done_is_there_again(tmp_path: Path) -> None:
    one = book(tmp_path)
    one.set(0, ["B-PER", None, None])
    one.set(0, ["B-PER", "O", "B-LOC"])
    one.set(1, ["O", "O"])
    assert (one.undo(), one.n_labelled()) == (1, 1)
    other = book(tmp_path)
    assert other.labels == one.labels == [["B-PER", "O", "B-LOC"], [None, None]]
    assert other.undo() is None  # of this session nothing
    assert (tmp_path / "words.txt").read_text() == TEXT


def test_a_line_cut_short_is_not_there(tmp_path: Path) -> None:
    one = book(tmp_path)
    one.set(1, ["B-PER", "O"])
    whole = one.journal.read_bytes()
    one.journal.write_bytes(whole + b'{"sentence": 0, "lab')
    again = book(tmp_path)
    assert again.labels[1] == ["B-PER", "O"]
    again.set(0, ["O", "O", "O"])
    assert [json.loads(line)["sentence"] for line in again.journal.read_text().splitlines()] == [1, 0]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        '{"sentence": 9, "labels": []}',
        '{"sentence": 0, "labels": ["A"]}',
        "[]",
        '{"sentence": 1, "labels": ["a b", "c"]}',
    ],
)
def test_a_journal_of_something_else_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "words.txt.studio.jsonl").write_text(f"{line}\n")
    with pytest.raises(trellis.CorpusError, match="move the file away") as error:
        book(tmp_path)
    assert error.value.line == 1
    assert (tmp_path / "words.txt.studio.jsonl").read_text() == f"{line}\n"


@pytest.mark.parametrize(
    ("number", "labels"), [(5, ["O"]), (0, ["O"]), (1, ["a|b", "c"]), (1, ["", "O"]), (-1, ["O", "O"])]
)
def test_what_is_no_labelling(tmp_path: Path, number: int, labels: list[str]) -> None:
    one = book(tmp_path)
    with pytest.raises(trellis.ArgumentError):
        one.set(number, list(labels))
    assert not one.journal.exists()


def test_the_least_certain_comes_first(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\n\nb\n\nc\n\n")
    one = book(tmp_path)
    tagger = trellis.train(
        {"word": [["a"]] * 8 + [["b"]] * 3, "ner": [["A"]] * 8 + [["B"]] * 3},
        target="ner",
        features=["word[0]"],
        learner=trellis.CRF(),
    )
    margin = {w: tagger.kbest([w], 2)[0][1] - tagger.kbest([w], 2)[1][1] for w in "abc"}
    order = []
    for _ in range(3):
        number = one.next(tagger, None, uncertain=True)
        assert number is not None
        order.append(one.words[number][0])
        one.set(number, ["A"])
    assert order == sorted("abc", key=lambda w: margin[w])
    assert one.next(tagger, None, uncertain=True) is None


def test_in_the_order_of_the_file(tmp_path: Path) -> None:
    one = book(tmp_path)
    assert one.next(None, None, uncertain=False) == 0
    assert one.next(None, 0, uncertain=False) == 1
    assert one.next(None, 1, uncertain=False) == 0


def test_training_on_what_there_is(tmp_path: Path) -> None:
    one = book(tmp_path)
    with pytest.raises(trellis.ArgumentError, match="nothing is labelled"):
        one.start_training(lambda tagger: None)
    one.set(0, ["B-PER", None, "B-LOC"])
    got: list[trellis.Tagger] = []
    one.start_training(got.append)
    deadline = time.monotonic() + 30
    while one.training.running and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not one.training.error
    assert got[0].target == "ner"
    assert one.training.history
    assert one.training.epoch == len(one.training.history)


def test_export(tmp_path: Path) -> None:
    one = book(tmp_path)
    with pytest.raises(trellis.ArgumentError, match="no sentence"):
        one.export("conll")
    one.set(1, ["B-PER", "O"])
    assert one.export("conll") == b"Bob B-PER\nran O\n\n"
    assert one.export("tsv") == b"Bob\tB-PER\nran\tO\n\n"
    assert json.loads(one.export("jsonl")) == {"word": ["Bob", "ran"], "ner": ["B-PER", "O"]}
    assert one.export("csv") == b"sentence,word,ner\n1,Bob,B-PER\n1,ran,O\n"
    assert one.export("conllu").startswith(b"1\tBob\t_\tB-PER\t")
    assert one.export("crfsuite") == b"B-PER\tword=Bob\nO\tword=ran\n\n"
    for format in ("parquet", "feather"):
        (tmp_path / f"out.{format}").write_bytes(one.export(format))
        assert trellis.read(tmp_path / f"out.{format}").sentences("ner") == [["B-PER", "O"]]


# ------------------------------------------------------------ lessons

SAMPLE = [
    [("the", "D"), ("man", "N"), ("saw", "V"), ("the", "D"), ("dog", "N")],
    [("the", "D"), ("saw", "N"), ("can", "M"), ("saw", "V")],
    [("we", "P"), ("can", "M"), ("saw", "V"), ("the", "D"), ("can", "N")],
]


def test_the_best_path_is_the_best_of_all() -> None:
    """Held against all paths, with the weights that each step begins with."""
    import itertools
    from collections import defaultdict

    weights: defaultdict[tuple[str, str], int] = defaultdict(int)
    for step in lessons(SAMPLE):
        scores = {
            path: sum(weights[feature] for feature in path_features(step["words"], list(path)))
            for path in itertools.product(step["labels"], repeat=len(step["words"]))
        }
        assert scores[tuple(step["best"])] == max(scores.values()) == max(step["table"][-1])
        assert viterbi(step["words"], step["labels"], weights)["best"] == step["best"]
        for feature, label, by in step["changes"]:
            weights[feature, label] += by
        assert {(f, z): w for f, z, w in step["weights"]} == {key: w for key, w in weights.items() if w}
    assert not step["changes"]


def test_lessons_end_and_are_small() -> None:
    with pytest.raises(trellis.ArgumentError, match="every word needs a label"):
        lessons([[("a", "")]])
    with pytest.raises(trellis.ArgumentError, match="at most"):
        lessons([[("a", "A")] * 100])
