"""Models of Wapiti made by hand, held against all label sequences scored by Wapiti's rules."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis
from trellis._support.errors import ModelError
from trellis.interfaces.compat import pattern_models

LABELS = ("A", "B", "C")
Weights = dict[str, list[float]]  # observation to its weights: of labels, then of label pairs
Row = tuple[str, ...]


def net(text: str) -> str:
    return f"{len(text.encode())}:{text},"


def wapiti_file(
    patterns: Sequence[str], weights: Weights, number: Callable[[float], str] = float.hex, highest: int = 0
) -> bytes:
    flat = [weight for row in weights.values() for weight in row]
    lines = [f"#mdl#2#{len(flat)}", f"#rdr#{len(patterns)}/{highest}/0", *map(net, patterns)]
    lines += [f"#qrk#{len(LABELS)}", *map(net, LABELS), f"#qrk#{len(weights)}", *map(net, weights)]
    return "\n".join([*lines, *(f"{i}={number(weight)}" for i, weight in enumerate(flat)), ""]).encode()


def observation(pattern: str, rows: Sequence[Row], t: int) -> str:
    """What Wapiti's pat_exec makes of a pattern with %x at a token."""

    def value(macro: re.Match[str]) -> str:
        at = t + int(macro[1])
        if at < 0:
            return ("_x-1", "_x-2", "_x-3", "_x-4", "_x-#")[min(-at - 1, 4)]
        if at >= len(rows):
            return ("_x+1", "_x+2", "_x+3", "_x+4", "_x+#")[min(at - len(rows), 4)]
        return rows[at][int(macro[2])]

    return re.sub(r"%x\[ *([+-]?\d+), *(\d+)\]", value, pattern)


def scores(patterns: Sequence[str], weights: Weights, rows: Sequence[Row]) -> dict[tuple[int, ...], float]:
    """The score of every label sequence: each pattern counts as often as it occurs."""
    n, out = len(LABELS), {}
    made = [[observation(pattern, rows, t) for pattern in patterns] for t in range(len(rows))]
    for path in product(range(n), repeat=len(rows)):
        total = 0.0
        for t, names in enumerate(made):
            for name in names:
                row = weights.get(name, [0.0] * (n + n * n))
                of_labels = row[:n] if name[0] in "u*" else [0.0] * n
                of_pairs = {"u": [0.0] * n * n, "b": row[: n * n], "*": row[n:]}[name[0]]
                total += of_labels[path[t]] + (of_pairs[path[t - 1] * n + path[t]] if t else 0.0)
        out[path] = total
    return out


WORDS = ("the", "a/b", "b", "c")


def sentences(rng: random.Random, n_columns: int, lengths: Sequence[int]) -> list[list[Row]]:
    return [[tuple(rng.choice(WORDS) for _ in range(n_columns)) for _ in range(length)] for length in lengths]


def random_weights(rng: random.Random, patterns: Sequence[str], n_columns: int) -> Weights:
    """Weights for what patterns make of some sentences, a third of them 0."""
    rows = sentences(rng, n_columns, [1, 2, 3, 5, 8, 12] * 3)
    names = {observation(p, sentence, t): 0 for p in patterns for sentence in rows for t in range(len(sentence))}
    n, width = len(LABELS), {"u": 3, "b": 9, "*": 12}
    return {
        name: [rng.choice([0.0, rng.uniform(-1, 1), rng.uniform(-1, 1)]) for _ in range(width[name[0]])]
        for name in names
        if rng.random() < 0.8 and n
    }


CASES = {
    "single": ["u:w=%x[0,0]", "u:%x[-1,0]/%x[0,0]", "b"],
    "doubled": ["u:w=%x[0,0]", "b", "*:t=%x[0,1]"] * 2,
    "plain pairs of two names": ["u:w=%x[0,0]", "b", "b", "b:bias", "*:both", "*:both"],
    "pairs with macros, doubled": ["u:w=%x[0,0]", "b:%x[0,0]", "b:%x[0,0]", "b"],
    "shared names, other counts": ["u:%x[0,0]", "u:%x[0,0]", "u:%x[-1,0]", "u:%x[1,0]", "b:%x[0,1]", "b:%x[1,1]", "b"],
    "far outside": ["u:p=%x[-5,0]", "u:n=%x[5,0]", "u:f=%x[7,0]/%x[-8,1]", "b:%x[6,0]", "*:%x[-7,0]%x[-6,0]"],
    "blanks in macros": ["u:Tok-1 X=%x[ 0,0]", "u:n=%x[ +1, 1]", "b:%x[-1, 0]"],
    "a column without a pattern": ["u:p=%x[0,1]", "u:q=%x[-1,2]", "b"],
}


