"""Trees in brackets: read with the place of every mistake, cleaned, drawn, and compared as evalb compares."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from trellis import PhraseTree, parse_trees, read_trees, write_trees
from trellis._support.errors import ArgumentError, CorpusError
from trellis.evaluation.brackets import brackets, evaluate_trees

SAT = "(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (NN mats)))) (. .)))"


def one(text: str) -> PhraseTree:
    (tree,) = parse_trees(text)
    return tree


# ------------------------------------------------------------ reading


def test_a_tree_goes_over_lines_and_back() -> None:
    text = "\n( (S (NP-SBJ (DT the)\n     (NN cat))\n  (VP (VBD sat))) )\n\n(X (Y z))\n"
    found = parse_trees(text)
    assert [str(tree) for tree in found] == ["( (S (NP-SBJ (DT the) (NN cat)) (VP (VBD sat))))", "(X (Y z))"]
    assert found[0].words == ["the", "cat", "sat"]
    assert found[0].pos == ["DT", "NN", "VBD"]
    assert [str(tree) for tree in parse_trees("\n".join(map(str, found)))] == [str(tree) for tree in found]


def test_spans_come_from_the_top_down() -> None:
    assert one(SAT).spans() == [("TOP", 0, 6), ("S", 0, 6), ("NP", 0, 2), ("VP", 2, 5), ("PP", 3, 5), ("NP", 4, 5)]


MISTAKES = [
    (
        "(S (NP (NN a)))\n(S (NP (NN b))\n(S (NN c))\n",
        2,
        "1 bracket is not closed before the next tree begins in line 3",
    ),
    ("(S (NN a)\n", 1, "1 bracket is not closed before the file ends"),
    ("(S (NN a))\n(S (NP\n\n  (NN b)))\n", 3, "an empty line inside the tree that begins in line 2"),
    ("(S (NN a))\n   \n(S (NN b))\n", 2, "a line of whitespace only; remove the whitespace or the line"),
    ("(S (NN a))\n\t\n", 2, "a line of whitespace only; remove the whitespace or the line"),
    ("(S (NN a)))\n", 1, "unmatched closing bracket; remove it"),
    ("(S ())\n", 1, "an empty bracket"),
    ("(S (NN))\n", 1, "'NN' has no children"),
    ("(S (NN a b))\n", 1, "'b' has a word or a bracket as sibling"),
    ("(S (NN a) b)\n", 1, "'b' has a word or a bracket as sibling"),
    ("(S a (NN b))\n", 1, "'S' has a word and a bracket as children"),
    ("word\n", 1, "'word' is outside brackets"),
    ("(" * 300 + "\n", 1, "nested deeper than 200"),
]


@pytest.mark.parametrize(("text", "line", "why"), MISTAKES)
def test_what_is_no_tree_is_an_error_with_its_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    path = tmp_path / "bad.trees"
    path.write_text(text)
    with pytest.raises(CorpusError) as error:
        read_trees(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert why in str(error.value)


@pytest.mark.parametrize(("text", "line", "why"), MISTAKES)
def test_lenient_reading_skips_and_counts(text: str, line: int, why: str) -> None:
    found = parse_trees("(A (B c))\n" + text + "(D (E f))\n", lenient=True)
    assert len(found.skipped) == 1
    assert found.skipped[0].line == line + 1
    kept = [str(tree) for tree in found]
    assert kept[0] == "(A (B c))"
    assert kept[-1] == "(D (E f))"


def test_files_are_written_whole_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "out.trees.gz"
    trees = [one(SAT), PhraseTree("TOP", (PhraseTree("-LRB-", (), "("),))]
    write_trees(trees, path)
    again = read_trees(path)
    assert again[0] == trees[0]
    assert again[1].words == ["-LRB-"]
    with pytest.raises(CorpusError, match="no such file"):
        read_trees(tmp_path / "absent")
    (tmp_path / "latin").write_bytes(b"(S (NN caf\xe9))")
    with pytest.raises(CorpusError, match="not valid UTF-8"):
        read_trees(tmp_path / "latin")


# ------------------------------------------------------------ cleaning


def test_traces_and_function_tags_go_and_chains_stay() -> None:
    raw = one("( (S-TPC-1 (NP-SBJ=2 (-NONE- *-1)) (VP (VB go) (NP (NP (NN home)) (SBAR (-NONE- 0)))) (-LRB- -LRB-)))")
    assert str(raw.clean()) == "(TOP (S (VP (VB go) (NP (NP (NN home)))) (-LRB- -LRB-)))"
    assert one("( (S (NP (-NONE- *))))").clean() is None
    assert str(one("(ADVP|PRT (RB up))").clean()) == "(TOP (ADVP (RB up)))"
    assert str(one("(ROOT (S (NN a)))").clean()) == "(TOP (S (NN a)))"
    assert str(one("(NN a)").clean()) == "(TOP (NN a))"
    cleaned = one(SAT).clean()
    assert cleaned is not None
    assert cleaned.clean() == cleaned


# ------------------------------------------------------------ drawing


def test_text_has_words_in_the_last_line_under_their_labels() -> None:
    assert one("(S (NP (DT the) (NN cat)) (VP (VBD sat)))").draw().text.splitlines() == [
        "       S",
        "   ┌───┴───┐",
        "   NP      VP",
        " ┌─┴──┐    │",
        " DT   NN  VBD",
        " │    │    │",
        "the  cat  sat",
    ]


def test_svg_is_well_formed_and_has_all_labels_and_words() -> None:
    root = ElementTree.fromstring(one("(S (NP (DT a) (NN <b>)) (VP (VBD &)))").draw().svg)
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(filter(None, texts)) == sorted(["S", "NP", "DT", "NN", "VP", "VBD", "a", "<b>", "&"])
    assert float(root.attrib["width"]) > 0


# ------------------------------------------------------------ evalb's rules


def test_brackets_by_hand() -> None:
    # Gold: S(0,5) NP(0,2) VP(2,5) PP(3,5) NP(4,5), the full stop taken out.
    gold = one(SAT)
    assert sorted(brackets(gold, gold.pos)) == [("NP", 0, 2), ("NP", 4, 5), ("PP", 3, 5), ("S", 0, 5), ("VP", 2, 5)]
    # Parse: S NP VP right; PP missed, NP(4,5) missed, ADVP(3,5) false. 3 of 5 and 3 of 4.
    parse = one("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (ADVP (IN on) (NN mats)) (. .))))")
    report = evaluate_trees([gold, gold], [parse, gold])
    assert (report.micro.gold, report.micro.predicted, report.micro.correct) == (10, 9, 8)
    assert report.f1 == pytest.approx(2 * 8 / 19)
    assert report.complete_match == 0.5
    assert report.rows["PP"].correct == 1
    assert report.n_words == 10
    assert report.tag_accuracy == 1.0


def test_particles_are_adverbs_and_labels_count_as_often_as_they_stand() -> None:
    gold = one("(S (NP (NP (NN a))) (PRT (RP up)))")
    parse = one("(S (NP (NN a)) (ADVP (RP up)))")
    report = evaluate_trees([gold], [parse])
    assert (report.micro.gold, report.micro.predicted, report.micro.correct) == (4, 3, 3)
    assert report.complete_match == 0


def test_empty_phrases_and_roots_do_not_count() -> None:
    gold = one("(S1 (S (NP (NN a)) (PRN (, ,) (: --))))")
    report = evaluate_trees([gold], [one("(TOP (S (NP (NN a)) (, ,) (: --)))")])
    assert (report.micro.gold, report.micro.predicted, report.micro.correct) == (2, 2, 2)
    assert report.complete_match == 1


def test_tags_and_lengths() -> None:
    gold, other = one("(S (NN a) (VB b))"), one("(S (NN a) (NN b))")
    assert evaluate_trees([gold], [other]).tag_accuracy == 0.5
    report = evaluate_trees([gold, one(SAT)], [other, one(SAT)], longest=5)
    assert report.n_sentences == 1
    figures = evaluate_trees([gold], [gold]).to_dict()
    assert figures["micro_avg"]["f1"] == 1.0
    assert "complete match" in str(evaluate_trees([gold], [gold]))


def test_other_words_are_an_error() -> None:
    with pytest.raises(ArgumentError, match="sentence 1: the words of the predicted tree differ"):
        evaluate_trees([one("(S (NN a))")], [one("(S (NN b))")])
    with pytest.raises(ArgumentError, match="2 gold trees and 1 predicted trees"):
        evaluate_trees([one("(S (NN a))")] * 2, [one("(S (NN b))")])
