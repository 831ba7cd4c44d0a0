"""One page per command, made of its help when the pages are built: commands/NAME.md."""

from __future__ import annotations

import argparse
import html
from typing import Any

from mkdocs.structure.files import File

from trellis.interfaces.cli.main import COMMANDS, parsers_of

TASKS = {
    "tag": "taggers",
    "parse": "dependency parsers",
    "trees": "constituency parsers",
    "words": "word segmenters",
    "rerank": "rerankers",
    "pipeline": "pipelines",
}


def page(name: str) -> str:
    """The text of a command's page."""
    parsers = parsers_of(name)
    parser = next(iter(parsers.values()))
    about, _, examples = (parser.description or "").partition("\n\nexample")
    usage = _usage(name, parser)
    parts = [f"# trellis {name}", html.escape(about.strip(), quote=False), f"    {usage}"]
    if examples:
        lines = examples.partition("\n")[2].splitlines()
        parts += ["## Examples", "```sh\n" + "\n".join(line.strip() for line in lines if line.strip()) + "\n```"]
    seen: set[str] = set()
    for task, one in parsers.items():
        for group in one._action_groups:
            rows = [row for action in group._group_actions if (row := _row(one, action)) not in seen]
            if rows:
                seen |= set(rows)
                title = (group.title or "options").capitalize()
                title = f"{title} ({TASKS[task]})" if one is not parser and TASKS[task][:-1] not in title else title
                parts += [f"## {title}", "\n".join(["| option | meaning |", "| --- | --- |", *rows])]
    parts.append("More: [the command line](../command-line.md).")
    return "\n\n".join(parts) + "\n"


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    """What must be written, with "[options]" for the rest."""
    formatter = parser._get_formatter()
    needed, files = [], []
    for action in parser._actions:
        value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
        if not action.option_strings:
            files.append(value)
        elif action.required:
            needed.append(f"{action.option_strings[0]} {value}")
    return " ".join([f"trellis {name}", *needed, "[options]", *files])


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """An option as a row of a table."""
    formatter = parser._get_formatter()
    text = formatter._expand_help(action) if action.help else ""
    names = ", ".join(f"`{option}`" for option in action.option_strings)
    if action.nargs != 0:
        value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
        names = f"{names} `{value}`" if names else f"`{value}`"
    cells = (names, html.escape(" ".join(text.split()), quote=False))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def on_files(files: Any, config: Any) -> Any:
    """mkdocs has listed the pages: these join them."""
    for name in COMMANDS:
        files.append(File.generated(config, f"commands/{name}.md", content=page(name)))
    return files
