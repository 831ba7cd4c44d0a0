"""The language of templates, its presets, and CRF++ template files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trellis
from trellis._support.errors import TemplateError
from trellis.features import functions, templates
from trellis.features.phrases import phrase_templates
from trellis.features.presets import PRESETS
from trellis.features.templates import Call, Look, Template, parse_template
from trellis.features.vocabulary import FeatureSet, feature_set

COLUMNS = ["word", "pos"]

# ---------------------------------------------------------------------------- the language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("word[0]", Template((Look("word", 0),))),
        (" word [ -12 ] ", Template((Look("word", -12),))),
        ("word[+2]", Template((Look("word", 2),))),
        ("bias", Template(())),
        ("b: bias", Template((), name="b")),
        ("word[-1] & pos[0]", Template((Look("word", -1), Look("pos", 0)))),
        ("is_first", Template((Look("", -1, (Call("outside"),)),))),
        ("is_last & word[0]", Template((Look("", 1, (Call("outside"),)), Look("word", 0)))),
        ("label[-1] & word[0]", Template((Look("word", 0),), history=1)),
        ("word[0] & label[-1]", Template((Look("word", 0),), history=1)),
        ("label[-3..-1] & word[0]", Template((Look("word", 0),), history=3)),
        ("label [ -2 .. -1 ]", Template((), history=2)),
        ("a: label[-1] & word[0] & label[-2]", Template((Look("word", 0),), history=2, name="a")),
        ("near: word[1]", Template((Look("word", 1),), name="near")),
        ('"my col"[0]', Template((Look("my col", 0),))),
        ('"label"[-1]', Template((Look("label", -1),))),
        ('"a ""b"""[0]', Template((Look('a "b"', 0),))),
        ("größe[0]", Template((Look("größe", 0),))),
        ("bias[0]", Template((Look("bias", 0),))),
        ("is_first[0]", Template((Look("is_first", 0),))),
        ("lower[0]", Template((Look("lower", 0),))),
        ("suffix(word[0], 3)", Template((Look("word", 0, (Call("suffix", (3,)),)),))),
        (
            "prefix(lower(word[2]), 1)",
            Template((Look("word", 2, (Call("lower"), Call("prefix", (1,)))),)),
        ),
        (
            'cluster(word[0], "a, b.txt", 8)',
            Template((Look("word", 0, (Call("cluster", ("a, b.txt", 8)),)),)),
        ),
        (
            'listed(shape(word[0]), "n.txt")',
            Template((Look("word", 0, (Call("shape"), Call("listed", ("n.txt",)))),)),
        ),
    ],
)
def test_parsing(text: str, expected: Template) -> None:
    assert parse_template(text) == expected
    assert parse_template(str(expected)) == expected


@pytest.mark.parametrize("name", functions.PLAIN)
def test_functions_without_arguments(name: str) -> None:
    assert parse_template(f"{name}(word[0])").looks[0].calls == (Call(name),)


