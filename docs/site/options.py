"""Writes the tables of options into the pages: python docs/site/options.py."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from trellis.learning.options import TrainingOptions, groups_of, options_of
from trellis.tasks.parsing.options import ParsingOptions
from trellis.tasks.pipeline.options import PipelineOptions
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
    "pipeline.md": PipelineOptions,
    "structured.md": StructuredOptions,
}
START, END = "<!-- options: made by python docs/site/options.py -->\n", "<!-- end of options -->"
PLACE = re.compile(f"(?<={START}).*?(?={END})", re.DOTALL)
FOLDER = Path(__file__).parent.parent


def markdown_table(kind: type, *, shared: bool = True) -> str:
    """The options as a table of the documentation; without those that all tasks share unless ``shared``."""
    rows = [("option", "default", "meaning"), ("---", "---", "---")]
    for name, option in options_of(kind).items():
        if shared or name not in TrainingOptions.__annotations__:
            rows.append((f"`{name}`", _shown(option.default), option.help.replace("|", "\\|")))
            for field, one in groups_of(kind).get(name, {}).items():
                call, default = f"`{type(option.default).__name__}({field}=)`", getattr(option.default, field)
                rows.append((call, _shown(default), one.help.replace("|", "\\|")))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _shown(default: Any) -> str:
    """A default as code; of a learner only the parameters that its class has not."""
    if default is None:
        return ""
    if not is_dataclass(default) or isinstance(default, type):
        return f"`{default!r}`"
    changed = {one.name: getattr(default, one.name) for one in fields(default) if one.init}
    given = [f"{name}={value!r}" for name, value in changed.items() if value != getattr(type(default)(), name)]
    return f"`{type(default).__name__}({', '.join(given)})`"


def written(page: str) -> str:
    """The text of a page with the table as it is now."""
    table = f"{markdown_table(PAGES[page], shared=page == ALL)}\n"
    text, n = PLACE.subn(lambda _: table, (FOLDER / page).read_text(encoding="utf-8"))
    assert n == 1, page
    return text


if __name__ == "__main__":
    for page in PAGES:
        (FOLDER / page).write_text(written(page), encoding="utf-8")