@pytest.mark.parametrize("case", CASES)
def test_labels_and_probabilities_are_wapitis(case: str) -> None:
    rng, patterns = random.Random(case), CASES[case]
    n_columns = 4 if "column" in case else 2
    weights = random_weights(rng, patterns, n_columns)
    tagger = trellis.Tagger.from_bytes(wapiti_file(patterns, weights, highest=n_columns - 1))
    assert tagger.columns == ("word", "pos", "column3", "column4")[:n_columns]
    again = trellis.Tagger.from_bytes(tagger.to_bytes())
    for sentence in sentences(rng, n_columns, [1, 2, 3, 4, 5, 6, 7] * 3):
        by_path = scores(patterns, weights, sentence)
        best = max(by_path, key=by_path.__getitem__)
        assert tagger.tag(sentence) == again.tag(sentence) == [LABELS[y] for y in best]
        total = math.fsum(map(math.exp, by_path.values()))
        for t, token in enumerate(tagger.marginals(sentence)):
            for y, label in enumerate(LABELS):
                mass = math.fsum(math.exp(score) for path, score in by_path.items() if path[t] == y)
                assert token[label] == pytest.approx(mass / total, abs=1e-5)


@pytest.mark.parametrize("number", [repr, "{:e}".format, "{:.17f}".format, float.hex, lambda w: f"{w.hex().upper()}"])
def test_weights_are_hexadecimal_or_decimal(number: Callable[[float], str]) -> None:
    """As C's scanf reads them with %la: without 0x a number is decimal."""
    weights = {"u:a": [1.5, 10.25, -0.0625]}
    tagger = trellis.Tagger.from_bytes(wapiti_file(["u:%x[0,0]"], weights, number))
    assert [w.weight for w in tagger.top_features(3)] == [10.25, 1.5, -0.0625]


def test_a_model_without_patterns_is_rejected() -> None:
    with pytest.raises(ModelError, match="it has no patterns, but was trained on features instead of columns"):
        trellis.Tagger.from_bytes(wapiti_file([], {"ua": [1.0, 0.0, 0.0]}))


