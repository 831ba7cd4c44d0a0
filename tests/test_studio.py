"""The studio as a person uses it, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
from studio_browser import check_access, launched, opened, shot, studio

import trellis
from trellis.corpus.brackets import parse_trees
from trellis.interfaces.studio.workbook import Workbook

SENTENCES = [["Ann", "lives", "in", "Rome", "."], ["Bob", "saw", "New", "York", "."], ["Rome", "is", "old", "."]]
NAMES = [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "B-LOC", "I-LOC", "O"], ["B-LOC", "O", "O", "O"]]
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def visit() -> Iterator[Any]:
    """Opens pages in one browser."""
    with launched() as browser:
        yield partial(opened, browser)


@pytest.fixture(scope="module")
def folder(visit: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of names, and a file that one of them gets partly wrong."""
    place = tmp_path_factory.mktemp("studio")
    corpus = {"word": SENTENCES * 3, "ner": NAMES * 3}
    trellis.train(corpus, target="ner", learner=trellis.CRF(epochs=30)).save(place / "good.trellis")
    worse = {"word": SENTENCES * 3, "ner": [NAMES[0], ["O"] * 5, NAMES[2]] * 3}
    trellis.train(worse, target="ner", learner=trellis.CRF(epochs=30)).save(place / "worse.trellis")
    rows = ["\n".join(f"{w} {n}" for w, n in zip(*pair, strict=True)) for pair in zip(SENTENCES, NAMES, strict=True)]
    (place / "test.txt").write_text("\n\n".join(rows) + "\n\n")
    return place


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with studio(folder, "test.txt", "-m", "worse.trellis", "-m", "good.trellis", "--columns", "word,ner") as found:
        yield found


def node(page: Any, token: int, label: str) -> Any:
    return page.locator(f'g.node[data-token="{token}"][data-label="{label}"]')


def test_look_force_forbid_and_why(visit: Any, address: str, folder: Path) -> None:
    tagger = trellis.load(folder / "good.trellis")
    words = ["Ann", "saw", "Rome", "."]
    with visit(address) as page:
        page.get_by_label("Model").select_option("good")
        page.get_by_label("Text").fill("Ann saw Rome.")
        page.wait_for_selector("svg.trellis")
        assert page.locator("mark").all_inner_texts()[0].startswith("Ann")
        best = [page.locator(f'g.node[data-token="{t}"] circle.best').count() for t in range(4)]
        assert best == [1, 1, 1, 1]
        sizes = {label: float(node(page, 0, label).locator("circle").get_attribute("r")) for label in ("B-PER", "O")}
        assert sizes["B-PER"] > sizes["O"]
        node(page, 0, "O").click()  # force
        page.wait_for_selector('g.forced[data-token="0"][data-label="O"]')
        forced = tagger.tag(words, allowed={0: "O"})
        page.wait_for_selector('g.node[data-token="0"][data-label="O"] circle.best')
        assert page.locator("ol.paths button").first.inner_text().split("  ")[0].split()[: len(words)] == forced
        node(page, 0, "O").click()  # forbid
        page.wait_for_selector('g.forbidden[data-token="0"][data-label="O"]')
        node(page, 0, "O").press("Enter")  # let it be, by the keyboard
        page.wait_for_selector('g.node:not(.forbidden)[data-token="0"][data-label="O"]')
        node(page, 0, "B-PER").focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.token") == "1"
        page.locator("ol.paths button").nth(1).hover()
        page.wait_for_selector("line.other", state="attached")
        page.locator("g.token").first.click()
        page.wait_for_selector("text=Why Ann is B-PER")
        assert "shape(word[0])=Xxx" in page.locator("section").inner_text()
        check_access(page)
        shot(page, "look")


def test_nothing_typed_is_ever_run(visit: Any, address: str) -> None:
    with visit(address) as page:
        page.get_by_label("Text").fill(f"Ann {NASTY} <script>window.evil = 1</script> Rome")
        page.wait_for_selector("svg.trellis")
        assert page.locator("main img").count() == 0
        assert page.evaluate("window.evil") is None
        page.locator("g.token").nth(1).click()
        page.wait_for_selector("main h2:has-text('Why')")
        assert page.locator("main img").count() == 0


def test_text_of_any_script(visit: Any, address: str) -> None:
    with visit(address) as page:
        page.get_by_label("Text").fill("آن تعيش في روما")
        page.wait_for_selector("svg.trellis")
        assert page.locator("p.spans").evaluate("p => getComputedStyle(p).direction") == "rtl"
        shot(page, "look-rtl")


