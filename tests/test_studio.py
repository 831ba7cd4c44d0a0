"""The studio as a person uses it, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from studio_browser import browser_or_skip, check_access, opened, shot, studio

import trellis

SENTENCES = [["Ann", "lives", "in", "Rome", "."], ["Bob", "saw", "New", "York", "."], ["Rome", "is", "old", "."]]
NAMES = [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "B-LOC", "I-LOC", "O"], ["B-LOC", "O", "O", "O"]]
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of names, and a file that one of them gets partly wrong."""
    browser_or_skip()
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
    with studio(folder, "test.txt", "worse.trellis", "good.trellis", "--columns", "word,ner") as found:
        yield found


def node(page: Any, token: int, label: str) -> Any:
    return page.locator(f'g.node[data-token="{token}"][data-label="{label}"]')


def test_look_force_forbid_and_why(address: str, folder: Path) -> None:
    tagger = trellis.load(folder / "good.trellis")
    words = ["Ann", "saw", "Rome", "."]
    with opened(address) as page:
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
        page.wait_for_function(
            "document.querySelector('g.node[data-token=\"0\"][data-label=\"O\"] circle').classList.contains('best')"
        )
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
        assert "word[0]=Ann" in page.locator("section").inner_text()
        check_access(page)
        shot(page, "look")


def test_nothing_typed_is_ever_run(address: str) -> None:
    with opened(address) as page:
        page.get_by_label("Text").fill(f"Ann {NASTY} <script>window.evil = 1</script> Rome")
        page.wait_for_selector("svg.trellis")
        assert page.locator("main img").count() == 0
        assert page.evaluate("window.evil") is None
        page.locator("g.token").nth(1).click()
        page.wait_for_selector("main h2:has-text('Why')")
        assert page.locator("main img").count() == 0


def test_text_of_any_script(address: str) -> None:
    with opened(address) as page:
        page.get_by_label("Text").fill("آن تعيش في روما")
        page.wait_for_selector("svg.trellis")
        assert page.locator("p.spans").evaluate("p => getComputedStyle(p).direction") == "rtl"
        shot(page, "look-rtl")


def test_compare(address: str) -> None:
    with opened(f"{address}#compare") as page:
        page.get_by_label("Text").fill("Bob saw New York. Rome is old.")
        page.get_by_role("button", name="Compare on this text").click()
        page.wait_for_selector("text=1 of 2 sentences differ")
        page.get_by_role("button", name="Compare on the corpus").click()
        page.wait_for_selector("text=1 of 3 sentences differ")
        assert "McNemar: p = 0.2500" in page.locator("main").inner_text()
        rows = page.locator("section tbody tr").all_inner_texts()
        assert rows[0].split() == ["Bob", "O", "B-PER", "B-PER"]
        check_access(page)
        shot(page, "compare")


def test_errors(address: str) -> None:
    with opened(f"{address}#errors") as page:
        page.wait_for_selector("table.heat")
        text = page.locator("main").inner_text()
        assert all(
            part in text for part in ("As sure as right", "Training: objective", "Right labels by length", "all spans")
        )
        page.get_by_role("button", name="1 times B-PER taken for O").click()
        page.wait_for_selector("text=B-PER taken for O")
        assert page.locator("#examples mark").all_inner_texts() == ["Bob"]
        check_access(page)
        shot(page, "errors")


def test_learn(address: str) -> None:
    with opened(f"{address}#learn", expected="422") as page:
        page.wait_for_selector("text=Step 1 of")
        assert page.locator("strong.down").count() > 0
        page.get_by_role("button", name="To the end").click()
        page.wait_for_selector("text=Nothing is wrong, nothing changes")
        page.get_by_role("button", name="All cells").click()
        assert all(page.locator("td.n").all_inner_texts())
        page.get_by_label("Sentences with their labels").fill("the dog")
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("text=every word needs a label")
        page.get_by_label("Sentences with their labels").fill("the/D dog/N")
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("text=sentence 1")
        check_access(page)
        shot(page, "learn")


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, True)])
def test_small_and_dark(address: str, width: int, dark: bool) -> None:
    with opened(address, width=width, dark=dark) as page:
        page.get_by_label("Text").fill("Ann saw Rome.")
        page.wait_for_selector("svg.trellis")
        for view in ("look", "errors", "learn", "compare", "label"):
            page.locator(f"#tab-{view}").click()
            page.wait_for_function(f"document.querySelector('#tab-{view}').getAttribute('aria-selected') === 'true'")
            page.wait_for_timeout(300)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, view  # what is wider scrolls within itself
            check_access(page)
            shot(page, f"{view}-{width}-{'dark' if dark else 'light'}")


def test_label_train_and_keep(tmp_path: Path) -> None:
    browser_or_skip()
    words = tmp_path / "words.txt"
    words.write_text("".join("".join(f"{word}\n" for word in sentence) + "\n" for sentence in SENTENCES * 8))
    arguments = ("words.txt", "--columns", "word", "--target", "ner")
    with studio(tmp_path, *arguments) as address, opened(f"{address}#label") as page:
        page.get_by_label("Order").select_option("file")
        for label in ("B-PER", "B-LOC"):
            page.get_by_label("New label").fill(label)
            page.get_by_role("button", name="Add").click()
        page.wait_for_selector(".word")
        word = page.locator(".word")
        word.nth(0).click()
        page.keyboard.press("2")  # PER
        word.nth(3).click()
        page.keyboard.press("1")  # LOC
        page.keyboard.press("Enter")
        page.wait_for_selector("text=1 of 24 sentences labelled")
        first, second = word.nth(2).bounding_box(), word.nth(3).bounding_box()
        page.mouse.move(first["x"] + 4, first["y"] + 4)
        page.mouse.down()
        page.mouse.move(second["x"] + 4, second["y"] + 4, steps=4)
        page.mouse.up()
        page.keyboard.press("1")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("2")
        assert [one.split("\n")[-1] for one in word.all_inner_texts()] == ["B-PER", "·", "B-LOC", "I-LOC", "·"]
        page.keyboard.press("Enter")
        page.wait_for_selector("text=2 of 24 sentences labelled")
        page.get_by_role("button", name="Undo").click()
        page.wait_for_selector("text=1 of 24 sentences labelled")
        assert word.nth(0).inner_text().startswith("Bob")
        page.get_by_role("button", name="Train on what there is").click()
        page.wait_for_selector("text=Trained")
        page.wait_for_selector(".word.guess")  # suggestions
        page.keyboard.press("Tab")
        page.get_by_role("button", name="Save and go on").click()
        page.wait_for_selector("text=2 of 24 sentences labelled")
        check_access(page)
        shot(page, "label")
        page.get_by_label("Export as").select_option("jsonl")
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert json.loads(lines[0]) == {"word": SENTENCES[0], "ner": NAMES[0]}
    journal = [json.loads(line) for line in (tmp_path / "words.txt.studio.jsonl").read_text().splitlines()]
    assert journal[0] == {"sentence": 0, "labels": ["B-PER", None, None, None, None]}  # every key is kept
    assert journal[2] == {"sentence": 0, "labels": NAMES[0]}
    assert journal[5] == {"sentence": 1, "labels": NAMES[1]}
    assert journal[6] == {"sentence": 1, "labels": ["B-PER", None, "B-LOC", "I-LOC", None]}  # undone
    assert trellis.load(tmp_path / "words.txt.studio.trellis").target == "ner"
    with studio(tmp_path, *arguments) as address, opened(f"{address}#label") as page:
        page.wait_for_selector("text=2 of 24 sentences labelled")
