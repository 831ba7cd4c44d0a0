"""The documentation as a site: `make docs` builds it and runs these tests with SITE=build/docs."""

import json
import os
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from studio_browser import FLAGS, browser_or_skip

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = {"papers.md", "results.md"}
LONGEST = 400

# What people search for, and the page that answers.
QUESTIONS = {
    "confidence threshold": "howto/confidence-threshold.html",
    "confusion matrix": "howto/error-analysis.html",
    "class imbalance": "howto/class-imbalance.html",
    "gazetteer": "howto/gazetteers.html",
    "word vectors": "howto/word-clusters.html",
    "early stopping": "howto/early-stopping.html",
    "hyperparameter search": "howto/hyperparameters.html",
    "many labels": "howto/many-labels.html",
    "larger than memory": "howto/big-corpora.html",
    "partial labels": "howto/partial-labels.html",
    "active learning": "howto/active-learning.html",
    "docker": "howto/docker.html",
    "jupyter notebook": "notebooks.html",
    "fine-tuning": "howto/warm-start.html",
    "named entity recognition": "named-entities.html",
    "macos windows": "install.html",
    "tokenizer": "text.html",
}
# Words that a newcomer looks for: each is on some page.
WORDS = [
    "confusion matrix",
    "named entity",
    "early stopping",
    "hyperparameter",
    "regularisation",
    "whitespace",
    "tokenizer",
]
WORDS += [
    "Docker",
    "macOS",
    "Windows",
    "threshold",
    "fine-tuning",
    "warm start",
    "gazetteer",
    "word vector",
    "class imbalance",
]
WORDS += ["active learning", "cross-validation", "calibration"]


def test_no_page_is_long() -> None:
    lengths = {page.name: len(page.read_text().splitlines()) for page in DOCS.rglob("*.md")}
    assert not {name: n for name, n in lengths.items() if n > LONGEST and name not in GENERATED}


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert pages <= set(re.findall(r"[\w/-]+\.md", menu))


@pytest.mark.parametrize("word", WORDS)
def test_words_that_people_search_for_are_there(word: str) -> None:
    assert any(word.lower() in page.read_text().lower() for page in DOCS.rglob("*.md"))


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the built site."""
    if "SITE" not in os.environ:
        pytest.skip("make docs builds the site and runs this test")
    return ROOT / os.environ["SITE"]


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items(), ids=list(QUESTIONS))
def test_the_index_has_an_answer_for_every_question(question: str, answer: str, site: Path) -> None:
    """One section of the page has all words of the question."""
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    texts = [f"{one['title']} {one['text']}".lower() for one in entries if one["location"].partition("#")[0] == answer]
    assert any(all(word in text for word in question.split()) for text in texts)


def test_pages_need_no_network(site: Path) -> None:
    """No script, style, font or picture from elsewhere."""
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|iframe)[^>]+src=\"?(https?:[^\s\">]+)", text := page.read_text())
        loaded += re.findall(r"<link[^>]+rel=\"?(?:stylesheet|preconnect|icon)\"?[^>]+href=\"?(https?:[^\s\">]+)", text)
        assert not loaded, page


class Quiet(SimpleHTTPRequestHandler):
    """Files over HTTP, without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site over HTTP on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("opened", ["over HTTP", "as a file"])
def test_the_search_finds_the_answers(opened: str, site: Path, request: pytest.FixtureRequest) -> None:
    """Typed into the box of the front page: the page is among the first five; no script fails, nothing is fetched."""
    program = browser_or_skip()
    from playwright.sync_api import sync_playwright

    start = request.getfixturevalue("address") if opened == "over HTTP" else site.resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith((start, "data:", "blob:")) or troubles.append(asked.url))
        lost = {}
        for question, answer in list(QUESTIONS.items())[: None if opened == "over HTTP" else 2]:
            page.goto(f"{start}/index.html")
            page.click("input.md-search__input")
            page.keyboard.type(question)
            page.wait_for_selector(".md-search-result__item", timeout=20_000)
            page.wait_for_timeout(300)
            links = page.eval_on_selector_all(".md-search-result__item > a", "links => links.map(link => link.href)")
            pages = list(dict.fromkeys(re.split(r"[?#]", link)[0].removeprefix(f"{start}/") for link in links))
            if answer not in pages[:5]:
                lost[question] = pages[:5]
        browser.close()
    assert not lost
    assert not troubles