def test_compare(visit: Any, address: str) -> None:
    with visit(f"{address}#compare") as page:
        page.get_by_label("Text").fill("Bob saw New York. Rome is old.")
        page.get_by_role("button", name="Compare on this text").click()
        page.wait_for_selector("text=1 of 2 sentences differ")
        page.get_by_role("button", name="Compare on the corpus").click()
        page.wait_for_selector("text=1 of 3 sentences differ")
        assert "McNemar's test: p = 0.2500" in page.locator("main").inner_text()
        rows = page.locator("section tbody tr").all_inner_texts()
        assert rows[0].split() == ["Bob", "O", "B-PER", "B-PER"]
        check_access(page)
        shot(page, "compare")


def test_errors(visit: Any, address: str) -> None:
    with visit(f"{address}#errors") as page:
        page.wait_for_selector("table.heat")
        text = page.locator("main").inner_text()
        assert all(
            part in text
            for part in ("Calibration (tokens), ECE", "Training: objective", "Token accuracy by", "micro avg")
        )
        page.get_by_role("button", name="1 times gold B-PER, predicted O").click()
        page.wait_for_selector("text=Gold B-PER, predicted O")
        assert page.locator("#examples mark").all_inner_texts() == ["Bob"]
        check_access(page)
        shot(page, "errors")


def test_learn(visit: Any, address: str) -> None:
    with visit(f"{address}#learn", expected="422") as page:
        page.wait_for_selector("text=Step 1 of")
        assert page.locator("strong.down").count() > 0
        page.get_by_role("button", name="Last").click()
        page.wait_for_selector("text=No error, no update")
        page.get_by_role("button", name="All cells").click()
        assert all(page.locator("td.n").all_inner_texts())
        page.get_by_label("Labelled sentences").fill("the dog")
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("text=every word needs a label")
        page.get_by_label("Labelled sentences").fill("the/D dog/N")
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("text=sentence 1")
        check_access(page)
        shot(page, "learn")


def test_parsers(visit: Any, tmp_path: Path) -> None:
    """Of a parser: the picture, the best trees, the terms; a corpus is for taggers."""
    trees = parse_trees("(S (NP (D the) (N dog)) (VP (V sees) (NP (D the) (N cat))))")
    trellis.TreeParser.train(trees, learner="pcfg").save(tmp_path / "trees.trellis")
    with studio(tmp_path, "-m", "trees.trellis") as address, visit(address) as page:
        page.get_by_label("Text").fill("the dog sees the cat")
        page.wait_for_selector("img.picture")
        assert page.locator("img.picture").evaluate("image => image.decode().then(() => image.naturalWidth)") > 50
        assert page.locator("ol.paths li").first.inner_text().startswith("(TOP (S (NP (D the) (N dog))")
        assert page.locator("h2:has-text('Terms of the score with the largest weights')").count() == 1
        check_access(page)
        shot(page, "look-trees")
        page.locator("#tab-compare").click()
        page.wait_for_selector("text=two taggers")


VIEWS = {
    "errors": "table.heat",
    "learn": "text=Step 1 of",
    "compare": "text=Compare on the corpus",
    "label": "text=3 of 3 sentences",
}


def test_small_and_dark(visit: Any, address: str) -> None:
    with visit(address) as page:
        page.get_by_label("Text").fill("Ann saw Rome.")
        page.wait_for_selector("svg.trellis")
        for view in ("look", *VIEWS):
            if view in VIEWS:
                page.locator(f"#tab-{view}").click()
                page.wait_for_selector(VIEWS[view])
            for width, scheme in ((1280, "dark"), (390, "light"), (390, "dark")):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wide <= 0, view  # what is wider scrolls within itself
                shot(page, f"{view}-{width}-{scheme}")
            check_access(page)  # of a wide and light page each view's own test does it


# ------------------------------------------------------------ label


def write_words(folder: Path, sentences: list[list[str]]) -> tuple[str, ...]:
    """A file of words alone; the arguments of a studio for it."""
    (folder / "words.txt").write_text("".join("".join(f"{word}\n" for word in words) + "\n" for words in sentences))
    return "words.txt", "--columns", "word", "--target", "ner"


def open_words(folder: Path) -> Workbook:
    path = folder / "words.txt"
    return Workbook(str(path), trellis.read(path, columns="word"), "ner")


def labels(page: Any) -> list[str]:
    return [text.split("\n")[-1] for text in page.locator(".word").all_inner_texts()]


