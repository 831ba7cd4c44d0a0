"""Multiword tokens: what training saw is reproduced; rules for other forms; shares; damaged files are rejected."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis._support.errors import CorpusError
from trellis.tasks.pipeline.expansion import Expander

few = settings(max_examples=200, deadline=None)
LETTERS = st.one_of(st.sampled_from("abABİßé'"), st.characters(exclude_categories=["Cs"]))
FORMS = st.text(LETTERS, min_size=1, max_size=6)
RANGES = st.lists(st.tuples(FORMS, st.lists(FORMS, min_size=2, max_size=3)), max_size=8)
SPLITS = st.lists(
    st.tuples(st.text("abAB", min_size=1, max_size=4), st.text("abAB", min_size=1, max_size=3)), max_size=8
)

FRENCH = [("du", ["de", "le"]), ("au", ["à", "le"]), ("aux", ["à", "les"]), ("DU", ["DE", "LE"])]
ENGLISH = [(f"{word}{rest}", [word, rest]) for word in ("do", "is", "was", "would") for rest in ("n't", "'d")]
SPANISH = [(f"{stem}ándo{rest}", [f"{stem}ando", rest]) for stem in ("d", "ech", "tir") for rest in ("le", "se")]
SPANISH += [(f"{stem}ar{rest}", [f"{stem}ar", rest]) for stem in "bcdfghjklmnpqrstvwxyz" for rest in ("le", "se")]


@few
@given(RANGES, st.lists(FORMS, max_size=5))
def test_unambiguous_training_pairs_are_reproduced(ranges: list[tuple[str, list[str]]], singles: list[str]) -> None:
    expander = Expander.train(ranges, singles)
    seen = defaultdict[str, set[tuple[str, ...]]](set)
    for form, words in ranges:
        seen[form].add(tuple(words))
    for form, some in seen.items():
        if len(some) == 1:
            assert expander.expand(form) == list(*some)
    assert Expander.of(expander.tensors(), json.loads(json.dumps(expander.header))).header == expander.header


@few
@given(SPLITS)
def test_forms_that_are_cut(pairs: list[tuple[str, str]]) -> None:
    """Words that follow one another in the form: it is cut, whatever its case."""
    splits = {(a + b).lower(): (a.lower(), b.lower()) for a, b in pairs}
    expander = Expander.train([(form, list(words)) for form, words in splits.items()], [])
    for form, (first, _) in splits.items():
        for cased in (form, form.upper(), form.title()):
            assert expander.expand(cased) == [cased[: len(first)], cased[len(first) :]]


@few
@given(RANGES, st.lists(FORMS, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_tokens_has_no_influence(ranges: Any, singles: Any, random: Any) -> None:
    expander = Expander.train(ranges, singles)
    random.shuffle(ranges)
    random.shuffle(singles)
    assert Expander.train(ranges, singles).header == expander.header


@few
@given(RANGES, st.lists(FORMS, max_size=8))
def test_shares_of_seen_forms(ranges: list[tuple[str, list[str]]], singles: list[str]) -> None:
    expander = Expander.train(ranges, singles)
    several, one = Counter(form.lower() for form, _ in ranges), Counter(form.lower() for form in singles)
    for form in several:
        assert expander.share(form) == several[form] / (several[form] + one[form])
    for form in one.keys() - several.keys():
        assert expander.share(form) <= 0.5  # never one; a rule may know no better


def test_case_is_transferred() -> None:
    expander = Expander.train([*FRENCH, ("iPod's", ["iPod", "'s"])], [])
    assert expander.expand("Du") == ["De", "le"]
    assert expander.expand("DU") == ["DE", "LE"]
    assert expander.expand("AUX") == ["À", "LES"]
    assert expander.expand("IPOD'S") == ["IPOD", "'S"]
    assert expander.expand("iPod's") == ["iPod", "'s"]


def test_the_most_frequent_words_win() -> None:
    expander = Expander.train([("des", ["de", "les"])] * 2 + [("des", ["d", "es"])] * 3, [])
    assert expander.expand("des") == ["d", "es"]
    tied = Expander.train([("des", ["d", "es"]), ("des", ["de", "les"])], [])
    assert tied.expand("des") == ["d", "es"]  # the first alphabetically


def test_rules_of_endings() -> None:
    english = Expander.train(ENGLISH, [])
    assert english.expand("couldn't") == ["could", "n't"]
    assert english.expand("COULDN'T") == ["COULD", "N'T"]
    assert english.expand("table") is None
    assert english.expand("n't") is None  # no letter before it
    spanish = Expander.train(SPANISH, [])
    assert spanish.expand("mirarle") == ["mirar", "le"]
    assert spanish.expand("Mirándose") == ["Mirando", "se"]  # the longer ending


def test_rules_of_beginnings() -> None:
    hebrew = [("hbyt", ["h", "byt"]), ("hspr", ["h", "spr"]), ("wbyt", ["w", "byt"]), ("wspr", ["w", "spr"])]
    expander = Expander.train(hebrew, [])
    assert expander.expand("hmlk") == ["h", "mlk"]
    assert expander.expand("whbyt") == ["w", "h", "byt"]  # the known multiword token after w
    assert expander.expand("mlk") is None


def test_one_form_makes_no_rule() -> None:
    assert Expander.train([("mutta", ["mu", "tta"])], []).rules == []


def test_shares_of_rules() -> None:
    expander = Expander.train([*ENGLISH, ("cats", ["cat", "s"]), ("dogs", ["dog", "s"])], ["hats", "bags", "is", "do"])
    assert expander.share("couldn't") == 1
    assert expander.share("Isn't") == 1
    assert expander.share("cats") == 1
    assert expander.share("cars") == 2 / 5  # cats and dogs of them, hats, bags and is
    assert expander.share("table") == 0


def test_frequent_exceptions_of_rules_are_stored() -> None:
    ranges = [(f"{word}'s", [word, "'s"]) for word in ("cat", "dog", "hat")]
    expander = Expander.train(ranges, ["let's"])
    assert expander.share("Let's") == 0
    assert expander.expand("let's") == ["let", "'s"]  # if the text around it says that it is one
    assert expander.share("bag's") == 3 / 4


def test_no_ranges() -> None:
    expander = Expander.train([], ["a", "b"])
    assert expander.expand("a") is None
    assert expander.share("a") == 0
    assert expander.header == {"entries": [], "rules": []}


@pytest.mark.parametrize("words", [[], ["de"], ["de", ""]])
def test_ranges_without_words_are_rejected(words: list[str]) -> None:
    with pytest.raises(CorpusError, match="the multiword token 'du' has the words"):
        Expander.train([("du", words)], [])


def damaged_headers() -> list[Any]:
    header = Expander.train(ENGLISH, []).header
    out: list[Any] = [{}, {"entries": []}, {"entries": 3, "rules": []}, {"entries": [], "rules": [3]}]
    values: list[Any] = [None, 3, "\ud800", [3], ["\ud800"], {}, float("nan"), -0.5, 1.5, True]
    for part, n in (("entries", 3), ("rules", 7)):
        for i in range(n):
            for value in values:
                rows = [list(row) for row in header[part]]
                rows[0][i] = value
                out.append({**header, part: rows})
        out.append({**header, part: [row[:-1] for row in header[part]]})
        out.append({**header, part: [[*row, 1.0] for row in header[part]]})
    return out


@pytest.mark.parametrize("header", damaged_headers())
def test_damaged_files_are_rejected(header: dict[str, Any]) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        Expander.of({}, header)
