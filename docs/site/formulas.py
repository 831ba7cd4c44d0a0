"""Formulas of the pages, $...$ and $$...$$, become MathML when the pages are built: no script, nothing to fetch."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

BLOCK = re.compile(r"^\$\$(.+?)\$\$$", re.MULTILINE | re.DOTALL)
LIMITS = ("min", "max", "argmin", "argmax")  # what is a subscript in LaTeX goes below them
FUNCTIONS = ("log", "exp")  # with space around them
MATH = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATH)


def mathml(latex: str, *, block: bool) -> str:
    """One formula."""
    tree = ElementTree.fromstring(convert(latex, display="block" if block else "inline"))
    for node in tree.iter():
        if block and node.tag == f"{{{MATH}}}msub" and node[0].text in LIMITS:
            node.tag = f"{{{MATH}}}munder"
        if node.text in ("|", "∣", "‖"):  # as high as a letter, not as high as the line
            node.set("stretchy", "false")
        if node.text in FUNCTIONS:
            node.tag = f"{{{MATH}}}mo"
            node.attrib |= {"lspace": "0.17em", "rspace": "0.17em"}
    return ElementTree.tostring(tree, encoding="unicode")


class Blocks(Preprocessor):
    """$$...$$ that begins a line; fenced code is already put aside."""

    def run(self, lines: list[str]) -> list[str]:
        """The lines, with formulas put aside."""

        def stash(found: re.Match[str]) -> str:
            return "\n" + self.md.htmlStash.store(f'<p class="formula">{mathml(found[1], block=True)}</p>') + "\n"

        return BLOCK.sub(stash, "\n".join(lines)).split("\n")


class Inline(InlineProcessor):
    """$...$ within a line."""

    def handleMatch(self, m: re.Match[str], data: str) -> Any:  # noqa: N802
        """The formula, put aside."""
        return self.md.htmlStash.store(mathml(m[1], block=False)), m.start(0), m.end(0)


class Formulas(Extension):
    """Both."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """After fenced code (25), before everything else in a line but `code` (190)."""
        md.preprocessors.register(Blocks(md), "formulas", 21)
        md.inlinePatterns.register(Inline(r"\$([^$\n]+)\$", md), "formulas", 185)


def on_config(config: Any) -> Any:
    """mkdocs reads the configuration: the extension joins the others."""
    config.markdown_extensions.append(Formulas())
    return config