any_text = st.text(st.characters(blacklist_categories=["Cs"]), max_size=6)
calls = st.one_of(
    st.sampled_from(sorted(functions.PLAIN)).map(Call),
    st.builds(lambda name, k: Call(name, (k,)), st.sampled_from(sorted(functions.SIZED)), st.integers(1, 100)),
    st.builds(lambda path: Call("listed", (path,)), any_text),
    st.builds(lambda path, k: Call("cluster", (path, k)), any_text, st.integers(1, 20)),
)
some_looks = st.one_of(
    st.builds(Look, any_text.filter(bool), st.integers(-99, 99), st.lists(calls, max_size=3).map(tuple)),
    st.sampled_from([Look("", -1, (Call("outside"),)), Look("", 1, (Call("outside"),))]),
)
some_templates = st.builds(
    Template,
    st.lists(some_looks, min_size=1, max_size=4).map(tuple),
    st.integers(0, 99),
    st.sampled_from(["", "near", "label", "bias", "_x1"]),
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(some_templates)
def test_what_is_written_is_read_back(template: Template) -> None:
    assert parse_template(str(template)) == template


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.text(alphabet='wordlabe is_firt[]()0123-&:,"$ ', max_size=14))
def test_nothing_but_template_errors(text: str) -> None:
    try:
        template = parse_template(text)
    except TemplateError as error:
        message = str(error)
    else:
        assert parse_template(str(template)) == template
        return
    assert text.strip() == "" or f"template {text!r}, character " in message


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("word[0]  $", 10, r"unexpected character '\$'"),
        ('word[0] & "pos[0]', 11, "unexpected character '\"'"),
        ("word", 1, r"expected word\[offset\]"),
        ("word[", 6, "expected int, found 'end of template'"),
        ("word[x]", 6, "a position must be an offset or one of first, last, segment, head, dep, sibling, between"),
        ("word[0", 7, "expected \\]"),
        ("word[0] pos[0]", 9, "expected &, found 'pos'"),
        ("word[0] & ", 11, "expected name"),
        ("& word[0]", 1, "expected name, found '&'"),
        ("word[100]", 6, "from -99 to 99"),
        ("pos[0] & word[-100]", 15, "from -99 to 99"),
        ("upper(word[0])", 1, "no function 'upper'; the functions are lower, "),
        ("pos[0] & lower(caps(word[0]))", 16, "no function 'caps'"),
        ("suffix(word[0])", 1, "suffix takes a length from 1 to 100"),
        ("suffix(word[0], 0)", 1, "suffix takes a length from 1 to 100"),
        ("suffix(word[0], 101)", 1, "suffix takes a length from 1 to 100"),
        ('suffix(word[0], "3")', 1, "suffix takes a length"),
        ("pos[0] & lower(word[0], 3)", 10, "lower takes no argument"),
        ("cluster(word[0])", 1, 'cluster takes "file"'),
        ("cluster(word[0], 3)", 1, 'cluster takes "file"'),
        ('cluster(word[0], "f", 0)', 1, "perhaps a length"),
        ('listed(word[0], "f", 2)', 1, 'listed takes "file"'),
        ("lower(word[0], x)", 16, 'a number or a quoted "text"'),
        ("lower(word[0]", 14, "expected \\)"),
        (
            "lower(is_first)",
            7,
            "is_first, is_last and measures such as length cannot be arguments of functions; combine them with &",
        ),
        ("label[0]", 7, r'for a column named label write "label"\[0\]'),
        ("label[-1..0] & word[0]", 7, r"preceding labels are label\[-1\] or label\[-2..-1\]"),
        ("label[-1..-2] & word[0]", 7, "for a column named label write"),
        ("label[-100..-1] & word[0]", 7, "from -99 to 99"),
        ("word[0] & label[-3..-2]", 11, r"write label\[-3..-1\]"),
        ("label[-4..-3] & label[-1]", 17, r"must include all of them: write label\[-4..-1\]"),
        ("word[-1..0]", 8, r"expected \], found '..'"),
        ("bias & word[0]", 1, r"expected bias\[offset\]"),
        ("word[0] & bias", 11, r"expected bias\[offset\]"),
        ('"bias"', 1, r"expected bias\[offset\]"),
        ('"is_first"', 1, r"expected is_first\[offset\]"),
        ('"lower"(word[0])', 1, r"expected lower\[offset\]"),
        ("a: b: word[0]", 4, r"expected b\[offset\]"),
        ("1word[0]", 1, "expected name, found '1'"),
    ],
)
def test_errors_name_the_place(text: str, place: int, why: str) -> None:
    with pytest.raises(TemplateError, match=rf"character {place}: .*{why}"):
        parse_template(text)


@pytest.mark.parametrize("text", ['in_list(word[0], "a\udcff")', 'match(word[0], "\ud800")'])
def test_arguments_that_no_model_can_hold(text: str) -> None:
    with pytest.raises(TemplateError, match=r"has the argument '.*\\ud[c8].*', which is not valid UTF-8"):
        parse_template(text)


def test_empty() -> None:
    with pytest.raises(TemplateError, match="empty template; write one such as word"):
        parse_template("  ")
    with pytest.raises(TemplateError, match="no templates; give a preset, a file or a list of templates"):
        feature_set([], COLUMNS)


# ---------------------------------------------------------------------------- made definite


