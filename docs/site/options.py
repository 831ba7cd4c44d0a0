"""Writes the tables of options into the pages: python docs/site/options.py."""

from __future__ import annotations

import re
from pathlib import Path

from trellis.learning.options import TrainingOptions, markdown_table
from trellis.tasks.parsing.options import ParsingOptions
from trellis.tasks.reranking.options import RerankingOptions
from trellis.tasks.structured.options import StructuredOptions
from trellis.tasks.tagging.options import TaggingOptions
from trellis.tasks.trees.options import TreeOptions
from trellis.tasks.words.options import WordsOptions

ALL = "models.md"  # the page about all tasks
PAGES: dict[str, type] = {
    ALL: TrainingOptions,
    "tagging.md": TaggingOptions,
    "parsing.md": ParsingOptions,
    "trees.md": TreeOptions,
    "segmentation.md": WordsOptions,
    "reranking.md": RerankingOptions,
    "structured.md": StructuredOptions,
}
START, END = "<!-- options: made by python docs/site/options.py -->\n", "<!-- end of options -->"
PLACE = re.compile(f"(?<={START}).*?(?={END})", re.DOTALL)
FOLDER = Path(__file__).parent.parent


def written(page: str) -> str:
    """The text of a page with the table as it is now."""
    table = f"{markdown_table(PAGES[page], shared=page == ALL)}\n"
    text, n = PLACE.subn(lambda _: table, (FOLDER / page).read_text(encoding="utf-8"))
    assert n == 1, page
    return text


if __name__ == "__main__":
    for page in PAGES:
        (FOLDER / page).write_text(written(page), encoding="utf-8")
