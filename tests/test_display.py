"""What notebooks show: pieces of pages that hold together, pictures, figures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis
from trellis.corpus.brackets import parse_trees
from trellis.corpus.tree import PhraseTree
from trellis.display.charts import curves_chart
from trellis.display.html import table
from trellis.display.models import mark
from trellis.display.trellises import draw_trellis
from trellis.evaluation.error_analysis import error_analysis

NASTY = "<script>alert('&')</script>"


@pytest.fixture(scope="module")
def tagger() -> trellis.Tagger:
    corpus = {
        "word": [["the", "dog", NASTY], ["Ann", "ran"]] * 3,
        "chunk": [["B-NP", "I-NP", "O"], ["B-NP", "B-VP"]] * 3,
    }
    return trellis.train(corpus, target="chunk", learner=trellis.CRF(epochs=20), dev=corpus)


class Checked(HTMLParser):
    """All elements closed in turn; the text and the names of elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.words, self.names = list[str](), list[str](), set[str]()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)


def shown(thing: Any) -> Checked:
    found = Checked(thing._repr_html_())
    assert "script" not in found.names
    return found


def test_a_tagger(tagger: trellis.Tagger) -> None:
    words = " ".join(shown(tagger).words)
    assert all(part in words for part in ("chunk", "B-NP", "CRF(", "sentences", "the 12 largest"))


def test_a_text(tagger: trellis.Tagger) -> None:
    text = "the dog <b>ran</b> & Ann ran"
    for confidence in (False, True):
        found = shown(tagger.tag_text(text, confidence=confidence))
        assert "mark" in found.names
        marked = "".join(found.words)
        for name in tagger.tag_text(text).spans:
            assert name.text in marked
    assert "b" in Checked(tagger.tag_text("the dog").to_html()).names


@pytest.mark.parametrize(("probability", "share"), [(None, 100), (1.0, 100), (0.6, 60), (0.25, 25), (0.01, 25)])
def test_marks_are_the_paler_the_less_probable(probability: float | None, share: int) -> None:
    shown = mark("Ann", "PER", "red", probability)
    assert f"background:color-mix(in srgb,red {share}%,#f4f4f4)" in str(shown)
    assert (f"PER: {probability:.4f}" in str(shown)) if probability is not None else ("title" not in str(shown))


def test_an_explanation(tagger: trellis.Tagger) -> None:
    explained = tagger.explain(["the", "dog", NASTY])
    words = " ".join(shown(explained).words)
    assert NASTY in words
    assert "score difference to the second best" in words
    assert repr(explained) == explained.text(n_labels=1)


def test_reports(tagger: trellis.Tagger) -> None:
    corpus = {"word": [["the", "cat"]], "chunk": [["B-NP", "O"]]}
    report, found = tagger.evaluate(corpus), tagger.error_analysis(corpus)
    assert f"{100 * report.token_accuracy:.2f}" in shown(report).words
    assert repr(report) == str(report)
    assert "unknown words" in shown(found).words
    assert (found.known_words.support, found.unknown_words.value) == (1, float(tagger.tag(["the", "cat"])[1] == "O"))
    parts = trellis.evaluate([["N|Case=Nom"]], [["N|Case=Acc"]], label_parts="|")
    assert "Case" in " ".join(shown(parts).words)


def test_k_best(tagger: trellis.Tagger) -> None:
    paths = tagger.kbest(["the", "dog"], 4)
    assert isinstance(paths, list)
    assert len(shown(paths).words) >= 4 * 3


# ------------------------------------------------------------ the trellis


def circles(svg: str) -> list[dict[str, str]]:
    return [node.attrib for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}circle")]


def test_the_trellis_of_a_sentence(tagger: trellis.Tagger, tmp_path: Path) -> None:
    sentence = ["the", "dog", NASTY]
    picture = tagger.draw(sentence)
    assert picture._repr_svg_() == picture.svg == str(picture)
    names = [title.text or "" for title in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}title")]
    node = tagger.marginals(sentence)
    for t, label in enumerate(tagger.tag(sentence)):
        assert f"{sentence[t]}, {label}: {node[t][label]:.3f}" in names
    on_path = [circle for circle in circles(picture.svg) if circle["class"] == "p"]
    assert len(on_path) == len(sentence)
    assert len(circles(picture.svg)) % len(sentence) == 0
    picture.save(tmp_path / "t.svg")
    assert (tmp_path / "t.svg").read_text() == picture.svg
    with pytest.raises(trellis.ArgumentError, match=r"\.svg"):
        picture.save(tmp_path / "t.png")


def test_size_tells_probability(tagger: trellis.Tagger) -> None:
    sentence = ["dog", "Ann"]
    node = tagger.marginals(sentence).node
    drawn = {c["cx"] + c["cy"]: float(c["r"]) for c in circles(tagger.draw(sentence).svg)}
    titles = [t.text or "" for t in ET.fromstring(tagger.draw(sentence).svg).iter("{http://www.w3.org/2000/svg}title")]
    shares = [float(t.rsplit(": ", 1)[1]) for t in titles if ", " in t]
    radii = list(drawn.values())
    order = np.argsort(shares, kind="stable")
    assert all(radii[a] <= radii[b] + 0.06 for a, b in pairwise(order.tolist()))
    assert max(shares) == pytest.approx(node.max(), abs=5e-4)


