"""The page of mistakes and the drawing of a trellis, from the command line."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import TRAIN, refused
from test_display import NASTY, Checked

import trellis
from trellis.tasks.tagging.decoding import ChainDecoder
from trellis.tasks.tagging.errors_found import find_errors

WORDS = [["the", "dog", NASTY], ["Ann", "ran"], ["a", "cat", "ran", "a", "cat", "ran"]]
GOLD = [["B-NP", "I-NP", "O"], ["B-NP", "B-VP"], ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "B-VP"]]
WRONG = [["B-NP", "O", "O"], ["B-VP", "B-VP"], ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]]


@pytest.fixture(scope="module")
def tagger() -> trellis.Tagger:
    """A tagger trained on labels that differ from the gold labels of the test."""
    return trellis.train({"word": WORDS, "chunk": WRONG}, target="chunk", learner=trellis.CRF(epochs=50, c2=0.01))


def test_what_is_gathered(tagger: trellis.Tagger) -> None:
    found = find_errors(tagger, {"word": WORDS, "chunk": GOLD})
    assert tagger.tag_batch(WORDS) == WRONG
    assert found.examples == {("I-NP", "O"): [1], ("B-NP", "B-VP"): [2], ("B-VP", "O"): [3]}
    assert sorted(found.sentences) == [1, 2, 3]
    assert (found.sentences[2].words, found.sentences[2].gold) == (WORDS[1], GOLD[1])
    assert [(one.low, one.high, one.n_sentences) for one in found.lengths] == [(1, 4, 2), (5, 9, 1)]
    assert found.lengths[0].accuracy == 3 / 5
    assert found.report.token_accuracy == 8 / 11
    json.dumps(found.to_dict())


@pytest.mark.parametrize("decode", ["viterbi", "posterior"])
def test_the_corpus_is_decoded_once_for_labels_and_once_for_marginals(
    tagger: trellis.Tagger, monkeypatch: pytest.MonkeyPatch, decode: Any
) -> None:
    """And the figures are those of the tagger's own questions, however the corpus is cut into pieces."""
    corpus = trellis.read({"word": WORDS, "chunk": GOLD})
    found = find_errors(tagger, corpus, decode=decode)
    assert (found.report, found.error_analysis) == (
        tagger.evaluate(corpus, decode=decode),
        tagger.error_analysis(corpus, decode=decode),
    )
    assert found.calibration == tagger.reliability(corpus)
    calls = Counter[str]()
    for name in ("best_codes", "_encoded"):
        method = getattr(ChainDecoder, name)

        def counted(decoder: Any, *options: Any, name: str = name, method: Any = method) -> Any:
            calls[name] += 1
            return method(decoder, *options)

        monkeypatch.setattr(ChainDecoder, name, counted)
    find_errors(tagger, corpus, decode=decode)
    assert calls == ({"best_codes": 1, "_encoded": 2} if decode == "viterbi" else {"best_codes": 2, "_encoded": 3})
    monkeypatch.setattr("trellis.tasks.tagging.decoding.PIECE_BYTES", 1)
    assert find_errors(tagger, corpus, decode=decode).calibration == found.calibration
    assert calls["_encoded"] > 4


def test_the_first_twenty_sentences_of_a_confusion_are_kept(tagger: trellis.Tagger) -> None:
    """Each once, however often the confusion is in it."""
    words = [WORDS[0]] * 3 + [WORDS[1]] * 30
    found = find_errors(tagger, {"word": words, "chunk": [WRONG[0]] * 3 + [["B-X", "B-X"]] * 30})
    assert found.examples == {("B-X", "B-VP"): list(range(4, 24))}
    assert sorted(found.sentences) == list(range(4, 24))


def test_the_page(tagger: trellis.Tagger) -> None:
    found = find_errors(tagger, {"word": WORDS, "chunk": GOLD})
    text = found.to_html(f"title {NASTY}")
    body = text[text.index("<body>") + 6 : text.index("</body>")]
    page = Checked(body)
    assert "script" not in page.names
    assert " ".join(page.words).count(NASTY) == 2
    assert "http" not in re.sub("http://www.w3.org/2000/svg", "", text)
    links, anchors = set(re.findall(r'href="#(\w+)"', text)), set(re.findall(r'id="(\w+)"', text))
    assert links == anchors == {"c0", "c1", "c2"}
    for word in ("objective", "Calibration (spans)", "spans, ECE", "gold I-NP, predicted O: 1", "72.73"):
        assert word in " ".join(page.words)


def test_nothing_wrong(tagger: trellis.Tagger) -> None:
    assert "No errors." in find_errors(tagger, {"word": WORDS, "chunk": WRONG}).to_html("t")


def test_models_without_marginals_have_a_page_too() -> None:
    corpus = {"word": WORDS, "chunk": GOLD}
    features = ["word[0]", "label[any] & word[0]"]
    tagger = trellis.train(corpus, target="chunk", features=features, search=trellis.Search(beam=4))
    assert find_errors(tagger, corpus).calibration is None


def test_report_on_the_command_line(here: Path, call: Any) -> None:
    assert call(f"train {TRAIN} --model m --quiet").code == 0
    done = call("report --model m test.txt --output r.html --title Mistakes")
    assert (done.code, done.out) == (0, "")
    assert "<title>Mistakes</title>" in (here / "r.html").read_text()
    refused(call("report --model m test.txt --output test.txt"), "overwrite")
    refused(call("report --model m test.txt --output r.pdf"), "the report is HTML; the name must end in")
    refused(call("report --model m nothing.txt --output r.html"), "no such file")


def test_draw_on_the_command_line(here: Path, call: Any) -> None:
    assert call(f"train {TRAIN} --model m --quiet").code == 0
    assert call("draw --model m the/DT dog/NN -o t.svg").code == 0
    names = [text.text for text in ET.parse(here / "t.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert names[:2] == ["the DT", "dog NN"]
    assert call("draw --model m the/DT dog/NN").out == (here / "t.svg").read_text()
    refused(call("draw --model m the/DT -o t.png"), ".svg")
    refused(call("draw --model m the -o t.svg"), "word/pos")