def test_names_are_shared() -> None:
    chosen = feature_set(["near: word[-1]", "near: word[1]", "near: word[2]"], COLUMNS)
    assert {t.name for t in chosen.templates} == {"near"}
    for other in (
        "near: pos[1]",
        "near: word[1] & word[2]",
        "near: lower(word[1])",
        "near: label[-1] & word[1]",
    ):
        with pytest.raises(TemplateError, match="have the same name, so they may differ only in offsets"):
            feature_set(["near: word[-1]", other], COLUMNS)


def test_columns() -> None:
    chosen = feature_set(["is_first", "pos[0]", "word[0] & is_last"], COLUMNS)
    assert chosen.columns == ["pos", "word"]  # is_first reads the first column used by other templates
    assert feature_set(["is_first"], COLUMNS).columns == ["word"]
    with pytest.raises(TemplateError, match=r"'lemma\[0\] & word\[0\]' reads column 'lemma'; the corpus has word, pos"):
        feature_set(["lemma[0] & word[0]"], COLUMNS)
    assert feature_set(["word[0]", "pos[0]"], ["form", "upos"]).columns == ["form", "upos"]
    assert feature_set(["letter[0]"], ["word"]).columns == ["word"]
    assert feature_set(["word[0]"], ["word", "form"]).columns == ["word"]
    assert feature_set([parse_template("word[0]")], COLUMNS).templates == (parse_template("word[0]"),)


def test_templates_given_as_objects() -> None:
    """Templates must be writable and readable, as a model stores them as text."""
    assert feature_set([Template((Look("word", -1),), name="a")], COLUMNS).templates[0].name == "a"
    for bad in (
        Template((Look("word", 500),)),
        Template((Look("word", 0),), name="my name"),
        Template((), history=-1),
    ):
        with pytest.raises(TemplateError, match="template '"):
            feature_set([bad], COLUMNS)
    with pytest.raises(TemplateError, match="a template must be a string such as word"):
        feature_set([5], COLUMNS)  # type: ignore[list-item]


# ---------------------------------------------------------------------------- presets


@pytest.mark.parametrize("name", PRESETS)
def test_presets_parse(name: str) -> None:
    columns = ["word", "pos", "letter", "attributes"]
    chosen = feature_set(name, columns)
    assert chosen.bigrams
    of_looks = [text for text in PRESETS[name] if not re.fullmatch(r"label\[-\d\.\.-1\]", text)]
    assert len(set(chosen.templates)) == len(chosen.templates) == len(of_looks)
    assert [str(parse_template(text)) for text in PRESETS[name]] == PRESETS[name]


# The template file of CRF++'s CoNLL-2000 example.
CRFPP = """\
# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]

U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
U18:%x[1,1]/%x[2,1]

U20:%x[-2,1]/%x[-1,1]/%x[0,1]
U21:%x[-1,1]/%x[0,1]/%x[1,1]
U22:%x[0,1]/%x[1,1]/%x[2,1]

# Bigram
B
"""


def crfpp(tmp_path: Path, text: str, columns: list[str] = COLUMNS) -> FeatureSet:
    file = tmp_path / "template"
    file.write_text(text)
    return feature_set(file, columns)


def test_chunking_is_the_example_of_crfpp(tmp_path: Path) -> None:
    ours, theirs = feature_set("chunking", COLUMNS), crfpp(tmp_path, CRFPP)
    assert len(ours.templates) == 19
    assert set(ours.templates) == set(theirs.templates)
    assert theirs.bigrams


def test_collins_chunking_is_figure_3() -> None:
    """Current, previous and next words and tags, bigrams of both, trigrams of tags: 5 + 4 + 5 + 4 + 3."""
    figure = [
        "w0", "w-1", "w-2", "w1", "w2",
        "w-2 w-1", "w-1 w0", "w0 w1", "w1 w2",
        "p0", "p-1", "p-2", "p1", "p2",
        "p-2 p-1", "p-1 p0", "p0 p1", "p1 p2",
        "p-2 p-1 p0", "p-1 p0 p1", "p0 p1 p2",
    ]  # fmt: skip
    expected = {
        Template(tuple(Look({"w": "word", "p": "pos"}[look[0]], int(look[1:])) for look in line.split()))
        for line in figure
    }
    chosen = feature_set("collins-chunking", COLUMNS)
    assert len(chosen.templates) == 21
    assert set(chosen.templates) == expected