def test_labels_that_matter_least_are_left_out(tagger: trellis.Tagger) -> None:
    few = tagger.draw(["the"], most_labels=1)
    assert len(circles(few.svg)) == 1
    with pytest.raises(trellis.ArgumentError, match="most_labels"):
        tagger.draw(["the"], most_labels=0)


def test_what_is_allowed_is_drawn(tagger: trellis.Tagger) -> None:
    picture = tagger.draw(["the", "dog"], allowed={1: "O"})
    assert "dog, O: 1.000" in picture.svg


def drawn() -> dict[str, Callable[[str], trellis.Picture]]:
    """A picture of each kind, with a text in it."""
    arcs: Any = {"heads": [1, 2], "tails": [0, 1]}
    return {
        "dependencies": lambda text: trellis.DependencyTree([text, "b"], [2, 0], ["x", text]).draw(),
        "phrases": lambda text: PhraseTree("S", (PhraseTree("NP", word=text), PhraseTree(text, word="b"))).draw(),
        "lattice": lambda text: trellis.Hypergraph(**arcs).draw(edge_names=[text, ""]),
        "trellis": lambda text: draw_trellis([text], [text], np.ones((1, 1)), None, [0], 1),
        "curve": lambda text: curves_chart([(text, "red", [(1, 0.5)])], text),
    }


@pytest.mark.parametrize("kind", drawn())
def test_pictures_hold_any_text(kind: str, tmp_path: Path) -> None:
    """Text that is markup, that XML cannot hold, or that no file can hold."""
    for text, expected in ((NASTY, NASTY), ("a\x00b\x1b\ufffe", "a\ufffdb\ufffd\ufffd"), ("\udc80", "\ufffd")):
        picture = drawn()[kind](text)
        picture.save(tmp_path / "p.svg")
        root = ET.parse(tmp_path / "p.svg").getroot()
        assert expected in {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
        assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"


def test_trees_and_lattices_show_themselves() -> None:
    [tree] = parse_trees("(S (NP a) (VP b))").trees
    assert tree._repr_svg_() == tree.draw().svg
    assert str(tree.draw()) == tree.draw().text == "  S\n┌─┴─┐\nNP  VP\n│   │\na   b"
    graph = trellis.Hypergraph([1, 2], [0, 1], tail_starts=[0, 1, 2])
    assert graph._repr_svg_() == graph.draw().svg
    dependencies = trellis.DependencyTree(["a"], [0])
    assert dependencies._repr_svg_() == dependencies.draw().svg


# ------------------------------------------------------------ figures


def test_the_history(tagger: trellis.Tagger) -> None:
    said = tagger.plot_history().svg
    assert all(part in said for part in ("tagger: CRF", "objective", "span F1 on dev", "best: 100.00"))
    hmm = trellis.train({"word": [["a"]], "y": [["A"]]}, target="y", learner=trellis.HMM())
    with pytest.raises(trellis.ArgumentError, match="history"):
        hmm.plot_history()


def titles(picture: trellis.Picture) -> list[str]:
    return [title.text or "" for title in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}title")]


def test_confusions_are_drawn_where_they_belong() -> None:
    found = error_analysis([["A", "A", "B", "C"]], [["A", "B", "B", "A"]])
    cells = [("A", "A", 1, 0.5), ("A", "B", 1, 0.5), ("B", "B", 1, 1.0), ("C", "A", 1, 1.0)]
    expected = [f"gold {gold}, predicted {guess}: {n}, share {share:.3f}" for gold, guess, n, share in cells]
    assert titles(found.plot()) == expected
    squares = list(ET.fromstring(found.plot().svg).iter("{http://www.w3.org/2000/svg}rect"))
    rows, columns = ([float(square.attrib[name]) for square in squares] for name in ("y", "x"))
    assert rows[0] == rows[1] < rows[2] < rows[3]
    assert columns[0] == columns[3] < columns[1] == columns[2]


def test_reliability_is_drawn(tagger: trellis.Tagger) -> None:
    found = tagger.reliability({"word": [["the", "dog", "Ann"]], "chunk": [["B-NP", "I-NP", "O"]]})
    some = [bin for bin in found.tokens.bins if bin.n]
    said = [f"confidence {bin.confidence:.3f}, accuracy {bin.accuracy:.3f}, count {bin.n}" for bin in some]
    assert titles(found.tokens.plot("labels")) == said


def test_heads_of_numbers_are_aligned_as_the_numbers() -> None:
    report = trellis.evaluate([["A", "B"]], [["A", "A"]])._repr_html_()
    assert '<th></th><th class="n">precision</th><th class="n">recall</th>' in report
    assert table([("a", "", 1), ("b", 2.5, "")], ("x", "y", "z")).startswith(
        '<table><tr><th>x</th><th class="n">y</th><th class="n">z</th></tr>'
    )