def wait_for_focus(page: Any) -> None:
    """The words have it: keys are labels."""
    page.wait_for_selector(".words:focus")


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_label_by_keyboard(tmp_path: Path, visit: Any) -> None:
    arguments = write_words(tmp_path, SENTENCES)
    with studio(tmp_path, *arguments) as address, visit(f"{address}#label", expected="409") as page:
        page.wait_for_selector(".word")
        wait_for_focus(page)
        page.get_by_label("Order").select_option("file")
        page.get_by_label("New label").fill("PER")
        press(page, "Enter")
        wait_for_focus(page)
        press(page, "1", "Enter")
        why = "Sentence 1 is saved, but not counted as labelled: 4 of its 5 words have no label."
        page.wait_for_selector(f"#note:has-text('{why}')")
        wait_for_focus(page)
        assert "0 of 3 sentences labelled (ner); sentence 2" in page.locator("#progress").inner_text()
        press(page, "1", "1")  # of the second sentence
        with visit(f"{address}#label", expected="409") as other:
            other.wait_for_selector(".word")
            other.get_by_label("Sentence", exact=True).fill("2")
            other.get_by_role("button", name="Go", exact=True).click()
            other.wait_for_selector("#progress:has-text('sentence 2')")
            assert labels(other) == ["PER", "PER", "·", "·", "·"]
            press(page, "1")
            page.wait_for_selector(".word.chosen:has-text('York')")
            other.locator(".word").nth(4).click()
            press(other, "1")
            other.wait_for_selector("#problem:has-text('sentence 2 was changed in another tab or session; not saved')")
            assert labels(other) == ["PER", "PER", "PER", "·", "·"]  # what there is now
            other.locator(".word").nth(4).click()
            press(other, "1")
            other.wait_for_selector("#problem", state="hidden")
            press(page, "Control+z")
            page.wait_for_selector(
                "#problem:has-text('sentence 2 was changed in another tab since; undo it there first')"
            )
            press(other, "Control+z")
            other.wait_for_selector(".word:nth-child(5) small:has-text('·')")
            press(other, "Control+z")
            other.wait_for_selector("#problem:has-text('Nothing to undo')")
        page.reload()  # it is the same tab
        page.wait_for_selector(".word")
        wait_for_focus(page)
        press(page, "Control+z")
        page.wait_for_selector("#progress:has-text('sentence 2')")
        assert labels(page) == ["PER", "PER", "·", "·", "·"]
    with open_words(tmp_path) as book:
        assert book.labels[0] == ["PER", None, None, None, None]
        assert book.labels[1] == ["PER", "PER", None, None, None]


def test_label_train_and_keep(tmp_path: Path, visit: Any) -> None:
    arguments = write_words(tmp_path, SENTENCES * 8)
    with open_words(tmp_path) as book:
        for number in range(4, 24):
            book.set(number, list(NAMES[number % 3]))
    with studio(tmp_path, *arguments) as address, visit(f"{address}#label") as page:
        page.wait_for_selector("text=20 of 24 sentences labelled")
        page.get_by_label("Order").select_option("file")
        word = page.locator(".word")
        word.nth(0).click()
        press(page, "2")  # PER
        word.nth(3).click()
        press(page, "1")  # LOC
        press(page, "Enter")
        page.wait_for_selector("text=21 of 24 sentences labelled")
        first, second = word.nth(2).bounding_box(), word.nth(3).bounding_box()
        page.mouse.move(first["x"] + 4, first["y"] + 4)
        page.mouse.down()
        page.mouse.move(second["x"] + 4, second["y"] + 4, steps=4)
        page.mouse.up()
        press(page, "1", "ArrowLeft", "ArrowLeft", "ArrowLeft", "2")
        assert labels(page) == ["B-PER", "·", "B-LOC", "I-LOC", "·"]
        press(page, "Enter")
        page.wait_for_selector("text=22 of 24 sentences labelled")
        page.get_by_role("button", name="Undo").click()
        page.wait_for_selector("text=21 of 24 sentences labelled")
        assert word.nth(0).inner_text().startswith("Bob")
        page.get_by_role("button", name="Train").click()
        wait_for_focus(page)
        page.wait_for_selector("text=Training finished")
        page.wait_for_selector("text=score on 2 held-out sentences by epoch, best 100.00%")
        page.wait_for_selector(".word.guess")  # suggestions
        press(page, "Enter")  # saves, and does not train again
        page.wait_for_selector("text=22 of 24 sentences labelled")
        page.get_by_role("button", name="Save and next").click()
        page.wait_for_selector("text=23 of 24 sentences labelled")
        wait_for_focus(page)
        check_access(page)
        shot(page, "label")
        page.get_by_label("Export as").select_option("jsonl")
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert json.loads(lines[0]) == {"word": SENTENCES[0], "ner": NAMES[0]}
    journal = [json.loads(line) for line in (tmp_path / "words.txt.studio.jsonl").read_text().splitlines()]
    assert journal[0] == {"format": 1, "target": "ner"}
    changes = [change["labels"] for change in journal[21:]]
    assert changes[0] == ["B-PER", None, None, None, None]  # every key is kept
    assert changes[2] == NAMES[0]
    assert changes[5] == NAMES[1]
    assert changes[6] == ["B-PER", None, "B-LOC", "I-LOC", None]  # undone
    assert trellis.load(tmp_path / "words.txt.studio.trellis").target == "ner"
    with open_words(tmp_path) as book:
        assert book.n_labelled() == 23