def test_an_observation_is_tried_on_the_patterns_that_begin_like_it(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = [f"u{i:02}:%x[0,0]" for i in range(30)] + ["b"] * 3
    weights = {f"u{i:02}:w{j}": [float(j % 2), 1.0, 0.0] for i in range(30) for j in range(20)}
    tried = list[str]()
    values = pattern_models._values
    monkeypatch.setattr(pattern_models, "_values", lambda parts, text: tried.append(text) or values(parts, text))
    tagger = trellis.Tagger.from_bytes(wapiti_file(patterns, weights))
    assert len(tried) == 600
    assert len(tagger.model.vocabulary.templates) == 30


# ------------------------------------------------------------ files


@pytest.fixture
def finder(here: Path) -> Path:
    """A model that reads the second and the fourth column."""
    weights = {"u:b=x": [2.0, 0.0, 0.0], "u:b=y": [0.0, 2.0, 0.0], "u:d=x": [0.0, 0.0, 3.0]}
    path = here / "finder"
    path.write_bytes(wapiti_file(["u:b=%x[0,1]", "u:d=%x[0,3]"], weights, highest=3))
    return path


@pytest.mark.parametrize(
    "rows",
    [
        "q x q q\nq y q q\nq q q x",
        "q x q q A\nq y q q B\nq q q x C",
        "q x q q e e A\nq y q q e e B\nq q q x e e C",
        "q x q q e A\n\nq y q q B\nq q q x e e e C",
        "q x q q\nq y q q B\nq q q x e e C",
    ],
    ids=["no label", "label", "columns more", "several widths", "labels of some rows"],
)
def test_rows_are_as_wide_as_they_like(finder: Path, here: Path, call: Any, rows: str) -> None:
    (here / "data").write_text(rows + "\n")
    for model in (finder, here / "converted"):
        trellis.load(finder).save(here / "converted")
        done = call(f"predict -m {model} data")
        assert done.code == 0
        assert done.err == ""
        assert done.out.splitlines() == [
            f"{line} {label}" if line else "" for line, label in zip(rows.splitlines(), expected(rows), strict=True)
        ]
    if rows.splitlines()[0].endswith("A"):
        assert trellis.load(finder).evaluate(here / "data").token_accuracy == 1
        assert "100" in call(f"evaluate -m {finder} data").out
    if "e e A" in rows:
        fields = [line.split() for line in call(f"predict -m {finder} data --crf-test").out.splitlines() if line]
        assert fields == [[*line.split(), label] for line, label in zip(rows.splitlines(), "ABC", strict=True)]


def expected(rows: str) -> list[str]:
    fields = [line.split() for line in rows.splitlines()]
    return [("C" if row[3] == "x" else "A" if row[1] == "x" else "B") if row else "" for row in fields]


def test_pieces_of_several_widths(finder: Path, here: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trellis.interfaces.cli.pieces.PIECE_BYTES", 64)
    rows = "\n\n".join(["q x q q A", "q y q q e e B", "q x q q"] * 40)
    (here / "data").write_text(rows + "\n")
    done = call(f"predict -m {finder} data --threads 2")
    assert [line.split()[-1] for line in done.out.splitlines() if line] == list("ABA") * 40


def test_a_row_that_is_too_narrow_is_named(finder: Path, here: Path, call: Any) -> None:
    (here / "data").write_text("q x q q e A\nq y q\n")
    done = call(f"predict -m {finder} data")
    assert done.code == 2
    assert "data:2: 3 fields (whitespace-separated), expected at least 4, the columns that the model reads" in done.err
    (here / "data").write_text("q x q\nq y q\n")
    assert "3 columns, but the model was trained on 5" in call(f"predict -m {finder} data").err


def test_comments_and_document_marks_stay_in_rows_of_several_widths(finder: Path, here: Path, call: Any) -> None:
    text = "# one\n-DOCSTART- -X-\n\nq x q q A\nq y q q e B\n"
    (here / "data").write_text(text)
    done = call(f"predict -m {finder} data --comments")
    assert done.out == text.replace("A\n", "A A\n").replace("B\n", "B B\n")


def test_info_of_doubled_patterns(here: Path, call: Any) -> None:
    (here / "m").write_bytes(wapiti_file(["u:%x[0,0]", "b"] * 2, {"u:a": [1.0, 0.0, 0.0]}))
    out = call("info -m m").out
    assert re.search(r"^templates +1: word\[0\]$", out, re.MULTILINE)
    assert "4 patterns, 2 of them different" in out
    (here / "pattern").write_text("u:%x[0,0]\nu:%x[0,0]  # again\nu:%x[-1,0]\n")
    (here / "data").write_text("a A\nb B\n\n")
    assert call("train data --features pattern --model m --quiet").code == 0
    assert "shared0: word[0] (2 times); shared0: word[-1]" in call("info -m m").out


# ------------------------------------------------------------ hostile files


def test_a_string_of_negative_length() -> None:
    """It would lead back to where reading began, for ever."""
    with pytest.raises(ModelError, match="another length than stated"):
        trellis.Tagger.from_bytes(b"#mdl#2#0\n#rdr#1000000000000/1/0,\n-4:x,\n")


def test_more_ways_to_cut_than_can_be_tried() -> None:
    """None of them fits: they are not even begun."""
    pattern = "u:" + "/".join(["%x[0,0]"] * 12) + "!"
    tagger = trellis.Tagger.from_bytes(wapiti_file([pattern], {"u:" + "/" * 60: [1.0, 0.0, 0.0]}))
    assert tagger.tag(["a"]) == ["A"]
    with pytest.raises(ModelError, match="too many ways"):
        trellis.Tagger.from_bytes(wapiti_file([pattern], {"u:" + "/" * 60 + "!": [1.0, 0.0, 0.0]}))


def test_patterns_that_are_too_many() -> None:
    weights = {f"u{i}": [1.0, 0.0, 0.0] for i in range(2000)}
    with pytest.raises(ModelError, match="more than 256 patterns with the same prefix"):
        trellis.Tagger.from_bytes(wapiti_file([f"u%x[0,0]z{i}" for i in range(1500)], weights))
    with pytest.raises(ModelError, match="2,001 patterns; at most 2,000"):
        trellis.Tagger.from_bytes(wapiti_file([f"u{i}:%x[0,0]" for i in range(2001)], weights))


def test_places_outside_that_are_too_many() -> None:
    weights = {"u:true/true/true/true": [1.0, 0.0, 0.0]}
    pattern = "u:" + "/".join(f'%t[{offset},0,"."]' for offset in (99, -99, 98, -98))
    with pytest.raises(ModelError, match="too many offsets outside"):
        trellis.Tagger.from_bytes(wapiti_file([pattern], weights))


def test_many_labels_take_no_memory_before_weights_do() -> None:
    """2,000 labels and 1,000 observations of their pairs, of which one weight is there."""
    labels = [f"L{i}" for i in range(2000)]
    names = [f"b:{i}" for i in range(1000)]
    lines = ["#mdl#2#1", "#rdr#1/0/0", net("b:%x[0,0]"), "#qrk#2000", *map(net, labels), "#qrk#1000", *map(net, names)]
    model = trellis.Tagger.from_bytes("\n".join([*lines, "3999999999=0x1p0", ""]).encode()).model
    assert model.weights.edge_rows is not None
    assert np.asarray(model.weights.edge_rows.weights).tolist() == [1.0]
    with pytest.raises(ModelError, match="a weight has no index"):
        trellis.Tagger.from_bytes("\n".join([*lines, "4000000000=0x1p0", ""]).encode())
