"""A bar in code in a table is written as \\| for GitHub; Python-Markdown shows the backslash, so it is removed."""

from __future__ import annotations

import re
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs has read a page."""
    lines = markdown.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("|"):
            lines[i] = re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), line)
    return "\n".join(lines)