def test_other_presets() -> None:
    ratnaparkhi = PRESETS["ratnaparkhi-pos"]
    assert len(ratnaparkhi) == 16
    assert {"suffix(word[0], 4)", "prefix(word[0], 4)", "word[-2]", "has_hyphen(word[0])"} <= set(ratnaparkhi)
    s2 = PRESETS["altun-s2"]
    assert len(s2) == 3 * 8 + 1
    assert {"suffix(word[-1], 1)", "suffix(word[1], 3)", "is_capitalized(word[1])", "is_first"} <= set(s2)
    assert PRESETS["altun-s1"] == ["word[0]"]
    letters = PRESETS["letters"]
    assert "letter[-3] & letter[-2] & letter[-1] & letter[0]" in letters
    assert "letter[0] & letter[1] & letter[2] & letter[3]" in letters


# ---------------------------------------------------------------------------- files


def test_crfpp_lines(tmp_path: Path) -> None:
    chosen = crfpp(tmp_path, "# words\n\nU00:%x[-1,0]\n  U01:%x[0,1]/%x[2,0] \nU\nB01:%x[0,0]\n#B\n")
    assert chosen.templates == (
        Template((Look("word", -1),)),
        Template((Look("pos", 0), Look("word", 2))),
        Template(()),
        Template((Look("word", 0),), history=1),
    )
    assert not chosen.bigrams
    assert chosen.longest.history == 1
    assert crfpp(tmp_path, "U:%x[0,0]\nB\n").bigrams


def test_crfpp_lines_that_differ_in_positions_share(tmp_path: Path) -> None:
    chosen = crfpp(tmp_path, "U:%x[-1,0]\nU:%x[1,0]\nU:%x[0,1]\nU1:%x[0,0]\nB:%x[0,0]\nB:%x[1,0]\n")
    names = [t.name for t in chosen.templates]
    assert names[0] == names[1] != ""
    assert names[4] == names[5] != ""
    assert names[0] != names[4]
    assert names[2] == names[3] == ""


def test_crfpp_orders(tmp_path: Path) -> None:
    """No B line, no label pairs; a B line with an observation needs them."""
    corpus = trellis.read([[("a", "X"), ("b", "Y")]], columns="word,label")
    file = tmp_path / "template"
    for text, order in (("U:%x[0,0]\n", 0), ("U:%x[0,0]\nB\n", 1), ("U:%x[0,0]\nB:%x[0,0]\n", 1)):
        file.write_text(text)
        assert trellis.train(corpus, target="label", features=file).order == order
    file.write_text("B\n")
    with pytest.raises(TemplateError, match="no templates; give a preset, a file or a list of templates"):
        trellis.train(corpus, target="label", features=file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U0:%x[0,2]", r"template:1: %x\[0,2\] reads column 2, .* 0 to 1 \(word, pos\)"),
        ("U0:%x[0,0]\nU1:%x[0]", "template:2: 'U1:%x.0.' has a macro that is not"),
        ("U0:%y[0,0]", "template:1: .* has a macro that is not"),
        ("U0:%x[0,-1]", "template:1: .* has a macro that is not"),
        ("\nU0:%x[100,0]", "template:2: .* row offset above 99"),
        ("U0:%x[0,0]\nX:%x[0,0]", "template:2: a CRF.. template begins with U or B, one of Wapiti"),
    ],
)
def test_crfpp_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        crfpp(tmp_path, text)


