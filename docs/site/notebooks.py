"""Notebooks of examples/notebooks become pages of the site: cells and outputs as Markdown, without running them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
FRONT = "This page is the notebook `examples/notebooks/{name}`: open it in Jupyter to change it.\n"


def markdown(notebook: dict[str, Any], name: str) -> str:
    """A notebook as a page."""
    parts = list[str]()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(fenced(source, "py"))
        parts += [shown(output) for output in cell["outputs"]]
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\n{FRONT.format(name=name)}{rest}\n"


def shown(output: dict[str, Any]) -> str:
    """An output: its HTML or picture, else its text."""
    data = output.get("data", {"text/plain": output.get("text", [])})
    if "text/html" in data:
        # An empty line would end the block of HTML.
        block = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]).strip())
        return f'<div class="output">\n{block}\n</div>'
    if "image/svg+xml" in data:  # as an image: the styles of a picture within the page would be those of all others too
        encoded = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f'<img class="output" alt="" src="data:image/svg+xml;base64,{encoded}">'
    return fenced("".join(data["text/plain"]).rstrip("\n"), "text")


def fenced(text: str, language: str) -> str:
    """A block of code, within as many backticks as it takes."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}"


def pages() -> dict[str, str]:
    """The pages by their addresses."""
    return {
        f"notebooks/{path.stem}.md": markdown(json.loads(path.read_text("utf-8")), path.name)
        for path in sorted(FOLDER.glob("*.ipynb"))
    }


def on_files(files: Any, config: Any) -> Any:
    """mkdocs has read the list of files: the pages join it."""
    from mkdocs.structure.files import File

    for address, text in pages().items():
        files.append(File.generated(config, address, content=text))
    return files
