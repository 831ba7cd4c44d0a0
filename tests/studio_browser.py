"""A real browser on a real studio, for the tests of its pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SHOTS = ROOT / "build" / "screenshots"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def browser_or_skip() -> str:
    """Where Chromium is; without one the test is skipped, but in CI that is a failure."""
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    try:
        import playwright  # noqa: F401
    except ModuleNotFoundError:
        found = None
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("CI has no Chromium or no playwright: apt-get install chromium, pip install playwright")
        pytest.skip("no Chromium or no playwright on this machine")
    return found


@contextmanager
def studio(folder: Path, *arguments: str) -> Iterator[str]:
    """A studio on a free port: its address."""
    line = [sys.executable, "-m", "trellis", "studio", *arguments, "--port", "0", "--no-browser"]
    process = subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"(http://127.0.0.1:\d+/studio/)", said)
        assert found, said + process.stderr.read()
        yield found[1]
    finally:
        process.kill()
        process.communicate()


@contextmanager
def launched() -> Iterator[Any]:
    """A browser; it takes a second to start."""
    path = browser_or_skip()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, address: str, *, expected: str | None = None) -> Iterator[Any]:
    """A page; anything on its console is a failure, but what is ``expected``."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(15_000)
    complaints = list[str]()
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    try:
        yield page
    except BaseException:
        shot(page, "failed")
        raise
    finally:
        page.close()
    complaints = [text for text in complaints if expected is None or expected not in text]
    assert not complaints, complaints


def shot(page: Any, name: str) -> None:
    """A screenshot as build output: of failures, and with TRELLIS_SCREENSHOTS=1 of all views."""
    if name == "failed" or os.environ.get("TRELLIS_SCREENSHOTS"):
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def check_access(page: Any) -> None:
    """What axe-core finds serious is a failure."""
    from axe_playwright_python.sync_playwright import Axe

    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(Axe().axe_script)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    serious = [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, serious