def test_template_files(tmp_path: Path) -> None:
    file = tmp_path / "my.templates"
    file.write_text("\ufeff# mine\nword[0]\n\nnear: word[-1] & pos[0]\n", encoding="utf-8")
    for given_as in (file, str(file)):
        chosen = feature_set(given_as, COLUMNS)
        assert [str(t) for t in chosen.templates] == ["word[0]", "near: word[-1] & pos[0]"]
        assert chosen.bigrams
    file.write_text("Upper[0]\nBias[1]\n")  # begins like a CRF++ line, but is not one
    assert feature_set(file, ["Upper", "Bias"]).columns == ["Upper", "Bias"]
    file.write_text("word[0]\n\nword[0\n")
    with pytest.raises(TemplateError, match=r"my\.templates:3: template 'word\[0', character 7: expected \]"):
        feature_set(file, COLUMNS)
    file.write_text("# nothing\n")
    with pytest.raises(TemplateError, match="no templates; give a preset, a file or a list of templates"):
        feature_set(file, COLUMNS)
    file.write_bytes(b"word[0] \xff")
    with pytest.raises(TemplateError, match=r"my\.templates:1: not valid UTF-8"):
        feature_set(file, COLUMNS)
    for nothing in (tmp_path / "none", "word[0]", tmp_path):
        with pytest.raises(TemplateError, match=r"no preset or file .*; the presets are default, rich"):
            feature_set(nothing, COLUMNS)


def test_files_beside_a_template_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("t.templates", "lists/names.txt", "p.templates"):
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "mine" / "lists" / "names.txt").write_text("Ann\n")
    functions = ["listed(word[0], {})", "in_list(word[0], {})", "vector(word[0], {})", "cluster(word[0], {}, 4)"]
    lines = [line.format('"lists/names.txt"') for line in functions]
    (tmp_path / "mine" / "t.templates").write_text("\n".join([*lines, "in_list(word[0])", "word[0]"]))
    (tmp_path / "mine" / "p.templates").write_text('listed(word[first], "lists/names.txt")')
    monkeypatch.chdir(tmp_path)
    found = [str(template) for template in feature_set("mine/t.templates", ["word"]).templates]
    assert found[:4] == [line.format('"mine/lists/names.txt"') for line in functions]
    assert found[4:] == ["in_list(word[0])", "word[0]"]
    assert str(phrase_templates("mine/p.templates", ["word"])[0]) == 'listed(word[first], "mine/lists/names.txt")'
    monkeypatch.chdir(tmp_path / "mine")
    assert [str(t) for t in feature_set("t.templates", ["word"]).templates][:4] == lines
    absolute = f'listed(word[0], "{tmp_path}/x")'
    (tmp_path / "mine" / "t.templates").write_text(absolute)
    assert str(feature_set("t.templates", ["word"]).templates[0]) == absolute


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("lower(" * 5000 + "word[0]" + ")" * 5000, "more than 50 nested functions"),
        (f"word[{'9' * 5000}]", "a number of 5,000 digits"),
        (f"prefix(word[0], {'9' * 5000})", "a number of 5,000 digits"),
        ('"a\nb"', r"expected 'a\\nb'\[offset\]"),
    ],
)
def test_absurd_templates(text: str, why: str) -> None:
    with pytest.raises(TemplateError, match=why) as caught:
        parse_template(text)
    assert len(str(caught.value)) < 1200
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["word[0]", "word[-1] & pos[+1]", "w2[12] & w2[-99] & é[0]"])
def test_plain_templates_need_no_parser(text: str) -> None:
    assert parse_template(text) == templates._Parser(text).template()


@pytest.mark.parametrize(
    "text", ["label[0]", "label[-1]", "word[100]", "2w[0]", "word[0] &pos[0]", "word [0]", " word[0]"]
)
def test_templates_that_only_look_plain(text: str) -> None:
    assert templates._PLAIN.fullmatch(text) is None


def test_presets_in_lists_and_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("# names\nrich\nner \nword[3]\n")
    by_list = feature_set(["rich", "ner ", "word[3]"], ["word"])
    assert feature_set(tmp_path / "file", ["word"]) == by_list
    assert len(set(by_list.templates)) == len(by_list.templates)  # common templates occur once
    assert by_list.history == 2
    assert {*feature_set("ner", ["word"]).templates} < {*by_list.templates}
    (tmp_path / "file").write_text("word[0]\nnerr\n")
    for features, place in ((["nerr"], ""), (tmp_path / "file", "file:2: ")):
        with pytest.raises(
            TemplateError, match=f"{place}'nerr' is neither a template, .* nor a preset; the presets are default"
        ):
            feature_set(features, ["word"])
